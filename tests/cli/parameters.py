#!/usr/bin/env python3
"""-D and --graph: which graphs they reach, what they refuse.

Usage: parameters.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import re
import subprocess
import sys
import tempfile

FGC = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc")
TEXT = """fg 1

graph first(N = 2, M = N * 2, T = f32) {
    input  x : T[N, M]
    output y : T[N, M]

    y = relu(x)
}
graph second(N in [4, 8], K) {
    input  x : f32[N, K]
    output y : f32[N, K]

    y = abs(x)
}
"""
# arguments, exit status, inputs printed or a piece of the message
CASES = [
    (["-D", "K=3"], 0, ["f32[2, 4]", "f32[4, 3]", "f32[8, 3]"]),
    (["-D", "K=3", "-D", "N=5"], 0, ["f32[5, 10]", "f32[5, 3]"]),
    (["-D", "K=3", "-D", "first.N=5"], 0, ["f32[5, 10]", "f32[4, 3]", "f32[8, 3]"]),
    (["-D", "K=3", "-D", "first.N=5", "-D", "N=6"], 0, ["f32[5, 10]", "f32[6, 3]"]),
    (["-D", "K=3", "-D", "second.N=5", "-D", "M=1"], 0, ["f32[2, 1]", "f32[5, 3]"]),
    (["--graph", "first"], 0, ["f32[2, 4]"]),
    (["--graph", "first", "-D", "T=bf16"], 0, ["bf16[2, 4]"]),
    (["--graph", "second", "--graph", "first", "-D", "K=1"], 0, ["f32[2, 4]", "f32[4, 1]", "f32[8, 1]"]),
    ([], 1, "parameter 'K' of graph 'second' has no value"),
    (["-D", "K=3", "-D", "Q=1"], 2, "no graph has a parameter 'Q'"),
    (["-D", "K=3", "-D", "first.K=1"], 2, "graph 'first' has no parameter 'K'"),
    (["-D", "K=3", "-D", "third.K=1"], 2, "no graph is called 'third'"),
    (["-D", "K=3.5"], 2, "neither an integer nor an element type"),
    (["-D", "K=9223372036854775808"], 2, "neither an integer nor an element type"),
    (["-D", "K=3", "-D", "T=4"], 2, "'T' is an element type"),
    (["-D", "K=3", "-D", "N=f16"], 2, "'N' is an integer"),
    (["-D", "K=0"], 1, "dim 1 is 0"),
    (["--graph", "frist"], 2, "did you mean 'first'?"),
]


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.fg")
        with open(path, "w") as f:
            f.write(TEXT)
        for args, status, want in CASES:
            got = subprocess.run([FGC, "-d", "ir", *args, path], capture_output=True, text=True)
            if status == 0:
                good = re.findall(r"input x%1 : (\S+\[[0-9, ]+\])", got.stdout) == want
            else:
                good = want in got.stderr and (status == 1 or got.stderr.count("error:") == 1)
            if got.returncode != status or not good:
                failures += 1
                print("FAIL", args, "status", got.returncode, "want", status, want, got.stdout[:300], got.stderr[:600])
    print(f"{len(CASES)} command lines, {failures} failures")
    return failures != 0


sys.exit(main())
