"""The workloads of the scoreboard: what PyTorch calls for each, beside bench/workloads/NAME.fg.

FIRST, the 22 that are always run, and the rest, 46 in all, were fixed by name before anything was measured. A row's
`variants` are PyTorch's ways to compute what the .fg file says, on tensors in the .fg file's order; `exact` is the
f64 (or true f32) value of a slice, and takes a slice of an output to its error ||out - ref|| / ||ref||. FLOP are 2 a
multiply-add, causal attention counts S(S+1)/2 pairs; bytes are each input read once and each output written once."""
import math

WORKLOADS = {}


def put(name, kind, first, hot=False, autotune=False, **shape):
    WORKLOADS[name] = dict(shape, name=name, kind=kind, first=first, hot=hot, autotune=autotune)


def conv(name, N, C, size, K, R, stride=1, pad=None, groups=1, dtype="bf16", act="relu", depth=None, family="conv", **more):
    pad = R // 2 if pad is None else pad
    out = (size + 2 * pad - R) // stride + 1
    volume, taps = (depth or 1), R * R * (R if depth else 1)
    put(name, "conv", N=N, C=C, size=size, K=K, R=R, stride=stride, pad=pad, groups=groups, dtype=dtype, act=act, depth=depth, family=family,
        flop=2.0 * N * K * volume * out * out * (C // groups) * taps, tensor=groups == 1,
        bytes=2 * (N * C * volume * size * size + K * (C // groups) * taps + K + N * K * volume * out * out), **more)


def matmul(name, B, M, N, K, dtype="bf16", bias=False, act="none", alpha=None, amax=False, family="matmul", **more):
    put(name, "matmul", B=B, M=M, N=N, K=K, dtype=dtype, bias=bias, act=act, alpha=alpha, amax=amax, family=family, tensor=True,
        flop=2.0 * B * M * N * K, bytes=(1 if dtype == "fp8" else 2) * B * (M * K + K * N) + 2 * B * M * N + (2 * N if bias else 0), **more)


def attention(name, B, H, HKV, SQ, SKV, D, causal, dtype="bf16", family="attention", **more):
    put(name, "attention", B=B, H=H, HKV=HKV, SQ=SQ, SKV=SKV, D=D, causal=causal, dtype=dtype, family=family, tensor=True,
        flop=4.0 * B * H * D * (SQ * (SQ + 1) / 2 if causal else SQ * SKV), bytes=2 * B * (2 * H * SQ * D + 2 * HKV * SKV * D), **more)


def norm(name, op, rows, C, dtype="bf16", bias=False, family="norm", **more):
    put(name, "norm", op=op, rows=rows, C=C, dtype=dtype, bias=bias, family=family, tensor=False, flop=(5.0 if op == "rms" else 8.0) * rows * C,
        bytes=2 * (2 * rows * C + C * (2 if bias else 1)), **more)


conv("rn50_stem", 64, 8, 224, 64, 7, 2, 3, first=False)
conv("rn50_l1_3x3", 64, 64, 56, 64, 3, first=True, autotune=True)
conv("rn50_l2_3x3s2", 64, 128, 56, 128, 3, 2, first=False)
conv("rn50_l3_3x3", 64, 256, 14, 256, 3, first=True)
conv("rn50_l4_3x3", 64, 512, 7, 512, 3, first=False)
conv("rn50_l3_1x1", 64, 256, 14, 1024, 1, first=True, autotune=True)
conv("convnext_dw7", 64, 384, 14, 384, 7, groups=384, act="none", first=False)
conv("sd_unet_320", 8, 320, 64, 320, 3, dtype="fp16", first=True)
conv("sd_unet_1280", 8, 1280, 16, 1280, 3, dtype="fp16", first=False)
conv("sd_vae_128", 1, 128, 512, 128, 3, dtype="fp16", first=True)
conv("sd_vae_512", 1, 512, 128, 512, 3, dtype="fp16", first=False)
conv("video_vae_3d", 1, 128, 128, 128, 3, depth=16, first=True)
matmul("ll8b_qkv", 1, 8192, 6144, 4096, first=False)
matmul("ll8b_up_silu", 1, 8192, 14336, 4096, act="silu", first=True, autotune=True)
matmul("ll8b_down", 1, 8192, 4096, 14336, first=False)
matmul("ll70b_tp8_up", 1, 4096, 3584, 8192, act="silu", first=False)
matmul("ll70b_up_silu", 1, 2048, 28672, 8192, act="silu", first=False)
matmul("ll8b_dec16_up", 1, 16, 14336, 4096, act="silu", first=True, autotune=True)
matmul("bert_ffn1", 1, 16384, 4096, 1024, dtype="fp16", bias=True, act="gelu", first=True, autotune=True)
matmul("bert_ffn2", 1, 16384, 1024, 4096, dtype="fp16", bias=True, first=False)
matmul("vitl_mlp1", 1, 12608, 4096, 1024, bias=True, act="gelu", first=False)
matmul("mixtral_up", 8, 512, 14336, 4096, act="silu", first=True)
matmul("dsv3_expert", 32, 128, 2048, 7168, act="silu", first=False)
matmul("bert_qk", 512, 512, 512, 64, dtype="fp16", alpha=0.125, first=False)
matmul("amax_4096", 1, 4096, 4096, 4096, bias=True, act="relu", amax=True, first=True, autotune=True)
matmul("fp8_8192", 1, 8192, 8192, 8192, dtype="fp8", first=True)
matmul("fp8_ll8b_up", 1, 8192, 14336, 4096, dtype="fp8", act="silu", amax=True, first=True)
matmul("fp8_dec64_up", 1, 64, 28672, 8192, dtype="fp8", first=False)
attention("ll8b_pf2k", 4, 32, 8, 2048, 2048, 128, True, first=True)
attention("ll8b_pf8k", 1, 32, 8, 8192, 8192, 128, True, first=True)
attention("ll8b_pf32k", 1, 32, 8, 32768, 32768, 128, True, first=False)
attention("ll70b_pf8k", 1, 64, 8, 8192, 8192, 128, True, first=True)
attention("bertl_512", 32, 16, 16, 512, 512, 64, False, dtype="fp16", first=True)
attention("vitl_197", 64, 16, 16, 197, 197, 64, False, dtype="fp16", first=False)
attention("sdxl_self4k", 4, 10, 10, 4096, 4096, 64, False, dtype="fp16", first=False)
attention("gemma_d256", 2, 16, 8, 4096, 4096, 256, True, first=False)
attention("ll8b_dec8k", 32, 32, 8, 1, 8192, 128, False, first=True)
norm("rms_ll8b", "rms", 16384, 4096, first=True)
norm("rms_ll70b", "rms", 8192, 8192, first=False)
norm("ln_gpt3", "ln", 1024, 12288, bias=True, first=False)
norm("ln_bertl", "ln", 16384, 1024, dtype="fp16", bias=True, first=False)
conv("tiny_conv", 1, 64, 8, 64, 3, family="tiny", hot=True, first=True)
matmul("tiny_mm", 1, 64, 64, 64, bias=True, act="relu", family="tiny", hot=True, first=True)
attention("tiny_dec512", 1, 32, 8, 1, 512, 128, False, family="tiny", hot=True, first=False)
norm("tiny_ln", "ln", 16, 768, bias=True, family="tiny", hot=True, first=False)
put("tiny_mlp8", "chain", family="tiny", layers=8, M=32, K=256, dtype="bf16", tensor=True, flop=2.0 * 8 * 32 * 256 * 256,
    bytes=2 * (8 * (256 * 256 + 256) + 2 * 32 * 256), hot=True, first=True)


class Torch:
    """What PyTorch does for one workload: make() gives inputs in the order of the .fg file, each in the memory layout
    that the file declares; variants is a list of (name, function of the inputs, context manager)."""

    def __init__(self, w, torch):
        self.w, self.torch = w, torch
        self.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.bfloat16}[w["dtype"]]
        getattr(self, w["kind"])()

    def noise(self, *shape):
        return self.torch.randn(*shape, device="cuda", dtype=self.dtype)

    def activation(self):
        F = self.torch.nn.functional
        return {"none": lambda y: y, "relu": F.relu, "gelu": F.gelu, "silu": F.silu}[self.w["act"]]

    def benchmark(self):
        return self.torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=False)

    def plain(self):
        return self.torch.no_grad()

    def error(self, out, ref):
        e = float((out.detach().to(ref.dtype) - ref).norm() / ref.norm())
        return e if math.isfinite(e) else 1e9

    def conv(self):
        w, torch, F = self.w, self.torch, self.torch.nn.functional
        deep = w["depth"] is not None
        fmt = torch.channels_last_3d if deep else torch.channels_last
        call = F.conv3d if deep else F.conv2d
        space, taps = ((w["depth"],) if deep else ()) + (w["size"],) * 2, (w["R"],) * (3 if deep else 2)
        stride, pad = ((1,) if deep else ()) + (w["stride"],) * 2, (w["pad"],) * len(taps)
        cg, act = w["C"] // w["groups"], self.activation()
        scale = 1 / math.sqrt(cg * w["R"] ** len(taps))
        self.make = lambda: [self.noise(w["N"], w["C"], *space).contiguous(memory_format=fmt),
                             (self.noise(w["K"], cg, *taps) * scale).contiguous(memory_format=fmt), self.noise(1, w["K"], *(1,) * len(taps))]
        eager = lambda x, f, b: act(call(x, f, b.flatten(), stride, pad, 1, w["groups"]))
        self.variants = [("eager", eager, self.plain), ("eager, cudnn.benchmark", eager, self.benchmark)]
        if w["act"] == "relu":
            self.variants.append(("cudnn_convolution_relu", lambda x, f, b: torch.cudnn_convolution_relu(
                x, f, b.flatten(), stride, pad, (1,) * len(taps), w["groups"]), self.benchmark))
        self.compiled = eager
        def exact(x, f, b):
            ref = act(call(x[:1].float().contiguous(), f.float().contiguous(), b.float().flatten(), stride, pad, 1, w["groups"]))
            return lambda out: self.error(out[0][:1], ref)
        self.exact = exact

    def matmul(self):
        w, torch = self.w, self.torch
        if w["dtype"] == "fp8":
            return self.matmul_fp8()
        act, scale = self.activation(), 1.0 if w["alpha"] else 1 / math.sqrt(w["K"])
        self.make = lambda: [self.noise(w["B"], w["M"], w["K"]), (self.noise(w["B"], w["N"], w["K"]) * scale).transpose(1, 2)] + (
            [self.noise(1, 1, w["N"])] if w["bias"] else [])
        def finish(y):
            y = act(y * w["alpha"] if w["alpha"] else y)
            return (y, y.abs().amax()) if w["amax"] else y
        def eager(a, f, b=None):
            if w["B"] == 1:
                return finish(torch.nn.functional.linear(a[0], f[0].t(), b.flatten() if b is not None else None))
            y = torch.bmm(a, f)
            return finish(y + b if b is not None else y)
        self.variants, self.compiled = [("eager", eager, self.plain)], eager
        if w["B"] == 1 and w["bias"] and w["act"] in ("relu", "gelu"):
            def fused(a, f, b):
                y = torch._addmm_activation(b.flatten(), a[0], f[0], use_gelu=w["act"] == "gelu")
                return (y, y.abs().amax()) if w["amax"] else y
            self.variants.append(("_addmm_activation", fused, self.plain))
        def exact(a, f, b=None):
            n = min(128, w["M"])
            ref = a[0, :n].double() @ f[0].double()
            ref = act((ref + b[0].double() if b is not None else ref) * (w["alpha"] or 1))
            return lambda out: self.error(out[0].reshape(w["B"], w["M"], w["N"])[0, :n], ref)
        self.exact = exact

    def matmul_fp8(self):
        w, torch, act = self.w, self.torch, self.activation()
        f8 = torch.float8_e4m3fn
        self.make = lambda: [torch.randn(1, w["M"], w["K"], device="cuda").to(f8), torch.randn(1, w["N"], w["K"], device="cuda").to(f8).transpose(1, 2),
                             torch.ones(1, 1, 1, device="cuda"), torch.full((1, 1, 1), 1 / math.sqrt(w["K"]), device="cuda")]
        def scaled(fast):
            def call(a, f, sa, sf):
                y = act(torch._scaled_mm(a[0], f[0], scale_a=sa.reshape(()), scale_b=sf.reshape(()), out_dtype=torch.bfloat16, use_fast_accum=fast))
                return (y, y.abs().amax()) if w["amax"] else y
            return call
        self.variants = [("eager, fast accumulation", scaled(True), self.plain), ("eager", scaled(False), self.plain)]
        self.compiled = scaled(True)
        def exact(a, f, sa, sf):
            n = min(128, w["M"])
            ref = act((a[0, :n].double() @ f[0].double()) * (sa * sf).double().reshape(()))
            return lambda out: self.error(out[0].reshape(w["M"], w["N"])[:n], ref)
        self.exact = exact

    def attention(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        w, torch, F = self.w, self.torch, self.torch.nn.functional
        B, H, HKV, SQ, SKV, D = (w[k] for k in ("B", "H", "HKV", "SQ", "SKV", "D"))
        self.make = lambda: [self.noise(B, s, h, D).transpose(1, 2) for s, h in ((SQ, H), (SKV, HKV), (SKV, HKV))]
        eager = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=w["causal"], enable_gqa=H != HKV)
        only = lambda name: lambda: sdpa_kernel(getattr(SDPBackend, name))
        self.variants = [("eager", eager, self.plain)] + [(f"SDPA {n}", eager, only(f"{n.upper()}_ATTENTION")) for n in ("cudnn", "flash", "efficient")]
        self.compiled = None
        def exact(q, k, v):
            n, kv = min(256, SQ), (H - 1) // (H // HKV)
            s = (q[B - 1, H - 1, SQ - n:].double() @ k[B - 1, kv].double().t()) / math.sqrt(D)
            if w["causal"]:
                i, j = torch.arange(SQ - n, SQ, device="cuda")[:, None], torch.arange(SKV, device="cuda")[None, :]
                s = s.masked_fill(j > i, float("-inf"))
            ref = torch.softmax(s, -1) @ v[B - 1, kv].double()
            return lambda out: self.error(out[0][B - 1, H - 1, SQ - n:], ref)
        self.exact = exact

    def norm(self):
        w, torch, F = self.w, self.torch, self.torch.nn.functional
        self.make = lambda: [self.noise(w["rows"], w["C"]) * 2 + 0.5, self.noise(1, w["C"]) * 0.2 + 1] + ([self.noise(1, w["C"])] if w["bias"] else [])
        def eager(x, g, b=None):
            if w["op"] == "rms":
                return F.rms_norm(x, (w["C"],), g.flatten(), 1e-5)
            return F.layer_norm(x, (w["C"],), g.flatten(), b.flatten() if b is not None else None, 1e-5)
        self.variants, self.compiled = [("eager", eager, self.plain)], eager
        def exact(x, g, b=None):
            n = min(256, w["rows"])
            ref = eager(x[:n].double(), g.double(), b.double() if b is not None else None)
            return lambda out: self.error(out[0].reshape(w["rows"], w["C"])[:n], ref)
        self.exact = exact

    def chain(self):
        w, torch, F = self.w, self.torch, self.torch.nn.functional
        L, M, K = w["layers"], w["M"], w["K"]
        self.make = lambda: [self.noise(1, M, K)] + [t for _ in range(L) for t in (self.noise(1, K, K) * (1.4 / math.sqrt(K)), self.noise(1, 1, K) * 0.1)]
        def eager(x, *p):
            x = x[0]
            for i in range(L):
                x = F.relu(torch.addmm(p[2 * i + 1].flatten(), x, p[2 * i][0]))
            return x
        def fused(x, *p):
            x = x[0]
            for i in range(L):
                x = torch._addmm_activation(p[2 * i + 1].flatten(), x, p[2 * i][0], use_gelu=False)
            return x
        self.variants, self.compiled = [("eager", eager, self.plain), ("_addmm_activation", fused, self.plain)], eager
        def exact(*ins):
            ref = eager(*[t.double() for t in ins])
            return lambda out: self.error(out[0].reshape(M, K), ref)
        self.exact = exact
