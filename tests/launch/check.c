/* check: everything that a generated launcher promises, held against the fake libraries.
 *
 * Built once a graph and variant with a subject.h, which launch.py makes of the plan's manifest and
 * which includes the launcher's header; this file sees no header of cuDNN or CUDA. */
#define _GNU_SOURCE
#include "fake_cudnn.h"
#include "subject.h"

#include "args.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_passed, n_failed;

static void check(int ok, const char *fmt, ...)
{
    va_list args;
    if (ok) {
        n_passed++;
        return;
    }
    n_failed++;
    va_start(args, fmt);
    printf("FAIL " SUBJECT ": ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
}

/* Status and message of a refusal: each text is in it. */
static void refused(OBJECT *m, int status, int want, const char *what, const char *a, const char *b)
{
    const char *e = ERROR_STRING(m);
    check(status == want, "%s: status %d, not %d: %s", what, status, want, e);
    check(strstr(e, a) != NULL && strstr(e, b) != NULL, "%s: '%s' has no '%s' or no '%s'", what, e,
          a, b);
}

static void reset(void)
{
    fake.fail_at = fake.n_calls = 0;
    fake.failed = NULL;
}

static OBJECT *create(void)
{
    OBJECT *m = NULL;
    int status = CREATE(&m, fake_handle());
    check(status == FGC_OK && m, "create: status %d: %s", status, ERROR_STRING(m));
    if (status != FGC_OK) exit(1);
    return m;
}

static void destroy(OBJECT *m)
{
    DESTROY(m);
    check(fake.n_live == 0, "%d descriptors, streams or graphs are left", fake.n_live);
}

/* ---- what is asked of a run ---------------------------------------------------------------------
 */

/* What the run looked at, of step k, has to be bound to. */
static void check_step(const ARGS *args, void *workspace, int k, const char *what)
{
    int n = 0;
    uint64_t step = (uint64_t)1 << k;
    for (int i = 0; i < N; i++) {
        n += (subject[i].bound & step) != 0;
        if (!(subject[i].bound & step)) {
            check(fake_pointer(subject[i].uid) == NULL,
                  "%s: '%s' is bound, and plan %d has it not", what, subject[i].name, k);
        } else if (subject[i].role == SCALAR) {
            double want = get_scalar(args, i), got = read_scalar(i);
            check(got == want, "%s: '%s' is %g, not %g", what, subject[i].name, got, want);
        } else {
            check(fake_pointer(subject[i].uid) == get_pointer(args, i),
                  "%s: '%s' is another pointer", what, subject[i].name);
        }
    }
    for (int i = 0; i < N_CONSTANTS; i++) {
        unsigned char got[8] = {0};
        if (constants[i].step != k) continue;
        n++;
        fake_value(constants[i].uid, got, (size_t)constants[i].n);
        check(memcmp(got, constants[i].value, (size_t)constants[i].n) == 0,
              "%s: constant %d has another value", what, (int)constants[i].uid);
    }
    for (int i = 0; i < N_TEMPORARIES; i++) {
        if (!(temporaries[i].steps & step)) continue;
        n++;
        check(fake_pointer(temporaries[i].uid) == (char *)workspace + temporaries[i].offset,
              "%s: temporary %d lies elsewhere", what, (int)temporaries[i].uid);
    }
    for (int i = 0; i < N_VIEWS; i++) {
        if (views[i].step != k) continue;
        n++;
        const char *of = views[i].of < 0 ? (char *)workspace + views[i].at
                                         : (char *)get_pointer(args, views[i].of);
        check(fake_pointer(views[i].uid) == of + views[i].offset, "%s: view %d lies elsewhere", what,
              (int)views[i].uid);
    }
    check(fake_n_bound() == n, "%s: %d are bound, not %d", what, fake_n_bound(), n);
    check(fake_workspace() == (workspace ? (char *)workspace + TEMPORARY_BYTES : NULL),
          "%s: another workspace", what);
}

static void check_bound(const ARGS *args, void *workspace, const char *what)
{
    for (int k = 0; k < N_STEPS; k++) {
        fake_look(N_STEPS - 1 - k);
        check_step(args, workspace, k, what);
    }
}

static void test_defaults(void)
{
    ARGS args = ARGS_DEFAULTS;
    check(args.size == sizeof args, "args.size is %lu", (unsigned long)args.size);
    for (int i = 0; i < N; i++)
        check(memcmp(subject[i].dims, subject[i].macro_dims, sizeof subject[i].dims) == 0 &&
                  memcmp(subject[i].strides, subject[i].macro_strides, sizeof subject[i].dims) == 0,
              "'%s': dims or strides", subject[i].name);
    for (int i = 0; i < N; i++)
        if (subject[i].role == SCALAR)
            check(get_scalar(&args, i) == subject[i].def, "the default of '%s' is %g, not %g",
                  subject[i].name, get_scalar(&args, i), subject[i].def);
        else
            check(get_pointer(&args, i) == NULL, "'%s' does not begin as NULL", subject[i].name);
}

/* The texts of the plans of the last run, one a step, for who knows what they should be. */
static void keep_plans(const char *file)
{
    FILE *f = fopen(file, "wb");
    for (int k = 0; f && k < N_STEPS; k++) {
        size_t n;
        fake_look(N_STEPS - 1 - k);
        const char *text = fake_plan(&n);
        if (fwrite(text, 1, n, f) != n) exit(2);
    }
    if (!f || fclose(f) != 0) exit(2);
}

static void test_run(const char *plan_file)
{
    ARGS args = ARGS_DEFAULTS;
    OBJECT *m = create();
    size_t n, more;
    void *w;
    check(WORKSPACE_BYTES(m) == NEEDED_WORKSPACE, "the workspace is %lu bytes",
          (unsigned long)WORKSPACE_BYTES(m));
    for (int k = 0; k < 3; k++) {
        w = fill(&args, k);
        int status = RUN(m, fake_handle(), &args, w);
        check(status == FGC_OK, "run: status %d: %s", status, ERROR_STRING(m));
        check_bound(&args, w, "run");
    }
    check(fake.n_executed == 3 * N_STEPS, "%d runs, not 3", fake.n_executed / N_STEPS);
    keep_plans(plan_file);
    fake_plan(&n);
    destroy(m);
    fake.workspace = NEEDED_WORKSPACE + 4096; /* cuDNN's word counts, where it asks for more */
    m = create();
    check(WORKSPACE_BYTES(m) == NEEDED_WORKSPACE + 4096 + TEMPORARY_BYTES,
          "cuDNN asks for more workspace, %lu are told", (unsigned long)WORKSPACE_BYTES(m));
    destroy(m);
    fake.workspace = -1;
    fake.driver = 130010; /* a digit more than the plan has */
    m = create();
    w = fill(&args, 0);
    check(RUN(m, fake_handle(), &args, w) == FGC_OK, "run: %s", ERROR_STRING(m));
    const char *text = fake_plan(&more);
    check(more == n + 1 && memmem(text, more, "\"driverVer\":130010,", 19),
          "a driver's six digits");
    fake.driver = 13000;
    destroy(m);
}

/* Changed scalars reach the next run, without a new pack. */
static void test_scalars(void)
{
    ARGS args = ARGS_DEFAULTS;
    OBJECT *m = create();
    void *w = fill(&args, 0);
    int packs, k;
    check(RUN(m, fake_handle(), &args, w) == FGC_OK, "run: %s", ERROR_STRING(m));
    packs = fake.n_packs;
    for (k = 0; k < 5; k++) {
        for (int i = 0; i < N; i++)
            if (subject[i].role == SCALAR) set_scalar(&args, i, 3 * k - 5 + i);
        check(RUN(m, fake_handle(), &args, w) == FGC_OK, "run: %s", ERROR_STRING(m));
        check_bound(&args, w, "changed scalars");
    }
    check(fake.n_packs == packs, "changed scalars made %d packs", fake.n_packs - packs);
    destroy(m);
}

/* Eight sets are kept; the one unused for longest makes place. */
static void test_slots(void)
{
    ARGS args = ARGS_DEFAULTS;
    OBJECT *m = create();
    int packs = fake.n_packs, mallocs;
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1, 0, 8, 6, 0, 7, 6, 5};
    static const int made[] = {1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 9, 9, 10, 10, 11};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        void *w = fill(&args, order[k]);
        check(RUN(m, fake_handle(), &args, w) == FGC_OK, "run: %s", ERROR_STRING(m));
        check_bound(&args, w, "a kept set");
        check(fake.n_packs - packs == N_STEPS * made[k], "%d packs after run %d, not %d a step",
              fake.n_packs - packs, (int)k, made[k]);
        check(fake.n_live == N_STEPS * (1 + (made[k] < 8 ? made[k] : 8)), "%d descriptors live",
              fake.n_live);
    }
    char other[512];
    void *w = (void *)(((uintptr_t)other + 255) / 256 * 256);
    packs = fake.n_packs;
    fill(&args, 0);
    check(RUN(m, fake_handle(), &args, w) == FGC_OK && fake.n_packs == packs + N_STEPS,
          "the same pointers, another workspace: %s", ERROR_STRING(m));
    check_bound(&args, w, "another workspace");
    for (int k = 0; k < 27; k++) { /* nine in turn: each is new */
        packs = fake.n_packs;
        void *w = fill(&args, 20 + k % 9);
        check(RUN(m, fake_handle(), &args, w) == FGC_OK && fake.n_packs == packs + N_STEPS,
              "nine sets in turn");
        check_bound(&args, w, "nine sets in turn");
    }
    for (int k = 0; k < 8; k++) RUN(m, fake_handle(), &args, fill(&args, k));
    packs = fake.n_packs;
    mallocs = fake.n_mallocs;
    int bad = 0;
    for (int k = 0; k < 10000; k++) {
        void *w = fill(&args, k % 8);
        for (int i = 0; i < N; i++)
            if (subject[i].role == SCALAR) set_scalar(&args, i, k % 64);
        bad += RUN(m, fake_handle(), &args, w) != FGC_OK;
    }
    check(!bad, "%d of 10,000 runs failed", bad);
    check_bound(&args, fill(&args, 7), "the last of 10,000 runs");
    check(fake.n_packs == packs, "10,000 runs on kept sets made %d packs", fake.n_packs - packs);
    check(mallocs > 0 && fake.n_mallocs == mallocs,
          "10,000 runs on kept sets called malloc %d times", fake.n_mallocs - mallocs);
    destroy(m);
}

/* ---- refusals
 * -------------------------------------------------------------------------------------- */

static void test_null(OBJECT *m)
{
    ARGS args = ARGS_DEFAULTS;
    GRAPH *g = NULL;
    void *w = fill(&args, 0);
    check(CREATE(NULL, fake_handle()) == FGC_ERROR_ARGUMENT,
          "create without a place for the object");
    check(RUN(NULL, fake_handle(), &args, w) == FGC_ERROR_ARGUMENT, "run without an object");
    refused(m, RUN(m, fake_handle(), NULL, w), FGC_ERROR_ARGUMENT, "run without args", "args",
            "NULL");
    refused(m, RUN(m, NULL, &args, w), FGC_ERROR_ARGUMENT, "run without a handle", "handle",
            "NULL");
    refused(m, GRAPH_CREATE(&g, m, NULL, &args, w), FGC_ERROR_ARGUMENT, "a graph without a handle",
            "handle", "NULL");
    refused(m, GRAPH_CREATE(&g, m, fake_handle(), NULL, w), FGC_ERROR_ARGUMENT,
            "a graph without args", "args", "NULL");
    check(GRAPH_CREATE(NULL, m, fake_handle(), &args, w) == FGC_ERROR_ARGUMENT,
          "a graph without a place for it");
    check(GRAPH_CREATE(&g, NULL, fake_handle(), &args, w) == FGC_ERROR_ARGUMENT && !g,
          "a graph without an object");
    check(GRAPH_UPDATE(NULL, &args, w) == FGC_ERROR_ARGUMENT, "update without a graph");
    check(GRAPH_LAUNCH(NULL, NULL) == FGC_ERROR_ARGUMENT, "launch without a graph");
    check(WORKSPACE_BYTES(NULL) == 0 && ERROR_STRING(NULL)[0],
          "no object: its workspace and its message");
    DESTROY(NULL);
    GRAPH_DESTROY(NULL);
}

static void test_pointers(OBJECT *m)
{
    ARGS args = ARGS_DEFAULTS;
    void *w = fill(&args, 0);
    for (int i = 0; i < N; i++) {
        uintptr_t p = (uintptr_t)get_pointer(&args, i), half = subject[i].align / 2;
        if (subject[i].role == SCALAR) continue;
        set_pointer(&args, i, 0);
        if (!subject[i].read) { /* not in the plan: nobody looks at it */
            check(RUN(m, fake_handle(), &args, w) == FGC_OK, "unread '%s' is NULL: %s",
                  subject[i].name, ERROR_STRING(m));
            continue;
        }
        refused(m, RUN(m, fake_handle(), &args, w), FGC_ERROR_ARGUMENT, "NULL",
                quoted(subject[i].name), "NULL");
        if (half) {
            set_pointer(&args, i, p + half);
            refused(m, RUN(m, fake_handle(), &args, w), FGC_ERROR_ARGUMENT, "misaligned",
                    quoted(subject[i].name), number(half));
            check(strstr(ERROR_STRING(m), number(subject[i].align)) != NULL, "misaligned: no %lu",
                  (unsigned long)subject[i].align);
        }
        for (int k = 0; k < N; k++) {
            if (k == i || subject[k].role == SCALAR || !subject[k].read ||
                subject[i].role != OUTPUT)
                continue;
            set_pointer(&args, i, (uintptr_t)get_pointer(&args, k));
            refused(m, RUN(m, fake_handle(), &args, w), FGC_ERROR_ARGUMENT, "overlap",
                    quoted(subject[i].name), quoted(subject[k].name));
            check(strstr(ERROR_STRING(m), number(subject[i].bytes)) &&
                      strstr(ERROR_STRING(m), number(subject[k].bytes)),
                  "overlap: no sizes: %s", ERROR_STRING(m));
        }
        set_pointer(&args, i, p);
    }
    check(RUN(m, fake_handle(), &args, w) == FGC_OK, "after refusals: %s", ERROR_STRING(m));
    check_bound(&args, w, "after refusals");
    args.size = 0;
    refused(m, RUN(m, fake_handle(), &args, w), FGC_ERROR_ARGUMENT, "args not initialised",
            number(0), number(sizeof args));
}

static void test_workspace(void)
{
    ARGS args = ARGS_DEFAULTS;
    OBJECT *m;
    char *w;
    fake.workspace = 8192 > NEEDED_WORKSPACE ? 8192 : NEEDED_WORKSPACE;
    m = create();
    w = (char *)fill(&args, 0);
    refused(m, RUN(m, fake_handle(), &args, NULL), FGC_ERROR_ARGUMENT, "no workspace", "workspace",
            number(WORKSPACE_BYTES(m)));
    refused(m, RUN(m, fake_handle(), &args, w + 16), FGC_ERROR_ARGUMENT, "workspace misaligned",
            "workspace", "16 bytes");
    for (int i = 0; i < N; i++)
        if (subject[i].role != SCALAR && subject[i].read)
            refused(m,
                    RUN(m, fake_handle(), &args,
                        (void *)((uintptr_t)get_pointer(&args, i) / 256 * 256)),
                    FGC_ERROR_ARGUMENT, "workspace overlaps", "workspace", quoted(subject[i].name));
    check(RUN(m, fake_handle(), &args, w) == FGC_OK, "run: %s", ERROR_STRING(m));
    destroy(m);
    fake.workspace = -1;
}

/* An object that could not be created holds its message and refuses everything. */
static void not_created(int want, const char *what, const char *a, const char *b)
{
    ARGS args = ARGS_DEFAULTS;
    OBJECT *m = NULL;
    GRAPH *g = NULL;
    void *w = fill(&args, 0);
    refused(m, CREATE(&m, fake_handle()), want, what, "", "");
    if (m) refused(m, want, want, what, a, b);
    check(RUN(m, fake_handle(), &args, w) == FGC_ERROR_ARGUMENT, "%s: a run after it", what);
    check(GRAPH_CREATE(&g, m, fake_handle(), &args, w) == FGC_ERROR_ARGUMENT && !g,
          "%s: a graph after it", what);
    destroy(m);
}

static void test_surroundings(void)
{
    OBJECT *m = NULL;
    fake.version = 91801;
    not_created(FGC_ERROR_VERSION, "another cuDNN", "91801", number(PLAN_CUDNN));
    fake.version = PLAN_CUDNN;
    for (int i = 0; i < FAKE_N_FIELDS; i++) {
        int was = fake.field[i];
        fake.field[i] = was - 1;
        if (i < FAKE_MAJOR)
            not_created(FGC_ERROR_DEVICE, "a device's field", number((unsigned long)was),
                        number((unsigned long)was - 1));
        else
            not_created(FGC_ERROR_DEVICE, "compute capability", number(90),
                        i == FAKE_MAJOR ? number(80) : "89");
        fake.field[i] = was;
    }
    fake.driver = 12080;
    if (COMPILED_BY) {
        char needs[32];
        snprintf(needs, sizeof needs, "%d.%d", COMPILED_BY / 1000, COMPILED_BY % 1000 / 10);
        not_created(FGC_ERROR_DEVICE, "an old driver", "12.8", needs);
    } else {
        destroy(create());
    }
    fake.driver = 13000;
    refused(m, CREATE(&m, NULL), FGC_ERROR_ARGUMENT, "create without a handle", "", "");
    refused(m, 0, 0, "create without a handle", "handle", "NULL");
    destroy(m);
#ifdef CREATE_OTHER
    refused(m, CREATE_OTHER(&m, fake_handle()), FGC_ERROR_VARIANT, "an unknown variant", "", "");
    refused(m, 0, 0, "an unknown variant", GRAPH_NAME, "-77");
    destroy(m);
#endif
#ifdef ROUND_UP
    check(ROUND_UP(ROUND_UP_MOST) == ROUND_UP_MOST && ROUND_UP(ROUND_UP_MOST + 1) == -1,
          "round_up at the end");
    check(ROUND_UP(INT64_MIN) == ROUND_UP_LEAST && ROUND_UP(ROUND_UP_LEAST) == ROUND_UP_LEAST,
          "round_up at the start");
    check(ROUND_UP(ROUND_UP_LEAST + 1) == ROUND_UP_SECOND, "round_up between");
#endif
}

/* ---- CUDA graphs
 * ---------------------------------------------------------------------------------- */

static void test_graph(void)
{
    ARGS args = ARGS_DEFAULTS;
    OBJECT *m = create();
    GRAPH *g = NULL;
    void *w = fill(&args, 0), *stream = fake_stream_of_handle();
    int native = fake.n_populated, captured = fake.n_captured, packs, live;
    check(GRAPH_CREATE(&g, m, fake_handle(), &args, w) == FGC_OK && g, "graph: %s",
          ERROR_STRING(m));
    check_bound(&args, w, "graph");
    check(fake.n_populated - native == NATIVE &&
              fake.n_captured - captured == (NATIVE ? 0 : N_STEPS),
          "native %d, captured %d", fake.n_populated - native, fake.n_captured - captured);
    check(fake_stream_of_handle() == stream, "the handle's stream is another");
    packs = fake.n_packs;
    live = fake.n_live;
    for (int k = 0; k < 20; k++) {
        int updated = fake.n_updated, launched = fake.n_launched, made = fake.n_instantiated;
        fake.no_update = k >= 10;
        for (int i = 0; i < N; i++)
            if (subject[i].role == SCALAR) set_scalar(&args, i, k + 2);
        check(GRAPH_UPDATE(g, &args, w) == FGC_OK, "update: %s", ERROR_STRING(m));
        check_bound(&args, w, "update");
        check(fake.n_updated - updated == (k < 10) && fake.n_instantiated - made == (k >= 10),
              "an update that is refused makes it again");
        check(GRAPH_LAUNCH(g, NULL) == FGC_OK && fake.n_launched == launched + 1, "launch: %s",
              ERROR_STRING(m));
    }
    fake.no_update = 0;
    check(fake.n_packs == packs, "scalars in a graph made %d packs", fake.n_packs - packs);
    check(fake.n_live == live, "%d live, not %d", fake.n_live, live);
    w = fill(&args, 1);
    check(GRAPH_UPDATE(g, &args, w) == FGC_OK, "update: %s", ERROR_STRING(m));
    check_bound(&args, w, "update of pointers");
    refused(m, GRAPH_UPDATE(g, NULL, w), FGC_ERROR_ARGUMENT, "update without args", "args", "NULL");
    args.size = 1;
    refused(m, GRAPH_UPDATE(g, &args, w), FGC_ERROR_ARGUMENT, "update of bad args", "args",
            number(sizeof args));
    check(GRAPH_LAUNCH(g, NULL) == FGC_OK, "launch after a refused update: %s", ERROR_STRING(m));
    GRAPH_DESTROY(g);
    destroy(m);
}

/* ---- every call fails once
 * --------------------------------------------------------------------------- */

enum { CREATION, RUNNING, GRAPHING, UPDATING, LAUNCHING, N_ACTS };

static int act(int what, OBJECT **m, GRAPH **g, const ARGS *args, void *w)
{
    switch (what) {
    case CREATION: return CREATE(m, fake_handle());
    case RUNNING: return RUN(*m, fake_handle(), args, w);
    case GRAPHING: return GRAPH_CREATE(g, *m, fake_handle(), args, w);
    case UPDATING: return GRAPH_UPDATE(*g, args, w);
    default: return GRAPH_LAUNCH(*g, NULL);
    }
}

/* True when the n-th call of this act was reached. */
static int fail_once(int what, int n)
{
    ARGS args = ARGS_DEFAULTS;
    OBJECT *m = NULL;
    GRAPH *g = NULL;
    void *w = fill(&args, 0), *stream = fake_stream_of_handle();
    const char *failed;
    int status, lost;
    for (int i = CREATION; i < what; i++)
        if (i != RUNNING)
            check(act(i, &m, &g, &args, w) == FGC_OK, "act %d: %s", i, ERROR_STRING(m));
    if (what == UPDATING) w = fill(&args, 1);
    fake.fail_at = n;
    fake.n_calls = 0;
    fake.failed = NULL;
    status = act(what, &m, &g, &args, w);
    failed = fake.failed;
    reset();
    lost = fake_stream_of_handle() != stream; /* the call that failed was to give it back */
    if (!failed || strcmp(failed, "cudaGraphExecUpdate") == 0) {
        check(status == FGC_OK, "act %d, nothing failed: %s", what, ERROR_STRING(m));
    } else {
        check(status != FGC_OK, "act %d: call %d, %s, failed unseen", what, n, failed);
        check(ERROR_STRING(m)[0] != '\0', "act %d: call %d, %s: no message", what, n, failed);
        if (lost)
            check(strcmp(failed, "cudnnSetStream") == 0 && strstr(ERROR_STRING(m), "stream"),
                  "%s loses the stream", failed);
    }
    if (lost) { /* the stream that the handle has is still there to be put away */
        check(fake.n_live > 1, "the handle's stream is gone");
        fake_drop_stream();
        fake_set_stream(stream);
    }
    if (failed && what != CREATION) {
        status = act(what, &m, &g, &args, w);
        check(status == FGC_OK, "act %d again after %s: %s", what, failed, ERROR_STRING(m));
        if (what != LAUNCHING) check_bound(&args, w, failed);
    }
    GRAPH_DESTROY(g);
    destroy(m);
    return failed != NULL;
}

static void test_failures(void)
{
    static const int least[N_ACTS] = {15, 5, 6, 6, 1};
    for (int what = 0; what < N_ACTS; what++) {
        int n = 1;
        while (fail_once(what, n) && n < 200) n++;
        check(n > least[what] && n < 200, "act %d: only %d calls", what, n - 1);
    }
}

int main(int argc, char **argv)
{
    OBJECT *m;
    if (argc != 2) return 2;
    fake.workspace = -1;
    fake.version = PLAN_CUDNN;
    for (int i = 0; i < N; i++)
        if (subject[i].role == SCALAR && subject[i].read)
            fake_host_uid(subject[i].uid, subject[i].type == F16 || subject[i].type == BF16  ? 2
                                          : subject[i].type == F32 || subject[i].type == I32 ? 4
                                                                                             : 8);
    for (int i = 0; i < N_CONSTANTS; i++) fake_host_uid(constants[i].uid, (size_t)constants[i].n);
    test_defaults();
    test_run(argv[1]);
    test_scalars();
    test_slots();
    m = create();
    test_null(m);
    test_pointers(m);
    destroy(m);
    test_workspace();
    test_surroundings();
    test_graph();
    test_failures();
    printf("%d passed, %d failed\n", n_passed, n_failed);
    fflush(stdout); /* a leak ends the program before exit does */
    return n_failed != 0;
}
