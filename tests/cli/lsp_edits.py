#!/usr/bin/env python3
"""`fgc lsp` under stress: random edits, half-written files, broken frames, times and memory.

After 1,000 seeded edits of each of several files, with questions in between, the last diagnostics are those
that `fgc check` prints for the text at hand. Every prefix of an example is opened and asked about. Answers
for a file of 1,000 lines take less than 50 ms (the median; the largest is printed). Environment: FGC, srcdir."""
import glob
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile

TOP = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests"))
from lsp_wire import Wire, as_printed, checked, fail, position  # noqa: E402

FGC = os.environ.get("FGC", "./fgc")
ASKED = ["hover", "completion", "definition", "references", "documentSymbol", "signatureHelp", "formatting",
         "documentHighlight", "prepareRename"]
passed = failed = 0


def check(ok, text):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        fail(text)


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def corpus():
    paths = sorted(glob.glob(os.path.join(TOP, "examples", "*", "*.fg"))) + sorted(
        glob.glob(os.path.join(TOP, "tests", "ir", "*.fg")) + glob.glob(os.path.join(TOP, "tests", "errors", "*.fg")))
    texts = []
    for p in paths:
        try:
            texts.append(read(p))
        except UnicodeDecodeError:
            pass
    return texts


def place(uri, text, at):
    return {"textDocument": {"uri": uri}, "position": position(text, at), "context": {"includeDeclaration": True},
            "newName": "renamed", "options": {"tabSize": 4, "insertSpaces": True}}


def change(rnd, text, words):
    """(from, to, what instead): mostly small, as typing is."""
    at = rnd.randrange(len(text) + 1)
    to = min(len(text), at + rnd.choice([0, 0, 0, 0, 1, 1, 2, 8]))
    if 0 < at < len(text) and text[at - 1:at + 1] == "\r\n":
        at -= 1
    if 0 < to < len(text) and text[to - 1:to + 1] == "\r\n":
        to += 1
    if rnd.random() < 0.1:
        return at, to, rnd.choice(["é", "𝄞", "\r\n", "\t", "\0", "#", '"', "(((", "}", "{", "]", "\ufeff"])
    return at, to, "".join(rnd.choice(words) + rnd.choice(["", " "]) for _ in range(rnd.choice([0, 1, 1, 2])))


def random_edits(seed, texts, folder):
    rnd = random.Random(seed)
    words = [w for t in texts for w in re.findall(r"\w+|[^\w\s]|\n", t)]
    path = os.path.join(folder, f"edits-{seed}.fg")
    uri, text, wire = "file://" + path, rnd.choice(texts), Wire(FGC)
    wire.start()
    wire.open(uri, text)
    for version in range(1, 1001):
        at, to, new = change(rnd, text, words)
        edit = {"range": {"start": position(text, at), "end": position(text, to)}, "text": new}
        wire.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [edit]})
        text = text[:at] + new + text[to:]
        if rnd.random() < 0.3:
            wire.ask("textDocument/" + rnd.choice(ASKED), place(uri, text, rnd.randrange(len(text) + 1)))
    got = wire.wait_for(uri, 1000)
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)
    status, want = checked(FGC, path)
    have = as_printed(text, path, got)
    check(have == want and status in (0, 1), f"seed {seed}: exit status {status}\n--- fgc check\n" + "\n".join(want) +
          "\n--- fgc lsp\n" + "\n".join(have))
    status = wire.stop()
    check(status == 0 and not wire.errors, f"seed {seed}: exit status {status} {wire.errors}")


def same_as_check(folder):
    """Every case of tests/errors, opened as it is."""
    wire = Wire(FGC)
    wire.start()
    shutil.copytree(os.path.join(TOP, "tests", "errors", "lib"), os.path.join(folder, "lib"))
    with open(os.path.join(folder, "lib", "broken.fg"), "w", encoding="utf-8") as f:
        f.write("fg 1\n\nfn f(x) {\n    return nosuch(x)\n}\n")
    with open(os.path.join(folder, "importer.fg"), "w", encoding="utf-8") as f:
        f.write('fg 1\nimport "lib/broken.fg"\ngraph g() {\n    input x : f32[8]\n    output y : f32[8]\n    y = f(x)\n}\n')
    for path in [os.path.join(folder, "importer.fg")] + sorted(glob.glob(os.path.join(TOP, "tests", "errors", "*.fg"))):
        try:
            text = read(path)
        except UnicodeDecodeError:
            continue
        name = os.path.join(folder, os.path.basename(path))
        with open(name, "w", encoding="utf-8", newline="") as f:
            f.write(text)
        wire.open("file://" + name, text, 7)
        have = as_printed(text, name, wire.wait_for("file://" + name, 7))
        _, want = checked(FGC, name)
        check(have == want, f"{path}\n--- fgc check\n" + "\n".join(want) + "\n--- fgc lsp\n" + "\n".join(have))
        wire.notify("textDocument/didClose", {"textDocument": {"uri": "file://" + name}})
    check(wire.stop() == 0, "exit status")


def half_written():
    """Every prefix: an answer to each question at its end, and in its middle."""
    wire, uri = Wire(FGC), "file:///half.fg"
    wire.start()
    imports = ("fg 1\nimport std.act  # a library\n\nfn twice(x, factor=2) {\n    return act.relu6(x) * factor\n}\ngraph g() {\n"
               "    input x : f32[8, 64]\n    output y : f32[8, 64]\n    y = twice(x, factor=3) + hard_sigmoid(x)\n}\n")
    for whole in (read(os.path.join(TOP, "examples", "linear_amax", "linear_amax.fg")), imports):
        for n in range(len(whole) + 1):
            text = whole[:n]
            wire.open(uri, text, n)
            for i, method in enumerate(ASKED):
                wire.ask("textDocument/" + method, place(uri, text, n if i % 2 else n // 2))
            wire.wait_for(uri, n)
        check(wire.diagnostics[uri]["diagnostics"] == [], f"the whole text has diagnostics {wire.diagnostics[uri]}")
    check(wire.stop() == 0, "half-written: exit status")


def large():
    """Two files of a thousand lines: one long graph, and a hundred graphs with functions."""
    chain = ["fg 1", "", "graph chain(N = 32) {", "    input x : f32[N, 1024]", "    output y : f32[N, 1024]"]
    chain += [f"    {'y' if i == 993 else f't{i}'} = relu({f't{i - 1}' if i else 'x'} + {i}.5) * 0.5" for i in range(994)]
    many = ["fg 1"]
    for i in range(100):
        many += ["", f"# The {i}th.", f"epilogue e{i}(acc, bias) {{", "    return relu(acc + bias)", "}",
                 f"graph g{i}(N = 32) {{", "    input x : bf16[N, 64, 56, 56] channels_last",
                 "    input w : bf16[64, 64, 3, 3] channels_last", "    input b : bf16[1, 64, 1, 1]",
                 "    output y : bf16[N, 64, 56, 56] channels_last", f"    y = conv(x, w, pad=[1, 1]) |> e{i}(b)", "}"]
    return {"chain": "\n".join(chain + ["}", ""]), "many": "\n".join(many[:1003] + ["}", ""])}


def times(limit):
    """Each answer is the first after an edit: parsing and checking are in it. The limit is on processor time, which a
    busy machine does not lengthen; wall times are printed."""
    for name, text in large().items():
        wire, uri = Wire(FGC), f"file:///{name}.fg"
        wire.start()
        wire.open(uri, text)
        took, worked = {}, {}
        rnd = random.Random(1)
        for version in range(1, 1 + 12 * len(ASKED)):
            at = text.index("\n", rnd.randrange(len(text) - 2000))
            text = text[:at] + " # edited" + text[at:]
            where = {"start": position(text, at), "end": position(text, at)}
            before = wire.busy()
            wire.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version},
                                                   "contentChanges": [{"range": where, "text": " # edited"}]})
            method = ASKED[version % len(ASKED)]
            asked = place(uri, text, text.rindex("relu" if name == "chain" else "conv"))
            took.setdefault(method, []).append(1e3 * wire.timed("textDocument/" + method, asked))
            worked.setdefault(method, []).append(1e3 * (wire.busy() - before))
        all_times = sorted(t for list_ in took.values() for t in list_)
        print(f"{name}, {text.count(chr(10))} lines: median {statistics.median(all_times):.1f} ms, largest {all_times[-1]:.1f} ms; " +
              ", ".join(f"{m} {statistics.median(t):.1f}" for m, t in sorted(took.items())))
        for method, list_ in worked.items():
            check(statistics.median(list_) < limit, f"{name}: {method} takes {statistics.median(list_):.1f} ms")
        check(wire.stop() == 0, f"{name}: exit status")


def memory():
    """Edits leave nothing behind."""
    wire, uri, text = Wire(FGC), "file:///memory.fg", large()["many"]
    wire.start()
    wire.open(uri, text)
    wire.wait_for(uri, 0)
    sizes = []
    for version in range(1, 401):
        edit = {"range": {"start": position(text, 4), "end": position(text, 4)}, "text": "#" if version == 1 else "x"}
        wire.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [edit]})
        wire.ask("textDocument/hover", place(uri, text, 20))
        if version in (100, 400):
            sizes.append(wire.memory())
    check(sizes[1] < sizes[0] + 2048, f"memory grows with edits: {sizes} KiB" if len(sizes) == 2 else "no sizes")
    check(wire.stop() == 0, "memory: exit status")


def frames():
    """Broken JSON is answered and survived; a broken header ends the server with a reason."""
    def message(body):
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    wire = Wire(FGC)
    early = wire.answer(wire.request("textDocument/hover", {}))
    check(early["error"]["code"] == -32002, f"before initialize: {early}")
    wire.start()
    for body, code in ((b"{", -32700), (b'"\xff"', -32700), (b"", -32700), (b"[]", -32600), (b"[" * 5000, -32700),
                       (b'{"id":{},"method":"x"}', -32600), (b'{"id":1}', -32600), (b'{"id":"a","method":"no/such"}', -32601),
                       (b'{"id":"b","method":"textDocument/hover"}', -32602), (b'{"id":"c","method":"initialize"}', -32600)):
        wire.raw(message(body))
        got = wire.receive()
        check(got.get("error", {}).get("code") == code, f"{body[:40]}: {got}")
    slow = message(json.dumps({"id": "slow", "method": "textDocument/hover", "params": {}}).encode())
    for i in range(len(slow)):
        wire.raw(slow[i:i + 1])
    check(wire.receive()["id"] == "slow", "a message in single bytes")
    wire.raw(b"content-length:  2 \r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}")
    check(wire.receive()["error"]["code"] == -32600, "another spelling of the header")
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "late"}}
    wire.open("file:///c.fg", large()["chain"])
    wire.raw(b"".join(message(json.dumps(m).encode()) for m in (
        {"id": "late", "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "file:///c.fg"}}}, cancel)))
    check(wire.answer("late")["error"]["code"] == -32800, "a request taken back in the same write")
    wire.ask("shutdown", None)
    refused = wire.answer(wire.request("textDocument/hover", {}))
    check(refused["error"]["code"] == -32600, "after shutdown")
    wire.notify("exit", None)
    check(wire.process.wait(60) == 0, "exit status after shutdown and exit")
    for header, why in ((b"Content-Length: 99999999999\r\n\r\n", "more than 64 MiB"),
                        (b"Content-Length: 9999999999999999999999\r\n\r\n", "not a number of bytes"),
                        (b"Content-Length: -1\r\n\r\n", "not a number of bytes"), (b"Content-Length: 2x\r\n\r\n{}", "not a number"),
                        (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "stands twice"), (b"X: y\r\n\r\n", "no Content-Length"),
                        (b"hello\n", "does not end with CR LF"), (b"hello\r\n\r\n", "no name and colon"),
                        (b"X: " + b"y" * 5000, "longer than 4096 bytes"), (b"\r\n\r\n", "no Content-Length")):
        wire = Wire(FGC)
        wire.raw(header)
        status, text = wire.ended()
        check(status == 1 and why in text and "[protocol]" in text, f"{header[:50]}: {status} {text}")
    wire = Wire(FGC)
    wire.start()
    wire.notify("exit", None)
    check(wire.process.wait(60) == 1, "exit without shutdown")
    wire = Wire(FGC)
    wire.start()
    wire.process.stdin.close()
    check(wire.process.wait(60) == 1, "the client is gone")


def main():
    sanitized = "verify_asan_link_order" in os.environ.get("ASAN_OPTIONS", "")
    texts = corpus()
    with tempfile.TemporaryDirectory() as folder:
        same_as_check(folder)
        for seed in range(1, 4):
            random_edits(seed, texts, folder)
    half_written()
    frames()
    times(1000 if sanitized else 50)
    if not sanitized:
        memory()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
