#!/usr/bin/env python3
"""Every row of the operator table has its example, tests/ops/ID.fg, and every example its row: it is checked, evaluated
by the reference and compiled for an H200. The pointwise modes and reductions of cuDNN's header are those of the table.

Environment: FGC, srcdir; CUDNN_GRAPH_H names the header when it is not where configure looks. The last line is
`N passed, N failed, N skipped`."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

FGC, TOP = os.environ["FGC"], os.environ.get("srcdir", ".")
HEADERS = [os.environ.get("CUDNN_GRAPH_H", "")] + glob.glob("/usr/local/cuda*/include/cudnn_graph.h") + [os.path.join(TOP, "deps/include/cudnn_graph.h")]
# What stands for a mode of cuDNN under another spelling of the language, or is no operator of the language.
REDUCTIONS = {"ADD": "add", "MUL": "mul", "MIN": "min", "MAX": "max", "AMAX": "max_abs", "AVG": "mean", "NORM1": "norm1", "NORM2": "norm2",
              "MUL_NO_ZEROS": "mul_no_zeros"}
count = {"passed": 0, "failed": 0, "skipped": 0}


def tell(verdict, text=""):
    count[verdict] += 1
    if text:
        print(f"{verdict}: {text}")


def fgc(*args):
    return subprocess.run([FGC, *args], capture_output=True, text=True)


def example(path):
    """None, or what is wrong; "skip" without cuDNN."""
    for args in (["check", "--Werror", path], ["run", "--reference", path, "--seed", "7"]):
        r = fgc(*args)
        if r.returncode:
            return f"{' '.join(args)}: exit status {r.returncode}\n{r.stdout}{r.stderr}"
    with tempfile.TemporaryDirectory() as folder:
        r = fgc(path, "-q", "-o", os.path.join(folder, "x.plan"))
    if r.returncode == 3 and "[library]" in r.stderr:
        return "skip"
    return f"not compiled: {r.stdout}{r.stderr}" if r.returncode else None


def main():
    rows = [l.split("(")[0] for l in fgc("ops").stdout.splitlines()]
    files = {os.path.basename(f)[:-3]: f for f in glob.glob(os.path.join(TOP, "tests", "ops", "*.fg"))}
    for name in sorted(set(rows) ^ set(files)):
        tell("failed", f"'{name}' has {'an example and no row' if name in files else 'a row and no example'}")
    for name in sorted(set(rows) & set(files)):
        with open(files[name]) as f:
            lines = [l.strip() for l in f if l.strip() and not l.startswith("fg 1")]
        shown = [l.strip() for l in fgc("ops", name).stdout.splitlines()]
        missing = [l for l in lines if l not in shown]
        tell("failed", f"fgc ops {name} does not show: {missing}") if missing else tell("passed")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, why in zip(sorted(files), pool.map(example, (files[n] for n in sorted(files)))):
            tell("skipped" if why == "skip" else "failed" if why else "passed", f"{name}: {'no cuDNN here' if why == 'skip' else why}" if why else "")

    with open(os.path.join(TOP, "src", "op", "ops.def")) as f:
        table = f.read()
    modes = set(re.findall(r"LOWER\((?:pointwise|backward), (\w+)\)", table))
    header = next((h for h in HEADERS if h and os.path.exists(h)), None)
    if not header:
        tell("skipped", "no cudnn_graph.h here")
    else:
        with open(header, errors="replace") as f:
            text = f.read()
        theirs = set(re.findall(r"^\s*CUDNN_POINTWISE_(\w+)\s*=", text, re.M))
        tell("passed" if theirs and theirs <= modes else "failed", "" if theirs <= modes else f"modes of {header} that no row has: {sorted(theirs - modes)}")
        tell("passed" if modes <= theirs else "failed", "" if modes <= theirs else f"modes of the table that {header} has not: {sorted(modes - theirs)}")
        reductions = set(re.findall(r"^\s*CUDNN_REDUCE_TENSOR_(\w+)\s*=", text, re.M))
        words = set(re.search(r'"mode", ATTR_CHOICE.*?\.choices = "([^"]*)"', table).group(1).split())
        ok = reductions == set(REDUCTIONS) and words == set(REDUCTIONS.values())
        tell("passed" if ok else "failed", "" if ok else f"reductions: {sorted(reductions)} in the header, {sorted(words)} in the table")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] else 0


sys.exit(main())
