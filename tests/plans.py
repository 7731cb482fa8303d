"""One build of a specification for all tests of a run that need its plan and do not test the building of it.

get(fgc, spec, path) copies the plan of a .fg file to path, built with no option but -o. It is kept in the folder
$FGC_TEST_PLANS under a digest of the text, and built here when it is not there; without that variable it is built
anew. Two that ask at once do not build it twice."""
import fcntl
import hashlib
import os
import shutil
import subprocess


def build(fgc, spec, path):
    return subprocess.run([fgc, os.path.basename(spec), "--target", "nvidia-h200", "-q", "-o", os.path.abspath(path)],
                          cwd=os.path.dirname(os.path.abspath(spec)), capture_output=True, text=True, stdin=subprocess.DEVNULL)


def get(fgc, spec, path):
    """The finished process: of the build, or one that did nothing."""
    folder = os.environ.get("FGC_TEST_PLANS")
    if not folder:
        return build(fgc, spec, path)
    with open(spec, "rb") as f:
        kept = os.path.join(folder, hashlib.sha256(f.read()).hexdigest())
    with open(kept + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.CompletedProcess([fgc, spec], 0, "", "")
        if not os.path.exists(kept):
            done = build(fgc, spec, kept + ".part")
            if done.returncode != 0:
                return done
            os.rename(kept + ".part", kept)
    shutil.copy(kept, path)
    return done
