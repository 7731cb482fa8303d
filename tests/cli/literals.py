#!/usr/bin/env python3
"""Numbers are read exactly, or refused where they stand; no locale changes that.

Integers round 2^31, 2^32, 2^62 and 2^63 in every spelling against Python's; reals of random bit patterns in
several spellings against Python's float; what is printed reads back as the same number. Each is also tried
under the locales of the machine that write a decimal comma. Usage: literals.py [fgc]; the program defaults
to $FGC, then ./fgc; SEED in the environment repeats a run."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

FGC = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FGC", "./fgc"))
SEED = int(os.environ.get("SEED", random.randrange(1 << 32)))
MOST = 2 ** 63 - 1
rng = random.Random(SEED)
failures = []


def fgc(args, text, locale=None):
    env = dict(os.environ, LC_ALL=locale) if locale else None
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "n.fg"), "w") as f:
            f.write(text)
        return subprocess.run([FGC, *args, "n.fg"], cwd=folder, capture_output=True, text=True, env=env, timeout=60)


def underscored(digits):
    return "".join(d + ("_" if i + 1 < len(digits) and rng.random() < 0.3 else "") for i, d in enumerate(digits))


def integers():
    values = [0, 1, 9, 10]
    for power in (31, 32, 62, 63, 64):
        values += [2 ** power + d for d in range(-3, 4)]
    values += [rng.randrange(2 ** rng.randrange(1, 70)) for _ in range(300)]
    for v in values:
        spellings = [str(v), hex(v), hex(v).upper().replace("X", "x"), hex(v).replace("x", "X")]
        if v:
            spellings += [underscored(str(v)), "0x" + underscored(hex(v)[2:])]
        for s in spellings:
            yield s, v


def reals():
    for _ in range(1500):
        x = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(63)))[0]
        if x != x or x in (float("inf"), 0.0):
            continue
        yield repr(x) if re.search(r"[.e]", repr(x)) else repr(x) + ".0"
        yield f"{x:.16e}"
        yield f"{x:.3e}"
    yield from ("0.1", "0.5", "1.0", "1e3", "1E+3", "1e-3", "123456789.123456789", "9007199254740993.0", "0.0", "0e0",
                "1.7976931348623157e308", "1.7976931348623159e308", "2.2250738585072014e-308", "5e-324", "2e-324", "1e999",
                "1e-400", "1e309", "0.0000e-999", "0.000000000000000000000000000000000000001")


def check_values(kind, pairs, locale):
    """Those that must be read, all in one file, one list each; then those that must be refused."""
    good = [(s, v) for s, v in pairs if v is not None]
    text = "fg 1\n" + "".join(f"const c{i} = {s}\n" for i, (s, _) in enumerate(good))
    p = fgc(["-d", "ast"], text, locale)
    if p.returncode != 0:
        failures.append(f"{kind} {locale}: {p.stderr[:300]}")
        return
    printed = re.findall(r"^const c\d+ = (\S+)$", p.stdout, re.M)
    if len(printed) != len(good):
        failures.append(f"{kind} {locale}: {len(good)} written, {len(printed)} read")
    for (s, v), out in zip(good, printed):
        back = int(out) if kind == "integers" else float(out)
        if back != v or (kind == "reals" and re.fullmatch(r"\d+", out)):
            failures.append(f"{kind} {locale}: {s} is {v!r}, printed {out}")
    again = fgc(["-d", "ast"], "fg 1\n" + "".join(f"const c{i} = {o}\n" for i, o in enumerate(printed)), locale)
    if again.stdout != p.stdout:
        failures.append(f"{kind} {locale}: what was printed does not read back")
    refused = [s for s, v in pairs if v is None]
    for i in range(0, len(refused), 15):
        some = refused[i:i + 15]
        p = fgc(["-d", "ast"], "fg 1\n" + "".join(f"const c = {s}\n" for s in some), locale)
        places = re.findall(r"^n\.fg:(\d+):(\d+): error: .*\[number-range\]$", p.stderr, re.M)
        if p.returncode != 1 or places != [(str(k + 2), "11") for k in range(len(some))]:
            failures.append(f"{kind} {locale}: {some} must be refused, each at its place: {p.stderr[:300]}")


def malformed():
    for s in ["007", "00", "0_1", "1_", "1__0", "0x", "0xg", "0x_1", "0x1_", "1.", ".5", "1.e5", "1e", "1e+", "1e5.0", "1.2.3",
              "1.5f", "10u", "1x", "0b1", "0o7", "1.0_", "1._0", "0x1.8p3", "01.5"]:
        p = fgc(["-d", "ast"], f"fg 1\nconst c = {s}\nconst d = = 1\n")
        places = re.findall(r"^n\.fg:(\d+):\d+: error: ", p.stderr, re.M)
        if p.returncode != 1 or "2" not in places or "3" not in places or len(places) > 3:
            failures.append(f"{s} must be one error, and the next line is still read: {p.stderr[:300]}")
    for s in ["nan", "inf", "-inf", "-1"]:  # names and an operator, no literals
        p = fgc(["-d", "ast"], f"fg 1\nconst c = {s}\n")
        if p.returncode != 0:
            failures.append(f"{s}: {p.stderr}")


def real_value(s):
    x = float(s)
    vanished = x == 0 and re.search(r"[1-9]", re.split("[eE]", s)[0])
    return None if x == float("inf") or vanished else x


ints = [(s, v if v <= MOST else None) for s, v in integers()]
floats = [(s, real_value(s)) for s in reals()]
have = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split() if os.path.exists("/usr/bin/locale") else []
locales = [None, "C"] + [n for n in have if re.match(r"(de|fr|nl|ru|es|it)_", n)][:3] + ["de_DE.UTF-8"]
for locale in locales:
    check_values("integers", ints, locale)
    check_values("reals", floats, locale)
malformed()
print("\n".join(failures[:20]))
print(f"numbers: seed {SEED}, {len(ints)} integers, {len(floats)} reals, locales {locales}: {len(failures)} failed")
sys.exit(1 if failures else 0)
