#!/usr/bin/env python3
"""fgc graph: on every example and cut graph, the drawing has the operators and kernels that -d partition prints, a box for each
tensor in memory, and edges between nodes that are there. --svg gives what `dot` makes of it, or says why not.
Environment: FGC, srcdir."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.environ.get("srcdir") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def fgc(*args, **more):
    return subprocess.run([FGC, *args], capture_output=True, text=True, timeout=60, **more)


def partitions(text):
    """[[operators of a kernel]] of all graphs, by what -d partition prints."""
    parts = []
    for line in text.split("\n"):
        if line.startswith("graph "):
            parts.append([])
        m = re.match(r"  \S.* = (\w+)[ (]", line)
        if m and not line.startswith(("  param", "  const", "  input", "  scalar", "  output")):
            parts[-1].append(m.group(1))
    return parts


def drawing(name, text, printed):
    parts, nodes, edges, inside = [], {}, [], False
    for line in text.split("\n"):
        if re.match(r' *subgraph "cluster_\d+_\d+"', line):
            parts.append([])
        m = re.match(r' *([ov][\d_]+) \[(?:shape=box, )?label="((?:[^"\\]|\\.)*)"', line)
        if m:
            nodes[m.group(1)] = m.group(2)
            if m.group(1)[0] == "o":
                parts[-1].append(re.match(r"\w+", m.group(2)).group())
        m = re.match(r' *([ov][\d_]+) -> ([ov][\d_]+)( \[label="[^"]+"\])?;', line)
        if m:
            edges.append(m.groups())
    check(parts == printed, f"{name}: {parts} drawn, {printed} printed")
    check(all(a in nodes and b in nodes for a, b, _ in edges), f"{name}: an edge to nowhere")
    check(all((a[0] == "o" == b[0]) == (label is not None) for a, b, label in edges), f"{name}: types between operators only")
    kernel = lambda n: n.split("_")[:2] if n[0] == "o" else None
    check(all(kernel(a) == kernel(b) for a, b, _ in edges if a[0] == b[0] == "o"), f"{name}: an edge between kernels past memory")
    ends = {n for e in edges for n in e[:2]}
    check(all(n in ends for n, label in nodes.items() if n[0] == "o" or label.startswith(("output", "temporary"))), f"{name}: alone")
    check(text.count("{") == text.count("}") and text.startswith("digraph fgc {") and text.endswith("}\n"), f"{name}: braces")
    return nodes, edges


def main():
    specs = sorted(glob.glob(os.path.join(TOP, "examples", "*", "*.fg")) + glob.glob(os.path.join(TOP, "tests", "pass", "partition-*.fg")))
    kernels = 0
    for path in specs:
        printed = fgc("-d", "partition", path)
        drawn = fgc("graph", path)
        name = os.path.basename(path)
        check(printed.returncode == drawn.returncode == 0, f"{name}: exit statuses {printed.returncode}, {drawn.returncode}: {drawn.stderr}")
        drawing(name, drawn.stdout, partitions(printed.stdout))
        kernels += drawn.stdout.count('label="kernel 1"')
    check(len(specs) > 8 and kernels >= 3, f"{len(specs)} files, {kernels} of them cut")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        spec = os.path.join(folder, "x.fg")
        with open(spec, "w") as f:
            f.write("fg 1\n\ngraph g(N in [4, 8]) {\n    input x : f32[N, 16]\n    output y : f32[N, 16]\n    t = exp(x)\n    y = relu(t * 0.5)\n}\n")
        text = fgc("graph", "--dot", spec).stdout
        check('label="graph g N=8"' in text and "f32[8, 16]" in text and '[label="t\\nf32[4, 16]"]' in text and "\\nb = 0.5" in text, text)
        check("N=8" not in fgc("graph", spec, "-D", "N=4").stdout, "-D")
        bin = os.path.join(folder, "bin")
        os.mkdir(bin)
        env = dict(os.environ, PATH=bin)
        got = fgc("graph", "--svg", spec, env=env)
        check(got.returncode == 3 and not got.stdout and "cannot run 'dot'" in got.stderr and "Graphviz" in got.stderr, got.stderr)
        sh = shutil.which("sh")
        for body, status in ((f'[ "$1" = -Tsvg ] && echo "<svg>" && {shutil.which("cat")}', 0), ("exit 4", 3), ("echo half; kill -9 $$", 3)):
            with open(os.path.join(bin, "dot"), "w") as f:
                f.write(f"#!{sh}\n{body}\n")
            os.chmod(os.path.join(bin, "dot"), 0o755)
            got = fgc("graph", "--svg", spec, env=env)
            check(got.returncode == status and got.stdout == ("" if status else "<svg>\n" + text), f"{body}: {got}")
        if shutil.which("dot"):
            got = fgc("graph", "--svg", spec)
            check(got.returncode == 0 and "<svg" in got.stdout and "relu" in got.stdout, f"the real dot: {got.stderr}")
        got = fgc("graph", "--svg", "--dot", spec)
        check(got.returncode == 2 and not got.stdout, "both forms")
        with open(spec, "a") as f:
            f.write("\ngraph h() {\n    output y : f32[4]\n    y = nosuch()\n}\n")
        got = fgc("graph", spec)
        check(got.returncode == 1 and not got.stdout and "nosuch" in got.stderr, "a mistake draws nothing")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
