#!/usr/bin/env python3
"""Right answers on a GPU: plans through their generated launchers, against the f64 reference and PyTorch.

    run.py [--fgc FILE] [--out DIR] [--commit HASH] [--expect NAME=SHA256]... [--only PIECE]... [--jobs N]

Needs a GPU with its driver, cc, the CUDA runtime, cuDNN 9 (the toolkit's or a Python package's) and python3 with
torch and numpy; exits 77 without them. Every check is on its own: one that fails stops no other. Results go to
DIR/device.json and DIR/device.md as rows (name, verdict, what was measured); --expect gives the digest of a plan
that another machine compiled for nvidia-h200 and that must come out here too. The last line is
`N passed, N failed, N skipped`."""
import argparse
import concurrent.futures
import datetime
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

try:
    import numpy as np
    import torch
except ImportError:
    np = torch = None

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
lock = threading.Lock()
rows = []


def row(name, ok, detail):
    detail = re.sub(r"/[^\s'\";]*/fgc-device-[^/\s]+/(?:tmp[^/\s]+/)?", "", detail)  # folders of this run mean nothing later
    with lock:
        rows.append({"name": name, "verdict": {True: "pass", False: "FAIL", None: "skip"}[ok], "detail": detail})
        print(f"{rows[-1]['verdict']:4} {name}: {detail}", flush=True)


# ---- the machine -----------------------------------------------------------------------------------

class Machine:
    """Where the compiler, the headers and the libraries are."""

    def __init__(self, fgc, folder):
        self.fgc, self.folder = fgc, folder
        packages = [p for base in sys.path for p in glob.glob(os.path.join(base, "nvidia", "*"))]
        self.include = [d for d in ["/usr/local/cuda/include"] + [os.path.join(p, "include") for p in packages] if os.path.isdir(d)]
        self.lib = [d for d in ["/usr/local/cuda/lib64", "/usr/local/cuda/lib"] + [os.path.join(p, "lib") for p in packages] if os.path.isdir(d)]
        self.link = os.path.join(folder, "link")
        os.makedirs(self.link)
        for name in ("cudnn", "cudart"):
            found = [f for d in reversed(self.lib) for f in glob.glob(os.path.join(d, f"lib{name}.so.*"))]
            if found:
                os.symlink(sorted(found, key=len)[0], os.path.join(self.link, f"lib{name}.so"))
        self.env = dict(os.environ, LD_LIBRARY_PATH=":".join(reversed(self.lib)))

    def run(self, *args, **kw):
        return subprocess.run(list(map(str, args)), capture_output=True, text=True, env=self.env, timeout=kw.pop("timeout", 300), **kw)

    def build(self, where, spec, *args):
        """Compiles a spec into where/m.plan and its launcher where/m. None, or why not."""
        r = self.run(self.fgc, spec, "-o", os.path.join(where, "m.plan"), "--launcher", os.path.join(where, "m.c"), "--launcher-main", "-q", *args)
        if r.returncode:
            return f"fgc: exit {r.returncode}: {r.stderr.strip()}"
        return self.cc(where)

    def cc(self, where):
        r = self.run("cc", "-std=c99", "-O1", *[f"-isystem{d}" for d in self.include], os.path.join(where, "m.c"), "-o", os.path.join(where, "m"),
                     f"-L{self.link}", "-lcudnn", "-lcudart", "-lm")
        return f"cc: {r.stderr.strip()[:500]}" if r.returncode else None


# ---- tensors in files ------------------------------------------------------------------------------

DTYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "i8": "int8", "i32": "int32"}


def save(path, t):
    np.save(path, (t.contiguous().view(torch.int16).numpy().view(np.uint16) if t.dtype == torch.bfloat16 else t.contiguous().numpy()))


def load(path, dtype):
    a = np.load(path)
    return torch.from_numpy(a.view(np.int16)).view(torch.bfloat16) if dtype == "bf16" else torch.from_numpy(a)


def uniform(shape, dtype, seed):
    g = torch.Generator().manual_seed(seed)
    return (torch.rand(shape, generator=g, dtype=torch.float32) * 2 - 1).to(getattr(torch, DTYPES[dtype]))


# ---- one graph, run and judged ----------------------------------------------------------------------

class Case:
    """A spec with the tensors of its interface; `variant` chooses one where there are several."""

    def __init__(self, machine, name, text=None, path=None, args=(), defines=(), variant=None):
        self.m, self.name, self.args, self.defines, self.variant = machine, name, list(args), list(defines), variant
        self.where = tempfile.mkdtemp(dir=machine.folder)
        self.spec = path or os.path.join(self.where, "m.fg")
        if text:
            with open(self.spec, "w") as f:
                f.write(text)

    def define_args(self):
        return [x for d in self.defines for x in ("-D", d)]

    def build(self):
        return self.m.build(self.where, self.spec, *self.define_args(), *self.args)

    def file(self, name):
        return os.path.join(self.where, f"{self.variant or ''}{name}.npy".replace("=", "_").replace(",", "_"))

    def launch(self, inputs, outputs, *more, prefix=()):
        for n, t in inputs.items():
            save(self.file(n), t)
        args = [x for n in inputs for x in ("--in", f"{n}={self.file(n)}")] + [x for n in outputs for x in ("--out", f"{n}={self.file(n)}")]
        if self.variant:
            args += ["--variant", self.variant]
        return self.m.run(*prefix, os.path.join(self.where, "m"), "--poison", *args, *more)

    def judge(self, inputs, outputs, scalars=()):
        """The reference's word on the outputs that the launcher wrote."""
        chosen = [x for v in (self.variant or "").split(",") if v for x in ("-D", v)] + self.define_args()
        r = self.m.run(self.m.fgc, "run", "--reference", self.spec, *chosen, *[x for n in inputs for x in ("-i", f"{n}={self.file(n)}")],
                       *[x for s in scalars for x in ("--scalar", s)], *[x for n in outputs for x in ("--check", f"{n}={self.file(n)}")])
        return r.returncode == 0, (r.stdout + r.stderr).strip().replace("\n", "; ")

    def check(self, inputs, outputs, scalars=(), more=(), name=None):
        """Builds, runs and judges; a row."""
        name = name or self.name
        why = None if os.path.exists(os.path.join(self.where, "m")) else self.build()
        if why:
            return row(name, False, why[:600])
        r = self.launch(inputs, outputs, *more, *[x for s in scalars for x in ("--scalar", s)])
        if r.returncode:
            return row(name, False, f"launcher: exit {r.returncode}: {(r.stdout + r.stderr).strip()[:500]}")
        ok, text = self.judge(inputs, outputs, scalars)
        nodes = re.search(r"nodes of a captured run: (.*)", r.stdout)
        times = re.findall(r"(direct launch|graph replay): median ([\d.]+) us", r.stdout)
        row(name, ok, text + (f"; nodes: {nodes.group(1)}" if nodes else "") + "".join(f"; {k} {v} us" for k, v in times))
        return r


# ---- the examples -----------------------------------------------------------------------------------

def example_tensors(name, S=512):
    if name == "conv_bias_relu":
        return {"x": uniform((32, 64, 56, 56), "bf16", 1), "w": uniform((64, 64, 3, 3), "bf16", 2), "bias": uniform((1, 64, 1, 1), "bf16", 3)}, ["y"]
    if name == "linear_amax":
        return {"a": uniform((16, 512, 768), "bf16", 4), "b": uniform((16, 768, 1024), "bf16", 5), "bias": uniform((1, 1, 1024), "bf16", 6)}, ["y", "amax"]
    return {"q": uniform((4, 32, S, 128), "bf16", 7), "k": uniform((4, 8, S, 128), "bf16", 8), "v": uniform((4, 8, S, 128), "bf16", 9)}, ["o"]


def torch_answer(name, t, alpha=0.5):
    """What PyTorch computes on the GPU, in the tensors' own types."""
    t = {k: v.cuda() for k, v in t.items()}
    if name == "conv_bias_relu":
        x = t["x"].contiguous(memory_format=torch.channels_last)
        return torch.relu(torch.nn.functional.conv2d(x, t["w"].contiguous(memory_format=torch.channels_last), t["bias"].flatten(), padding=1)).cpu()
    if name == "linear_amax":
        return torch.relu(torch.baddbmm(t["bias"].expand(16, 512, 1024), t["a"], t["b"], alpha=alpha)).cpu()
    return torch.nn.functional.scaled_dot_product_attention(t["q"], t["k"], t["v"], is_causal=True, enable_gqa=True).cpu()


def check_example(machine, name, target):
    variants = ["S=512", "S=1024"] if name == "attention_causal" else [None]
    path = os.path.join(TOP, "examples", name, name + ".fg")
    case = Case(machine, name, path=path, args=["--target", target])
    why = case.build()
    if why:
        return row(f"{name} {target}", False, why[:600])
    for variant in variants:
        case.variant = variant
        label = f"{name} {target}" + (f" {variant}" if variant else "")
        inputs, outputs = example_tensors(name, int(variant[2:]) if variant else 0)
        scalars = ["alpha=0.5"] if name == "linear_amax" else []
        r = case.check(inputs, outputs, scalars, ["--nodes", "--iters", "100"], name=label)
        if r is None or r.returncode:
            continue
        nodes = re.search(r"(\d+) kernel, (\d+) memset, (\d+) memcpy, (\d+) other", r.stdout)
        row(label + " kernel nodes", nodes and nodes.group(1) == "1" and nodes.group(3) == nodes.group(4) == "0",
            f"{nodes.group(0) if nodes else 'not counted'} (a memset clears what the kernel counts or gathers in: AMAX's cell, or the workspace of engines that need one)")
        mine, theirs = load(case.file(outputs[0]), "bf16").double(), torch_answer(name, inputs).double()
        difference = ((mine - theirs).norm() / theirs.norm()).item()
        row(label + " against PyTorch", difference <= 1e-2, f"||fgc - torch|| / ||torch|| = {difference:.2e}")
        r = case.launch(inputs, outputs, "--replay", *[x for s in scalars for x in ("--scalar", s)])
        ok, text = case.judge(inputs, outputs, scalars) if r.returncode == 0 else (False, r.stderr.strip())
        row(label + " by CUDA graph", ok, text)
        if name == "linear_amax":
            r = case.launch(inputs, outputs, "--replay", "--scalar", "alpha=0.5", "--update-scalar", "alpha=-2")
            ok, text = case.judge(inputs, outputs, ["alpha=-2"]) if r.returncode == 0 else (False, r.stderr.strip())
            row(label + " alpha changed in the graph", ok, text)
            r = case.launch(inputs, outputs, "--scalar", "alpha=3")
            ok, text = case.judge(inputs, outputs, ["alpha=3"]) if r.returncode == 0 else (False, r.stderr.strip())
            row(label + " alpha changed in the run", ok, text)
    return case


def check_sanitizer(case, name):
    """On the smallest variant, without the slow reference."""
    tool = "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(tool):
        return row(f"{name} memcheck", None, "compute-sanitizer is not here")
    case.variant = "S=512" if name == "attention_causal" else None
    inputs, outputs = example_tensors(name, 512)
    r = case.launch(inputs, outputs, prefix=(tool, "--tool", "memcheck", "--error-exitcode", "9"))
    text = (r.stdout + r.stderr).strip().splitlines()
    row(f"{name} memcheck", r.returncode == 0 and any("ERROR SUMMARY: 0 errors" in x for x in text), text[-1] if text else "no answer")


def check_expected(machine, expected, args_out):
    for name, want in expected.items():
        out = os.path.join(machine.folder, f"expected-{name}.plan")
        r = machine.run(machine.fgc, os.path.join(TOP, "examples", name, name + ".fg"), "-o", out, "-q", "--target", "nvidia-h200")
        got = hashlib.sha256(open(out, "rb").read()).hexdigest() if r.returncode == 0 else r.stderr.strip()
        if r.returncode == 0 and got != want:
            shutil.copy(out, args_out)
        row(f"{name} compiled here and elsewhere", got == want, f"{got[:16]} here, {want[:16]} there")


def check_other_driver(machine):
    with open(os.path.join(TOP, "targets", "nvidia-h200.json")) as f:
        other = dict(json.load(f), driverVer=12090, pciDeviceId=77, deviceName="another H200", smClockRateKHz=1000000)
    path = os.path.join(machine.folder, "nvidia-h200.json")
    with open(path, "w") as f:
        json.dump(other, f)
    case = Case(machine, "a plan whose description named another driver", path=os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg"),
                args=["--target", path])
    case.check(*example_tensors("conv_bias_relu"))


# ---- cases from people's bug reports ------------------------------------------------------------------

def or_refused(case, inputs, outputs, more=()):
    """Right, or refused with exit 3 and a reason at the line; never wrong."""
    why = case.build()
    if why:
        return row(case.name, "fgc: exit 3" in why and "m.fg:" in why, "refused: " + " ".join(why.split())[:300])
    case.check(inputs, outputs, (), more)


def one_column_operands(machine, pool):
    """M, N, K or batch of 1: the spelling of a size-1 axis's stride changes neither support nor values."""
    a, b = torch.arange(12.0).reshape(1, 3, 4), torch.tensor([1.0, 2, 3, 4]).reshape(1, 4, 1)
    for strides in ((4, 1, 1), (4, 1, 4), (1, 1, 1), (4, 1, 0)):
        text = f"fg 1\n\ngraph g() {{\n    input  a : f32[1, 3, 4]\n    input  b : f32[1, 4, 1] strides{strides}\n    output y : f32[1, 3, 1]\n\n    y = matmul(a, b, compute=tf32)\n}}\n"
        pool.submit(guard, Case(machine, f"one column, b strides {strides}", text).check, {"a": a, "b": b}, ["y"])
    for m, n, k, batch in ((1, 64, 64, 1), (64, 1, 64, 1), (64, 64, 1, 1), (1, 1, 64, 1), (1, 64, 1, 2), (64, 1, 1, 2), (1, 1, 1, 1), (1, 64, 64, 3)):
        spellings = [("row_major", "row_major"), (f"strides({m * k}, {k}, 1)", f"strides({k * n}, {n}, {n if n == 1 else 1})"),
                     (f"strides({m * k}, {k if m > 1 else 1}, {1 if k > 1 else k})", f"strides({k * n}, {n if k > 1 else 1}, 1)")]
        for i, (sa, sb) in enumerate(spellings):
            text = f"fg 1\n\ngraph g() {{\n    input  a : bf16[{batch}, {m}, {k}] {sa} align(2)\n    input  b : bf16[{batch}, {k}, {n}] {sb} align(2)\n    output y : bf16[{batch}, {m}, {n}] align(2)\n\n    y = matmul(a, b)\n}}\n"
            pool.submit(guard, Case(machine, f"matmul {batch}x{m}x{n}x{k}, spelling {i}", text).check,
                        {"a": uniform((batch, m, k), "bf16", 10), "b": uniform((batch, k, n), "bf16", 11)}, ["y"])


def ambiguous_layouts(machine, pool):
    """The layout in the spec decides, never the look of its strides."""
    for strides in ("(32, 1, 1, 1)", "(32, 1, 32, 32)", "(32, 1, 0, 0)"):
        text = f"fg 1\n\ngraph g() {{\n    input  x : f16[2, 32, 8, 8] channels_last\n    input  w : f16[64, 32, 1, 1] strides{strides}\n    output y : f16[2, 64, 8, 8] channels_last\n\n    y = conv(x, w)\n}}\n"
        pool.submit(guard, Case(machine, f"1x1 filter, strides {strides}", text).check, {"x": uniform((2, 32, 8, 8), "f16", 12), "w": uniform((64, 32, 1, 1), "f16", 13)}, ["y"])
    c = torch.arange(4.0)
    x = (100 * c.reshape(1, 4, 1, 1) + 10 * c.reshape(1, 1, 4, 1) + c.reshape(1, 1, 1, 4)).contiguous()
    w = torch.zeros(4, 4, 1, 1)
    w[0, 3] = 1
    for layout in ("row_major", "channels_last", "order(1, 0, 3, 2)", "order(0, 2, 1, 3)"):
        text = f"fg 1\n\ngraph g() {{\n    input  x : f32[1, 4, 4, 4] {layout}\n    input  w : f32[4, 4, 1, 1]\n    output y : f32[1, 4, 4, 4] {layout}\n\n    y = conv(x, w)\n}}\n"
        pool.submit(guard, Case(machine, f"C == H == W, {layout}", text).check, {"x": x, "w": w}, ["y"])
    for shape in ((8, 8, 8, 8), (1, 8, 8, 8), (8, 8, 1, 1), (1, 8, 1, 8)):
        for layout in ("row_major", "channels_last"):
            dims = ", ".join(map(str, shape))
            text = f"fg 1\n\ngraph g() {{\n    input  x : bf16[{dims}] {layout}\n    input  w : bf16[8, 8, 1, 1] {layout}\n    output y : bf16[{dims}] {layout}\n\n    y = relu(conv(x, w))\n}}\n"
            pool.submit(guard, or_refused, Case(machine, f"conv on [{dims}] {layout}", text), {"x": uniform(shape, "bf16", 14), "w": uniform((8, 8, 1, 1), "bf16", 15)}, ["y"])


def misaligned(machine, pool):
    """A pointer off its declared alignment is refused with its numbers, or the plan was made for it."""
    inputs, outputs = example_tensors("conv_bias_relu")
    case = Case(machine, "misaligned", path=os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg"))
    why = case.build()
    if why:
        return row("misaligned pointers", False, why[:300])
    for name in ("x", "w", "bias", "y"):
        for elements in (1, 2, 4, 8):
            r = case.launch(inputs, outputs, "--offset", f"{name}={2 * elements}")
            if elements == 8:
                ok, text = case.judge(inputs, outputs) if r.returncode == 0 else (False, r.stderr)
            else:
                ok, text = r.returncode == 2 and f"'{name}' lies {2 * elements} bytes past a multiple of 16" in r.stderr, r.stderr.strip()
            row(f"conv, {name} shifted by {elements} elements", ok, text)
    for layout, label in (("align(2)", "align(2)"), ("strides(8704, 4352, 68, 1) align(8)", "row stride 68")):
        text = f"fg 1\n\ngraph g() {{\n    input  q : f16[1, 2, 64, 64] {layout}\n    input  k, v : f16[1, 2, 64, 64]\n    output o : f16[1, 2, 64, 64]\n\n    o = sdpa(q, k, v, scale=0.125)\n}}\n"
        t = {n: uniform((1, 2, 64, 64), "f16", i) for i, n in enumerate("qkv")}
        pool.submit(guard, or_refused, Case(machine, f"attention, q {label}", text), t, ["o"], ("--offset", "q=2") if label == "align(2)" else ())
    for name in ("x", "w", "y"):
        for elements in (1, 2, 4):
            at = {n: f"align({2 * elements})" if n == name else "" for n in "xwy"}
            text = f"fg 1\n\ngraph g() {{\n    input  x : bf16[2, 64, 8, 8] channels_last {at['x']}\n    input  w : bf16[64, 64, 3, 3] channels_last {at['w']}\n    output y : bf16[2, 64, 8, 8] channels_last {at['y']}\n\n    y = relu(conv(x, w, pad=[1, 1]))\n}}\n"
            t = {"x": uniform((2, 64, 8, 8), "bf16", 20), "w": uniform((64, 64, 3, 3), "bf16", 21)}
            pool.submit(guard, or_refused, Case(machine, f"conv made for {name} aligned to {2 * elements} bytes", text), t, ["y"], ("--offset", f"{name}={2 * elements}"))
            at = {n: f"align({2 * elements})" if n == name else "" for n in "xwy"}
            text = f"fg 1\n\ngraph g() {{\n    input  x : bf16[1, 64, 64] {at['x']}\n    input  w : bf16[1, 64, 64] {at['w']}\n    output y : bf16[1, 64, 64] {at['y']}\n\n    y = relu(matmul(x, w))\n}}\n"
            t = {"x": uniform((1, 64, 64), "bf16", 22), "w": uniform((1, 64, 64), "bf16", 23)}
            pool.submit(guard, or_refused, Case(machine, f"matmul made for {name} aligned to {2 * elements} bytes", text), t, ["y"], ("--offset", f"{name}={2 * elements}"))


def asymmetric_padding(machine, pool):
    x, w = torch.arange(16.0).reshape(1, 1, 4, 4), torch.ones(1, 1, 3, 3)
    text = "fg 1\n\ngraph g() {\n    input  x : f32[1, 1, 4, 4]\n    input  w : f32[1, 1, 3, 3]\n    output y : f32[1, 1, 2, 2]\n\n    y = conv(x, w, pre_pad=[0, 0], post_pad=[1, 1], stride=[2, 2])\n}\n"

    def twin():
        case = Case(machine, "asymmetric padding, 45 39 66 50", text)
        case.check({"x": x, "w": w}, ["y"])
        if os.path.exists(case.file("y")):
            got = np.load(case.file("y")).flatten().tolist()
            row("asymmetric padding, exact", got == [45.0, 39.0, 66.0, 50.0], str(got))
    pool.submit(guard, twin)
    for pre, post, r, s, stride in (((1, 0), (0, 0), 3, 3, 1), ((0, 0), (2, 0), 3, 3, 1), ((0, 1), (0, 0), 3, 3, 2), ((0, 0), (0, 2), 3, 3, 2), ((1, 0), (0, 1), 2, 2, 1), ((0, 1), (1, 0), 4, 2, 2)):
        h, wd = (16 + pre[0] + post[0] - r) // stride + 1, (16 + pre[1] + post[1] - s) // stride + 1
        spec = f"fg 1\n\ngraph g() {{\n    input  x : bf16[2, 32, 16, 16] channels_last\n    input  w : bf16[32, 32, {r}, {s}] channels_last\n    output y : bf16[2, 32, {h}, {wd}] channels_last\n\n" \
               f"    y = conv(x, w, pre_pad={list(pre)}, post_pad={list(post)}, stride=[{stride}, {stride}])\n}}\n"
        pool.submit(guard, Case(machine, f"padding {pre} before, {post} after, {r}x{s}, stride {stride}", spec).check,
                    {"x": uniform((2, 32, 16, 16), "bf16", 16), "w": uniform((32, 32, r, s), "bf16", 17)}, ["y"])


def no_tf32(machine, pool):
    """1 + 2^-12 through an identity: exact in f32, 1.0 in TF32."""
    exact = 1.000244140625
    x, eye = torch.full((1, 64, 16, 16), exact), torch.eye(64)
    conv = "fg 1\n\ngraph g() {{\n    input  x : f32[1, 64, 16, 16] channels_last\n    input  w : f32[64, 64, 1, 1]\n    output y : f32[1, 64, 16, 16] channels_last\n\n    y = conv(x, w{0})\n}}\n"
    mm = "fg 1\n\ngraph g() {{\n    input  a : f32[1, 64, 64]\n    input  b : f32[1, 64, 64]\n    output y : f32[1, 64, 64]\n\n    y = matmul(a, b{0})\n}}\n"

    def probe(label, text, inputs, tf32, args):
        case = Case(machine, label, text.format(", compute=tf32" if tf32 else ""), args=args)
        why = case.build()
        if why:
            return row(label, not tf32 and "exit 3" in why and "TF32" in why, "refused: " + " ".join(why.split())[:300])
        r = case.launch(inputs, ["y"])
        got = np.unique(np.load(case.file("y"))).tolist() if r.returncode == 0 else r.stderr
        row(label, got == [exact] or (tf32 and got == [1.0]), f"every element is {got}")
    for args, where in (((), ""), (("--target", "host"), " on the host"), (("--workspace-limit", "0"), " without workspace")):
        pool.submit(guard, probe, "f32 conv is exact" + where, conv, {"x": x, "w": eye.reshape(64, 64, 1, 1)}, False, args)
        pool.submit(guard, probe, "f32 matmul is exact or refused" + where, mm, {"a": torch.full((1, 64, 64), exact), "b": eye.reshape(1, 64, 64)}, False, args)
    pool.submit(guard, probe, "TF32 when it is written", mm, {"a": torch.full((1, 64, 64), exact), "b": eye.reshape(1, 64, 64)}, True, ())


def causal_corners(machine, pool, sizes=(1, 2, 5, 8, 9)):
    """Q = 0 and V[j] = j: each row is the mean of the keys it may see; none gives 0 (stats -inf)."""
    listed = "[" + ", ".join(map(str, sizes)) + "]"
    for corner in ("top_left", "bottom_right"):
        text = f"fg 1\n\ngraph g(Q in {listed}, K in {listed}) {{\n    input  q    : f16[1, 1, Q, 64]\n    input  k, v : f16[1, 1, K, 64]\n    output o    : f16[1, 1, Q, 64]\n    output s    : f32[1, 1, Q, 1]\n\n" \
               f"    o, s = sdpa(q, k, v, mask=causal, align={corner}, scale=0.125)\n}}\n"
        case = Case(machine, corner, text)
        why = case.build()
        if why:
            row(f"causal {corner}", False, why[:600])
            continue
        pool.submit(guard, one_corner, machine, case, corner, sizes)


def windows(machine, pool, sizes=(1, 2, 5, 8, 9)):
    """Bounds on either side of the diagonal, judged by the reference."""
    listed = "[" + ", ".join(map(str, sizes)) + "]"
    for corner in ("top_left", "bottom_right"):
        for mask in ("window(left=2)", "window(right=2)", "causal and window(left=2)", "window(left=1, right=3)"):
            text = f"fg 1\n\ngraph g(Q in {listed}, K in {listed}) {{\n    input  q    : f16[1, 2, Q, 64]\n    input  k, v : f16[1, 1, K, 64]\n    output o    : f16[1, 2, Q, 64]\n    output s    : f32[1, 2, Q, 1]\n\n" \
                   f"    o, s = sdpa(q, k, v, mask={mask}, align={corner}, scale=0.125)\n}}\n"
            pool.submit(guard, one_window, machine, Case(machine, corner, text), f"{mask} {corner}", sizes)


def one_window(machine, built, label, sizes):
    why = built.build()
    if why:
        return row(label, False, why[:600])
    wrong = []
    for n in sizes:
        for m in sizes:
            case = Case(machine, label, path=built.spec, variant=f"Q={n},K={m}")
            os.symlink(os.path.join(built.where, "m"), os.path.join(case.where, "m"))
            inputs = {"q": uniform((1, 2, n, 64), "f16", 17), "k": uniform((1, 1, m, 64), "f16", 18), "v": uniform((1, 1, m, 64), "f16", 19)}
            r = case.launch(inputs, ["o", "s"])
            ok, said = case.judge(inputs, ["o", "s"]) if r.returncode == 0 else (False, r.stderr)
            if not ok:
                wrong.append(f"{n}x{m}: {said[:150]}")
    row(f"{label}, Sq and Skv in {list(sizes)}", not wrong, f"judged by the reference; wrong: {wrong[:4]}")


def one_corner(machine, built, corner, sizes):
    worst, wrong, judged = 0.0, [], []
    for n in sizes:
        for m in sizes:
            case = Case(machine, corner, path=built.spec, variant=f"Q={n},K={m}")
            os.symlink(os.path.join(built.where, "m"), os.path.join(case.where, "m"))
            v = torch.arange(float(m)).reshape(1, 1, m, 1).expand(1, 1, m, 64).to(torch.float16)
            inputs = {"q": torch.zeros(1, 1, n, 64, dtype=torch.float16), "k": uniform((1, 1, m, 64), "f16", 18), "v": v}
            r = case.launch(inputs, ["o", "s"])
            if r.returncode:
                wrong.append(f"{n}x{m}: {r.stderr.strip()[:100]}")
                continue
            o, s = np.load(case.file("o"))[0, 0].astype(float), np.load(case.file("s"))[0, 0, :, 0]
            for i in range(n):
                last = min(m - 1, i + (m - n if corner == "bottom_right" else 0))
                want = last / 2 if last >= 0 else 0.0
                error = np.abs(o[i] - want).max()
                worst = max(worst, error if np.isfinite(error) else np.inf)
                lse = np.log(last + 1) if last >= 0 else -np.inf
                if not error <= 4e-3 * max(1, m) or not (s[i] == lse or abs(s[i] - lse) <= 1e-3):
                    wrong.append(f"{n}x{m} row {i}: {o[i][0]} for {want}, stats {s[i]} for {lse}")
            q = dict(inputs, q=uniform((1, 1, n, 64), "f16", 19))
            r = case.launch(q, ["o", "s"])
            ok, text = case.judge(q, ["o", "s"]) if r.returncode == 0 else (False, r.stderr)
            if not ok:
                judged.append(f"{n}x{m}: {text[:150]}")
    row(f"causal {corner}, Sq and Skv in {list(sizes)}, Q = 0", not wrong, f"largest error {worst:.1e}; wrong: {wrong[:4]}")
    row(f"causal {corner}, Sq and Skv in {list(sizes)}, random", not judged, f"judged by the reference; wrong: {judged[:4]}")


def families(machine, pool):
    """Every graph of tests/compile: all operator families and forms, random inputs, the reference's bounds."""
    for path in sorted(glob.glob(os.path.join(TOP, "tests", "compile", "*.fg"))):
        if not os.path.exists(path[:-3] + ".err") and not path.endswith("gradients.fg"):
            pool.submit(guard, one_family, machine, path)


def views(machine, pool):
    pool.submit(guard, one_family, machine, os.path.join(TOP, "tests", "compile", "views.fg"))


def convs(machine, pool):
    """Convolutions over one axis and three, in both layouts, with fp8 and its scales; results rounded to small integers."""
    for name in ("convolutions", "axes", "narrow"):
        pool.submit(guard, one_family, machine, os.path.join(TOP, "tests", "compile", name + ".fg"))


def steps(machine, pool):
    """Graphs of several kernels, as launches (families) and as one captured CUDA graph; the block of three products."""
    pool.submit(guard, one_family, machine, os.path.join(TOP, "tests", "compile", "steps.fg"), ("--replay",))
    for more in ((), ("--replay",)):
        pool.submit(guard, one_family, machine, os.path.join(TOP, "examples", "mlp", "mlp.fg"), more)


def operators(machine, pool):
    """The example of every operator, tests/ops, and gradients behind matmul and conv."""
    paths = glob.glob(os.path.join(TOP, "tests", "ops", "*.fg")) + [os.path.join(TOP, "tests", "compile", "gradients.fg")]
    for path in sorted(paths):
        pool.submit(guard, one_family, machine, path)


def one_family(machine, path, more=()):
    built = Case(machine, os.path.basename(path), path=path)
    why = built.build()
    if why:
        return row(f"{built.name}", False, why[:600])
    manifest = json.loads(machine.run(machine.fgc, "show", "--json", os.path.join(built.where, "m.plan")).stdout)
    for graph in manifest["graphs"]:
        for variant in graph["variants"]:
            guard(one_graph, machine, built, graph["name"], variant, more)


def one_graph(machine, built, graph, variant, more=()):
    label = " ".join([built.name, graph, *([variant["name"]] if variant["name"] else []), *more])
    case = Case(machine, label, path=built.spec, variant=variant["name"] or None)
    os.symlink(os.path.join(built.where, "m"), os.path.join(case.where, "m"))
    inputs = {t["name"]: any_tensor(t, i) for i, t in enumerate(variant["tensors"]) if t["role"] == "input"}
    outputs = [t["name"] for t in variant["tensors"] if t["role"] == "output"]
    scalars = [f"{t['name']}=0.75" if t["type"] in ("f32", "f16", "bf16", "f64") else f"{t['name']}=3" for t in variant["tensors"] if t["role"] == "scalar"]
    for n, a in inputs.items():
        np.save(case.file(n), a)
    args = [x for n in inputs for x in ("--in", f"{n}={case.file(n)}")] + [x for n in outputs for x in ("--out", f"{n}={case.file(n)}")]
    args += (["--variant", variant["name"]] if variant["name"] else []) + [x for s in scalars for x in ("--scalar", s)]
    r = machine.run(os.path.join(case.where, "m"), "--graph", graph, "--poison", *args, *more)
    if r.returncode:
        return row(label, False, f"launcher: exit {r.returncode}: {r.stderr.strip()[:300]}")
    chosen = [x for v in (variant["name"] or "").split(",") if v for x in ("-D", v)]
    r = machine.run(machine.fgc, "run", "--reference", built.spec, "--graph", graph, *chosen, *[x for n in inputs for x in ("-i", f"{n}={case.file(n)}")],
                    *[x for s in scalars for x in ("--scalar", s)], *[x for n in outputs for x in ("--check", f"{n}={case.file(n)}")])
    row(label, r.returncode == 0, (r.stdout + r.stderr).strip().replace("\n", "; ")[:500])


def any_tensor(t, seed):
    """Raw bits of what a tensor of that type can hold: floats in [-1, 1), small integers."""
    g = np.random.default_rng(seed + 100)
    if t["type"] in DTYPES and t["type"] not in ("i8", "i32"):
        x = uniform(t["dims"], t["type"], seed + 100)
        return x.view(torch.int16).numpy().view(np.uint16) if t["type"] == "bf16" else x.numpy()
    if t["type"] in ("e4m3", "e5m2"):  # codes of magnitudes up to 1
        one = 0x38 if t["type"] == "e4m3" else 0x3c
        return (g.integers(0, one, t["dims"]) | g.integers(0, 2, t["dims"]) * 0x80).astype(np.uint8)
    if t["type"] == "bool":
        return g.integers(0, 2, t["dims"]).astype(np.bool_)
    low = 0 if t["type"] == "u8" else -8
    return g.integers(low, 9, t["dims"]).astype({"i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64}[t["type"]])


def guard(f, *args):
    try:
        f(*args)
    except Exception as e:  # a check that breaks is a failure of that check
        row(getattr(getattr(f, "__self__", None), "name", f.__name__), False, f"{type(e).__name__}: {e}"[:300])


def report(args, machine):
    rows.sort(key=lambda r: r["name"])
    versions = machine.run(machine.fgc, "doctor").stdout
    facts = {"date": datetime.date.today().isoformat(), "commit": args.commit, "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__,
             "cudnn": (re.search(r"cuDNN: ([\d.]+)", versions) or [None, "?"])[1], "nvrtc": (re.search(r"NVRTC: ([\d.]+)", versions) or [None, "?"])[1],
             "driver": machine.run("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader").stdout.strip()}
    with open(os.path.join(args.out, "device.json"), "w") as f:
        json.dump({"facts": facts, "rows": rows}, f, indent=1)
    with open(os.path.join(args.out, "device.md"), "w") as f:
        f.write("# Plans on a GPU against the f64 reference and PyTorch\n\n" + "".join(f"- {k}: {v}\n" for k, v in facts.items()))
        f.write("\nMade by `tests/device/run.py`. Bounds: matmul, conv, pointwise: 1 ulp of the stored type at the reference + 4 sqrt(K) 2^-24 sum|a||b|; sdpa: ||e||/||ref|| <= 5e-3 (bf16), 1e-3 (f16);"
                " f32 reductions 1e-5 of sum|x|. The errors of operands go through pointwise operators into the bound; an f32 pointwise operator adds"
                " 2^-21 |y|, one that cancels (gelu) or exponentiates 2^-23 |x| (see src/interp/kernel_*.c). `worst error is r of its bound`: r <= 1 is right.\n\n| check | verdict | measured |\n|---|---|---|\n")
        for r in rows:
            f.write(f"| {r['name']} | {r['verdict']} | {r['detail'].replace('|', '/')} |\n")


def python_caller(machine, pool):
    """examples/python: PyTorch's tensors through ctypes, beside the cuDNN that PyTorch has loaded."""
    for name in ("conv_bias_relu",):
        caller = os.path.join(TOP, "examples", "python", name + ".py")
        r = subprocess.run([sys.executable, caller, machine.fgc, *machine.include], capture_output=True, text=True, timeout=300)
        row(f"python caller of {name}", r.returncode == 0, (r.stdout + r.stderr).strip()[-600:])


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--fgc", default=os.environ.get("FGC", "./fgc"))
    p.add_argument("--out", default=".")
    p.add_argument("--commit", default="?")
    p.add_argument("--expect", action="append", default=[])
    p.add_argument("--only", action="append", default=[])
    p.add_argument("--jobs", type=int, default=8)
    args = p.parse_args()
    if torch is None or not torch.cuda.is_available():
        print("no GPU that python3's torch can use")
        return 77
    with tempfile.TemporaryDirectory(prefix="fgc-device-") as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        machine = Machine(os.path.abspath(args.fgc), folder)
        wanted = lambda piece: not args.only or piece in args.only
        if wanted("examples"):
            cases = {}
            for target in ("nvidia-h200", "host"):
                for name in ("conv_bias_relu", "linear_amax", "attention_causal"):
                    case = check_example(machine, name, target)
                    if case and target == "nvidia-h200":
                        cases[name] = case
            for name, case in cases.items():
                guard(check_sanitizer, case, name)
        if wanted("expected"):
            guard(check_expected, machine, dict(e.split("=", 1) for e in args.expect), args.out)
            guard(check_other_driver, machine)
        for piece, f in (("columns", one_column_operands), ("layouts", ambiguous_layouts), ("alignment", misaligned), ("padding", asymmetric_padding),
                         ("tf32", no_tf32), ("causal", causal_corners), ("windows", windows), ("python", python_caller), ("families", families), ("views", views), ("convs", convs),
                         ("steps", steps), ("operators", operators)):
            if wanted(piece) and (args.only or piece not in ("views", "convs")):  # families has them too
                guard(f, machine, pool)
        pool.shutdown(wait=True)
        report(args, machine)
    count = lambda v: sum(r["verdict"] == v for r in rows)
    for r in rows:
        if r["verdict"] == "FAIL":
            print(f"FAILED: {r['name']}: {r['detail'][:300]}")
    print(f"{count('pass')} passed, {count('FAIL')} failed, {count('skip')} skipped")
    return 1 if count("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
