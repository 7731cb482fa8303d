#!/usr/bin/env python3
"""Array files: what NumPy writes in any format and order is read, what is not to the letter is refused in one line.

Usage: npy.py [fgc]; the program defaults to $FGC, then ./fgc. Needs numpy; exits 77 without it. The last line is
`N passed, N failed, N skipped`."""
import io
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("numpy is not here")
    sys.exit(77)

FGC = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc"))
totals = {"passed": 0, "failed": 0}
TEXT = "fg 1\n\ngraph g() {{\n    input  x : {0}[2, 3, 4]\n    output y : {0}[2, 3, 4]\n\n    y = {1}\n}}\n"
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7


def count(name, right, why=""):
    totals["passed" if right else "failed"] += 1
    if not right:
        print(f"FAILED: {name}: {why}")


def run(folder, content, dtype="f32", extra=()):
    spec, x = os.path.join(folder, "g.fg"), os.path.join(folder, "x.npy")
    with open(spec, "w") as f:
        f.write(TEXT.format(dtype, "abs(x)"))
    with open(x, "wb") as f:
        f.write(content)
    return subprocess.run([FGC, "run", "--reference", spec, "-i", f"x={x}", *extra], capture_output=True, text=True)


def saved(x, version=None):
    b = io.BytesIO()
    np.lib.format.write_array(b, x, version)
    return b.getvalue()


def written(descr="'<f4'", order="False", shape="(2, 3, 4)", data=X.tobytes(), version=1):
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + data


def accepted(folder, name, content, dtype="f32", want=np.abs(X)):
    y = os.path.join(folder, "y.npy")
    r = run(folder, content, dtype, ["-o", f"y={y}"])
    if r.returncode != 0:
        return count(name, False, r.stderr)
    got = np.load(y)
    count(name, got.dtype == want.dtype and np.array_equal(got, want), f"{got.dtype} {got}")


def refused(folder, name, content, says):
    r = run(folder, content)
    count(name, r.returncode == 1 and r.stderr.count("\n") == 1 and says in r.stderr and "[npy]" in r.stderr, f"{r.returncode} {r.stderr!r}")


def readings(folder):
    for version in ((1, 0), (2, 0), (3, 0)):
        accepted(folder, f"format {version[0]}", saved(X, version))
        accepted(folder, f"format {version[0]}, first axis fastest", saved(np.asfortranarray(X), version))
    tight = b"{'descr':'<f4','fortran_order':False,'shape':(2,3,4)}"
    accepted(folder, "no blanks", b"\x93NUMPY\x01\x00" + len(tight).to_bytes(2, "little") + tight + X.tobytes())
    bf16 = (X.view(np.uint32) >> 16).astype(np.uint16)
    for descr in ("'<u2'", "'|V2'"):
        accepted(folder, f"bf16 as {descr}", written(descr, data=bf16.tobytes()), "bf16", bf16 & 0x7fff)
    codes = (np.arange(24, dtype=np.uint8) * 5 + 100).reshape(2, 3, 4)
    for descr in ("'|u1'", "'|V1'"):
        accepted(folder, f"e4m3 as {descr}", written(descr, data=codes.tobytes()), "e4m3", codes & 0x7f)


def refusals(folder):
    for name, content, says in (
            ("nothing", b"", "not a .npy file"), ("a word", b"NUMPY, or not", "not a .npy file"), ("format 4", written(version=4), "format 4.0"),
            ("a length beyond the file", b"\x93NUMPY\x02\x00\xff\xff", "cut short"), ("half a header", saved(X)[:60], "cut short"),
            ("an order that is neither", written(order="Maybe"), "fortran_order"), ("no commas", written(shape="(2 3 4)"), "shape"),
            ("a comma too early", written(shape="(, 2, 3, 4)"), "shape"), ("a size beyond 64 bits", written(shape="(99999999999999999999,)"), "shape"),
            ("a size below 0", written(shape="(-2, 3, 4)"), "shape"), ("an open shape", written(shape="(2, 3, 4"), "shape"),
            ("a product that wraps", written(shape="(4294967296, 4294967296, 24)"), "shape is [4294967296, 4294967296, 24]"),
            ("another shape", saved(X.reshape(3, 2, 4)), "shape is [3, 2, 4]"), ("another rank", saved(X.ravel()), "shape is [24]"),
            ("another type", saved(X.astype(np.float64)), "'<f8'"), ("the other end first", saved(X.astype(">f4")), "'>f4'"),
            ("objects", written("'|O'"), "'|O'"), ("records", written("[('a', '<f4')]"), "lacks descr"),
            ("a byte short", written(data=X.tobytes()[:-1]), "95 bytes"), ("a byte more", written(data=X.tobytes() + b"1"), "97 bytes")):
        refused(folder, name, content, says)


def harmed(folder):
    """Bytes of the header changed at random: read or refused, never anything else."""
    draw, good = random.Random(3), saved(X)
    for i in range(60):
        content = bytearray(good)
        for _ in range(draw.randint(1, 3)):
            content[draw.randrange(128)] = draw.choice([draw.randrange(256), 0, 0x20, 0x27, 0x29])
        r = run(folder, bytes(content[:draw.randrange(len(good))] if i % 3 == 0 else content))
        count(f"harmed {i}", r.returncode == 0 or (r.returncode == 1 and "[npy]" in r.stderr), f"{r.returncode} {r.stderr!r}")


def draws(folder):
    """Inputs that nobody gave follow from the seed and the name."""
    spec = os.path.join(folder, "d.fg")
    with open(spec, "w") as f:
        f.write("fg 1\n\ngraph g() {\n    input  a, b : f16[8, 8]\n    output y    : f16[8, 8]\n\n    y = a + b\n}\n")

    def bits(seed, name):
        at = os.path.join(folder, f"inputs-{seed}")
        subprocess.run([FGC, "run", "--reference", spec, "--seed", str(seed), "--save-inputs", at], check=True, capture_output=True)
        return np.load(os.path.join(at, f"{name}.npy")).tobytes()
    first = bits(1, "a")
    count("the same seed", first == bits(1, "a"))
    count("another seed", first != bits(2, "a"))
    count("another name", first != bits(1, "b"))


def main():
    with tempfile.TemporaryDirectory(prefix="fgc-npy-") as folder:
        for part in (readings, refusals, harmed, draws):
            part(folder)
    print(f"{totals['passed']} passed, {totals['failed']} failed, 0 skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
