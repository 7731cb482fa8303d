#!/usr/bin/env python3
"""`fgc verify` down to fgc-device, on a processor that plays the GPU (tests/fakes): the plan's outputs are compared
whole, by plain kernels compiled from the graph, and by samples of the interpreter; what either finds is said, and
where the two do not agree nothing is trusted. Exit 77 without a cuDNN that builds the plan."""
import os
import re
import subprocess
import sys
import tempfile

FGC, TOP = os.path.abspath(os.environ["FGC"]), os.path.abspath(os.environ.get("srcdir", "."))
sys.path.insert(0, os.path.join(TOP, "tests"))
import fakes  # noqa: E402

SPEC = """fg 1

graph g() {
    input x : bf16[64, 33, 40]
    input w : bf16[64, 40, 8]
    output y : bf16[64, 33, 8]
    output m : f32[1, 1, 1]

    y = relu(matmul(x, w))
    m = reduce(y, mode=max_abs, axes=[0, 1, 2])
}
"""
PLAN = r"""
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static float load(const uint16_t *p, long i) { uint32_t b = (uint32_t)p[i] << 16; float x; memcpy(&x, &b, 4); return x; }
static uint16_t narrow(float x) { uint32_t b; memcpy(&b, &x, 4); return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16); }
void plan(const char *text, int64_t n, const int64_t *uid, void *const *at)
{
    void *of[8] = {0};
    const char *spoil = getenv("SPOIL");
    (void)text;
    for (int64_t i = 0; i < n; i++) if (uid[i] < 8) of[uid[i]] = at[i];
    const uint16_t *x = of[1], *w = of[2];
    uint16_t *y = of[3];
    float m = 0;
    for (long i = 0; i < 64 * 33 * 8; i++) {
        float s = 0;
        for (long k = 0; k < 40; k++) s += load(x, i / 8 * 40 + k) * load(w, i / 264 * 320 + k * 8 + i % 8);
        y[i] = narrow(s > 0 ? s : 0);
        if (load(y, i) > m) m = load(y, i);
    }
    *(float *)of[4] = m;
    if (spoil && spoil[0] == 'y') y[atol(spoil + 1)] = narrow(load(y, atol(spoil + 1)) + 1);
    if (spoil && spoil[0] == 'm') *(float *)of[4] = m * 1.01f;
    if (spoil && spoil[0] == 'a') for (long i = 0; i < 64 * 33 * 8; i++) y[i] = narrow(load(y, i) * 1.05f);
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
        spec, plan = os.path.join(folder, "g.fg"), os.path.join(folder, "g.plan")
        with open(spec, "w") as f:
            f.write(SPEC)
        r = subprocess.run([FGC, spec, "-q", "-o", plan], capture_output=True, text=True)
        if r.returncode == 3:
            print(r.stderr.splitlines()[0])
            return 77
        with open(os.path.join(folder, "p.c"), "w") as f:
            f.write(PLAN)
        fakes.library(os.path.join(folder, "p.so"), os.path.join(folder, "p.c"))
        env = dict(os.environ, FGC_LIBEXEC=fakes.make(folder), FAKE_PLAN=os.path.join(folder, "p.so"), TMPDIR=folder)

        def verify(**more):
            r = subprocess.run([FGC, "verify", plan], capture_output=True, text=True, env=dict(env, **more))
            return r.returncode, r.stdout.strip(), r.stderr

        code, out, err = verify()
        check(code == 0 and re.fullmatch(r"graph 'g': passed: largest error [\d.e-]+ of its bound, of every element", out), f"right: {code} {out}{err}")
        # One wrong element of 16,896, away from edges: samples miss it for most places, the whole never does.
        missed = 0
        for place in (4711, 9001, 12345, 777):
            code, out, _ = verify(SPOIL=f"y{place}")
            check(code == 1 and "wrong: " in out and f"'y' at element {place}: " in out and "elements out of bounds: 1" in out, f"one element: {code} {out}")
            # Without NVRTC's code only samples are left, and the verdict says so.
            code, out, _ = verify(SPOIL=f"y{place}", FAKE_SHIM="/nowhere")
            check("of samples: NVRTC refuses the plain kernels" in out, f"samples alone: {code} {out}")
            missed += code == 0
        check(missed > 0, "samples found every planted element: the planted ones show nothing")
        code, out, _ = verify(SPOIL="m")
        check(code == 1 and "wrong: " in out and "'m' at element 0: " in out, f"the other output: {code} {out}")
        code, out, _ = verify(SPOIL="a")
        check(code == 1 and "wrong: " in out and re.search(r"elements out of bounds: \d{3,}", out), f"all: {code} {out}")

        # A fault of the plain kernels themselves: the interpreter does not agree.
        for spoil, word in ((dict(FAKE_SPOIL="sum += p * q", FAKE_SPOILED="sum += p * q * 1.05"), "the interpreter wants"),
                            (dict(FAKE_SPOIL="if (share > 1) wrong += 1;", FAKE_SPOILED="share = 0; worst = 0;", SPOIL="a"), "the plain kernels find it right")):
            code, out, _ = verify(**spoil)
            check(code == 1 and "mistrusted: " in out and word in out, f"{spoil}: {code} {out}")
        # No memory for the reference: judged by samples.
        code, out, _ = verify(FAKE_MEMORY="400000")
        check(code == 0 and "of samples: the plain kernels' buffers do not fit" in out, f"no memory: {code} {out}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
