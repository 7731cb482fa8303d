#!/usr/bin/env python3
"""`fgc report` draws what tune, bench and bench/scoreboard recorded: every figure stands in the page, texts are escaped,
nothing is loaded from elsewhere, what is no record is refused. In a headless Chromium, where there is one: at the widths
of a desk and of a phone nothing sticks out, a click sorts a table by numbers and back, bars are as long as their times
say, the roof stands where it should. Environment: FGC, srcdir."""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

FGC, TOP = os.path.abspath(os.environ["FGC"]), os.path.abspath(os.environ.get("srcdir", "."))
CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
failed = passed = 0


def check(ok, what):
    global failed, passed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {what[:1500]}")


def way(us):
    return {"gpu_us": us, "low_us": us * 0.99, "high_us": us * 1.01, "samples_us": [us], "call_us": us + 5, "host_us": 4.5, "replay_us": us + 3, "workspace_bytes": 131}


BENCH = {"kind": "bench", "fgc": "0", "gpu": "a <GPU> & more", "driver": 13000, "cudnn": 91900, "rounds": 15, "ceilings": {"copy": 4.2e12, "bf16": None},
         "rows": [{"file": "a.fg", "graph": f"g{i}", "variant": "S=8", "target": "host", "engines": [4], "fused": way(us), "unfused": dict(way(3 * us), bytes=3e6, kernels=["conv"]),
                   "flop": 1e9, "bytes": 1e6, "tflops": 100.5 + i, "gb_per_s": 2000.0, "ceiling": "bf16", "roof_us": us / 2, "share_of_roof": 0.5} for i, us in enumerate((9.5, 100.25, 40.0))]
         + [{"file": "b.fg", "graph": "h", "variant": "", "target": "host", "engines": [4], "fused": way(7.0), "unfused": {"why": "NVRTC is <not> there"}, "flop": 0, "bytes": 1e6,
             "tflops": None, "gb_per_s": 2000.0, "ceiling": None, "roof_us": None, "share_of_roof": None}]}


def candidate(i, us, verdict, workspace, **more):
    return dict({"id": f"41:2={i}", "mode": "A", "rank": i, "engine": 41, "knobs": {"2": i}, "numerical": ["TENSOR_CORE"], "behavior": [], "workspace_bytes": workspace,
                 "plan": "", "verdict": verdict, "reason": None, "build_ms": 1.0, "median_us": us, "spread": 0.01, "tflops": 100.0, "gb_per_s": 900.0,
                 "share_of_roof": 20 / us if us else None, "screen_us": [us] if us else [], "final_us": [us, us * 1.01, us * 0.99] if verdict in ("best", "final") else []}, **more)


TUNE = [{"file": "a.fg", "graph": "g", "variant": "", "step": 0, "region": "0", "target": "host", "cudnn": 91900, "nvrtc": "13.0", "driver": 13000, "key": "k" * 64, "search": "heuristic",
         "deterministic": False, "listed": 5, "built": 5, "timed": 4, "seconds": 2.0, "winner": "41:2=2", "first": "41:2=0",
         "candidates": [candidate(0, 60.0, "final", 0), candidate(1, 80.0, "timed", 1 << 20), candidate(2, 40.0, "best", 131, check={"verdict": "passed", "error": 0.0, "note": None}),
                        candidate(3, None, "wrong", 0, reason="'y' at element 3 <script>"), candidate(4, 400.0, "hopeless", 1 << 30)],
         "result": {"median_us": 40.0, "low_us": 39.9, "high_us": 40.1, "first_us": 60.0, "kept": False, "noise": 0.005, "against_first": [0.66, 0.67], "against_itself": [0.99, 1.0],
                    "throttled": False, "sm_mhz": [1980, 1980]}}]

# Appended to a copy of the page; what it finds becomes the title. No network: a page that asks for anything says so.
PROBE = """<script>
function texts(table, at) { return Array.from(table.tBodies[0].rows).map(function (r) { return r.cells[at].textContent; }); }
var table = document.querySelectorAll('table')[WHICH], head = table.querySelectorAll('th')[COLUMN], found = {};
found.out = document.documentElement.scrollWidth - document.documentElement.clientWidth; found.width = window.innerWidth;
found.before = texts(table, COLUMN); head.click(); found.up = texts(table, COLUMN); head.click(); found.down = texts(table, COLUMN);
found.bars = Array.from(document.querySelectorAll('.bar')).map(function (b) {
  var t = b.querySelector('.t').getBoundingClientRect(), u = b.querySelector('u'), i = b.querySelector('i').getBoundingClientRect();
  return [b.querySelector('.v').textContent, i.width / t.width, u ? (u.getBoundingClientRect().left - t.left) / t.width : 0, b.className];
});
found.small = Array.from(document.querySelectorAll('svg text')).map(function (t) { return t.getBoundingClientRect().height; });
found.loaded = performance.getEntriesByType('resource').length;
document.title = JSON.stringify(found);
</script>"""


def look(folder, page, width, which, column):
    path = os.path.join(folder, "look.html")
    page = page.replace("</body>", PROBE.replace("WHICH", str(which)).replace("COLUMN", str(column)) + "</body>")
    with open(path, "w") as f:  # in a frame: a window is never narrower than 500
        f.write(f"""<!DOCTYPE html><title></title><body style="margin:0"><iframe width="{width}" height="900" style="border:0" srcdoc="{html.escape(page)}"
            onload="document.title = this.contentDocument.title"></iframe></body>""")
    r = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/chromium", "--window-size=1400,1000", "--dump-dom", "file://" + path],
                       capture_output=True, text=True, timeout=120)
    title = re.search(r"<title>(\{.*?\})</title>", r.stdout, re.S)
    return json.loads(title.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) if title else {}


def number(text):
    return float(re.search(r"[\d.]+", text).group(0))


def main():
    with tempfile.TemporaryDirectory() as folder:
        def report(content, *more):
            path = os.path.join(folder, "in.json")
            with open(path, "w") as f:
                f.write(content if isinstance(content, str) else json.dumps(content))
            r = subprocess.run([FGC, "report", path, *more], capture_output=True, text=True)
            return r.returncode, r.stdout, r.stderr

        with open(os.path.join(TOP, "bench", "results", "scoreboard-h200-2026-12-01.json")) as f:
            board = json.load(f)
        pages = {}
        for name, record in (("bench", BENCH), ("tune", TUNE), ("board", board)):
            code, pages[name], err = report(record)
            check(code == 0 and not err, f"{name}: {code} {err}")
            xml.dom.minidom.parseString(pages[name])
            check(not re.search(r"https?:|src=|@import|url\(", pages[name]), f"{name}: something is loaded")
        check(all(x in pages["bench"] for x in ("a &lt;GPU&gt; &amp; more", "NVRTC is &lt;not&gt; there", "bf16 not measured", "copy 4.2 TB/s", "g1 S=8", "100.25", "h</td>")), "bench: a figure is missing")
        check(all(x in pages["tune"] for x in ("element 3 &lt;script&gt;", "41:2=2", "40.00 us (95 %: 39.90 to 40.10)", "wrong: ", "1073741824")) and pages["tune"].count("<svg") == 2, "tune: a figure is missing")
        check(pages["tune"].count("<circle") == 4 and pages["tune"].count('<circle class="chosen"') == 1 and pages["tune"].count('<tr class="chosen">') == 1, "tune: the chosen one is marked")
        check(all(r["name"] in pages["board"] and all(f"{w['us']:.2f} us" in pages["board"] for w in r["ways"].values()) for r in board["rows"]), "board: a way is missing")
        check("1.026" in pages["board"] and "1.903" in pages["board"] and "1.009" in pages["board"], "board: the geometric means of the scoreboard's own table")

        out = os.path.join(folder, "page.html")
        code, said, err = report(BENCH, "-o", out)
        with open(out) as f:
            check(code == 0 and not said and f.read() == pages["bench"], f"-o: {code} {err}")
        for text, word in (("{", "is not JSON: line 1"), ("[]", "is no record of fgc"), ('{"rows": []}', "is no record of fgc"), ('[{"candidates": 3}]', "is no record of fgc")):
            os.remove(out) if os.path.exists(out) else None
            code, said, err = report(text, "-o", out)
            check(code == 1 and word in err and "[report]" in err and not os.path.exists(out), f"{text}: {code} {err}")
        # Records with members of other kinds than expected make a page, or are refused; nothing ends the program.
        for broken in ({"kind": "bench", "rows": [3, {"fused": "x"}, {"graph": 7, "fused": {"gpu_us": "a"}}]}, [{"candidates": [1, {"id": 3, "median_us": -1, "final_us": ["x"]}]}],
                       {"facts": {"a": []}, "rows": [{"ways": {"w": 3}}, None]}):
            code, said, err = report(broken)
            check(code == 0 and said.startswith("<!DOCTYPE html>"), f"{broken}: {code} {err}")

        for width in (1200, 390) if CHROMIUM else ():
            found = look(folder, pages["bench"], width, 0, 1)
            check(found.get("out") == 0 and found.get("loaded") == 0 and found.get("width") == width, f"bench at {width}: {found}")
            check(found.get("before") == ["9.50", "100.25", "40.00", "7.00"] and found.get("up") == ["7.00", "9.50", "40.00", "100.25"] and found.get("down") == found.get("up")[::-1], f"sorting: {found}")
            bars = found.get("bars", [])
            check(len(bars) == 7 and all(abs(b[2] / b[1] - 0.5) < 0.02 for b in bars[:6:2]) and all(abs(f[1] * 3 / u[1] - 1) < 0.01 for f, u in zip(bars[0:6:2], bars[1:6:2])), f"bars: {bars}")
            found = look(folder, pages["tune"], width, 0, 2)
            check(found.get("out") == 0 and found.get("up", [""])[-1] == "" and found.get("down", [""])[-1] == "", f"tune at {width}: empty cells stay at the end: {found}")
            check(min(found.get("small", [0])) >= 9, f"tune at {width}: texts of drawings are too small: {found.get('small')}")
            check([b[3] for b in found.get("bars", [])] == ["bar chosen", "bar other", "bar plain", "bar plain"] and number(found["bars"][3][0]) == 400, f"tune at {width}: {found}")
            found = look(folder, pages["board"], width, 1, 4)
            check(found.get("out") == 0 and sorted(map(float, found["before"])) == list(map(float, found["up"])), f"board at {width}: {found}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
