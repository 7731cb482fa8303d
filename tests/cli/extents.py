#!/usr/bin/env python3
"""Elements, bytes and the last offset of a tensor fit 63 bits, or its declaration is refused.

Random dims, strides and element types near 2^31, 2^32, 2^62 and 2^63, against unbounded integers.
Usage: extents.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import random
import re
import subprocess
import sys
import tempfile

FGC = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc")
MOST = 2**63 - 1
NEAR = [1, 2, 3, 4, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**60, 2**61 - 1, 2**62, 2**62 + 2, MOST]
BYTES = {"f32": 4, "f16": 2, "i8": 1, "f64": 8, "bool": 1}


def fits(dims, strides, size):
    count, last = 1, 0
    for d, s in zip(dims, strides):
        count *= d
        last += (d - 1) * s
    return count * size <= MOST and (last + 1) * size <= MOST


def packed(dims):
    strides, step = [], 1
    for d in reversed(dims):
        strides.insert(0, step)
        step *= d
    return strides


def main():
    random.seed(11)
    failures, accepted = 0, 0
    cases, text = [], ["fg 1"]
    for i in range(300):
        rank = random.randint(1, 4)
        dims = [random.choice(NEAR) if random.random() < 0.6 else random.randint(1, 9) for _ in range(rank)]
        strides = [random.choice([0] + NEAR) for _ in dims] if random.random() < 0.5 else None
        kind = random.choice(list(BYTES))
        ok = fits(dims, strides or packed(dims), BYTES[kind])
        layout = f" strides({', '.join(map(str, strides))})" if strides else ""
        cases.append((f"g{i}", ok, kind, dims, strides))
        text.append(f"graph g{i}() {{\n    input t{i} : {kind}[{', '.join(map(str, dims))}]{layout}\n"
                    f"    input x : f32[2, 4]\n    output y : f32[2, 4]\n\n    y = x\n}}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.fg")
        for name, ok, kind, dims, strides in cases:
            i = int(name[1:])
            with open(path, "w") as f:
                f.write("fg 1\n" + text[i + 1] + "\n")
            got = subprocess.run([FGC, "-d", "ir", path], capture_output=True, text=True)
            accepted += ok
            if ok:
                m = re.search(rf"input t{i}%1 : {kind}\[([0-9, ]+)\] strides\(([0-9, ]+)\)", got.stdout)
                good = (got.returncode == 0 and m is not None and m.group(1) == ", ".join(map(str, dims))
                        and m.group(2) == ", ".join(map(str, strides or packed(dims))))
            else:
                good = got.returncode == 1 and f"'t{i}'" in got.stderr and "2^63" in got.stderr
            if not good:
                failures += 1
                print("FAIL", kind, dims, strides, "fits" if ok else "does not fit", got.stdout[:200], got.stderr[:300])
    if not 50 < accepted < 250:
        failures += 1
        print(f"FAIL {accepted} of {len(cases)} fit: the cases are one-sided")
    print(f"{len(cases)} declarations, {accepted} that fit, {failures} failures")
    return failures != 0


sys.exit(main())
