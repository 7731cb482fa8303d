#!/usr/bin/env python3
"""Output sizes of conv, against counting the positions of the window by hand.

Random sizes, filters, strides, dilations and pads; windows that fit nowhere must be refused; sizes
near 2^31, 2^32 and 2^63 must be computed exactly or refused, never wrapped.
Usage: conv_sizes.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import random
import re
import subprocess
import sys
import tempfile

FGC = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc")
MOST = 2**63 - 1


def count(size, taps, stride, dilation, pre, post):
    """Window positions, one by one."""
    n, at = 0, 0
    while at + (taps - 1) * dilation + 1 <= size + pre + post:
        n, at = n + 1, at + stride
    return n


def formula(size, taps, stride, dilation, pre, post):
    """The same without a loop, in unbounded integers."""
    return max(0, (size + pre + post - ((taps - 1) * dilation + 1)) // stride + 1)


def graph(name, axes):
    size, taps, stride, dilation, pre, post = zip(*axes)
    text = lambda v: ", ".join(map(str, v))
    return (f"graph {name}() {{\n    input x : i8[1, 1, {text(size)}] channels_last\n"
            f"    input w : i8[1, 1, {text(taps)}] channels_last\n    output y : i32[...]\n\n"
            f"    y = conv(x, w, stride=[{text(stride)}], dilation=[{text(dilation)}],\n"
            f"             pre_pad=[{text(pre)}], post_pad=[{text(post)}])\n}}\n")


def run(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.fg")
        with open(path, "w") as f:
            f.write("fg 1\n\n" + text)
        return subprocess.run([FGC, "-d", "ir", path], capture_output=True, text=True)


def sizes(text):
    """graph name -> spatial dims of y"""
    found, name = {}, None
    for line in text.splitlines():
        if line.startswith("graph "):
            name = line.split()[1]
        m = re.match(r"  output y%\d+ : i32\[1, 1, ([0-9, ]+)\]", line)
        if m:
            found[name] = tuple(map(int, m.group(1).split(", ")))
    return found


def main():
    random.seed(7)
    failures = 0

    def check(condition, what):
        nonlocal failures
        if not condition:
            failures += 1
            print("FAIL", what)

    # Many good ones in one run.
    good, want = [], {}
    while len(good) < 400:
        axes = [tuple(random.randint(a, b) for a, b in ((1, 24), (1, 6), (1, 4), (1, 5), (0, 6), (0, 6)))
                for _ in range(random.choice((1, 2)))]
        result = tuple(count(*a) for a in axes)
        check(result == tuple(formula(*a) for a in axes), f"the test's own formula for {axes}")
        if min(result) < 1:
            continue
        name = f"g{len(good)}"
        good.append(graph(name, axes))
        want[name] = result
    got = run("\n".join(good))
    check(got.returncode == 0, got.stderr[:400])
    found = sizes(got.stdout)
    for name in want:
        check(found.get(name) == want[name], f"{name}: got {found.get(name)}, want {want[name]}")

    # Windows that fit nowhere, one run each: the message names the axis and both extents.
    refused = 0
    while refused < 40:
        axis = (random.randint(1, 6), random.randint(2, 6), random.randint(1, 3), random.randint(1, 4),
                random.randint(0, 2), random.randint(0, 2))
        if count(*axis) > 0:
            continue
        refused += 1
        got = run(graph("g", [(8, 1, 1, 1, 0, 0), axis]))
        padded, reach = axis[0] + axis[4] + axis[5], (axis[1] - 1) * axis[3] + 1
        check(got.returncode == 1 and "along axis 3" in got.stderr and f"has {padded} element" in got.stderr
              and f"over {reach} [" in got.stderr, f"{axis}: {got.stderr[:300]}")

    # Extremes: exact or refused.
    big = [1, 2, 3, 5, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**62, 2**62 + 1, MOST - 1, MOST]
    cases = [(8, 3, 3, 1, 2**31 - 1, 2**31 - 1), (10, 3, 1, 2, 0, 0), (20, 5, 1, 3, 0, 0), (8, 1, 1, 2, 0, 0)]
    while len(cases) < 150:
        cases.append((random.choice(big), random.choice(big), random.choice(big), random.choice(big),
                      random.choice([0] + big), random.choice([0] + big)))
    exact = 0
    for c in cases:
        got = run(graph("g", [c]))
        fits = all(v <= MOST for v in (c[0] + c[4], c[0] + c[4] + c[5], (c[1] - 1) * c[3] + 1))
        n = formula(*c)
        if not fits or n < 1 or n * 4 > MOST:
            check(got.returncode == 1 and "error:" in got.stderr, f"{c} must be refused: {got.stdout[:200]}")
        else:
            exact += 1
            check(got.returncode == 0 and sizes(got.stdout).get("g") == (n,), f"{c}: {got.stdout[:200]} {got.stderr[:200]}")
    check(exact > 5, f"only {exact} extremes have a result")
    print(f"{len(good)} sizes, {refused} refusals, {len(cases)} extremes ({exact} exact), {failures} failures")
    return failures != 0


sys.exit(main())
