#!/usr/bin/env python3
"""fgc(1) and fg(5) say what the program says.

fgc(1) has every command and option of src/driver/options.def with its argument, its doc and the commands that take
it, and no other; fg(5) names every operator of `fgc ops` with its operands and attributes, and every
complete example in it passes `fgc check` and is in canonical form. Environment: FGC, srcdir."""
import os
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
failures = passes = 0


def check(ok, what):
    global failures, passes
    if ok:
        passes += 1
    else:
        failures += 1
        print("FAIL", what)


def plain(name):
    """The page's text without macros and escapes."""
    with open(os.path.join(TOP, "man", name), encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\").replace("\\&", "")
    return text.replace("\\(dq", '"')


def options():
    page = plain("fgc.1")
    with open(os.path.join(TOP, "src", "driver", "options.def"), encoding="utf-8") as f:
        table = f.read()
    for name, operand, doc in re.findall(r'^COMMAND\((\w+), "([^"]*)", "([^"]*)"\)', table, re.M):
        check(f".TP\n{name} {operand}\n{doc[0].upper()}{doc[1:]}.\n" in page, f"command {name}")
    rows = re.findall(r"""^OPTION\(\w+, "([^"]+)", (0|'.'), (NULL|"[^"]*"), \w+, ([^"]+), "([^"]*)"\)""", table, re.M)
    check(len(rows) == len(re.findall(r"^OPTION\(", table, re.M)), "a row of options.def that this test cannot read")
    for long, letter, argument, commands, doc in rows:
        head = (f"-{letter[1]}, " if letter != "0" else "") + f"--{long}"
        head += "" if argument == "NULL" else "=" + argument.strip('"')
        who = ", ".join(re.findall(r"CMD\((\w+)\)", commands)) or "any command"
        check(f".TP\n{head}\n{doc[0].upper()}{doc[1:]}. ({who})\n" in page, f"option {head}")
    listed = page[page.index(".SH OPTIONS"):page.index(".SH STAGES")].count(".TP\n")
    check(listed == len(rows), f"{listed} options in the page, {len(rows)} in the table")


def operators():
    page = plain("fg.5")
    for line in subprocess.run([FGC, "ops"], capture_output=True, text=True, check=True).stdout.splitlines():
        check(f"\n{line}\n" in page, f"operator: {line}")


def examples(folder):
    page = plain("fg.5")
    found = [t for t in re.findall(r"^\.nf\n(.*?)^\.fi$", page, re.S | re.M) if t.startswith("fg 1\n")]
    check(len(found) >= 3, f"{len(found)} complete examples in fg(5)")
    for i, text in enumerate(found):
        path = os.path.join(folder, f"{i}.fg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        got = subprocess.run([FGC, "check", path], capture_output=True, text=True)
        check(got.returncode == 0 and "warning" not in got.stderr, f"example {i}: {got.stderr}")
        got = subprocess.run([FGC, "fmt", path], capture_output=True, text=True)
        check(got.stdout == text, f"example {i} is not in canonical form; it is:\n{got.stdout}")


def main():
    options()
    operators()
    with tempfile.TemporaryDirectory() as folder:
        examples(folder)
    print(f"{passes} passed, {failures} failed, 0 skipped")
    return failures != 0


sys.exit(main())
