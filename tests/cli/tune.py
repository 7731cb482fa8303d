#!/usr/bin/env python3
"""Tuning, locks and locked builds, with real cuDNN and a scripted device (tests/fake_device.c).

Shards, reports, planted faults, what a kill or a signal leaves, resuming, the lock and what --locked takes and
refuses. Environment: FGC, FGC_BUILD_DIR, srcdir, TMPDIR."""
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

BUILD = os.path.abspath(os.environ.get("FGC_BUILD_DIR", "."))
FGC = os.path.abspath(os.environ.get("FGC", os.path.join(BUILD, "fgc")))
FAKE = os.path.join(BUILD, "tests", "fgc-fake")
TOP = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
T = ["--target", "nvidia-h200"]
passes = failures = 0

SPEC = """fg 1

graph linear(M = 128) {
    input  a : bf16[M, 256]
    input  b : bf16[256, 512]
    input  c : bf16[M, 512]
    output y : bf16[M, 512]
    t = relu(matmul(a, b))
    y = t + c
}
"""


def check(ok, what):
    global passes, failures
    if ok:
        passes += 1
    else:
        failures += 1
        print("FAIL", what)


def run(args, program=FGC, env=None, cwd=None, timeout=120):
    e = dict(os.environ, FGC_LIBEXEC=BUILD, **(env or {}))
    got = subprocess.run([program] + args, capture_output=True, text=True, env=e, cwd=cwd, timeout=timeout,
                         stdin=subprocess.DEVNULL)
    return got.returncode, got.stdout, got.stderr


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def log_lines(db):
    out = []
    for path in glob.glob(os.path.join(db, "logs", "*.jsonl")):
        out += [json.loads(line) for line in read(path).decode().splitlines() if line]
    return out


def entries(db):
    return glob.glob(os.path.join(db, "*.json"))


def tune(db, spec, script, *more, env=None, target=T, **kw):
    write(db + ".script", script)
    status, out, err = run(["tune", spec, "--db", db, "--json", *target, *more], FAKE,
                           dict(FAKE_DEVICE=db + ".script", **(env or {})), **kw)
    return status, (json.loads(out) if out.strip() else None), err


def verdicts(report):
    return {c["id"]: c["verdict"] for c in report["candidates"]}


def usage(spec, db):
    for bad in (["--shard", "2/2"], ["--shard", "x"], ["--shard", "-1/2"], ["--shard", "1/0"], ["--search", "all"],
                ["--progress", "bar"], ["--budget", "x"]):
        status, _, err = run(["tune", spec, "--db", db, "--build-only", *bad])
        check(status == 2 and bad[0] in err, f"tune {bad}: {status} {err}")
    check(not os.path.exists(db), "wrong usage makes no database")
    status, _, err = run(["tune", "--db", db])
    check(status == 2, "tune without a file")
    status, _, err = run(["tune", spec, "--db", os.path.join(db, "no", "folder"), "--build-only"])
    check(status == 3 and "cannot make the folder" in err, f"a database that cannot be made: {err}")


def shards(folder):
    spec = os.path.join(TOP, "examples", "attention_causal", "attention_causal.fg")
    other = os.path.join(folder, "linear.fg")
    status, out, _ = run(["tune", spec, other, "--list-jobs"])
    jobs = out.splitlines()
    check(status == 0 and len(jobs) == 5 and len({j.split()[5] for j in jobs}) == 5, f"jobs: {out}")
    parts = [run(["tune", spec, other, "--list-jobs", "--shard", f"{i}/3"])[1].splitlines() for i in range(3)]
    check(sorted(sum(parts, [])) == sorted(jobs) and all(parts), f"shards: {parts}")


def faults(folder, spec):
    """One candidate each is wrong, crashes, hangs, is hopeless; each costs itself. Tuned a second time the winner stays."""
    db = os.path.join(folder, "faults")
    status, out, err = run(["tune", spec, "--db", db, "--build-only", "--json", *T])
    ids = [c["id"] for c in json.loads(out)[0]["candidates"]]
    check(status == 0 and len(ids) >= 3 and all(v == "built" for v in verdicts(json.loads(out)[0]).values()), f"built: {out} {err}")
    check(not entries(db), "nothing timed, no entry")
    builds = [x for x in log_lines(db) if x["did"] == "built"]
    check(len(builds) == len(ids), "a line a candidate")
    # what was built without the device is not built again
    script = f"{ids[0]} time 100\n{ids[1]} time 80\n{ids[2]} wrong\n"
    status, report, err = tune(db, spec, script, "--resume", "--html", db + ".html")
    v = verdicts(report[0])
    page = read(db + ".html").decode()
    check(page.startswith("<!DOCTYPE html>") and page.count("<svg") == 2 and all(page.count(i) > 1 for i in ids[:2])
          and "src=" not in page and "http" not in page, "the page stands for itself")
    xml.dom.minidom.parseString(page.replace('<meta charset="utf-8">', ""))
    check(status == 0 and v[ids[1]] == "best" and v[ids[2]] == "wrong" and v[ids[0]] == "final", f"{v} {err}")
    check(len([x for x in log_lines(db) if x["did"] == "built"]) == len(ids), "nothing is built twice")
    check(len(entries(db)) == 1, "one entry")
    r = report[0]["result"]
    check(abs(r["median_us"] - 80) < 1 and abs(r["first_us"] - 100) < 1 and r["against_first"][1] < 0.82, str(r))
    # what is done is skipped
    status, report, _ = tune(db, spec, script, "--resume")
    check(status == 0 and report[0]["known"], "--resume skips what the database has")
    # tuned anew: the incumbent is not beaten by what is only as fast
    status, report, _ = tune(db, spec, f"{ids[0]} time 79.95\n{ids[1]} time 80\n* time 90\n")
    check(status == 0 and report[0]["winner"] == ids[1] and report[0]["result"]["kept"], "the incumbent stays")
    # crash and hang, at every stage
    for how in ("crash load", "hang check", "crash time", "refused load"):
        status, report, _ = tune(os.path.join(folder, how.replace(" ", "-")), spec,
                                 f"{ids[0]} {how}\n{ids[1]} time 90\n{ids[2]} time 50\n")
        v = verdicts(report[0])
        check(status == 0 and v[ids[0]] == how.split()[0] and v[ids[2]] == "best" and v[ids[1]] == "final",
              f"{how}: {v}")
        check([c["reason"] for c in report[0]["candidates"] if c["id"] == ids[0]][0], "a reason")
    status, report, err = tune(os.path.join(folder, "none"), spec, "* wrong\n")
    check(status == 3 and "none is built, correct and timed" in err and not entries(os.path.join(folder, "none")), err)
    return db, ids


def killed(folder, spec):
    """kill -9 at several moments, then --resume: no finished line is lost, and nothing finished is done again."""
    script = "* time 100\n"
    db = os.path.join(folder, "killed")
    trace = os.path.join(folder, "trace")
    seen = {}
    for wait in ("built", "checked", "screened", "final"):
        write(db + ".script", script)
        e = dict(os.environ, FGC_LIBEXEC=BUILD, FAKE_DEVICE=db + ".script", FAKE_SLEEP_MS="40", FAKE_TRACE=trace)
        p = subprocess.Popen([FAKE, "tune", spec, "--db", db, *T, "--resume", "-q", "-j1"], env=e,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 60
        while time.monotonic() < limit and p.poll() is None:
            try:
                if any(x["did"] == wait for x in log_lines(db)):
                    break
            except ValueError:
                pass          # a line that is being written
            time.sleep(0.01)
        p.kill()
        p.wait()
        with open(glob.glob(os.path.join(db, "logs", "*.jsonl"))[0], "a") as f:
            f.write('{"did":"built","candi')         # and a line cut in its middle
        lines = []
        for path in glob.glob(os.path.join(db, "logs", "*.jsonl")):
            for line in read(path).decode().splitlines():
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    pass
        for did in ("built", "checked"):
            ids = [x["candidate"] for x in lines if x["did"] == did]
            check(len(ids) == len(set(ids)), f"killed at '{wait}': '{did}' twice: {ids}")
            check(set(ids) >= seen.get(did, set()), f"killed at '{wait}': lines of '{did}' are lost")
            seen[did] = set(ids)
        for path in glob.glob(os.path.join(db, "logs", "*.jsonl")):   # readable again
            write(path, "".join(json.dumps(x, separators=(",", ":")) + "\n" for x in lines))
            with open(path, "a") as f:
                f.write('{"did":"bui')
    status, report, err = tune(db, spec, script, "--resume")
    check(status == 0 and (report[0]["known"] or report[0]["winner"]), f"resumed: {status} {err}")
    check(len(entries(db)) == 1, "an entry at the end")


def interrupted(folder, spec):
    db = os.path.join(folder, "interrupted")
    write(db + ".script", "* time 100\n")
    e = dict(os.environ, FGC_LIBEXEC=BUILD, FAKE_DEVICE=db + ".script", FAKE_SLEEP_MS="50")
    p = subprocess.Popen([FAKE, "tune", spec, "--db", db, *T, "--progress=json"], env=e, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    events = []
    for line in p.stderr:
        events.append(json.loads(line))
        if events[-1]["stage"] == "screen":
            break
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    check(p.returncode == 3 and "stopped by a signal" in err and "--resume" in err, f"Ctrl-C: {p.returncode} {err}")
    check({"list", "build", "check"} <= {x["stage"] for x in events}, "progress events")
    check(not entries(db) and any(x["did"] == "checked" for x in log_lines(db)), "what is done is kept, nothing is decided")
    status, report, _ = tune(db, spec, "* time 100\n", "--resume")
    check(status == 0 and report[0]["winner"], "and it goes on")


def one_gpu(folder, spec):
    """While another process holds the GPU's lock, nothing is timed."""
    uuid = "test-" + hashlib.sha256(folder.encode()).hexdigest()[:16]
    path, db, trace = f"/tmp/fgc-gpu-{uuid}.lock", os.path.join(folder, "gpu"), os.path.join(folder, "gpu.trace")
    with open(path, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write(db + ".script", "* time 100\n")
        e = dict(os.environ, FGC_LIBEXEC=BUILD, FAKE_DEVICE=db + ".script", FAKE_UUID=uuid, FAKE_TRACE=trace)
        p = subprocess.Popen([FAKE, "tune", spec, "--db", db, *T, "-q", "--progress=json"], env=e,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in p.stderr:
            if json.loads(line)["stage"] == "wait":
                break
        time.sleep(0.5)
        check(p.poll() is None and not os.path.exists(trace), "it builds, and waits for the GPU")
    p.communicate(timeout=60)
    check(p.returncode == 0 and os.path.exists(trace), "and goes on when the lock is free")
    os.unlink(path)


def compiled(folder, spec):
    """--tune: tunes what the database does not have, builds the winner, and the next time only takes it."""
    db, plan, trace = os.path.join(folder, "now"), os.path.join(folder, "now.plan"), os.path.join(folder, "now.trace")
    write(db + ".script", "* time 100\n")
    env = dict(FAKE_DEVICE=db + ".script", FAKE_TRACE=trace)
    args = [spec, "--tune", "--db", db, "-o", plan, *T]
    status, out, err = run(args, FAKE, env)
    check(status == 0 and ", tuned" in out, f"--tune: {status} {out} {err}")
    first, samples = read(plan), len(read(trace))
    status, out, err = run(args, FAKE, env)
    check(status == 0 and read(plan) == first and len(read(trace)) == samples, f"--tune again: {status} {out} {err}")
    status, _, err = run(args + ["--locked"], FAKE, env)
    check(status == 2 and "exclude" in err, err)
    os.unlink(plan)
    write(db + ".script", "* wrong\n")
    status, out, err = run([spec, "--tune", "--db", db + "2", "-o", plan, *T], FAKE, env)
    check(status == 3 and not os.path.exists(plan), f"--tune without a winner: {status} {out} {err}")


def limits(folder, spec):
    """--max-candidates, --budget and --workspace-limit leave out, and say so; an exhaustive search lists more."""
    at = os.path.join(folder, "limits")
    few = json.loads(run(["tune", spec, "--db", at, "--build-only", "--json", "--max-candidates=2", *T])[1])[0]
    check(few["listed"] == 2 and few["cut"] and few["candidates"][0]["mode"] == "A", "--max-candidates")
    more = json.loads(run(["tune", spec, "--db", at + "2", "--build-only", "--json", "--search=exhaustive", "--max-candidates=12",
                           "--budget=2", *T])[1])[0]
    ids = [c["id"] for c in more["candidates"]]
    check(more["listed"] == 12 and len(set(ids)) == 12 and ids[:2] == [c["id"] for c in few["candidates"]],
          f"exhaustive: the lists first, each once: {ids}")
    check({c["mode"] for c in more["candidates"]} >= {"A", "knobs"}, "exhaustive: beyond the lists")
    check(more["hurried"] and more["built"] < 12 and "not reached" in verdicts(more).values(), "--budget ends the building")
    status, out, err = run(["tune", os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg"), "--db", at + "3",
                            "--build-only", "--json", "--max-candidates=16", "--workspace-limit=64", *T])
    v = verdicts(json.loads(out)[0])
    check(set(v.values()) == {"workspace", "built"}, f"--workspace-limit: {v} {err}")


def locks(folder, spec, db, ids):
    at = os.path.join(folder, "locked")
    os.mkdir(at)
    m = shutil.copy(spec, os.path.join(at, "m.fg"))
    status, _, err = run([m, "--locked", "-o", m + ".plan"])
    check(status == 3 and "m.fg.lock" in err and not os.path.exists(m + ".plan"), f"no lock: {status} {err}")
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    status, _, err = run(["lock", m, "--db", empty])
    check(status == 3 and "nothing was tuned" in err and "'linear'" in err and os.listdir(at) == ["m.fg"],
          f"an empty database: {status} {err}")
    status, out, err = run(["lock", m, "--db", db, "--vendor", "--store", os.path.join(folder, "store")])
    check(status == 0 and sorted(os.listdir(at)) == ["m.fg", "m.fg.lock", "m.fg.plans"], f"lock: {err}")
    text = read(m + ".lock").decode()
    run(["lock", m, "--db", db, "-q"])
    check(read(m + ".lock").decode() == text, "locking twice gives the same text")
    plan = re.search(r"^  plan ([0-9a-f]{64})", text, re.M)[1]
    check(os.listdir(m + ".plans") == [plan] and os.listdir(os.path.join(folder, "store")) == [plan], "the vendored plan")
    # offline, from anywhere, the same bytes: no cuDNN can be found
    nowhere = ["--cudnn", "/nowhere", "--cuda", "/nowhere"]
    plans = []
    for name in ("one", "two"):
        to = os.path.join(folder, name)
        shutil.copytree(at, to)
        status, out, err = run(["m.fg", "--locked", "-o", "m.plan", *nowhere], cwd=to)
        check(status == 0 and "lock" in out, f"--locked: {status} {err}")
        plans.append(read(os.path.join(to, "m.plan")) if status == 0 else None)
    check(plans[0] == plans[1], "byte-identical")
    status, out, _ = run(["show", "--json", os.path.join(folder, "one", "m.plan")])
    check(f'"engine": {ids[1].split(":")[0]}' in out and '"chosen_by": "lock"' in out, "the locked engine is in the plan")
    # no plan beside it: from the store, from the database, or built again to the same bytes
    shutil.rmtree(m + ".plans")
    for more in (["--store", os.path.join(folder, "store"), *nowhere], ["--db", db, *nowhere], []):
        status, _, err = run([m, "--locked", "-o", m + ".plan", "-q", *more])
        check(status == 0 and read(m + ".plan") == plans[0], f"{more}: {status} {err}")
        if os.path.exists(m + ".plan"):
            os.unlink(m + ".plan")
    status, _, err = run([m, "--locked", "-o", m + ".plan", "--launcher", m + ".c", *nowhere])
    check(status == 3 and plan in err and "[lock-miss]" in err and sorted(os.listdir(at)) == ["m.fg", "m.fg.lock"],
          f"a missing plan is named and leaves no file: {status} {err} {os.listdir(at)}")
    # a damaged plan is passed over, and is no plan
    os.mkdir(m + ".plans")
    write(os.path.join(m + ".plans", plan), "{}")
    status, _, err = run([m, "--locked", "-o", m + ".plan", *nowhere])
    check(status == 3 and "its bytes are not those that its name says" in err and not os.path.exists(m + ".plan"), err)
    shutil.rmtree(m + ".plans")
    refused(folder, at, m, text, db)


def refused(folder, at, m, text, db):
    """What the lock holds must be of this graph, allowed by the options, and readable."""
    spec = read(m).decode()
    for change, why in ((("M = 128", "M = 256"), "not the graph that was locked"),
                        (("relu", "sigmoid"), "not the graph that was locked"),
                        (("a : bf16[M, 256]\n    input  b : bf16[256, 512]",
                          "b : bf16[256, 512]\n    input  a : bf16[M, 256]"), "another order"),
                        (("graph linear", "graph other"), "does not have it")):
        write(m, spec.replace(*change))
        status, _, err = run([m, "--locked", "-o", m + ".plan", "--db", db])
        check(status == 3 and why in err and not os.path.exists(m + ".plan"), f"{change}: {status} {err}")
    # in another order it is the same region: the entry is found, the engine is built anew
    write(m, spec.replace("a : bf16[M, 256]\n    input  b : bf16[256, 512]",
                          "b : bf16[256, 512]\n    input  a : bf16[M, 256]"))
    status, _, err = run(["lock", m, "--db", db, "-q"])
    check(status == 0 and read(m + ".lock").decode() != text, f"lock in another order: {err}")
    status, _, err = run([m, "--locked", "-o", m + ".plan", "-q"])
    check(status == 0, f"and built: {err}")
    write(m, spec)
    write(m + ".lock", text)
    for edit, why in ((("  numerical TENSOR_CORE", "  numerical NONDETERMINISTIC"), "run to run"),
                      (("  workspace 0", "  workspace 4096"), "above the limit of 1024")):
        check(edit[0] in text, f"the lock has '{edit[0]}'")
        write(m + ".lock", text.replace(*edit))
        status, _, err = run([m, "--locked", "-o", m + ".x", "--deterministic", "--workspace-limit", "1k", "--db", db])
        check(status == 3 and why in err and "[lock-barred]" in err and not os.path.exists(m + ".x"), f"{why}: {status} {err}")
    for edit in (("engine", "engin"), ("fg-lock 1", "fg-lock 9"), (plan_line(text), "  plan 12 3")):
        write(m + ".lock", text.replace(*edit, 1) if edit[0] != "engine" else text.replace("  engine", "  engin"))
        status, _, err = run([m, "--locked", "-o", m + ".x"])
        check(status == 1 and re.search(r"m\.fg\.lock:\d+:\d+: error: ", err) and "[lock]" in err, f"{edit}: {status} {err}")
        status, _, err = run(["lock", m, "--db", db])
        check(status == 1 and "[lock]" in err, f"a lock that cannot be read is not written over: {status} {err}")
    write(m + ".lock", text.replace("target sm90-132 ", "target sm90-114 ").replace(
        re.search(r"target \S+ (\w{64})", text)[1], "0" * 64))
    status, _, err = run([m, "--locked", "-o", m + ".x"])
    check(status == 3 and "no section for target" in err and "sm90-114" in err, f"another target: {status} {err}")
    status, _, err = run(["lock", m, "--db", db, "-q"])
    again = read(m + ".lock").decode()
    check(status == 0 and "target sm90-114" in again and "target sm90-132" in again, "sections of other targets stay")
    # an entry of another version is told apart
    for path in entries(db):
        shutil.copy(path, os.path.join(folder, "kept"))
        write(path, read(path).decode().replace('"cudnn": 91900', '"cudnn": 91800'))
    status, _, err = run(["lock", m, "--db", db])
    check(status == 3 and "nothing was tuned" in err, f"a damaged entry: {status} {err}")


def steps(folder):
    """Each kernel of a graph is tuned and locked by itself; equal kernels are one job's work."""
    at = os.path.join(folder, "steps")
    os.mkdir(at)
    m, db = os.path.join(at, "m.fg"), os.path.join(at, "db")
    write(m, "fg 1\n\ngraph two(M = 64) {\n    input  x : bf16[M, 64]\n    input  w : bf16[64, 64]\n    output y : f32[M, 1]\n\n"
             "    h : bf16 = matmul(x, w)\n    k : bf16 = matmul(h, w)\n    y = reduce(relu(k), mode=add, axes=[1])\n}\n")
    status, out, _ = run(["tune", m, "--list-jobs"])
    jobs = [line.split() for line in out.splitlines()]
    check(status == 0 and len(jobs) == 2, f"jobs of steps: {out}")
    status, report, err = tune(db, m, "* time 100\n")
    check(status == 0 and len(entries(db)) == len({j[5] for j in jobs}), f"tuned steps: {status} {err} {entries(db)}")
    status, out, err = run([m, "--tune", "--db", db, "-o", m + ".plan", *T], FAKE, dict(FAKE_DEVICE=db + ".script"))
    shown = run(["show", m + ".plan"])[1]
    check(status == 0 and shown.count("chosen by: tuned") == 2, f"a plan of tuned steps: {status} {err}{shown}")
    os.unlink(m + ".plan")
    status, _, err = run(["lock", m, "--db", db, "--vendor"])
    text = read(m + ".lock").decode()
    check(status == 0 and re.findall(r"^plan two - (\d)", text, re.M) == ["0", "1"], f"a lock of steps: {status} {err}{text}")
    plans = []
    for name in ("1.plan", "2.plan"):
        status, _, err = run([m, "--locked", "-o", os.path.join(at, name), "--cudnn", "/nowhere", "--cuda", "/nowhere"])
        check(status == 0, f"locked steps: {status} {err}")
        plans.append(read(os.path.join(at, name)) if status == 0 else None)
    check(plans[0] == plans[1], "locked steps are byte-identical")
    where = [i.start() for i in re.finditer(r"^plan two - ", text, re.M)]
    write(m + ".lock", text[:where[1]])
    status, _, err = run([m, "--locked", "-o", m + ".plan"])
    check(status == 3 and "step 1 of graph 'two'" in err and not os.path.exists(m + ".plan"), f"a step that the lock lacks: {status} {err}")


def page(folder):
    """fg-lock(5)'s example is a lock: of another plan, so the build is refused, but read."""
    with open(os.path.join(TOP, "man", "fg-lock.5"), encoding="utf-8") as f:
        example = re.search(r"^\.nf\n(fg-lock 1\n.*?)^\.fi$", f.read(), re.S | re.M)[1]
    m = os.path.join(folder, "page.fg")
    write(m, SPEC)
    write(m + ".lock", example)
    status, _, err = run([m, "--locked", "-o", m + ".plan"])
    check(status == 3 and "does not have it" in err, f"fg-lock(5)'s example: {status} {err}")


def plan_line(text):
    return re.search(r"^  plan .*$", text, re.M)[0]


def main():
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "linear.fg")
        write(spec, SPEC)
        if not os.access(FAKE, os.X_OK):
            print("tests/fgc-fake is not built")
            return 77
        status, _, err = run([spec, "-q", "-o", os.path.join(folder, "x.plan")])
        if status == 3 and re.search(r"not found|cannot be opened", err):
            print(err.splitlines()[0])
            return 77
        usage(spec, os.path.join(folder, "unused"))
        shards(folder)
        db, ids = faults(folder, spec)
        killed(folder, spec)
        interrupted(folder, spec)
        one_gpu(folder, spec)
        compiled(folder, spec)
        limits(folder, spec)
        locks(folder, spec, db, ids)
        steps(folder)
    print(f"{passes} passed, {failures} failed, 0 skipped")
    return failures != 0


sys.exit(main())
