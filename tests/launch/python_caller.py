#!/usr/bin/env python3
"""examples/python without PyTorch and without a GPU: its launcher becomes a shared library that ctypes loads, its
struct is the header's, and the library refuses to work where there is no device, in words.

A module without contents stands for PyTorch; cuDNN and the CUDA runtime are loaded as PyTorch would have them.
tests/device/run.py --only python runs the whole of it. Environment: FGC, srcdir. Exit 77 without cuDNN's headers."""
import ctypes
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
SIZES = """#include <stdio.h>
#include "conv.h"
int main(void)
{
    printf("%zu", sizeof(struct conv_bias_relu_args));
#define AT(f) printf(" %s=%zu", #f, offsetof(struct conv_bias_relu_args, f))
    AT(size); AT(x); AT(w); AT(bias); AT(y);
    return 0;
}
"""
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def example():
    sys.modules["torch"] = types.ModuleType("torch")
    spec = importlib.util.spec_from_file_location("caller", os.path.join(TOP, "examples", "python", "conv_bias_relu.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    doctor = subprocess.run([FGC, "doctor"], capture_output=True, text=True).stdout
    cudnn = re.search(r"^cuDNN: [0-9.]+, (/.*)$", doctor, re.M)
    prefix = os.path.dirname(os.path.dirname(cudnn[1])) if cudnn else ""
    cudart = sorted(glob.glob(os.path.join(prefix, "lib*", "libcudart.so.*")), key=len)
    if not cudart or not os.path.exists(os.path.join(prefix, "include", "cudnn.h")):
        print("no cuDNN with its headers and the CUDA runtime here")
        return 77
    ctypes.CDLL(cudart[0])
    ctypes.CDLL(cudnn[1])
    caller = example()
    with tempfile.TemporaryDirectory() as folder:
        found, lib = caller.build(folder, FGC, [os.path.join(prefix, "include")])
        check(os.path.samefile(found._name, cudnn[1]), f"linked with '{found._name}', loaded is '{cudnn[1]}'")
        with open(os.path.join(folder, "sizes.c"), "w", encoding="utf-8") as f:
            f.write(SIZES)
        subprocess.run(["cc", "sizes.c", "-o", "sizes"], cwd=folder, check=True)
        said = subprocess.run([os.path.join(folder, "sizes")], capture_output=True, text=True, check=True).stdout
        args = caller.Args
        mine = f"{ctypes.sizeof(args)}" + "".join(f" {name}={getattr(args, name).offset}" for name, _ in args._fields_)
        check(mine == said, f"the struct is {said} in C and {mine} in Python")
        if not os.path.exists("/dev/nvidiactl"):
            model = ctypes.c_void_p()
            lib.conv_bias_relu_error_string.restype = ctypes.c_char_p
            status = lib.conv_bias_relu_create(ctypes.byref(model), None)
            text = lib.conv_bias_relu_error_string(model).decode()
            check(status != 0 and text, f"no device, and create() says {status}: {text}")
            lib.conv_bias_relu_destroy(model)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
