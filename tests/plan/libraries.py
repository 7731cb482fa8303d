#!/usr/bin/env python3
"""Finding cuDNN and NVRTC: what is odd is passed over or named, and one lack is not told as another.

Prints `N passed, N failed, N skipped`. Usage: libraries.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FGC = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc"))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A cuDNN whose parts do not fit one another: the first descriptor is refused, as cuDNN 9 does it.
FAKE = r"""
#include <stddef.h>
size_t cudnnGetVersion(void) { return VERSION; }
const char *cudnnGetErrorString(int s) { return s ? "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH" : "CUDNN_STATUS_SUCCESS"; }
void cudnnGetLastErrorString(char *text, size_t n) { if (n) *text = 0; }
int cudnnSetCallback(unsigned mask, void *data, void *f) { (void)mask; (void)data; (void)f; return 0; }
int cudnnCreate(void **h) { *h = NULL; return 1; }
int cudnnDestroy(void *h) { (void)h; return 0; }
int cudnnBackendCreateDescriptor(int type, void **d) { static int it; (void)type; *d = &it; return 0; }
int cudnnBackendDestroyDescriptor(void *d) { (void)d; return 0; }
int cudnnBackendSetAttribute(void) { return 0; }
int cudnnBackendGetAttribute(void) { return 1; }
int cudnnBackendFinalize(void *d) { (void)d; return MISMATCH; }
"""
totals = {"passed": 0, "failed": 0, "skipped": 0}


def run(*args, env=None, pre=()):
    return subprocess.run([*pre, FGC, *args], capture_output=True, text=True, env=dict(os.environ, FGC_NO_PYTHON="1", **(env or {})))


def compile_example(folder, name, *args, **kw):
    out = os.path.join(folder, "x.plan")
    if os.path.exists(out):
        os.remove(out)
    r = run(os.path.join(TOP, "examples", name, name + ".fg"), "-o", out, "-q", *args, **kw)
    return r.returncode, r.stderr, os.path.exists(out)


def expect(what, got, status, *pieces):
    code, text, left = got
    missing = [p for p in pieces if not re.search(p, text)]
    ok = code == status and not missing and left == (status == 0)
    totals["passed" if ok else "failed"] += 1
    if not ok:
        print(f"FAILED: {what}: exit {code}, want {status}; not said: {missing}; a plan is {'' if left else 'not '}there\n{text}")


def mapped(lib):
    """Where the doctor finds a library."""
    r = run("doctor")
    m = re.search(rf"^{lib}: [\d.]+, (\S.*)$", r.stdout, re.M)
    return m and m.group(1)


def main():
    cudnn, nvrtc = mapped("cuDNN"), mapped("NVRTC")
    if not cudnn or not nvrtc:
        print("no cuDNN or no NVRTC here")
        return 77
    with tempfile.TemporaryDirectory(prefix="fgc-libraries-") as folder:
        odd = os.path.join(folder, "with blanks")
        os.mkdir(odd)
        a_file = os.path.join(folder, "file")
        open(a_file, "w").close()
        path = f"{a_file}:{folder}/missing:{odd}:"
        expect("odd LD_LIBRARY_PATH entries", compile_example(folder, "conv_bias_relu", env={"LD_LIBRARY_PATH": path}), 0)
        not_a_library = os.path.join(odd, "libcudnn.so.9")
        with open(not_a_library, "w") as f:
            f.write("not a library\n")
        expect("a text file called libcudnn.so.9 comes first", compile_example(folder, "conv_bias_relu", env={"LD_LIBRARY_PATH": odd}), 0)
        expect("--cudnn names a text file", compile_example(folder, "conv_bias_relu", "--cudnn", not_a_library), 3, "no-cudnn", re.escape(not_a_library),
               "invalid ELF header|file too short")
        expect("--cudnn names nothing", compile_example(folder, "conv_bias_relu", "--cudnn", folder + "/missing"), 3, "no-cudnn", "missing")
        expect("FGC_CUDNN names an empty folder", compile_example(folder, "conv_bias_relu", env={"FGC_CUDNN": odd + "/.."}), 3, "no-cudnn")
        expect("--cuda names an empty folder", compile_example(folder, "linear_amax", "--cuda", folder), 3, "no usable NVRTC", "libnvrtc")
        alone = os.path.join(folder, "alone")
        os.mkdir(alone)
        shutil.copy(cudnn, os.path.join(alone, "libcudnn.so.9"))
        expect("only libcudnn.so.9 itself", compile_example(folder, "conv_bias_relu", "--cudnn", alone), 3, "its part cannot be opened", "libcudnn_graph")
        r = run("check", os.path.join(TOP, "examples", "linear_amax", "linear_amax.fg"), env={"FGC_CUDNN": folder})
        expect("check needs no cuDNN", (r.returncode, r.stderr, True), 0)
        sanitized = "ASAN_OPTIONS" in os.environ # its shadow memory takes terabytes of address space
        little = ("sh", "-c", 'ulimit -v 12000000; exec "$0" "$@"')
        if not sanitized:
            expect("12 GB of address space", compile_example(folder, "linear_amax", pre=little), 0)
            expect("512 MB of address space", compile_example(folder, "linear_amax", pre=("sh", "-c", 'ulimit -v 512000; exec "$0" "$@"')), 3, r"ulimit -v|libcudnn")
        fakes(folder)
        requirement(folder)
        hidden(folder, nvrtc)
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


def fakes(folder):
    """Libraries that open and do not fit: mixed versions are told with both files, old ones with theirs."""
    source, place = os.path.join(folder, "fake.c"), os.path.join(folder, "fake")
    os.mkdir(place)
    with open(source, "w") as f:
        f.write(FAKE)
    main_file = os.path.join(place, "libcudnn.so.9")
    for part in ("graph", "engines_precompiled", "engines_runtime_compiled", "heuristic"):
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", f"{place}/libcudnn_{part}.so.9", "/dev/null"], check=True)
    for version, pieces in ((91900, ("libcudnn_graph.so.9'", "libcudnn_engines_runtime_compiled.so.9'")), (90500, ("cuDNN 9.5.0", re.escape(main_file)))):
        subprocess.run(["cc", "-shared", "-fPIC", f"-DVERSION={version}", "-DMISMATCH=1002", "-o", main_file, source], check=True)
        expect(f"a cuDNN {version} that does not fit", compile_example(folder, "linear_amax", "--cudnn", place), 3, "no-cudnn", *pieces)
        r = run("doctor", "--cudnn", place)
        expect(f"doctor on it ({version})", (r.returncode, r.stdout, False), 3, "^problem: |\nproblem: ", *pieces)
    with open(source, "w") as f:
        f.write("int nothing;\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", main_file, source], check=True)
    expect("a library without cuDNN's functions", compile_example(folder, "linear_amax", "--cudnn", place), 3, "no-cudnn", "lacks 'cudnn")


def requirement(folder):
    """`require cudnn` is checked against the library that compiles."""
    for version, status in (("9, 10", 0), ("9, 99", 1)):
        spec, out = os.path.join(folder, "require.fg"), os.path.join(folder, "x.plan")
        with open(spec, "w") as f:
            f.write(f"fg 1\n\ngraph g() {{\n    require cudnn >= version({version})\n    input  x : f32[1, 64, 64]\n"
                    "    output y : f32[1, 64, 64]\n\n    y = relu(x)\n}\n")
        if os.path.exists(out):
            os.remove(out)
        r = run(spec, "-o", out, "-q")
        expect(f"require cudnn >= version({version})", (r.returncode, r.stderr, os.path.exists(out)), status, *["require-failed"] * status)


def hidden(folder, nvrtc):
    """A machine with cuDNN and without NVRTC: whoever needs it is told so, precompiled engines work."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        totals["skipped"] += 1
        print("skipped: hiding NVRTC needs root and unshare")
        return
    empty = os.path.join(folder, "empty")
    open(empty, "w").close()
    script = f'mount --bind "{empty}" "{os.path.realpath(nvrtc)}" && exec "$0" "$@"'
    pre = ("unshare", "-m", "--propagation=unchanged", "sh", "-c", script)
    expect("a fused graph without NVRTC", compile_example(folder, "linear_amax", pre=pre), 3, "NVRTC was not found", "no-engine")
    expect("a precompiled engine without NVRTC", compile_example(folder, "conv_bias_relu", pre=pre), 0)


if __name__ == "__main__":
    sys.exit(main())
