/* test_plan: the container, forged. Plans are made by hand; archives by a writer of this file's
 * own, so that every lie can be told under a digest that is right.
 *
 * Invariant: what decodes is exactly what its manifest says; everything else is refused with a
 * message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "plan/internal.h"

struct fixture {
    struct session *s;
    struct plan plan;
    char *bytes;
    size_t n;
};

/* ---- a plan made by hand -------------------------------------------------------------------- */

static struct plan_step make_step(struct session *s, const struct target *t, int64_t engine)
{
    struct plan_step step = {
        .engine = engine, .workspace_bytes = 4096, .chosen_by = "heuristic A rank 1"};
    vec_push(s->arena, &step.knobs, ((struct knob){24, 21}));
    vec_push(s->arena, &step.knobs, ((struct knob){8, -1}));
    vec_push(s->arena, &step.numerical, "TENSOR_CORE");
    vec_push(s->arena, &step.behavior, "RUNTIME_COMPILATION");
    vec_push(s->arena, &step.constants, ((struct plan_constant){40, "FLOAT", -INFINITY}));
    vec_push(s->arena, &step.constants, ((struct plan_constant){41, "INT32", 7.0}));
    step.plan = arena_printf(
        s->arena,
        "{\"cudnnVersion\":91900,\"GPUProfile\":%s,\"engine\":{\"engineId\":%" PRId64 "}}", t->json,
        engine);
    step.plan_bytes = strlen(step.plan);
    step.driver_at = (size_t)(strstr(step.plan, "\"driverVer\":") - step.plan) +
                     strlen("\"driverVer\":");
    step.driver_len = strspn(step.plan + step.driver_at, "0123456789");
    return step;
}

static struct plan_variant make_variant(struct session *s, const struct target *t, const char *name,
                                        int64_t size)
{
    struct plan_variant v = {.name = name, .ir = "graph g\n", .reproducible = true};
    vec_push(s->arena, &v.params,
             ((struct graph_param){.name = "S", .i = size, .is_variant = true}));
    vec_push(s->arena, &v.params,
             ((struct graph_param){.name = "T", .is_type = true, .type = DT_bf16}));
    struct plan_tensor x = {.name = "x",
                            .doc = "what comes in,\nin \"two\" lines",
                            .uid = 1,
                            .type = DT_bf16,
                            .rank = 2,
                            .dim = {size, 8},
                            .stride = {8, 1},
                            .align = 16};
    struct plan_tensor a = {.name = "a",
                            .role = PLAN_SCALAR,
                            .uid = 2,
                            .type = DT_f32,
                            .def = 0.1,
                            .has_default = true};
    struct plan_tensor b = {.name = "b", .role = PLAN_SCALAR, .uid = 3, .type = DT_i32};
    struct plan_tensor y = x;
    y.name = "y";
    y.doc = NULL;
    y.role = PLAN_OUTPUT;
    y.uid = 4;
    vec_push(s->arena, &v.tensors, x);
    vec_push(s->arena, &v.tensors, a);
    vec_push(s->arena, &v.tensors, b);
    vec_push(s->arena, &v.tensors, y);
    vec_push(s->arena, &v.steps, make_step(s, t, 7));
    return v;
}

static struct plan make_plan(struct session *s)
{
    struct gpu_search nowhere = {.no_python = true};
    struct plan p = {.fgc_version = "0.1.0",
                     .cudnn_version = 91900,
                     .nvrtc_version = "13.0",
                     .source = "fg 1\n"};
    assert_true(target_load(s, "nvidia-h200", &nowhere, &p.target));
    p.target.name = plan_target_name(s->arena, &p.target);
    struct plan_graph g = {.name = "g", .doc = "one \xc3\xa4 graph"}, h = {.name = "h"};
    vec_push(s->arena, &g.variants, make_variant(s, &p.target, "S=16", 16));
    vec_push(s->arena, &g.variants, make_variant(s, &p.target, "S=32", 32));
    vec_push(s->arena, &h.variants, make_variant(s, &p.target, "", 8));
    vec_push(s->arena, &h.variants.at[0].steps, make_step(s, &p.target, 3));
    vec_push(s->arena, &p.graphs, g);
    vec_push(s->arena, &p.graphs, h);
    return p;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->s = session_new();
    f->plan = make_plan(f->s);
    assert_true(plan_encode(f->s, f->s->arena, &f->plan, &f->bytes, &f->n));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    session_free(f->s);
    free(f);
    return 0;
}

/* ---- an archive writer of its own ------------------------------------------------------------ */

static void put16(struct buf *b, unsigned v)
{
    buf_put(b, (char[]){(char)(v & 0xff), (char)(v >> 8 & 0xff)}, 2);
}

static void put32(struct buf *b, uint32_t v)
{
    put16(b, v & 0xffff);
    put16(b, v >> 16);
}

static uint32_t crc32(const char *p, size_t n)
{
    uint32_t c = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        c ^= (unsigned char)p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
    }
    return ~c;
}

static void put_common(struct buf *b, const struct entry *e)
{
    put16(b, 10);     /* version needed */
    put16(b, 0);      /* flags */
    put16(b, 0);      /* stored */
    put16(b, 0);      /* time */
    put16(b, 0x0021); /* 1980-01-01 */
    put32(b, crc32(e->bytes, e->n));
    put32(b, (uint32_t)e->n);
    put32(b, (uint32_t)e->n);
    put16(b, (unsigned)strlen(e->name));
    put16(b, 0); /* extra */
}

/* The digest's place at the end of an archive, set right. */
static void seal(char *bytes, size_t n)
{
    char digest[65];
    if (n < TAIL_BYTES) return;
    sha256_hex(bytes, n - TAIL_BYTES, digest);
    memcpy(bytes + n - 64, digest, 64);
}

static void forge(const entries_vec *all, struct buf *b)
{
    size_t at[64];
    assert_true(all->n <= COUNT_OF(at));
    for (size_t i = 0; i < all->n; i++) {
        at[i] = b->n;
        buf_puts(b, "PK\3\4");
        put_common(b, &all->at[i]);
        buf_puts(b, all->at[i].name);
        buf_put(b, all->at[i].bytes, all->at[i].n);
    }
    size_t directory = b->n;
    for (size_t i = 0; i < all->n; i++) {
        buf_puts(b, "PK\1\2");
        put16(b, 0x0314); /* made by Unix, 2.0 */
        put_common(b, &all->at[i]);
        put16(b, 0); /* comment */
        put16(b, 0); /* disk */
        put16(b, 0); /* internal attributes */
        put32(b, 0100644u << 16);
        put32(b, (uint32_t)at[i]);
        buf_puts(b, all->at[i].name);
    }
    size_t end = b->n;
    buf_put(b, "PK\5\6\0\0\0", 8);
    put16(b, (unsigned)all->n);
    put16(b, (unsigned)all->n);
    put32(b, (uint32_t)(end - directory));
    put32(b, (uint32_t)directory);
    put16(b, COMMENT_BYTES);
    buf_printf(b, "fgplan1 %064d", 0);
    seal(b->at, b->n);
}

static entries_vec entries_of(struct fixture *f)
{
    entries_vec all = {0};
    assert_null(archive_walk(f->s->arena, f->bytes, f->n, &all));
    return all;
}

/* True when refused, with a message. The bytes are copied to memory of exactly their size, so that
 * the sanitizer sees a step beyond. Messages must name `expect`, unless it is NULL. */
static bool refused(const char *bytes, size_t n, const char *expect)
{
    struct session *s = session_new();
    struct plan p;
    char *exact = malloc(n ? n : 1);
    memcpy(exact, bytes, n);
    bool ok = plan_decode(s, s->arena, "x.plan", exact, n, &p);
    if (!ok) assert_true(s->n_errors == 1 && s->diags.n == 1);
    if (!ok && expect && !strstr(s->diags.at[0]->text, expect))
        fail_msg("'%s' does not say '%s'", s->diags.at[0]->text, expect);
    free(exact);
    session_free(s);
    return !ok;
}

static bool forged_refused(const entries_vec *all, const char *expect)
{
    struct buf b = {0};
    forge(all, &b);
    bool no = refused(b.at, b.n, expect);
    buf_fini(&b);
    return no;
}

/* ---- sound plans ------------------------------------------------------------------------------
 */

static void the_forger_writes_what_the_compiler_writes(void **state)
{
    struct fixture *f = *state;
    entries_vec all = entries_of(f);
    struct buf b = {0};
    forge(&all, &b);
    assert_int_equal(b.n, f->n);
    assert_memory_equal(b.at, f->bytes, f->n);
    buf_fini(&b);
}

static void equal_plans_are_equal_bytes(void **state)
{
    struct fixture *f = *state;
    struct session *s = session_new();
    struct plan p = make_plan(s);
    char *bytes;
    size_t n;
    setenv("TZ", "Asia/Tokyo", 1);
    assert_true(plan_encode(s, s->arena, &p, &bytes, &n));
    unsetenv("TZ");
    assert_int_equal(n, f->n);
    assert_memory_equal(bytes, f->bytes, n);
    session_free(s);
}

static void a_plan_reads_back_as_it_was(void **state)
{
    struct fixture *f = *state;
    struct plan q;
    assert_true(plan_decode(f->s, f->s->arena, "x.plan", f->bytes, f->n, &q));
    const struct plan *p = &f->plan;
    assert_string_equal(q.fgc_version, p->fgc_version);
    assert_string_equal(q.source, p->source);
    assert_string_equal(q.target.json, p->target.json);
    assert_int_equal(q.target.sm, 90);
    assert_int_equal(q.graphs.n, 2);
    assert_string_equal(q.graphs.at[0].doc, p->graphs.at[0].doc);
    assert_null(q.graphs.at[1].doc);
    assert_int_equal(q.graphs.at[1].variants.at[0].steps.n, 2);
    const struct plan_variant *v = &q.graphs.at[0].variants.at[1];
    assert_string_equal(v->name, "S=32");
    assert_int_equal(v->params.at[0].i, 32);
    assert_true(v->params.at[0].is_variant && v->params.at[1].is_type &&
                v->params.at[1].type == DT_bf16);
    assert_int_equal(v->tensors.n, 4);
    assert_string_equal(v->tensors.at[0].doc, "what comes in,\nin \"two\" lines");
    assert_true(v->tensors.at[1].has_default && v->tensors.at[1].def == 0.1 &&
                !v->tensors.at[2].has_default);
    assert_int_equal(v->tensors.at[3].dim[0], 32);
    assert_int_equal(v->tensors.at[3].stride[0], 8);
    assert_int_equal(v->tensors.at[3].role, PLAN_OUTPUT);
    const struct plan_step *step = &v->steps.at[0];
    assert_int_equal(step->knobs.at[1].value, -1);
    assert_true(step->constants.at[0].value == -INFINITY && step->constants.at[1].value == 7.0);
    assert_memory_equal(step->plan + step->driver_at, "13000", step->driver_len);
    assert_string_equal(step->plan, p->graphs.at[0].variants.at[1].steps.at[0].plan);
}

static void the_versions_are_read_from_the_first_bytes(void **state)
{
    struct fixture *f = *state;
    struct plan_versions v;
    size_t enough =
        30 + strlen("manifest.json") +
        strlen(
            "{\n \"format\": 1,\n \"fgc\": \"0.1.0\",\n \"cudnn\": 91900,\n \"nvrtc\": \"13.0\"");
    for (size_t n = 0; n < 512; n++) {
        char *exact = malloc(n ? n : 1);
        memcpy(exact, f->bytes, n);
        bool known = plan_peek(f->s->arena, exact, n, &v);
        free(exact);
        assert_int_equal(known, n >= enough);
    }
    assert_string_equal(v.fgc, "0.1.0");
    assert_string_equal(v.nvrtc, "13.0");
    assert_true(v.format == 1 && v.cudnn == 91900);
    assert_false(plan_peek(f->s->arena, f->bytes + 1, 500, &v));
}

static void a_later_format_says_who_wrote_it(void **state)
{
    struct fixture *f = *state;
    char *bytes = arena_copy(f->s->arena, f->bytes, f->n);
    bytes[f->n - COMMENT_BYTES + 6] = '2';
    assert_true(refused(bytes, f->n, "format 2, written by fgc 0.1.0; this fgc reads format 1"));
}

/* ---- damage -----------------------------------------------------------------------------------
 */

static void every_truncation_is_refused(void **state)
{
    struct fixture *f = *state;
    for (size_t n = 0; n < f->n; n++) assert_true(refused(f->bytes, n, NULL));
    assert_true(refused(f->bytes, f->n - 1, "cut short"));
    assert_true(refused("", 0, "0 bytes"));
}

static void ten_thousand_flipped_bits_are_refused(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 88172645463325252u;
    char *bytes = arena_copy(f->s->arena, f->bytes, f->n);
    for (int i = 0; i < 10000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        size_t at = seed / 8 % f->n;
        bytes[at] ^= (char)(1 << seed % 8);
        assert_true(refused(bytes, f->n, NULL));
        bytes[at] = f->bytes[at];
    }
}

static void more_bytes_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const extra[] = {"x", "\n", "PK\5\6", "PK\3\4"};
    for (size_t i = 0; i < COUNT_OF(extra); i++) {
        struct buf b = {0};
        buf_put(&b, f->bytes, f->n);
        buf_puts(&b, extra[i]);
        assert_true(refused(b.at, b.n, "something behind it"));
        seal(b.at, b.n);
        assert_true(refused(b.at, b.n, NULL));
        b.n = 0;
        buf_puts(&b, extra[i]);
        buf_put(&b, f->bytes, f->n);
        assert_true(refused(b.at, b.n, "damaged"));
        seal(b.at, b.n);
        assert_true(refused(b.at, b.n, NULL));
        buf_fini(&b);
    }
}

static void line_ends_changed_on_the_way_are_refused(void **state)
{
    struct fixture *f = *state;
    struct buf b = {0};
    for (size_t i = 0; i < f->n; i++)
        buf_put(&b, f->bytes[i] == '\n' ? "\r\n" : &f->bytes[i], f->bytes[i] == '\n' ? 2 : 1);
    assert_true(b.n > f->n && refused(b.at, b.n, "damaged"));
    buf_fini(&b);
}

/* ---- lies under a right digest ------------------------------------------------------------------
 */

static void every_changed_byte_of_the_archive_is_refused(void **state)
{
    struct fixture *f = *state;
    char *bytes = arena_copy(f->s->arena, f->bytes, f->n);
    static const unsigned char masks[] = {1, 0x80, 0xff};
    for (size_t at = 0; at < f->n - 64; at++) { /* the digest itself is put right */
        bytes[at] ^= (char)masks[at % COUNT_OF(masks)];
        seal(bytes, f->n);
        assert_true(refused(bytes, f->n, NULL));
        bytes[at] = f->bytes[at];
    }
}

static void entries_out_of_order_twice_missing_or_new_are_refused(void **state)
{
    struct fixture *f = *state;
    entries_vec all = entries_of(f);
    for (size_t i = 0; i + 1 < all.n; i++) {
        entries_vec v = {0};
        for (size_t k = 0; k < all.n; k++)
            vec_push(f->s->arena, &v, all.at[k == i ? i + 1 : k == i + 1 ? i : k]);
        assert_true(forged_refused(&v, i == 0 ? "first entry" : NULL));
    }
    for (size_t i = 0; i < all.n; i++) {
        entries_vec twice = {0}, less = {0};
        for (size_t k = 0; k < all.n; k++) {
            vec_push(f->s->arena, &twice, all.at[k]);
            if (k == i)
                vec_push(f->s->arena, &twice, all.at[k]);
            else
                vec_push(f->s->arena, &less, all.at[k]);
        }
        assert_true(forged_refused(&twice, NULL));
        assert_true(forged_refused(&less, NULL));
    }
    static const char *const names[] = {"more.txt",         "../x",     "/etc/passwd",
                                        "graphs/g/S=16.ir", "x\033[2J", "a\\b"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        entries_vec more = {0};
        for (size_t k = 0; k < all.n; k++) vec_push(f->s->arena, &more, all.at[k]);
        vec_push(f->s->arena, &more, ((struct entry){names[i], "text", 4}));
        assert_true(forged_refused(&more, NULL));
        more.at[all.n - 1].name = names[i];
        more.n--;
        assert_true(forged_refused(&more, NULL));
    }
}

static void other_bytes_in_an_entry_are_refused(void **state)
{
    struct fixture *f = *state;
    entries_vec all = entries_of(f);
    for (size_t i = 1; i < all.n;
         i++) { /* the CRC and the digest are put right, the manifest is not */
        struct entry was = all.at[i];
        char *changed = arena_copy(f->s->arena, was.bytes, was.n + 1);
        changed[was.n / 2] ^= 1;
        all.at[i].bytes = changed;
        assert_true(forged_refused(&all, NULL));
        changed[was.n / 2] = '\0';
        assert_true(forged_refused(&all, "NUL"));
        all.at[i] = (struct entry){was.name, arena_printf(f->s->arena, "%s ", was.bytes),
                                   was.n + 1};
        assert_true(forged_refused(&all, "bytes, not as many"));
        all.at[i] = (struct entry){was.name, "", 0};
        assert_true(forged_refused(&all, NULL));
        all.at[i] = was;
    }
}

/* Sizes, counts and offsets that reach far, overlap, or ask for zip64. */
static void huge_numbers_are_refused(void **state)
{
    struct fixture *f = *state;
    char *bytes = arena_copy(f->s->arena, f->bytes, f->n);
    entries_vec all = entries_of(f);
    size_t end = f->n - TAIL_BYTES, directory = end;
    for (size_t i = 0; i < all.n; i++) directory -= 46 + strlen(all.at[i].name);
    static const unsigned char ones[4] = {0xff, 0xff, 0xff, 0xff}, big[4] = {0, 0, 0, 0x40};
    const size_t fields[] = {
        end + 8, end + 10, end + 12,       end + 16, directory + 20, directory + 24, directory + 42,
        18,      22,       directory + 28, 26,       directory + 30, directory + 32, 28,
        end + 20};
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        for (int k = 0; k < 4; k++) {
            size_t n = k & 1 ? 2 : 4;
            memcpy(bytes + fields[i], k & 2 ? ones : big, n);
            if (memcmp(bytes, f->bytes, f->n - 64) != 0) {
                seal(bytes, f->n);
                assert_true(refused(bytes, f->n, NULL));
            }
            memcpy(bytes, f->bytes, f->n);
        }
    /* Every record of the directory points at the first entry: a small file that unpacks large. */
    for (size_t i = 0, c = directory; i < all.n; c += 46 + strlen(all.at[i++].name))
        memset(bytes + c + 42, 0, 4);
    seal(bytes, f->n);
    assert_true(refused(bytes, f->n, NULL));
}

static void a_manifest_that_is_no_object_is_refused(void **state)
{
    struct fixture *f = *state;
    entries_vec all = entries_of(f);
    struct buf deep = {0};
    for (int i = 0; i < 100000; i++) buf_puts(&deep, "[");
    const char *texts[] = {"",
                           "[]",
                           "null",
                           "{}",
                           "{",
                           "{\"format\":1,\"format\":1}",
                           "{\"format\": 2, \"fgc\": \"9.8.7\"}",
                           deep.at,
                           "\xff\xfe",
                           "{\"format\":1e999}",
                           "{\"format\":99999999999999999999}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        all.at[0].bytes = texts[i];
        all.at[0].n = strlen(texts[i]);
        assert_true(forged_refused(&all, i == 6 ? "written by fgc 9.8.7" : "manifest.json"));
    }
    buf_fini(&deep);
}

/* ---- the manifest, member by member
 * --------------------------------------------------------------- */

struct mutator {
    struct fixture *f;
    entries_vec all;
    json_t *root;
    int tried, legal;
};

/* Members of which no other value can be right: other bytes of the file say the same. */
static bool is_fixed(const char *path)
{
    static const char *const fixed[] = {
        "/format", "/cudnn",  "/target/name", "/target/description", "/entries",
        "/ir",     "/engine", "/driver_at",   "/driver_digits",      "/plan"};
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        if (strstr(path, fixed[i])) return true;
    return false;
}

static void try_mutant(struct mutator *m, const char *path)
{
    struct session *s = session_new();
    struct buf text = {0}, b = {0}, says = {0};
    struct plan p;
    json_print(m->root, &text);
    buf_puts(&text, "\n");
    m->all.at[0].bytes = text.at;
    m->all.at[0].n = text.n;
    m->tried++;
    forge(&m->all, &b);
    if (plan_decode(s, s->arena, "x.plan", b.at, b.n, &p)) {
        m->legal++;
        if (is_fixed(path)) fail_msg("accepted with another %s", path);
        plan_show_json(&p, &says); /* what was understood is what stands there */
        json_t *back = json_loads(says.at, 0, NULL);
        if (!json_equal(back, m->root)) fail_msg("%s is not what was read", path);
        json_decref(back);
    } else {
        assert_true(s->n_errors == 1);
    }
    buf_fini(&text);
    buf_fini(&b);
    buf_fini(&says);
    session_free(s);
}

static json_t *replacement(const json_t *was, int k)
{
    static const char *const strings[] = {"",          "x",    "y",    "../x",   "a\001b",
                                          "e\xcc\x81", "bf16", "f64",  "output", "inf",
                                          "-inf",      "S=64", "INT32"};
    static const json_int_t integers[] = {
        INT64_MIN, -1, 0, 1, 2, 3, 48, 1 << 20, INT32_MAX, (json_int_t)1 << 62, INT64_MAX};
    if (k < (int)COUNT_OF(strings)) return json_string(strings[k]);
    k -= (int)COUNT_OF(strings);
    if (k < (int)COUNT_OF(integers)) return json_integer(integers[k]);
    k -= (int)COUNT_OF(integers);
    switch (k) {
    case 0: return json_true();
    case 1: return json_false();
    case 2: return json_null();
    case 3: return json_real(1.5);
    case 4: return json_array();
    case 5: return json_object();
    case 6: return json_integer(json_integer_value(was) + 1);
    case 7: return json_integer(json_integer_value(was) - 1);
    case 8: return json_real(-0.0);
    default: return NULL;
    }
}

static void mutate(struct mutator *m, json_t *node, const char *path);

/* A member left out; the others keep their order. */
static void drop_members(struct mutator *m, json_t *node, const char *path)
{
    json_t *copy = json_object();
    json_object_update(copy, node);
    const char *key, *gone;
    json_t *value, *other;
    json_object_foreach(copy, gone, other)
    {
        json_object_clear(node);
        json_object_foreach(copy, key, value) if (strcmp(key, gone) != 0)
            json_object_set(node, key, value);
        try_mutant(m, arena_printf(m->f->s->arena, "%s/%s", path, gone));
    }
    json_object_clear(node);
    json_object_update(node, copy);
    json_object_set_new(node, "zzz", json_integer(1));
    int legal = m->legal;
    try_mutant(m, path);
    assert_int_equal(m->legal, legal); /* no unknown member is read over */
    json_object_del(node, "zzz");
    json_decref(copy);
}

static void mutate_object(struct mutator *m, json_t *node, const char *path)
{
    const char *key;
    json_t *value, *copy = json_object();
    json_object_update(copy, node);
    json_object_foreach(copy, key, value)
    {
        const char *here = arena_printf(m->f->s->arena, "%s/%s", path, key);
        for (int k = 0;; k++) {
            json_t *new = replacement(value, k);
            if (!new) break;
            bool other = !json_equal(new, value);
            json_object_set_new(node, key, new);
            if (other) try_mutant(m, here);
        }
        json_object_set(node, key, value);
        mutate(m, value, here);
    }
    drop_members(m, node, path);
    json_decref(copy);
}

static void mutate_array(struct mutator *m, json_t *node, const char *path)
{
    for (size_t i = 0; i < json_array_size(node); i++) {
        const char *here = arena_printf(m->f->s->arena, "%s/%zu", path, i);
        json_t *value = json_incref(json_array_get(node, i));
        for (int k = 0;; k++) {
            json_t *new = replacement(value, k);
            if (!new) break;
            bool other = !json_equal(new, value);
            json_array_set_new(node, i, new);
            if (other) try_mutant(m, here);
        }
        json_array_set(node, i, value);
        mutate(m, value, here);
        json_array_remove(node, i);
        try_mutant(m, here);
        json_array_insert(node, i, value);
        json_array_insert(node, i, value);
        try_mutant(m, here);
        json_array_remove(node, i);
        json_decref(value);
    }
}

static void mutate(struct mutator *m, json_t *node, const char *path)
{
    if (json_is_object(node)) mutate_object(m, node, path);
    if (json_is_array(node)) mutate_array(m, node, path);
}

static void every_lie_in_the_manifest_is_refused_or_is_another_plan(void **state)
{
    struct fixture *f = *state;
    struct mutator m = {.f = f, .all = entries_of(f)};
    m.root = json_loadb(m.all.at[0].bytes, m.all.at[0].n, 0, NULL);
    try_mutant(&m, "");
    assert_int_equal(m.legal, 1); /* unchanged, it is read */
    mutate(&m, m.root, "");
    print_message("%d manifests, %d of them other plans\n", m.tried, m.legal);
    assert_true(m.tried > 3000 && m.legal > 50 && m.legal < m.tried / 3);
    json_decref(m.root);
}

/* Members in another order, other spaces, another spelling of a number: the same JSON, not the same
 * plan. */
static void another_spelling_is_refused(void **state)
{
    struct fixture *f = *state;
    entries_vec all = entries_of(f);
    json_t *root = json_loadb(all.at[0].bytes, all.at[0].n, 0, NULL);
    const char *flags_texts[3] = {json_dumps(root, JSON_COMPACT), json_dumps(root, JSON_INDENT(2)),
                                  json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS)};
    for (size_t i = 0; i < 3; i++) {
        all.at[0].bytes = flags_texts[i];
        all.at[0].n = strlen(flags_texts[i]);
        assert_true(forged_refused(&all, "not in the form that fgc writes"));
        free((char *)flags_texts[i]);
    }
    json_decref(root);
}

/* ---- what cannot be written
 * ------------------------------------------------------------------------ */

static bool encodes(struct fixture *f, const struct plan *p, const char *expect)
{
    struct session *s = session_new();
    char *bytes;
    size_t n;
    bool ok = plan_encode(s, f->s->arena, p, &bytes, &n);
    if (!ok && !strstr(s->diags.at[0]->text, expect))
        fail_msg("'%s' does not say '%s'", s->diags.at[0]->text, expect);
    session_free(s);
    return ok;
}

static void what_could_not_be_read_is_not_written(void **state)
{
    struct fixture *f = *state;
    struct plan_step *step = &f->plan.graphs.at[0].variants.at[0].steps.at[0], was = *step;
    step->driver_len = 0;
    assert_false(encodes(f, &f->plan, "driver version"));
    *step = was;
    step->driver_at++;
    assert_false(encodes(f, &f->plan, "driver version"));
    *step = was;
    step->engine = 8;
    assert_false(encodes(f, &f->plan, "of engine 7, the manifest says 8"));
    *step = was;
    step->workspace_bytes = -1;
    assert_false(encodes(f, &f->plan, "workspace_bytes"));
    *step = was;
    f->plan.graphs.at[1].name = "../h";
    assert_false(encodes(f, &f->plan, "not a name"));
    f->plan.graphs.at[1].name = "g";
    assert_false(encodes(f, &f->plan, "twice"));
    f->plan.graphs.at[1].name = "h";
    f->plan.target.name = "nvidia-h200";
    assert_false(encodes(f, &f->plan, "sm90-132"));
    f->plan.target.name = "sm90-132";
    f->plan.cudnn_version = 91300;
    assert_false(encodes(f, &f->plan, "of cuDNN 91900, the manifest says 91300"));
    f->plan.cudnn_version = 91900;
    assert_true(encodes(f, &f->plan, ""));
}

/* ---- fit
 * --------------------------------------------------------------------------------------------- */

static enum plan_fit fit(struct fixture *f, const char *key, int64_t value, const char *expect)
{
    json_t *d = json_loads(f->plan.target.json, 0, NULL);
    if (key && strcmp(key, "maxGridSize") == 0)
        json_array_set_new(json_object_get(d, key), 0, json_integer(value));
    else if (key)
        json_object_set_new(d, key, json_integer(value));
    char *json = json_dumps(d, JSON_COMPACT);
    struct target t = {.name = "t", .json = json, .sm = 90};
    struct buf b = {0};
    enum plan_fit r = plan_check(&f->plan, &t, 0, 0, &b);
    if (!strstr(b.at ? b.at : "", expect)) fail_msg("'%s' does not say '%s'", b.at, expect);
    buf_fini(&b);
    free(json);
    json_decref(d);
    return r;
}

static void a_plan_fits_or_says_what_it_needs(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(fit(f, NULL, 0, ""), PLAN_RUNS);
    assert_int_equal(fit(f, "deviceVer", 1000, "deviceVer: found 1000, needs 900"), PLAN_REFUSED);
    for (size_t i = 0; i < N_COMPARED; i++)
        assert_int_equal(fit(f, plan_compared[i], 1, "found"), PLAN_REFUSED);
    assert_int_equal(fit(f, "l2CacheSize", 1, "l2CacheSize: found 1, needs 62914560"),
                     PLAN_REBUILD_ADVISED);
    struct target t = f->plan.target;
    struct buf b = {0};
    assert_int_equal(plan_check(&f->plan, &t, 91900, 13000, &b), PLAN_RUNS);
    assert_int_equal(plan_check(&f->plan, &t, 91900, 14010, &b), PLAN_RUNS);
    assert_int_equal(b.n, 0);
    assert_int_equal(plan_check(&f->plan, &t, 91300, 0, &b), PLAN_REFUSED);
    assert_string_equal(b.at, "cuDNN: found 9.13.0, needs 9.19.0\n");
    b.n = 0;
    assert_int_equal(plan_check(&f->plan, &t, 91900, 12090, &b), PLAN_REFUSED);
    assert_string_equal(b.at, "driver: found CUDA 12.9, needs CUDA 13.0 or later\n");
    t.host = true;
    assert_int_equal(plan_check(&f->plan, &t, 91900, 13000, &b), PLAN_REBUILD_ADVISED);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_forger_writes_what_the_compiler_writes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(equal_plans_are_equal_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_reads_back_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(the_versions_are_read_from_the_first_bytes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_later_format_says_who_wrote_it, setup, teardown),
        cmocka_unit_test_setup_teardown(every_truncation_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(ten_thousand_flipped_bits_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(more_bytes_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(line_ends_changed_on_the_way_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(every_changed_byte_of_the_archive_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(entries_out_of_order_twice_missing_or_new_are_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(other_bytes_in_an_entry_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(huge_numbers_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_manifest_that_is_no_object_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(every_lie_in_the_manifest_is_refused_or_is_another_plan,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(another_spelling_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_could_not_be_read_is_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_fits_or_says_what_it_needs, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
