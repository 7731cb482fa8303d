#!/usr/bin/env python3
"""fg-plan(5) says what fgc writes: its example stands in a manifest, in order; it names every member.

Without cuDNN no plan can be made: skipped. Environment: FGC, srcdir."""
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
failures = passes = 0


def check(ok, what):
    global failures, passes
    passes, failures = passes + bool(ok), failures + (not ok)
    if not ok:
        print("FAIL", what)


def members(value):
    """Names of the manifest's own members; a device's description is cuDNN's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key != "description":
                yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)


def manifest(folder, name):
    path = os.path.join(folder, name + ".plan")
    variant = ("-D", "S=512") if name == "attention_causal" else ()
    r = subprocess.run([FGC, "-q", os.path.join(TOP, "examples", name, name + ".fg"), "-o", path, *variant], capture_output=True, text=True)
    if r.returncode == 3:
        print(r.stderr.splitlines()[0])
        sys.exit(77)
    with zipfile.ZipFile(path) as z:
        check(z.namelist()[:2] == ["manifest.json", "source.fg"], f"{name}: entries {z.namelist()}")
        return z.read("manifest.json").decode()


def main():
    with open(os.path.join(TOP, "man", "fg-plan.5"), encoding="utf-8") as f:
        page = f.read()
    example = re.search(r"^\.SH EXAMPLE\n\.nf\n(.*?)^\.fi$", page, re.S | re.M).group(1)
    bold = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"^\.(?:B|BR|TP\n\.B) (.*)$", page, re.M))))
    with tempfile.TemporaryDirectory() as folder:
        text = manifest(folder, "conv_bias_relu")
        at = 0
        for piece in example.split(" ...\n"):
            piece = re.sub(r'("(?:fgc|cudnn|nvrtc)": )[^,\n]+', r"\1?", piece)
            found = re.sub(r'("(?:fgc|cudnn|nvrtc)": )[^,\n]+', r"\1?", text).find(piece, at)
            check(found >= at, f"not in the manifest, or not in this order:\n{piece}")
            at = max(at, found)
        for name in ("conv_bias_relu", "linear_amax", "attention_causal"):
            for member in sorted(set(members(json.loads(manifest(folder, name))))):
                check(member in bold, f"{name}: the page does not name '{member}'")
    print(f"{passes} passed, {failures} failed, 0 skipped")
    return failures != 0


sys.exit(main())
