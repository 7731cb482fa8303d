#!/usr/bin/env python3
"""Every id that tests/errors prints in brackets has a page: `fgc explain ID` as the id is printed.

An id of src/base/diag.def has a page as well, by either spelling; an unknown one is refused with the
nearest. Environment: FGC, srcdir."""
import os
import re
import subprocess
import sys

FGC = os.environ.get("FGC", "./fgc")
TOP = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def explain(word):
    return subprocess.run([FGC, "explain", word], capture_output=True, text=True)


def main():
    with open(os.path.join(TOP, "src", "base", "diag.def"), encoding="utf-8") as f:
        ids = re.findall(r"^DIAG\((\w+),", f.read(), re.M)
    printed = set()
    errors = os.path.join(TOP, "tests", "errors")
    for name in os.listdir(errors):
        if name.endswith(".err"):
            with open(os.path.join(errors, name), encoding="utf-8", errors="replace") as f:
                printed |= set(re.findall(r"^\S.*: (?:error|warning|note): .* \[([a-z0-9-]+)\]$", f.read(), re.M))
    passed = failed = 0
    for word in sorted(printed | set(ids) | {i.replace("_", "-") for i in ids}):
        got = explain(word)
        title, _, page = got.stdout.partition("\n\n")
        if got.returncode == 0 and title.startswith(word.replace("_", "-") + ": ") and len(page.strip()) > 20:
            passed += 1
        else:
            failed += 1
            print(f"FAIL {word}: exit status {got.returncode}\n{got.stdout}{got.stderr}")
    got = explain("broken-promis")
    if got.returncode == 2 and "did you mean 'broken-promise'" in got.stderr:
        passed += 1
    else:
        failed += 1
        print(f"FAIL a slip: exit status {got.returncode}\n{got.stderr}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0 or len(printed) < 20


sys.exit(main())
