#!/usr/bin/env python3
"""fgc(1) and fg(5) say what the program says.

fgc(1) has every command and option of src/driver/options.def with its argument, its doc and the commands that take
it, and no other; every complete example in fg(5) passes `fgc check` and is in canonical form; fg-ops(7), which the
build makes, has each operator with its documentation and example. The commands in fgc(1)'s EXAMPLES work, in order. groff and mandoc have nothing to
complain of, where they are installed. Environment: FGC, FGC_BUILD_DIR, srcdir."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
BUILD = os.path.abspath(os.environ.get("FGC_BUILD_DIR", os.path.dirname(FGC)))
failures = passes = 0


def check(ok, what):
    global failures, passes
    if ok:
        passes += 1
    else:
        failures += 1
        print("FAIL", what)


def pages():
    """Every page: those of the source, and those that the build makes (an archive has them in the source)."""
    found = {os.path.basename(p): p for top in (BUILD, TOP) for p in glob.glob(os.path.join(top, "man", "*.[1-9]"))}
    return found


def plain(name):
    """The page's text without macros and escapes."""
    with open(pages()[name], encoding="utf-8") as f:
        text = f.read()
    text = re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\").replace("\\&", "")
    return text.replace("\\(dq", '"').replace("\\(ga", "`").replace("\\(ha", "^").replace("\\(ti", "~")


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


def made_pages():
    page = plain("fg-ops.7")
    for line in subprocess.run([FGC, "ops"], capture_output=True, text=True, check=True).stdout.splitlines():
        name = re.match(r"\w+", line)[0]
        check(f".SS {name}\n.B {line}\n" in page, f"fg-ops(7): {line}")
        for said in subprocess.run([FGC, "ops", name], capture_output=True, text=True, check=True).stdout.splitlines()[1:]:
            text = re.sub(r"^\w[\w ]*: ", "", said.strip())
            check(text in page or said == "example:", f"fg-ops(7): {name}: {text}")


def commands(folder):
    """EXAMPLES of fgc(1). Where there is no cuDNN, what compiles is checked instead."""
    block = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH", plain("fgc.1"), re.S | re.M)[1]
    lines = [shlex.split(line) for line in block.splitlines() if line.startswith("fgc ")]
    check(len(lines) >= 4, f"{len(lines)} examples in fgc(1)")
    for name, spec in (("conv", "conv_bias_relu"), ("attention", "attention_causal")):
        shutil.copy(os.path.join(TOP, "examples", spec, spec + ".fg"), os.path.join(folder, name + ".fg"))
    cudnn = re.search(r"^cuDNN: \d", subprocess.run([FGC, "doctor"], capture_output=True, text=True).stdout, re.M)
    for words in lines:
        if not cudnn:
            if any(w.endswith(".plan") for w in words):
                continue
            if words[1].endswith(".fg"):
                words = ["fgc", "check", words[1]]
        got = subprocess.run([FGC, *words[1:]], capture_output=True, text=True, cwd=folder)
        check(got.returncode == 0, f"{shlex.join(words)}: exit status {got.returncode}: {got.stderr}")


def lint():
    check(len(pages()) >= 4, f"pages: {sorted(pages())}")
    for name, path in sorted(pages().items()):
        for tool in (["groff", "-man", "-ww", "-z", "-Tutf8"], ["mandoc", "-T", "lint", "-W", "warning"]):
            if shutil.which(tool[0]):
                got = subprocess.run([*tool, path], capture_output=True, text=True)
                check(got.returncode == 0 and not got.stdout + got.stderr, f"{tool[0]}: {got.stdout}{got.stderr}")
        with open(path, encoding="utf-8") as f:
            check(not re.search(r"^\.TH.*\d\.\d", f.read(), re.M), f"{name}: the version is configure.ac's to say")


def main():
    options()
    made_pages()
    lint()
    with tempfile.TemporaryDirectory() as folder:
        examples(folder)
        commands(folder)
    print(f"{passes} passed, {failures} failed, 0 skipped")
    return failures != 0


sys.exit(main())
