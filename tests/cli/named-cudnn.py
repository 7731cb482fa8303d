#!/usr/bin/env python3
"""A cuDNN that is named by its folder, its prefix or its file, by option or by FGC_CUDNN, is the one that is taken,
and the NVRTC beside it with it: never the cuDNN file itself in NVRTC's place.

The folder is made of links to what `fgc doctor` finds. Exit 77 without cuDNN. Environment: FGC."""
import glob
import os
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))


def doctor(*args, **env):
    return subprocess.run([FGC, "doctor", *args], capture_output=True, text=True, env=dict(os.environ, **env)).stdout


def library(said, which):
    found = re.search(rf"^{which}: [0-9.]+, (/.*)$", said, re.M)
    return found[1] if found else None


def main():
    said = doctor()
    cudnn, nvrtc = library(said, "cuDNN"), library(said, "NVRTC")
    if not cudnn or not nvrtc:
        print("no cuDNN and NVRTC here")
        return 77
    passed = failed = 0
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        lib = os.path.join(top, "lib")
        os.mkdir(lib)
        for path in glob.glob(os.path.join(os.path.dirname(cudnn), "libcudnn*.so.9")) + \
                glob.glob(os.path.join(os.path.dirname(nvrtc), "libnvrtc*.so.1*")) + \
                glob.glob(os.path.join(os.path.dirname(cudnn), "libcublasLt.so.1*")):
            os.symlink(path, os.path.join(lib, os.path.basename(path)))
        for place in (top, lib, os.path.join(lib, "libcudnn.so.9")):
            for how, said in (("--cudnn", doctor("--cudnn", place)), ("FGC_CUDNN", doctor(FGC_CUDNN=place))):
                taken = re.findall(r"^  \+ (\S+) \((.*)\)$", said, re.M)
                ok = library(said, "cuDNN") and library(said, "NVRTC") and \
                    "libnvrtc" in os.path.basename(library(said, "NVRTC")) and \
                    any("libnvrtc" in path and where == "beside cuDNN" for path, where in taken)
                passed, failed = passed + bool(ok), failed + (not ok)
                if not ok:
                    print(f"FAIL {how} {place}:\n{said}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
