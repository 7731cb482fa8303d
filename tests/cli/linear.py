#!/usr/bin/env python3
"""The time of `fgc check` grows with the text, not with its square, whatever the text is made of.

Each kind of text is checked at n and at 10 n lines; user and system time may grow by 20 times, where
a quadratic walk would make it 100. Usage: linear.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import resource
import subprocess
import sys
import tempfile

FGC = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc")
HEAD = "graph g() {\n    input x0, w : bf16[64, 64]\n    output y : bf16[64, 64]\n\n"


def graph(n, line):
    return "fg 1\n\n" + HEAD + "".join(line.format(i=i, j=i + 1) for i in range(n)) + f"    y = x{n}\n}}\n"


KINDS = {
    "bindings": lambda n: graph(n, "    x{j} = relu(x{i}) + x{i} * 0.5\n"),
    "rounded": lambda n: graph(n, "    x{j} : bf16 = matmul(x{i}, w)\n"),
    "copies": lambda n: graph(n, "    x{j} = cast(x{i}, type=bf16)\n"),
    "constants": lambda n: graph(n, "    x{j} = x{i}\n").replace(
        HEAD, HEAD.replace("    input", "".join(f"    const c{i} = {i}\n" for i in range(n)) + "    input", 1)),
    "graphs": lambda n: "fg 1\n\n" + "".join(
        f"graph g{i}(N = 8) {{\n    input x : f32[N, 4]\n    output y : f32[N, 4]\n    y = relu(x)\n}}\n" for i in range(n // 5)),
    "functions": lambda n: "fg 1\n\n" + "".join(
        f"fn f{i}(x) {{\n    return f{i + 1}(x)\n}}\n" for i in range(n // 3)) + f"fn f{n // 3}(x) {{\n    return x\n}}\n",
    "chain": lambda n: "fg 1\n\n" + HEAD + "    y = x0\n" + "        |> relu\n" * n + "}\n",
    "mistakes": lambda n: graph(n, "    x{j} = relu(x{i}) + q{j}\n"),
    "early": lambda n: "fg 1\n\n" + HEAD + "".join(f"    a{i} = relu(a{i + 1})\n" for i in range(n)) + f"    a{n} = x0\n    y = a0\n}}\n",
}


def seconds(text, folder):
    path = os.path.join(folder, "x.fg")
    with open(path, "w") as f:
        f.write(text)
    best = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        got = subprocess.run([FGC, "check", path], capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        t = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = t if best is None else min(best, t)
        if got.returncode not in (0, 1, 3):
            return None
    return best


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, text in KINDS.items():
            small, large = seconds(text(3000), folder), seconds(text(30000), folder)
            if small is None or large is None:
                failures += 1
                print(f"FAIL {kind}: crashed")
            elif large > 20 * max(small, 0.02):
                failures += 1
                print(f"FAIL {kind}: {small:.3f} s for 3,000 lines, {large:.3f} s for 30,000")
    print(f"{len(KINDS)} kinds of text, {failures} failures")
    return failures != 0


sys.exit(main())
