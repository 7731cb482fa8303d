#!/usr/bin/env python3
"""Where personality() is refused, as container runtimes do, a plan is built, with a warning, and the helper does
not start itself again without end. Exit 77 without cuDNN or x86_64's seccomp. Environment: FGC, srcdir."""
import ctypes
import os
import platform
import struct
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
EXAMPLE = os.path.join(TOP, "examples", "linear_amax", "linear_amax.fg")    # compiled at run time: two worlds


def refuse_personality():
    """A seccomp filter: personality (135) is EPERM, save with 0xffffffff, which asks."""
    rows = ((0x20, 0, 0, 0), (0x15, 0, 3, 135), (0x20, 0, 0, 16), (0x15, 1, 0, 0xffffffff), (0x06, 0, 0, 0x00050001),
            (0x06, 0, 0, 0x7fff0000))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *r) for r in rows))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        os._exit(77)


def main():
    if platform.machine() != "x86_64":
        print("the filter is x86_64's")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "x.plan")
        command = [FGC, EXAMPLE, "-q", "-o", plan]
        if subprocess.run(command, capture_output=True).returncode != 0:
            print("no plan can be built here")
            return 77
        os.remove(plan)
        del command[2]
        got = subprocess.run(command, capture_output=True, text=True, preexec_fn=refuse_personality, timeout=240)
        if got.returncode == 77:
            print("seccomp is refused here")
            return 77
        ok = got.returncode == 0 and os.path.exists(plan) and "maybe-not-reproducible" in got.stderr
        if not ok:
            print(f"exit status {got.returncode}\n{got.stderr}")
        return not ok


sys.exit(main())
