#!/usr/bin/env python3
"""The canonical form itself: tests/cli/format/NAME.fg is printed as NAME.txt, byte for byte.

The examples are canonical; --check names what is not and writes nothing; --write replaces a file whole and
leaves one with a syntax error alone; what is read from standard input is printed.
Usage: format.py [fgc]; the program defaults to $FGC, then ./fgc; UPDATE=1 rewrites the .txt files."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

FGC = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc"))
TOP = os.environ.get("srcdir") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(TOP, "tests/cli/format")
failures = []


def fmt(*args, **more):
    return subprocess.run([FGC, "fmt", *args], capture_output=True, timeout=60, **more)


def expect(condition, what, p=None):
    if not condition:
        failures.append(what + (f": status {p.returncode}: {(p.stderr or p.stdout).decode(errors='replace')[:400]}" if p else ""))


def read(path):
    with open(path, "rb") as f:
        return f.read()


cases = sorted(glob.glob(os.path.join(FOLDER, "*.fg")))
expect(len(cases) >= 8, f"{len(cases)} cases in {FOLDER}")
for path in cases:
    golden = path[:-3] + ".txt"
    p = fmt(path)
    if os.environ.get("UPDATE"):
        with open(golden, "wb") as f:
            f.write(p.stdout)
    expect(p.returncode == 0 and p.stdout == read(golden), path, p)
    again = fmt("-", input=p.stdout)
    expect(again.returncode == 0 and again.stdout == p.stdout, f"{path}, printed again", again)
    for line in p.stdout.decode().splitlines():
        # only what has no place to break is longer
        expect(len(line) <= 100 or line.startswith(("import ", "#")), f"{path}: {len(line)} columns: {line}")

examples = sorted(glob.glob(os.path.join(TOP, "examples/*/*.fg")))
p = fmt("--check", *examples)
expect(examples and p.returncode == 0 and not p.stdout and not p.stderr, "the examples are canonical", p)

with tempfile.TemporaryDirectory() as folder:
    ugly, good, bad = (os.path.join(folder, n) for n in ("ugly.fg", "good.fg", "bad.fg"))
    shutil.copy(os.path.join(FOLDER, "newlines.fg"), ugly)
    os.chmod(ugly, 0o640)
    shutil.copy(os.path.join(FOLDER, "newlines.txt"), good)
    with open(bad, "w") as f:
        f.write("fg 1\nconst   a = = 1\n")
    before = {path: read(path) for path in (ugly, good, bad)}
    p = fmt("--check", ugly, good)
    expect(p.returncode == 1 and p.stdout.decode().split() == [ugly], "--check names what is not canonical", p)
    p = fmt("-d", ugly, good)
    expect(p.returncode == 0 and p.stdout.startswith(b"--- " + ugly.encode()) and good.encode() not in p.stdout, "-d", p)
    p = fmt("-d", "--check", ugly, good)
    expect(p.returncode == 1 and p.stdout.count(b"\n--- ") + p.stdout.startswith(b"--- ") == 1, "-d --check", p)
    p = fmt("-d", "-", input=before[ugly])
    expect(p.returncode == 0 and p.stdout.startswith(b"--- <stdin>\n"), "-d of standard input", p)
    p = fmt("--check", good)
    expect(p.returncode == 0 and not p.stdout, "--check is silent about what is canonical", p)
    p = fmt(bad)
    expect(p.returncode == 1 and not p.stdout and b"[syntax]" in p.stderr, "a syntax error", p)
    expect(all(read(path) == before[path] for path in before), "nothing was written so far")
    p = fmt("--write", ugly, good)
    expect(p.returncode == 0 and not p.stdout, "--write", p)
    expect(read(ugly) == before[good] == read(good), "--write gives the canonical text")
    expect(os.stat(ugly).st_mode & 0o777 == 0o640, "--write keeps the mode")
    p = fmt("--write", bad)
    expect(p.returncode == 1 and read(bad) == before[bad], "--write leaves a file with a syntax error alone", p)
    many = [os.path.join(folder, f"bad{i:02}.fg") for i in range(25)]
    for path in many:
        shutil.copy(bad, path)
    p = fmt("--write", *many)
    expect(p.returncode == 1 and p.stderr.count(b"[syntax]") == 25, "each of 25 bad files is told of", p)
    expect(all(read(path) == before[bad] for path in many), "the files after 20 errors are left alone, too")
    for path in many:
        os.remove(path)
    expect(sorted(os.listdir(folder)) == ["bad.fg", "good.fg", "ugly.fg"], "nothing else was left behind")

print("\n".join(failures))
print(f"format: {len(cases)} cases, {len(failures)} failed")
sys.exit(1 if failures else 0)
