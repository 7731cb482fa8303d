#!/usr/bin/env python3
"""The checker itself: `fgc run --reference --check` accepts an honest result and rejects each classic mistake.

Honest: f32 accumulation, one rounding. Every wrong output differs from it by one mistake, and the data is such that
the mistake keeps the shape. Needs numpy; exits 77 without it. Prints `N passed, N failed, N skipped`.

Usage: checker.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("numpy is not here")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interp"))
from generate import conv_numpy, from_bits, rounded, to_bits  # noqa: E402

FGC = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc"))
RNG = np.random.default_rng(7)
totals = {"passed": 0, "failed": 0}


def tensor(shape, dtype):
    return rounded(RNG.uniform(-1, 1, shape), dtype)


def f32(x):
    return x.astype(np.float32)


def judge(folder, name, text, inputs, outputs):
    """True when the checker calls every output right. inputs, outputs: name -> (values, type)."""
    spec = os.path.join(folder, "g.fg")
    with open(spec, "w") as f:
        f.write(text)
    args = []
    for option, tensors in (("-i", inputs), ("--check", outputs)):
        for n, (x, dtype) in tensors.items():
            path = os.path.join(folder, f"{n}.npy")
            np.save(path, to_bits(x, dtype) if not isinstance(x, bytes) else x)
            args += [option, f"{n}={path}"]
    r = subprocess.run([FGC, "run", "--reference", spec, *args], capture_output=True, text=True)
    if r.returncode not in (0, 1) or "error:" in r.stderr:
        print(f"FAILED: {name}: {r.stderr}")
        totals["failed"] += 1
        return None
    return r.returncode == 0


def expect(name, right, text, inputs, outputs):
    with tempfile.TemporaryDirectory(prefix="fgc-checker-") as folder:
        verdict = judge(folder, name, text, inputs, outputs)
    if verdict is None:
        return
    totals["passed" if verdict == right else "failed"] += 1
    if verdict != right:
        print(f"FAILED: {name} was {'accepted' if verdict else 'rejected'}")


def conv_cases():
    text = "fg 1\n\ngraph g() {\n    input  x    : bf16[2, 16, 8, 8] channels_last\n    input  w    : bf16[8, 16, 3, 3] channels_last\n    input  bias : bf16[1, 8, 1, 1]\n" \
           "    output y    : bf16[2, 8, 8, 8] channels_last\n\n    y = relu(conv(x, w, pad=[1, 1]) + bias)\n}\n"
    x, w, bias = tensor((2, 16, 8, 8), "bf16"), tensor((8, 16, 3, 3), "bf16"), tensor((1, 8, 1, 1), "bf16")
    inputs = {"x": (x, "bf16"), "w": (w, "bf16"), "bias": (bias, "bf16")}
    acc = f32(conv_numpy(f32(x), f32(w), (1, 1), (1, 1), (1, 1), (1, 1), 1))
    honest = np.maximum(acc + bias, 0)
    expect("conv, honest", True, text, inputs, {"y": (honest, "bf16")})
    expect("bias on the wrong axis (K == Q)", False, text, inputs, {"y": (np.maximum(acc + bias.reshape(1, 1, 1, 8), 0), "bf16")})
    expect("epilogue reordered", False, text, inputs, {"y": (np.maximum(acc, 0) + bias, "bf16")})
    torn = honest.copy()
    torn[-1, :, -1, -1] = np.nan
    expect("last element of each channel unwritten", False, text, inputs, {"y": (torn, "bf16")})
    torn = honest.copy()
    torn[-1, -1, -1] = -1.0
    expect("last row unwritten", False, text, inputs, {"y": (torn, "bf16")})
    pads = "fg 1\n\ngraph g() {\n    input  x : bf16[1, 4, 8, 8]\n    input  w : bf16[4, 4, 3, 3]\n    output y : bf16[1, 4, 4, 4]\n\n" \
           "    y = conv(x, w, pre_pad=[0, 0], post_pad=[1, 1], stride=[2, 2])\n}\n"
    x, w = tensor((1, 4, 8, 8), "bf16"), tensor((4, 4, 3, 3), "bf16")
    inputs = {"x": (x, "bf16"), "w": (w, "bf16")}
    expect("padding, honest", True, pads, inputs, {"y": (conv_numpy(f32(x), f32(w), (0, 0), (1, 1), (2, 2), (1, 1), 1), "bf16")})
    expect("pre and post padding swapped", False, pads, inputs, {"y": (conv_numpy(x, w, (1, 1), (0, 0), (2, 2), (1, 1), 1), "bf16")})


def matmul_cases():
    text = "fg 1\n\ngraph g() {\n    input  a     : bf16[2, 16, 64]\n    input  b     : bf16[2, 64, 16]\n    input  bias  : bf16[1, 1, 16]\n    scalar alpha : f32 = 0.5\n" \
           "    output y     : bf16[2, 16, 16]\n    output amax  : f32[1, 1, 1]\n\n    z = relu(alpha * matmul(a, b) + bias)\n    y = z\n    amax = reduce(z, mode=max_abs, axes=all)\n}\n"
    a, b, bias = tensor((2, 16, 64), "bf16"), tensor((2, 64, 16), "bf16"), tensor((1, 1, 16), "bf16")
    inputs = {"a": (a, "bf16"), "b": (b, "bf16"), "bias": (bias, "bf16")}
    acc = np.matmul(f32(a), f32(b))
    before = np.float32(0.5) * acc + f32(bias)
    honest = np.maximum(before, 0)
    amax = np.abs(honest).max(keepdims=True)
    expect("matmul, honest", True, text, inputs, {"y": (honest, "bf16"), "amax": (amax, "f32")})
    expect("alpha dropped", False, text, inputs, {"y": (np.maximum(acc + bias, 0), "bf16")})
    expect("bias dropped", False, text, inputs, {"y": (np.maximum(0.5 * acc, 0), "bf16")})
    lowest = -np.abs(before).max() * 2 if before.max() > -before.min() else before.min()
    expect("AMAX of the value before the activation", False, text, inputs, {"amax": (np.abs(np.append(before, lowest)).max().reshape(1, 1, 1), "f32")})
    expect("AMAX of one batch", False, text, inputs, {"amax": (np.sort(honest.max(axis=(1, 2)))[:1].reshape(1, 1, 1), "f32")})
    f = "fg 1\n\ngraph g() {\n    input  a : f32[1, 16, 64]\n    input  b : f32[1, 64, 16]\n    output y : f32[1, 16, 16]\n\n    y = matmul(a, b)\n}\n"
    a, b = tensor((1, 16, 64), "f32"), tensor((1, 64, 16), "f32")
    inputs = {"a": (a, "f32"), "b": (b, "f32")}

    def tf32(x):
        bits = f32(x).view(np.uint32)
        return ((bits + 0xfff + (bits >> 13 & 1)) & np.uint32(0xffffe000)).view(np.float32)
    expect("f32 matmul, honest", True, f, inputs, {"y": (np.matmul(f32(a), f32(b)), "f32")})
    expect("TF32 for f32", False, f, inputs, {"y": (np.matmul(tf32(a), tf32(b)), "f32")})


def exponential_cases():
    text = "fg 1\n\ngraph g() {{\n    input  x : f32[1, 8, 64]\n    output y : f32[1, 8, 64]\n\n    y = {}(x)\n}}\n"
    x = tensor((1, 8, 64), "f32") * 80
    x = rounded(x, "f32")

    def power(x, log2e=np.float32(1.44269504)):  # as a GPU does it: 2^(x log2 e), the product rounded
        return np.exp2(f32(x) * log2e)
    for name, f in (("exp", lambda e, x: e(x)), ("sigmoid", lambda e, x: 1 / (1 + e(-x))), ("silu", lambda e, x: f32(x) / (1 + e(-x)))):
        inputs = {"x": (x, "f32")}
        expect(f"{name} by powers of two, honest", True, text.format(name), inputs, {"y": (f(power, x), "f32")})
        expect(f"{name}, a constant of 16 bits", False, text.format(name), inputs, {"y": (f(lambda v: power(v, np.float32(1.4426)), x), "f32")})


def attend(q, k, v, seen, head):
    o = np.zeros(q.shape[:3] + (v.shape[3],))
    for b, h, i in np.ndindex(*q.shape[:3]):
        n = max(0, min(k.shape[2], seen(i)))
        if n == 0:
            continue
        s = 0.25 * (k[b, head(h), :n] @ q[b, h, i])
        e = np.exp(s - s.max())
        o[b, h, i] = rounded(e / e.sum(), "f16") @ v[b, head(h), :n]
    return o


def attention_cases():
    text = "fg 1\n\ngraph g() {{\n    input  q    : f16[1, 4, {0}, 16]\n    input  k, v : f16[1, 2, 12, 16]\n    output o    : f16[1, 4, {0}, 16]\n\n" \
           "    o = sdpa(q, k, v, mask=causal, align={1}, scale=0.25)\n}}\n"
    k, v = tensor((1, 2, 12, 16), "f16"), tensor((1, 2, 12, 16), "f16")
    for n, corner, shift in ((8, "bottom_right", 4), (8, "top_left", 0), (12, "top_left", 0)):
        q, spec = tensor((1, 4, n, 16), "f16"), text.format(n, corner)
        inputs = {"q": (q, "f16"), "k": (k, "f16"), "v": (v, "f16")}
        group = lambda h: h // 2
        expect(f"attention {n}x12 {corner}, honest", True, spec, inputs, {"o": (attend(q, k, v, lambda i: i + 1 + shift, group), "f16")})
        expect(f"{n}x12 {corner}, causal off by one", False, spec, inputs, {"o": (attend(q, k, v, lambda i: i + shift, group), "f16")})
        expect(f"{n}x12 {corner}, one key too many", False, spec, inputs, {"o": (attend(q, k, v, lambda i: i + 2 + shift, group), "f16")})
        expect(f"{n}x12 {corner}, no mask", False, spec, inputs, {"o": (attend(q, k, v, lambda i: 12, group), "f16")})
        expect(f"{n}x12 {corner}, head map by modulo", False, spec, inputs, {"o": (attend(q, k, v, lambda i: i + 1 + shift, lambda h: h % 2), "f16")})
        if n != 12:
            expect(f"{n}x12 {corner}, the other corner", False, spec, inputs, {"o": (attend(q, k, v, lambda i: i + 1 + 4 - shift, group), "f16")})
        torn = attend(q, k, v, lambda i: i + 1 + shift, group)
        torn[0, -1, -1] = np.nan
        expect(f"{n}x12 {corner}, last row unwritten", False, spec, inputs, {"o": (torn, "f16")})


def main():
    np.seterr(all="ignore")
    assert from_bits(to_bits(np.array([1.0]), "bf16"), "bf16")[0] == 1.0
    conv_cases()
    matmul_cases()
    exponential_cases()
    attention_cases()
    print(f"{totals['passed']} passed, {totals['failed']} failed, 0 skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
