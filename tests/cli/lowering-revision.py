#!/usr/bin/env python3
"""TUNE_LOWERING is raised when an old graph lowers to another descriptor tree.

Entries of the tuning database are found by the region, not by its tree: were the lowering changed without a word, a
plan of the old tree would be picked for the new one. tests/lower/revision has the revision and the SHA-256 of each
golden at that time; a golden that changed since, with the same revision, is a failure. Goldens that are new
or gone are no change of old graphs. `tests/cli/lowering-revision.py --write` writes the file. Environment: srcdir."""
import glob
import hashlib
import os
import re
import sys

TOP = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LIST = os.path.join(TOP, "tests", "lower", "revision")


def main():
    with open(os.path.join(TOP, "src", "tune", "tune.h"), encoding="utf-8") as f:
        revision = int(re.search(r"^#define TUNE_LOWERING (\d+)$", f.read(), re.M)[1])
    now = {}
    for path in glob.glob(os.path.join(TOP, "tests", "lower", "*.desc")):
        with open(path, "rb") as f:
            now[os.path.basename(path)] = hashlib.sha256(f.read()).hexdigest()
    if sys.argv[1:] == ["--write"]:
        with open(LIST, "w", encoding="utf-8") as f:
            f.write(f"revision {revision}\n" + "".join(f"{now[n]} {n}\n" for n in sorted(now)))
        return 0
    with open(LIST, encoding="utf-8") as f:
        first, *rest = f.read().splitlines()
    then = {name: digest for digest, name in (line.split() for line in rest)}
    changed = sorted(n for n in then if n in now and now[n] != then[n])
    failed = 0
    if int(first.split()[1]) != revision:
        failed += 1
        print(f"FAIL TUNE_LOWERING is {revision}, tests/lower/revision is of {first}: run this test with --write")
    elif changed:
        failed += 1
        print(f"FAIL {', '.join(changed)}: other trees than those of revision {revision}.\n"
              "If old graphs lower to other trees, raise TUNE_LOWERING in src/tune/tune.h; if only their text changed, do "
              "not.\nThen run this test with --write.")
    if not set(then) & set(now):
        failed += 1
        print("FAIL nothing was compared")
    print(f"{len(set(then) & set(now)) - len(changed)} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
