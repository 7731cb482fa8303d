/* launcher: a plan as C: tables made here, code from src/runtime.
 *
 * Invariant: what is written is C99 and C++ whatever the names in the plan: identifiers are escaped
 * one to one, text in comments and strings cannot end them, and two names that would become one
 * identifier are refused. */
#include "emit/internal.h"

#include <inttypes.h>

extern const struct embedded embedded_runtime[]; /* made from src/runtime by tools/embed */

enum { MAX_INSIDE = 4 << 20 };

static const char *type_word(enum dtype t)
{
    switch (t) {
    case DT_f64: return "FGC_F64";
    case DT_f32: return "FGC_F32";
    case DT_f16: return "FGC_F16";
    case DT_bf16: return "FGC_BF16";
    case DT_e4m3: return "FGC_E4M3";
    case DT_e5m2: return "FGC_E5M2";
    case DT_e8m0: return "FGC_E8M0";
    case DT_i64: return "FGC_I64";
    case DT_i32: return "FGC_I32";
    case DT_i8: return "FGC_I8";
    case DT_u8: return "FGC_U8";
    default: return "FGC_BOOL";
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_bytes(struct buf *b, const char *name, const char *bytes, size_t n)
{
    buf_printf(b, "static const unsigned char %s[] = {", name);
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s%u,", i % 32 ? "" : "\n", (unsigned char)bytes[i]);
    buf_puts(b, "\n};\n");
}

static void put_tensor_row(struct writer *w, const char *graph, const struct plan_graph *g,
                           const struct plan_variant *v, size_t index)
{
    const struct plan_tensor *t = &v->tensors.at[index];
    enum dtype field = t->role == PLAN_SCALAR ? emit_field_type(g, index) : t->type;
    static const char *const roles[] = {
        [PLAN_INPUT] = "FGC_INPUT", [PLAN_SCALAR] = "FGC_SCALAR", [PLAN_OUTPUT] = "FGC_OUTPUT"};
    struct buf *c = w->c;
    buf_printf(c, "    {\"%s\", %s, %s, %s, %d, %d, %" PRId64 ", %d, ", t->name, roles[t->role],
               type_word(t->type), type_word(field), emit_is_read(v, t), dtypes[t->type].bits / 8,
               t->uid, t->rank);
    emit_list(c, t->rank, t->dim);
    buf_puts(c, ", ");
    emit_list(c, t->rank, t->stride);
    buf_printf(c, ", %" PRId64 ", %zu, offsetof(struct %s_args, %s), ",
               t->role == PLAN_SCALAR ? 1 : t->align, t->role == PLAN_SCALAR ? 0 : emit_bytes(t),
               graph, emit_identifier(w, t->name));
    emit_real(c, t->role == PLAN_SCALAR ? t->def : 0);
    buf_puts(c, "},\n");
}

static void put_constant_row(struct writer *w, const struct plan_constant *k)
{
    unsigned char value[8] = {0};
    for (int t = DT_none + 1; t < N_DTYPES; t++)
        if (t != DT_tf32 && dtypes[t].bits >= 8 && strcmp(dtypes[t].cudnn, k->type) == 0)
            dtype_store((enum dtype)t, value, 0, k->value);
    buf_puts(w->c, "    {");
    for (int i = 0; i < 8; i++) buf_printf(w->c, "%s%u", i ? ", " : "", value[i]);
    buf_puts(w->c, "}, /* ");
    buf_real(w->c, k->value);
    buf_puts(w->c, " */\n");
}

static bool has_word(const words_vec *v, const char *word)
{
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->at[i], word) == 0) return true;
    return false;
}

/* Where the plan's text stands in the container; the plan is stored there as it is. */
static size_t offset_in_file(struct writer *w, const struct plan_step *step)
{
    const char *at = memmem(w->o->plan_bytes, w->o->n_plan_bytes, step->plan, step->plan_bytes);
    return at ? (size_t)(at - w->o->plan_bytes) : 0;
}

static void put_view(struct buf *c, const struct plan_variant *v, const struct plan_view *view)
{
    for (size_t i = 0; i < v->tensors.n; i++)
        if (v->tensors.at[i].uid == view->of)
            buf_printf(c, "{FGC_TENSOR, %zu, %" PRId64 "}, ", i, view->offset);
    for (size_t i = 0; i < v->temporaries.n; i++)
        if (v->temporaries.at[i].uid == view->of)
            buf_printf(c, "{FGC_TEMPORARY, %" PRId64 ", %" PRId64 "}, ",
                       v->temporaries.at[i].offset, view->offset);
}

/* The uids of one step, or where each comes from; constants_at: of the variant's constants, its
 * first. The interface comes first, in its order. */
static void put_operands(struct writer *w, const struct plan_variant *v,
                         const struct plan_step *step, size_t constants_at, bool uids)
{
    struct buf *c = w->c;
    for (size_t i = 0; i < v->tensors.n; i++) {
        if (!plan_step_binds(step, v->tensors.at[i].uid)) continue;
        if (uids)
            buf_printf(c, "%" PRId64 ", ", v->tensors.at[i].uid);
        else
            buf_printf(c, "{FGC_TENSOR, %zu, 0}, ", i);
    }
    for (size_t i = 0; i < v->temporaries.n; i++) {
        const struct plan_temporary *t = &v->temporaries.at[i];
        if (!plan_step_binds(step, t->uid)) continue;
        if (uids)
            buf_printf(c, "%" PRId64 ", ", t->uid);
        else
            buf_printf(c, "{FGC_TEMPORARY, %" PRId64 ", 0}, ", t->offset);
    }
    for (size_t i = 0; i < step->views.n; i++) {
        const struct plan_view *view = &step->views.at[i];
        if (uids)
            buf_printf(c, "%" PRId64 ", ", view->uid);
        else
            put_view(c, v, view);
    }
    for (size_t i = 0; i < step->constants.n; i++) {
        if (uids)
            buf_printf(c, "%" PRId64 ", ", step->constants.at[i].uid);
        else
            buf_printf(c, "{FGC_CONSTANT, %zu, 0}, ", constants_at + i);
    }
}

static size_t n_operands(const struct plan_variant *v, const struct plan_step *step)
{
    size_t n = step->constants.n + step->views.n;
    for (size_t i = 0; i < v->tensors.n; i++) n += plan_step_binds(step, v->tensors.at[i].uid);
    for (size_t i = 0; i < v->temporaries.n; i++)
        n += plan_step_binds(step, v->temporaries.at[i].uid);
    return n;
}

static void step_row(struct writer *w, const struct plan_variant *v, const struct plan_step *step,
                     const char *id)
{
    struct buf *c = w->c;
    char digest[65];
    sha256_hex(step->plan, step->plan_bytes, digest);
    buf_printf(c, "    {fgc_uids_%s, fgc_operands_%s, %zu, ", id, id, n_operands(v, step));
    if (w->o->plan_file)
        buf_printf(c, "NULL, %zu, %zu, \"%s\"", step->plan_bytes, offset_in_file(w, step), digest);
    else
        buf_printf(c, "fgc_plan_%s, %zu, 0, \"%s\"", id, step->plan_bytes, digest);
    buf_printf(c, ",\n     %zu, %zu, %" PRId64 ", %d},\n", step->driver_at, step->driver_len,
               step->workspace_bytes, has_word(&step->behavior, "SUPPORTS_CUDA_GRAPH_NATIVE_API"));
}

static void step_tables(struct writer *w, const struct plan_variant *v, const char *id)
{
    struct buf *c = w->c;
    size_t constants_at = 0;
    for (size_t i = 0; i < v->steps.n; i++) {
        const struct plan_step *step = &v->steps.at[i];
        const char *own = arena_printf(w->s->arena, "%s_%zu", id, i);
        if (!w->o->plan_file)
            put_bytes(c, arena_printf(w->s->arena, "fgc_plan_%s", own), step->plan,
                      step->plan_bytes);
        buf_printf(c, "static const int64_t fgc_uids_%s[] = {", own);
        put_operands(w, v, step, constants_at, true);
        buf_printf(c, "0};\nstatic const struct fgc_operand fgc_operands_%s[] = {", own);
        put_operands(w, v, step, constants_at, false);
        buf_puts(c, "{FGC_TENSOR, 0, 0}};\n");
        constants_at += step->constants.n;
    }
    buf_printf(c, "static const struct fgc_step fgc_steps_%s[] = {\n", id);
    for (size_t i = 0; i < v->steps.n; i++)
        step_row(w, v, &v->steps.at[i], arena_printf(w->s->arena, "%s_%zu", id, i));
    buf_puts(c, "};\n");
}

static size_t n_constants(const struct plan_variant *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->steps.n; i++) n += v->steps.at[i].constants.n;
    return n;
}

static void variant_tables(struct writer *w, const char *graph, const struct plan_graph *g,
                           const struct plan_variant *v, const char *id)
{
    struct buf *c = w->c;
    step_tables(w, v, id);
    buf_printf(c, "static const struct fgc_tensor fgc_tensors_%s[] = {\n", id);
    for (size_t i = 0; i < v->tensors.n; i++) put_tensor_row(w, graph, g, v, i);
    buf_printf(c, "};\nstatic const unsigned char fgc_constants_%s[][8] = {\n", id);
    for (size_t i = 0; i < v->steps.n; i++)
        for (size_t k = 0; k < v->steps.at[i].constants.n; k++)
            put_constant_row(w, &v->steps.at[i].constants.at[k]);
    if (n_constants(v) == 0) buf_puts(c, "    {0},\n");
    buf_printf(c, "};\nstatic const int64_t fgc_params_%s[] = {", id);
    size_t n = 0;
    for (size_t i = 0; i < v->params.n; i++)
        if (v->params.at[i].is_variant)
            buf_printf(c, "%s%" PRId64, n++ ? ", " : "", emit_param_value(&v->params.at[i]));
    buf_puts(c, n ? "};\n" : "0};\n");
}

static void variant_row(struct writer *w, const struct plan_variant *v, const char *id)
{
    int64_t temporaries;
    plan_workspace(v, &temporaries);
    buf_printf(w->c,
               "    {\"%s\", fgc_params_%s, fgc_tensors_%s, %zu, fgc_constants_%s, %zu, "
               "fgc_steps_%s, %zu, %" PRId64 "},\n",
               v->name, id, id, v->tensors.n, id, n_constants(v), id, v->steps.n, temporaries);
}

/* "key": of the normalised description, which target_load has checked. */
static int64_t profile_number(const struct plan *p, const char *key, int index)
{
    char text[80];
    snprintf(text, sizeof text, "\"%s\":", key);
    const char *q = strstr(p->target.json, text);
    if (!q) return 0;
    q += strlen(text);
    if (*q == '[') q++;
    for (; index > 0; index--) q += strcspn(q, ",") + 1;
    int64_t v = 0;
    for (; *q >= '0' && *q <= '9'; q++) v = v * 10 + (*q - '0');
    return v;
}

/* "13.0" -> 13000, the driver that can load what it compiled. */
static int cuda_version(const char *nvrtc)
{
    int major = 0, minor = 0;
    return nvrtc && sscanf(nvrtc, "%d.%d", &major, &minor) == 2 ? 1000 * major + 10 * minor : 0;
}

static void graph_tables(struct writer *w, const struct plan_graph *g, size_t index)
{
    const char *name = emit_identifier(w, g->name);
    struct arena *a = w->s->arena;
    struct buf *c = w->c;
    for (size_t i = 0; i < g->variants.n; i++)
        variant_tables(w, name, g, &g->variants.at[i], arena_printf(a, "%zu_%zu", index, i));
    buf_printf(c, "static const struct fgc_variant fgc_variants_%zu[] = {\n", index);
    for (size_t i = 0; i < g->variants.n; i++)
        variant_row(w, &g->variants.at[i], arena_printf(a, "%zu_%zu", index, i));
    buf_printf(c, "};\nstatic const char *const fgc_param_names_%zu[] = {", index);
    const struct plan_variant *v = &g->variants.at[0];
    for (size_t i = 0; i < v->params.n; i++)
        if (v->params.at[i].is_variant) buf_printf(c, "\"%s\", ", v->params.at[i].name);
    bool compiled = false;
    for (size_t i = 0; i < g->variants.n; i++)
        for (size_t k = 0; k < g->variants.at[i].steps.n; k++)
            compiled |= has_word(&g->variants.at[i].steps.at[k].behavior, "RUNTIME_COMPILATION");
    const struct plan *p = w->p;
    buf_printf(c,
               "NULL};\nstatic const struct fgc_family fgc_family_%zu = {\n    \"%s\", "
               "sizeof(struct %s_args), fgc_variants_%zu, %zu, "
               "fgc_param_names_%zu, %zu, %" PRId64 ", %d,\n",
               index, g->name, name, index, g->variants.n, index, emit_n_choosers(v),
               p->cudnn_version, compiled ? cuda_version(p->nvrtc_version) : 0);
    buf_printf(c,
               "    {%d, %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", {%" PRId64
               ", %" PRId64 ", %" PRId64 "}}, ",
               p->target.sm, p->target.multiprocessors,
               profile_number(p, "maxSharedMemoryPerBlockOptin", 0),
               profile_number(p, "reservedSharedMemoryPerBlock", 0),
               profile_number(p, "regsPerBlock", 0), profile_number(p, "maxThreadsPerSM", 0),
               profile_number(p, "maxGridSize", 0), profile_number(p, "maxGridSize", 1),
               profile_number(p, "maxGridSize", 2));
    buf_puts(c, w->o->plan_file ? "FGC_PLAN_FILE" : "NULL");
    buf_puts(c, "};\n\n");
}

/* ---- functions ------------------------------------------------------------------------------ */

static void graph_functions(struct writer *w, const struct plan_graph *g, size_t index)
{
    const char *n = emit_identifier(w, g->name);
    const struct plan_variant *v = &g->variants.at[0];
    struct buf *c = w->c;
    buf_printf(c,
               "struct %s {\n    struct fgc_object o;\n};\nstruct %s_graph {\n    struct fgc_graph "
               "g;\n};\n\n",
               n, n);
    buf_printf(c, "int %s_create(struct %s **m, struct cudnnContext *handle", n, n);
    emit_params(w, c, v, true);
    buf_printf(
        c, ")\n{\n    struct fgc_object *o = NULL;\n    int status;\n    int64_t params[%zu];\n",
        emit_n_choosers(v) + 1);
    size_t k = 0;
    for (size_t i = 0; i < v->params.n; i++)
        if (v->params.at[i].is_variant)
            buf_printf(c, "    params[%zu] = %s;\n", k++, emit_parameter(w, v->params.at[i].name));
    buf_printf(c,
               "    params[%zu] = 0;\n    if (!m) return FGC_ERROR_ARGUMENT;\n"
               "    status = fgc_create(&o, &fgc_family_%zu, handle, "
               "fgc_find_variant(&fgc_family_%zu, params), params);\n"
               "    *m = (struct %s *)(void *)o;\n    return status;\n}\n\n",
               k, index, index, n);
    buf_printf(c,
               "size_t %s_workspace_bytes(const struct %s *m)\n{\n    return m ? m->o.workspace : "
               "0;\n}\n\n",
               n, n);
    buf_printf(c,
               "int %s_run(struct %s *m, struct cudnnContext *handle, const struct %s_args *args, "
               "void *workspace)\n{\n"
               "    return fgc_run(m ? &m->o : NULL, handle, args, workspace);\n}\n\n",
               n, n, n);
    buf_printf(c, "void %s_destroy(struct %s *m)\n{\n    fgc_destroy(m ? &m->o : NULL);\n}\n\n", n,
               n);
    buf_printf(c,
               "const char *%s_error_string(const struct %s *m)\n{\n    return m ? m->o.error : "
               "\"there is no object: out of memory\";\n}\n\n",
               n, n);
    buf_printf(c,
               "int %s_graph_create(struct %s_graph **g, struct %s *m, struct cudnnContext "
               "*handle, const struct %s_args *args, void *workspace)\n{\n"
               "    struct fgc_graph *made = NULL;\n    int status;\n    if (!g) return "
               "FGC_ERROR_ARGUMENT;\n"
               "    status = fgc_graph_create(&made, m ? &m->o : NULL, handle, args, workspace);\n"
               "    *g = (struct %s_graph *)(void *)made;\n    return status;\n}\n\n",
               n, n, n, n, n);
    buf_printf(
        c,
        "int %s_graph_update(struct %s_graph *g, const struct %s_args *args, void *workspace)\n{\n"
        "    return fgc_graph_update(g ? &g->g : NULL, args, workspace);\n}\n\n",
        n, n, n);
    buf_printf(c,
               "int %s_graph_launch(struct %s_graph *g, struct CUstream_st *stream)\n{\n    return "
               "fgc_graph_launch(g ? &g->g : NULL, stream);\n}\n\n",
               n, n);
    buf_printf(c,
               "void %s_graph_destroy(struct %s_graph *g)\n{\n    fgc_graph_destroy(g ? &g->g : "
               "NULL);\n}\n\n",
               n, n);
    if (emit_has_round_up(g))
        buf_printf(c,
                   "int64_t %s_round_up(int64_t n)\n{\n    int64_t best = -1;\n    size_t i;\n    "
                   "for (i = 0; i < fgc_family_%zu.n_variants; i++) {\n"
                   "        int64_t v = fgc_family_%zu.variants[i].params[0];\n        if (v >= n "
                   "&& (best < 0 || v < best)) best = v;\n    }\n"
                   "    return best;\n}\n\n",
                   n, index, index);
}

static void put_runtime(struct writer *w, const char *name)
{
    for (const struct embedded *e = embedded_runtime; e->name; e++)
        if (strcmp(e->name, name) == 0) buf_put(w->c, e->text, e->length);
}

static bool sizes_fit(struct writer *w)
{
    size_t total = 0;
    for (size_t i = 0; i < w->p->graphs.n; i++)
        for (size_t k = 0; k < w->p->graphs.at[i].variants.n; k++)
            for (size_t t = 0; t < w->p->graphs.at[i].variants.at[k].steps.n; t++)
                total += w->p->graphs.at[i].variants.at[k].steps.at[t].plan_bytes;
    if (w->o->plan_file || total <= MAX_INSIDE) return true;
    struct diag *d = diag(w->s, DIAG_launcher_size, NO_SPAN,
                          "the plans are %zu bytes, above the 4 MiB that a launcher holds itself",
                          total);
    diag_hint(w->s, d, "--launcher-plan=FILE keeps them beside the program");
    return false;
}

/* One args struct serves all variants of a graph; a plan file may say otherwise. */
static bool same_interface(const struct plan_variant *a, const struct plan_variant *b)
{
    if (a->tensors.n != b->tensors.n || a->params.n != b->params.n) return false;
    for (size_t i = 0; i < a->tensors.n; i++)
        if (strcmp(a->tensors.at[i].name, b->tensors.at[i].name) != 0 ||
            a->tensors.at[i].role != b->tensors.at[i].role)
            return false;
    for (size_t i = 0; i < a->params.n; i++) {
        const struct graph_param *p = &a->params.at[i], *q = &b->params.at[i];
        if (strcmp(p->name, q->name) != 0 || p->is_type != q->is_type ||
            p->is_variant != q->is_variant)
            return false;
    }
    return true;
}

static bool interfaces_agree(struct writer *w)
{
    for (size_t i = 0; i < w->p->graphs.n; i++) {
        const struct plan_graph *g = &w->p->graphs.at[i];
        for (size_t k = 0; k < g->variants.n; k++)
            if (!same_interface(&g->variants.at[0], &g->variants.at[k])) {
                diag(w->s, DIAG_plan, NO_SPAN,
                     "variants of graph '%s' differ in tensors or parameters", g->name);
                return false;
            }
    }
    return true;
}

static void put_title(struct writer *w)
{
    int64_t v = w->p->cudnn_version;
    buf_printf(w->c, "/* Made by fgc %s from a plan for ", w->p->fgc_version);
    emit_comment(w->c, w->p->target.name);
    buf_printf(w->c, " and cuDNN %" PRId64 ".%" PRId64 ".%" PRId64 ".\n *\n", v / 10000,
               v / 100 % 100, v % 100);
    buf_puts(w->c, " * fgc's text in this file is 0BSD: use it as you like, without any warranty.\n"
                   " * The plan's bytes come from cuDNN and are under NVIDIA's terms.\n"
                   " * Needs libcudnn and libcudart: cc file.c -lcudnn -lcudart -lm. */\n");
}

bool emit_launcher(struct session *s, const struct plan *p, const struct emit_options *o,
                   struct buf *c_file, struct buf *h_file)
{
    struct writer w = {.s = s, .p = p, .o = o, .c = c_file, .h = h_file, .ok = true};
    w.taken = map_new(s->arena);
    w.macros = map_new(s->arena);
    if (!interfaces_agree(&w) || !sizes_fit(&w)) return false;
    emit_header(&w);
    put_title(&w);
    buf_printf(c_file, "#include \"%s\"\n\n", o->header_name);
    if (o->plan_file) {
        buf_puts(c_file, "#ifndef FGC_PLAN_FILE\n#define FGC_PLAN_FILE ");
        emit_string(c_file, o->plan_file);
        buf_puts(c_file, "\n#endif\n\n");
    }
    put_runtime(&w, "run.c");
    put_runtime(&w, "object.c");
    put_runtime(&w, "graph.c");
    put_runtime(&w, o->plan_file ? "plan_beside.c" : "plan_inside.c");
    buf_puts(c_file, "\n/* ---- tables ---------------------------------------------- */\n\n");
    for (size_t i = 0; i < p->graphs.n; i++) graph_tables(&w, &p->graphs.at[i], i);
    buf_puts(c_file, "/* ---- the header's functions ------------------------------ */\n\n");
    for (size_t i = 0; i < p->graphs.n; i++) graph_functions(&w, &p->graphs.at[i], i);
    if (o->with_main) {
        buf_puts(c_file, "static const struct fgc_family *const fgc_families[] = {");
        for (size_t i = 0; i < p->graphs.n; i++) buf_printf(c_file, "&fgc_family_%zu, ", i);
        buf_puts(c_file, "NULL};\n\n");
        put_runtime(&w, "main.c");
    }
    return w.ok;
}
