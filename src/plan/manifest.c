/* manifest: a plan's description as JSON, and back.
 *
 * Invariant: members are written in a fixed order and all of them, so that writing what was read
 * gives the same text; reading checks every kind, range and size before it is used. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "plan/internal.h"

static const char *const roles[] = {
    [PLAN_INPUT] = "input", [PLAN_SCALAR] = "scalar", [PLAN_OUTPUT] = "output"};

/* ---- writing ------------------------------------------------------------------------------- */

static json_t *numbers(int n, const int64_t *v)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, json_integer(v[i]));
    return list;
}

static json_t *words(const words_vec *v)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->n; i++) json_array_append_new(list, json_string(v->at[i]));
    return list;
}

/* JSON has no infinities: they are strings. (No value of a plan is NaN.) */
static json_t *real(double x)
{
    return isinf(x) ? json_string(x < 0 ? "-inf" : "inf") : json_real(x);
}

static json_t *write_tensor(const struct plan_tensor *t)
{
    json_t *j = json_pack("{s:s, s:s, s:I, s:s}", "name", t->name, "role", roles[t->role], "uid",
                          (json_int_t)t->uid, "type", dtypes[t->type].name);
    if (t->role == PLAN_SCALAR) {
        if (t->has_default) json_object_set_new(j, "default", real(t->def));
    } else {
        json_object_set_new(j, "dims", numbers(t->rank, t->dim));
        json_object_set_new(j, "strides", numbers(t->rank, t->stride));
        json_object_set_new(j, "align", json_integer(t->align));
    }
    if (t->doc) json_object_set_new(j, "doc", json_string(t->doc));
    return j;
}

static json_t *write_temporary(const struct plan_temporary *t)
{
    return json_pack("{s:s, s:I, s:s, s:o, s:o, s:I, s:I, s:I, s:o}", "name", t->name, "uid",
                     (json_int_t)t->uid, "type", dtypes[t->type].name, "dims",
                     numbers(t->rank, t->dim), "strides", numbers(t->rank, t->stride), "offset",
                     (json_int_t)t->offset, "bytes", (json_int_t)plan_temporary_bytes(t), "made_by",
                     (json_int_t)t->made_by, "read_by", numbers((int)t->read_by.n, t->read_by.at));
}

static json_t *write_step(const struct plan_step *s, const char *plan)
{
    json_t *knobs = json_array(), *constants = json_array();
    for (size_t i = 0; i < s->knobs.n; i++)
        json_array_append_new(knobs, json_pack("[I, I]", (json_int_t)s->knobs.at[i].type,
                                               (json_int_t)s->knobs.at[i].value));
    for (size_t i = 0; i < s->constants.n; i++)
        json_array_append_new(constants, json_pack("{s:I, s:s, s:o}", "uid",
                                                   (json_int_t)s->constants.at[i].uid, "type",
                                                   s->constants.at[i].type, "value",
                                                   real(s->constants.at[i].value)));
    json_t *views = s->views.n ? json_array() : NULL; /* left out where there are none */
    for (size_t i = 0; i < s->views.n; i++)
        json_array_append_new(views, json_pack("{s:I, s:I, s:I, s:I}", "uid",
                                               (json_int_t)s->views.at[i].uid, "of",
                                               (json_int_t)s->views.at[i].of, "offset",
                                               (json_int_t)s->views.at[i].offset, "bytes",
                                               (json_int_t)s->views.at[i].bytes));
    return json_pack("{s:I, s:o, s:o, s:o, s:I, s:s, s:o, s:o*, s:I, s:I, s:s}", "engine",
                     (json_int_t)s->engine, "knobs", knobs, "numerical_notes", words(&s->numerical),
                     "behavior_notes", words(&s->behavior), "workspace_bytes",
                     (json_int_t)s->workspace_bytes, "chosen_by", s->chosen_by, "constants",
                     constants, "views", views, "driver_at", (json_int_t)s->driver_at, "driver_digits",
                     (json_int_t)s->driver_len, "plan", plan);
}

static json_t *write_variant(struct arena *a, const struct plan *p, const struct plan_graph *g,
                             const struct plan_variant *v)
{
    json_t *params = json_array(), *tensors = json_array(), *steps = json_array();
    for (size_t i = 0; i < v->params.n; i++) {
        const struct graph_param *q = &v->params.at[i];
        json_t *value = q->is_type ? json_string(dtypes[q->type].name) : json_integer(q->i);
        json_array_append_new(params, json_pack("{s:s, s:o, s:b}", "name", q->name, "value", value,
                                                "variant", q->is_variant));
    }
    for (size_t i = 0; i < v->tensors.n; i++)
        json_array_append_new(tensors, write_tensor(&v->tensors.at[i]));
    for (size_t i = 0; i < v->steps.n; i++)
        json_array_append_new(steps, write_step(&v->steps.at[i], plan_step_name(a, p, g, v, i)));
    json_t *temporaries = v->temporaries.n ? json_array() : NULL; /* left out where there are none */
    for (size_t i = 0; i < v->temporaries.n; i++)
        json_array_append_new(temporaries, write_temporary(&v->temporaries.at[i]));
    return json_pack("{s:s, s:o, s:b, s:o, s:o*, s:o, s:s}", "name", v->name, "parameters", params,
                     "reproducible", v->reproducible, "tensors", tensors, "temporaries",
                     temporaries, "steps", steps, "ir", plan_ir_name(a, g, v));
}

static json_t *manifest_write(struct arena *a, const struct plan *p)
{
    json_t *graphs = json_array(), *entries = json_array();
    for (size_t i = 0; i < p->graphs.n; i++) {
        const struct plan_graph *g = &p->graphs.at[i];
        json_t *variants = json_array(), *j = json_pack("{s:s}", "name", g->name);
        if (g->doc) json_object_set_new(j, "doc", json_string(g->doc));
        for (size_t k = 0; k < g->variants.n; k++)
            json_array_append_new(variants, write_variant(a, p, g, &g->variants.at[k]));
        json_object_set_new(j, "variants", variants);
        json_array_append_new(graphs, j);
    }
    entries_vec all = plan_entries(a, p);
    for (size_t i = 0; i < all.n; i++) {
        char digest[65];
        sha256_hex(all.at[i].bytes, all.at[i].n, digest);
        json_array_append_new(entries, json_pack("{s:s, s:I, s:s}", "name", all.at[i].name, "bytes",
                                                 (json_int_t)all.at[i].n, "sha256", digest));
    }
    json_t *target = json_pack("{s:s, s:b, s:o}", "name", p->target.name, "host", p->target.host,
                               "description", json_loads(p->target.json, 0, NULL));
    json_t *imports = p->imports.n ? json_array() : NULL; /* left out where there are none */
    for (size_t i = 0; i < p->imports.n; i++)
        json_array_append_new(imports, json_string(p->imports.at[i].name));
    return json_pack("{s:i, s:s, s:I, s:s, s:o, s:o*, s:o, s:o}", "format", PLAN_FORMAT, "fgc",
                     p->fgc_version, "cudnn", (json_int_t)p->cudnn_version, "nvrtc",
                     p->nvrtc_version, "target", target, "imports", imports, "graphs", graphs,
                     "entries", entries);
}

const char *manifest_text(struct arena *a, const struct plan *p, const char **why)
{
    json_t *j = manifest_write(a, p);
    struct plan again;
    struct buf b = {0};
    const char *text = NULL;
    *why = j ? manifest_read(a, j, &again)
             : "a text is not UTF-8"; /* what is written can be read */
    if (!*why && again.graphs.n != p->graphs.n) *why = "a graph's text is not UTF-8";
    if (!*why && again.imports.n != p->imports.n) *why = "an import's path is not UTF-8";
    if (!*why) {
        json_print(j, &b);
        buf_puts(&b, "\n");
        text = arena_strndup(a, b.at, b.n);
    }
    buf_fini(&b);
    json_decref(j);
    return text;
}

/* ---- reading ------------------------------------------------------------------------------- */

struct reader {
    struct arena *a;
    const char *why; /* the first fault */
};

static bool fault(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool fault(struct reader *r, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!r->why) r->why = arena_strdup(r->a, text);
    return false;
}

/* Texts are shown on terminals and put into C comments: no control bytes but the newlines of docs.
 */
static const char *text(struct reader *r, const json_t *o, const char *key, bool needed)
{
    json_t *v = json_object_get(o, key);
    if (!v && !needed) return NULL;
    const char *s = json_string_value(v);
    bool is_doc = strcmp(key, "doc") == 0;
    if (!s || strlen(s) != json_string_length(v) ||
        json_string_length(v) > (is_doc ? 1 << 16 : 256)) {
        fault(r, "'%s' is not a text, or is a long one", key);
        return "";
    }
    for (const char *c = s; *c; c++)
        if (((unsigned char)*c < 0x20 && !(is_doc && (*c == '\n' || *c == '\t'))) || *c == 0x7f) {
            fault(r, "'%s' holds a control byte", key);
            return "";
        }
    return arena_strdup(r->a, s);
}

static int64_t integer(struct reader *r, const json_t *o, const char *key, int64_t least,
                       int64_t most)
{
    json_t *v = json_object_get(o, key);
    if (json_is_integer(v) && json_integer_value(v) >= least && json_integer_value(v) <= most)
        return json_integer_value(v);
    fault(r, "'%s' is not an integer from %" PRId64 " to %" PRId64, key, least, most);
    return least;
}

static bool boolean(struct reader *r, const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);
    if (!json_is_boolean(v)) fault(r, "'%s' is not true or false", key);
    return json_is_true(v);
}

static const json_t *list(struct reader *r, const json_t *o, const char *key, size_t most)
{
    json_t *v = json_object_get(o, key);
    if (!json_is_array(v) || json_array_size(v) > most)
        fault(r, "'%s' is not a list of at most %zu", key, most);
    return v;
}

static double real_value(struct reader *r, const json_t *v, const char *key)
{
    const char *s = json_string_value(v);
    if (s && strcmp(s, "inf") == 0) return INFINITY;
    if (s && strcmp(s, "-inf") == 0) return -INFINITY;
    if (!json_is_real(v)) fault(r, "'%s' is not a real", key);
    return json_real_value(v);
}

/* What becomes part of an entry's name and of C text: letters, digits, '_', and for variants '='
 * ',' '-'. */
static bool plain(const char *s, const char *more, size_t most)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
              (s[i] >= '0' && s[i] <= '9') || s[i] == '_' || strchr(more, s[i])))
            return false;
    return n > 0 && n <= most;
}

static const char *name(struct reader *r, const json_t *o)
{
    const char *s = text(r, o, "name", true);
    if (!plain(s, "", 63) || (*s >= '0' && *s <= '9')) fault(r, "'%.80s' is not a name", s);
    return s;
}

static words_vec read_words(struct reader *r, const json_t *o, const char *key)
{
    words_vec v = {0};
    size_t i;
    json_t *w;
    json_array_foreach((json_t *)list(r, o, key, 64), i, w)
    {
        if (!json_is_string(w) || !plain(json_string_value(w), "", 63))
            fault(r, "'%s' holds what is no word", key);
        else
            vec_push(r->a, &v, arena_strdup(r->a, json_string_value(w)));
    }
    return v;
}

static int read_dims(struct reader *r, const json_t *o, const char *key, int64_t least,
                     int64_t out[MAX_RANK])
{
    const json_t *v = list(r, o, key, MAX_RANK);
    size_t i;
    json_t *d;
    json_array_foreach((json_t *)v, i, d)
    {
        if (i >= MAX_RANK) break;
        if (!json_is_integer(d) || json_integer_value(d) < least)
            fault(r, "'%s' holds what is no size", key);
        out[i] = json_integer_value(d);
    }
    return json_array_size(v) <= MAX_RANK ? (int)json_array_size(v) : 0;
}

static enum dtype element_type(struct reader *r, const json_t *o, const char *of)
{
    enum dtype t = dtype_find(text(r, o, "type", true));
    if (t == DT_none || t == DT_tf32 || dtypes[t].bits < 8)
        fault(r, "tensor '%s' has no element type of fg", of);
    return t;
}

/* Dims and strides, whose size in bytes is a number of 63 bits. */
static int read_layout(struct reader *r, const json_t *o, const char *of, enum dtype type,
                       int64_t dim[MAX_RANK], int64_t stride[MAX_RANK])
{
    int64_t count, extent = 0, bytes;
    int rank = read_dims(r, o, "dims", 1, dim);
    if (read_dims(r, o, "strides", 0, stride) != rank || rank == 0)
        fault(r, "tensor '%s' has dims without strides", of);
    if (r->why || !dims_count(rank, dim, &count) || !dims_extent(rank, dim, stride, &extent) ||
        !i64_mul(extent, dtypes[type].bits / 8, &bytes))
        fault(r, "tensor '%s' is larger than 63 bits can address", of);
    return rank;
}

static struct plan_tensor read_tensor(struct reader *r, const json_t *o)
{
    struct plan_tensor t = {.name = name(r, o),
                            .doc = text(r, o, "doc", false),
                            .uid = integer(r, o, "uid", 1, INT64_MAX)};
    const char *role = text(r, o, "role", true);
    t.type = element_type(r, o, t.name);
    bool known = false;
    for (int i = 0; i < 3; i++)
        if (strcmp(role, roles[i]) == 0) {
            t.role = (enum plan_role)i;
            known = true;
        }
    if (!known) fault(r, "tensor '%s' has no role", t.name);
    if (t.role == PLAN_SCALAR) {
        json_t *def = json_object_get(o, "default");
        t.has_default = def != NULL;
        if (dtypes[t.type].klass == DTC_bool || dtypes[t.type].bits < 16)
            fault(r, "scalar '%s' is %s", t.name, dtypes[t.type].name);
        if (def) t.def = real_value(r, def, "default");
        return t;
    }
    t.align = integer(r, o, "align", 1, 1 << 20);
    if (t.align & (t.align - 1)) fault(r, "tensor '%s': an alignment is a power of two", t.name);
    t.rank = read_layout(r, o, t.name, t.type, t.dim, t.stride);
    return t;
}

/* Its name may be empty: not everything that crosses a cut has one in the source. */
static struct plan_temporary read_temporary(struct reader *r, const json_t *o)
{
    struct plan_temporary t = {.name = text(r, o, "name", true),
                               .uid = integer(r, o, "uid", 1, INT64_MAX),
                               .type = element_type(r, o, "a temporary"),
                               .offset = integer(r, o, "offset", 0, INT64_MAX),
                               .made_by = integer(r, o, "made_by", 0, MAX_STEPS - 1)};
    if (*t.name) name(r, o);
    t.rank = read_layout(r, o, "a temporary", t.type, t.dim, t.stride);
    size_t i;
    json_t *j;
    json_array_foreach((json_t *)list(r, o, "read_by", MAX_STEPS), i, j)
    {
        if (!json_is_integer(j)) fault(r, "'read_by' holds what is no step");
        vec_push(r->a, &t.read_by, (int64_t)json_integer_value(j));
    }
    return t;
}

static bool known_type(const char *word)
{
    for (int i = DT_none + 1; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].cudnn, word) == 0) return true;
    return false;
}

static struct plan_step read_step(struct reader *r, const json_t *o)
{
    struct plan_step s = {
        .engine = integer(r, o, "engine", 0, 1 << 20),
        .numerical = read_words(r, o, "numerical_notes"),
        .behavior = read_words(r, o, "behavior_notes"),
        .workspace_bytes = integer(r, o, "workspace_bytes", 0, INT64_MAX),
        .chosen_by = text(r, o, "chosen_by", true),
        .driver_at = (size_t)integer(r, o, "driver_at", 0, (int64_t)MAX_PLAN_BYTES),
        .driver_len = (size_t)integer(r, o, "driver_digits", 1, 9),
    };
    size_t i;
    json_t *k;
    json_array_foreach((json_t *)list(r, o, "knobs", 256), i, k)
    {
        if (json_array_size(k) != 2 || !json_is_integer(json_array_get(k, 0)) ||
            !json_is_integer(json_array_get(k, 1))) {
            fault(r, "a knob is not a pair of integers");
            continue;
        }
        vec_push(r->a, &s.knobs,
                 ((struct knob){json_integer_value(json_array_get(k, 0)),
                                json_integer_value(json_array_get(k, 1))}));
    }
    json_array_foreach((json_t *)list(r, o, "constants", 1024), i, k)
    {
        struct plan_constant c = {integer(r, k, "uid", 1, INT64_MAX), text(r, k, "type", true),
                                  real_value(r, json_object_get(k, "value"), "value")};
        if (!known_type(c.type)) fault(r, "a constant has no element type of cuDNN");
        vec_push(r->a, &s.constants, c);
    }
    if (json_object_get(o, "views"))
        json_array_foreach((json_t *)list(r, o, "views", 1024), i, k)
            vec_push(r->a, &s.views,
                     ((struct plan_view){integer(r, k, "uid", 1, INT64_MAX),
                                         integer(r, k, "of", 1, INT64_MAX),
                                         integer(r, k, "offset", 0, INT64_MAX),
                                         integer(r, k, "bytes", 1, INT64_MAX)}));
    return s;
}

static struct graph_param read_param(struct reader *r, const json_t *o)
{
    struct graph_param p = {.name = name(r, o), .is_variant = boolean(r, o, "variant")};
    json_t *v = json_object_get(o, "value");
    if (json_is_integer(v)) {
        p.i = json_integer_value(v);
    } else {
        p.is_type = true;
        p.type = json_is_string(v) ? dtype_find(json_string_value(v)) : DT_none;
        if (p.type == DT_none) fault(r, "parameter '%s' has no value", p.name);
    }
    return p;
}

/* The interface: inputs, then scalars, then outputs, of which there is one at least; every name and
 * every uid once. */
static void check_tensors(struct reader *r, const struct plan_variant *v)
{
    for (size_t i = 0; i < v->tensors.n; i++) {
        const struct plan_tensor *t = &v->tensors.at[i];
        if (i && t->role < t[-1].role)
            fault(r, "tensor '%s' stands behind a later role's", t->name);
        for (size_t k = 0; k < i; k++)
            if (v->tensors.at[k].uid == t->uid || strcmp(v->tensors.at[k].name, t->name) == 0)
                fault(r, "tensors '%s' and '%s' have one name or one uid", v->tensors.at[k].name,
                      t->name);
    }
    if (v->tensors.n == 0 || v->tensors.at[v->tensors.n - 1].role != PLAN_OUTPUT)
        fault(r, "variant '%s' has no output", v->name);
    for (size_t i = 0; i < v->params.n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(v->params.at[i].name, v->params.at[k].name) == 0)
                fault(r, "parameter '%s' stands twice", v->params.at[i].name);
}

static struct plan_variant read_variant(struct reader *r, const json_t *o)
{
    struct plan_variant v = {.name = text(r, o, "name", true),
                             .reproducible = boolean(r, o, "reproducible")};
    size_t i;
    json_t *j;
    if (*v.name && (!plain(v.name, "=,-", 256) || !strchr(v.name, '=')))
        fault(r, "'%.80s' is not a variant", v.name);
    json_array_foreach((json_t *)list(r, o, "parameters", 256), i, j)
        vec_push(r->a, &v.params, read_param(r, j));
    json_array_foreach((json_t *)list(r, o, "tensors", MAX_TENSORS), i, j)
        vec_push(r->a, &v.tensors, read_tensor(r, j));
    json_array_foreach((json_t *)list(r, o, "steps", MAX_STEPS), i, j)
        vec_push(r->a, &v.steps, read_step(r, j));
    if (json_object_get(o, "temporaries"))
        json_array_foreach((json_t *)list(r, o, "temporaries", MAX_TEMPORARIES), i, j)
            vec_push(r->a, &v.temporaries, read_temporary(r, j));
    if (v.steps.n == 0) fault(r, "variant '%s' has no step", v.name);
    check_tensors(r, &v);
    const char *why = r->why ? NULL : temporaries_check(r->a, &v);
    if (why) fault(r, "%s", why);
    return v;
}

static struct plan_graph read_graph(struct reader *r, const json_t *o)
{
    struct plan_graph g = {.name = name(r, o), .doc = text(r, o, "doc", false)};
    size_t i;
    json_t *j;
    json_array_foreach((json_t *)list(r, o, "variants", MAX_VARIANTS), i, j)
    {
        struct plan_variant v = read_variant(r, j);
        for (size_t k = 0; k < g.variants.n; k++)
            if (strcmp(g.variants.at[k].name, v.name) == 0)
                fault(r, "variant '%s' stands twice", v.name);
        vec_push(r->a, &g.variants, v);
        if (r->why) break;
    }
    if (g.variants.n == 0) fault(r, "graph '%s' has no variant", g.name);
    return g;
}

static void read_target(struct reader *r, const json_t *o, struct target *t)
{
    const json_t *description = json_object_get(o, "description");
    t->name = text(r, o, "name", true);
    t->host = boolean(r, o, "host");
    char *json = json_is_object(description) ? json_dumps(description, JSON_COMPACT) : NULL;
    const char *why = json ? target_check(r->a, json, t) : "the target has no description";
    free(json);
    if (why)
        fault(r, "target: %s", why);
    else if (strcmp(t->name, plan_target_name(r->a, t)) != 0)
        fault(r, "the target's name is '%s', not '%s'", t->name, plan_target_name(r->a, t));
}

const char *manifest_read(struct arena *a, const json_t *root, struct plan *p)
{
    struct reader r = {.a = a};
    size_t i;
    json_t *j;
    *p = (struct plan){0};
    if (!json_is_object(root)) return "it is not a JSON object";
    int64_t format = integer(&r, root, "format", 1, 1 << 20);
    if (format != PLAN_FORMAT)
        return arena_printf(a, "its format is %" PRId64 "; this fgc reads %d", format, PLAN_FORMAT);
    p->fgc_version = text(&r, root, "fgc", true);
    p->cudnn_version = integer(&r, root, "cudnn", 90000, 999999);
    p->nvrtc_version = text(&r, root, "nvrtc", true);
    if (!plain(p->fgc_version, ".-+", 40)) fault(&r, "'fgc' is not a version");
    if (*p->nvrtc_version && !plain(p->nvrtc_version, ".", 40))
        fault(&r, "'nvrtc' is not a version");
    read_target(&r, json_object_get(root, "target"), &p->target);
    if (r.why) return r.why;
    if (json_object_get(root, "imports"))
        json_array_foreach((json_t *)list(&r, root, "imports", MAX_IMPORTS), i, j)
        {
            const char *name = json_string_value(j);
            if (!name || !*name || strlen(name) > 4096) fault(&r, "an import has no name");
            vec_push(a, &p->imports, ((struct plan_import){.name = arena_strdup(a, name ? name : "")}));
        }
    if (r.why) return r.why;
    json_array_foreach((json_t *)list(&r, root, "graphs", MAX_GRAPHS), i, j)
    {
        struct plan_graph g = read_graph(&r, j);
        for (size_t k = 0; k < p->graphs.n; k++)
            if (strcmp(p->graphs.at[k].name, g.name) == 0)
                fault(&r, "graph '%s' stands twice", g.name);
        vec_push(a, &p->graphs, g);
        if (r.why) break;
    }
    if (p->graphs.n == 0) fault(&r, "it has no graph");
    return r.why;
}

const char *manifest_entries(struct arena *a, const json_t *root, const entries_vec *rest)
{
    struct reader r = {.a = a};
    const json_t *entries = list(&r, root, "entries", MAX_ENTRIES);
    if (!r.why && json_array_size(entries) != rest->n)
        fault(&r, "it lists %zu entries, there are %zu", json_array_size(entries), rest->n);
    for (size_t i = 0; !r.why && i < rest->n; i++) {
        const json_t *o = json_array_get(entries, i);
        const struct entry *e = &rest->at[i];
        char digest[65];
        sha256_hex(e->bytes, e->n, digest);
        const char *says = json_string_value(json_object_get(o, "sha256"));
        const char *called = json_string_value(json_object_get(o, "name"));
        if (!called || strcmp(called, e->name) != 0)
            fault(&r, "its list of entries lacks '%s' at %zu", e->name, i);
        else if (integer(&r, o, "bytes", 0, (int64_t)MAX_PLAN_BYTES) != (int64_t)e->n)
            fault(&r, "'%s' has %zu bytes, not as many as it says", e->name, e->n);
        else if (!says || strcmp(says, digest) != 0)
            fault(&r, "the SHA-256 of '%s' is %.16s..., it says %.16s", e->name, digest,
                  says && strspn(says, "0123456789abcdef") == strlen(says) ? says
                                                                           : "something else");
    }
    return r.why;
}
