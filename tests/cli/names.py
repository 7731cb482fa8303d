#!/usr/bin/env python3
"""Names decide nothing but names, and the order of statements is checked, not guessed.

Renaming everything at random gives the same graph apart from the names; bindings in any order that
defines names above their uses give the same values; any other order is an error at the early use.
Usage: names.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import random
import re
import subprocess
import sys
import tempfile

FGC = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc")
ODD = ["int", "main", "restrict", "class", "_Exit", "auto", "new", "printf", "errno", "NULL", "_x", "__x", "x_", "a_b",
       "a__b", "graph", "fn", "epilogue", "const", "input", "output", "scalar", "compute", "require", "return",
       "import", "fg", "n" * 63, "mode", "axes", "scale", "causal", "all", "row_major", "align", "dim", "std", "EOF"]
BINDINGS = [  # name, names that it uses, text
    ("t", ["x", "w"], "{t} : bf16 = matmul({x}, {w})"),
    ("u", ["x"], "{u} = relu({x}) * 2"),
    ("v", ["t", "s"], "{v} = {t} + {s}"),
    ("p", ["u", "v"], "{p} = {u} - {v} |> {f}(lower=1)"),
    ("q", ["v"], "{q} = exp({v})"),
    ("y", ["p"], "{y} = {p}"),
    ("z", ["q", "y"], "{z} = {q} * {y}"),
]
NAMES = ["x", "w", "s", "t", "u", "v", "p", "q", "y", "z", "f", "a", "g", "N"]


def program(names, order):
    n = dict(names)
    body = "\n".join("    " + BINDINGS[i][2].format(**n) for i in order)
    return (f"fg 1\n\nfn {n['f']}({n['a']}, lower) {{\n    return {n['a']} + lower\n}}\n"
            f"graph {n['g']}({n['N']} = 16) {{\n    input {n['x']}, {n['w']} : bf16[{n['N']}, {n['N']}]\n"
            f"    scalar {n['s']} : f32 = 0.5\n    output {n['y']}, {n['z']} : f32[{n['N']}, {n['N']}]\n\n{body}\n}}\n")


def run(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.fg")
        with open(path, "w") as f:
            f.write(text)
        return subprocess.run([FGC, "-d", "ir", path], capture_output=True, text=True)


def anonymous(ir):
    """The graph without names; the numbers of values stay."""
    ir = re.sub(r"^graph .*\n", "", ir)
    ir = re.sub(r"param \w+ =", "param", ir)
    return re.sub(r"\w*%", "%", ir)


def meaning(ir):
    """What each output is, as one expression over the inputs: independent of the order of ops."""
    made = {}
    for line in ir.splitlines():
        m = re.match(r"  (?:const )?(\w*%\d+)(?: : .*)? = (.*)", line)
        if m:
            made[m.group(1)] = re.sub(r"\w*%\d+", lambda r: "(" + made.get(r.group(0), r.group(0)) + ")", m.group(2))
    return sorted((k.split("%")[0], v) for k, v in made.items() if k.split("%")[0] in ("y", "z"))


def main():
    random.seed(3)
    failures = 0

    def check(condition, what):
        nonlocal failures
        if not condition:
            failures += 1
            print("FAIL", what)

    plain = {n: n for n in NAMES}
    base = run(program(plain, range(len(BINDINGS))))
    check(base.returncode == 0 and "z%" in base.stdout, base.stderr)
    for _ in range(60):
        new = random.sample(ODD, len(NAMES))
        text = program(dict(zip(NAMES, new)), range(len(BINDINGS)))
        got = run(text)
        check(got.returncode == 0 and anonymous(got.stdout) == anonymous(base.stdout), f"{new}\n{got.stderr[:400]}")

    good = bad = 0
    for _ in range(150):
        order = list(range(len(BINDINGS)))
        if random.random() < 0.5:
            random.shuffle(order)
        else:  # a few swaps: often still in order
            i = random.randrange(len(order) - 1)
            order[i], order[i + 1] = order[i + 1], order[i]
        seen, early = {"x", "w", "s"}, set()
        for i in order:
            early |= {u for u in BINDINGS[i][1] if u not in seen}
            seen.add(BINDINGS[i][0])
        got = run(program(plain, order))
        if not early:
            good += 1
            check(got.returncode == 0 and meaning(got.stdout) == meaning(base.stdout), f"{order}: {got.stderr[:300]}")
        else:
            bad += 1
            told = set(re.findall(r"error: '(\w+)' is used above its definition", got.stderr))
            check(got.returncode == 1 and told == early and got.stderr.count("error:") == len(early),
                  f"{order}: want {early}, told {told}\n{got.stderr[:600]}")
    check(good > 20 and bad > 20, f"{good} good orders, {bad} bad ones")

    # A name defined twice is an error at the second, wherever the two stand.
    for a in BINDINGS:
        text = program(plain, range(len(BINDINGS)))[:-2] + f"    {a[0]} = x\n}}\n"
        got = run(text)
        check(got.returncode == 1 and got.stderr.count("error:") == 1 and f"'{a[0]}'" in got.stderr
              and "twice" in got.stderr, f"{a[0]} twice: {got.stderr[:300]}")
    print(f"60 renamings, {good} orders that work, {bad} that do not, {failures} failures")
    return failures != 0


sys.exit(main())
