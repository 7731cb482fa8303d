#!/usr/bin/env python3
"""How lines end changes nothing: not the tree, not a message, not its line and column.

Every case of tests/parse, tests/errors and the examples is transformed: LF, CRLF, lone CR, mixed, with and
without a final line end, a last line that is a comment without one, a byte order mark. Trees and formatted
text, and for what is wrong all diagnostics, must be equal to those of the untransformed file.
Usage: line_ends.py [fgc]; the program defaults to $FGC, then ./fgc."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc"))
TOP = os.environ.get("srcdir") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BOM = b"\xef\xbb\xbf"


def lines_of(data):
    return re.split(rb"\r\n|\n|\r", data)


def mixed(lines):
    ends = [b"\n", b"\r\n", b"\r"]
    out = b""
    for i, line in enumerate(lines[:-1]):
        # a lone CR before an empty line that ends in LF would be one CRLF
        end = ends[i % 3]
        if end == b"\r" and lines[i + 1] == b"":
            end = b"\r\n"
        out += line + end
    return out + lines[-1]


def variants(data):
    lines = lines_of(data)
    yield "crlf", b"\r\n".join(lines)
    yield "cr", b"\r".join(lines)
    yield "mixed", mixed(lines)
    yield "no final line end", b"\n".join(lines).rstrip(b"\n")
    yield "no final line end, crlf", b"\r\n".join(lines).rstrip(b"\r\n")
    yield "final comment without line end", b"\n".join(lines).rstrip(b"\n") + b"\n# last"
    if not data.startswith(BOM):
        yield "byte order mark", BOM + b"\n".join(lines)
        yield "byte order mark, crlf", BOM + b"\r\n".join(lines)


def run(folder, *args):
    p = subprocess.run([FGC, *args], cwd=folder, capture_output=True, timeout=60)
    # offsets in bytes differ by nature; what is at the end of a file without its last line end is cut
    err = re.sub(rb" at offset \d+", b"", p.stderr)
    return p.returncode, p.stdout, err


def outputs(data, name, commands):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        return {c: run(folder, *c.split(), name) for c in commands}


def comparable(command, output, what):
    status, out, err = output
    if what.startswith("final comment"):
        out = re.sub(rb"\n*# last\n$", b"\n", out)
    return status, out.rstrip(b"\n") if command == "fmt" else out, err


def one(path):
    name = os.path.basename(path)
    with open(path, "rb") as f:
        data = f.read()
    if b"\0" in data or name.startswith(("encoding", "language-version-4")):
        return 0, []  # not text, or a file that is one comment
    data = data if data.startswith(BOM) else b"\n".join(lines_of(data))
    commands = ["check"] if os.sep + "errors" + os.sep in path else ["-d ast", "fmt"]
    want = outputs(data, name, commands)
    wrong = []
    n = 0
    for what, changed in variants(data):
        n += 1
        got = outputs(changed, name, commands)
        for command in want:
            a, b = comparable(command, want[command], what), comparable(command, got[command], what)
            if a != b:
                wrong.append(f"{path}: {what}: {command}: status {a[0]} and {b[0]}\n"
                             f"  {a[1][-200:]!r} {a[2][:400]!r}\n  {b[1][-200:]!r} {b[2][:400]!r}")
    return n, wrong


paths = sorted(glob.glob(os.path.join(TOP, "tests/parse/*.fg")) + glob.glob(os.path.join(TOP, "examples/*/*.fg")) +
               glob.glob(os.path.join(TOP, "tests/errors/*.fg")))
total = 0
failed = []
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for n, wrong in pool.map(one, paths):
        total += n
        failed += wrong
print("\n".join(failed[:10]))
print(f"line_ends: {len(paths)} files, {total} variants, {len(failed)} differ")
sys.exit(1 if failed or total < 5 * len(paths) else 0)
