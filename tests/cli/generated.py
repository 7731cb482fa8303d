#!/usr/bin/env python3
"""The formatter on texts that are drawn by a seed: every form of the grammar, line ends and comments wherever they may stand.

Of each: it parses, format(format(x)) = format(x), both give the same tree, no comment is lost, changed or moved past
another, and `fmt -d` is a patch from the one to the other.
Usage: generated.py [--count N] [--seed N]; 300 by default, 10,000 by `make check-format-generated`. Environment: FGC."""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
WORDS = ("import const graph fn epilogue input output scalar compute require return fg causal channels_last order strides align "
         "f16 f32 e4m3 dim version true inf").split()
NAMES = ["x", "y", "w", "bias", "a_long_name_of_a_tensor", "_t", "N", "H2", "Q_1", "gelu", "conv", "a" * 63]
TEXTS = ["", " ", " plain", " ## twice", " \"quoted\" 'and' \\back", " \u00fcber \u2192 \U0001d6fc", "no blank", "\tafter a tab",
         " ends in blanks   ", " y = conv(x, w) |> relu  # disabled", " { ( [ ] ) }", " " + "long " * 30, "!fgc"]
BINARY = ["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
COMPARE = {"==", "!=", "<", "<=", ">", ">="}


class Writer:
    """Text with blanks, line ends and comments put between the tokens; `depth` counts open brackets."""

    def __init__(self, r):
        self.r, self.out, self.depth, self.n = r, [], 0, 0
        self.eol = r.choice(["\n", "\n", "\n", "\r\n"])
        self.talkative = r.choice([0.0, 0.1, 0.5])
        self.broken = r.choice([0.0, 0.1, 0.4])

    def comment(self):
        self.n += 1
        self.out.append(f"#{self.r.choice(TEXTS)}{self.r.choice(['', f' {self.n}'])}")

    def blank(self):
        self.out.append(self.r.choice(["", "", " ", "  ", "\t"]))

    def line_end(self, comments=True):
        """Ends this line, perhaps with a comment behind it and others on lines of their own."""
        self.blank()
        if comments and self.r.random() < self.talkative:
            self.comment()
        self.out.append(self.eol)
        while self.r.random() < 0.5 * self.talkative + 0.05:
            self.blank()
            if self.r.random() < self.talkative:
                self.comment()
            self.out.append(self.eol)
        self.blank()

    def may_break(self):
        """Where a statement goes on whatever stands on the next line."""
        if self.r.random() < self.broken:
            self.line_end()
        else:
            self.blank()

    def put(self, text):
        last = next((s[-1] for s in reversed(self.out) if s), "")
        if re.match(r"[\w.]", last) and re.match(r"[\w.]", text):
            self.out.append(" ")
        self.out.append(text)

    def token(self, text):
        self.put(text)
        if self.depth:
            self.may_break()
        else:
            self.blank()

    def open(self, text):
        self.put(text)
        self.depth += 1
        self.may_break()

    def close(self, text):
        self.depth -= 1
        self.put(text)
        if self.depth:
            self.may_break()
        else:
            self.blank()

    def goes_on(self, text):
        """A token after which a new line goes on."""
        self.put(text)
        self.may_break()


class Drawn(Writer):
    def name(self):
        return self.r.choice(NAMES if self.r.random() < 0.8 else WORDS)

    def many(self, one, least=0, most=4, trailing=True):
        n = self.r.randint(least, most)
        for i in range(n):
            one()
            if i + 1 < n or trailing and self.r.random() < 0.2:
                self.token(",")

    def path(self):
        self.put(self.name())
        for _ in range(self.r.choice([0, 0, 0, 1, 2])):
            self.blank()
            self.put(".")
            self.put(self.name())
        self.after()

    def after(self):
        if self.depth:
            self.may_break()
        else:
            self.blank()

    def number(self):
        r = self.r
        self.token(r.choice(["0", "1", "7", "128", "1_000_000", "0x1F", "9223372036854775807", "1.0", "0.5", "2.5e-3", "1e-5", "3e8"]))

    def list(self, level, least=0):
        self.open("[")
        self.many(lambda: self.expr(level + 1), least)
        self.close("]")

    def arg(self, level):
        if self.r.random() < 0.4:
            self.token(self.name())
            self.token("=")
        self.expr(level + 1)

    def call(self, level):
        self.open("(")
        self.many(lambda: self.arg(level))
        self.close(")")

    def primary(self, level):
        k = self.r.randint(0, 9 if level < 4 else 5)
        if k <= 3:
            self.path()
        elif k <= 5:
            self.number()
        elif k == 6:
            self.list(level)
        elif k == 7:
            self.open("(")
            self.expr(level + 1)
            self.close(")")
        else:
            self.path()
            self.call(level)

    def operand(self, level):
        for _ in range(self.r.choice([0, 0, 0, 0, 1, 2])):
            self.put("-")
            self.after()
        self.primary(level)

    def joined(self, level):
        """Binary operators, with no two comparisons side by side; `not` only where its operand is a comparison."""
        compared = False
        if self.r.random() < 0.1:
            self.goes_on("not ")
        self.operand(level)
        for _ in range(self.r.choice([0, 0, 0, 1, 1, 2, 4] if level < 4 else [0])):
            op = self.r.choice(BINARY + ["in"])
            if op in COMPARE or op == "in":
                if compared:
                    continue
                compared = True
            if op in ("and", "or"):
                compared = False
            before = self.r.random() < 0.3
            if before:
                self.may_break()
            self.goes_on(op)
            if op == "in":
                self.list(level)
                if not compared:
                    return
                # nothing but and, or goes on after a list
                if self.r.random() < 0.5:
                    return
                self.goes_on("and")
                compared = False
            self.operand(level)

    def expr(self, level=0):
        self.joined(level)
        for _ in range(self.r.choice([0, 0, 0, 0, 1, 3] if level < 4 else [0])):
            self.may_break()
            self.goes_on("|>")
            self.path()
            if self.r.random() < 0.6:
                self.call(level)

    def type(self):
        self.token(self.name())
        if self.r.random() < 0.8:
            self.open("[")
            if self.r.random() < 0.15:
                self.token("...")
            else:
                self.many(lambda: self.token("_") if self.r.random() < 0.15 else self.expr(2), 1)
            self.close("]")
        for _ in range(self.r.choice([0, 0, 1, 2])):
            self.token(self.r.choice(["channels_last", "row_major", "col_major", "order", "strides", "align"]))
            if self.r.random() < 0.5:
                self.call(2)

    def names(self, last):
        """Names with commas; `last` ends them. A line end before the last of them would begin a statement."""
        n = self.r.choice([1, 1, 1, 2, 3])
        for i in range(n):
            self.token(self.name())
            self.token("," if i + 1 < n else last)

    def statement(self):
        k = self.r.choice(["input", "output", "scalar", "const", "compute", "require", "bind", "bind", "bind", "typed", "return"])
        if k in ("input", "output"):
            self.token(k + " ")
            self.names(":")
            self.type()
        elif k == "scalar":
            self.token("scalar ")
            self.names(":")
            self.token(self.name())
            if self.r.random() < 0.5:
                self.goes_on("=")
                self.expr(2)
        elif k == "const":
            self.token("const ")
            self.token(self.name())
            self.goes_on("=")
            self.expr()
        elif k == "compute":
            self.token("compute ")
            self.token(self.r.choice(["f32", "tf32", "T"]))
        elif k == "require":
            self.token("require ")
            self.expr()
        elif k == "bind":
            n = self.r.choice([1, 1, 1, 2, 3])
            for i in range(n):
                self.token(self.name() if self.r.random() < 0.9 else "_")
                self.token(",") if i + 1 < n else self.goes_on("=")
            self.expr()
        elif k == "typed":
            self.token(self.name())
            self.token(":")
            self.type()
            self.goes_on("=")
            self.expr()
        else:
            self.token("return ")
            n = self.r.choice([1, 1, 2])
            for i in range(n):
                self.expr(1)
                if i + 1 < n:
                    self.token(",")
        self.line_end()

    def param(self, choices):
        self.token(self.name())
        k = self.r.random()
        if k < 0.3:
            self.token("=")
            self.expr(2)
        elif k < 0.5 and choices:
            self.token("in ")
            self.list(2)

    def item(self):
        k = self.r.choice(["import", "file", "const", "graph", "graph", "fn", "epilogue"])
        if k == "import":
            self.token("import ")
            self.path()
        elif k == "file":
            self.token("import ")
            self.token(self.r.choice(['"x.fg"', '"../a b/c.fg"', '"q\\"\\\\.fg"', '"# no comment.fg"']))
        elif k == "const":
            self.token("const ")
            self.token(self.name())
            self.goes_on("=")
            self.expr()
        else:
            self.token(k + " ")
            self.token(self.name())
            self.open("(")
            self.many(lambda: self.param(k == "graph"))
            self.close(")")
            self.may_break()
            self.put("{")
            if self.r.random() < 0.9:
                self.line_end()
            for _ in range(self.r.choice([0, 1, 3, 6])):
                self.statement()
            self.put("}")
        self.line_end()

    def file(self):
        while self.r.random() < 0.3:
            self.comment()
            self.out.append(self.eol)
        self.out.append("fg 1")
        self.line_end()
        for _ in range(self.r.randint(0, 5)):
            self.item()
        text = "".join(self.out)
        if self.r.random() < 0.2:
            text = text.rstrip() + self.r.choice(["", "  # the end", self.eol + "# the end"])
        return ("\ufeff" if self.r.random() < 0.05 else "") + text


def comments(text):
    """In their order, without the blanks at their ends."""
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: "s" * len(m.group()), line) if re.match(r"\s*import\b", line.lstrip("\ufeff")) else line
        if "#" in bare:
            found.append(line[bare.index("#"):].rstrip())
    return found


def run(*args):
    return subprocess.run([FGC, *args], capture_output=True, timeout=60)


def judge(path):
    """What is wrong with the formatter on this file, or None."""
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    tree = run("-d", "ast", path)
    if tree.returncode != 0:
        return "it does not parse: " + tree.stderr.decode(errors="replace")
    once = run("fmt", path)
    patch = run("fmt", "-d", path)
    if once.returncode != 0:
        return f"fmt: exit status {once.returncode}: {once.stderr.decode(errors='replace')}"
    copy = path + ".once.fg"
    with open(copy, "wb") as f:
        f.write(once.stdout)
    if run("fmt", copy).stdout != once.stdout:
        return "formatting again changes it\n" + run("fmt", "-d", copy).stdout.decode(errors="replace")
    if run("fmt", "-d", "--check", copy).stdout:
        return "a difference to the canonical form itself"
    if run("-d", "ast", copy).stdout != tree.stdout:
        return "another tree"
    before, after = comments(text), comments(once.stdout.decode())
    if before != after:
        return f"comments: {[c for c in before if c not in after] or 'in another order'}\n{before}\n{after}"
    if shutil.which("patch"):
        patched = path + ".patched"
        shutil.copy(path, patched)
        p = subprocess.run(["patch", "--binary", "-s", "-f", patched], input=patch.stdout, capture_output=True)
        with open(patched, "rb") as f:
            if p.returncode != 0 or f.read() != once.stdout:
                return "fmt -d is no patch: " + p.stdout.decode(errors="replace") + patch.stdout.decode(errors="replace")
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--count", type=int, default=300)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    failed = n_comments = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for i in range(a.count):
            text = Drawn(random.Random(f"{a.seed}/{i}")).file()
            path = os.path.join(folder, "x.fg")
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(text)
            why = judge(path)
            n_comments += len(comments(text))
            if why:
                failed += 1
                if failed <= 3:
                    print(f"FAIL seed {a.seed}, file {i}: {why}\n---- text\n{text}\n----")
    if n_comments < a.count:
        failed += 1
        print(f"FAIL only {n_comments} comments were drawn")
    print(f"{a.count - failed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
