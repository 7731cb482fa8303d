#!/usr/bin/env python3
"""Every example's launcher under compute-sanitizer's memcheck, racecheck and initcheck, at small sizes.

    sanitizers.py [--fgc FILE] [--out DIR] [--commit HASH]

Needs a GPU, compute-sanitizer and what run.py needs; exits 77 without them. Inputs are random, outputs poisoned.
A race counts as cuDNN's own, and the row says so, when PyTorch's call of the same kernel is reported to have exactly
the same, at the same instructions.
The sizes below keep racecheck, which follows each access to shared memory, within minutes. Results go to
DIR/sanitizers.md; the last line is `N passed, N failed, N skipped`."""
import argparse
import concurrent.futures
import datetime
import glob
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run as device  # noqa: E402

TOOL = "/usr/local/cuda/bin/compute-sanitizer"
CLEAN = {"memcheck": "ERROR SUMMARY: 0 errors", "racecheck": "RACECHECK SUMMARY: 0 hazards", "initcheck": "ERROR SUMMARY: 0 errors"}
TORCH_SDPA = """
import torch
from torch.nn.attention import sdpa_kernel, SDPBackend
q, k, v = (torch.randn(1, 512, h, 128, dtype=torch.bfloat16, device="cuda").transpose(1, 2) for h in (4, 1, 1))
with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
torch.cuda.synchronize()
"""
SMALL = {"conv_bias_relu": ["N=1"], "linear_amax": ["B=1", "M=64", "K=64", "N=64"], "attention_causal": ["B=1", "H=4", "HKV=1"]}


def races(text):
    return {x.split("Error: ")[1] for x in text.splitlines() if "Race reported" in x}


def races_of_torch(machine):
    r = machine.run(TOOL, "--tool", "racecheck", sys.executable, "-c", TORCH_SDPA, timeout=240)
    return races(r.stdout + r.stderr)


def examine(machine, spec, known):
    name = os.path.basename(spec)[:-3]
    case = device.Case(machine, name, path=spec, defines=SMALL.get(name, []))
    why = case.build()
    if why:
        return device.row(name, False, why[:600])
    chosen = ["--variant", "S=512"] if name == "attention_causal" else []
    for tool, clean in CLEAN.items():
        r = machine.run(TOOL, "--tool", tool, "--error-exitcode", "9", os.path.join(case.where, "m"), "--poison", *chosen, timeout=240)
        text = r.stdout + r.stderr
        found = races(text)
        last = text.strip().splitlines()[-1].lstrip("= ") if text.strip() else "no answer"
        if tool == "racecheck" and found and found <= known.result():
            device.row(f"{name} {tool}", True, f"{last}; PyTorch's call of cuDNN has the same: " + "; ".join(sorted(found)))
        else:
            device.row(f"{name} {tool}", r.returncode == 0 and clean in text, "; ".join([last] + sorted(found)))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--fgc", default=os.environ.get("FGC", "./fgc"))
    p.add_argument("--out", default=".")
    p.add_argument("--commit", default="?")
    args = p.parse_args()
    if device.torch is None or not device.torch.cuda.is_available() or not os.path.exists(TOOL):
        print("no GPU that python3's torch can use, or no compute-sanitizer")
        return 77
    with tempfile.TemporaryDirectory(prefix="fgc-device-") as folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
        machine = device.Machine(os.path.abspath(args.fgc), folder)
        known = pool.submit(races_of_torch, machine)
        for spec in sorted(glob.glob(os.path.join(device.TOP, "examples", "*", "*.fg"))):
            pool.submit(device.guard, examine, machine, spec, known)
        pool.shutdown(wait=True)
    count = lambda v: sum(r["verdict"] == v for r in device.rows)
    with open(os.path.join(args.out, "sanitizers.md"), "w") as f:
        f.write(f"# compute-sanitizer on every example\n\n- date: {datetime.date.today()}\n- commit: {args.commit}\n- gpu: {device.torch.cuda.get_device_name(0)}\n\n"
                "Made by `tests/device/sanitizers.py`.\n\n| check | verdict | measured |\n|---|---|---|\n")
        for r in sorted(device.rows, key=lambda r: r["name"]):
            f.write(f"| {r['name']} | {r['verdict']} | {r['detail'].replace('|', '/')} |\n")
    print(f"{count('pass')} passed, {count('FAIL')} failed, {count('skip')} skipped")
    return 1 if count("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
