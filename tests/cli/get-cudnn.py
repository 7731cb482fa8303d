#!/usr/bin/env python3
"""tools/get-cudnn against an index of this test's own: what is cut off goes on, what is false is refused, and
the folder is whole or absent. Nothing leaves this machine. Environment: srcdir."""
import hashlib
import http.server
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import threading
import zipfile

TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
passed = failed = 0


def check(ok, what):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAIL", what)


def wheel(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in entries.items():
            z.writestr(name, data)
    return out.getvalue()


class Index:
    """Serves `files`; `cut` ends that many answers of wheels after half of what they promise."""

    def __init__(self, files):
        self.files, self.cut, self.ranges, self.asked = files, 0, True, []
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                parts = self.path.strip("/").split("/")
                if parts[0] == "simple":
                    file, data, digest = next((f, d, h) for p, f, d, h in index.files if p == parts[1])
                    body, status, extra = f'<a href="/files/{file}#sha256={digest}">{file}</a>'.encode(), 200, {}
                else:
                    data = next(d for _, f, d, _ in index.files if f == parts[1])
                    asked = self.headers.get("Range")
                    index.asked.append((parts[1], asked))
                    start = int(asked[len("bytes="):-1]) if asked and index.ranges else 0
                    if start >= len(data):
                        self.send_error(416)
                        return
                    body, status, extra = data[start:], 200, {}
                    if start:
                        status, extra = 206, {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
                self.send_response(status)
                for k, v in dict(extra, **{"Content-Length": str(len(body))}).items():
                    self.send_header(k, v)
                self.end_headers()
                if parts[0] != "simple" and index.cut > 0:
                    index.cut -= 1
                    body = body[:len(body) // 2]
                self.wfile.write(body)
                self.close_connection = True

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/simple/"


def load(url, files):
    """The tool, with the index's files for its pins and without pip."""
    loader = importlib.machinery.SourceFileLoader("get_cudnn", os.path.join(TOP, "tools", "get-cudnn"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("get_cudnn", loader))
    loader.exec_module(tool)
    tool.INDEX, tool.by_pip = url, lambda wheel, folder: False
    tool.WHEELS = tuple((p, "1.0", f, h) for p, f, _, h in files)
    return tool


def call(tool, folder, *options):
    """Its exit status, and what it says of a failure."""
    old, sys.argv = sys.argv, ["get-cudnn", *options, folder]
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        tool.main()
        return 0, ""
    except SystemExit as e:
        return 1, str(e.code)
    finally:
        sys.argv, sys.stdout = old, out


def main():
    os.environ["no_proxy"] = "127.0.0.1"
    sys.dont_write_bytecode = True
    noise = os.urandom(40000)
    a = wheel({"nvidia/cudnn/lib/libcudnn.so.9": noise, "nvidia/cudnn/include/cudnn.h": b"/* */",
               "nvidia/cudnn/lib/libcudnn.alt.so": b"no", "../up": b"no", "x.dist-info/licenses/LICENSE.txt": b"terms"})
    b = wheel({"nvidia/cuda/lib/libcudart.so.13": noise[::-1], "nvidia/cuda/include/sub/x.h": b"/* x */"})
    files = [(p, p + ".whl", d, hashlib.sha256(d).hexdigest()) for p, d in (("a", a), ("b", b))]
    index = Index(files)
    tool = load(index.url, files)
    with tempfile.TemporaryDirectory() as top:
        deps = os.path.join(top, "deps")

        # ---- cut off in every try: nothing in place, the halves are kept and continued ----
        index.cut = 3
        status, said = call(tool, deps)
        check(status == 1 and "cut off" in said, f"three cuts: {said}")
        check(os.listdir(top) == ["deps.part"], f"after three cuts: {os.listdir(top)}")
        starts = [r for f, r in index.asked if f == "a.whl"]
        check(starts[0] is None and len(starts) == 3 and None not in starts[1:], f"each try goes on: {starts}")
        kept = os.path.getsize(os.path.join(deps + ".part", "a.whl.part"))
        index.asked.clear()
        index.cut = 1
        status, said = call(tool, deps)
        check(status == 0, said)
        check(index.asked[0] == ("a.whl", f"bytes={kept}-"), f"the next run goes on: {index.asked}")
        check(os.listdir(top) == ["deps"], f"nothing beside it: {os.listdir(top)}")
        found = sorted(os.path.relpath(os.path.join(at, f), deps) for at, _, names in os.walk(deps) for f in names)
        check(found == ["include/cudnn.h", "include/sub/x.h", "lib/libcudart.so", "lib/libcudart.so.13", "lib/libcudnn.so",
                        "lib/libcudnn.so.9", "licenses/a", "wheels.json"], f"files: {found}")
        with open(os.path.join(deps, "lib", "libcudnn.so"), "rb") as f:
            check(f.read() == noise, "the library's bytes")

        # ---- complete: nothing is asked for ----
        index.asked.clear()
        check(call(tool, deps) == (0, "") and not index.asked, f"a complete folder asks for {index.asked}")
        check(call(tool, deps, "--force") == (0, "") and len(index.asked) == 2, f"--force asks for {index.asked}")

        # ---- a run that ended after the first wheel: it is not fetched again ----
        other = os.path.join(top, "other")
        os.mkdir(other + ".part")
        with open(os.path.join(other + ".part", "a.whl"), "wb") as f:
            f.write(a)
        index.asked.clear()
        check(call(tool, other) == (0, "") and [f for f, _ in index.asked] == ["b.whl"], f"fetched: {index.asked}")

        # ---- a half that belongs to other bytes, whole files that do, a server without ranges ----
        for name, data, ranges in (("a.whl.part", b"?" * 1000, True), ("a.whl", b"?" * 1000, True),
                                   ("a.whl.part", a[:999], False), ("a.whl.part", a, True)):
            at = os.path.join(top, f"{name}-{len(data)}-{ranges}")
            os.mkdir(at + ".part")
            with open(os.path.join(at + ".part", name), "wb") as f:
                f.write(data)
            index.ranges = ranges
            check(call(tool, at) == (0, ""), f"{name} of {len(data)} bytes, ranges {ranges}")
        index.ranges = True

        # ---- bytes that are not the pinned ones ----
        index.files[1] = ("b", "b.whl", b[:-1] + b"?", files[1][3])
        false = os.path.join(top, "false")
        status, said = call(tool, false)
        check(status == 1 and "SHA-256" in said and not os.path.exists(false), f"false bytes: {said}")

        # ---- a folder of somebody else's, and two at once ----
        mine = os.path.join(top, "mine")
        os.mkdir(mine)
        status, said = call(tool, mine)
        check(status == 1 and os.listdir(mine) == [], f"another's folder: {said}")
        busy = os.path.join(top, "busy")
        os.mkdir(busy + ".part")
        holder = subprocess.Popen(["flock", "-x", busy + ".part", "sh", "-c", "echo held; read x"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        holder.stdout.readline()
        status, said = call(tool, busy)
        check(status == 1 and "another one" in said, f"two at once: {said}")
        holder.communicate(b"\n")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
