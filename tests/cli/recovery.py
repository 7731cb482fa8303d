#!/usr/bin/env python3
"""One run tells every independent mistake: files with 3, 10 and 40 planted ones report 3, 10 and 20, each at its place.

A mistake is marked <<...>> in the text below, with its id; the marks are taken out and the span that is reported must be
what stood between them. Every mixture is drawn by a seed, several of each size, and each mistake is also tried alone.
Environment: FGC."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
MATRICES = "input a : f16[2, 32, 16]\n    input b : f16[2, 16, 24]\n    output y : f16[2, 32, 24]\n\n    "
MAPS = "input x : f16[2, 8, 12, 12] channels_last\n    input w : f16[8, 8, 3, 3] channels_last\n    output y : f16[...] channels_last\n\n    "
ROWS = "input x : f32[4, 16]\n    output y : f32[4, 16]\n\n    "
# (id, a graph's or function's text; NAME is replaced by a name of its own)
MISTAKES = [
    ("syntax", f"graph NAME() {{\n    {ROWS}y = relu(x +<<)>>\n}}"),
    ("syntax", f"graph NAME() {{\n    inptu <<x>> : f32[4, 16]\n    {ROWS.replace('input x', 'input z')}y = relu(z)\n}}"),
    ("syntax", "<<grpah>> NAME() {\n    " + ROWS + "y = relu(x)\n}"),
    ("syntax", f"graph NAME() {{\n    {ROWS}y = relu(<<|>>>) + x\n}}"),
    ("syntax", "const NAME = <<]>>"),
    ("syntax", "fn NAME(x) {\n    return x <<x>>\n}"),
    ("unknown-operator", f"graph NAME() {{\n    {ROWS}y = <<rleu>>(x)\n}}"),
    ("unknown-operator", f"graph NAME() {{\n    {ROWS}y = x |> <<nothing>>\n}}"),
    ("unknown-name", f"graph NAME() {{\n    {ROWS}y = x + <<bias>>\n}}"),
    ("unknown-name", "const NAME = <<nowhere>> + 1"),
    ("unknown-name", "fn NAME(x) {\n    return x * <<factor>>\n}"),
    ("unknown-name", f"graph NAME() {{\n    input x : <<float>>[4]\n    {ROWS.replace('input x', 'input z')}y = relu(z)\n}}"),
    ("unknown-attribute", f"graph NAME() {{\n    {ROWS}y = relu(x, <<lowr>>=1)\n}}"),
    ("conv-shape", f"graph NAME() {{\n    {MAPS}y = conv(x, w, pad=<<[1, -1]>>)\n}}"),
    ("matmul-shape", f"graph NAME() {{\n    {MATRICES}y = matmul(a, <<a>>)\n}}"),
    ("shape-mismatch", f"graph NAME() {{\n    {ROWS}y = <<reduce(x, mode=add, axes=[1])>>\n}}"),
    ("layout", f"graph NAME() {{\n    {ROWS.replace('f32[4, 16]', 'f32[4, 16] <<nhwc>>', 1)}y = relu(x)\n}}"),
    ("bad-number", "const NAME = <<0123>>"),
    ("duplicate-name", "const NAME = 1\nconst <<NAME>> = 2"),
]
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)
    return ok


def file_of(mistakes):
    """(text, the planted [(id, begin, end)])."""
    text, planted = "fg 1\n", []
    for i, (ident, part) in enumerate(mistakes):
        part = part.replace("NAME", f"part{i}")
        m = re.search(r"<<(.*?)>>(?!>)", part, re.S)
        begin = len(text) + 1 + m.start()
        planted.append((ident, begin, begin + len(m.group(1))))
        text += "\n" + part[:m.start()] + m.group(1) + part[m.end():] + "\n"
    return text, planted


def told(text, folder):
    path = os.path.join(folder, "x.fg")
    with open(path, "w") as f:
        f.write(text)
    r = subprocess.run([FGC, "check", "--diagnostics=json", path], capture_output=True, text=True, timeout=60)
    found = [json.loads(line) for line in r.stderr.splitlines()]
    more = [d for d in found if d["id"] == "too-many-errors"]
    errors = [d for d in found if d["severity"] == "error" and d not in more]
    spans = [(d["id"], d["span"]["begin"]["byte"], d["span"]["end"]["byte"]) for d in errors]
    return r.returncode, spans, len(more)


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for mistake in MISTAKES:
            text, planted = file_of([mistake])
            status, spans, more = told(text, folder)
            check((status, spans, more) == (1, planted, 0), f"alone: {spans}, planted {planted}\n{text}")
        for n in (3, 10, 40):
            for seed in range(12):
                r = random.Random(f"{n}/{seed}")
                drawn = r.sample(MISTAKES, n) if n <= len(MISTAKES) else [r.choice(MISTAKES) for _ in range(n)]
                text, planted = file_of(drawn)
                status, spans, more = told(text, folder)
                if n <= 20:
                    check(spans == planted, f"{n} planted, {len(spans)} told, seed {seed}: not told {set(planted) - set(spans)}, beside {set(spans) - set(planted)}\n{text}")
                else:
                    ok = len(spans) == len(set(spans)) == 20 and set(spans) <= set(planted) and spans == sorted(spans, key=lambda s: s[1])
                    check(ok, f"{n} planted, {len(spans)} told, seed {seed}: beside {set(spans) - set(planted)}\n{text}")
                check(status == 1 and more == (n > 20), f"{n} planted: exit status {status}, {more} lines that there are more")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
