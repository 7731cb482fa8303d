#!/usr/bin/env python3
"""A plan file that was harmed on its way is refused, and the writer leaves no harmed one behind.

A real plan, cut, flipped, extended, mangled as text, replaced by a folder; for another GPU; two writers at once; a full
disk; a writer killed at random times. Every refusal is exit 1 (3 when the operating system refused), one
message that names the file, and no file written. Prints `N passed, N failed, N skipped`.

Environment: FGC, srcdir."""
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
SPEC = os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg")
totals = {"passed": 0, "failed": 0, "skipped": 0}


def record(ok, what):
    totals["passed" if ok else "failed"] += 1
    if not ok:
        print("FAILED:", what)


def skip(what):
    totals["skipped"] += 1
    print("skipped:", what)


def fgc(*args, **more):
    return subprocess.run([FGC, *args], capture_output=True, text=True, errors="replace", timeout=120, **more)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def check_refused(folder, what, data):
    """show, check and the launcher writer say no, once, and write nothing."""
    path = os.path.join(folder, "harmed.plan")
    with open(path, "wb") as f:
        f.write(data)
    before = sorted(os.listdir(folder))
    for args in (("show", path), ("show", "--json", path), ("check", path), (path, "--launcher", os.path.join(folder, "harmed.c"))):
        r = fgc(*args)
        errors = [line for line in r.stderr.splitlines() if "error:" in line]
        record(r.returncode == 1 and len(errors) == 1 and path in errors[0] and errors[0].endswith("[plan]") and r.stdout == "",
               f"{what}: {args[0]} gives {r.returncode}, {r.stderr!r}")
    record(sorted(os.listdir(folder)) == before, f"{what}: files were written")
    os.unlink(path)


def harmed(folder, good):
    rng = random.Random(7)
    n = len(good)
    for cut in [0, 1, 21, 22, 93, 94, n // 2, n - 95, n - 94, n - 73, n - 65, n - 1] + [rng.randrange(n) for _ in range(8)]:
        check_refused(folder, f"cut to {cut} bytes", good[:cut])
    for at in [0, 30, n - 94, n - 80, n - 1] + [rng.randrange(n) for _ in range(10)]:
        check_refused(folder, f"bit flipped in byte {at}", good[:at] + bytes([good[at] ^ 1 << rng.randrange(8)]) + good[at + 1:])
    check_refused(folder, "line ends made CR LF", good.replace(b"\n", b"\r\n"))
    check_refused(folder, "read as Latin-1, written as UTF-8", good.decode("latin-1").encode("utf-8"))
    check_refused(folder, "a newline behind it", good + b"\n")
    check_refused(folder, "twice", good + good)
    check_refused(folder, "a shell script before it", b"#!/bin/sh\n" + good)
    check_refused(folder, "no plan at all", b"\0" * 4096)
    other = os.path.join(folder, "re-zipped.plan")
    if shutil.which("zip") and shutil.which("unzip"):
        work = os.path.join(folder, "unpacked")
        subprocess.run(["unzip", "-q", os.path.join(folder, "good.plan"), "-d", work], check=True)
        subprocess.run(["zip", "-q", "-r", other, "."], cwd=work, check=True)
        check_refused(folder, "unpacked and zipped again", read(other))
        os.unlink(other)
        shutil.rmtree(work)


def odd_files(folder, good):
    for args in (("show", folder), ("check", os.path.join(folder, "d.plan")), ("show", os.path.join(folder, "absent.plan"))):
        os.makedirs(os.path.join(folder, "d.plan"), exist_ok=True)
        r = fgc(*args)
        record(r.returncode == 3 and args[1] in r.stderr and r.stderr.count("error:") == 1, f"{args}: {r.returncode}, {r.stderr!r}")
    os.rmdir(os.path.join(folder, "d.plan"))
    r = fgc("show", "-", input=None, stdin=open(os.path.join(folder, "good.plan"), "rb"))
    record(r.returncode == 0 and "conv_bias_relu" in r.stdout, f"a plan on standard input: {r.returncode}, {r.stderr!r}")
    r = fgc("show", "--version-only", os.path.join(folder, "good.plan"))
    record(r.returncode == 0 and re.fullmatch(r"fgc [\d.]+, cuDNN 9\.\d+\.\d+, NVRTC [\d.]+, format 1\n", r.stdout), f"versions: {r.stdout!r}")


def other_gpus(folder, good):
    path = os.path.join(folder, "good.plan")
    r = fgc("check", path, "--target", "nvidia-h200")
    record(r.returncode == 0 and r.stdout.strip().endswith(": runs"), f"on its own target: {r.returncode}, {r.stdout!r}")
    with open(os.path.join(TOP, "targets", "nvidia-h200.json"), encoding="utf-8") as f:
        base = json.load(f)
    target = os.path.join(folder, "other.json")
    for key, value, status, text in (("deviceVer", 800, 1, "deviceVer: found 800, needs 900"),
                                     ("multiProcessorCount", 114, 1, "multiProcessorCount: found 114, needs 132"),
                                     ("l2CacheSize", 52428800, 0, "a rebuild is advised"), ("driverVer", 12090, 0, ": runs"),
                                     ("deviceName", "NVIDIA H200 NVL", 0, ": runs")):
        with open(target, "w", encoding="utf-8") as f:
            json.dump(dict(base, **{key: value}), f)
        r = fgc("check", path, "--target", target)
        record(r.returncode == status and text in r.stdout, f"{key} {value}: {r.returncode}, {r.stdout!r}")
    with open(target, "w", encoding="utf-8") as f:
        json.dump(base, f)
    out = os.path.join(folder, "named.plan")
    fgc("-q", SPEC, "-o", out, "--target", target)
    record(os.path.exists(out) and read(out) == good, "the name of the target's file gets into the plan")


def strays(folder, name):
    return [f for f in os.listdir(folder) if f.startswith(name + ".")]


def two_writers(folder, good):
    path, seen, done = os.path.join(folder, "shared.plan"), [], threading.Event()

    def watch():
        while not done.is_set():
            if os.path.exists(path):
                seen.append(read(path) == good)
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(4):
        writers = [subprocess.Popen([FGC, "-q", SPEC, "-o", path]) for _ in range(2)]
        record([w.wait() for w in writers] == [0, 0], "two writers at once")
    done.set()
    watcher.join()
    record(seen and all(seen), f"a reader saw a part of a plan {seen.count(False)} of {len(seen)} times")
    record(strays(folder, "shared.plan") == [], "temporary files of two writers stay")


def full_disk(folder, good):
    """A limit on the size of files stands for the disk: the write fails the same way, half done."""
    path = os.path.join(folder, "full.plan")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for old in (None, b"the old file"):
        if old:
            with open(path, "wb") as f:
                f.write(old)
        r = fgc("-q", SPEC, "-o", path, preexec_fn=limit)
        record(r.returncode == 3 and "cannot write" in r.stderr, f"full disk: {r.returncode}, {r.stderr!r}")
        record((read(path) if os.path.exists(path) else None) == old, "full disk: the old file is gone")
        record(strays(folder, "full.plan") == [], "full disk: a temporary file stays")
    if os.geteuid() != 0 or not shutil.which("unshare"):
        skip("a full file system needs root")
        return
    mount = os.path.join(folder, "small")
    os.makedirs(mount, exist_ok=True)
    script = f'mount -t tmpfs -o size=4k tmpfs "{mount}" || exit 77; "$0" -q "$1" -o "{mount}/x.plan"; s=$?; ls -A "{mount}"; exit $s'
    r = subprocess.run(["unshare", "-m", "--propagation=unchanged", "sh", "-c", script, FGC, SPEC], capture_output=True, text=True)
    if r.returncode in (1, 77) and "cannot write" not in r.stderr:
        skip("a small file system cannot be mounted here")
    else:
        record(r.returncode == 3 and r.stdout == "" and "No space left" in r.stderr, f"full file system: {r.returncode}, {r.stdout!r}, {r.stderr!r}")


def killed(folder, good):
    path, rng = os.path.join(folder, "killed.plan"), random.Random(11)
    start = time.monotonic()
    fgc("-q", SPEC, "-o", path)
    whole = time.monotonic() - start
    for i in range(16):
        if i % 2:
            with open(path, "wb") as f:
                f.write(good)
        elif os.path.exists(path):
            os.unlink(path)
        p = subprocess.Popen([FGC, "-q", SPEC, "-o", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * (0.2 + 0.9 * rng.random()))
        p.kill()
        p.wait()
        record(not os.path.exists(path) or read(path) == good, f"killed writer {i}: a part of a plan is left")
    fgc("-q", SPEC, "-o", path)
    record(read(path) == good, "the next writer is hindered by those that were killed")


def main():
    with tempfile.TemporaryDirectory(prefix="fgc-damaged-") as folder:
        path = os.path.join(folder, "good.plan")
        r = fgc("-q", SPEC, "-o", path)
        if r.returncode == 3:
            print(r.stderr.splitlines()[0])
            return 77
        good = read(path)
        for step in (harmed, odd_files, other_gpus, two_writers, full_disk, killed):
            step(folder, good)
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
