#!/usr/bin/env python3
"""`fgc verify` with a scripted device (tests/fake_device.c): what it says of a plan's variants, its exit status, the
specification taken from the plan alone, imports too. Without a GPU it says so. Environment: FGC, FGC_BUILD_DIR,
srcdir. Exit 77 without cuDNN or the scripted device."""
import os
import subprocess
import sys
import tempfile

FGC, TOP = os.path.abspath(os.environ["FGC"]), os.path.abspath(os.environ.get("srcdir", "."))
FAKE = os.path.join(os.path.abspath(os.environ.get("FGC_BUILD_DIR", ".")), "tests", "fgc-fake")
failed = passed = 0


def check(ok, what):
    global failed, passed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what}")


def run(program, *args, cwd=None, **env):
    r = subprocess.run([program, *args], capture_output=True, text=True, cwd=cwd, env=dict(os.environ, **env))
    return r.returncode, r.stdout, r.stderr


def main():
    if not os.access(FAKE, os.X_OK):
        print("tests/fgc-fake is not built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        script, plan = os.path.join(folder, "script"), os.path.join(folder, "x.plan")

        def device(line):
            with open(script, "w") as f:
                f.write(f"* {line}\n")

        attention = os.path.join(TOP, "examples", "attention_causal", "attention_causal.fg")
        code, _, err = run(FGC, attention, "-q", "-D", "B=1", "-o", plan)
        if code == 3:
            print(err.splitlines()[0])
            return 77
        device("time 100")
        code, out, err = run(FAKE, "verify", plan, FAKE_DEVICE=script)
        check(code == 0 and out.count(": passed: ") == 4 and "graph 'attention' with S=4096: passed" in out, f"four variants: {code} {out}{err}")
        for line, word in (("wrong", "wrong"), ("mistrusted", "mistrusted"), ("crash check", "not run: the process ended"), ("hang load", "not run: no answer")):
            device(line)
            code, out, err = run(FAKE, "verify", plan, FAKE_DEVICE=script)
            check(code == 1 and out.count(word) == 4, f"{line}: {code} {out}{err}")

        # What is right stands in the plan: the files that it was made of are gone.
        os.makedirs(os.path.join(folder, "lib"))
        with open(os.path.join(folder, "lib", "mine.fg"), "w") as f:
            f.write("fg 1\n\nfn twice(x) {\n    return x + x\n}\n")
        with open(os.path.join(folder, "m.fg"), "w") as f:
            f.write('fg 1\n\nimport std.act\nimport "lib/mine.fg"\n\ngraph g(N = 4, T = f32) {\n    input  x : T[N, 64]\n    output y : T[N, 64]\n\n    y = relu6(twice(x))\n}\n')
        code, _, err = run(FGC, "m.fg", "-q", "-D", "N=8", "-D", "T=bf16", "-o", plan, cwd=folder)
        check(code == 0, f"a plan with imports: {err}")
        os.remove(os.path.join(folder, "lib", "mine.fg"))
        os.remove(os.path.join(folder, "m.fg"))
        device("time 100")
        code, out, err = run(FAKE, "verify", plan, FAKE_DEVICE=script)
        check(code == 0 and out.startswith("graph 'g': passed"), f"from the plan alone: {code} {out}{err}")
        # Each kernel by itself.
        with open(os.path.join(folder, "two.fg"), "w") as f:
            f.write("fg 1\n\ngraph g() {\n    input  x, w : bf16[1, 16, 16]\n    output y    : bf16[1, 16, 16]\n\n"
                    "    h : bf16 = matmul(x, w)\n    y = matmul(h, w)\n}\n")
        code, _, err = run(FGC, "two.fg", "-q", "-o", plan, cwd=folder)
        check(code == 0, f"two steps: {err}")
        code, out, err = run(FAKE, "verify", plan, FAKE_DEVICE=script)
        check(code == 0 and [line.split(":")[0] for line in out.splitlines()] == ["step 0 of graph 'g'", "step 1 of graph 'g'"], f"two steps: {code} {out}{err}")
        with open(plan, "r+b") as f:
            f.truncate(1000)
        code, out, err = run(FAKE, "verify", plan, FAKE_DEVICE=script)
        check(code == 1 and not out, f"a damaged plan: {code} {out}{err}")
        if not os.path.exists("/dev/nvidiactl"):
            # A libcuda that is no whole driver: the stand-in.
            run(FGC, attention, "-q", "-D", "B=1", "-o", plan)
            standin = os.path.join(os.path.dirname(FAKE), "..", "standin")
            code, out, err = run(FGC, "verify", plan, LD_LIBRARY_PATH=standin)
            check(code == 3 and "no plan can be run here" in err and "[no-device]" in err, f"a driver that is none: {code} {out}{err}")
            code, out, err = run(FGC, "verify", attention.replace(".fg", ".nosuch"))
            check(code == 3 and "cannot read" in err, f"no file: {code} {err}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
