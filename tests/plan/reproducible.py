#!/usr/bin/env python3
"""Plans are byte-reproducible, and hold nothing of the process that asked for them.

For an example that cuDNN has an engine ready for: 16 builds in 16 processes, with other folders, users, environments,
time zones and stack limits; every second and every fourth of those for two whose engines it compiles. Builds beside other
libcudas (root only); builds for descriptions that differ only in what a plan does not depend on. The examples are
built side by side. Prints `N passed, N failed, N skipped`.

Usage: reproducible.py [fgc]; the program defaults to $FGC, then ./fgc."""
import base64
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

FGC = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc"))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = ("linear_amax", "conv_bias_relu", "attention_causal")
FAILING_LIBCUDA = "int cuInit(unsigned f); int cuInit(unsigned f) { (void)f; return 100; }\n" \
                  "int cuDeviceGetCount(int *n); int cuDeviceGetCount(int *n) { *n = 0; return 100; }\n"
# Loaded into fgc: plants a canary on its heap and writes its mappings down when it ends.
WITNESS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *canary;
__attribute__((constructor)) static void begin(void)
{
    canary = malloc(4096);
    for (int i = 0; canary && i + 16 <= 4096; i += 16) memcpy(canary + i, "CANARYcanary#42!", 16);
}
__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("WITNESS_MAPS");
    FILE *in = fopen("/proc/self/maps", "r"), *out = path ? fopen(path, "w") : NULL;
    for (int c; in && out && (c = fgetc(in)) != EOF;) fputc(c, out);
    if (out) fclose(out);
}
"""
totals = {"passed": 0, "failed": 0, "skipped": 0}


def record(ok, what):
    totals["passed" if ok else "failed"] += 1
    if not ok:
        print("FAILED:", what)


def skip(what):
    totals["skipped"] += 1
    print("skipped:", what)


def build(folder, name, out, env=None, pre=(), args=(), cwd=None):
    """The plan's SHA-256, or None with the message printed."""
    full = {"PATH": os.environ["PATH"]}
    full.update({k: v for k, v in os.environ.items() if k in ("FGC_CUDNN", "FGC_CUDA", "LD_LIBRARY_PATH", "ASAN_OPTIONS")})
    full.update(env or {})
    path = os.path.join(folder, out)
    spec = os.path.join(folder, name + ".fg") # a copy: other users read it too
    variant = ("-D", "S=512") if name == "attention_causal" else () # one of its four: each is built alike
    r = subprocess.run([*pre, FGC, spec, "-o", path, "-q", *variant, *args], env=full, cwd=cwd or folder, capture_output=True, text=True)
    if r.returncode:
        print(r.stderr)
        return None
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def raw_data(path):
    """Every kernel's parameter block in a plan."""
    with zipfile.ZipFile(path) as z:
        for entry in z.namelist():
            if entry.startswith("plans/"):
                kernels = json.loads(z.read(entry))["engine"].get("payload", {}).get("kernels", [])
                for k in kernels:
                    if "kernelParams" in k:
                        yield base64.b64decode(k["kernelParams"]["rawData"])


def sixteen(folder, name):
    """16 situations; the first is the plain one."""
    deep = os.path.join(folder, "a folder with blanks", "deep" * 10)
    os.makedirs(deep, exist_ok=True)
    yield {}
    yield {"env": {"HOME": "/root"}}
    yield {"env": {"HOME": "/nowhere", "TZ": "Asia/Tokyo"}}
    yield {"env": {"TZ": "America/St_Johns", "LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8"}}
    for i in range(4):
        yield {"env": {f"PADDING_{i}_{k}": "x" * (997 * (i + 1)) for k in range(i + 1)}}
    yield {"cwd": "/"}
    yield {"cwd": deep}
    yield {"pre": ("nice", "-n", "1")}
    yield {"pre": ("sh", "-c", 'ulimit -s 1024; exec "$0" "$@"')}
    yield {"pre": ("sh", "-c", 'ulimit -s unlimited 2>/dev/null; exec "$0" "$@"')}
    yield {"pre": ("sh", "-c", 'ulimit -s unlimited 2>/dev/null; exec setarch -R "$0" "$@"')}
    yield {"env": {"MALLOC_PERTURB_": "85", "GLIBC_TUNABLES": "glibc.malloc.perturb=170"}}
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if os.geteuid() == 0 and shutil.which("setpriv") and \
            subprocess.run([*nobody, "test", "-x", os.path.join(os.path.dirname(FGC), "fgc-build")]).returncode == 0:
        os.chmod(folder, 0o777)
        yield {"pre": nobody}
    else:
        yield {"env": {"USER": "somebody", "LOGNAME": "somebody"}}


def check_sixteen(folder, name):
    situations = list(sixteen(folder, name))
    step = {"linear_amax": 2, "attention_causal": 4}.get(name, 1)
    situations = situations[::step] + (situations[-1:] if step > 1 else [])
    digests = [build(folder, name, f"{name}-{i}.plan", **how) for i, how in enumerate(situations)]
    record(len(digests) == len(situations) and len(set(digests)) == 1 and digests[0], f"{name}: {len(digests)} builds gave {sorted(set(map(str, digests)))}")
    return digests[0]


def check_witness(folder, name, witness):
    maps = os.path.join(folder, "maps")
    env = {"LD_PRELOAD": witness, "WITNESS_MAPS": maps, "CANARY": "CANARYcanary#42!" * 64}
    digest = build(folder, name, "witness.plan", env=env)
    ranges = [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in open(maps)]
    record(digest and len(ranges) > 5, f"{name}: the witness saw {len(ranges)} mappings")
    words = 0
    for raw in raw_data(os.path.join(folder, "witness.plan")):
        for at in range(len(raw) - 7):
            word = int.from_bytes(raw[at:at + 8], "little")
            words += any(a <= word < b for a, b in ranges)
    with open(os.path.join(folder, "witness.plan"), "rb") as f:
        whole = f.read()
    blocks = b"".join(raw_data(os.path.join(folder, "witness.plan")))
    # The sanitizer's mappings take so much of the address space that any word may lie in them.
    record(words == 0 or "ASAN_OPTIONS" in os.environ, f"{name}: {words} words of parameter blocks lie in the calling process's mappings")
    canary = any(piece in whole or piece in blocks for piece in (b"CANARYca", b"canary#4", b"nary#42!"))
    record(not canary, f"{name}: the canary came along")
    return digest


def check_libcudas(folder, name, want):
    """None, the toolkit's stub, and one whose cuInit fails with 100: the same plan each time."""
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    if os.geteuid() != 0 or not shutil.which("unshare") or "libcuda.so.1" in found:
        skip(f"{name}: other libcudas need root, unshare, and no driver")
        return
    stubs = [p for p in ("/usr/local/cuda/lib/stubs/libcuda.so", "/usr/local/cuda/lib64/stubs/libcuda.so") if os.path.exists(p)]
    source = os.path.join(folder, "failing.c")
    with open(source, "w") as f:
        f.write(FAILING_LIBCUDA)
    failing = os.path.join(folder, "failing.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", failing, source], check=True)
    for libcuda in stubs[:1] + [failing]:
        place = tempfile.mkdtemp(dir=folder)
        shutil.copy(libcuda, os.path.join(place, "libcuda.so.1"))
        with open(os.path.join(place, "conf"), "w") as f:
            f.write(f"{place}\ninclude /etc/ld.so.conf\n")
        subprocess.run(["ldconfig", "-C", os.path.join(place, "cache"), "-f", os.path.join(place, "conf")], check=True, stderr=subprocess.DEVNULL)
        script = f'mount --bind "{place}/cache" /etc/ld.so.cache && ldconfig -p | grep -q "{place}/libcuda.so.1" && exec "$0" "$@"'
        digest = build(folder, name, "libcuda.plan", pre=("unshare", "-m", "--propagation=unchanged", "sh", "-c", script))
        record(digest == want, f"{name}: beside {libcuda} the plan is another ({digest})")


def check_targets(folder, name, want):
    with open(os.path.join(TOP, "targets", "nvidia-h200.json")) as f:
        base = json.load(f)
    others = {"pciDeviceId": 3, "cudaDeviceId": 5, "deviceName": "NVIDIA H200 NVL", "smClockRateKHz": 1785000,
              "memClockRateKHz": 2619000, "totalGlobalMem": 150754820096, "driverVer": 13010}
    # One at a time where a build is cheap, else all of them.
    for change in [{k: v} for k, v in others.items()] if name == "conv_bias_relu" else [others]:
        path = os.path.join(folder, "nvidia-h200.json")
        with open(path, "w") as f:
            json.dump(dict(base, **change), f)
        digest = build(folder, name, "target.plan", args=("--target", path))
        record(digest == want, f"{name}: a description with another {', '.join(change)} gives another plan")
    path = os.path.join(folder, "nvidia-h200.json")
    with open(path, "w") as f:
        json.dump(dict(base, multiProcessorCount=114), f)
    digest = build(folder, name, "target.plan", args=("--target", path))
    record(digest and digest != want, f"{name}: a GPU with other multiprocessors gives the same plan")


def check(top, name, witness):
    folder = os.path.join(top, name)
    os.mkdir(folder)
    shutil.copy(os.path.join(TOP, "examples", name, name + ".fg"), folder)
    want = check_sixteen(folder, name)
    record(check_witness(folder, name, witness) == want, f"{name}: the witness changed the plan")
    check_libcudas(folder, name, want)
    if name != "attention_causal":
        check_targets(folder, name, want)


def main():
    with tempfile.TemporaryDirectory(prefix="fgc-reproducible-") as folder:
        source, witness = os.path.join(folder, "witness.c"), os.path.join(folder, "witness.so")
        with open(source, "w") as f:
            f.write(WITNESS)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", witness, source], check=True)
        os.chmod(folder, 0o755)     # another user builds in it
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(check, folder, name, witness) for name in EXAMPLES]:
                done.result()
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
