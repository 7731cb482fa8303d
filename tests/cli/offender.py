#!/usr/bin/env python3
"""When no engine builds a graph, the note under [no-engine] is at the operator that cuDNN does not take: of the offenders planted
below, each marked <<...>> between operators that it does take, at least nine in ten are named.

That the mark is right is shown with each: the graph up to the operator before it builds. Needs cuDNN. Environment: FGC."""
import os
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
MATMUL = ("    input x : f16[256, 64]\n    input w : f16[64, 128]\n    input b : f16[1, 128]\n    input q : f16[256, 128] col_major\n"
          "    output y : f16[256, 128]\n\n    t0 = matmul(x, w)\n")
NCHW = "    input x : f16[8, 64, 32, 32]\n    input w : f16[64, 64, 3, 3]\n    input b : f16[1, 64, 1, 1]\n    output y : f16[8, 64, 32, 32]\n\n    t0 = conv(x, w, pad=[1, 1])\n"
# (declarations and anchor, the pointwise operators that follow, one marked; t is the value before it)
OFFENDERS = [
    (NCHW, ["<<gelu>>(t)"]),
    (NCHW, ["<<exp>>(t)", "t + b"]),
    (NCHW, ["t + b", "<<erf>>(t)"]),
    (NCHW, ["t + b", "<<softplus>>(t)", "relu(t)", "abs(t)"]),
    (NCHW, ["t <<*>> b", "t + b"]),
    (NCHW, ["t + b", "<<gen_index>>(t, axis=1)"]),
    (MATMUL, ["t <<+>> q"]),
    (MATMUL, ["t + b", "relu(t)", "t <<+>> q"]),
    (MATMUL, ["gelu(t)", "t <<*>> q", "t + b", "exp(t)", "relu(t)"]),
    (MATMUL, ["t + b", "abs(t)", "exp(t)", "t * b", "<<max>>(t, q)", "tanh(t)"]),
    (MATMUL, ["t + b", "sigmoid(t)", "t - b", "relu(t)", "t * b", "abs(t)", "t <<->> q"]),
    (MATMUL, ["relu(t)", "t <<+>> q", "t * b", "sqrt(t)"]),
]


def spec(head, steps):
    """(text, line and column of what was marked)."""
    lines = [re.sub(r"\bt\b", f"t{i}", step) for i, step in enumerate(steps)]
    body = "".join(f"    {'y' if i + 1 == len(lines) else f't{i + 1}'} = {line}\n" for i, line in enumerate(lines))
    if not lines:
        head = head.replace("t0 =", "y =")
    text = "fg 1\n\ngraph g() {\n" + head + body + "}\n"
    at = text.find("<<")
    place = (text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)) if at >= 0 else None
    return text.replace("<<", "").replace(">>", ""), place


def main():
    named = failed = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        def build(text):
            with open(os.path.join(folder, "x.fg"), "w") as f:
                f.write(text)
            r = subprocess.run([FGC, "x.fg", "-q", "-o", "x.plan"], capture_output=True, text=True, cwd=folder, timeout=300)
            return r.returncode, r.stderr

        status, err = build(spec(MATMUL, [])[0])
        if status == 3 and "[no-engine]" not in err:
            print("no plan can be built here: " + (err.splitlines() or [""])[0])
            return 77
        for head, steps in OFFENDERS:
            marked = next(i for i, step in enumerate(steps) if "<<" in step)
            text, (line, column) = spec(head, steps)
            before = spec(head, steps[:marked])[0]
            if build(before)[0] != 0:
                failed += 1
                print(f"FAIL what stands before the mark does not build\n{before}")
                continue
            status, err = build(text)
            if status != 3 or "[no-engine]" not in err:
                failed += 1
                print(f"FAIL the marked operator is no offender: exit status {status}\n{text}{err}")
                continue
            note = re.search(r"^x\.fg:(\d+):(\d+): note: (up to .* adding|no engine takes) ", err, re.M)
            if note and (int(note[1]), int(note[2])) == (line, column):
                named += 1
            else:
                print(f"not named, at {line}:{column}\n{text}{err}")
    n = len(OFFENDERS)
    ok = failed == 0 and 10 * named >= 9 * n
    print(f"{named} of {n} offenders named")
    return 0 if ok else 1


sys.exit(main())
