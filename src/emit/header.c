/* header: a plan as a C header, which needs no header of cuDNN.
 *
 * Invariant: identifiers are escaped one to one, text in comments cannot end them, and two names
 * that would become one identifier are refused. */
#include "emit/internal.h"

#include <inttypes.h>
#include <math.h>

static void refuse(struct writer *w, const char *name)
{
    struct diag *d = diag(w->s, DIAG_launcher_names, NO_SPAN,
                          "two things in the launcher would be called '%s'", name);
    diag_hint(w->s, d, "rename a graph or a tensor");
    w->ok = false;
}

/* Reserves a global identifier of the header. */
static const char *take(struct writer *w, const char *name)
{
    if (map_get(w->taken, name)) refuse(w, name);
    map_put(w->taken, name, (void *)name);
    return name;
}

/* The same for a macro, which takes its name from fields and parameters too. */
static const char *take_macro(struct writer *w, const char *name)
{
    map_put(w->macros, name, (void *)name);
    return take(w, name);
}

static void check_fields(struct writer *w, const struct plan_graph *g)
{
    const struct plan_variant *v = &g->variants.at[0];
    for (size_t i = 0; i < v->tensors.n; i++) {
        const char *field = emit_identifier(w, v->tensors.at[i].name);
        if (map_get(w->macros, field)) refuse(w, field);
    }
    for (size_t i = 0; i < v->params.n; i++) {
        const char *name = emit_parameter(w, v->params.at[i].name);
        if (v->params.at[i].is_variant && map_get(w->macros, name)) refuse(w, name);
    }
}

/* Length of a character that turns the direction of text, which compilers warn of; 0: another. */
static size_t direction_mark(const char *text)
{
    const unsigned char *u = (const unsigned char *)text;
    if (u[0] == 0xd8 && u[1] == 0x9c) return 2;
    if (u[0] != 0xe2 || (u[1] != 0x80 && u[1] != 0x81)) return 0;
    bool mark = u[1] == 0x80 ? u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xaa && u[2] <= 0xae)
                             : u[2] >= 0xa6 && u[2] <= 0xa9;
    return mark ? 3 : 0;
}

/* Text for a comment: what would end it, or begin a trigraph or a line splice, is broken up. */
void emit_comment(struct buf *b, const char *text)
{
    for (; *text; text++) {
        size_t mark = direction_mark(text);
        if (mark)
            text += mark - 1;
        else if (text[0] == '*' && text[1] == '/')
            buf_puts(b, "* ");
        else if ((text[0] == '?' && text[1] == '?') || (text[0] == '/' && text[1] == '*'))
            buf_printf(b, "%c ", text[0]);
        else if (*text == '\\')
            buf_puts(b, "/");
        else if (*text == '\n')
            buf_puts(b, " ");
        else
            buf_put(b, text, 1);
    }
}

/* ---- header -------------------------------------------------------------------------------- */

static void put_tensor_macros(struct writer *w, const char *prefix, const struct plan_tensor *t)
{
    static const char *const parts[] = {"UID", "RANK", "DIMS", "STRIDES", "ALIGN", "BYTES"};
    const char *base = arena_printf(w->s->arena, "%s_%s", prefix, t->name);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        take_macro(w, arena_printf(w->s->arena, "%s_%s", base, parts[i]));
    buf_printf(w->h, "#define %s_UID %" PRId64 "\n", base, t->uid);
    if (t->role == PLAN_SCALAR) return;
    buf_printf(w->h, "#define %s_RANK %d\n#define %s_DIMS ", base, t->rank, base);
    emit_list(w->h, t->rank, t->dim);
    buf_printf(w->h, "\n#define %s_STRIDES ", base);
    emit_list(w->h, t->rank, t->stride);
    buf_printf(w->h, " /* elements */\n#define %s_ALIGN %" PRId64 "\n#define %s_BYTES %zu\n", base,
               t->align, base, emit_bytes(t));
}

/* "f32[4, 64] 'int': its doc" */
static void put_field_comment(struct writer *w, const struct plan_graph *g, size_t index)
{
    const struct plan_tensor *t = &g->variants.at[0].tensors.at[index];
    struct buf *h = w->h;
    bool read = false;
    for (size_t i = 0; i < g->variants.n; i++)
        read |= emit_is_read(&g->variants.at[i], &g->variants.at[i].tensors.at[index]);
    buf_printf(h, " /* %s", dtypes[t->type].name);
    for (int k = 0; k < t->rank; k++) buf_printf(h, "%s%" PRId64, k ? ", " : "[", t->dim[k]);
    if (t->rank) buf_puts(h, "]");
    if (strcmp(emit_identifier(w, t->name), t->name) != 0) buf_printf(h, " '%s'", t->name);
    if (g->variants.n > 1) buf_puts(h, ", in the first variant");
    if (!read) buf_puts(h, ", not read");
    if (t->doc) {
        buf_puts(h, ": ");
        emit_comment(h, t->doc);
    }
    buf_puts(h, " */\n");
}

static void put_init(struct writer *w, const char *name, const char *prefix,
                     const struct plan_graph *g, const struct plan_variant *v)
{
    struct buf *h = w->h;
    const char *macro = take_macro(w, arena_printf(w->s->arena, "%s_ARGS_INIT", prefix));
    buf_printf(h, "#define %s {sizeof(struct %s_args)", macro, name);
    for (size_t i = 0; i < v->tensors.n; i++) {
        const struct plan_tensor *t = &v->tensors.at[i];
        buf_puts(h, ", ");
        if (t->role != PLAN_SCALAR) {
            buf_puts(h, "NULL");
            continue;
        }
        buf_printf(h, "(%s)(", emit_ctype(emit_field_type(g, i)));
        emit_real(h, t->def);
        buf_puts(h, ")");
    }
    buf_puts(h, "}\n");
}

static bool same_defaults(const struct plan_graph *g)
{
    for (size_t i = 1; i < g->variants.n; i++)
        for (size_t k = 0; k < g->variants.at[0].tensors.n; k++) {
            const struct plan_tensor *a = &g->variants.at[0].tensors.at[k];
            const struct plan_tensor *b = &g->variants.at[i].tensors.at[k];
            if (a->role == PLAN_SCALAR && memcmp(&a->def, &b->def, sizeof a->def) != 0)
                return false;
        }
    return true;
}

static void put_args_struct(struct writer *w, const char *name, const struct plan_graph *g)
{
    struct buf *h = w->h;
    const struct plan_variant *v = &g->variants.at[0];
    buf_printf(
        h,
        "struct %s_args {\n    size_t size; /* sizeof(struct %s_args), as ARGS_INIT sets it */\n",
        name, name);
    for (size_t i = 0; i < v->tensors.n; i++) {
        const struct plan_tensor *t = &v->tensors.at[i];
        const char *type = t->role == PLAN_SCALAR   ? emit_ctype(emit_field_type(g, i))
                           : t->role == PLAN_INPUT ? "const void *"
                                                   : "void *";
        buf_printf(h, "    %s%s%s;", type, t->role == PLAN_SCALAR ? " " : "",
                   emit_identifier(w, t->name));
        put_field_comment(w, g, i);
    }
    buf_puts(h, "};\n");
    if (same_defaults(g))
        put_init(w, name, name, g, v);
    else
        for (size_t i = 0; i < g->variants.n; i++) {
            const struct plan_variant *x = &g->variants.at[i];
            put_init(w, name, arena_printf(w->s->arena, "%s%s", name, emit_suffix(w, x)), g, x);
        }
    buf_puts(h, "\n");
}

/* What create takes for an element type: a number with a name. */
static void put_type_macros(struct writer *w, const char *name, const struct plan_graph *g)
{
    const struct plan_variant *v = &g->variants.at[0];
    for (size_t i = 0; i < v->params.n; i++) {
        unsigned long long seen = 0;
        if (!v->params.at[i].is_variant || !v->params.at[i].is_type) continue;
        for (size_t k = 0; k < g->variants.n; k++) {
            enum dtype t = g->variants.at[k].params.at[i].type;
            if (seen >> t & 1) continue;
            seen |= 1ull << t;
            const char *macro = arena_printf(w->s->arena, "%s_%s_%s", name, v->params.at[i].name,
                                             dtypes[t].name);
            buf_printf(w->h, "#define %s %d\n", take_macro(w, macro), (int)t);
        }
    }
}

static void header_graph(struct writer *w, const struct plan_graph *g)
{
    const char *name = emit_identifier(w, g->name);
    const struct plan_variant *v = &g->variants.at[0];
    struct buf *h = w->h;
    static const char *const parts[] = {"",
                                        "_args",
                                        "_create",
                                        "_workspace_bytes",
                                        "_run",
                                        "_destroy",
                                        "_error_string",
                                        "_graph",
                                        "_graph_create",
                                        "_graph_update",
                                        "_graph_launch",
                                        "_graph_destroy",
                                        "_round_up"};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        take(w, arena_printf(w->s->arena, "%s%s", name, parts[i]));
    buf_printf(h, "/* ---- graph %s", g->name);
    if (g->doc) {
        buf_puts(h, ": ");
        emit_comment(h, g->doc);
    }
    buf_puts(h, " */\n\n");
    for (size_t i = 0; i < g->variants.n; i++) {
        const struct plan_variant *x = &g->variants.at[i];
        for (size_t k = 0; k < x->tensors.n; k++)
            put_tensor_macros(w, arena_printf(w->s->arena, "%s%s", name, emit_suffix(w, x)),
                              &x->tensors.at[k]);
    }
    put_type_macros(w, name, g);
    buf_printf(h, "\nstruct %s;\nstruct %s_graph;\n", name, name);
    put_args_struct(w, name, g);
    buf_printf(h,
               "/* Loads the plan for the current device. *m is set even on failure, for its error "
               "text; destroy it. */\n"
               "int %s_create(struct %s **m, struct cudnnContext *handle",
               name, name);
    emit_params(w, h, v, true);
    buf_printf(h, ");\nsize_t %s_workspace_bytes(const struct %s *m);\n", name, name);
    buf_printf(
        h,
        "/* Launches on the handle's stream: no allocation on the device, no synchronisation. */\n"
        "int %s_run(struct %s *m, struct cudnnContext *handle, const struct %s_args *args, void "
        "*workspace);\n",
        name, name, name);
    buf_printf(h,
               "void %s_destroy(struct %s *m);\nconst char *%s_error_string(const struct %s *m);\n",
               name, name, name, name);
    buf_printf(
        h,
        "/* The same run as a CUDA graph; update takes new pointers and scalars. */\n"
        "int %s_graph_create(struct %s_graph **g, struct %s *m, struct cudnnContext *handle, const "
        "struct %s_args *args, void *workspace);\n"
        "int %s_graph_update(struct %s_graph *g, const struct %s_args *args, void *workspace);\n"
        "int %s_graph_launch(struct %s_graph *g, struct CUstream_st *stream);\n"
        "void %s_graph_destroy(struct %s_graph *g);\n",
        name, name, name, name, name, name, name, name, name, name, name);
    if (emit_has_round_up(g))
        buf_printf(h,
                   "/* The smallest value that there is a variant for and that is not below n; -1: "
                   "none. */\n"
                   "int64_t %s_round_up(int64_t n);\n",
                   name);
    buf_puts(h, "\n");
}

void emit_header(struct writer *w)
{
    struct buf *h = w->h;
    char guard[128] = "FGC_";
    size_t n = strlen(guard);
    for (const char *q = w->o->header_name; *q && n + 1 < sizeof guard; q++)
        guard[n++] = (*q >= 'a' && *q <= 'z')                               ? (char)(*q - 32)
                     : (*q >= 'A' && *q <= 'Z') || (*q >= '0' && *q <= '9') ? *q
                                                                            : '_';
    guard[n] = '\0';
    buf_printf(
        h,
        "/* Made by fgc %s; the text of this file is 0BSD. See the .c beside it.\n"
        " *\n"
        " * An object belongs to one thread at a time and to the device that was current when it "
        "was created; two\n"
        " * threads use two objects. Its pointers are checked the first time a set of them is "
        "seen. */\n"
        "#ifndef %s\n#define %s\n\n#include <stddef.h>\n#include <stdint.h>\n#include <math.h>\n\n",
        w->p->fgc_version, guard, guard);
    buf_puts(h, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                "struct cudnnContext; /* cudnnHandle_t is a pointer to it */\n"
                "struct CUstream_st;  /* cudaStream_t is a pointer to it */\n\n"
                "#ifndef FGC_STATUS\n#define FGC_STATUS\n"
                "enum fgc_status {\n    FGC_OK,\n    FGC_ERROR_ARGUMENT, /* a pointer is NULL, "
                "misaligned or overlaps */\n"
                "    FGC_ERROR_VARIANT,  /* no variant for these parameters */\n    "
                "FGC_ERROR_VERSION,  /* another cuDNN */\n"
                "    FGC_ERROR_DEVICE,   /* another GPU, or a driver that is too old */\n    "
                "FGC_ERROR_PLAN,     /* the plan file is not there or not the one */\n"
                "    FGC_ERROR_MEMORY,\n    FGC_ERROR_CUDNN,\n    FGC_ERROR_CUDA\n};\n#endif\n\n");
    for (size_t i = 0; i < w->p->graphs.n; i++) header_graph(w, &w->p->graphs.at[i]);
    for (size_t i = 0; i < w->p->graphs.n; i++) check_fields(w, &w->p->graphs.at[i]);
    buf_puts(h, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

