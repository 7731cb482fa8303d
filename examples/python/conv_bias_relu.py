#!/usr/bin/env python3
"""conv_bias_relu.fg on PyTorch's tensors: its launcher as a shared library, called through ctypes.

    conv_bias_relu.py [FGC [INCLUDE...]]     INCLUDE: folders with CUDA's and cuDNN's headers

The plan is compiled for, and the launcher linked with, the very cuDNN that PyTorch has loaded."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

import torch

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conv_bias_relu", "conv_bias_relu.fg")
N = 8


class Args(ctypes.Structure):   # struct conv_bias_relu_args of the header
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_void_p) for name in ("x", "w", "bias", "y")]


def build(folder, fgc, includes):
    with open("/proc/self/maps", encoding="utf-8") as f:
        maps = f.read()
    cudnn, cudart = (re.search(rf"/\S*/lib{name}(-\w+)?\.so\.\S+", maps)[0] for name in ("cudnn", "cudart"))
    c, library = os.path.join(folder, "conv.c"), os.path.join(folder, "conv.so")
    subprocess.run([fgc, SPEC, "-D", f"N={N}", "-q", "--cudnn", cudnn, "--launcher", c], check=True)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", *[f"-I{i}" for i in includes], c, cudnn, cudart, "-o", library], check=True)
    return ctypes.CDLL(cudnn), ctypes.CDLL(library)


def main():
    if not torch.cuda.is_available():
        sys.exit("no device to run on")
    options = {"device": "cuda", "dtype": torch.bfloat16}
    x = torch.rand(N, 64, 56, 56, **options).to(memory_format=torch.channels_last)
    y = torch.full_like(x, float("nan"))                            # what is not written is seen
    w = torch.rand(64, 64, 3, 3, **options).sub_(0.5).to(memory_format=torch.channels_last)
    bias = torch.rand(1, 64, 1, 1, **options)
    with tempfile.TemporaryDirectory() as folder:
        cudnn, lib = build(folder, sys.argv[1] if len(sys.argv) > 1 else "fgc", sys.argv[2:] or ["/usr/local/cuda/include"])
    lib.conv_bias_relu_error_string.restype, lib.conv_bias_relu_workspace_bytes.restype = ctypes.c_char_p, ctypes.c_size_t
    handle, model, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    if cudnn.cudnnCreate(ctypes.byref(handle)) or cudnn.cudnnSetStream(handle, stream):
        sys.exit("cuDNN has no handle to give")
    status = lib.conv_bias_relu_create(ctypes.byref(model), handle)
    if status == 0:
        workspace = torch.empty(lib.conv_bias_relu_workspace_bytes(model) + 1, dtype=torch.uint8, device="cuda")
        args = Args(ctypes.sizeof(Args), *(t.data_ptr() for t in (x, w, bias, y)))
        status = lib.conv_bias_relu_run(model, handle, ctypes.byref(args), ctypes.c_void_p(workspace.data_ptr()))
    if status != 0:
        sys.exit(f"conv_bias_relu: {lib.conv_bias_relu_error_string(model).decode()}")
    torch.backends.cudnn.allow_tf32 = False                         # the reference is in f32
    expected = torch.relu(torch.conv2d(x.float(), w.float(), padding=1) + bias.float())
    torch.testing.assert_close(y.float(), expected, rtol=2 ** -7, atol=2 ** -6)
    print(f"conv_bias_relu: {y.numel()} elements, as PyTorch computes them")


if __name__ == "__main__":
    main()
