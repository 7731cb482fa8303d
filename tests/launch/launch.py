#!/usr/bin/env python3
"""Launchers of real plans, built by three compilers without a warning and run against fake libraries.

A subject.h for each graph and variant says what the plan's manifest and cuDNN's own JSON say of it; check.c holds
the launcher to it. FGC names the program, srcdir the source tree. Needs fgc's cuDNN to make the plans (no GPU)
and the headers of cuDNN and CUDA; without them the exit status is 77."""
import concurrent.futures
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
import plans  # noqa: E402
FGC = os.environ.get("FGC", "./fgc")
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
COMPILERS = {"gcc": ["gcc", "-std=c99", "-O1"], "clang": ["clang", "-std=c99", "-fsyntax-only"],
             "g++": ["g++", "-std=c++17", "-x", "c++"]}
SAN = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TYPES = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64", "i32": "I32"}
BITS = {"f64": 64, "i64": 64, "f32": 32, "i32": 32, "f16": 16, "bf16": 16}
NAMES = ("create workspace_bytes run destroy error_string graph_create graph_update graph_launch graph_destroy").split()

ODD = """
# a doc that ends comments: */ and /* opens, ??/
# turned \u202e text \u2067, a \\ backslash, "quotes", %%s %%d, // and a trigraph ??/
graph %(graph)s() {
    # ends */ here ??/ and \\
    input %(inputs)s : f32[4, 64]
    # "quoted" \\" 'q'
    output %(output)s : f32[4, 64]

    %(output)s = %(sum)s
}
"""


def odd(graph, inputs, output):
    return ODD % {"graph": graph, "inputs": ", ".join(inputs), "output": output, "sum": " + ".join(inputs)}


SPECS = {
    "names_1": "fg 1\n" + odd("int", ["class", "size", "size_", "main", "_Exit"], "NULL")
    + odd("main", ["args", "run", "create", "graph", "handle"], "m")
    + odd("fgc", ["fgc_run", "INFINITY", "M_PI", "INT64_MAX", "FGC_SLOTS"], "EOF")
    + odd("_Exit", ["x" * 63, "fg_X", "fgfg_X_", "_X", "_X_", "linux"], "y" * 63),
    "names_2": "fg 1\n" + odd("g" * 63, ["NULL_", "NULL__", "errno", "x_UID", "x"], "new")
    + odd("timer", ["cudaStreamDefault", "CUDNN_VERSION", "stdin", "register", "asm"], "this")
    + odd("size_t", ["int64_t", "FILE", "float4", "_x_", "__"], "_x")
    + odd("dim3", ["a", "a_", "a__", "b", "c"], "d"),
    "several": """fg 1

graph first() {
    input  x : bf16[8, 64]
    output y : bf16[8, 64]
    y = relu(x)
}

graph second() {
    input  a : bf16[1, 64, 32]
    input  b : bf16[1, 32, 64]
    output c : bf16[1, 64, 64]
    c = matmul(a, b)
}

graph second_() {
    input  x : f16[8, 64]
    output y : f16[8, 64]
    y = x * 2.5 + 0.125
}
""",
    "variants": """fg 1

graph g(m in [16, 32], T in [bf16, f16], handle in [8, 64]) {
    input  x, dead : T[m, handle]
    scalar s : T = 0.5
    scalar k : f32 = m
    scalar unused : i64 = 7
    output y : T[m, handle]
    y = x * s + k
}

graph up(S in [32, 8, 16]) {
    input  x : f32[S, 4]
    output y : f32[S, 4]
    y = x * S
}
""",
    "scalars": """fg 1

graph floats() {
    input  x : f32[4, 64]
    scalar a : f32 = 1.5
    scalar b : f16 = -0.5
    scalar c : bf16 = 3
    scalar unread : f64 = 1e-300
    output y : f32[4, 64]
    y = x * a + b - c
}

graph big() {
    input  x : f32[4, 64]
    scalar a, b : f32 = inf
    scalar n : f32 = -inf
    scalar i : i64 = -9007199254740992
    scalar j : i32 = -2147483648
    output y : f32[4, 64]
    y = min(max(x, n), a) - b
}
""",
    "steps": """fg 1

# Four products: values between them, an output that is read on, one scalar in two steps and one in none.
graph chain(N in [16, 64]) {
    input  x, w, v  : bf16[1, N, N]
    scalar s        : f32 = 0.5
    scalar k        : f32 = 2.0
    scalar unread   : f32 = 1.0
    output h, y    : bf16[1, N, N]
    output amax     : f32[1, 1, 1]

    a : bf16 = matmul(x, w) * s
    b : bf16 = relu(matmul(a, v) * k)
    h = matmul(b, w)
    y = matmul(h, v) * s + 0.25
    amax = reduce(y, mode=max_abs, axes=all)
}

# Values that die early and late, of which some share their bytes.
graph rows() {
    input  x : f32[64, 128]
    output y : f32[64, 128]

    m = reduce(x, mode=max, axes=[1])
    e = exp(x - m)
    y = e / reduce(e, mode=add, axes=[1]) + 0.125
}

# Nothing between the steps.
graph beside() {
    input  x, z : f32[16, 16]
    output y    : f32[16, 16]
    output s    : f32[16, 1]

    y = relu(x)
    s = reduce(z, mode=add, axes=[1])
}
""",
    "views": """fg 1

# Parts of one tensor, and one tensor in three roles.
graph qkv(S in [64, 128]) {
    input  x : bf16[2, S, 3, 4, 64]
    output o : bf16[2, 4, S, 64] order(0, 2, 1, 3)

    h = transpose(x, axes=[2, 0, 3, 1, 4])
    q = reshape(slice(h, end=[1, 2, 4, S, 64]), dims=[2, 4, S, 64])
    k = reshape(slice(h, start=[1, 0, 0, 0, 0], end=[2, 2, 4, S, 64]), dims=[2, 4, S, 64])
    v = reshape(slice(h, start=[2, 0, 0, 0, 0]), dims=[2, 4, S, 64])
    o = sdpa(q, k, v, scale=0.125)
}

# Nothing binds x from its first byte on; what the first step makes is read from two places.
graph halves() {
    input  x : bf16[1, 64, 96]
    input  w : bf16[1, 32, 96]
    output y : bf16[1, 64, 48]

    h : bf16 = matmul(slice(x, start=[0, 0, 64]), w)
    y = silu(slice(h, end=[1, 64, 48])) * slice(h, start=[0, 0, 48])
}
""",
    "mixed": """fg 1

graph g(T in [f32, f64]) {
    input  x : f32[4, 64]
    scalar a : T = 2
    scalar b : f32 = 3
    output y : f32[4, 64]
    y = x * b
}
""",
}
# Where names are the point: a kernel that cuDNN has ready, and need not compile.
READY = """() {
    input  x%s : bf16[1, 8, 4, 4] channels_last
    input  w : bf16[8, 8, 1, 1] channels_last
    output y : bf16[1, 8, 4, 4] channels_last
    y = conv(x, w)
}
"""
# Types, tags and function families of C's, C++'s and CUDA's headers.
TYPE_NAMES = ("FILE float4 ulonglong2 div_t cudaGraph_t tm timespec pthread thrd timer printf exp uint cudnnContext "
              "CUstream_st textureReference random_data std").split()
LANGUAGE = {"and", "or", "not", "in", "_", "true", "false", "inf"}    # no names in .fg


class Failure(Exception):
    pass


PROBLEMS = (Failure, OSError, ValueError, LookupError, AttributeError, struct.error, subprocess.TimeoutExpired)


def run(command, cwd=None, env=None, want=0):
    got = subprocess.run(command, cwd=cwd, env=env, capture_output=True, timeout=280, stdin=subprocess.DEVNULL)
    out, err = got.stdout.decode(errors="replace"), got.stderr.decode(errors="replace")
    if got.returncode != want:
        raise Failure(f"{' '.join(command)[:300]}: exit status {got.returncode}\n{out[-3000:]}{err[-20000:]}")
    return out, err


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def include_folder():
    for folder in filter(None, [os.environ.get("CUDA_HOME", "") + "/include", "/usr/local/cuda/include", "/usr/include"]):
        if all(os.path.exists(os.path.join(folder, h)) for h in ("cudnn_graph.h", "cuda_runtime_api.h")):
            return folder
    return None


# ---- what the manifest says, as C ------------------------------------------------------------------
class Plan:
    def __init__(self, path):
        with zipfile.ZipFile(path) as z:
            self.manifest = json.loads(z.read("manifest.json"))
            self.entries = {n: z.read(n) for n in z.namelist()}
        self.graphs = self.manifest["graphs"]

    def texts(self, variant):
        return [self.entries[s["plan"]] for s in variant["steps"]]


def constant_bytes(kind, value):
    if kind == "BFLOAT16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        return struct.pack("<H", (bits + 0x7fff + (bits >> 16 & 1)) >> 16)
    code = {"FLOAT": "f", "DOUBLE": "d", "HALF": "e", "INT32": "i", "INT64": "q"}[kind]
    return struct.pack("<" + code, int(value) if code in "iq" else float(value))


def extent(t):
    bits = {"f64": 64, "i64": 64, "f32": 32, "i32": 32, "f16": 16, "bf16": 16}.get(t["type"], 8)
    return (1 + sum((d - 1) * s for d, s in zip(t["dims"], t["strides"]))) * bits // 8


def real(x):
    if isinstance(x, str):
        return {"inf": "HUGE_VAL", "-inf": "-HUGE_VAL"}[x]
    return repr(float(x)).replace("inf", "HUGE_VAL")


def field_kind(types):
    """The C type of a scalar's field, wide enough for each variant."""
    kinds = {"d" if t == "f64" else "l" if t == "i64" else "i" if t == "i32" else "f" for t in types}
    return kinds.pop() if len(kinds) == 1 else "l" if kinds == {"l", "i"} else "d"


def suffix(variant):
    return "_" + re.sub(r"[^A-Za-z0-9_]", "_", variant["name"]) if variant["name"] else ""


def c_names(header, graph):
    """The graph's name in C and the fields of its args, found in the header."""
    at = header.index(f"/* ---- graph {graph['name']}")
    name = re.search(r"^struct (\w+);", header[at:], re.M).group(1)
    body = re.search(r"^struct %s_args \{\n(.*?)^\};" % name, header, re.M | re.S).group(1)
    fields = re.findall(r"^    (?:[\w ]+[ *]+)(\w+); /\*", body, re.M)
    wanted = ["size"] + [t["name"] for t in graph["variants"][0]["tensors"]]
    if fields[:1] != ["size"] or len(fields) != len(wanted) or len(set(fields)) != len(fields):
        raise Failure(f"fields {fields} for {wanted}")
    for field, want in zip(fields, wanted):
        if field not in (want, want + "_", "fg" + want):
            raise Failure(f"field '{field}' for '{want}'")
    return name, fields[1:]


def arguments(name, params, change=False):
    out = []
    for p in params:
        if not p.get("variant"):
            continue
        if isinstance(p["value"], str):
            out.append(f"{name}_{p['name']}_{p['value']}")
        else:
            out.append("-77" if change else str(p["value"]))
            change = False
    return "".join(", " + a for a in out)


def mask(used, t):
    """A bit for each step whose plan has the tensor."""
    return sum(1 << k for k, uids in enumerate(used) if str(t["uid"]) in uids)


def seen(steps, t):
    """A bit for each step that has a view of it."""
    return sum(1 << k for k, step in enumerate(steps) if any(v["of"] == t["uid"] for v in step.get("views", [])))


def view_rows(variant):
    tensors, between = variant["tensors"], {t["uid"]: t["offset"] for t in variant.get("temporaries", [])}
    rows = [(k, v["uid"], next((i for i, t in enumerate(tensors) if t["uid"] == v["of"]), -1), between.get(v["of"], 0), v["offset"])
            for k, step in enumerate(variant["steps"]) for v in step.get("views", [])]
    return len(rows), "".join("    {%d, %d, %d, %d, %d},\n" % r for r in rows) or "    {0, 0, 0, 0, 0},\n"


def tensor_row(name, prefix, graph, index, field, t, used, steps):
    kind = field_kind([v["tensors"][index]["type"] for v in graph["variants"]])
    role = t["role"].upper()
    row = f'    {{"{t["name"]}", {role}, {TYPES.get(t["type"], "OTHER")}, \'{kind}\', {t["uid"]}, offsetof(struct {name}_args, {field}), '
    row += f'{0 if role == "SCALAR" else extent(t)}, {t.get("align", 1)}, {mask(used, t)}ull, {mask(used, t) | seen(steps, t)}ull, {real(t.get("default", 0))}, '
    checks = f"_Static_assert({prefix}_{t['name']}_UID == {t['uid']}, \"uid\");\n"
    if role == "SCALAR":
        return row + "{0}, {0}, {0}, {0}},\n", checks
    base = f"{prefix}_{t['name']}"
    for what, value in (("RANK", len(t["dims"])), ("ALIGN", t["align"]), ("BYTES", extent(t))):
        checks += f"_Static_assert({base}_{what} == {value}, \"{what}\");\n"
    listed = ["{" + ", ".join(map(str, t[k])) + "}" for k in ("dims", "strides")]
    return row + f"{listed[0]}, {listed[1]}, {base}_DIMS, {base}_STRIDES}},\n", checks


def subject(plan, header, header_name, graph, variant):
    name, fields = c_names(header, graph)
    used = [{t["name"] for t in json.loads(text)["operationGraph"]["tensors"] if not t["isVirtual"]} for text in plan.texts(variant)]
    prefix = name + suffix(variant)
    rows, checks = "", ""
    for i, (field, t) in enumerate(zip(fields, variant["tensors"])):
        row, c = tensor_row(name, prefix, graph, i, field, t, used, variant["steps"])
        rows, checks = rows + row, checks + c
    steps, between = variant["steps"], variant.get("temporaries", [])
    known = {str(t["uid"]) for t in variant["tensors"] + between}
    for k, step in enumerate(steps):
        missing = used[k] - known - {str(c["uid"]) for c in step["constants"] + step.get("views", [])}
        if missing:
            raise Failure(f"step {k} reads {missing}, the manifest has them not")
    constants = "".join("    {%d, %d, %d, {%s}},\n" % (k, c["uid"], len(b), ", ".join(map(str, b)))
                        for k, step in enumerate(steps) for c in step["constants"] for b in [constant_bytes(c["type"], c["value"])])
    temporaries = "".join("    {%d, %d, %dull},\n" % (t["uid"], t["offset"], mask(used, t)) for t in between)
    handed = max([(t["offset"] + extent(t) + 255) // 256 * 256 for t in between], default=0)
    compiled = any("RUNTIME_COMPILATION" in step["behavior_notes"] for v in graph["variants"] for step in v["steps"])
    nvrtc = [int(x) for x in plan.manifest["nvrtc"].split(".")[:2]] if compiled else [0, 0]
    defaults = [[t.get("default") for t in v["tensors"]] for v in graph["variants"]]
    init = (name if all(d == defaults[0] for d in defaults) else prefix) + "_ARGS_INIT"
    text = f'#include "{header_name}"\n#define SUBJECT "{graph["name"]} {variant["name"]}"\n#define GRAPH_NAME "\'{graph["name"]}\'"\n'
    text += f"#define OBJECT struct {name}\n#define GRAPH struct {name}_graph\n#define ARGS struct {name}_args\n#define ARGS_DEFAULTS {init}\n"
    for n in NAMES[1:]:
        text += f"#define {n.upper()} {name}_{n}\n"
    params = variant["parameters"]
    text += f"#define CREATE(m, h) {name}_create(m, h{arguments(name, params)})\n"
    numbers = [p for p in params if p.get("variant") and not isinstance(p["value"], str)]
    if numbers:
        text += f"#define CREATE_OTHER(m, h) {name}_create(m, h{arguments(name, params, True)})\n"
    if len(numbers) == 1 == len([p for p in params if p.get("variant")]):
        values = sorted(next(p["value"] for p in v["parameters"] if p.get("variant")) for v in graph["variants"])
        text += f"#define ROUND_UP {name}_round_up\n#define ROUND_UP_LEAST {values[0]}\n"
        text += f"#define ROUND_UP_SECOND {(values + [-1])[1]}\n#define ROUND_UP_MOST {values[-1]}\n"
    text += f"#define NATIVE {int(len(steps) == 1 and 'SUPPORTS_CUDA_GRAPH_NATIVE_API' in steps[0]['behavior_notes'])}\n"
    text += f"#define TEMPORARY_BYTES {handed}\n#define NEEDED_WORKSPACE {handed + max(s['workspace_bytes'] for s in steps)}\n"
    text += f"#define N_STEPS {len(steps)}\n#define N_TEMPORARIES {len(between)}\n#define PLAN_CUDNN {plan.manifest['cudnn']}\n"
    text += f"#define COMPILED_BY {1000 * nvrtc[0] + 10 * nvrtc[1]}\n#define N_CONSTANTS {sum(len(s['constants']) for s in steps)}\n"
    text += "enum { INPUT, SCALAR, OUTPUT };\nenum { F64, F32, F16, BF16, I64, I32, OTHER };\n" + checks
    text += ("static const struct {\n    const char *name;\n    int role, type, kind;\n    int64_t uid;\n    size_t field, bytes, align;\n"
             "    uint64_t bound, read; /* a bit for each step that has it so; that has it or a view of it */\n    double def;\n    int64_t dims[8], strides[8], macro_dims[8], macro_strides[8];\n} subject[] = {\n")
    text += rows + "};\nstatic const struct {\n    int64_t uid, offset;\n    uint64_t steps;\n} temporaries[] = {\n"
    text += (temporaries or "    {0, 0, 0},\n") + "};\nstatic const struct {\n    int step;\n    int64_t uid;\n    int n;\n    unsigned char value[8];\n} constants[] = {\n"
    n_views, views = view_rows(variant)
    text += (constants or "    {0, 0, 0, {0}},\n") + f"}};\n#define N_VIEWS {n_views}\nstatic const struct {{\n    int step;\n    int64_t uid;\n    int of;\n"
    return text + "    int64_t at, offset;\n} views[] = {\n" + views + "};\n"


# ---- tests -------------------------------------------------------------------------------------------
class Tests:
    def __init__(self, folder, include):
        self.folder, self.include = folder, include
        self.fake = os.path.join(folder, "fake.o")
        run(["gcc", "-std=gnu11", *SAN, "-isystem", include, "-c", os.path.join(HERE, "fake_cudnn.c"), "-o", self.fake])
        self.results = []

    def launcher(self, name):
        """From the text, or from a plan of the same text that a test made before."""
        at = os.path.join(self.folder, name)
        got = plans.get(FGC, os.path.join(at, "x.fg"), os.path.join(at, "x.plan"))
        if got.returncode:
            raise Failure(f"{name}: exit status {got.returncode}\n{got.stderr}")
        run([FGC, "x.plan", "-q", "--launcher", "x.c"], at)

    def compiles(self, name, compiler, files):
        at = os.path.join(self.folder, name)
        for f in files:
            run([*COMPILERS[compiler], *WARN, "-isystem", self.include, "-c", f, "-o", "/dev/null"], at)

    def header_alone(self, name, compiler):
        at = os.path.join(self.folder, name)
        source = os.path.join(at, f"alone-{compiler}.c")
        write(source, '#include "x.h"\n#include "x.h"\nint alone(void);\nint alone(void) { return FGC_OK; }\n')
        run([*COMPILERS[compiler], *WARN, "-c", source, "-o", "/dev/null"], at)

    def link(self, at, program, sources, *flags):
        run(["gcc", "-std=c11", *SAN, "-Wall", "-Wextra", "-I", HERE, *flags, *sources, self.fake, "-lm", "-o", program], at)

    def checks(self, name, graph, variant, plan, source="x", flags=(), cwd=None):
        at = os.path.join(self.folder, name)
        key = f"{source}-{plan.graphs.index(graph)}-{graph['variants'].index(variant)}"
        folder = os.path.join(at, key)
        os.makedirs(folder, exist_ok=True)
        header = read(os.path.join(at, source + ".h")).decode()
        write(os.path.join(folder, "subject.h"), subject(plan, header, f"{source}.h", graph, variant))
        self.link(at, os.path.join(folder, "check"), [os.path.join(HERE, "check.c"), f"{source}.o"], "-I", folder, "-I", at, *flags)
        out, _ = run([os.path.join(folder, "check"), os.path.join(folder, "set.json")], cwd or at)
        want = re.sub(rb'("driverVer": ?)\d+', rb"\g<1>13000", b"".join(plan.texts(variant)))
        if read(os.path.join(folder, "set.json")) != want:
            raise Failure("the texts that cuDNN gets are not the plan's")
        if not re.search(r"^[1-9]\d* passed, 0 failed$", out, re.M):
            raise Failure(out)

    def object(self, name, source="x"):
        at = os.path.join(self.folder, name)
        run(["gcc", "-std=c99", *SAN, "-isystem", self.include, "-Dmalloc=fake_malloc", "-Dcalloc=fake_calloc", "-include",
             os.path.join(HERE, "fake_cudnn.h"), "-c", f"{source}.c", "-o", f"{source}.o"], at)

    def another_driver(self, name):
        """The digits are replaced, whatever their number."""
        at = os.path.join(self.folder, name)
        plan = Plan(os.path.join(at, "x.plan"))
        for graph in plan.graphs:
            for v in graph["variants"]:
                for step, text in zip(v["steps"], plan.texts(v)):
                    digits = text[step["driver_at"]:step["driver_at"] + step["driver_digits"]]
                    if not re.fullmatch(rb"\d+", digits) or text.count(b'"driverVer"') != 1:
                        raise Failure(f"{digits} is not the driver's version")

    def from_source(self, name):
        """Both ways give the same: from the text, and from the plan."""
        at = os.path.join(self.folder, name)
        os.makedirs(os.path.join(at, "again"), exist_ok=True)
        run([FGC, "x.fg", "-q", "--launcher", "again/x.c"], at)
        for f in ("x.c", "x.h"):
            if read(os.path.join(at, f)) != read(os.path.join(at, "again", f)):
                raise Failure(f"'{f}' made from the text is another than the plan's")

    def main_program(self, name):
        """The program of --launcher-main runs, replays, times and counts."""
        at = os.path.join(self.folder, name)
        self.link(at, os.path.join(at, "program"), ["m.c"], "-O1", "-isystem", self.include)
        env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        plan = Plan(os.path.join(at, "x.plan"))
        for g in plan.graphs:
            for v in g["variants"][:2]:
                command = [os.path.join(at, "program"), "--graph", g["name"], "--variant", v["name"], "--seed", "3", "--poison"]
                out, _ = run([*command, "--iters", "5", "--nodes"], at, env)
                for text in (f"{g['name']} {v['name']}: workspace", "graph replay: median 250.00 us", f"{len(v['steps'])} kernel, 0 memset"):
                    if text not in out:
                        raise Failure(f"no '{text}' in\n{out}")
                changed = [f"{t['name']}=2" for t in v["tensors"] if t["role"] == "scalar"]
                run([*command, "--replay", *[x for c in changed for x in ("--update-scalar", c, "--scalar", c)]], at, env)
        run([os.path.join(at, "program"), "--graph", "nonesuch"], at, env, want=1)

    def beside(self, name):
        """The plan in a file beside: found, missing, cut, altered."""
        at = os.path.join(self.folder, "beside")
        os.makedirs(at)
        write(os.path.join(at, "x.fg"), SPECS[name])
        name = "beside"
        self.launcher(name)
        run([FGC, "x.plan", "-q", "--launcher", "b.c", "--launcher-plan", 'b "q".plan'], at)
        for compiler in COMPILERS:
            self.compiles(name, compiler, ["b.c"])
        self.object(name, "b")
        plan = Plan(os.path.join(at, 'b "q".plan'))
        for graph in plan.graphs:
            for variant in (graph["variants"][0], graph["variants"][-1]):
                self.checks(name, graph, variant, plan, "b")
        g = plan.graphs[0]
        check = os.path.join(at, "b-0-0", "check")
        path, whole = os.path.join(at, 'b "q".plan'), read(os.path.join(at, 'b "q".plan'))
        text = plan.texts(g["variants"][0])[0]
        where = whole.index(text)
        altered = bytearray(whole)
        altered[where + len(text) // 2] ^= 1
        for damage, words in ((None, "cannot be opened"), (whole[:where + len(text) - 1], "too short"), (bytes(altered), "is not the one"), (b"", "too short")):
            if damage is None:
                os.remove(path)
            else:
                with open(path, "wb") as f:
                    f.write(damage)
            out, _ = run([check, os.path.join(at, "unused")], at, want=1)
            if words not in out or "status 5" not in out:
                raise Failure(f"no '{words}' in\n{out}")
        with open(path, "wb") as f:
            f.write(whole)

    # ---- one spec: a list of (what, function) --------------------------------------------------------
    def spec(self, name, text):
        at = os.path.join(self.folder, name)
        os.makedirs(at, exist_ok=True)
        write(os.path.join(at, "x.fg"), text)
        self.launcher(name)
        run([FGC, "x.plan", "-q", "--launcher", "m.c", "--launcher-main"], at)
        plan = Plan(os.path.join(at, "x.plan"))
        jobs = [(f"{c} compiles the launcher", lambda c=c: self.compiles(name, c, ["x.c", "m.c"])) for c in COMPILERS]
        jobs += [(f"{c} compiles the header alone", lambda c=c: self.header_alone(name, c)) for c in COMPILERS]
        if name in ("scalars", "conv_bias_relu"):
            jobs += [("from the text", lambda: self.from_source(name))]
        jobs += [("the driver's digits", lambda: self.another_driver(name)),
                 ("object", lambda: self.object(name)), ("main", lambda: self.main_program(name))]
        for graph in plan.graphs:
            chosen = graph["variants"] if len(graph["variants"]) < 5 else graph["variants"][::len(graph["variants"]) - 1]
            jobs += [(f"graph {graph['name']} {v['name']}", lambda g=graph, v=v: self.checks(name, g, v, plan)) for v in chosen]
        return jobs

    def captured(self):
        """The same tables, with an engine that fills no CUDA graph: a run is captured."""
        at = os.path.join(self.folder, "captured")
        os.makedirs(at)
        write(os.path.join(at, "x.fg"), SPECS["scalars"])
        self.launcher("captured")
        text = read(os.path.join(at, "x.c")).decode()
        text, n = re.subn(r"^(     \d+, \d+, \d+), 1\},$", r"\1, 0},", text, flags=re.M)
        if n != 2:
            raise Failure(f"{n} variants fill a CUDA graph")
        write(os.path.join(at, "x.c"), text)
        self.object("captured")
        plan = Plan(os.path.join(at, "x.plan"))
        for g in plan.graphs:
            notes = g["variants"][0]["steps"][0]["behavior_notes"]
            notes.remove("SUPPORTS_CUDA_GRAPH_NATIVE_API")
            self.checks("captured", g, g["variants"][0], plan)

    def file_names(self):
        at = os.path.join(self.folder, "files")
        os.makedirs(at)
        write(os.path.join(at, "x.fg"), SPECS["several"])
        for name in ('a"b.c', "a\\b.c", "a\nb.c", "a??/b.c"):
            _, err = run([FGC, "x.fg", "-q", "--launcher", name], at, want=2)
            if "#include" not in err or os.listdir(at) != ["x.fg"]:
                raise Failure(err)
        self.launcher("files")
        run([FGC, "x.plan", "-q", "--launcher", "1 a-b'é.c"], at)
        for c in COMPILERS.values():
            run([*c, *WARN, "-isystem", self.include, "-c", "1 a-b'é.c", "-o", "/dev/null"], at)

    def values(self):
        runtime, program = os.path.join(TOP, "src", "runtime", "run.c"), os.path.join(self.folder, "values")
        run(["gcc", "-std=gnu11", "-O1", *SAN, "-Wall", "-Wextra", "-Wno-unused-function", f'-DRUNTIME="{runtime}"', "-isystem", self.include,
             os.path.join(HERE, "values.c"), self.fake, "-lm", "-o", program])
        out, _ = run([program])
        if not re.search(r"^[1-9]\d* passed, 0 failed$", out, re.M):
            raise Failure(out)

    def macros(self):
        """Every macro that a compiler knows in a launcher is a tensor's name, or a graph's where it is a type."""
        at = os.path.join(self.folder, "macros")
        os.makedirs(at)
        write(os.path.join(at, "x.fg"), "fg 1\n" + odd("g", ["a"], "b"))
        run([FGC, "x.fg", "-q", "--launcher", "x.c", "--launcher-main"], at)
        names = set()
        for c in COMPILERS.values():
            out, _ = run([c[0], c[1].replace("c++17", "gnu++17").replace("c99", "gnu11"), *c[2:], "-isystem", self.include, "-dM", "-E", "x.c"], at)
            names |= set(re.findall(r"^#define (\w{1,63}) ", out, re.M))
        if len(names) < 1000:
            raise Failure(f"only {len(names)} macros")
        names = sorted(n for n in names - {"x", "w", "y"} - LANGUAGE if not n.startswith("g_"))
        for i in range(0, len(names), 800):
            unread = ", ".join(names[i:i + 800])
            write(os.path.join(at, "x.fg"), "fg 1\n\ngraph g" + READY % f", {unread}")
            run([FGC, "x.fg", "-q", "--launcher", "x.c", "--launcher-main"], at)
            for c in COMPILERS.values():
                gnu = [x.replace("c++17", "gnu++17").replace("c99", "gnu11") for x in c]
                run([*gnu, *WARN, "-Wno-pedantic", "-isystem", self.include, "-c", "x.c", "-o", "/dev/null"], at)
        write(os.path.join(at, "x.fg"), "fg 1\n" + "".join(f"\ngraph {n}{READY % ''}" for n in TYPE_NAMES))
        run([FGC, "x.fg", "-q", "--launcher", "x.c", "--launcher-main"], at)
        for c in COMPILERS.values():
            gnu = [x.replace("c++17", "gnu++17").replace("c99", "gnu11") for x in c]
            run([*gnu, *WARN, "-Wno-pedantic", "-isystem", self.include, "-c", "x.c", "-o", "/dev/null"], at)

    def colliding(self):
        """Two names that would be one in C are refused, and nothing is written."""
        at = os.path.join(self.folder, "colliding")
        os.makedirs(at)
        body = READY % ""
        for other in ("a_graph", "a_args", "a_x_UID"):
            write(os.path.join(at, "x.fg"), "fg 1\n\ngraph a" + body + f"\ngraph {other}" + body)
            _, err = run([FGC, "x.fg", "-q", "--launcher", "x.c"], at, want=1)
            if f"would be called '{other}" not in err or os.path.exists(os.path.join(at, "x.c")):
                raise Failure(err)
        for field in ("a_x_UID", "a_ARGS_INIT", "b_y_DIMS"):
            write(os.path.join(at, "x.fg"), "fg 1\n\ngraph b" + body + "\ngraph a" + READY % f", {field}")
            _, err = run([FGC, "x.fg", "-q", "--launcher", "x.c"], at, want=1)
            if f"would be called '{field}'" not in err or os.path.exists(os.path.join(at, "x.c")):
                raise Failure(err)
        write(os.path.join(at, "x.fg"), "fg 1\n\ngraph a" + body + "\ngraph a_b" + body)
        run([FGC, "x.fg", "-q", "--launcher", "x.c"], at)


def several(name, jobs):
    """Lines to print, and counts."""
    lines, counts = [], [0, 0, 0]
    for what, job in jobs:
        try:
            job()
            counts[0] += 1
        except PROBLEMS as e:
            lines.append(f"FAIL {name}: {what}: {e}")
            counts[1] += 1
    return lines, counts


def one(tests, name, text):
    try:
        return several(name, tests.spec(name, text))
    except PROBLEMS as e:
        return [f"FAIL {name}: {e}"], [0, 1, 0]


def main():
    include = include_folder()
    if not include:
        print("skipped: the headers of cuDNN or CUDA are not here")
        return 77
    specs = dict(SPECS)
    for e in ("attention_causal", "conv_bias_relu", "linear_amax"):
        specs[e] = read(os.path.join(TOP, "examples", e, e + ".fg")).decode()
    chosen = [n for n in sys.argv[1:] if n in specs] if sys.argv[1:] else list(specs)
    total = [0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        if os.environ.get("KEEP"):
            folder = os.environ["KEEP"]
        tests = Tests(folder, include)
        os.environ.setdefault("FGC_TEST_PLANS", folder)
        extra = {"beside": lambda: tests.beside("variants"), "colliding": tests.colliding, "macros": tests.macros, "values": tests.values,
                 "captured": tests.captured, "file names": tests.file_names}
        jobs = [lambda n=n: one(tests, n, specs[n]) for n in chosen]
        jobs += [lambda n=n: several(n, [(n, extra[n])]) for n in extra if not sys.argv[1:] or n in sys.argv[1:]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for lines, counts in pool.map(lambda job: job(), jobs):
                print("\n".join(lines), end="\n" if lines else "")
                total = [a + b for a, b in zip(total, counts)]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
