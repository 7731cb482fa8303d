#!/usr/bin/env python3
"""`fgc bench` down to fgc-device, on a processor that plays the GPU (tests/fakes): plans and specifications, the table,
--json and --csv, the same graph unfused by bare plans and plain kernels, which must compute the same; what has no
unfused way says why. Exit 77 without a cuDNN that builds plans. Times are the processor's, and are not looked at."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

FGC, TOP = os.path.abspath(os.environ["FGC"]), os.path.abspath(os.environ.get("srcdir", "."))
sys.path.insert(0, os.path.join(TOP, "tests"))
import fakes  # noqa: E402

SPEC = """fg 1

epilogue finish(acc, scale, bias) {
    return relu(acc * scale + bias)
}

graph g(M in [48, 64]) {
    input a : bf16[2, M, 40]
    input b : bf16[2, 40, 64]
    input bias : bf16[1, 1, 64]
    scalar alpha : f32 = 0.5
    output y : bf16[2, M, 64]

    y = matmul(a, b) |> finish(alpha, bias)
}

graph p() {
    input x : f32[64, 256]
    output y : f32[64, 256]

    y = relu(x) * 2.0
}
"""
TWO = """fg 1

graph two() {
    input a : bf16[1, 64, 64]
    input b : bf16[1, 64, 128]
    input c : bf16[1, 128, 64]
    output y : bf16[1, 64, 64]

    h : bf16 = relu(matmul(a, b))
    y = matmul(h, c)
}
"""
# The fused plan has the uids a, b, bias, alpha, y = 1 .. 5; the bare one a, b, y = 1, 2, 3.
PLAN = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static float load(const uint16_t *p, long i) { uint32_t b = (uint32_t)p[i] << 16; float x; memcpy(&x, &b, 4); return x; }
static uint16_t narrow(float x) { uint32_t b; memcpy(&b, &x, 4); return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16); }
void plan(const char *text, int64_t n, const int64_t *uid, void *const *at)
{
    void *of[64] = {0};
    for (int64_t i = 0; i < n; i++) if (uid[i] < 64) of[uid[i]] = at[i];
    int fused = of[5] != NULL;
    long m = strstr(text, "[2,48,") ? 48 : 64;
    if (!of[3]) { /* relu(x) * 2 */
        for (long i = 0; i < 64 * 256; i++) ((float *)of[2])[i] = ((float *)of[1])[i] > 0 ? 2 * ((float *)of[1])[i] : 0;
        return;
    }
    for (long i = 0; i < 2 * m * 64; i++) {
        float s = 0;
        for (long k = 0; k < 40; k++) s += load(of[1], i / 64 * 40 + k) * load(of[2], i / (m * 64) * 2560 + k * 64 + i % 64);
        if (fused) s = s * *(float *)of[4] + load(of[3], i % 64);
        if (fused && s < 0) s = 0;
        ((uint16_t *)of[fused ? 5 : 3])[i] = narrow(s);
    }
}
"""
failed = passed = 0


def check(ok, what):
    global failed, passed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        spec, plan, table = (os.path.join(folder, n) for n in ("g.fg", "g.plan", "g.csv"))
        with open(spec, "w") as f:
            f.write(SPEC)
        with open(os.path.join(folder, "p.c"), "w") as f:
            f.write(PLAN)
        r = subprocess.run([FGC, spec, "-q", "-o", plan], capture_output=True, text=True)
        if r.returncode == 3:
            print(r.stderr.splitlines()[0])
            return 77
        fakes.library(os.path.join(folder, "p.so"), os.path.join(folder, "p.c"))
        env = dict(os.environ, FGC_LIBEXEC=fakes.make(folder), FAKE_PLAN=os.path.join(folder, "p.so"), TMPDIR=folder)

        def bench(*args, **more):
            r = subprocess.run([FGC, "bench", "--target", "nvidia-h200", "--rounds", "3", *args], capture_output=True, text=True, env=dict(env, **more))
            return r.returncode, r.stdout, r.stderr

        code, out, err = bench(plan, "--json", "--csv", table)
        check(code == 0 and out.startswith("{"), f"a plan: {code} {out}{err}")
        report = json.loads(out)
        rows = report["rows"]
        check([(r["graph"], r["variant"]) for r in rows] == [("g", "M=48"), ("g", "M=64"), ("p", "")], f"rows: {out}")
        check(report["kind"] == "bench" and report["rounds"] == 3 and report["gpu"] == "a processor" and set(report["ceilings"]) == {"copy", "bf16"}, out)
        for r in rows:
            for way in (r["fused"], r["unfused"]):
                check(len(way["samples_us"]) == 3 and 0 < way["low_us"] <= way["gpu_us"] <= way["high_us"] and min(way["call_us"], way["host_us"], way["replay_us"]) > 0, way)
            check(r["unfused"]["difference"] < 1e-2, f"the two ways differ: {r}")
        g, p = rows[1], rows[2]
        check(g["unfused"]["kernels"] == ["matmul", "mul", "add", "relu"] and p["unfused"]["kernels"] == ["relu", "mul"], (g, p))
        # Work by hand: 2 a multiply-add; temporaries in bf16 between kernels.
        product = 2 * 64 * 64 * 2
        check(g["flop"] == 2 * 2 * 64 * 64 * 40 and p["flop"] == 0, g)
        check(g["bytes"] == 2 * (2 * 64 * 40 + 2 * 40 * 64 + 64 + 2 * 64 * 64), g)
        check(g["unfused"]["bytes"] == g["bytes"] + 3 * 2 * product and p["unfused"]["bytes"] == 4 * 4 * 64 * 256, (g, p))
        check(g["unfused"]["workspace_bytes"] >= 3 * product, g)
        check(g["ceiling"] == "bf16" and p["ceiling"] is None, (g, p))
        roof = max(g["flop"] / report["ceilings"]["bf16"], g["bytes"] / report["ceilings"]["copy"]) * 1e6
        check(abs(g["roof_us"] - roof) < 1e-6 * roof and abs(g["share_of_roof"] - roof / g["fused"]["gpu_us"]) < 1e-6, g)
        check(abs(g["gb_per_s"] - g["bytes"] / g["fused"]["gpu_us"] / 1e3) < 1e-6 * g["gb_per_s"], g)
        with open(table) as f:
            lines = list(csv.DictReader(f))
        check([(x["graph"], x["variant"]) for x in lines] == [("g", "M=48"), ("g", "M=64"), ("p", "")], lines)
        check(all(None not in x and None not in x.values() for x in lines) and lines[2]["flop"] == "" and float(lines[1]["unfused_bytes"]) == g["unfused"]["bytes"], lines)

        # A plan that computes something else than the kernels is seen.
        with open(os.path.join(folder, "q.c"), "w") as f:
            f.write(PLAN.replace("* *(float *)of[4]", "* 0.4f"))
        fakes.library(os.path.join(folder, "q.so"), os.path.join(folder, "q.c"))
        code, out, err = bench(plan, "--json", FAKE_PLAN=os.path.join(folder, "q.so"))
        check(code == 0 and json.loads(out)["rows"][1]["unfused"]["difference"] > 0.05, f"another plan: {code} {out}{err}")

        code, out, err = bench(spec, "-g", "p")
        check(code == 0 and re.search(r"g\.fg: graph p for nvidia-h200, engine \d+\n", out) and "unfused takes" in out and "relu, mul; " in out and
              "ceilings measured in this run on a processor: copy" in out and "matmul" not in out, f"a specification: {code} {out}{err}")
        # Two kernels: what crosses the cut lies beside the tensors. Nothing is computed here, and that is seen, too.
        with open(spec, "w") as f:
            f.write(TWO)
        code, out, err = bench(spec, "--json", FAKE_PLAN="")
        row = json.loads(out)["rows"][0] if out else {}
        check(code == 0 and len(row["engines"]) == 2 and row["fused"]["workspace_bytes"] == 2 * 64 * 128 and row["unfused"]["difference"] == 1e300, f"two steps: {code} {out}{err}")
        code, out, err = bench(plan, FAKE_SHIM="/nowhere")
        check(code == 0 and out.count("unfused  not measured: NVRTC refuses the plain kernels") == 3, f"no kernels: {code} {out}{err}")
        code, out, err = bench(plan, "--rounds", "0")
        check(code == 2 and "--rounds is from 1 to 10000, got 0" in err, f"no rounds: {code} {err}")
        code, out, err = bench()
        check(code == 2 and "a FILE.plan or FILE.fg is needed" in err, f"nothing: {code} {err}")
        with open(plan, "r+b") as f:
            f.truncate(1000)
        code, out, err = bench(plan)
        check(code == 1 and not out, f"a damaged plan: {code} {out}{err}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
