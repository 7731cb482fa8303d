#!/usr/bin/env python3
"""docs/from-cudnn-frontend.md: its graphs pass `fgc check` in canonical form, each piece of the language in its tables
is one, each operator that it names is in `fgc ops`, each option in `fgc --help`. Environment: FGC, srcdir."""
import os
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
GRAPH = """fg 1

graph g() {
    input  a, b, mask0 : f32[4, 8]
    input  x : bf16[2, 8, 8, 8] channels_last
    input  w : bf16[8, %d, 3, 3] channels_last
    input  q, k, v : bf16[2, 4, 64, 64]
    output y : %s%s

    %s
}
"""
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def fgc(*args, text=None):
    r = subprocess.run([FGC, *args], input=text, capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


def blocks(page, folder):
    found = re.findall(r"^```fg\n(.*?)^```", page, re.S | re.M)
    check(len(found) >= 3, f"{len(found)} graphs")
    for i, text in enumerate(found):
        path = os.path.join(folder, f"{i}.fg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        code, _, err = fgc("check", "--Werror", path)
        check(code == 0, f"graph {i}: {err}")
        check(fgc("fmt", path)[1] == text, f"graph {i} is not in canonical form; it is\n{fgc('fmt', path)[1]}")


def calls(page):
    """A call of an operator in the right column of a table, as the right side of a graph."""
    known = {re.match(r"\w+", line)[0] for line in fgc("ops")[1].splitlines()}
    right = [row.split(" | ", 1)[1] for row in page.splitlines() if row.startswith("| ") and " | " in row]
    n = 0
    for code in [c for cell in right for c in re.findall(r"`([^`]+)`", cell)]:
        call = re.fullmatch(r"(?:o, stats = )?(\w+)\((.*)\)", code)
        if not call or call[1].startswith("model_") or "..." in code or call[1] == "strides":
            continue
        name, n = call[1], n + 1
        check(name in known, f"there is no operator '{name}': {code}")
        code = re.sub(r"\((\w+)\)$", lambda m: f"({m[1]})", code).replace("mask, input0, input1", "a > b, a, b").replace("dy, x)", "a, b)")
        if name == "conv":
            types = "bf16[2, 8, 4, 4]" if "stride" in code else "bf16[2, 8, 7, 7]" if "post_pad" in code else "bf16[2, 8, 8, 8]"
            text = GRAPH % (8, types, " channels_last", "y = " + code)
        elif name == "matmul":
            text = GRAPH % (8, "f32[4, 4]", "", "y = " + code.replace("b)", "k2)"))
            text = text.replace("    output", "    input  k2 : f32[8, 4]\n    output")
        else:
            code = re.sub(r"\bx\b", "a", code)
            shape = "f32[4, 1]" if name == "reduce" else "f16[4, 8]" if name == "cast" else "i32[4, 8]" if name == "gen_index" else "f32[4, 8]"
            text = GRAPH % (8, shape, "", "y = " + code)
            if name in ("eq", "gt"):
                text = text.replace(f"y = {code}", f"y = select({code}, a, b)")
        status, _, err = fgc("check", "-", text=text)
        check(status == 0, f"{code}: {err}")
    check(n >= 17, f"only {n} calls of operators")
    table = page[page.index("## Operators"):page.index("## From a graph")]
    names = {c for row in table.splitlines() if " | " in row for c in re.findall(r"`(\w+)`", row.split(" | ", 1)[1])} - {"w"}
    check(len(names) >= 8 and names <= known, f"no operators: {sorted(names - known)} of {len(names)}")


def options(page):
    """Of any command; options of another program are not in the page."""
    helps = "".join(fgc(*c, "--help")[1] for c in ([], ["check"], ["run"], ["show"]))
    for option in sorted(set(re.findall(r"--[a-z][a-z-]+", page)) - {"--plans"}):
        check(re.search(rf"{option}\b", helps), f"there is no option {option}")


def main():
    with open(os.path.join(TOP, "docs", "from-cudnn-frontend.md"), encoding="utf-8") as f:
        page = f.read()
    with tempfile.TemporaryDirectory() as folder:
        blocks(page, folder)
    calls(page)
    options(page)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
