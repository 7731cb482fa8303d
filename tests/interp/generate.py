#!/usr/bin/env python3
"""The reference interpreter's cases, computed by NumPy in f64: NAME.fg, NAME.in/*.npy, NAME.out/*.npy.

    generate.py [--check N] [--seed S]  regenerates N cases (50) drawn by S (the day) and compares them with the files
    generate.py --write                 writes every case

Inputs follow from the case's name alone. bf16 travels as <u2, the 8-bit floats as |u1. Needs numpy; exits 77
without it. The last line is `N passed, N failed, N skipped`."""
import argparse
import math
import os
import random
import sys
import time
import zlib

try:
    import numpy as np
except ImportError:
    print("numpy is not here")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = {}

# ---- element types: exact values and one rounding -----------------------------------------------------


def small_codes(exponent, fraction, bias, infinity):
    """The value of each code of an 8-bit float."""
    values = np.empty(256)
    for code in range(256):
        e, f = code >> fraction & (1 << exponent) - 1, code & (1 << fraction) - 1
        top = e == (1 << exponent) - 1
        if top and infinity:
            v = math.nan if f else math.inf
        elif top and f == (1 << fraction) - 1:
            v = math.nan
        else:
            v = math.ldexp(f + (1 << fraction if e else 0), (e or 1) - bias - fraction)
        values[code] = -v if code & 0x80 else v
    return values


CODES = {"e4m3": small_codes(4, 3, 7, False), "e5m2": small_codes(5, 2, 15, True)}


def to_bits(x, dtype):
    """f64 values as the file's array: rounded once, to nearest even; the small floats saturate."""
    x = np.asarray(x, dtype=np.float64)
    if dtype == "bf16":  # by hand: through f32 it would round twice
        mantissa, exponent = np.frexp(x)
        step = np.ldexp(1.0, np.maximum(exponent, -125) - 8)
        with np.errstate(invalid="ignore"):
            r = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        bits = r.astype(np.float32).view(np.uint32)
        return (bits >> 16).astype(np.uint16)
    if dtype in CODES:
        out = np.empty(x.shape, np.uint8)
        values = CODES[dtype]
        finite = np.flatnonzero(np.isfinite(values))
        largest = values[finite].max()
        for i, v in np.ndenumerate(x):
            if math.isnan(v):
                out[i] = 0x7f if dtype == "e4m3" else 0x7e
                continue
            v = min(max(v, -largest), largest)
            d = np.abs(values[finite] - v)
            near = finite[d == d.min()]
            near = [c for c in near if (c & 0x80 != 0) == (math.copysign(1, v) < 0)] or list(near)
            out[i] = min(near, key=lambda c: c & 1)
        return out
    if dtype in ("i8", "i32"):
        info = np.iinfo({"i8": np.int8, "i32": np.int32}[dtype])
        return np.clip(np.rint(np.nan_to_num(x, posinf=info.max, neginf=info.min)), info.min, info.max).astype(info.dtype)
    if dtype == "bool":
        return x != 0
    with np.errstate(over="ignore"):
        return x.astype({"f32": np.float32, "f16": np.float16, "f64": np.float64}[dtype])


def from_bits(a, dtype):
    if dtype == "bf16":
        return (a.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in CODES:
        return CODES[dtype][a]
    return a.astype(np.float64)


def rounded(x, dtype):
    return from_bits(to_bits(x, dtype), dtype)


# ---- cases ----------------------------------------------------------------------------------------------


class Draw:
    """Random inputs of one case."""

    def __init__(self, name):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.inputs = {}

    def __call__(self, name, shape, dtype, least=-2.0, most=2.0, special=()):
        x = self.rng.uniform(least, most, shape)
        if dtype in ("i8", "i32"):
            x = self.rng.integers(-7, 8, shape).astype(float)
        if dtype == "bool":
            x = self.rng.integers(0, 2, shape).astype(float)
        x = np.array(x)
        for i, v in enumerate(special):
            x.flat[i] = v
        bits = to_bits(x, dtype)
        self.inputs[name] = bits
        return from_bits(bits, dtype)


def case(name):
    def add(f):
        CASES[name] = f
        return f
    return add


def dims(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


def graph(declarations, *body):
    lines = ["fg 1", "", "graph g() {"] + ["    " + d for d in declarations] + [""] + ["    " + b for b in body] + ["}"]
    return "\n".join(lines) + "\n"


def erf(x):
    return np.vectorize(math.erf)(x)


UNARY = {
    "relu": (lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)), "relu(x)"),
    "relu6": (lambda x: np.clip(x, -0.5, 1.25), "relu(x, lower=-0.5, upper=1.25)"),
    "leaky_relu": (lambda x: np.where(x > 0, x, 0.1 * x), "leaky_relu(x, slope=0.1)"),
    "elu": (lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)), "elu(x, alpha=0.5)"),
    "gelu": (lambda x: x / 2 * (1 + erf(x / math.sqrt(2))), "gelu(x)"),
    "gelu_tanh": (lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))), "gelu_tanh(x)"),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), "sigmoid(x)"),
    "silu": (lambda x: x / (1 + np.exp(-x)), "silu(x)"),
    "swish": (lambda x: x / (1 + np.exp(-1.702 * x)), "swish(x, beta=1.702)"),
    "softplus": (lambda x: np.log1p(np.exp(2 * x)) / 2, "softplus(x, beta=2)"),
    "tanh": (np.tanh, "tanh(x)"), "exp": (np.exp, "exp(x)"), "neg": (np.negative, "-x"), "abs": (np.abs, "abs(x)"),
    "sin": (np.sin, "sin(x)"), "cos": (np.cos, "cos(x)"), "tan": (np.tan, "tan(x)"), "erf": (erf, "erf(x)"), "ceil": (np.ceil, "ceil(x)"), "floor": (np.floor, "floor(x)"),
}
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.fmin, "max": np.fmax, "mod": np.fmod,
          "pow": lambda a, b: np.power(np.abs(a), b), "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
          "ge": np.greater_equal, "atan2": np.arctan2, "add_square": lambda a, b: a + b * b}
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh_slope(x):
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
    return 0.5 * (1 + np.tanh(u)) + 0.5 * x / np.cosh(u) ** 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)


# NAME: (gradient with respect to x of the activation, its attributes)
BACKWARD = {
    "relu_bwd": (lambda x: np.where(x <= -0.5, 0.125, np.where(x <= 1.25, 1, 0)), ", lower=-0.5, upper=1.25, slope=0.125"),
    "elu_bwd": (lambda x: np.where(x > 0, 1, 0.5 * np.exp(x)), ", alpha=0.5"),
    "gelu_bwd": (lambda x: (1 + erf(x / math.sqrt(2))) / 2 + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi), ""),
    "gelu_tanh_bwd": (gelu_tanh_slope, ""),
    "sigmoid_bwd": (lambda x: sigmoid(x) * (1 - sigmoid(x)), ""),
    "swish_bwd": (lambda x: sigmoid(1.702 * x) + 1.702 * x * sigmoid(1.702 * x) * (1 - sigmoid(1.702 * x)), ", beta=1.702"),
    "softplus_bwd": (lambda x: sigmoid(2 * x), ", beta=2"),
    "tanh_bwd": (lambda x: 1 - np.tanh(x) ** 2, ""),
}
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


def unary(name, f, expression, dtype, least=-3.0):
    @case(f"{name}-{dtype}")
    def make(draw):
        x = draw("x", (1, 4, 8), dtype, least, 3.0)
        return graph([f"input  x : {dtype}[1, 4, 8]", f"output y : {dtype}[1, 4, 8]"], f"y = {expression}"), {"y": to_bits(f(x), dtype)}


def binary(name, f, dtype):
    @case(f"{name}-{dtype}")
    def make(draw):
        a, b = draw("a", (2, 4, 8), dtype), draw("b", (2, 1, 8), dtype, 0.25, 2.0)
        if name in COMPARE:
            b = draw("b", (2, 4, 8), dtype)
            b = np.where(np.arange(64).reshape(2, 4, 8) % 2, a, b)  # equal ones among them
            draw.inputs["b"] = to_bits(b, dtype)
        out = "bool" if name in COMPARE else dtype
        expression = f"{name}(abs(a), b)" if name == "pow" else f"{name}(a, b)"
        shape = dims(b.shape)
        return graph([f"input  a : {dtype}[2, 4, 8]", f"input  b : {dtype}{shape}", f"output y : {out}[2, 4, 8]"], f"y = {expression}"), \
            {"y": to_bits(f(a, b), out)}


# ---- the standard library: every function of stdlib/*.fg has a case ----------------------------------------

def library(name, call, shapes, y, dtype="f32", outputs=None):
    """call: on the inputs of `shapes`, one import of std.FILE; y: the same in NumPy, one array or several."""
    file = name.split(".")[0]

    @case(f"std-{name.replace('.', '-')}")
    def make(draw):
        x = {n: draw(n, s, d) for n, (s, d) in shapes.items()}
        values = y(*x.values())
        values = values if isinstance(values, tuple) else (values,)
        names = [f"y{i}" for i in range(len(values))]
        types = outputs or [dtype] * len(values)
        text = graph([f"input  {n} : {d}{dims(s)}" for n, (s, d) in shapes.items()] + [f"output {n} : {t}{dims(v.shape)}" for n, t, v in zip(names, types, values)],
                     f"{', '.join(names)} = {file}.{call}")
        return text.replace("fg 1\n", f"fg 1\n\nimport std.{file}\n"), {n: to_bits(v, t) for n, t, v in zip(names, types, values)}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def clip01(x):
    return np.clip(x / 6 + 0.5, 0, 1)


_X = {"x": ((2, 3, 8), "f32")}
_GATED = {"gate": ((2, 3, 8), "f32"), "up": ((2, 3, 8), "f32")}
library("act.relu6", "relu6(4 * x)", _X, lambda x: np.clip(4 * x, 0, 6))
library("act.hard_sigmoid", "hard_sigmoid(2 * x)", _X, lambda x: clip01(2 * x))
library("act.hard_swish", "hard_swish(2 * x)", _X, lambda x: 2 * x * clip01(2 * x))
library("act.quick_gelu", "quick_gelu(x)", _X, lambda x: x / (1 + np.exp(-1.702 * x)))
library("act.squared_relu", "squared_relu(x)", _X, lambda x: np.maximum(x, 0) ** 2)
library("act.mish", "mish(x)", _X, lambda x: x * np.tanh(np.log1p(np.exp(x))))
library("act.selu", "selu(x)", _X, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)))
library("mlp.swiglu", "swiglu(gate, up)", _GATED, lambda g, u: g / (1 + np.exp(-g)) * u)
library("mlp.geglu", "geglu(gate, up)", _GATED, lambda g, u: g / 2 * (1 + erf(g / math.sqrt(2))) * u)
library("mlp.reglu", "reglu(gate, up)", _GATED, lambda g, u: np.maximum(g, 0) * u)
library("mlp.glu", "glu(gate, up)", _GATED, lambda g, u: u / (1 + np.exp(-g)))
library("nn.softmax", "softmax(3 * x)", _X, lambda x: softmax(3 * x))
library("nn.attention", "attention(q, k, v, scale=0.5)", {"q": ((2, 3, 8), "f32"), "k": ((2, 5, 8), "f32"), "v": ((2, 5, 4), "f32")},
        lambda q, k, v: softmax(0.5 * q @ k.swapaxes(1, 2)) @ v)
_LAYER = {"x": ((2, 3, 8), "bf16"), "w": ((1, 8, 6), "bf16"), "b": ((1, 1, 6), "bf16")}
library("nn.linear_bias_relu", "linear_bias_relu(x, w, b)", _LAYER, lambda x, w, b: np.maximum(x @ w + b, 0), "bf16")
library("nn.linear_bias_gelu", "linear_bias_gelu(x, w, b)", _LAYER, lambda x, w, b: (x @ w + b) / 2 * (1 + erf((x @ w + b) / math.sqrt(2))), "bf16")
library("nn.bias_relu", "bias_relu(matmul(x, w), b)", _LAYER, lambda x, w, b: np.maximum(x @ w + b, 0), "bf16")
library("nn.bias_gelu", "bias_gelu(matmul(x, w), b)", _LAYER, lambda x, w, b: (x @ w + b) / 2 * (1 + erf((x @ w + b) / math.sqrt(2))), "bf16")
library("nn.bias_add_relu", "bias_add_relu(matmul(x, w), b, r)", {**_LAYER, "r": ((2, 3, 6), "bf16")}, lambda x, w, b, r: np.maximum(x @ w + b + r, 0), "bf16")
_CONV = {"x": ((2, 3, 6, 6), "f32"), "w": ((4, 3, 3, 3), "f32"), "b": ((1, 4, 1, 1), "f32")}
_half = lambda x, w: conv_numpy(x, w, (1, 1), (1, 1), (2, 2), (1, 1), 1)
library("nn.conv_bias_relu", "conv_bias_relu(x, w, b, pad=[1, 1], stride=[2, 2])", _CONV, lambda x, w, b: np.maximum(_half(x, w) + b, 0))
library("nn.conv_bias_add_relu", "conv_bias_add_relu(x, w, b, r, pad=[1, 1], stride=[2, 2])", {**_CONV, "r": ((2, 4, 3, 3), "f32")},
        lambda x, w, b, r: np.maximum(_half(x, w) + b + r, 0))
_FP8 = {"a": ((1, 4, 8), "e4m3"), "b": ((1, 8, 6), "e4m3"), "sa": ((1, 1, 1), "f32"), "sb": ((1, 1, 1), "f32")}
library("fp8.scaled_matmul", "scaled_matmul(a, b, sa, sb)", _FP8, lambda a, b, sa, sb: a @ b * sa * sb, "bf16")
library("fp8.rescale", "rescale(matmul(a, b), sa, sb)", _FP8, lambda a, b, sa, sb: a @ b * sa * sb, "bf16")
_scaled = lambda a, b, sa, sb: (a @ b * sa * sb, np.abs(a @ b * sa * sb).max(keepdims=True))
library("fp8.scaled_matmul_amax", "scaled_matmul_amax(a, b, sa, sb)", _FP8, _scaled, outputs=["bf16", "f32"])
library("fp8.rescale_amax", "rescale_amax(matmul(a, b), sa, sb)", _FP8, _scaled, outputs=["bf16", "f32"])
_MAP8 = {"x": ((2, 4, 6, 6), "e4m3"), "w": ((6, 4, 3, 3), "e4m3"), "sx": ((1, 1, 1, 1), "f32"), "sw": ((1, 1, 1, 1), "f32")}
library("fp8.scaled_conv", "scaled_conv(x, w, sx, sw, pad=[1, 1], stride=[2, 2])", _MAP8, lambda x, w, sx, sw: _half(x, w) * sx * sw, "bf16")
library("fp8.scaled_conv_amax", "scaled_conv_amax(x, w, sx, sw, pad=[1, 1], stride=[2, 2])", _MAP8,
        lambda x, w, sx, sw: (_half(x, w) * sx * sw, np.abs(_half(x, w) * sx * sw).max(keepdims=True)), outputs=["bf16", "f32"])


def backward(name, f, more, dtype):
    @case(f"{name}-{dtype}")
    def make(draw):
        dy, x = draw("dy", (2, 4, 8), dtype), draw("x", (2, 4, 8), dtype, -3.0, 3.0)
        return graph([f"input  dy, x : {dtype}[2, 4, 8]", f"output dx    : {dtype}[2, 4, 8]"], f"dx = {name}(dy, x{more})"), {"dx": to_bits(dy * f(x), dtype)}


for _name, (_f, _more) in BACKWARD.items():
    backward(_name, _f, _more, "f32")
backward("gelu_bwd", *BACKWARD["gelu_bwd"], "bf16")


@case("logic")
def _(draw):
    a, b, c = draw("a", (2, 3, 4), "bool") != 0, draw("b", (2, 3, 4), "bool") != 0, draw("c", (2, 1, 4), "bool") != 0
    return graph(["input  a, b : bool[2, 3, 4]", "input  c    : bool[2, 1, 4]", "output y, z : bool[2, 3, 4]"], "y = a and not b or c", "z = not (a or b) and c"), \
        {"y": (a & ~b) | c, "z": ~(a | b) & c}


@case("transpose")
def _(draw):
    x = draw("x", (3, 4, 5), "f32")
    y = x.transpose(2, 0, 1)
    return graph(["input  x : f32[3, 4, 5]", "output y : f32[5, 3, 4]"], "y = transpose(x, axes=[2, 0, 1])"), {"y": to_bits(y, "f32")}


@case("reshape")
def _(draw):
    x = draw("x", (2, 3, 8), "bf16")
    y = x.reshape(6, 2, 4).transpose(1, 0, 2).reshape(48)  # the second reads a view of a view
    return graph(["input  x : bf16[2, 3, 8]", "output y : bf16[48]", "output z : bf16[3, 16]"],
                 "y = reshape(transpose(reshape(x, dims=[6, 2, 4]), axes=[1, 0, 2]), dims=[48])",
                 "z = reshape(-x, dims=[3, 16])"), {"y": to_bits(y, "bf16"), "z": to_bits(-x.reshape(3, 16), "bf16")}


@case("slice")
def _(draw):
    x = draw("x", (5, 6, 7), "f32")
    y = x[1:4:2, :, 6:7]
    z = np.exp(x)[:, 5:, 0:6:4][2:3]
    return graph(["input  x : f32[5, 6, 7]", "output y : f32[2, 6, 1]", "output z : f32[1, 1, 2]"],
                 "y = copy(slice(x, start=[1, 0, 6], end=[4, 6, 7], step=[2, 1, 1]))",
                 "z = slice(slice(exp(x), start=[0, 5, 0], end=[5, 6, 6], step=[1, 1, 4]), start=[2, 0, 0], end=[3, 1, 2])"), {
                     "y": to_bits(y, "f32"), "z": to_bits(z, "f32")}


@case("index")
def _(draw):
    x = draw("x", (2, 3, 4), "bf16")
    i = np.broadcast_to(np.arange(3)[None, :, None], (2, 3, 4))
    return graph(["input  x : bf16[2, 3, 4]", "output y : bf16[2, 3, 4]", "output i : i32[2, 3, 4]"], "y = select(gen_index(x, axis=2) <= gen_index(x, axis=1), x, 0)",
                 "i = gen_index(x, axis=1)"), {"y": to_bits(np.where(np.arange(4)[None, None, :] <= i, x, 0), "bf16"), "i": i.astype(np.int32)}


for _name, (_f, _e) in UNARY.items():
    unary(_name, _f, _e, "f32")
for _name, _f in POSITIVE.items():
    unary(_name, _f, f"{_name}(x)", "f32", 0.125)
for _name, _f in BINARY.items():
    binary(_name, _f, "f32")
for _dtype in ("f16", "bf16", "e4m3", "e5m2"):
    unary("silu", *UNARY["silu"], _dtype)
    binary("add", np.add, _dtype)
for _dtype in ("i8", "i32"):
    binary("add", np.add, _dtype)
    binary("mul", np.multiply, _dtype)
    binary("max", np.fmax, _dtype)
    binary("lt", np.less, _dtype)


@case("select")
def _(draw):
    c, a, b = draw("c", (2, 3, 4), "bool"), draw("a", (2, 3, 4), "bf16"), draw("b", (2, 3, 4), "bf16")
    return graph(["input  c    : bool[2, 3, 4]", "input  a, b : bf16[2, 3, 4]", "output y    : bf16[2, 3, 4]"], "y = select(c, a, b)"), \
        {"y": to_bits(np.where(c != 0, a, b), "bf16")}


@case("scalars")
def _(draw):
    x = draw("x", (2, 3), "f32")
    return graph(["input  x : f32[2, 3]", "scalar s : f32 = 0.75", "scalar t : i32 = 3", "output y : f32[2, 3]"],
                 "y = (s * x + 2) / cast(t, type=f32)"), {"y": to_bits((0.75 * x + 2) / 3, "f32")}


def conversion(source, target, special):
    @case(f"cast-{source}-{target}")
    def make(draw):
        x = draw("x", (1, 8, 8), source, -500.0, 500.0, special)
        return graph([f"input  x : {source}[1, 8, 8]", f"output y : {target}[1, 8, 8]"], f"y = cast(x, type={target})"), {"y": to_bits(x, target)}


HARD = (0.0, -0.0, math.inf, -math.inf, 1.00390625, 1.01171875, 448.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0, 65519.0, 65520.0, 2.0 ** -9, 2.0 ** -10,
        3 * 2.0 ** -11, 2.0 ** -24, 2.0 ** -25, 1e38, -128.5, 127.5, 0.5, 1.5, 2.5)
for _target in ("f16", "bf16", "e4m3", "e5m2"):
    conversion("f32", _target, HARD + (math.nan,))
for _target in ("i8", "i32"):
    conversion("f32", _target, HARD)
conversion("bf16", "f16", HARD)
conversion("f16", "e4m3", HARD)

REDUCE = {"add": np.sum, "mul": np.prod, "min": np.min, "max": np.max, "max_abs": lambda x, **k: np.max(np.abs(x), **k), "mean": np.mean,
          "norm1": lambda x, **k: np.sum(np.abs(x), **k), "norm2": lambda x, **k: np.sqrt(np.sum(x * x, **k)),
          "mul_no_zeros": lambda x, **k: np.prod(np.where(x == 0, 1, x), **k)}


def reduction(mode, axes, label):
    @case(f"reduce-{mode}-{label}")
    def make(draw):
        x = draw("x", (2, 3, 4), "f32", special=(0.0, 0.0))
        y = REDUCE[mode](x, axis=axes, keepdims=True)
        shown = "all" if len(axes) == 3 else list(axes)
        return graph(["input  x : f32[2, 3, 4]", f"output y : f32{dims(y.shape)}"], f"y = reduce(x, mode={mode}, axes={shown})"), {"y": to_bits(y, "f32")}


for _mode in REDUCE:
    reduction(_mode, (2,), "last")
    reduction(_mode, (0, 1, 2), "all")
reduction("add", (0, 2), "outer")
reduction("max", (1,), "middle")


def conv_numpy(x, w, pre, post, stride, dilation, groups):
    n, c = x.shape[:2]
    k, spatial = w.shape[0], w.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(pre, post)))
    out = [(x.shape[2 + i] - (spatial[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(len(spatial))]
    y = np.zeros([n, k] + out)
    per, cg = k // groups, c // groups
    for tap in np.ndindex(*spatial):
        window = tuple(slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(tap, dilation, out, stride))
        part = x[(slice(None), slice(None)) + window]
        for g in range(groups):
            y[:, g * per:(g + 1) * per] += np.einsum("nc...,kc->nk...", part[:, g * cg:(g + 1) * cg], w[(slice(g * per, (g + 1) * per), slice(None)) + tap])
    return y


def convolution(name, xs, ws, dtype, pre, post, stride, dilation, groups, layout="row_major"):
    @case(f"conv-{name}")
    def make(draw):
        x, w = draw("x", xs, dtype), draw("w", ws, dtype)
        y = conv_numpy(x, w, pre, post, stride, dilation, groups)
        out = "i32" if dtype == "i8" else dtype
        pads = f"pad={list(pre)}" if pre == post else f"pre_pad={list(pre)}, post_pad={list(post)}"
        return graph([f"input  x : {dtype}{dims(xs)} {layout}", f"input  w : {dtype}{dims(ws)} {layout}", f"output y : {out}{dims(y.shape)} {layout}"],
                     f"y = conv(x, w, {pads}, stride={list(stride)}, dilation={list(dilation)}, groups={groups})"), {"y": to_bits(y, out)}


convolution("plain", (2, 3, 6, 5), (4, 3, 3, 3), "f32", (1, 1), (1, 1), (1, 1), (1, 1), 1)
convolution("strided", (1, 4, 9, 8), (4, 4, 3, 2), "bf16", (1, 0), (1, 0), (2, 3), (1, 1), 1, "channels_last")
convolution("dilated", (1, 2, 10, 20), (3, 2, 3, 5), "f32", (0, 0), (0, 0), (1, 1), (2, 3), 1)
convolution("groups", (2, 6, 5, 5), (4, 3, 3, 3), "f16", (1, 1), (1, 1), (1, 1), (1, 1), 2)
convolution("depthwise", (1, 4, 6, 6), (4, 1, 3, 3), "bf16", (1, 1), (1, 1), (1, 1), (1, 1), 4, "channels_last")
convolution("pre", (1, 2, 6, 6), (2, 2, 3, 3), "f32", (1, 0), (0, 0), (2, 2), (1, 1), 1)
convolution("post", (1, 2, 6, 6), (2, 2, 3, 3), "f32", (0, 0), (1, 1), (2, 2), (1, 1), 1)
convolution("one-axis", (2, 3, 9), (4, 3, 3), "f32", (2,), (0,), (1,), (1,), 1)
convolution("one-axis-groups", (2, 4, 11), (6, 2, 3), "bf16", (3,), (1,), (2,), (2,), 2, "channels_last")
convolution("three-axes", (2, 3, 4, 5, 3), (4, 3, 2, 3, 2), "f32", (1, 1, 0), (0, 1, 1), (1, 2, 1), (2, 1, 1), 1)
convolution("three-axes-depthwise", (1, 4, 3, 4, 5), (8, 1, 3, 3, 3), "f16", (1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 1, 1), 4, "channels_last")
convolution("bytes", (1, 4, 3, 3), (4, 2, 1, 1), "i8", (0, 0), (0, 0), (1, 1), (1, 1), 2)


def product(name, sa, sb, dtype, layout="row_major"):
    @case(f"matmul-{name}")
    def make(draw):
        a, b = draw("a", sa, dtype), draw("b", sb, dtype)
        y = np.matmul(a, b)
        return graph([f"input  a : {dtype}{dims(sa)}", f"input  b : {dtype}{dims(sb)} {layout}", f"output y : {dtype}{dims(y.shape)}"], "y = matmul(a, b)"), \
            {"y": to_bits(y, dtype)}


product("plain", (1, 5, 7), (1, 7, 3), "f32")
product("columns", (2, 5, 7), (2, 7, 3), "bf16", "col_major")
product("broadcast", (3, 1, 4, 6), (1, 2, 6, 5), "f16")
product("rank-two", (4, 9), (9, 2), "f32")
product("one-column", (1, 3, 4), (1, 4, 1), "f32")
product("fp8", (1, 4, 8), (1, 8, 4), "e4m3")


@case("linear-amax")
def _(draw):
    a, b, bias = draw("a", (2, 4, 8), "bf16"), draw("b", (2, 8, 6), "bf16"), draw("bias", (1, 1, 6), "bf16")
    z = np.maximum(0.5 * np.matmul(a, b) + bias, 0)
    return graph(["input  a     : bf16[2, 4, 8]", "input  b     : bf16[2, 8, 6]", "input  bias  : bf16[1, 1, 6]", "scalar alpha : f32 = 0.5",
                  "output y     : bf16[2, 4, 6]", "output amax  : f32[1, 1, 1]"], "z = relu(alpha * matmul(a, b) + bias)", "y = z",
                 "amax = reduce(z, mode=max_abs, axes=all)"), {"y": to_bits(z, "bf16"), "amax": to_bits(z.max(keepdims=True), "f32")}


@case("stored-amax")
def _(draw):
    x = draw("x", (1, 4, 8), "f32", special=(3.00390625,))
    y = rounded(x, "bf16")
    return graph(["input  x    : f32[1, 4, 8]", "output y    : bf16[1, 4, 8]", "output amax : f32[1, 1, 1]"], "y = relu(x, lower=-9)",
                 "amax = reduce(y, mode=max_abs, axes=all)"), {"y": to_bits(x, "bf16"), "amax": to_bits(np.abs(y).max(keepdims=True), "f32")}


def attention(name, b, h, hkv, sq, skv, d, dtype, mask, scale=0.125):
    @case(f"sdpa-{name}")
    def make(draw):
        q, k, v = draw("q", (b, h, sq, d), dtype), draw("k", (b, hkv, skv, d), dtype), draw("v", (b, hkv, skv, d), dtype)
        o, stats = np.zeros((b, h, sq, d)), np.full((b, h, sq, 1), -math.inf)
        for i, j, r in np.ndindex(b, h, sq):
            last = skv if mask is None else min(skv, r + 1 + (skv - sq if mask == "bottom_right" else 0))
            if last <= 0:
                continue
            g = j // (h // hkv)
            s = scale * (k[i, g, :last] @ q[i, j, r])
            e = np.exp(s - s.max())
            o[i, j, r] = rounded(e / e.sum(), dtype) @ v[i, g, :last]
            stats[i, j, r] = s.max() + math.log(e.sum())
        more = f", mask=causal, align={mask}" if mask else ""
        return graph([f"input  q    : {dtype}{dims(q.shape)}", f"input  k, v : {dtype}{dims(k.shape)}", f"output o    : {dtype}{dims(o.shape)}",
                      f"output s    : f32{dims(stats.shape)}"], f"o, s = sdpa(q, k, v, scale={scale}{more})"), {"o": to_bits(o, dtype), "s": to_bits(stats, "f32")}


attention("full", 2, 2, 2, 4, 5, 8, "f16", None)
attention("causal", 1, 4, 2, 6, 6, 8, "bf16", "top_left")
attention("top-left", 1, 2, 1, 2, 5, 8, "f16", "top_left")
attention("bottom-right", 1, 2, 1, 2, 5, 8, "f16", "bottom_right")
attention("empty-rows", 1, 1, 1, 5, 2, 8, "f16", "bottom_right")
attention("gqa", 1, 8, 2, 3, 3, 16, "bf16", None, 0.25)


def windowed(name, sq, skv, mask, allowed, align=None):
    """allowed(i, j): may query i, standing at key i of the diagonal's corner, see key j."""
    @case(f"sdpa-window-{name}")
    def make(draw):
        shapes = (1, 2, sq, 8), (1, 1, skv, 8), (1, 1, skv, 8)
        q, k, v = (draw(n, s, "f16") for n, s in zip("qkv", shapes))
        shift = skv - sq if align == "bottom_right" else 0
        seen = np.array([[allowed(i + shift, j) for j in range(skv)] for i in range(sq)])
        s = np.where(seen, 0.5 * q @ k.swapaxes(2, 3), -math.inf)
        most = np.where(seen.any(1), s.max(-1), 0)[..., None]
        e = np.exp(s - most)
        total = e.sum(-1, keepdims=True)
        o = np.where(total > 0, rounded(e / np.where(total > 0, total, 1), "f16") @ v, 0)
        stats = np.where(total > 0, most + np.log(total), -math.inf)
        more = f", align={align}" if align else ""
        return graph([f"input  q    : f16{dims(q.shape)}", f"input  k, v : f16{dims(k.shape)}", f"output o    : f16{dims(o.shape)}",
                      f"output s    : f32{dims(stats.shape)}"], f"o, s = sdpa(q, k, v, scale=0.5, mask={mask}{more})"), \
            {"o": to_bits(o, "f16"), "s": to_bits(stats, "f32")}


windowed("left", 7, 7, "window(left=2)", lambda i, j: j >= i - 2)
windowed("right", 7, 7, "window(right=3)", lambda i, j: j <= i + 3)
windowed("both", 7, 7, "window(left=1, right=2)", lambda i, j: i - 1 <= j <= i + 2)
windowed("causal", 8, 8, "causal and window(left=2)", lambda i, j: i - 2 <= j <= i)
windowed("narrowed", 8, 8, "(window(left=5, right=2) and window(left=3)) and window(right=4)", lambda i, j: i - 3 <= j <= i + 2)
windowed("bottom-right", 4, 9, "window(left=2, right=1)", lambda i, j: i - 2 <= j <= i + 1, "bottom_right")
windowed("top-left", 9, 4, "window(left=2, right=1)", lambda i, j: i - 2 <= j <= i + 1, "top_left")
windowed("empty", 9, 3, "window(left=1, right=0)", lambda i, j: i - 1 <= j <= i, "bottom_right")


# ---- answers known beforehand, written as numbers --------------------------------------------------------


def known(name, declarations, body, inputs, outputs):
    """inputs, outputs: name -> (values, type)."""
    @case(f"known-{name}")
    def make(draw):
        draw.inputs.update({n: to_bits(x, dtype) for n, (x, dtype) in inputs.items()})
        return graph(declarations, *body), {n: to_bits(x, dtype) for n, (x, dtype) in outputs.items()}


BESIDE_ONE = 1 + 2.0 ** -12  # TF32 makes 1 of it
known("f32-conv", ["input  x : f32[1, 8, 4, 4]", "input  w : f32[8, 8, 1, 1]", "output y : f32[1, 8, 4, 4]"], ["y = conv(x, w)"],
      {"x": (np.full((1, 8, 4, 4), BESIDE_ONE), "f32"), "w": (np.eye(8).reshape(8, 8, 1, 1), "f32")}, {"y": (np.full((1, 8, 4, 4), BESIDE_ONE), "f32")})
known("f32-matmul", ["input  a : f32[1, 4, 8]", "input  b : f32[1, 8, 8]", "output y : f32[1, 4, 8]"], ["y = matmul(a, b)"],
      {"a": (np.full((1, 4, 8), BESIDE_ONE), "f32"), "b": (np.eye(8).reshape(1, 8, 8), "f32")}, {"y": (np.full((1, 4, 8), BESIDE_ONE), "f32")})
# as many channels as columns, no filter: what comes out is where the bias went
for _layout in ("row_major", "channels_last"):
    known(f"bias-{_layout}", [f"input  x : f32[1, 3, 4, 4] {_layout}", f"input  w : f32[4, 3, 3, 3] {_layout}", "input  b : f32[1, 4, 1, 1]",
                              f"output y : f32[1, 4, 4, 4] {_layout}"], ["y = conv(x, w, pad=[1, 1]) + b"],
          {"x": (np.ones((1, 3, 4, 4)), "f32"), "w": (np.zeros((4, 3, 3, 3)), "f32"), "b": (np.arange(1.0, 5).reshape(1, 4, 1, 1), "f32")},
          {"y": (np.repeat(np.arange(1.0, 5), 16).reshape(1, 4, 4, 4), "f32")})
known("int8-groups", ["input  x : i8[1, 4, 1, 1]", "input  w : i8[4, 2, 1, 1]", "output y : i32[1, 4, 1, 1]"], ["y = conv(x, w, groups=2)"],
      {"x": (np.array([-2, -1, 0, 1]).reshape(1, 4, 1, 1), "i8"), "w": (np.array([1, -1, 2, 0, 3, 1, 4, 2]).reshape(4, 2, 1, 1), "i8")},
      {"y": (np.array([-1, -4, 1, 2]).reshape(1, 4, 1, 1), "i32")})
# the squares do not fit f16, the result does
known("rms-norm", ["input  x : f16[1, 1, 4]", "output y : f16[1, 1, 4]"], ["y = x * rsqrt(reduce(x * x, mode=mean, axes=[2]) + 1.0e-6)"],
      {"x": (np.full((1, 1, 4), 8192.0), "f16")}, {"y": (np.ones((1, 1, 4)), "f16")})
ROW = rounded(1000 + 0.001 * np.arange(16), "f32").reshape(1, 1, 16)
known("layer-norm", ["input  x : f32[1, 1, 16]", "output y : f32[1, 1, 16]"],
      ["d = x - reduce(x, mode=mean, axes=[2])", "y = d * rsqrt(reduce(d * d, mode=mean, axes=[2]) + 1.0e-5)"],
      {"x": (ROW, "f32")}, {"y": ((ROW - ROW.mean()) / np.sqrt(ROW.var() + 1e-5), "f32")})
# zero queries see the mean of their keys, and key j holds j: the answer tells which keys were seen
for _n, _m, _corner, _rows in ((2, 5, "top_left", (0, 0.5)), (2, 5, "bottom_right", (1.5, 2)), (5, 2, "top_left", (0, 0.5, 0.5, 0.5, 0.5)),
                               (5, 2, "bottom_right", (0, 0, 0, 0, 0.5)), (1, 4, "top_left", (0,)), (1, 4, "bottom_right", (1.5,))):
    known(f"causal-{_n}-{_m}-{_corner.replace('_', '-')}",
          [f"input  q    : f16[1, 1, {_n}, 8]", f"input  k, v : f16[1, 1, {_m}, 8]", f"output o    : f16[1, 1, {_n}, 8]", f"output s    : f32[1, 1, {_n}, 1]"],
          [f"o, s = sdpa(q, k, v, scale=0.125, mask=causal, align={_corner})"],
          {"q": (np.zeros((1, 1, _n, 8)), "f16"), "k": (np.ones((1, 1, _m, 8)), "f16"), "v": (np.repeat(np.arange(_m), 8).reshape(1, 1, _m, 8), "f16")},
          {"o": (np.repeat(_rows, 8).reshape(1, 1, _n, 8), "f16"),
           "s": (np.array([math.log(s) if s > 0 else -math.inf for s in (min(_m, i + 1 + (_m - _n if _corner == "bottom_right" else 0)) for i in range(_n))])
                 .reshape(1, 1, _n, 1), "f32")})
NAN, INF = math.nan, math.inf
ODD = (NAN, INF, -INF, -0.0, 1.0, NAN)
for _name, _expression, _y in (("relu", "relu(x)", (NAN, INF, 0, 0, 1, NAN)), ("relu6", "relu(x, upper=6)", (NAN, 6, 0, 0, 1, NAN)),
                               ("max", "max(x, 0.5)", (0.5, INF, 0.5, 0.5, 1, 0.5)), ("min", "min(x, 0.5)", (0.5, 0.5, -INF, 0, 0.5, 0.5)),
                               ("select", "select(x < 2, x, 3)", (3, 3, -INF, 0, 1, 3)), ("reciprocal", "1 / x", (NAN, 0, 0, -INF, 1, NAN)),
                               ("exp", "exp(x)", (NAN, INF, 0, 1, math.e, NAN)), ("tanh", "tanh(x)", (NAN, 1, -1, 0, math.tanh(1), NAN))):
    known(f"odd-{_name}", ["input  x : f32[1, 1, 6]", "output y : f32[1, 1, 6]"], [f"y = {_expression}"],
          {"x": (np.array(ODD).reshape(1, 1, 6), "f32")}, {"y": (np.array(_y, dtype=float).reshape(1, 1, 6), "f32")})
for _mode in ("add", "max", "min", "max_abs"):
    known(f"odd-reduce-{_mode}", ["input  x : f32[1, 2, 3]", "output y : f32[1, 2, 1]"], [f"y = reduce(x, mode={_mode}, axes=[2])"],
          {"x": (np.array([1, NAN, 2, -INF, 3, -4.0]).reshape(1, 2, 3), "f32")},
          {"y": (np.array([NAN, {"add": -INF, "max": 3, "min": -INF, "max_abs": INF}[_mode]]).reshape(1, 2, 1), "f32")})


# ---- files --------------------------------------------------------------------------------------------------


def make(name):
    """The case's files: relative path -> bytes or array."""
    draw = Draw(name)
    text, outputs = CASES[name](draw)
    files = {f"{name}.fg": text}
    files.update({f"{name}.in/{n}.npy": a for n, a in draw.inputs.items()})
    files.update({f"{name}.out/{n}.npy": a for n, a in outputs.items()})
    return files


def same(path, want):
    try:
        if isinstance(want, str):
            return open(path).read() == want
        got = np.load(path)
    except OSError:
        return False
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == np.ascontiguousarray(want).tobytes()


def close(path, want):
    """Libraries' functions may differ in the last place: so may what is rounded from them."""
    if same(path, want):
        return True
    if isinstance(want, str) or not os.path.exists(path):
        return False
    got = np.load(path)
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind == "f":
        return np.allclose(got, want, rtol=1e-6 if got.dtype == np.float32 else 2e-3, atol=1e-7, equal_nan=True)
    return np.abs(got.astype(int) - want.astype(int)).max() <= 1


def library_functions():
    """The cases that stdlib/*.fg asks for."""
    folder = os.path.join(HERE, "..", "..", "stdlib")
    for f in sorted(os.listdir(folder)):
        if f.endswith(".fg"):
            with open(os.path.join(folder, f)) as text:
                for line in text:
                    if line.startswith(("fn ", "epilogue ")):
                        yield f"std-{f[:-3]}-{line.split()[1].split('(')[0]}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--check", type=int, metavar="N", default=50)
    p.add_argument("--seed", type=int, default=int(time.time() // 86400))
    p.add_argument("--write", action="store_true")
    args = p.parse_args()
    np.seterr(all="ignore")
    names = sorted(CASES)
    if args.write:
        for name in names:
            for path, content in make(name).items():
                full = os.path.join(HERE, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                if isinstance(content, str):
                    with open(full, "w") as f:
                        f.write(content)
                else:
                    np.save(full, content)
        print(f"{len(names)} cases")
        return 0
    failed = 0
    drawn = random.Random(args.seed).sample(names, min(args.check, len(names)))
    for name in drawn:
        bad = [path for path, content in make(name).items() if not close(os.path.join(HERE, path), content)]
        failed += bool(bad)
        for path in bad:
            print(f"{path} is not what generate.py makes")
    lacking = sorted(set(library_functions()) - set(CASES))
    for name in lacking:
        print(f"there is no case '{name}': a function of the library without a test")
    failed += len(lacking)
    print(f"seed {args.seed}")
    print(f"{max(0, len(drawn) - failed)} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
