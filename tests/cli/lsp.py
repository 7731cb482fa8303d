#!/usr/bin/env python3
"""`fgc lsp` driven by a client library (pygls' client, with lsprotocol's types, which check every answer).

A session as an editor has it: open, diagnostics, edits in UTF-16 positions, hover, signature, completion,
definition, references, highlights, renaming, symbols, formatting, close, shutdown. Environment: FGC, srcdir,
FGC_BUILD_DIR."""
import asyncio
import os
import shutil
import sys
import tempfile

TOP = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(os.environ.get("FGC_BUILD_DIR", "."), "python"))
try:
    from lsprotocol import types as t
    from pygls.lsp.client import BaseLanguageClient
except ImportError as e:
    print(f"no client library ({e}): pip install pygls==1.3.1")
    sys.exit(77)

FGC = os.environ.get("FGC", "./fgc")
URI = "file:///spec/model.fg"
TEXT = """fg 1

# Adds a bias 𝄞 and rectifies.
epilogue bias_relu(acc, bias, upper = 6) {
    s = acc + bias
    return relu(s, upper=upper)
}

const C = 32 + 32

graph layer(N in [8, 16], T = bf16) {
    input  x    : T[N, C, 56, 56]  channels_last  # the image
    input  w    : T[64, C, 3, 3]   channels_last
    input  bias : T[1, 64, 1, 1]
    scalar beta : f32 = 0.5
    output y    : T[N, 64, 56, 56] channels_last

    z = conv(x, w, pad=[1, 1])
    y = z * beta |> bias_relu(bias, upper=4)
}
"""
GOOD = TEXT.replace("z * beta |> bias_relu", "z |> bias_relu").replace("    scalar beta : f32 = 0.5\n", "")
passed = failed = 0


def check(ok, text):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {text}")


class Client(BaseLanguageClient):
    def __init__(self):
        super().__init__("fgc-tests", "1")
        self.published = {}
        self.news = asyncio.Event()

        @self.feature(t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params):
            self.published[params.uri] = params
            self.news.set()

    async def settled(self, n, uri=URI):
        while self.published.get(uri) is None or self.published[uri].version != n:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 30)
        return self.published[uri].diagnostics


def place(text, mark, nth=0, inside=0, units="utf-16-le"):
    """The nth occurrence of `mark`, `inside` characters into it."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(mark, at + 1)
    at += inside
    line = text.count("\n", 0, at)
    column = text[text.rfind("\n", 0, at) + 1:at]
    return t.Position(line, len(column.encode(units)) // (2 if units == "utf-16-le" else 1))


def cut(text, r):
    """The text of a range."""
    lines = text.split("\n")

    def at(p):
        return sum(len(x) + 1 for x in lines[:p.line]) + len(lines[p.line].encode("utf-16-le")[:2 * p.character].decode("utf-16-le"))
    return text[at(r.start):at(r.end)]


def where(text, *mark):
    return {"text_document": t.TextDocumentIdentifier(URI), "position": place(text, *mark)}


def capabilities(utf8):
    return t.ClientCapabilities(
        general=t.GeneralClientCapabilities(position_encodings=["utf-8", "utf-16"] if utf8 else ["utf-16"]),
        text_document=t.TextDocumentClientCapabilities(
            hover=t.HoverClientCapabilities(content_format=[t.MarkupKind.Markdown, t.MarkupKind.PlainText]),
            document_symbol=t.DocumentSymbolClientCapabilities(hierarchical_document_symbol_support=True)))


async def start(utf8=False, program=FGC, **how):
    client = Client()
    await client.start_io(program, "lsp", **how)
    got = await client.initialize_async(t.InitializeParams(capabilities=capabilities(utf8), process_id=os.getpid()))
    check(got.server_info.name == "fgc", f"{got.server_info}")
    check(got.capabilities.position_encoding == ("utf-8" if utf8 else "utf-16"), "the position encoding")
    client.initialized(t.InitializedParams())
    return client


async def stop(client):
    await client.shutdown_async(None)
    client.exit(None)
    status = await asyncio.wait_for(client._server.wait(), 30)
    check(status == 0, f"exit status {status}")


async def diagnostics_and_edits(client):
    client.text_document_did_open(t.DidOpenTextDocumentParams(t.TextDocumentItem(URI, "fg", 1, TEXT)))
    found = await client.settled(1)
    check([d.code for d in found] == ["promise"] and found[0].severity == t.DiagnosticSeverity.Error and
          found[0].source == "fgc" and "'bias_relu' needs the direct result of conv or matmul" in found[0].message and
          "hint: a fn makes no promise" in found[0].message, f"diagnostics {found}")
    check(cut(TEXT, found[0].range) == "z * beta", f"its range is '{cut(TEXT, found[0].range)}'")
    check(found[0].related_information[0].message == "'bias_relu' is defined here", "the note with a place")
    text = TEXT
    for version, (mark, new) in enumerate((("z * beta", "z"), ("    scalar beta : f32 = 0.5\n", "")), 2):
        edit = t.TextDocumentContentChangeEvent_Type1(
            t.Range(place(text, mark), place(text, mark, 0, len(mark))), new)
        client.text_document_did_change(t.DidChangeTextDocumentParams(
            t.VersionedTextDocumentIdentifier(version, URI), [edit]))
        text = text.replace(mark, new)
    check(text == GOOD and await client.settled(3) == [], "two edits mend it")


async def hovers(client):
    async def hover(*mark):
        got = await client.text_document_hover_async(t.HoverParams(**where(GOOD, *mark)))
        return got and got.contents.value

    for mark, parts in (
            (("conv(",), ["conv(x, w", "gives `f32[8, 64, 56, 56]`", "cross-correlation", "formula:", "pad: zeros"]),
            (("x, w",), ["input x : bf16[8, 64, 56, 56] channels_last", "strides 200704, 1, 3584, 64", "the image", "N=8"]),
            (("z =",), ["z : f32[8, 64, 56, 56]"]), (("y =",), ["output y : bf16[8, 64, 56, 56] channels_last"]),
            (("bias_relu(bias",), ["epilogue bias_relu(acc, bias, upper = 6)", "Adds a bias 𝄞 and rectifies."]),
            (("acc + ",), ["acc : f32[8, 64, 56, 56]", "in the first call of 'bias_relu'"]),
            (("N, C",), ["N = 8"]), (("C, 56",), ["const C = 64", "const C = 32 + 32"]), (("T[N",), ["T = bf16"]),
            (("pad=", 0, 1), ["conv(pad=)", "zeros before and after", "a list of integers"]),
            (("upper=4",), ["upper = 4"]), (("bf16",), ["upper half of binary32"]),
            (("channels_last",), ["axis 1 fastest"]), (("relu(s", 0, 1), ["relu(x", "min(max(x, lower), upper)"]),
            (("epilogue",), ["must stay in the kernel"])):
        got = await hover(*mark) or ""
        check(all(p in got for p in parts), f"hover at {mark}: {got}")
    check(await hover("Adds a") is None, "a hover in a comment")
    check(await hover("\n\nconst") is None, "a hover on an empty line")


async def completions(client):
    text = GOOD

    async def complete(before, typed, after=""):
        nonlocal text
        text = GOOD.replace(before, before + typed + after, 1)  # the rest of the line, or the next one, follows
        complete.version += 1
        client.text_document_did_change(t.DidChangeTextDocumentParams(
            t.VersionedTextDocumentIdentifier(complete.version, URI), [t.TextDocumentContentChangeEvent_Type2(text)]))
        got = await client.text_document_completion_async(t.CompletionParams(**where(text, before + typed, 0, len(before + typed))))
        return {i.label: i for i in got.items}
    complete.version = 3
    for follows in ("", "\n"):
        got = await complete(before="channels_last\n\n", typed="    t = conv(", after=follows)
        check("pad" in got and "input" not in got, f"in a call, {follows!r} behind it")
    body, inside = "channels_last\n\n", "conv(x, w, pad=[1, 1]"
    for at, wanted, unwanted in (
            ((body, "    "), {"input", "output", "const", "require"}, {"return", "graph", "conv"}),
            ((body, "    t = co"), {"conv", "x", "w", "N", "C", "T", "bias_relu", "relu", "f32", "sm", "dim"}, {"z", "y", "input", "acc"}),
            ((body, "    t = conv("), {"pad", "stride", "groups", "x"}, {"scale", "acc"}),
            ((inside, ", "), {"stride", "dilation", "x"}, {"pad"}),
            ((inside, ", compute="), {"f32", "tf32"}, {"pad", "conv"}),
            ((body, "    t = reduce(x, mode="), {"add", "max_abs", "norm2"}, {"x", "conv"}),
            ((body, "    t = reduce(x, axes="), {"all"}, {"conv"}),
            ((body, "    t = sdpa(x, x, x, mask="), {"causal"}, set()),
            ((body, "    t = x |> "), {"bias_relu", "relu"}, {"x", "N", "input"}),
            ((body, "    t = bias_relu("), {"acc", "upper", "x"}, {"pad"}),
            ((body, "    t : "), {"f32", "bf16", "T"}, {"relu"}), ((body, "    t : f32[...] ch"), {"channels_last", "order"}, {"relu"}),
            ((body, "    t : f32[N, "), {"N", "C"}, {"relu"}), (("  return relu(s, upper=upper)\n", ""), {"const", "return"}, {"input"}),
            (("const C = 32 + 32\n", ""), {"graph", "fn", "epilogue", "import", "const"}, {"input", "return"}),
            (("# Adds", " a co"), set(), {"conv"}), ((body, "    const "), set(), {"conv", "x"})):
        got = await complete(*at)
        check(wanted <= set(got) and not unwanted & set(got), f"completion at {at}: lacks {wanted - set(got)}, has {unwanted & set(got)}")
    got = await complete(body, "    t = conv(")
    check(got["pad"].text_edit.new_text == "pad=" and "formula" in got["conv"].documentation.value and
          got["x"].detail == "input x : bf16[8, 64, 56, 56] channels_last", f"what an item says: {got['pad']} {got['conv']} {got['x']}")
    got = await client.text_document_signature_help_async(t.SignatureHelpParams(**where(text, "t = conv(", 0, 9)))
    one = got.signatures[0]
    check(one.label.startswith("conv(x, w, pad=") and got.active_parameter == 0 and one.parameters[2].label == "pad=", f"{got}")
    client.text_document_did_change(t.DidChangeTextDocumentParams(
        t.VersionedTextDocumentIdentifier(100, URI), [t.TextDocumentContentChangeEvent_Type2(GOOD)]))
    got = await client.text_document_signature_help_async(t.SignatureHelpParams(**where(GOOD, "upper=4", 0, 6)))
    check(got.signatures[0].label == "bias_relu(acc, bias, upper = 6)" and got.active_parameter == 2, f"{got}")
    got = await client.text_document_signature_help_async(t.SignatureHelpParams(**where(GOOD, "(bias, upper=4", 0, 2)))
    check(got.active_parameter == 1, "the left side of |> is the first argument")


async def names(client):
    async def defined(*mark):
        got = await client.text_document_definition_async(t.DefinitionParams(**where(GOOD, *mark)))
        return got and (got.range.start, cut(GOOD, got.range))

    for mark, target in ((("x, w",), ("x    :",)), (("bias_relu(bias",), ("bias_relu(acc",)), (("C, 56",), ("C = 32",)),
                         (("upper=4",), ("upper = 6",)), (("upper)",), ("upper = 6",)), (("bias, upper=4",), ("bias :",)),
                         (("+ bias", 0, 2), ("bias, upper = 6",)), (("y =",), ("y    :",)), (("N, 64",), ("N in",))):
        got = await defined(*mark)
        check(got and got[0] == place(GOOD, *target), f"definition of {mark}: {got}")
    check(await defined("conv(") is None, "operators have no definition")
    got = await client.text_document_references_async(t.ReferenceParams(context=t.ReferenceContext(True), **where(GOOD, "bias :")))
    check([g.range.start for g in got] == [place(GOOD, "bias :"), place(GOOD, "bias, upper=4")], f"references {got}")
    got = await client.text_document_references_async(t.ReferenceParams(context=t.ReferenceContext(False), **where(GOOD, "C = 32")))
    check(len(got) == 2, f"references of a constant of the file {got}")
    got = await client.text_document_document_highlight_async(t.DocumentHighlightParams(**where(GOOD, "y    :")))
    check([g.kind for g in got] == [t.DocumentHighlightKind.Write] * 2, f"highlights {got}")
    got = await client.text_document_rename_async(t.RenameParams(new_name="top", **where(GOOD, "upper = 6")))
    new = GOOD
    for e in sorted(got.changes[URI], key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        lines = new.split("\n")
        line = lines[e.range.start.line]
        lines[e.range.start.line] = line[:e.range.start.character] + e.new_text + line[e.range.end.character:]
        new = "\n".join(lines)
    check(new == GOOD.replace("upper = 6", "top = 6").replace("upper=upper", "upper=top").replace("upper=4", "top=4"), f"renamed:\n{new}")
    try:
        await client.text_document_rename_async(t.RenameParams(new_name="not a name", **where(GOOD, "upper = 6")))
        check(False, "renamed to what is no name")
    except Exception as e:  # pylint: disable=broad-except  (the client's own class)
        check("parameters" in str(e), f"{e}")


async def outline_and_format(client):
    got = await client.text_document_document_symbol_async(t.DocumentSymbolParams(t.TextDocumentIdentifier(URI)))
    tree = {s.name: [c.name for c in s.children or []] for s in got}
    check(tree == {"bias_relu": ["acc", "bias", "upper", "s"], "C": [], "layer": ["N", "T", "x", "w", "bias", "y", "z"]}, f"symbols {tree}")
    details = {c.name: c.detail for c in got[2].children}
    check(details["w"] == "bf16[64, 64, 3, 3] channels_last" and details["z"] == "f32[8, 64, 56, 56]", f"{details}")
    check(cut(GOOD, got[0].range).startswith("epilogue") and cut(GOOD, got[0].range).endswith("}"), "a symbol's range")
    ugly = GOOD.replace("input  w    :", "input w:").replace("z = conv(x,", "z=conv( x ,")
    client.text_document_did_change(t.DidChangeTextDocumentParams(
        t.VersionedTextDocumentIdentifier(101, URI), [t.TextDocumentContentChangeEvent_Type2(ugly)]))
    options = t.FormattingOptions(tab_size=4, insert_spaces=True)
    got = await client.text_document_formatting_async(t.DocumentFormattingParams(t.TextDocumentIdentifier(URI), options))
    lines, e = ugly.split("\n"), got[0]
    check(len(got) == 1 and e.range.start.character == 0 and e.range.end.character == 0, f"whole lines {got}")
    new = "\n".join(lines[:e.range.start.line]) + "\n" + e.new_text + "\n".join(lines[e.range.end.line:])
    check(new == GOOD, f"formatted:\n{new}")
    client.text_document_did_change(t.DidChangeTextDocumentParams(
        t.VersionedTextDocumentIdentifier(102, URI), [t.TextDocumentContentChangeEvent_Type2(GOOD)]))
    got = await client.text_document_formatting_async(t.DocumentFormattingParams(t.TextDocumentIdentifier(URI), options))
    check(got == [], "canonical text needs no edit")
    client.text_document_did_save(t.DidSaveTextDocumentParams(t.TextDocumentIdentifier(URI)))
    client.text_document_did_close(t.DidCloseTextDocumentParams(t.TextDocumentIdentifier(URI)))
    check(await client.settled(None) == [], "a closed document has no diagnostics")


async def imports():
    """Names of a library and of a file beside the document."""
    client = await start()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        os.mkdir(os.path.join(folder, "lib"))
        mine = "fg 1\n\n# Twice x.\nfn twice(x, factor=2) {\n    return x * factor\n}\nconst WIDTH = 64\n"
        with open(os.path.join(folder, "lib", "my own.fg"), "w", encoding="utf-8") as f:
            f.write(mine.replace("fn twice", "fn thrice"))
        with open(os.path.join(folder, "lib", "mine.fg"), "w", encoding="utf-8") as f:
            f.write(mine)
        text = ('fg 1\nimport std.act\nimport "lib/mine.fg"\n\ngraph g() {\n    input x : f32[8, WIDTH]\n'
                "    output y : f32[8, WIDTH]\n    z = act.relu6(x)\n    y = twice(z, factor=3) + hard_sigmoid(z)\n}\n")
        uri = "file://" + os.path.join(folder, "model.fg")
        client.text_document_did_open(t.DidOpenTextDocumentParams(t.TextDocumentItem(uri, "fg", 1, text)))
        check(await client.settled(1, uri) == [], f"{client.published[uri]}")

        def at(*mark):
            return {"text_document": t.TextDocumentIdentifier(uri), "position": place(text, *mark)}

        for mark, name, line in ((("twice(",), "lib/mine.fg", "fn twice"), (("relu6",), "act.fg", "fn relu6"), (("factor=",), "lib/mine.fg", "factor=2"),
                                 (("WIDTH",), "lib/mine.fg", "WIDTH"), (("hard_sigmoid",), "act.fg", "fn hard_sigmoid"),
                                 (("act.relu6",), "act.fg", "fg 1"), (("std.act", 0, 5), "act.fg", "fg 1"), (("lib/mine",), "lib/mine.fg", "fg 1")):
            got = await client.text_document_definition_async(t.DefinitionParams(**at(*mark)))
            path = got and got.uri[len("file://"):]
            there = open(path, encoding="utf-8").read().split("\n")[got.range.start.line] if got else ""
            check(got and path.endswith(name) and line in there, f"definition of {mark}: {got} {there}")
        for mark, parts in ((("relu6",), ["fn relu6(x)", "from std.act", "ReLU clipped at 6"]), (("WIDTH",), ["WIDTH = 64", "from lib/mine.fg"]),
                            (("twice(",), ["fn twice(x, factor = 2)", "Twice x."]), (("std.act", 0, 5), ["std.act", "activations"]),
                            (("factor=",), ["factor = 3", "in the first call of 'twice'"])):
            got = await client.text_document_hover_async(t.HoverParams(**at(*mark)))
            value = got.contents.value if got else ""
            check(all(p.replace(" = 2", "") in value.replace("=2", "").replace(" = 2", "") for p in parts), f"hover at {mark}: {value}")
        got = await client.text_document_signature_help_async(t.SignatureHelpParams(**at("factor=3", 0, 8)))
        check(got.signatures[0].label.startswith("twice(x, factor") and got.active_parameter == 1, f"{got}")
        for new, wanted, unwanted in (("    y = act.", {"relu6", "mish"}, {"conv", "twice"}), ("    y = ", {"twice", "WIDTH", "mish", "act"}, {"thrice"}),
                                      ("    y = twice(z, ", {"factor"}, set()), ("import std.", {"act", "nn", "mlp", "fp8"}, {"conv"}),
                                      ("import ", {"std"}, {"conv"})):
            old = "import std.act" if new.startswith("import") else "    y = twice(z, factor=3) + hard_sigmoid(z)"
            text2 = text.replace(old, ("import std.act\n" if new.startswith("import") else "") + new, 1)
            client.text_document_did_change(t.DidChangeTextDocumentParams(
                t.VersionedTextDocumentIdentifier(2, uri), [t.TextDocumentContentChangeEvent_Type2(text2)]))
            where_ = place(text2, new + "\n", 0, len(new))
            got = await client.text_document_completion_async(t.CompletionParams(t.TextDocumentIdentifier(uri), where_))
            labels = {i.label for i in got.items}
            check(wanted <= labels and not unwanted & labels, f"completion after '{new}': lacks {wanted - labels}, has {unwanted & labels}")
        await stop(client)


async def library_copy():
    """Where the library's files are not installed, a read-only copy is opened."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "bin", "fgc")
        os.mkdir(os.path.dirname(program))
        shutil.copy(FGC, program)
        client = await start(program=program, env=dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache")))
        text = "fg 1\nimport std.act\ngraph g() {\n    input x : f32[8, 64]\n    output y : f32[8, 64]\n    y = relu6(x)\n}\n"
        client.text_document_did_open(t.DidOpenTextDocumentParams(t.TextDocumentItem(URI, "fg", 1, text)))
        got = await client.text_document_definition_async(t.DefinitionParams(**where(text, "relu6")))
        path = got.uri[len("file://"):]
        check(path.startswith(os.path.realpath(folder) + "/cache/fgc/stdlib-") and os.stat(path).st_mode & 0o777 == 0o444, f"{got}")
        with open(path, "rb") as a, open(os.path.join(TOP, "stdlib", "act.fg"), "rb") as b:
            check(a.read() == b.read(), "the copy is the library")
        await stop(client)


async def utf8_positions():
    client = await start(utf8=True)
    text = "fg 1\n# 𝄞é\nconst a = [1, \"é\"]   # é𝄞\nconst b = nosuch\n"
    text = text.replace("[1, \"é\"]", "1 + nosuch")
    client.text_document_did_open(t.DidOpenTextDocumentParams(t.TextDocumentItem(URI, "fg", 1, text)))
    await client.settled(1)
    at = place(text, "𝄞é", 0, 2, "utf-8")
    client.text_document_did_change(t.DidChangeTextDocumentParams(
        t.VersionedTextDocumentIdentifier(2, URI),
        [t.TextDocumentContentChangeEvent_Type1(t.Range(at, at), "\nconst c = sm\nconst d = c # 𝄞")]))
    found = await client.settled(2)
    check([(d.range.start.line, d.range.start.character) for d in found if d.code == "unknown-name"] == [(4, 14), (5, 10)], f"{found}")
    await stop(client)


async def session():
    client = await start()
    await diagnostics_and_edits(client)
    await hovers(client)
    await completions(client)
    await names(client)
    await outline_and_format(client)
    await stop(client)
    await utf8_positions()
    await imports()
    await library_copy()


asyncio.run(asyncio.wait_for(session(), 300))
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)
