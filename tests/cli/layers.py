#!/usr/bin/env python3
"""tools/check-layers passes the tree and finds each kind of include that it forbids.

Every forbidden line is planted alone, in a copy of src/. Environment: srcdir."""
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
FORBIDDEN = (
    ("desc/desc.c", '#include "interp/interp.h"'),
    ("desc/desc.c", "#include <interp/interp.h>"),
    ("desc/desc.c", '/* see */ #include "interp/interp.h"'),
    ("gpu/search.c", '#include "ast/ast.h"'),
    ("gpu/search.c", '#include "sema/sema.h"'),
    ("op/op.c", '#include "ir/ir.h"'),
    ("op/op.c", '#  include"ir/ir.h"'),
    ("ast/scan.c", "#include <uthash.h>"),
    ("base/base.h", '#include "uthash.h"'),
    ("emit/launcher.c", "#include <cudnn.h>"),
    ("emit/launcher.c", "  #  include  <cudnn_graph.h>"),
    ("driver/common.c", "#include <cuda_runtime_api.h>"),
    ("driver/common.c", "#include <nvrtc.h>"),
    ("driver/common.c", '#include "gpu/build/layout.h"'),
    ("driver/common.c", '#include "../interp/interp.h"'),
    ("plan/read.c", '#include "desc/lower.h"'),
    ("plan/read.c", "#include <desc/lower.h>"),
    ("runtime/run.c", '#include "base/base.h"'),
    ("runtime/run.c", "#include <base/base.h>"),
)
ALLOWED = (
    ("desc/desc.c", '#include "ir/ir.h"'),
    ("driver/common.c", "#include <stdio.h>"),
    ("gpu/search.c", "#include <cudnn.h>"),
    ("runtime/run.c", "#include <cudnn.h>"),
)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as top:
        src = os.path.join(top, "src")
        shutil.copytree(os.path.join(TOP, "src"), src)
        tool = [sys.executable, os.path.join(TOP, "tools", "check-layers"), top]
        cases = [(None, None, 0)] + [(f, l, 1) for f, l in FORBIDDEN] + [(f, l, 0) for f, l in ALLOWED]
        for name, line, want in cases:
            if name:
                path = os.path.join(src, name)
                os.chmod(path, 0o644)
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text + line + "\n")
            got = subprocess.run(tool, capture_output=True, text=True)
            named = name is None or want == 0 or f"src/{name}:" in got.stdout
            if got.returncode == want and named:
                passed += 1
            else:
                failed += 1
                print(f"FAIL {name}: {line}: exit status {got.returncode}\n{got.stdout}{got.stderr}")
            if name:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
