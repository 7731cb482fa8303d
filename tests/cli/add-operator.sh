#!/bin/sh
# The recipe "add an operator" of HACKING.md, done to a copy of the tree: one row in src/op/ops.def and one
# line in src/op/pointwise.def make `positive`, which fgc does not have, known to every command.
# Environment: srcdir, FGC, FGC_BUILD_DIR (as tests/run.py gives them). Exit 77 where there is no cuDNN.
set -eu
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${FGC_BUILD_DIR:-$top/build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
fail() { echo "FAIL $*"; echo "$passed passed, 1 failed, 0 skipped"; exit 1; }
pass() { passed=$((passed + 1)); }

mkdir "$work/tree" "$work/build"
(cd "$top" && tar -cf - --exclude=./.git --exclude='./build*' --exclude='./deps*' --exclude=./autom4te.cache . ) |
    tar -xf - -C "$work/tree"
[ -f "$work/tree/build-aux/install-sh" ] || cp -R "$top/build-aux" "$work/tree/"
chmod -R u+w "$work/tree"
cat > "$work/positive.fg" <<'END'
fg 1

graph positive_part() {
    input  x : f32[2, 4]
    output y : f32[2, 4]

    y = positive(x)
}
END
"$FGC" check "$work/positive.fg" 2>/dev/null && fail "this fgc has positive already"
pass

# ---- the recipe --------------------------------------------------------------------------------------
cd "$work/tree"
sed -i '/^OP(cos,/i\
OP(positive, FAMILY(pointwise), SHAPE(broadcast), EVAL(positive), LOWER(pointwise, RELU_FWD), UNARY,\
   .types = REAL_TYPES, .formula = "max(x, 0)", .doc = "positive part")' src/op/ops.def
sed -i '/^ONE(cos,/i\
ONE(positive, x > 0 ? x : 0)' src/op/pointwise.def
grep -q '^OP(positive' src/op/ops.def && grep -q '^ONE(positive' src/op/pointwise.def || fail "the recipe's places moved"
pass

# ---- build -------------------------------------------------------------------------------------------
prefix=$(sed -n 's/^GPU_PREFIX = //p' "$build/Makefile")
cd "$work/build"
eval "$work/tree/configure -q $("$build/config.status" --config) CFLAGS='-O0 -Werror'" \
    ${prefix:+"--with-cudnn=$prefix"} >log 2>&1 || { cat log; fail "configure"; }
make -s -j2 fgc fgc-build standin/libcuda.so.1 >log 2>&1 || { tail -20 log; fail "build"; }
pass

# ---- every command knows it ----------------------------------------------------------------------------
./fgc ops positive | grep -q "positive part" || fail "fgc ops"
pass
./fgc -d desc "$work/positive.fg" | grep -q RELU_FWD || fail "fgc -d desc"
pass
python3 - "$work" <<'END' || fail "fgc run"
import struct, subprocess, sys
work = sys.argv[1]
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }"
head = head.ljust(128 - 10 - 1) + "\n"
x = [-1.5, -1.0, -0.25, 0.0, 0.125, 0.5, 1.0, 1.5]
with open(work + "/x.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<8f", *x))
subprocess.run(["./fgc", "run", "--reference", work + "/positive.fg", "-i", f"x={work}/x.npy", "-o", f"y={work}/y.npy"],
               check=True, stdout=subprocess.DEVNULL)
with open(work + "/y.npy", "rb") as f:
    y = struct.unpack("<8f", f.read()[-32:])
sys.exit(not all(b == max(a, 0) for a, b in zip(x, y)))
END
pass
if ! "$FGC" "$top/examples/conv_bias_relu/conv_bias_relu.fg" -q -o "$work/probe.plan" 2>/dev/null; then
    echo "$passed passed, 0 failed, 1 skipped"
    exit 0
fi
# The copy lies elsewhere: it takes the libraries that this fgc finds.
FGC_CUDNN=$("$FGC" doctor | sed -n 's/^cuDNN: [0-9.]*, //p')
export FGC_CUDNN
./fgc "$work/positive.fg" -q -o "$work/positive.plan" || fail "no plan"
./fgc show "$work/positive.plan" | grep -q 'graph positive_part' || fail "fgc show"
pass
echo "$passed passed, 0 failed, 0 skipped"
