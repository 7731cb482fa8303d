#!/usr/bin/env python3
"""What shells complete is what the program takes: bash is asked for words as at a prompt; zsh's and fish's scripts name every
option of every command, and are read by their shells where those are installed. Environment: FGC."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def fgc(*args):
    return subprocess.run([FGC, *args], capture_output=True, text=True, timeout=60)


def help_of(command):
    return sorted(re.findall(r"^  (?:-\w,|   ) --([\w-]+)", fgc(command, "--help").stdout, re.M))


def bash(script, words, folder):
    """The completions of the last of the words, as bash's readline sets the scene: '=' is a word of its own."""
    text = f"source {script}\nCOMP_WORDS=({' '.join(words)})\nCOMP_CWORD={len(words) - 1}\n_fgc\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    r = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, cwd=folder)
    check(r.returncode == 0 and not r.stderr, f"{words}: {r.stderr}")
    return sorted(w for w in r.stdout.split("\n") if w)


def main():
    commands = re.findall(r"^  (\w+) +\S", fgc("--help").stdout.split("options:")[0].split("commands")[1], re.M)
    check(len(commands) > 10 and "completion" in commands, commands)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        script = os.path.join(folder, "fgc.bash")
        with open(script, "w") as f:
            f.write(fgc("completion", "bash").stdout)
        for name in ("model.fg", "a b.fg"):
            open(os.path.join(folder, name), "w").close()
        files = ["a b.fg", "fgc.bash", "model.fg"]
        ask = lambda *words: bash(script, ["fgc", *words], folder)
        check(ask("''") == sorted(commands + files), ask("''"))
        check(ask("che") == ["check"] and ask("mod") == ["model.fg"], ask("che"))
        for c in commands:
            check(ask(c, "--") == sorted("--" + o for o in help_of(c)), f"options of {c}: {ask(c, '--')}")
        check(ask("--launcher-m") == ["--launcher-main"] and ask("model.fg", "--targ") == ["--target"], "without a command")
        check(ask("check", "mo") == ["model.fg"] and ask("check", "x.fg", "''") == files, "files")
        check(ask("--search", "''") == ask("--search", "=") == ["exhaustive", "heuristic"], ask("--search", "="))
        check(ask("--search", "=", "ex") == ["exhaustive"] and ask("tune", "--progress", "l") == ["line"], "choices")
        check(ask("check", "--junit", "=", "mod") == ["model.fg"] and ask("-o", "mod") == ["model.fg"], "an option's file")
        check(ask("completion", "''") == ["bash", "fish", "zsh"] and ask("ops", "conv") == ["conv"], "operands")
        check("shape-mismatch" in ask("explain", "shape") and all(fgc("explain", i).returncode == 0 for i in ask("explain", "sh")), "ids")
        done = subprocess.run(["bash", "--norc", "-c", f"source {script}; complete -p fgc"], capture_output=True, text=True)
        check("_fgc" in done.stdout, "complete -p")
        for shell in ("zsh", "fish"):
            got = fgc("completion", shell)
            path = os.path.join(folder, shell)
            with open(path, "w") as f:
                f.write(got.stdout)
            for c in commands:
                if shell == "zsh":
                    part = re.search(rf"^    {c}\)\n(.*?) ;;$", got.stdout, re.M | re.S).group(1)
                    found = re.findall(r"^ +'\*--([\w-]+)", part, re.M)
                else:
                    part = [x for x in got.stdout.split("\n") if re.search(rf"_from {c}['\"]", x)]
                    found = [m.group(1) for x in part for m in [re.search(r" -l ([\w-]+)", x)] if m]
                check(sorted(found) == help_of(c), f"{shell}: {c}: {sorted(set(found) ^ set(help_of(c)))}")
            quotes = [x for x in got.stdout.replace("'\\''", "").replace("\\'", "").split("\n") if x.count("'") % 2]
            check(not quotes, f"{shell}: a quote without its other: {quotes}")
            if shutil.which(shell):
                r = subprocess.run([shell, "-n", path], capture_output=True, text=True)
                check(r.returncode == 0, f"{shell}: {r.stderr}")
    for args in ((), ("tcsh",), ("bash", "zsh")):
        got = fgc("completion", *args)
        check(got.returncode == 2 and not got.stdout and "[usage]" in got.stderr, f"completion {args}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
