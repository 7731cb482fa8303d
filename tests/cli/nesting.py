#!/usr/bin/env python3
"""Nesting has a limit, chains have none, and neither overflows a stack.

Every way to nest is tried at depths 10, 1,000 and 100,000, with stacks of 256 KiB and 8 MiB: at 10 the
text is read, beyond 200 there is one located error and exit status 1. Left-recursive chains of 100,000
links are read and printed. Usage: nesting.py [fgc]; the program defaults to $FGC, then ./fgc."""
import os
import resource
import subprocess
import sys
import tempfile

FGC = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc")
STACKS = [256 << 10, 8 << 20]
LIMIT = 200
MIXED = "x or y and z == u + v * ("  # a level of precedence each, all of them right operands

# name: (opening, innermost, closing), repeated d times each
NESTS = {
    "parentheses": ("(", "x", ")"),
    "lists": ("[", "1", "]"),
    "calls": ("relu(", "x", ")"),
    "named arguments": ("f(a=", "x", ")"),
    "minus": ("-", "x", ""),
    "not": ("not ", "x", ""),
    "minus in parentheses": ("-(", "x", ")"),
    "every level of precedence": (MIXED, "x", ")"),
    "chains in parentheses": ("x |> f(", "x", ")"),
    "unclosed parentheses": ("(", "x", ""),
    "unclosed lists": ("[", "", ""),
}
CHAINS = {
    "sum": "x" + " + x" * 100000,
    "product": "x" + " * 2" * 100000,
    "chain": "x" + "\n        |> relu" * 100000,
    "chain of calls": "x" + " |> add(x)" * 100000,
    "and": "a" + " and a" * 100000,
    "arguments": "f(" + "x, " * 100000 + ")",
    "list": "[" + "1, " * 100000 + "]",
    "path": "x" + ".x" * 100000,
}
failures = 0


def fgc(args, text, stack):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.fg")
        with open(path, "w") as f:
            f.write(text)
        p = subprocess.run([FGC, *args, path], capture_output=True, text=True, timeout=60,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (stack, stack)))
        return p.returncode, p.stdout, p.stderr


def expect(what, condition, seen):
    global failures
    if not condition:
        failures += 1
        print(f"nesting: {what}: status {seen[0]}")
        print("\n".join("    " + line[:100] for line in seen[2].splitlines()[:6]))


def in_body(expression):
    return f"fg 1\nfn g(x, y, z, u, v, a) {{\n    t = {expression}\n    return t\n}}\n"


for stack in STACKS:
    kib = stack >> 10
    COMMANDS = (["-d", "ast"], ["fmt"], ["check"]) if stack == min(STACKS) else (["check"],)
    for name, (opening, inner, closing) in NESTS.items():
        for depth in [10, 1000, 100000]:
            text = in_body(opening * depth + inner + closing * depth)
            for command in COMMANDS:
                seen = fgc(command, text, stack)
                what = f"{name}, depth {depth}, {' '.join(command)}, stack {kib} KiB"
                if depth > LIMIT:
                    lines = [l for l in seen[2].splitlines() if ": error: " in l]
                    expect(what, seen[0] == 1 and len(lines) == 1 and lines[0].endswith("[nesting]") and
                           ":3:" in lines[0], seen)
                elif closing or inner:
                    expect(what, seen[0] in (0, 1) and "[nesting]" not in seen[2], seen)
                    if command[0] != "check" and "unclosed" not in name:
                        expect(what, seen[0] == 0, seen)
    for name, (opening, inner, closing) in NESTS.items():  # the limit itself
        if "unclosed" in name:
            continue
        per_level = opening.count("(") + opening.count("[") + opening.count("-") + opening.count("not")
        depth = LIMIT // per_level
        for n, good in [(depth, True), (depth + 1, False)]:
            for command in COMMANDS:
                seen = fgc(command, in_body(opening * n + inner + closing * n), stack)
                expect(f"{name}, {n} levels, {' '.join(command)}, stack {kib} KiB",
                       (("[nesting]" in seen[2]) != good) and seen[0] in (0, 1), seen)
    for name, expression in CHAINS.items():
        for command in COMMANDS:
            seen = fgc(command, in_body(expression), stack)
            what = f"{name} of 100,000, {' '.join(command)}, stack {kib} KiB"
            expect(what, seen[0] in (0, 1) and "[nesting]" not in seen[2], seen)
            if command[0] != "check":
                expect(what, seen[0] == 0, seen)


# A deep graph in flat text: through every stage that needs no library.
for name, expression in (("relu", CHAINS["chain"]), ("sum", CHAINS["sum"])):
    text = f"fg 1\ngraph g() {{\n    input x : f32[4]\n    output y : f32[4]\n    y = {expression}\n}}\n"
    seen = fgc(["check"], text, STACKS[0])
    expect(f"a graph of 100,000 operators, {name}, stack {STACKS[0] >> 10} KiB", seen[0] == 0, seen)

print("nesting: failed" if failures else "nesting: ok")
sys.exit(1 if failures else 0)
