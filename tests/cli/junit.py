#!/usr/bin/env python3
"""fgc check FILE... --junit: the report is XML that a parser takes, and says of each file what the text says.

Names and lines may hold anything; a file after one with many errors is judged by itself; a report that cannot be written
leaves the old one. Environment: FGC."""
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
GOOD = "fg 1\n\ngraph g() {\n    input x : f32[4]\n    output y : f32[4]\n\n    y = relu(x)\n}\n"
UNUSED = GOOD.replace("    y =", "    t = exp(x)\n    y =")
MANY = "fg 1\n" + "".join(f"const c{i} = nosuch{i}\n" for i in range(30))
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def fgc(folder, *args):
    r = subprocess.run([FGC, "check", *args], capture_output=True, cwd=folder, timeout=60)
    return r.returncode, r.stdout, r.stderr.decode("utf-8", "replace")


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        texts = {
            "many.fg": MANY.encode(),
            "good.fg": GOOD.encode(),
            "unused.fg": UNUSED.encode(),
            '<&"> \x01.fg': b"fg 1\n# <![CDATA[ ]]> \x02 & \xef\xbf\xbf\ngraph g() {  # ]]> <&>\"\x0b\n  output y : f32[4] <\n}\n",
            "bytes.fg": b"fg 1\nconst a = 1 # \xff\xfe\n",
            "x.plan": b"no plan",
        }
        for name, text in texts.items():
            with open(os.path.join(folder, name), "wb") as f:
                f.write(text)
        names = [*texts, "missing.fg"]
        status, _, err = fgc(folder, *names, "--junit", "out.xml", "--color=always")
        check(status == 1, f"exit status {status}")
        top = xml.parse(os.path.join(folder, "out.xml")).getroot()
        cases = top.findall("testsuite/testcase")
        check([c.get("file") for c in cases] == [n.replace("\x01", "?") for n in names], [c.get("file") for c in cases])
        for element in (top, top.find("testsuite")):
            counts = [int(element.get(k)) for k in ("tests", "failures", "errors")]
            check(counts == [7, 4, 1], f"{element.tag}: {counts}")
        of = dict(zip(names, cases))
        check(len(of["good.fg"]) == 0, "good.fg has something to report")
        many = of["many.fg"].find("failure")
        check(many.text.count(": error: ") == 21 and "many.fg:21:" in many.text and many.get("type") == "unknown-name", many.text)
        unused = of["unused.fg"]
        check([e.tag for e in unused] == ["system-err"] and "[unused" in unused[0].text, "a warning after a bad file")
        check(of["missing.fg"].find("error").get("type") == "file", "a file that is not there")
        check(of["x.plan"].find("failure") is not None and of["bytes.fg"].find("failure").get("type") == "encoding", "kinds")
        check("\x1b" not in "".join(top.itertext()), "colours in the report")
        check("more than 20 errors" in err and err.count("[too-many-errors]") == 1, "the text says that there are more")

        plain = [d for d in fgc(folder, *names)[2].splitlines() if ": error: " in d]
        told = [d for c in cases for e in c for d in (e.text or "").splitlines() if ": error: " in d]
        clean = ["".join(ch if ch >= " " and ch not in "\ufffd\uffff" else "?" for ch in d) for d in plain]
        check([d.split("error: ")[1] for d in told] == [d.split("error: ")[1] for d in clean], "text and report differ")

        status, _, _ = fgc(folder, "good.fg", "--junit", "good.xml")
        check(status == 0 and xml.parse(os.path.join(folder, "good.xml")).getroot().get("failures") == "0", "all good")
        status, out, _ = fgc(folder, "good.fg", "--junit", "-")
        check(status == 0 and xml.fromstring(out).get("tests") == "1", "to standard output")
        status, _, _ = fgc(folder, "unused.fg", "--Werror", "--junit", "w.xml")
        check(status == 1 and xml.parse(os.path.join(folder, "w.xml")).getroot().get("failures") == "1", "--Werror")
        status, _, err = fgc(folder, "good.fg", "--junit", "no/such/folder.xml")
        check(status == 3 and "[file]" in err, f"a folder that is not there: {status} {err}")
        check(sorted(os.listdir(folder)) == sorted([*texts, "out.xml", "good.xml", "w.xml"]), os.listdir(folder))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
