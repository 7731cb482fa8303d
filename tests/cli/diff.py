#!/usr/bin/env python3
"""fgc diff: two builds of one text are equal; another size is a difference of the interface, another engine's limit or comment
is not. Needs cuDNN. Environment: FGC."""
import os
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TEXT = """fg 1

graph g(N = 8) {
    input x : f32[N, 64]
    scalar a : f32 = 1.0
    output y : f32[N, 64]

    y = relu(x) * a
}
"""
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        def fgc(*args):
            return subprocess.run([FGC, *args], capture_output=True, text=True, cwd=folder, timeout=300)

        def build(name, text, *args):
            with open(os.path.join(folder, name + ".fg"), "w") as f:
                f.write(text)
            r = fgc(name + ".fg", "-q", "-o", name + ".plan", *args)
            if r.returncode == 3 and not os.path.exists(os.path.join(folder, "a.plan")):
                print("no plan can be built here: " + (r.stderr.splitlines() or [""])[0])
                sys.exit(77)
            check(r.returncode == 0, f"{name}: {r.stderr}")

        build("a", TEXT)
        build("again", TEXT)
        build("longer", TEXT, "-D", "N=16")
        build("renamed", TEXT.replace("scalar a : f32 = 1.0", "scalar a : f32 = 2.0"))
        build("comment", TEXT.replace("relu(x) * a", "relu(x) * a  # the same"))
        for args in ((), ("--interface",), ("--exit-code",)):
            r = fgc("diff", "a.plan", "again.plan", *args)
            check((r.returncode, r.stdout, r.stderr) == (0, "", ""), f"equal plans, {args}: {r.stdout}{r.stderr}")
        r = fgc("diff", "a.plan", "longer.plan")
        check(r.returncode == 0 and "-g: input x : f32[8, 64]" in r.stdout and "+g: input x : f32[16, 64]" in r.stdout, r.stdout)
        check("sha256" in r.stdout and r.stdout.startswith("--- a.plan\n+++ longer.plan\n@@ "), r.stdout)
        r = fgc("diff", "a.plan", "longer.plan", "--interface", "--exit-code")
        changed = [x for x in r.stdout.split("\n")[2:] if x[:1] in "+-" and x]
        check(r.returncode == 1 and len(changed) == 4 and "scalar" not in "".join(changed), f"{r.returncode} {changed}")
        r = fgc("diff", "a.plan", "renamed.plan", "--interface", "--exit-code")
        check(r.returncode == 1 and "-g: scalar a : f32 = 1.0\n+g: scalar a : f32 = 2.0" in r.stdout, r.stdout)
        r = fgc("diff", "a.plan", "comment.plan", "--interface", "--exit-code")
        check((r.returncode, r.stdout) == (0, ""), f"a comment is no interface: {r.stdout}")
        r = fgc("diff", "a.plan", "comment.plan", "--exit-code")
        check(r.returncode == 1 and "+source:     y = relu(x) * a  # the same" in r.stdout and "-g: step" not in r.stdout, r.stdout)
        r = fgc("diff", "a.plan")
        check(r.returncode == 2 and "[usage]" in r.stderr, "one operand")
        r = fgc("diff", "a.plan", "a.fg")
        check(r.returncode in (1, 3) and not r.stdout and "[plan]" in r.stderr, f"no plan: {r.returncode} {r.stderr}")
        r = fgc("diff", "a.plan", "missing.plan")
        check(r.returncode == 3 and "[file]" in r.stderr, f"no file: {r.stderr}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
