#!/usr/bin/env python3
"""Where a graph is cut, an epilogue stays in the kernel that makes its first argument, or is refused at its line;
a residual from an earlier kernel is no reason to refuse. `-d desc` lowers every step. A plan holds as many
steps. Environment: FGC."""
import os
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
HEAD = """fg 1

epilogue both(acc, other) {
    return acc + other
}

epilogue rows(acc) {
    return acc - reduce(acc, mode=max, axes=[2])
}

epilogue twice(acc, other) {
    return relu(acc |> both(other))
}

graph g() {
    input  x : bf16[1, 16, 16]
    input  w : bf16[1, 16, 16]
    output y : f32[1, 16, 16]

"""
# body, steps when it is cut, what is said when it is not
CASES = [
    ("a = matmul(x, w)\n    b = matmul(w, x)\n    y = a |> both(b)", 0, "reads what a later kernel makes"),
    ("a = matmul(x, w)\n    b = matmul(w, x)\n    y = b |> both(a)", 2, None),
    ("a = matmul(x, w)\n    b = matmul(w, x)\n    y = a |> twice(b)", 0, "reads what a later kernel makes"),
    ("a = matmul(x, w)\n    b = matmul(w, x)\n    y = b |> twice(exp(a))", 2, None),
    ("h : bf16 = matmul(x, w) |> rows()\n    y = matmul(h, w)", 0, "reads the result of a reduction"),
    ("h : bf16 = matmul(x, w) |> both(pow(x, 2.0))\n    y = matmul(h, w)", 0, "gives NaN for bases below 0"),
    ("h : bf16 = matmul(x, w)\n    y = matmul(h, w) |> both(h)", 2, None),
]


def fgc(folder, *args, plan="g.fg"):
    return subprocess.run([FGC, *args, plan], cwd=folder, capture_output=True, text=True, timeout=120)


def try_case(folder, body, steps, said):
    text = HEAD + "    " + body + "\n}\n"
    with open(os.path.join(folder, "g.fg"), "w") as f:
        f.write(text)
    cut, lowered = fgc(folder, "-d", "partition"), fgc(folder, "-d", "desc")
    if said:
        call = "acc |> both" if "twice" in body else "|>"  # the innermost call, not the one that leads to it
        line = 1 + next(i for i, x in enumerate(text.split("\n")) if call in x and (call != "|>" or i > 13))
        ok = cut.returncode == 1 and f"g.fg:{line}:" in cut.stderr and "[broken-promise]" in cut.stderr
        return ok and said in cut.stderr and not cut.stdout
    ok = cut.returncode == 0 and cut.stdout.count("\n# step ") == steps
    ok = ok and lowered.returncode == 0 and lowered.stdout.count('"operations"') == steps
    built, shown = fgc(folder, "-o", "g.plan"), fgc(folder, "show", plan="g.plan")
    missing = built.returncode == 3 and "not found" in built.stderr  # no cuDNN
    os.path.exists(os.path.join(folder, "g.plan")) and os.remove(os.path.join(folder, "g.plan"))
    return ok and (missing or built.returncode == 0 and len(re.findall("^ *step ", shown.stdout, re.M)) == steps)


# Three values of 2^62 bytes, of which two are live at once.
LARGE = """fg 1

graph g() {
    input  x : bf16[1, 1073741824, 16]
    input  w : bf16[1, 16, 1073741824]
    output y : bf16[1, 1073741824, 1073741824]

    a = matmul(x, w)
    b = relu(matmul(x, w))
    y = matmul(x, w) + a * b
}
"""


def too_large(folder):
    with open(os.path.join(folder, "g.fg"), "w") as f:
        f.write(LARGE)
    said = fgc(folder, "-d", "partition")
    return said.returncode == 1 and "g.fg:3:7: error:" in said.stderr and "[too-large]" in said.stderr and not said.stdout


def chain(n):
    """n matmuls, each of the one before."""
    lines = [f"    h{i} : bf16 = matmul({f'h{i - 1}' if i else 'x'}, w)" for i in range(n - 1)]
    head = "fg 1\n\ngraph g() {\n    input  x, w : bf16[1, 16, 16]\n    output y : bf16[1, 16, 16]\n\n"
    return head + "\n".join(lines) + f"\n    y = matmul(h{n - 2}, w)\n}}\n"


def limited(folder):
    """64 kernels can follow each other; 65 and 10,000 are refused at once."""
    for n, good in ((64, True), (65, False), (10000, False)):
        with open(os.path.join(folder, "g.fg"), "w") as f:
            f.write(chain(n))
        said = fgc(folder, "-d", "partition")
        if (said.returncode == 0) != good or (f"cut into {n} kernels" in said.stderr) == good:
            return False
    return True


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if not limited(folder):
            failed += 1
            print("64 kernels:", fgc(folder, "-d", "partition").stderr[:500])
        if not too_large(folder):
            failed += 1
            print("offsets beyond 63 bits:", fgc(folder, "-d", "partition"))
    for body, steps, said in CASES:
        with tempfile.TemporaryDirectory() as folder:
            if not try_case(folder, body, steps, said):
                failed += 1
                print("not as it should be:", body, "\n", fgc(folder, "-d", "partition"))
    print(f"{len(CASES) + 2 - failed} of {len(CASES) + 2} cuts are right")
    return failed > 0


sys.exit(main())
