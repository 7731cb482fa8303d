#!/usr/bin/env python3
"""--diagnostics=json and sarif say what the text says: on every case of tests/errors the rendered texts are the .err,
spans agree in bytes, lines and columns, and a fix put in its place removes its error. Every command speaks them, and a
document is whole whatever happens. Environment: FGC, srcdir."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.environ.get("srcdir") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ERRORS = os.path.abspath(os.path.join(TOP, "tests", "errors"))
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def fgc(*args, cwd=ERRORS, **more):
    r = subprocess.run([FGC, *args], capture_output=True, cwd=cwd, timeout=120, **more)
    return r.returncode, r.stderr


def lines(err):
    return [json.loads(line) for line in err.decode().splitlines()]


def corner(data, c):
    """The byte's line and column, counted here: columns are code points, a byte order mark is none."""
    before = data[:c["byte"]]
    parts = re.split(rb"\r\n|\r|\n", before)
    if before.endswith(b"\r") and data[c["byte"]:c["byte"] + 1] == b"\n":
        parts = re.split(rb"\r\n|\r|\n", before[:-1])
        parts[-1] += b"?"
    last = parts[-1]
    if len(parts) == 1 and last.startswith(b"\xef\xbb\xbf"):
        last = last[3:]
    return len(parts), 1 + sum(b & 0xC0 != 0x80 for b in last)


def spans(j):
    if isinstance(j, dict):
        if set(j) == {"file", "begin", "end"}:
            yield j
        else:
            for v in j.values():
                yield from spans(v)
    elif isinstance(j, list):
        for v in j:
            yield from spans(v)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def said(diagnostics):
    return [(d["id"], d["message"]) for d in diagnostics]


def try_fix(name, d, fix, before):
    """The file with the fix has one such error less, and no other error that was not there."""
    s = fix["span"]
    path = os.path.join(ERRORS, s["file"])
    data = read(path)
    new = data[:s["begin"]["byte"]] + fix["text"].encode() + data[s["end"]["byte"]:]
    with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR"), suffix=".fg") as f:
        f.write(new)
        f.flush()
        _, err = fgc("check", "--diagnostics=json", f.name)
    after = said(lines(err))
    one = (d["id"], d["message"])
    check(after.count(one) == said(before).count(one) - 1, f"{name}: '{fix['text']}' does not mend: {d['message']}")


def sarif_matches(name, doc, diagnostics):
    """SARIF 2.1.0, 3.13 to 3.58: what a reader relies on."""
    check(doc["version"] == "2.1.0" and doc["$schema"].endswith("sarif-2.1.0.json") and len(doc["runs"]) == 1, name)
    run = doc["runs"][0]
    driver = run["tool"]["driver"]
    rules = [r["id"] for r in driver["rules"]]
    check(driver["name"] == "fgc" and len(set(rules)) == len(rules) and run["columnKind"] == "unicodeCodePoints", name)
    check(len(run["results"]) == len(diagnostics), f"{name}: {len(run['results'])} results, {len(diagnostics)} lines")
    for r, d in zip(run["results"], diagnostics):
        check((r["ruleId"], r["level"]) == (d["id"], d["severity"]) and rules[r["ruleIndex"]] == r["ruleId"], name)
        check(r["message"]["text"].splitlines()[0] == d["message"], f"{name}: {r['message']}")
        check(("locations" in r) == (d["span"] is not None), f"{name}: a place in one form only")
        pairs = [(r["locations"][0]["physicalLocation"], d["span"])] if d["span"] else []
        placed = [n for n in d["notes"] if n["span"]]
        check([x["message"]["text"] for x in r.get("relatedLocations", [])] == [n["message"] for n in placed], f"{name}: notes")
        pairs += [(x["physicalLocation"], n["span"]) for x, n in zip(r.get("relatedLocations", []), placed)]
        check(len(r.get("fixes", [])) == len(d["fixes"]), f"{name}: fixes")
        for x, fix in zip(r.get("fixes", []), d["fixes"]):
            change = x["artifactChanges"][0]
            put = change["replacements"][0]
            check(put["insertedContent"]["text"] == fix["text"], f"{name}: fixes")
            pairs.append(({"artifactLocation": change["artifactLocation"], "region": put["deletedRegion"]}, fix["span"]))
        for at, span in pairs:
            g, b, e = at["region"], span["begin"], span["end"]
            same = (g["startLine"], g["startColumn"], g["endLine"], g["endColumn"], g["byteOffset"], g["byteLength"]) == (
                b["line"], b["column"], e["line"], e["column"], b["byte"], e["byte"] - b["byte"])
            check(same and at["artifactLocation"]["uri"] == span["file"], f"{name}: {at} is not {span}")


def errors():
    n_fixes = 0
    for path in sorted(glob.glob(os.path.join(ERRORS, "*.fg"))):
        name = os.path.basename(path)
        status, err = fgc("check", "--diagnostics=json", name)
        found = lines(err)
        golden = read(path[:-3] + ".err").decode("utf-8", "replace")
        shown = "".join(d["rendered"] for d in found)
        plain = golden if "\ufffd" not in golden else re.sub("\ufffd+", "?", golden)
        check(shown == plain or "\ufffd" in golden and shown.splitlines()[0] == plain.splitlines()[0], f"{name}: rendered\n{shown}{golden}")
        for d in found:
            check(d["kind"] == "diagnostic" and d["severity"] in ("error", "warning", "note"), f"{name}: {d}")
            for s in spans(d):
                if not os.path.exists(os.path.join(ERRORS, s["file"])):
                    continue            # a library carried inside the program
                data = read(os.path.join(ERRORS, s["file"]))
                for c in (s["begin"], s["end"]):
                    check((c["line"], c["column"]) == corner(data, c), f"{name}: {c} is {corner(data, c)}")
            for fix in d["fixes"]:
                n_fixes += 1
                if d["severity"] == "error":
                    try_fix(name, d, fix, found)
        again, document = fgc("check", "--diagnostics=sarif", name)
        check(again == status, f"{name}: exit status {again}, {status} as lines")
        sarif_matches(name, json.loads(document), found)
    check(n_fixes >= 8, f"{n_fixes} fixes in tests/errors")


def commands():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        at = os.path.join(folder, "a b.fg")
        with open(at, "w") as f:
            f.write("fg 1\ngraph g() {\n    input x : f32[4]\n    output y : f32[4]\n    y = nosuch(x\n}\n")
        for command in (["check"], ["fmt"], ["run", "--reference"], ["lock", "--db", folder], [], ["tune", "--db", folder, "--list-jobs"]):
            for n, form in enumerate(("json", "sarif")):
                status, err = fgc(*command, f"--diagnostics={form}", "a b.fg", cwd=folder)
                j = json.loads(err) if n else lines(err)
                check(status == 1 and (j["runs"][0]["results"] if n else j[-1]["id"] == "syntax"), f"{command} {form}: {err}")
        _, err = fgc("check", "--diagnostics=sarif", at)
        uri = json.loads(err)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        check(uri == "file://" + folder + "/a%20b.fg", f"an absolute path: {uri}")
        with open(at, "wb") as f:
            f.write(b"fg 1\nconst a = \xff\xfe(\n")
        _, err = fgc("check", "--diagnostics=json", at)
        check(lines(err)[0]["id"] in ("encoding", "stray-byte"), f"bytes that are no UTF-8: {err}")
    status, err = fgc("check", "--diagnostics=json", "--nosuch")
    check(status == 2 and lines(err)[0]["id"] == "usage" and lines(err)[0]["span"] is None, f"usage: {err}")
    status, err = fgc("check", "--diagnostics=xml", "mask.fg")
    check(status == 2 and b"text, json or sarif" in err, f"another form: {err}")
    good = os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg")
    status, err = fgc("check", "--diagnostics=json", os.path.abspath(good))
    check((status, err) == (0, b""), f"nothing to say: {err}")
    status, err = fgc("check", "--diagnostics=sarif", os.path.abspath(good))
    check(status == 0 and json.loads(err)["runs"][0]["results"] == [], f"nothing to say: {err}")
    refused = ("--cudnn", "/nowhere", os.path.abspath(good), "-o", "/nowhere/x.plan")
    status, err = fgc("--diagnostics=json", *refused)
    check(status == 3 and lines(err)[-1]["kind"] == "repeat" and "/nowhere" in lines(err)[-1]["command"], f"repeat: {err}")
    status, err = fgc("--diagnostics=sarif", *refused)
    how = json.loads(err)["runs"][0]["invocations"][0]
    check(status == 3 and how["exitCode"] == 3 and not how["executionSuccessful"] and "/nowhere" in how["commandLine"], f"repeat: {how}")


errors()
commands()
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)
