#!/usr/bin/env python3
"""Runs every test: the folder is the mode, the stem is the case, the suffix is the expectation.

    tests/run.py [--fgc FILE] [--build DIR] [-j N] [--update] [-v] [MODE | CASE FILE]...

parse    x.fg + x.ast          `fgc -d ast x.fg`; printing the formatted text gives the same
errors   x.fg + x.err          exact stderr of `fgc check x.fg`, run inside the folder
ir       x.fg + x.ir           `fgc -d ir x.fg`
pass     PASS-what.fg + .ir    `fgc -d PASS`
lower    x.fg + x.desc         `fgc -d desc x.fg`
interp   x.fg + x.in/ + x.out/ inputs and outputs NAME.npy: `fgc run --reference -i ... --check ...`
fmt      every .fg that parses format(format(x)) == format(x), and both give the same `-d ast`
compile  x.fg, every example   real cuDNN, no device: two builds for nvidia-h200 give the same bytes (of several
                               graphs in a file, one is built twice);
                               with x.err: refused with exit 3 and exactly this on stderr
cli, launch, plan, unit, device, interp: programs (*.py, *.sh; unit: the built cmocka programs): exit
    status 0 passes, 77 skips (the last line says why), all else fails; a last line `N passed, N failed,
    N skipped` is added up instead. They get FGC, srcdir, FGC_BUILD_DIR, a TMPDIR of their own, and FGC_TEST_PLANS,
    a folder where plans of the examples lie that some test built already (tests/plans.py). One that looks at
    `rusage` or a clock runs when nothing else does.

A golden file without its case, a case without its golden file and fewer results than case files are
failures. FGC_REQUIRE=cudnn,nvrtc (any value) makes a skip outside tests/device a failure.
The last line is `N passed, N failed, N skipped`; the exit status is 1 when anything failed."""
import argparse
import concurrent.futures
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

import plans

TESTS = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(TESTS)
GOLDEN = {"parse": ".ast", "errors": ".err", "ir": ".ir", "pass": ".ir", "lower": ".desc"}
PROGRAMS = ("interp", "cli", "launch", "plan", "unit", "device")
# The slow ones first, so that they do not run on alone at the end.
MODES = ("launch", "plan", "compile", "cli", "parse", "errors", "ir", "pass", "lower", "fmt", "interp", "unit", "device")
TOTALS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
MEASURES = re.compile(r"rusage|perf_counter|monotonic")
REPEAT = re.compile(r"^repeat: .*\n", re.M)
CMOCKA = re.compile(r"^\[==========\].*?(\d+) test\(s\) run\.$", re.M)


class Result:
    """What one case gave: counts, and what to show of it."""

    def __init__(self, passed=0, failed=0, skipped=0, text=""):
        self.passed, self.failed, self.skipped, self.text = passed, failed, skipped, text


def good():
    return Result(passed=1)


def bad(text):
    return Result(failed=1, text=text)


def skip(text):
    return Result(skipped=1, text=text)


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as f:
        f.write(text)


def diff(want, got, name):
    lines = difflib.unified_diff(want.splitlines(True), got.splitlines(True), name, "got")
    return "".join(line if line.endswith("\n") else line + "\n\\ no newline at the end\n" for line in lines)


class Runner:
    def __init__(self, args):
        self.args = args
        self.fgc = args.fgc
        self.folder = tempfile.mkdtemp(prefix="fgc-tests-")
        os.chmod(self.folder, 0o755)     # some tests build as another user
        self.no_cudnn = None
        self.env = {k: v for k, v in os.environ.items() if k != "FGC_COLOR"}
        os.environ["FGC_TEST_PLANS"] = self.scratch("plans")
        self.env.update(FGC=self.fgc, srcdir=TOP, FGC_BUILD_DIR=args.build, LC_ALL="C.UTF-8",
                        PYTHONDONTWRITEBYTECODE="1", FGC_TEST_PLANS=os.environ["FGC_TEST_PLANS"])

    def run(self, command, cwd=TESTS, timeout=300, env=None):
        """(status, stdout, stderr); a signal is a negative status, a time limit reached is 124."""
        try:
            got = subprocess.run(command, cwd=cwd, env=env or self.env, capture_output=True, timeout=timeout,
                                 stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as e:
            return 124, "", f"stopped after {timeout} s\n" + (e.stdout or b"").decode(errors="replace")
        return (got.returncode, got.stdout.decode(errors="surrogateescape"),
                got.stderr.decode(errors="surrogateescape"))

    def scratch(self, name):
        path = os.path.join(self.folder, name.replace("/", "_"))
        os.makedirs(path, exist_ok=True)
        return path

    # ---- goldens ---------------------------------------------------------------------------------
    def golden(self, mode, stem):
        folder = os.path.join(TESTS, mode)
        fg, want_path = stem + ".fg", os.path.join(folder, stem + GOLDEN[mode])
        if not os.path.exists(os.path.join(folder, fg)):
            return bad(f"'{stem + GOLDEN[mode]}' has no '{fg}'\n")
        if mode == "errors":
            command = [self.fgc, "check", fg]
        else:
            stage = {"parse": "ast", "ir": "ir", "lower": "desc", "pass": stem.split("-")[0]}[mode]
            command = [self.fgc, "-d", stage, fg]
        status, out, err = self.run(command, folder)
        got = err if mode == "errors" else out
        if status not in ((0, 1, 3) if mode == "errors" else (0,)) or (mode == "errors" and not err):
            return bad(f"exit status {status}\n{err}")
        if mode == "errors" and (status == 0) == ("error:" in err):
            return bad(f"exit status {status} with\n{err}")
        if self.args.update:
            if not os.path.exists(want_path) or read(want_path) != got:
                write(want_path, got)
                return Result(passed=1, text=f"wrote {os.path.relpath(want_path, TOP)}\n")
            return good()
        if not os.path.exists(want_path):
            return bad(f"no '{stem + GOLDEN[mode]}'; --update writes it\n")
        want = read(want_path)
        if got != want:
            return bad(diff(want, got, stem + GOLDEN[mode]) + ("" if mode == "errors" else err))
        return self.reprint(mode, stem, got) if mode == "parse" else good()

    def reprint(self, mode, stem, ast):
        """The formatted text has the same tree as the text."""
        path = os.path.join(self.scratch(f"{mode}-{stem}"), stem + ".fg")
        status, text, err = self.run([self.fgc, "fmt", stem + ".fg"], os.path.join(TESTS, mode))
        if status != 0:
            return bad(f"fmt: exit status {status}\n{err}")
        write(path, text)
        status, again, err = self.run([self.fgc, "-d", "ast", path])
        return good() if (status, again) == (0, ast) else bad(diff(ast, again, stem + ".ast") + err)

    # ---- the formatter ---------------------------------------------------------------------------
    def fmt(self, name):
        """Files that do not parse are left to tests/errors; they count as neither."""
        path = os.path.join(TOP, name)
        status, ast, _ = self.run([self.fgc, "-d", "ast", path])
        if status != 0:
            return None if status in (1, 3) else bad(f"-d ast: exit status {status}\n")
        status, once, err = self.run([self.fgc, "fmt", path])
        if status != 0:
            return bad(f"it parses, fmt refuses it: exit status {status}\n{err}")
        copy = os.path.join(self.scratch("fmt-" + name), os.path.basename(name))
        write(copy, once)
        status, twice, err = self.run([self.fgc, "fmt", copy])
        if (status, twice) != (0, once):
            return bad(f"exit status {status}\n" + diff(once, twice, "formatted once") + err)
        status, again, err = self.run([self.fgc, "-d", "ast", copy])
        return good() if (status, again) == (0, ast) else bad(diff(ast, again, "tree before") + err)

    # ---- the interpreter -------------------------------------------------------------------------
    def interp(self, stem):
        folder = os.path.join(TESTS, "interp")
        names = {}
        for side in ("in", "out"):
            at = os.path.join(folder, f"{stem}.{side}")
            names[side] = sorted(os.listdir(at)) if os.path.isdir(at) else []
        if not names["out"]:
            return bad(f"no '{stem}.out/NAME.npy'\n")
        command = [self.fgc, "run", "--reference", stem + ".fg"]
        for f in names["in"]:
            command += ["-i", f"{f[:-4]}={stem}.in/{f}"]
        for f in names["out"]:
            command += ["--check", f"{f[:-4]}={stem}.out/{f}"]
        status, out, err = self.run(command, folder)
        return good() if status == 0 else bad(f"exit status {status}\n{out}{err}")

    # ---- real cuDNN, no device -------------------------------------------------------------------
    def probe_cudnn(self):
        """Why nothing can be built here, or the empty string."""
        if self.no_cudnn is None:
            at = self.scratch("probe")
            example = os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg")
            status, _, err = self.run([self.fgc, example, "-q", "-o", os.path.join(at, "x.plan")])
            missing = status == 3 and re.search(r"not found|cannot be opened|no such file", err, re.I)
            self.no_cudnn = err.strip().splitlines()[0] if missing else ""
        return self.no_cudnn

    def build(self, path, at, shared=False, more=()):
        """A plan and its launcher in the folder `at`; a shared plan may be one that another test built."""
        os.makedirs(at, exist_ok=True)
        plan, launcher = os.path.join(at, "x.plan"), ["--launcher", os.path.join(at, "x.c"), "--launcher-main"]
        if shared:
            got = plans.get(self.fgc, path, plan)
            if got.returncode != 0:
                return got.returncode, got.stdout, got.stderr
            return self.run([self.fgc, plan, "-q", *launcher])
        return self.run([self.fgc, os.path.basename(path), "-q", "-o", plan, *launcher, *more], os.path.dirname(path))

    def graph_of(self, name, plan):
        """Where a file has several graphs, the one of them that is built twice; which, follows from the file's name."""
        with zipfile.ZipFile(plan) as z:
            graphs = [g["name"] for g in json.loads(z.read("manifest.json"))["graphs"]]
        return graphs[zlib.crc32(name.encode()) % len(graphs)] if len(graphs) > 1 else None

    def entries(self, plan, graph):
        """What cuDNN built of one graph, and the graph."""
        with zipfile.ZipFile(plan) as z:
            return {n: z.read(n) for n in z.namelist() if n.startswith((f"graphs/{graph}/", f"plans/{graph}/"))}

    def compile(self, name):
        why = self.probe_cudnn()
        if why:
            return skip(why)
        path, at = os.path.join(TOP, name), self.scratch("compile-" + name)
        refusal = path[:-3] + ".err"
        status, _, err = self.build(path, os.path.join(at, "1"), shared=True)
        err = REPEAT.sub("", err)       # names folders of this run; tests/cli/repeat.py looks at it
        if os.path.exists(refusal):
            if self.args.update and status == 3:
                write(refusal, err)
            if status != 3 or err != read(refusal):
                return bad(f"exit status {status}\n" + diff(read(refusal), err, os.path.basename(refusal)))
            left = os.listdir(os.path.join(at, "1"))
            return bad(f"a refused build leaves {left}\n") if left else good()
        if status != 0:
            return bad(f"exit status {status}\n{err}")
        one = self.graph_of(name, os.path.join(at, "1", "x.plan"))
        status, _, err = self.build(path, os.path.join(at, "2"), more=["-g", one] if one else [])
        if status != 0:
            return bad(f"second build: exit status {status}\n{err}")
        made = sorted(os.listdir(os.path.join(at, "1")))
        if made != ["x.c", "x.h", "x.plan"] or made != sorted(os.listdir(os.path.join(at, "2"))):
            return bad(f"made {made}\n")
        if one:
            entries = [self.entries(os.path.join(at, i, "x.plan"), one) for i in "12"]
            if not entries[0] or entries[0] != entries[1]:
                return bad(f"two builds of graph '{one}' differ\n")
        for f in [] if one else made:
            with open(os.path.join(at, "1", f), "rb") as a, open(os.path.join(at, "2", f), "rb") as b:
                if a.read() != b.read():
                    return bad(f"two builds differ in {f}\n")
        shutil.rmtree(at)
        return good()

    # ---- programs --------------------------------------------------------------------------------
    def program(self, mode, path):
        env = dict(self.env, TMPDIR=self.scratch(f"{mode}-{os.path.basename(path)}"))
        command = [path] if os.access(path, os.X_OK) else [sys.executable if path.endswith(".py") else "sh", path]
        status, out, err = self.run(command, self.args.build, 1200 if mode == "device" else 600, env)
        totals, cmocka = TOTALS.findall(out), CMOCKA.findall(out + err)
        last = (out.strip().splitlines() or err.strip().splitlines() or [""])[-1]
        if status == 77:
            return skip(last)
        if totals:
            p, f, s = map(int, totals[-1])
            if status != 0 and f == 0:
                f = 1
            if p + f + s == 0:
                return bad("no result\n" + out + err)
            return Result(p, f, s, out + err if f else "skipped: " + last if s else "")
        if status != 0:
            return bad(f"exit status {status}\n{out}{err}")
        return Result(passed=int(cmocka[-1]) if cmocka else 1)

    # ---- all of them -----------------------------------------------------------------------------
    def listing(self, folder, *suffixes):
        at = os.path.join(TESTS, folder)
        return sorted(f for f in os.listdir(at) if f.endswith(suffixes)) if os.path.isdir(at) else []

    def specs(self):
        for top in ("tests", "examples", "stdlib"):
            for at, folders, files in os.walk(os.path.join(TOP, top)):
                folders.sort()
                yield from (os.path.relpath(os.path.join(at, f), TOP) for f in sorted(files) if f.endswith(".fg"))

    def cases(self, mode):
        """(file named relative to the top folder, function that gives a Result)."""
        if mode in GOLDEN:
            for stem in sorted({os.path.splitext(f)[0] for f in self.listing(mode, ".fg", GOLDEN[mode])}):
                yield f"tests/{mode}/{stem}.fg", lambda s=stem: self.golden(mode, s)
        if mode == "fmt":
            for name in self.specs():
                yield name, lambda n=name: self.fmt(n)
        if mode == "interp":
            for f in self.listing(mode, ".fg"):
                yield f"tests/interp/{f}", lambda s=f[:-3]: self.interp(s)
        if mode == "compile":
            for name in self.specs():
                if name.startswith(("examples/", "tests/compile/")):
                    yield name, lambda n=name: self.compile(n)
        if mode in PROGRAMS:
            for f in self.listing(mode, ".py", ".sh"):
                yield f"tests/{mode}/{f}", lambda p=os.path.join(TESTS, mode, f): self.program(mode, p)
        if mode == "unit":
            for f in self.listing(mode, ".c"):
                built = os.path.join(self.args.build, "tests", "unit", f[:-2])
                if os.path.exists(built):
                    yield f"tests/unit/{f}", lambda p=built: self.program("unit", p)
                else:
                    yield f"tests/unit/{f}", lambda p=built: skip("not built: cmocka is missing, or the program is not in Makefile.am")


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.getcwd(), help="the build folder (default: this one)")
    p.add_argument("--fgc", default=None, help="the program (default: $FGC, then fgc in the build folder)")
    p.add_argument("-j", type=int, default=2, dest="jobs")
    p.add_argument("--update", action="store_true", help="rewrite the golden files")
    p.add_argument("-v", "--verbose", action="store_true", help="a line a case")
    p.add_argument("--skip-mode", action="append", default=[], choices=MODES)
    p.add_argument("what", nargs="*", help="modes, or case files as shown in the output")
    args = p.parse_args()
    args.build = os.path.abspath(args.build)
    args.fgc = os.path.abspath(args.fgc or os.environ.get("FGC") or os.path.join(args.build, "fgc"))
    return args


def report(args, mode, name, r, seconds):
    word = "FAIL" if r.failed else "skip" if r.skipped and not r.passed else "pass"
    if args.verbose or r.failed or r.skipped or r.text:
        print(f"{word} {mode}: {name}" + (f" ({seconds:.1f} s)" if args.verbose else ""))
        if r.text:
            print("    " + "\n    ".join(r.text.rstrip("\n").splitlines()[:200]))
    sys.stdout.flush()


def main():
    args = parse_arguments()
    runner = Runner(args)
    if not os.access(args.fgc, os.X_OK):
        sys.exit(f"tests/run.py: there is no program '{args.fgc}'")
    require = bool(os.environ.get("FGC_REQUIRE"))
    modes = [m for m in MODES if m not in args.skip_mode and (m in args.what or not set(args.what) & set(MODES))]
    files = {os.path.relpath(os.path.abspath(w), TOP) if os.path.exists(w) else w for w in args.what if w not in MODES}
    jobs = [(m, n, f) for m in modes for n, f in runner.cases(m) if not files or n in files]
    total, results = Result(), 0

    def timed(job):
        start = time.monotonic()
        try:
            return job[2](), time.monotonic() - start
        except OSError as e:
            return bad(f"{e}\n"), time.monotonic() - start

    def alone(job):
        path = os.path.join(TOP, job[1])
        return job[0] == "device" or job[0] == "cli" and MEASURES.search(read(path)) is not None

    for group, workers in (([j for j in jobs if not alone(j)], args.jobs), ([j for j in jobs if alone(j)], 1)):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for job, (r, seconds) in zip(group, pool.map(timed, group)):
                mode, name, _ = job
                results += 1
                if r is None:
                    continue
                if r.skipped and require and mode != "device":
                    r = Result(r.passed, r.failed + r.skipped, 0, f"skipped, and FGC_REQUIRE is set: {r.text}")
                total.passed, total.failed, total.skipped = (total.passed + r.passed, total.failed + r.failed,
                                                             total.skipped + r.skipped)
                report(args, mode, name, r, seconds)
    shutil.rmtree(runner.folder, ignore_errors=True)
    counted = total.passed + total.failed + total.skipped
    n_files = len({n for m, n, _ in jobs if m != "fmt"})
    if not jobs or results < len(jobs) or counted < n_files:
        print(f"FAIL: {counted} results of {n_files} case files")
        total.failed += 1
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
