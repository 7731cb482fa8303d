#!/usr/bin/env python3
"""examples/cmake, examples/make and examples/ninja: each builds a program around a launcher, and builds again what
follows from a change, and nothing else.

The examples are copied, so that nothing is written into the source; CMake finds an fgc installed below a folder of
this test's. Without a GPU the programs say so and exit with 77. Environment: FGC, FGC_BUILD_DIR, srcdir."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
BUILD = os.path.abspath(os.environ.get("FGC_BUILD_DIR", "."))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
passed = failed = skipped = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)
    return ok


class Tree:
    """A copy of examples/, and how one of its build systems is called."""

    def __init__(self, folder, prefix):
        self.folder, self.prefix = folder, prefix
        self.env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")}
        paths = [os.path.join(prefix, d) for d in ("lib64", "lib")] + [os.environ.get("LD_LIBRARY_PATH", "")]
        self.env["LD_LIBRARY_PATH"] = ":".join(p for p in paths if p)
        shutil.copytree(os.path.join(TOP, "examples"), os.path.join(folder, "examples"))
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)

    def run(self, *command):
        r = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=self.env, timeout=300)
        return r.returncode, r.stdout + r.stderr

    def steps(self, tool):
        """Commands that configure and commands that build; the program; its launcher."""
        if tool == "cmake":
            code, text = self.run("make", "-s", "-C", BUILD, "install", f"DESTDIR={self.folder}/root", "prefix=/usr")
            check(code == 0, f"make install: {text}")
            configure = ["cmake", "-G", "Ninja" if shutil.which("ninja") else "Unix Makefiles", "-S", "examples/cmake", "-B", "out",
                         f"-DCMAKE_PREFIX_PATH={self.folder}/root/usr", f"-DFGC_CUDA_ROOT={self.prefix}"]
            return [configure], ["cmake", "--build", "out"], "out/conv", "out/conv_graph.fgc/conv_bias_relu.c"
        if tool == "make":
            return [], ["make", "-C", "examples/make", f"FGC={FGC}", f"CUDA={self.prefix}"], "examples/make/conv", "examples/make/conv_bias_relu.c"
        path = os.path.join(self.folder, "examples", "ninja", "build.ninja")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r"^cuda = .*$", f"cuda = {self.prefix}", re.sub(r"^fgc = .*$", f"fgc = {FGC}", text, flags=re.M), flags=re.M))
        return [], ["ninja", "-C", "examples/ninja"], "examples/ninja/conv", "examples/ninja/conv_bias_relu.c"


def newer(path):
    """Makes a file newer than all that was made so far, on file systems with coarse times too."""
    later = time.time() + 2
    os.utime(path, (later, later))


def one(tool, prefix):
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, prefix)
        configure, build, program, launcher = tree.steps(tool)
        for command in [*configure, build]:
            code, text = tree.run(*command)
            if not check(code == 0, f"{tool}: {' '.join(command)}: {text}"):
                return
        code, text = tree.run(os.path.join(folder, program))
        gpu = os.path.exists("/dev/nvidiactl")
        check(code == 0 or "another GPU" in text if gpu else code == 77 and "no device to run on" in text, f"{tool}: the program: exit status {code}: {text}")
        launcher = os.path.join(folder, launcher)
        made = os.stat(launcher).st_mtime_ns
        code, text = tree.run(*build)
        check(code == 0 and os.stat(launcher).st_mtime_ns == made, f"{tool}: nothing changed, and the launcher is made again: {text}")
        spec = os.path.join(folder, "examples", "conv_bias_relu", "conv_bias_relu.fg")
        with open(spec, "a", encoding="utf-8") as f:
            f.write("\n# changed\n")
        newer(spec)
        code, text = tree.run(*build)
        check(code == 0 and os.stat(launcher).st_mtime_ns != made, f"{tool}: the spec changed, and the launcher is the old one: {text}")
        imported = os.path.join(folder, "examples", "conv_bias_relu", "a part.fg")
        with open(imported, "w", encoding="utf-8") as f:
            f.write("fg 1\n\nfn clipped(x) {\n    return relu(x)\n}\n")
        with open(spec, encoding="utf-8") as f:
            text = re.sub(r"^(fg 1.*\n)", r'\1\nimport "a part.fg"\n', f.read()).replace("return relu(", "return clipped(")
        with open(spec, "w", encoding="utf-8") as f:
            f.write(text)
        newer(spec)
        code, text = tree.run(*build)
        made = os.stat(launcher).st_mtime_ns
        check(code == 0, f"{tool}: with an import: {text}")
        for _ in range(2):      # the second time, by the list that the first one wrote
            with open(imported, "a", encoding="utf-8") as f:
                f.write("# changed\n")
            newer(imported)
            code, text = tree.run(*build)
            now = os.stat(launcher).st_mtime_ns
            check(code == 0 and now != made, f"{tool}: what is imported changed, and the launcher is the old one: {text}")
            made = now
        with open(spec, "a", encoding="utf-8") as f:
            f.write("\nnonsense\n")
        newer(spec)
        code, text = tree.run(*build)
        check(code != 0 and "conv_bias_relu.fg:" in text, f"{tool}: a mistake in the spec is not told: {text}")


def main():
    with open(os.path.join(BUILD, "config.status")) as f:
        if "-fsanitize" in f.read():  # installing would build another helper over the one that was copied there
            print("a build with sanitizers is not installed")
            return 77
    global skipped
    doctor = subprocess.run([FGC, "doctor"], capture_output=True, text=True).stdout
    cudnn = re.search(r"^cuDNN: [0-9.]+, (/.*)$", doctor, re.M)
    prefix = os.path.dirname(os.path.dirname(cudnn[1])) if cudnn else ""
    if not os.path.exists(os.path.join(prefix, "include", "cudnn.h")):
        print("no cuDNN with its headers here")
        return 77
    for tool in ("cmake", "make", "ninja"):
        if shutil.which(tool):
            one(tool, prefix)
        else:
            skipped += 1
            print(f"skipped: there is no {tool}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed != 0


sys.exit(main())
