#!/usr/bin/env python3
"""No attribute of any operator is inert: changing it alone changes the descriptor tree, or is refused.

The operators and their attributes are those that `fgc ops` lists, so a new one without a line in the
table below fails here. Usage: attributes.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import re
import subprocess
import sys
import tempfile

FGC = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc")

MATRICES = "input a : f16[2, 32, 16]\n    input b : f16[2, 16, 24]\n    output y : f16[2, 32, 24]"
MAPS = ("input x : f16[2, 8, 12, 12] channels_last\n    input w : f16[8, 8, 3, 3] channels_last\n"
        "    output y : f16[...] channels_last")
HEADS = "input q : f16[1, 4, 64, 64]\n    input k, v : f16[1, 4, 96, 64]\n    output y : f16[1, 4, 64, 64]"
ROWS = "input x : f32[4, 16]\n    output y : f32[4, 16]"
PAIRS = "input x, x2 : f32[4, 16]\n    output y : f32[4, 16]"
SUMS = "input x : f32[4, 16]\n    output y : f32[...]"

# operator: (declarations, positional arguments, {attribute: values that must all differ})
# None stands for leaving the attribute out. The first value of each is the base of the others' runs.
TABLE = {
    "conv": (MAPS, "x, w", {
        "pad": [None, "[1, 1]", "[1, 0]", "[0, 1]"],
        "pre_pad": [None, "[1, 0]", "[0, 1]", "[2, 1]"],
        "post_pad": [None, "[1, 0]", "[0, 1]", "[2, 1]"],
        "stride": [None, "[2, 2]", "[1, 2]", "[2, 1]"],
        "dilation": [None, "[2, 2]", "[1, 2]", "[2, 1]"],
        "groups": [None, "2", "8"],
        "compute": [None, "f16"]}),
    "matmul": (MATRICES, "a, b", {"compute": [None, "f16"]}),
    "sdpa": (HEADS, "q, k, v", {
        "scale": ["0.125", None, "1.0", "0", "-0.5", "0.25"],
        "mask": ["causal", None],
        "align": ["top_left", "bottom_right", None],
        "compute": [None, "f16"]}),
    "reduce": (SUMS, "x", {
        "mode": ["add", "mul", "min", "max", "max_abs", "mean", "norm1", "norm2", "mul_no_zeros"],
        "axes": ["[1]", "[0]", "all"],
        "compute": [None, "f64"]}),
    "relu": (ROWS, "x", {"lower": [None, "-1", "0.5"], "upper": [None, "6", "1"]}),
    "leaky_relu": (ROWS, "x", {"slope": ["0.1", "0.2", "-1"]}),
    "elu": (ROWS, "x", {"alpha": [None, "0.5", "2"]}),
    "relu_bwd": (PAIRS, "x, x2", {"lower": [None, "-1", "0.5"], "upper": [None, "6", "1"], "slope": [None, "0.1", "0.2"]}),
    "elu_bwd": (PAIRS, "x, x2", {"alpha": [None, "0.5", "2"]}),
    "swish_bwd": (PAIRS, "x, x2", {"beta": [None, "0.5", "2"]}),
    "softplus_bwd": (PAIRS, "x, x2", {"beta": [None, "0.5", "2"]}),
    "transpose": ("input x : f32[2, 3, 3, 3]\n    output y : f32[2, 3, 3, 3]", "x", {"axes": ["[0, 1, 2, 3]", "[0, 2, 1, 3]", "[0, 1, 3, 2]"]}),
    "reshape": ("input x : f32[2, 3, 4]\n    output y : f32[2, 12] strides(16, 1)", "x", {"dims": ["[2, 12]", "[24]", "[4, 6]"]}),
    "slice": ("input x : f32[8, 6]\n    output y : f32[...]", "x", {
        "start": [None, "[1, 0]", "[0, 2]"],
        "end": [None, "[4, 6]", "[8, 4]"],
        "step": [None, "[2, 1]", "[4, 1]"]}),
    "gen_index": ("input x : f32[4, 16]\n    output y : i32[4, 16]", "x", {"axis": ["0", "1"]}),
    "swish": (ROWS, "x", {"beta": [None, "0.5", "2"]}),
    "softplus": (ROWS, "x", {"beta": [None, "0.5", "2"]}),
    "cast": ("input x : f32[4, 16]\n    output y : f32[4, 16]\n", "x",
             {"type": ["f16", "bf16", "i8", "e4m3"]}),
}


def dump(text):
    """(exit status, what leaves the lowering)"""
    with tempfile.NamedTemporaryFile("w", suffix=".fg") as f:
        f.write(text)
        f.flush()
        run = subprocess.run([FGC, "-d", "desc", f.name], capture_output=True, text=True, timeout=60)
    if run.returncode not in (0, 1, 3):
        sys.exit("exit %d from:\n%s%s" % (run.returncode, text, run.stderr))
    if run.returncode and not re.search(r"error: .*\[[a-z-]+\]", run.stderr):
        sys.exit("refused without a reason:\n%s%s" % (text, run.stderr))
    return run.returncode, run.stdout


def spec(op, settings):
    declarations, operands, _ = TABLE[op]
    given = "".join(", %s=%s" % (k, v) for k, v in settings.items() if v is not None)
    return "fg 1\n\ngraph g() {\n    %s\n\n    y = %s(%s%s)\n}\n" % (declarations, op, operands, given)


def main():
    listed = {}
    for line in subprocess.run([FGC, "ops"], capture_output=True, text=True, check=True).stdout.splitlines():
        name = line.split("(")[0]
        listed[name] = re.findall(r"(\w+)=", line)
    failed = checked = 0
    for op, attributes in listed.items():
        known = TABLE.get(op, (None, None, {}))[2]
        for name in attributes:
            if name not in known:
                print("no values for '%s' of '%s'" % (name, op))
                failed += 1
        for name in known:
            if name not in attributes:
                print("'%s' has no attribute '%s'" % (op, name))
                failed += 1
        if not known:
            continue
        base = {k: v[0] for k, v in known.items()}
        status, _ = dump(spec(op, base))
        if status != 0:
            print("the base of '%s' is refused" % op)
            failed += 1
        for name, values in known.items():
            seen = {}
            for value in values:
                status, out = dump(spec(op, {**base, name: value}))
                checked += 1
                if status == 0 and out in seen:
                    print("'%s': %s=%s and %s=%s lower alike" % (op, name, value, name, seen[out]))
                    failed += 1
                if status == 0:
                    seen[out] = value
    for op in TABLE:
        if op not in listed:
            print("there is no operator '%s'" % op)
            failed += 1
    print("%d settings of %d operators, %d inert or unknown" % (checked, len(TABLE), failed))
    return 1 if failed or checked < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
