#!/usr/bin/env python3
"""README's commands work as they stand: every indented one that begins with `build/fgc` or `cc` is run, in order,
in a folder with `build`, `examples` and `deps` in it; what needs a GPU is replaced by the interpreter, or by a scripted
device. The job for a CI is run too, on the examples as specifications. The links lead to files and headings that are
there.

The graph that README shows is examples/conv_bias_relu. Exit 77 without cuDNN. Environment: FGC, FGC_BUILD_DIR, srcdir."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FGC = os.path.abspath(os.environ.get("FGC", "./fgc"))
BUILD = os.path.abspath(os.environ.get("FGC_BUILD_DIR", "."))
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
sys.path.insert(0, os.path.join(TOP, "tests"))
import fakes  # noqa: E402

passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def links(text):
    headings = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    for where in re.findall(r"\]\(([^)]+)\)", text):
        check(where[1:] in headings if where.startswith("#") else os.path.exists(os.path.join(TOP, where)), f"the link to {where}")


def ci_job(text, folder):
    """The job passes, and fails for a plan with other bytes, a file that is not in canonical form and a mistake."""
    job = re.search(r"^```sh\n(.*?)^```", text, re.S | re.M)[1]
    specs = os.path.join(folder, "specs")
    os.mkdir(specs)
    os.symlink(FGC, os.path.join(folder, "fgc"))
    for name in ("conv_bias_relu", "linear_amax"):
        shutil.copy(os.path.join(TOP, "examples", name, name + ".fg"), specs)
    env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
    run = lambda script: subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, env=env)
    got = run(job.replace("sha256sum --check plans.sha256", "sha256sum plans/*.plan > plans.sha256"))
    check(got.returncode == 0, f"the job, to make the digests: {got.stdout}{got.stderr}")
    got = run(job)
    check(got.returncode == 0 and got.stdout.count(": OK") == 2, f"the job: {got.stdout}{got.stderr}")
    spec = os.path.join(specs, "conv_bias_relu.fg")
    with open(spec, encoding="utf-8") as f:
        whole = f.read()
    for what, change in (("other bytes", ("N = 32", "N = 16")), ("form", ("input  x", "input x")), ("a mistake", ("relu(acc", "rleu(acc"))):
        with open(spec, "w", encoding="utf-8") as f:
            f.write(whole.replace(*change))
        check(run(job).returncode != 0, f"the job lets pass: {what}")


def main():
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(TOP, "examples", "conv_bias_relu", "conv_bias_relu.fg"), encoding="utf-8") as f:
        example = f.read()
    shown = re.search(r"^```\n(fg 1\n.*?)^```", text, re.S | re.M)[1]
    bare = [re.sub(r"\s*#.*", "", line) for line in example.splitlines()]
    check([re.sub(r"\s*#.*", "", line) for line in shown.splitlines()] == bare, "README's graph is not the example")
    probe = subprocess.run([FGC, "doctor"], capture_output=True, text=True).stdout
    cudnn = re.search(r"^cuDNN: [0-9.]+, (/.*)$", probe, re.M)
    if not cudnn:
        print("no cuDNN here")
        return 77
    commands = re.sub(r"\\\n\s*", "", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    commands = [line.strip() for line in commands.splitlines() if line.startswith("    ")]
    check({"tools/setup", "tools/test"} <= set(commands), "the two commands")
    links(text)
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        ci_job(text, folder)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.dirname(FGC), os.path.join(folder, "build"))
        os.symlink(os.path.join(TOP, "examples"), os.path.join(folder, "examples"))
        os.symlink(os.path.dirname(os.path.dirname(cudnn[1])), os.path.join(folder, "deps"))
        for command in commands:
            words = shlex.split(command, comments=True)
            if not words or words[0].startswith("tools/"):
                continue
            env = dict(os.environ)
            if "./small" in words:
                gpu = [w for w in words if w.startswith("--out") or "y.npy" in w]
                check(len(gpu) == 2, f"the run on the GPU writes y: {command}")
                words = ["build/fgc", "run", "--reference", "examples/conv_bias_relu/conv_bias_relu.fg", "-D", "N=2",
                         "-i", "x=in/x.npy", "-i", "w=in/w.npy", "-i", "bias=in/bias.npy", "-o", "y=y.npy"]
            if words[:2] == ["build/fgc", "tune"]:
                words = [os.path.join(BUILD, "tests", "fgc-fake"), "tune", "--target", "nvidia-h200", "-q", *words[2:]]
                env["FGC_LIBEXEC"] = BUILD
            if words[:2] == ["build/fgc", "verify"]:
                words = [os.path.join(BUILD, "tests", "fgc-fake"), *words[1:]]
            if words[:2] == ["build/fgc", "bench"]:
                words += ["--target", "nvidia-h200", "--rounds", "2"]
                env.update(FGC_LIBEXEC=fakes.make(os.path.join(folder, "fakes")), FAKE_SHIM="/nowhere")  # unfused, a processor takes minutes
            output = words.index(">") if ">" in words else None
            got = subprocess.run(words[:output] + words[output + 2:] if output else words, cwd=folder, capture_output=True, text=True, env=env)
            if output:
                with open(os.path.join(folder, words[output + 1]), "w", encoding="utf-8") as f:
                    f.write(got.stdout)
            # Without a GPU, doctor may find something to mend.
            fine = got.returncode == 0 or "doctor" in words
            check(fine, f"{command}: exit status {got.returncode}\n{got.stdout}{got.stderr}")
            ran += 1
        check(ran >= 14, f"{ran} commands")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
