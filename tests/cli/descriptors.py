#!/usr/bin/env python3
"""What is lowered means what was written.

Each graph's descriptor tree (`fgc -d desc`) is evaluated with NumPy over the bytes that the graph's own
dims and strides address, and `fgc run --reference --check` judges the outputs. So a pass that moves an
address, a swapped operand or a lost attribute shows up with no GPU. Graphs: those of tests/lower and
tests/pass, and random ones drawn by seed.

Usage: descriptors.py [fgc] [--random N] [--seed S]; the program defaults to $FGC, then ./fgc, the
sources to $srcdir, then two folders up."""
import argparse
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
         "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "i64": np.int64,
         "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}
WORDS = {"DOUBLE": "f64", "FLOAT": "f32", "HALF": "f16", "BFLOAT16": "bf16", "FP8_E4M3": "e4m3",
         "FP8_E5M2": "e5m2", "INT64": "i64", "INT32": "i32", "INT8": "i8", "UINT8": "u8",
         "BOOLEAN": "bool"}
erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def rounded(kind, x):
    """x as the type holds it; f64 in and out. fp8 overflows as cuDNN's conversion does: to NaN."""
    if kind in ("i64", "i32", "i8", "u8"):
        info = np.iinfo(TYPES[kind])
        return np.clip(np.nan_to_num(np.rint(x), nan=0), info.min, info.max)
    if kind == "bool":
        return (x != 0).astype(np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(x, np.float64).astype(np.float32).astype(TYPES[kind]).astype(np.float64)


def pointwise(d, x, b, t):
    def parameter(name):
        return float(d["POINTWISE_" + name])

    def relu():
        low, slope = parameter("RELU_LOWER_CLIP"), parameter("RELU_LOWER_CLIP_SLOPE")
        below = low if slope == 0 else low + slope * (x - low)
        high = parameter("RELU_UPPER_CLIP")
        y = np.where(np.isnan(x) | (x > low), x, below)
        return y if high > 3e38 else np.where(y > high, high, y)

    def index():
        axis = d["POINTWISE_AXIS"]
        shape = [-1 if k == axis else 1 for k in range(x.ndim)]
        return np.broadcast_to(np.arange(x.shape[axis], dtype=np.float64).reshape(shape), x.shape)

    modes = {
        "ADD": lambda: x + b, "SUB": lambda: x - b, "MUL": lambda: x * b, "DIV": lambda: x / b,
        "MOD": lambda: np.fmod(x, b), "POW": lambda: np.power(x, b),
        "MIN": lambda: np.fmin(x, b), "MAX": lambda: np.fmax(x, b),
        "NEG": lambda: -x, "ABS": lambda: np.abs(x), "EXP": lambda: np.exp(x),
        "LOG": lambda: np.log(x), "SQRT": lambda: np.sqrt(x), "RSQRT": lambda: 1 / np.sqrt(x),
        "RECIPROCAL": lambda: 1 / x, "SIN": lambda: np.sin(x), "COS": lambda: np.cos(x),
        "ERF": lambda: erf(x), "CEIL": lambda: np.ceil(x), "FLOOR": lambda: np.floor(x),
        "RELU_FWD": relu,
        "ELU_FWD": lambda: np.where(x > 0, x, parameter("ELU_ALPHA") * np.expm1(x)),
        "GELU_FWD": lambda: x / 2 * erfc(-x / math.sqrt(2)),
        "GELU_APPROX_TANH_FWD":
            lambda: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
        "SIGMOID_FWD": lambda: 1 / (1 + np.exp(-x)),
        "SWISH_FWD": lambda: x / (1 + np.exp(-parameter("SWISH_BETA") * x)),
        "SOFTPLUS_FWD":
            lambda: np.logaddexp(0, parameter("SOFTPLUS_BETA") * x) / parameter("SOFTPLUS_BETA"),
        "TANH_FWD": lambda: np.tanh(x),
        "CMP_EQ": lambda: x == b, "CMP_NEQ": lambda: x != b, "CMP_LT": lambda: x < b,
        "CMP_LE": lambda: x <= b, "CMP_GT": lambda: x > b, "CMP_GE": lambda: x >= b,
        "BINARY_SELECT": lambda: np.where(t != 0, x, b), "IDENTITY": lambda: x, "GEN_INDEX": index,
    }
    with np.errstate(all="ignore"):
        return np.asarray(modes[d["POINTWISE_MODE"]](), np.float64)


def convolution(c, x, w):
    pre, post = c["CONVOLUTION_PRE_PADDINGS"], c["CONVOLUTION_POST_PADDINGS"]
    step, dilation = c["CONVOLUTION_FILTER_STRIDES"], c["CONVOLUTION_DILATIONS"]
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(pre, post)))
    taps = w.shape[2:]
    out = [(n - (r - 1) * d - 1) // s + 1 for n, r, d, s in zip(x.shape[2:], taps, dilation, step)]
    groups = x.shape[1] // w.shape[1]
    y = np.zeros([x.shape[0], groups, w.shape[0] // groups] + out)
    w = w.reshape([groups, -1] + list(w.shape[1:]))
    x = x.reshape([x.shape[0], groups, -1] + list(x.shape[2:]))
    for tap in itertools.product(*map(range, taps)):
        window = tuple(slice(r * d, r * d + (n - 1) * s + 1, s)
                       for r, d, n, s in zip(tap, dilation, out, step))
        y += np.einsum("ngc...,gkc->ngk...", x[(Ellipsis,) + window], w[(Ellipsis,) + tap])
    return y.reshape([y.shape[0], -1] + out)


def reduction(mode, x, dims):
    axes = tuple(k for k, n in enumerate(dims) if n == 1)
    gather = {"ADD": np.sum, "MAX": np.max, "MIN": np.min, "AMAX": lambda v, **k: np.max(abs(v), **k)}
    return gather[mode](x, axis=axes, keepdims=True)


def matmul(a, b):
    if a.ndim == 4 and a.shape[1] != b.shape[1]:  # attention: query heads share key heads
        b = np.repeat(b, a.shape[1] // b.shape[1], axis=1)
    return a @ b


def strided(memory, dims, strides):
    return np.lib.stride_tricks.as_strided(memory, dims, [s * memory.itemsize for s in strides])


def evaluate(tree, memory, scalars, views={}):
    """memory: uid -> flat f64 buffer, written in place; views: the same of what looks into another's, by its uid in this tree."""
    by_id = {d["id"]: d for d in tree["descriptors"]}
    attention = sum(by_id[name]["kind"] == "OPERATION_MATMUL" for name in tree["operations"]) == 2
    value = {}

    def read(name):
        d = by_id[name]
        if name in value:
            return value[name]
        uid = d["TENSOR_UNIQUE_ID"]
        if d.get("TENSOR_IS_BY_VALUE"):
            literal = tree["constants"].get(str(uid))
            x = float(literal["value"]) if literal else scalars[uid]
            return np.full(d["TENSOR_DIMENSIONS"], x)
        return strided(views[uid] if uid in views else memory[uid], d["TENSOR_DIMENSIONS"], d["TENSOR_STRIDES"])

    def write(name, y):
        d = by_id[name]
        dims, kind = d["TENSOR_DIMENSIONS"], WORDS[d["TENSOR_DATA_TYPE"]]
        y = np.broadcast_to(y, dims)
        if d.get("TENSOR_IS_VIRTUAL"):
            value[name] = y if kind == "f32" else rounded(kind, y)
        else:
            value[name] = rounded(kind, y)
            if d["TENSOR_UNIQUE_ID"] not in memory:  # a temporary between the steps of one graph
                memory[d["TENSOR_UNIQUE_ID"]] = np.full(1 + sum((n - 1) * s for n, s in zip(dims, d["TENSOR_STRIDES"])), np.nan)
            strided(memory[d["TENSOR_UNIQUE_ID"]], dims, d["TENSOR_STRIDES"])[...] = value[name]

    def operand(d, name):
        return read(d[name]) if name in d else None

    for name in tree["operations"]:
        d = by_id[name]
        if d["kind"] == "OPERATION_MATMUL":
            write(d["OPERATION_MATMUL_CDESC"],
                  matmul(read(d["OPERATION_MATMUL_ADESC"]), read(d["OPERATION_MATMUL_BDESC"])))
        elif d["kind"] == "OPERATION_CONVOLUTION_FORWARD":
            p = "OPERATION_CONVOLUTION_FORWARD_"
            write(d[p + "Y"], convolution(by_id[d[p + "CONV_DESC"]], read(d[p + "X"]), read(d[p + "W"])))
        elif d["kind"] == "OPERATION_REDUCTION":
            y = d["OPERATION_REDUCTION_YDESC"]
            mode = by_id[d["OPERATION_REDUCTION_DESC"]]["REDUCTION_OPERATOR"]
            write(y, reduction(mode, read(d["OPERATION_REDUCTION_XDESC"]), by_id[y]["TENSOR_DIMENSIONS"]))
        else:
            p = "OPERATION_POINTWISE_"
            pw = by_id[d[p + "PW_DESCRIPTOR"]]
            y = pointwise(pw, operand(d, p + "XDESC"), operand(d, p + "BDESC"), operand(d, p + "TDESC"))
            if attention and pw["POINTWISE_MODE"] == "DIV":
                # a row without a key: cuDNN's attention engines give 0 (measured on an H200)
                y = np.where(np.isnan(y), 0, y)
            write(d[p + "YDESC"], y)


# ---- files ---------------------------------------------------------------------------------------

def load(path, kind):
    x = np.load(path)
    return (x.view(TYPES[kind]) if kind in ("bf16", "e4m3", "e5m2") else x).astype(np.float64)


def save(path, kind, x):
    x = x.astype(TYPES[kind])
    raw = {"bf16": np.uint16, "e4m3": np.uint8, "e5m2": np.uint8}.get(kind)
    np.save(path, np.ascontiguousarray(x.view(raw) if raw else x))


def split(text):
    """The JSON documents of a text, one after another."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        tree, at = decoder.raw_decode(text, at)
        yield tree


INTERFACE = re.compile(r"  (input|output) (\w+)%(\d+) : (\w+)\[([\d, ]+)\] strides\(([\d, ]+)\)")
VIEW = re.compile(r"%(\d+) : .* in\(%(\d+), (\d+)\)$", re.M)
SCALAR = re.compile(r"  scalar (\w+)%(\d+) : (\w+)")


class Checker:
    def __init__(self, fgc):
        self.fgc, self.checked, self.refused, self.failed = fgc, 0, 0, 0

    def run(self, *args):
        return subprocess.run([self.fgc, *args], capture_output=True, text=True, timeout=300)

    def file(self, path):
        trees = self.run("-d", "desc", path)
        if trees.returncode == 3 and "[no-form]" in trees.stderr or "[no-lowering]" in trees.stderr:
            self.refused += 1
            return
        ir, parts = self.run("-d", "ir", path), self.run("-d", "partition", path)
        if trees.returncode or ir.returncode or parts.returncode:
            print("%s: exit %d\n%s" % (path, trees.returncode, trees.stderr))
            self.failed += 1
            return
        graphs = re.split(r"^graph ", ir.stdout, flags=re.M)[1:]
        steps = zip(split(trees.stdout), re.split(r"^graph ", parts.stdout, flags=re.M)[1:], strict=True)
        for text in graphs:
            self.graph(path, text, steps)
        if next(steps, None):
            print("%s: more steps than its graphs have" % path)
            self.failed += 1

    def graph(self, path, text, steps):
        """Takes the graph's trees, one a step, until all outputs are written."""
        name = text.split()[0]
        with tempfile.TemporaryDirectory() as folder:
            tensors = [(role, n, int(uid), kind, [int(v) for v in dims.split(",")],
                        [int(v) for v in strides.split(",")])
                       for role, n, uid, kind, dims, strides in INTERFACE.findall(text)]
            scalars, given = {}, []
            for n, uid, _ in SCALAR.findall(text):
                scalars[int(uid)] = 0.75
                given += ["--scalar", n + "=0.75"]
            made = self.run("run", "--reference", "--graph", name, "--seed", "5", "--save-inputs", folder,
                            *given, path)
            memory = {}
            for role, n, uid, kind, dims, strides in tensors:
                reach = 1 + sum((d - 1) * s for d, s in zip(dims, strides))
                memory[uid] = np.full(reach, np.nan)
                if role == "input":
                    file = "%s/%s.npy" % (folder, n)
                    strided(memory[uid], dims, strides)[...] = load(file, kind)
                    x = strided(memory[uid], dims, strides)
                    save(file, kind, x)  # where strides repeat an element, all of its readers agree
                    given += ["-i", "%s=%s" % (n, file)]
            left = {uid for role, _, uid, *_ in tensors if role == "output"}
            while left:
                tree, part = next(steps)
                views = [map(int, v) for v in VIEW.findall(part)]
                evaluate(tree, memory, scalars, {uid: memory[base][offset:] for uid, base, offset in views})
                left -= {d["TENSOR_UNIQUE_ID"] for d in tree["descriptors"] if d["kind"] == "TENSOR"}
            for role, n, uid, kind, dims, strides in tensors:
                if role == "output":
                    file = "%s/%s.npy" % (folder, n)
                    save(file, kind, strided(memory[uid], dims, strides))
                    given += ["--check", "%s=%s" % (n, file)]
            verdict = self.run("run", "--reference", "--graph", name, *given, path)
            self.checked += 1
            if made.returncode or verdict.returncode:
                self.failed += 1
                print("%s: graph %s\n%s%s" % (path, name, verdict.stdout, verdict.stderr))


# ---- random graphs -------------------------------------------------------------------------------

UNARY = ["relu(%s)", "relu(%s, lower=-1, upper=6)", "leaky_relu(%s, slope=0.125)", "gelu(%s)", "silu(%s)",
         "swish(%s, beta=1.5)", "elu(%s, alpha=0.5)", "tanh(%s)", "sigmoid(%s)", "abs(%s)", "-%s",
         "softplus(%s, beta=2)", "exp(%s)", "gelu_tanh(%s)", "sqrt(abs(%s))"]
BINARY = ["%s + %s", "%s - %s", "%s * %s", "min(%s, %s)", "max(%s, %s)", "select(%s < %s, 0.5, -2)"]


def layout(draw, rank):
    if rank < 2:
        return ""
    axes = list(range(rank))
    draw.shuffle(axes)
    return draw.choice(["", "", " col_major", " channels_last" if rank >= 3 else "",
                        " order(%s)" % ", ".join(map(str, axes))])


def random_graph(draw):
    kind = draw.choice(["matmul", "conv", "flat", "flat"])
    lines = []
    if kind == "matmul":
        batch = [draw.choice([1, 2, 3]) for _ in range(draw.choice([0, 1, 1, 2, 3]))]
        m, n, k = (draw.choice([1, 5, 16, 24]) for _ in range(3))
        dims = batch + [m, n]
        share = draw.random() < 0.3
        for name, tail in (("a", [m, k]), ("b", [k, n])):
            own = [1] * len(batch) if share and name == "b" else batch
            clause = draw.choice(["", "", " col_major"])
            lines.append("input %s : f16[%s]%s" % (name, ", ".join(map(str, own + tail)), clause))
        value, out = "matmul(a, b)", ""
    elif kind == "conv":
        space = [draw.choice([1, 5, 8]) for _ in range(draw.choice([1, 2]))]
        pads = [(draw.randint(0, 2), draw.randint(0, 2)) for _ in space]
        step = [draw.choice([1, 2]) for _ in space]
        dims = [draw.choice([1, 2]), 8] + [(x + p + q - 1) // s + 1 if x + p + q >= 1 else 1
                                          for x, (p, q), s in zip(space, pads, step)]
        out = draw.choice(["", " channels_last", " channels_last"])
        c = draw.choice([1, 8])
        lines += ["input a : bf16[%d, %d, %s]%s" % (dims[0], c, ", ".join(map(str, space)), out),
                  "input b : bf16[8, %d, %s] channels_last" % (c, ", ".join("1" for _ in space))]
        value = "conv(a, b, pre_pad=[%s], post_pad=[%s], stride=[%s])" % (
            ", ".join(str(p) for p, _ in pads), ", ".join(str(q) for _, q in pads),
            ", ".join(map(str, step)))
    else:
        dims = [draw.choice([1, 2, 3, 6]) for _ in range(draw.randint(1, 5))]
        out = layout(draw, len(dims))
        lines.append("input a : f16[%s]%s" % (", ".join(map(str, dims)), out))
        value = "a * 1.5"
    for step in range(draw.randint(0, 4)):
        if draw.random() < 0.5:
            value = draw.choice(UNARY) % ("(%s)" % value)
        else:
            other = [d if draw.random() < 0.6 else 1 for d in dims]
            same = other == dims
            lines.append("input t%d : f32[%s]%s" % (step, ", ".join(map(str, other)), out if same else ""))
            operands = ["(%s)" % value, "t%d" % step]
            draw.shuffle(operands)
            value = draw.choice(BINARY) % tuple(operands)
    lines.append("output y : %s[%s]%s" % (draw.choice(["f16", "f32", "bf16"]), ", ".join(map(str, dims)), out))
    body = ["z = " + value, "y = z + 0"]
    if draw.random() < 0.4:
        axes = sorted(draw.sample(range(len(dims)), draw.randint(1, len(dims))))
        gathered = [1 if k in axes else d for k, d in enumerate(dims)]
        lines.append("output r : f32[%s]" % ", ".join(map(str, gathered)))
        mode = draw.choice(["add", "max", "min", "max_abs", "mean", "norm1"])
        body.append("r = reduce(z, mode=%s, axes=[%s])" % (mode, ", ".join(map(str, axes))))
    return "fg 1\n\ngraph g() {\n    %s\n\n    %s\n}\n" % ("\n    ".join(lines), "\n    ".join(body))


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument("fgc", nargs="?", default=os.environ.get("FGC", "./fgc"))
    parser.add_argument("--random", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    checker = Checker(options.fgc)
    top = os.path.join(os.environ.get("srcdir", os.path.join(here, "..", "..")), "tests")
    for folder in ("lower", "pass"):
        for file in sorted(os.listdir(os.path.join(top, folder))):
            if file.endswith(".fg"):
                checker.file(os.path.join(top, folder, file))
    if checker.refused:
        print("%d files of tests/lower and tests/pass are refused" % checker.refused)
        checker.failed += checker.refused
    draw = random.Random(options.seed)
    for k in range(options.random):
        with tempfile.NamedTemporaryFile("w", suffix=".fg", prefix="random%d-" % k) as f:
            text = random_graph(draw)
            f.write(text)
            f.flush()
            failed = checker.failed
            checker.file(f.name)
            if checker.failed > failed:
                print(text)
    print("%d graphs checked, %d refused by name, %d wrong"
          % (checker.checked, checker.refused, checker.failed))
    return 1 if checker.failed or checker.checked < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
