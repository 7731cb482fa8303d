#!/usr/bin/env python3
"""The digests in tests/unit/test_op.c: FNV-1a of the f64 values of every code of a type, as numpy and ml_dtypes read it.

NaN counts as 0x7ff8000000000000 whatever its payload. Needs numpy and ml_dtypes; exits 77 without them.

    op_digests.py          says whether the test holds these rows; the last line is `N passed, N failed, N skipped`
    op_digests.py --print  prints the rows"""
import os
import sys

try:
    import ml_dtypes
    import numpy as np
except ImportError:
    print("numpy or ml_dtypes is not here")
    sys.exit(77)

TEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "test_op.c")
TYPES = (("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("e4m3", ml_dtypes.float8_e4m3fn),
         ("e5m2", ml_dtypes.float8_e5m2), ("e8m0", ml_dtypes.float8_e8m0fnu), ("i8", np.int8), ("u8", np.uint8))


def digest(dtype):
    bits = np.dtype(dtype).itemsize * 8
    codes = np.arange(1 << bits, dtype=f"u{bits // 8}")
    values = codes.view(dtype).astype(np.float32).astype(np.float64)
    words = np.where(np.isnan(values), np.uint64(0x7ff8 << 48), values.view(np.uint64))
    h = 0xcbf29ce484222325
    for byte in words.astype("<u8").tobytes():
        h = (h ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return h


def main():
    np.seterr(invalid="ignore")
    rows = [f"{{DT_{name}, UINT64_C(0x{digest(dtype):016x})}}," for name, dtype in TYPES]
    if "--print" in sys.argv[1:]:
        print("\n".join(rows))
        return 0
    with open(TEST, encoding="utf-8") as f:
        text = f.read()
    missing = [row for row in rows if row not in text]
    for row in missing:
        print(f"FAILED: not in {TEST}: {row}")
    print(f"{len(rows) - len(missing)} passed, {len(missing)} failed, 0 skipped")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
