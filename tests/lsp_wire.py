"""A client of `fgc lsp` of a few lines: frames, a reader thread, the last diagnostics of each document.

For tests that need the bare protocol: broken frames, bursts, times. What an editor does is tested with a
client library in tests/cli/lsp.py."""
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time

LINE_END = re.compile(r"\r\n|\r|\n")


class Wire:
    def __init__(self, fgc, *arguments):
        self.process = subprocess.Popen([fgc, "lsp", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.errors = []
        self.messages = queue.Queue()
        self.diagnostics = {}      # uri -> params of the last publishDiagnostics
        self.last_id = 0
        self.threads = [threading.Thread(target=loop, daemon=True) for loop in (self.read_loop, self.error_loop)]
        for thread in self.threads:
            thread.start()

    def read_loop(self):
        out = self.process.stdout
        try:
            while True:
                length = None
                for line in iter(out.readline, b"\r\n"):
                    name, colon, value = line.partition(b": ")
                    if not line:
                        return
                    if name != b"Content-Length" or not colon or not line.endswith(b"\r\n"):
                        raise ValueError(f"not a header: {line!r}")
                    length = int(value)
                body = out.read(length)
                if len(body) != length:
                    raise ValueError("a message is cut short")
                self.messages.put(json.loads(body.decode("utf-8")))
        except (ValueError, TypeError) as e:
            self.messages.put({"broken": str(e)})
        finally:
            self.messages.put(None)

    def error_loop(self):
        for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace"))

    def busy(self):
        """Seconds that the server has had a processor: what it does on a machine that does much else."""
        with open(f"/proc/{self.process.pid}/schedstat") as f:
            return int(f.read().split()[0]) * 1e-9

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def receive(self, timeout=60):
        """The next message, None at the end; diagnostics are kept as well."""
        m = self.messages.get(timeout=timeout)
        if m and "broken" in m:
            raise ValueError(m["broken"])
        if m and m.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[m["params"]["uri"]] = m["params"]
        return m

    def request(self, method, params):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def answer(self, wanted):
        while True:
            m = self.receive()
            if m is None:
                raise EOFError(f"the server ended: {self.process.wait()} {''.join(self.errors)}")
            if m.get("id") == wanted and "method" not in m:
                return m

    def ask(self, method, params):
        m = self.answer(self.request(method, params))
        if "error" in m:
            raise RuntimeError(f"{method}: {m['error']}")
        return m["result"]

    def timed(self, method, params):
        start = time.monotonic()
        self.ask(method, params)
        return time.monotonic() - start

    def start(self, **capabilities):
        got = self.ask("initialize", {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities})
        self.notify("initialized", {})
        return got

    def open(self, uri, text, version=0):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "fg", "version": version,
                                                              "text": text}})

    def wait_for(self, uri, version):
        """The diagnostics of this version."""
        while self.diagnostics.get(uri, {}).get("version") != version:
            if self.receive() is None:
                raise EOFError(f"the server ended: {self.process.wait()} {''.join(self.errors)}")
        return self.diagnostics[uri]["diagnostics"]

    def ended(self):
        """Waits for the server's own end: its exit status, and what it wrote to standard error."""
        status = self.process.wait(timeout=60)
        for thread in self.threads:
            thread.join(60)
        return status, "".join(self.errors)

    def stop(self):
        """shutdown and exit; the exit status."""
        self.ask("shutdown", None)
        self.notify("exit", None)
        status, _ = self.ended()
        self.process.stdin.close()
        return status

    def memory(self):
        """Resident KiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def position(text, at):
    """Of the at-th code point, in UTF-16 units."""
    lines = LINE_END.split(text[:at])
    return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}


def as_printed(text, name, diagnostics):
    """What `fgc check` prints of them, without the excerpts: a sorted list of lines."""
    words = {1: "error", 2: "warning", 3: "note"}

    def place(r, uri=None):
        path = uri[len("file://"):] if uri else name
        with open(path, encoding="utf-8", newline="") as f:
            own = text if path == name else f.read()
        lines = LINE_END.split(own)
        line, unit = r["start"]["line"], r["start"]["character"]
        column = len(lines[line].encode("utf-16-le")[:2 * unit].decode("utf-16-le"))
        if line == 0 and own.startswith("\ufeff") and column > 0:
            column -= 1
        return f"{path}:{line + 1}:{column + 1}"

    out = []
    for d in diagnostics:
        first, *more = d["message"].split("\n")
        if d["code"] == "too-many-errors":
            out.append("fgc: error: more than 20 errors; the rest is not shown [too-many-errors]")
            continue
        related = [(r["message"], place(r["location"]["range"], r["location"]["uri"])) for r in d.get("relatedInformation", [])]
        at = place(d["range"])
        if related and related[0][0] == "in this file":     # of an import: the place in its own file
            at = related.pop(0)[1]
        out.append(f"{at}: {words[d['severity']]}: {first} [{d['code']}]")
        out += ["  " + m for m in more]
        out += [f"{where}: note: {message}" for message, where in related]
    return sorted(out)


def checked(fgc, path):
    """The lines of `fgc check` in the same form."""
    got = subprocess.run([fgc, "check", path], capture_output=True)
    err = got.stderr.decode(errors="replace")
    keep = [line for line in err.split("\n") if line and not re.match(r" *\d+ \| | +\| ", line)]
    return got.returncode, sorted(keep)


def fail(text):
    print(f"FAIL {text}")
    sys.stdout.flush()
