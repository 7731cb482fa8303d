/* test_tune: keys and the database.
 *
 * Invariant: a key differs where a plan or its speed may differ, and only there; whatever happens
 * to the files of a database, a reader gets what a writer wrote whole, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ast/ast.h"
#include "pass/pass.h"
#include "sema/sema.h"
#include "tune/internal.h"

static int setup(void **state)
{
    *state = session_new();
    return 0;
}

static int teardown(void **state)
{
    session_free(*state);
    return 0;
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* The passes, of a graph that one kernel holds. */
static struct graph *passed(struct session *s, const struct graph *g)
{
    graphs_vec regions = {0};
    bool ok = pass_regions(s, g, NULL, &regions);
    diag_flush(s, stderr);
    assert_true(ok);
    assert_int_equal(regions.n, 1);
    return regions.at[0];
}

/* The key of the only graph of a specification, built into the text of `body`. */
static const char *region_of(struct session *s, const char *text)
{
    struct sema_options o = {.sm = 90};
    struct source *src = source_add(s, "x.fg", text, strlen(text));
    struct ast *ast = ast_parse(s, src);
    struct module *m = sema_analyse(s, ast, &o);
    diag_flush(s, stderr);
    assert_non_null(m);
    assert_int_equal(m->graphs.n, 1);
    return tune_region(s->arena, passed(s, m->graphs.at[0]));
}

static struct tune_key key_of(struct session *s, const char *text)
{
    struct gpu_search o = {0};
    struct target t;
    assert_true(target_load(s, "nvidia-h200", &o, &t));
    return (struct tune_key){.region = region_of(s, text),
                             .target = t.json,
                             .cudnn = 91900,
                             .nvrtc = "13.0",
                             .driver = 13000,
                             .workspace_limit = -1};
}

static const char linear[] = "fg 1\n"
                             "graph g() {\n"
                             "    input  a : bf16[64, 64]\n"
                             "    input  b : bf16[64, 64]\n"
                             "    input  c : f32[1, 64]\n"
                             "    scalar s : f32 = 1.0\n"
                             "    output y : bf16[64, 64]\n"
                             "    output z : f32[1, 1]\n"
                             "    acc = matmul(a, b)\n"
                             "    t = relu(s * acc + c)\n"
                             "    u = abs(acc)\n"
                             "    y = t\n"
                             "    z = reduce(u, mode=max, axes=all)\n"
                             "}\n";

/* `linear` with one piece of text replaced. */
static char *with(struct session *s, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    return arena_printf(s->arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void test_key_changes(void **state)
{
    struct session *s = *state;
    static const char *const changes[][2] = {
        {"a : bf16[64, 64]", "a : bf16[64, 64] strides(128, 1)"}, /* strides */
        {"a : bf16[64, 64]", "a : bf16[64, 64] col_major"},
        {"a : bf16[64, 64]", "a : bf16[64, 64] align(2)"}, /* alignment */
        {"a : bf16[64, 64]\n    input  b : bf16", "a : f16[64, 64]\n    input  b : f16"},
        {"c : f32[1, 64]", "c : bf16[1, 64]"}, /* element types */
        {"y : bf16[64, 64]", "y : f16[64, 64]"},
        {"y : bf16[64, 64]", "y : bf16[64, 64] col_major"},
        {"a : bf16[64, 64]", "a : bf16[128, 64]"}, /* dims: with y below */
        {"s * acc", "acc"},                        /* a scalar's presence */
        {"s * acc", "0.5 * acc"},                  /* by value, or a constant */
        {"relu(", "sigmoid("},                     /* operators and attributes */
        {"mode=max", "mode=add"},
        {"+ c", "- c"},
        {"u = abs(acc)", "u = abs(t)"}, /* who reads what */
    };
    const char *before = region_of(s, linear);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        char *text = with(s, linear, changes[i][0], changes[i][1]);
        if (strstr(text, "bf16[128, 64]")) text = with(s, text, "y : bf16[64", "y : bf16[128");
        if (strcmp(before, region_of(s, text)) == 0)
            fail_msg("'%s' changes nothing", changes[i][1]);
    }
    /* constants, and the same operand once or twice */
    assert_string_not_equal(region_of(s, with(s, linear, "s * acc", "0.5 * acc")),
                            region_of(s, with(s, linear, "s * acc", "0.25 * acc")));
}

static const char attention[] = "fg 1\n"
                                "graph g() {\n"
                                "    input  q, k, v : bf16[2, 4, 128, 64] order(0, 2, 1, 3)\n"
                                "    output o : bf16[2, 4, 128, 64]\n"
                                "    o = sdpa(q, k, v, mask=causal, scale=0.125)\n"
                                "}\n";

/* The layouts, types, masks and scales that a cache of attention plans was caught mixing up. */
static void test_key_of_attention(void **state)
{
    struct session *s = *state;
    char *packed = with(s, attention, "q, k, v : bf16[2, 4, 128, 64] order(0, 2, 1, 3)",
                        "q : bf16[2, 4, 128, 64]\n"
                        "    input  k, v : bf16[2, 4, 128, 64] strides(65536, 64, 512, 1)");
    const char *all[] = {
        attention,
        packed,
        with(s, packed, "65536, 64, 512, 1", "131072, 64, 1024, 1"), /* K and V interleaved */
        with(s, with(s, attention, "q, k, v : bf16", "q, k, v : f16"), "o : bf16", "o : f16"),
        with(s, attention, "scale=0.125", "scale=0.25"),
        with(s, attention, "mask=causal, ", ""),
        with(s, with(s, attention, "o : bf16", "lse : f32[2, 4, 128, 1]\n    output o : bf16"),
             "o = sdpa", "o, lse = sdpa"), /* an optional result */
    };
    for (size_t i = 0; i < COUNT_OF(all); i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(region_of(s, all[i]), region_of(s, all[k])) == 0)
                fail_msg("%zu and %zu have one key", i, k);
}

static void test_key_stays(void **state)
{
    struct session *s = *state;
    static const char *const changes[][2] = {
        {"graph g", "# a comment\ngraph another_name"},
        {"    acc = matmul(a, b)\n    t = relu(s * acc + c)\n    u = abs(acc)\n",
         "    acc = matmul(a, b)\n    u = abs(acc)\n    t = relu(s * acc + c)\n"},
        {"    y = t\n    z = reduce(u, mode=max, axes=all)\n",
         "    z = reduce(u, mode=max, axes=all)\n    y = t\n"},
        {"    output y : bf16[64, 64]\n    output z : f32[1, 1]\n",
         "    output z : f32[1, 1]\n    output y : bf16[64, 64]\n"},
        {"    input  a : bf16[64, 64]\n    input  b : bf16[64, 64]\n    input  c : f32[1, 64]\n",
         "    input  c : f32[1, 64]\n    input  b : bf16[64, 64]\n    input  a : bf16[64, 64]\n"},
        {"= 1.0", "= 2.0"}, /* a default is the caller's business */
        {"bf16[64, 64]\n    input  b", "bf16[64, 64] strides(64, 1)\n    input  b"},
    };
    const char *before = region_of(s, linear);
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        assert_string_equal(before, region_of(s, with(s, linear, changes[i][0], changes[i][1])));
    char *renamed = arena_strdup(s->arena, linear);
    for (char *p = renamed; *p; p++)
        if (*p == 'u' && p[1] != 't' && p[-1] == ' ') *p = 'w'; /* the binding */
    renamed = with(s, renamed, "(u,", "(w,");
    assert_string_equal(before, region_of(s, renamed));
}

/* Two outputs of one type and formula: which reads which is still told, and order is not. */
static void test_key_ties(void **state)
{
    struct session *s = *state;
    static const char text[] = "fg 1\ngraph g() {\n"
                               "    input  a, b, c : f32[8, 64]\n"
                               "    output x, y, z : f32[8, 64]\n"
                               "    x = %s\n    y = %s\n    z = %s\n}\n";
    const char *f[] = {"a * b", "c * c", "b * a", "a * c"};
    char *region[4];
    int orders[4][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 1, 3}};
    for (int i = 0; i < 4; i++)
        region[i] = arena_strdup(s->arena,
                                 region_of(s, arena_printf(s->arena, text, f[orders[i][0]],
                                                           f[orders[i][1]], f[orders[i][2]])));
    assert_string_equal(region[0], region[1]);
    assert_string_equal(region[0], region[2]);
    assert_string_not_equal(region[0], region[3]);
}

static void test_key_parts(void **state)
{
    struct session *s = *state;
    struct tune_key k = key_of(s, linear), other;
    char name[65], again[65];
    tune_key_name(&k, name);
#define DIFFERS(member, value)                \
    do {                                      \
        other = k;                            \
        other.member = value;                 \
        tune_key_name(&other, again);         \
        assert_string_not_equal(name, again); \
    } while (0)
    DIFFERS(cudnn, 91800);
    DIFFERS(nvrtc, "12.9");
    DIFFERS(driver, 13010);
    DIFFERS(workspace_limit, 0);
    DIFFERS(deterministic, true);
    DIFFERS(target, with(s, k.target, "132", "114"));
#undef DIFFERS
    other = k;
    other.workspace_limit = -7;
    tune_key_name(&other, again);
    assert_string_equal(name, again);
    /* what builds does not hang on the driver */
    other.driver = 0;
    tune_key_build_name(&k, name);
    tune_key_build_name(&other, again);
    assert_string_equal(name, again);
}

/* Ids, clocks, names and the driver of a description are not of the key. */
static void test_key_of_equal_gpus(void **state)
{
    struct session *s = *state;
    struct gpu_search o = {0};
    struct target t, u;
    assert_true(target_load(s, "nvidia-h200", &o, &t));
    json_t *j = json_loads(t.json, 0, NULL);
    json_object_set_new(j, "pciDeviceId", json_integer(77));
    json_object_set_new(j, "cudaDeviceId", json_integer(3));
    json_object_set_new(j, "smClockRateKHz", json_integer(1000));
    json_object_set_new(j, "driverVer", json_integer(14000));
    json_object_set_new(j, "deviceName", json_string("another"));
    char *text = json_dumps(j, 0);
    assert_null(target_check(s->arena, text, &u));
    assert_string_equal(t.json, u.json);
    json_object_set_new(j, "regsPerBlock", json_integer(32768));
    free(text);
    text = json_dumps(j, 0);
    assert_null(target_check(s->arena, text, &u));
    assert_string_not_equal(t.json, u.json);
    free(text);
    json_decref(j);
}

/* ---- the database -----------------------------------------------------------------------------
 */

static struct tune_entry entry_of(struct session *s, const struct tune_key *k)
{
    struct tune_entry e = {.key = *k, .search = "heuristic", .listed = 33, .timed = 8};
    e.pick = (struct tune_pick){.engine = 41, .workspace_bytes = 131, .plan_bytes = 5};
    vec_push(s->arena, &e.pick.knobs, ((struct knob){2, 5}));
    vec_push(s->arena, &e.pick.knobs, ((struct knob){13, 1}));
    vec_push(s->arena, &e.pick.numerical, "TENSOR_CORE");
    e.figures = (struct tune_figures){52.125, 51.9, 52.4, 60};
    sha256_hex("plan!", 5, e.pick.plan);
    char tree[65];
    sha256_hex("tree", 4, tree);
    e.tree = arena_strdup(s->arena, tree);
    return e;
}

static char *folder(struct session *s)
{
    const char *top = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char *path = arena_printf(s->arena, "%s/tune-XXXXXX", top);
    assert_non_null(mkdtemp(path));
    return path;
}

static size_t warnings(struct session *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->diags.n; i++) n += s->diags.at[i]->id == DIAG_tune_entry;
    s->diags.n = 0;
    return n;
}

static char *entry_path(struct session *s, const struct tune_db *db, const struct tune_key *k)
{
    char name[65];
    tune_key_name(k, name);
    return arena_printf(s->arena, "%s/%s.json", db->dir, name);
}

static void test_round_trip(void **state)
{
    struct session *s = *state;
    struct tune_db db;
    struct tune_entry out;
    assert_true(tune_db_open(s, folder(s), true, &db));
    struct tune_key k = key_of(s, linear), other = k;
    struct tune_entry e = entry_of(s, &k);
    assert_false(tune_db_get(s, &db, &k, &out));
    assert_int_equal(warnings(s), 0); /* not there is not worth a word */
    assert_true(tune_db_put(s, &db, &e));
    assert_true(tune_db_get(s, &db, &k, &out));
    assert_string_equal(out.key.region, k.region);
    assert_int_equal(out.pick.engine, 41);
    assert_int_equal(out.pick.knobs.n, 2);
    assert_int_equal(out.pick.knobs.at[1].type, 13);
    assert_string_equal(out.pick.numerical.at[0], "TENSOR_CORE");
    assert_true(out.figures.median == 52.125 && out.figures.first == 60);
    /* without a driver, the newest one's */
    e.key.driver = 13010;
    e.figures.median = 50;
    assert_true(tune_db_put(s, &db, &e));
    other.driver = 0;
    assert_true(tune_db_get(s, &db, &other, &out));
    assert_true(out.figures.median == 50);
    other.driver = 12090;
    assert_false(tune_db_get(s, &db, &other, &out));
    assert_non_null(strstr(tune_db_near(s, &db, &other), "driver"));
    other.cudnn = 91800;
    assert_non_null(strstr(tune_db_near(s, &db, &other), "cuDNN 91900, here is 91800"));
    other.region = "rank 1\n";
    assert_null(tune_db_near(s, &db, &other));
    assert_int_equal(warnings(s), 0);
}

static void put_text(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Cut at every length, every byte flipped, bytes added, an entry under another's name. */
static void test_damage(void **state)
{
    struct session *s = *state;
    struct tune_db db;
    struct tune_entry out;
    char *text;
    size_t n;
    assert_true(tune_db_open(s, folder(s), true, &db));
    struct tune_key k = key_of(s, linear), other = k;
    struct tune_entry e = entry_of(s, &k);
    assert_true(tune_db_put(s, &db, &e));
    char *path = entry_path(s, &db, &k);
    assert_true(file_read(s, path, &text, &n));
    char *bad = arena_alloc(s->arena, n + 2);
    for (size_t i = 0; i < n; i++) {
        put_text(path, text, i);
        assert_false(tune_db_get(s, &db, &k, &out));
        assert_int_equal(warnings(s), 1);
        memcpy(bad, text, n);
        bad[i] = (char)(bad[i] ^ (1 << i % 7));
        put_text(path, bad, n);
        assert_false(tune_db_get(s, &db, &k, &out));
        assert_int_equal(warnings(s), 1);
    }
    memcpy(bad, text, n);
    memcpy(bad + n, "\n", 2);
    put_text(path, bad, n + 1);
    assert_false(tune_db_get(s, &db, &k, &out));
    put_text(path, text, n);
    assert_true(tune_db_get(s, &db, &k, &out));
    warnings(s);
    other.cudnn = 91901;
    put_text(entry_path(s, &db, &other), text, n);
    assert_false(tune_db_get(s, &db, &other, &out));
    assert_int_equal(warnings(s), 1);
    /* a folder in an entry's place */
    other.cudnn = 91902;
    assert_int_equal(mkdir(entry_path(s, &db, &other), 0777), 0);
    assert_false(tune_db_get(s, &db, &other, &out));
    assert_int_equal(warnings(s), 1);
}

static void test_plans(void **state)
{
    struct session *s = *state;
    char *dir = folder(s), hash[65], *bytes;
    size_t n;
    assert_true(tune_plan_put(s, dir, "plan!", 5, hash));
    assert_true(tune_plan_put(s, dir, "plan!", 5, hash));
    bytes = tune_plan_get(s, dir, hash, &n);
    assert_non_null(bytes);
    assert_int_equal(n, 5);
    char *path = arena_printf(s->arena, "%s/%s", dir, hash);
    put_text(path, "plan?", 5);
    assert_null(tune_plan_get(s, dir, hash, &n));
    assert_int_equal(warnings(s), 1);
    assert_true(tune_plan_put(s, dir, "plan!", 5, hash)); /* mended by the next writer */
    assert_non_null(tune_plan_get(s, dir, hash, &n));
    assert_int_equal(unlink(path), 0);
    assert_null(tune_plan_get(s, dir, hash, &n));
    assert_int_equal(warnings(s), 0);
}

/* Names of writers that were killed go a day later; of those at work, and of anything else, none.
 */
static void test_sweep(void **state)
{
    struct session *s = *state;
    struct tune_db db;
    char hash[65];
    sha256_hex("x", 1, hash);
    assert_true(tune_db_open(s, folder(s), true, &db));
    const char *names[] = {"/%s.json.aBcDeF", "/plans/%s.aBcDeF", "/%s.json.new123",
                           "/plans/%s",       "/%s.json",         "/plans/notes.aBcDeF"};
    char *path[COUNT_OF(names)];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *percent = strchr(names[i], '%');
        path[i] = percent ? arena_printf(s->arena, "%s%.*s%s%s", db.dir, (int)(percent - names[i]),
                                         names[i], hash, percent + 2)
                          : arena_printf(s->arena, "%s%s", db.dir, names[i]);
        put_text(path[i], "x", 1);
        struct timespec old[2] = {{time(NULL) - 90000, 0}, {time(NULL) - 90000, 0}};
        if (i != 2) assert_int_equal(utimensat(AT_FDCWD, path[i], old, 0), 0);
    }
    assert_true(tune_db_open(s, db.dir, true, &db));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(access(path[i], F_OK), i < 2 ? -1 : 0);
}

/* A disk that is full in the middle of a write: the old entry stands, nothing else is left. */
static void test_disk_full(void **state)
{
    struct session *s = *state;
    struct tune_db db;
    struct tune_entry out;
    assert_true(tune_db_open(s, folder(s), true, &db));
    struct tune_key k = key_of(s, linear);
    struct tune_entry e = entry_of(s, &k);
    assert_true(tune_db_put(s, &db, &e));
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 0; most < 600; most += 97) {
        small = (struct rlimit){most, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        e.figures.median = 1;
        bool put = tune_db_put(s, &db, &e);
        char hash[65];
        char *big = arena_alloc(s->arena, 4096);
        memset(big, 'x', 4095);
        bool plan = tune_plan_put(s, arena_printf(s->arena, "%s/plans", db.dir), big, 4095, hash);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_false(put);
        assert_false(plan);
        assert_true(tune_db_get(s, &db, &k, &out));
        assert_true(out.figures.median == 52.125);
    }
    signal(SIGXFSZ, handler);
    DIR *d = opendir(db.dir);
    for (struct dirent *f; (f = readdir(d));)
        if (f->d_name[0] != '.' && strcmp(f->d_name, "plans") && strcmp(f->d_name, "logs") &&
            strlen(f->d_name) != 69)
            fail_msg("'%s' is left", f->d_name);
    closedir(d);
    s->diags.n = s->n_errors = 0;
}

static void count_lines(void *data, const json_t *line)
{
    assert_true(json_is_object(line));
    ++*(int *)data;
}

/* The log of a search on a full disk: what could not be written is said, what was written is whole,
 * and the next line follows on a line of its own. */
static void test_log_on_full_disk(void **state)
{
    struct session *s = *state;
    struct tune_setup u = {.resume = false};
    struct tune_log log;
    struct rlimit before, small;
    int n = 0, written = 1; /* the start's line */
    assert_true(tune_db_open(s, folder(s), true, &u.db));
    struct graph g = {.name = "g"};
    struct tune_job j = {.graph = "g", .variant = "", .region = "rank 1\n", .ir = &g};
    struct tune_report r = {.job = &j};
    memset(r.build_key, 'a', 64);
    assert_true(log_open(s, &u, &r, count_lines, &n, &log));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 150; most < 1000; most += 61) {
        small = (struct rlimit){most, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        for (int i = 0; i < 3; i++)
            written += log_line(s, &log,
                                json_pack("{s:s, s:i}", "did", "built at this length", "i", i));
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_true(s->n_errors > 0 && written > 5);
    written += log_line(s, &log, json_pack("{s:s}", "did", "more"));
    struct tune_log other; /* while one has it, nobody else gets it */
    assert_false(log_open(s, &u, &r, count_lines, &n, &other));
    assert_int_equal(s->diags.at[s->diags.n - 1]->id, DIAG_tune_busy);
    close(log.fd);
    u.resume = true;
    assert_true(log_open(s, &u, &r, count_lines, &n, &log));
    close(log.fd);
    assert_int_equal(n, written);
    s->diags.n = s->n_errors = 0;
}

/* ---- many writers ------------------------------------------------------------------------------
 */

/* One of several processes that write the same few entries and plans, and read each other's. */
static int write_for(const char *dir, int seed, double seconds)
{
    struct session *s = session_new();
    struct tune_db db;
    struct timespec start, now;
    int rounds = 0;
    if (!tune_db_open(s, dir, true, &db)) return 1;
    char *plans = arena_printf(s->arena, "%s/plans", dir);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        struct session *r = session_new(); /* so that memory does not grow with time */
        struct tune_key k = {.region = arena_printf(r->arena, "rank %d\n", rounds % 8),
                             .target = "{}",
                             .cudnn = 91900,
                             .nvrtc = "13.0",
                             .driver = 13000,
                             .workspace_limit = -1};
        struct tune_entry e = entry_of(r, &k), out;
        char text[64];
        snprintf(text, sizeof text, "plan %d of %d", rounds % 16, seed % 4);
        e.figures.median = seed + 1;
        e.pick.plan_bytes = (int64_t)strlen(text);
        size_t n;
        bool ok = tune_plan_put(r, plans, text, strlen(text), e.pick.plan) &&
                  tune_db_put(r, &db, &e) && tune_db_get(r, &db, &k, &out);
        char *bytes = ok ? tune_plan_get(r, plans, out.pick.plan, &n) : NULL;
        if (!bytes || (int64_t)n != out.pick.plan_bytes || r->diags.n) {
            diag_flush(r, stderr);
            fprintf(stderr, "process %d, round %d: lost or damaged\n", seed, rounds);
            return 1;
        }
        session_free(r);
        rounds++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
             seconds);
    session_free(s);
    return 0;
}

/* 32 processes; FGC_STRESS_SECONDS makes the time they write longer (tools/stress-db: a minute). */
static void test_many_writers(void **state)
{
    struct session *s = *state;
    char *dir = folder(s);
    const char *given = getenv("FGC_STRESS_SECONDS");
    double seconds = given ? strtod(given, NULL) : 1;
    enum { WRITERS = 32 };
    pid_t pid[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0) _exit(write_for(dir, i, seconds));
    }
    int failed = 0;
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    /* All entries there, sound, each naming a plan that is there; no temporary name left. */
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *f; (f = readdir(d));) {
        if (f->d_name[0] == '.' || strlen(f->d_name) < 10) continue;
        if (strlen(f->d_name) != 69) fail_msg("'%s' is left", f->d_name);
        n++;
    }
    closedir(d);
    assert_int_equal(n, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_key_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_of_attention, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_ties, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_key_of_equal_gpus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_plans, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sweep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_log_on_full_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_writers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
