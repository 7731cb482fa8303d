#!/usr/bin/env python3
"""What `make install` puts where, and that it works wherever it is moved to.

Installed below a DESTDIR for the prefix /usr, the program is used from there, from another folder that all of it
is moved to, and through a symbolic link; fgc.pc says where things are; `make uninstall` takes every file away.
Environment: FGC, FGC_BUILD_DIR."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("FGC_BUILD_DIR", "."))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
SPEC = os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg")
MUST = ("bin/fgc", "libexec/fgc/fgc-build", "libexec/fgc/standin/libcuda.so.1", "share/fgc/targets/nvidia-h200.json",
        "share/pkgconfig/fgc.pc", "share/cmake/fgc/fgc-config.cmake", "share/cmake/fgc/fgc-config-version.cmake",
        "share/man/man1/fgc.1", "share/man/man5/fg.5", "share/man/man5/fg-plan.5", "share/man/man7/fg-ops.7", "share/man/man7/std.7", *[f"share/fgc/stdlib/{n}.fg" for n in ("act", "fp8", "mlp", "nn")],
        "share/doc/fgc/README.md",
        "share/bash-completion/completions/fgc", "share/zsh/site-functions/_fgc", "share/fish/vendor_completions.d/fgc.fish")
passed = failed = skipped = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def run(*command, env=None, cwd=None):
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd)


def make(goal, root):
    """`make` of the suite above this one must not reach into the one started here."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")}
    r = run("make", "-s", "-C", BUILD, goal, f"DESTDIR={root}", "prefix=/usr", "libexecdir=/usr/libexec", env=env)
    check(r.returncode == 0, f"make {goal}: {r.stderr}")


def files(root):
    return sorted(os.path.relpath(os.path.join(at, f), root) for at, _, names in os.walk(root) for f in names)


def works(fgc, folder, what):
    """The program, with nothing of the build folder in reach, checks, and builds a plan where cuDNN is found."""
    env = {"PATH": "/usr/bin:/bin", "HOME": folder}
    env.update({k: v for k, v in os.environ.items() if k in ("FGC_CUDNN", "FGC_CUDA", "LD_LIBRARY_PATH", "ASAN_OPTIONS")})
    r = run(fgc, "check", SPEC, env=env, cwd=folder)
    check(r.returncode == 0, f"{what}: check: {r.stderr}")
    r = run(fgc, "doctor", env=env, cwd=folder)
    check(r.returncode in (0, 3) and "cuDNN" in r.stdout, f"{what}: doctor finds its helper: {r.stdout}{r.stderr}")
    if not re.search(r"^cuDNN: \d", r.stdout, re.M):
        return False
    r = run(fgc, SPEC, "-D", "N=1", "-q", "-o", os.path.join(folder, "x.plan"), env=env, cwd=folder)
    check(r.returncode == 0, f"{what}: compile: {r.stderr}")
    return True


def pkg_config(root):
    env = dict(os.environ, PKG_CONFIG_LIBDIR=os.path.join(root, "usr", "share", "pkgconfig"))
    for variable in ("fgc", "targetsdir"):
        at = run("pkg-config", f"--variable={variable}", "fgc", env=env).stdout.strip()
        check(os.path.realpath(at).startswith(os.path.realpath(root)) and os.path.exists(at), f"fgc.pc: {variable} is '{at}'")
    flags = run("pkg-config", "--define-variable=cudadir=/opt/there", "--cflags", "--libs", "fgc", env=env).stdout
    for word in ("-I/opt/there/include", "-L/opt/there/lib64", "-lcudnn", "-lcudart"):
        check(word in flags.split(), f"fgc.pc: no {word} in '{flags.strip()}'")
    version = run(os.path.join(root, "usr", "bin", "fgc"), "--version").stdout.split()[-1]
    check(run("pkg-config", "--modversion", "fgc", env=env).stdout.strip() == version, "fgc.pc: another version")


def main():
    with open(os.path.join(BUILD, "config.status")) as f:
        if "-fsanitize" in f.read():  # installing would build another helper over the one that was copied there
            print("a build with sanitizers is not installed")
            return 77
    global skipped
    with tempfile.TemporaryDirectory() as folder:
        root, moved = os.path.join(folder, "root"), os.path.join(folder, "moved to")
        make("install", root)
        usr = os.path.join(root, "usr")
        there = files(usr)
        for f in MUST:
            check(f in there, f"'{f}' is not installed")
        check(files(root) == sorted("usr/" + f for f in there), "something is installed outside the prefix")
        built = works(os.path.join(usr, "bin", "fgc"), folder, "below DESTDIR")
        pkg_config(root)
        for f in there:
            if f.startswith("share/"):
                with open(os.path.join(usr, f), encoding="utf-8") as text:
                    got = text.read()
                check(root not in got and BUILD not in got, f"'{f}' names the build folder")
        shutil.copytree(usr, moved, symlinks=True)
        make("uninstall", root)
        check(not files(root), f"left after uninstall: {files(root)}")
        os.symlink(os.path.join(moved, "bin", "fgc"), os.path.join(folder, "fgc"))
        works(os.path.join(folder, "fgc"), folder, "moved, through a link")
        skipped += not built
    if skipped:
        print("no cuDNN here: no plan was built")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed != 0


sys.exit(main())
