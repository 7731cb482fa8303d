#!/usr/bin/env python3
"""The files under editors/ know the language's words, and colour and indent the examples.

What tools/make-editors writes from the tables is what is committed, and its operators are those that `fgc ops`
lists. VS Code's grammar is tried by matching its patterns as an editor does; Vim itself is run where it is
installed. Environment: FGC, srcdir."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FGC = os.environ.get("FGC", "./fgc")
TOP = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
EDITORS = os.path.join(TOP, "editors")
passed = failed = 0


def check(ok, text):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"FAIL {text}")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def specs():
    return sorted(glob.glob(os.path.join(TOP, "examples", "*", "*.fg")) + glob.glob(os.path.join(TOP, "stdlib", "*.fg")))


def made():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(TOP, "tools", "make-editors"), folder], check=True)
        for name in ("vim/syntax/fg.vim", "vscode/syntaxes/fg.tmLanguage.json"):
            check(read(folder, "editors", name) == read(EDITORS, name), f"editors/{name} lags behind the tables: run tools/make-editors")
    operators = subprocess.run([FGC, "ops"], capture_output=True, text=True, check=True).stdout
    operators = set(re.findall(r"^(\w+)\(", operators, re.M))
    words = re.findall(r"^syn keyword fgOperator (.*)$", read(EDITORS, "vim", "syntax", "fg.vim"), re.M)
    check(set(" ".join(words).split()) == operators, f"operators: {operators ^ set(' '.join(words).split())}")


# ---- VS Code -----------------------------------------------------------------------------------------

def scopes(line, patterns):
    """(text, scope) by the rule of TextMate grammars: leftmost match, then the first pattern."""
    out, at = [], 0
    while at < len(line):
        best = None
        for pattern, rule in patterns:
            m = pattern.search(line, at)
            if m and m.end() > m.start() and (best is None or m.start() < best[0].start()):
                best = (m, rule)
        if not best:
            break
        m, rule = best
        at = m.end()
        if "begin" in rule:
            end = re.compile(rule["end"]).search(line, m.end())
            at = end.end()
            out.append((line[m.start():at], rule["name"]))
        elif "captures" in rule:
            out += [(m[int(k)], v["name"]) for k, v in rule["captures"].items() if m[int(k)]]
        else:
            out.append((m[0].strip(), rule["name"]))
    return out


def vscode():
    package = json.loads(read(EDITORS, "vscode", "package.json"))
    grammar = json.loads(read(EDITORS, "vscode", package["contributes"]["grammars"][0]["path"]))
    json.loads(read(EDITORS, "vscode", package["contributes"]["languages"][0]["configuration"]))
    check(grammar["scopeName"] == package["contributes"]["grammars"][0]["scopeName"], "the scope's name")
    python = [(re.compile(p.get("match", p.get("begin")).replace(r"\x{FEFF}", "\ufeff")), p) for p in grammar["patterns"]]
    for line, wanted in (
            ("fg 1", {"fg 1": "keyword.control.version.fg"}), ("graph layer(N = 32, T = bf16) {  # x", {
                "graph": "keyword.declaration.fg", "layer": "entity.name.function.fg", "32": "constant.numeric.fg",
                "bf16": "storage.type.fg", "# x": "comment.line.number-sign.fg"}),
            ("    input  x : bf16[N, 64] channels_last", {"input": "keyword.other.statement.fg", "bf16": "storage.type.fg",
                                                          "channels_last": "storage.modifier.layout.fg"}),
            ("    input = conv(x, w, pad=[1, 1]) |> relu", {"conv": "support.function.fg", "pad": "variable.parameter.attribute.fg",
                                                            "|>": "keyword.operator.fg", "relu": "support.function.fg"}),
            ("    m = reduce(x, mode=max_abs, axes=all)", {"max_abs": "constant.language.choice.fg", "all": "constant.language.choice.fg"}),
            ('import "lib/x.fg"', {"import": "keyword.control.import.fg", '"lib/x.fg"': "string.quoted.double.fg"}),
            ("    require sm >= 80 and not x", {"require": "keyword.other.statement.fg", "sm": "constant.language.fg",
                                                 "and": "keyword.operator.word.fg", "not": "keyword.operator.word.fg"})):
        got = dict(scopes(line, python))
        check(all(got.get(k) == v for k, v in wanted.items()), f"'{line}': {got}")
        check(line.strip().startswith("input =") is False or got.get("input") is None, "a name that is a keyword elsewhere")
    for path in specs():
        for line in read(path).split("\n"):
            for word, scope in scopes(line, python):
                if scope.startswith("comment"):
                    check(word.startswith("#"), f"{path}: {word}")


# ---- Vim ---------------------------------------------------------------------------------------------

VIM = r'''
set nocompatible
exe 'set runtimepath^=' . $FG_VIM
filetype plugin indent on
syntax on
set encoding=utf-8
let g:out = []
func Look(path)
  exe 'edit ' . fnameescape(a:path)
  call add(g:out, 'filetype: ' . &filetype . ' ' . &shiftwidth)
  let before = getline(1, '$')
  silent normal! gg=G
  call add(g:out, getline(1, '$') ==# before ? 'same' : 'indented otherwise: ' . join(filter(range(1, line('$')), 'getline(v:val) !=# before[v:val - 1]'), ' '))
  for l in range(1, line('$'))
    for c in range(1, len(getline(l)))
      if getline(l)[c - 1 :] =~# '^\<' && (c == 1 || getline(l)[c - 2] !~# '\w')
        call add(g:out, matchstr(getline(l)[c - 1 :], '^\w\+=\?') . ' ' . synIDattr(synID(l, c, 1), 'name'))
      endif
    endfor
  endfor
  edit!
endfunc
'''


def vim():
    program = shutil.which("vim")
    if not program:
        print("vim is not installed: its part was not tried")
        return
    types = {"graph": "fgItem", "fn": "fgItem", "epilogue": "fgItem", "input": "fgStatement", "output": "fgStatement", "return": "fgStatement",
             "bf16": "fgType", "channels_last": "fgLayout", "conv": "fgOperator", "matmul": "fgOperator", "relu": "fgOperator",
             "pad=": "fgAttribute", "mode=": "fgAttribute", "axes=": "fgAttribute", "max_abs": "fgChoice", "causal": "fgChoice", "fg": "fgVersion"}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "look.vim"), "w", encoding="utf-8") as f:
            f.write(VIM + "".join(f"call Look('{p}')\n" for p in specs()) + f"call writefile(g:out, '{folder}/out')\nqa!\n")
        got = subprocess.run([program, "-N", "-u", os.path.join(folder, "look.vim"), "-i", "NONE", "-n", "-es", "-T", "dumb"],
                             env=dict(os.environ, FG_VIM=os.path.join(EDITORS, "vim"), HOME=folder), capture_output=True, text=True, timeout=120)
        out = os.path.join(folder, "out")
        lines = read(out).split("\n") if os.path.exists(out) else []
        check(len(lines) > 200, f"vim: {got.returncode} {got.stdout} {got.stderr}")
        seen = set()
        for line in lines:
            word, _, group = line.partition(" ")
            if word == "filetype:":
                check(group == "fg 4", f"filetype {group}")
            elif word in ("same", "indented"):
                check(word == "same", line)
            elif word in types and group != "fgComment":
                seen.add(word)
                check(group == types[word], f"vim: '{word}' is {group}")
        check(len(seen) >= 12, f"words seen: {seen}")


made()
vscode()
vim()
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)
