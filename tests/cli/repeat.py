#!/usr/bin/env python3
"""What failed without being the text's fault ends with `repeat: COMMAND`, and COMMAND repeats it; a fault of fgc's own
does so with exit status 70. `fgc bundle` packs what repeats a compilation, with no path of this machine's in it.

The project lies in a folder with blanks and quotes below a home of its own, whose name no file of an archive may hold.
Environment: FGC, srcdir."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
# Read, and of no matter to what is built.
TOLD = {"NO_COLOR", "TMPDIR", "HOME", "XDG_CACHE_HOME", "FGC_TEST_FAULT"}
GOOD = """fg 1

graph g() {
    input  x : bf16[1, 8, 4, 4] channels_last
    input  w : bf16[8, 8, 1, 1] channels_last
    output y : bf16[1, 8, 4, 4] channels_last
    y = conv(x, w)
}
"""
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)
    return ok


class Project:
    def __init__(self, folder):
        self.home = os.path.join(folder, "home", "somebody-else")
        self.at = os.path.join(self.home, "a 'project' $HOME")
        os.makedirs(self.at)
        self.env = {k: v for k, v in os.environ.items() if k not in ("FGC_CUDNN", "FGC_CUDA", "LD_LIBRARY_PATH")}
        self.env.update(HOME=self.home, USER="somebody-else", LOGNAME="somebody-else", FGC_NO_PYTHON="1")
        self.env.update({k: os.environ[k] for k in ("FGC_CUDNN", "FGC_CUDA", "LD_LIBRARY_PATH") if os.environ.get(k)})

    def write(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.at, name)), exist_ok=True)
        with open(os.path.join(self.at, name), "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, *args, env=None, cwd=None):
        r = subprocess.run([FGC, *args], capture_output=True, text=True, cwd=cwd or self.at, env=dict(self.env, **(env or {})))
        return r.returncode, r.stdout, r.stderr


def repeats(p):
    p.write("model.fg", GOOD)
    nowhere = os.path.join(p.home, "no 'such' folder")
    for what, args, env in (("cuDNN is not there", ["model.fg", "-o", "a b.plan"], {"FGC_CUDNN": nowhere}),
                            ("the plan cannot be written", ["model.fg", "-q", "-o", "no/such/folder.plan", "--cudnn", nowhere], {}),
                            ("a description is not there", ["model.fg", "-o", "x.plan", "--target", "it's $missing.json"], {})):
        code, _, err = p.run(*args, env=env)
        line = re.findall(r"^repeat: (.*)$", err, re.M)
        if not check(code == 3 and len(line) == 1 and err.endswith(line[0] + "\n"), f"{what}: exit status {code}\n{err}"):
            continue
        again = subprocess.run(["sh", "-c", line[0]], capture_output=True, text=True, cwd=p.at, env={"PATH": os.environ["PATH"]})
        check((again.returncode, again.stderr.split("repeat:")[0]) == (3, err.split("repeat:")[0]),
              f"{what}: {line[0]}\ngives {again.returncode}\n{again.stderr}and not\n{err}")
    p.write("wrong.fg", "fg 1\nnonsense\n")
    for args in (["check", "wrong.fg"], ["--nonsense"]):
        code, _, err = p.run(*args)
        check(code in (1, 2) and "repeat:" not in err, f"a mistake has its place and needs no repetition: {err}")


def faults(p):
    """A fault while fgc waits for its text."""
    if "ASAN_OPTIONS" in os.environ:
        return          # the sanitizer reports these
    for number in (signal.SIGABRT, signal.SIGSEGV):
        fgc = subprocess.Popen([FGC, "check", "-", "--Werror"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=p.at, env=p.env)
        while fgc.poll() is None:
            with open(f"/proc/{fgc.pid}/stat", encoding="utf-8") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "S":    # it waits
                    break
        fgc.send_signal(number)
        _, err = fgc.communicate()
        check(fgc.returncode == 70 and "a bug in fgc" in err and re.search(r"^repeat: .*fgc check - --Werror$", err, re.M),
              f"signal {number}: exit status {fgc.returncode}: {err}")


def variables():
    """Each variable that the program reads is in the line, or is known to be of no matter."""
    read = set()
    for at, _, names in os.walk(os.path.join(TOP, "src")):
        for name in names:
            if name.endswith(".c") and not at.endswith(("runtime", "build")):
                with open(os.path.join(at, name), encoding="utf-8") as f:
                    text = f.read()
                read |= set(re.findall(r'getenv\("(\w+)"\)', text)) | set(re.findall(r'search\(.*"(FGC_\w+)"', text))
    with open(os.path.join(TOP, "src", "driver", "repeat.c"), encoding="utf-8") as f:
        told = set(re.findall(r'"(\w+)"', re.search(r"matters\[\] = \{(.*?)\};", f.read(), re.S)[1]))
    check({"FGC_CUDNN", "FGC_CUDA", "FGC_LIBEXEC"} <= read and read - TOLD <= told, f"not in the repeated command: {sorted(read - TOLD - told)}")


def unpack(p, archive, folder):
    with zipfile.ZipFile(archive) as z:
        for name in z.namelist():
            check(not name.startswith("/") and ".." not in name, f"the archive has '{name}'")
            data = z.read(name)
            for secret in (p.home, p.at, "somebody-else", os.path.dirname(FGC), tempfile.gettempdir() + "/", "/usr/"):
                check(secret.encode() not in data, f"'{name}' names '{secret}'")
        z.extractall(folder)
        return {name: z.read(name).decode() for name in z.namelist()}


def one_bundle(p, what, args, status, cudnn=True, env=None):
    """Packs, looks through the archive, unpacks it elsewhere, and repeats what it holds."""
    archive, folder = os.path.join(p.at, "x.zip"), tempfile.mkdtemp(dir=os.path.dirname(os.path.dirname(p.home)))
    code, out, err = p.run("bundle", *args, "-o", "x.zip", env=env)
    if not check(code == 0 and f"exit status {status}" in out, f"{what}: exit status {code}: {out}{err}"):
        return {}
    files = unpack(p, archive, folder)
    for name in ("repro.sh", "README.txt", "versions.txt", "doctor.txt", "log.txt"):
        check(name in files, f"{what}: no '{name}' in {sorted(files)}")
    log = files["log.txt"]
    check(log.endswith(f"exit status {status}\n"), f"{what}: the log is\n{log}")
    os.chmod(os.path.join(folder, "repro.sh"), 0o755)
    r = subprocess.run(["./repro.sh"], capture_output=True, text=True, cwd=folder, env=dict(p.env, FGC=FGC, **(env or {})))
    said = r.stdout + re.sub(r"^repeat: .*\n", "", r.stderr, flags=re.M).replace(p.home, "...")
    check(r.returncode == status and said == log.replace(f"exit status {status}\n", ""), f"{what}: repro.sh: {r.returncode}\n{said}and not\n{log}")
    check(not cudnn or any(n.startswith("request-") for n in files), f"{what}: no request in {sorted(files)}")
    os.remove(archive)
    return files


def bundles(p):
    with open(os.path.join(TOP, "tests", "compile", "refused-tf32.fg"), encoding="utf-8") as f:
        p.write("deep/er/refused.fg", f.read())
    p.write("wrong.fg", "fg 1\n\ngraph g() {\n    input x : f32[2]\n    output y : f32[2]\n    y = rleu(x)\n}\n")
    shutil.copy(os.path.join(TOP, "targets", "nvidia-h200.json"), os.path.join(p.at, "ours.json"))
    files = one_bundle(p, "a mistake", ["wrong.fg"], 1, cudnn=False)
    check("rleu" in files.get("source/wrong.fg", "") and "rleu" in files.get("log.txt", ""), f"a mistake: {files}")
    one_bundle(p, "no cuDNN", ["model.fg"], 3, env={"FGC_CUDNN": os.path.join(p.home, "nothing here")})
    code, _, err = p.run("bundle", "missing.fg", "-o", "x.zip")
    check(code == 3 and "missing.fg" in err and not os.path.exists(os.path.join(p.at, "x.zip")), f"no text: {code} {err}")
    code, _, err = p.run("bundle", "model.fg", "-o", "no/such/x.zip")
    check(code == 3 and "no/such/x.zip" in err, f"no place: {code} {err}")
    check(not [f for f in os.listdir(tempfile.gettempdir()) if f.startswith("fgc-bundle-")], "a folder is left")
    doctor = subprocess.run([FGC, "doctor"], capture_output=True, text=True).stdout
    if not re.search(r"^cuDNN: \d", doctor, re.M):
        return False
    files = one_bundle(p, "a refusal", ["deep/er/refused.fg", "--deterministic", "--target", "ours.json", "--launcher", "made.c"], 3)
    check("target/ours.json" in files and "no engine" in files.get("log.txt", ""), f"a refusal: {sorted(files)}\n{files.get('log.txt')}")
    check("--deterministic" in files.get("repro.sh", ""), files.get("repro.sh"))
    one_bundle(p, "all is well", ["model.fg", "--plans", "first", "--workspace-limit", "1M"], 0)
    return True


def main():
    with tempfile.TemporaryDirectory() as folder:
        p = Project(folder)
        repeats(p)
        faults(p)
        variables()
        built = bundles(p)
    if not built:
        print("no cuDNN: nothing was built")
    print(f"{passed} passed, {failed} failed, {int(not built)} skipped")
    return failed != 0


sys.exit(main())
