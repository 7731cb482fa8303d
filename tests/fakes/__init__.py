"""fgc-device on a machine without a GPU: its driver, NVRTC and cuDNN are tests/fakes/*.c, which run kernels on the
processor. fgc and fgc-build stay what they are, and build real plans where there is a cuDNN."""
import json
import os
import stat
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("graph", "engines_precompiled", "engines_runtime_compiled", "heuristic")


def include():
    """Compiler options for the headers of CUDA and cuDNN, as the build was configured."""
    with open(os.path.join(os.environ.get("FGC_BUILD_DIR", "."), "Makefile")) as f:
        flags = [l.split("=", 1)[1].split() for l in f if l.startswith("GPU_CPPFLAGS")]
    return flags[0] if flags else []


def library(out, source, *more):
    subprocess.run(["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", *include(), *more, source, "-o", out, "-ldl"], check=True)


def make(folder):
    """A folder for FGC_LIBEXEC, with the real fgc-build and an fgc-device that finds the fakes."""
    build = os.path.abspath(os.environ.get("FGC_BUILD_DIR", "."))
    libexec, lib = os.path.join(folder, "libexec"), os.path.join(folder, "lib")
    os.makedirs(libexec)
    os.makedirs(lib)
    library(os.path.join(lib, "libcuda.so.1"), os.path.join(HERE, "cuda.c"), "-Wl,-soname,libcuda.so.1")
    library(os.path.join(lib, "libnvrtc.so.13"), os.path.join(HERE, "nvrtc.c"))
    library(os.path.join(lib, "libcudnn.so.9"), os.path.join(HERE, "cudnn.c"))
    for part in PARTS:
        library(os.path.join(lib, f"libcudnn_{part}.so.9"), os.devnull, "-xc")
    os.symlink(os.path.join(build, "fgc-build"), os.path.join(libexec, "fgc-build"))
    request = json.dumps({k: [{"where": "test", "path": os.path.join(lib, f)}] for k, f in (("cudnn", "libcudnn.so.9"), ("nvrtc", "libnvrtc.so.13"))})
    device = os.path.join(libexec, "fgc-device")
    with open(device, "w") as f:
        f.write(f"""#!/bin/bash
export LD_LIBRARY_PATH='{lib}' FAKE_SHIM="${{FAKE_SHIM:-{os.path.join(os.path.dirname(HERE), "unit")}}}"
exec 9<&0
exec '{os.path.join(build, "fgc-device")}' < <(read -r first <&9; echo '{request}'; exec cat <&9)
""")
    os.chmod(device, os.stat(device).st_mode | stat.S_IXUSR)
    return libexec
