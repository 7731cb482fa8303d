/* cmd_bench: what the plans of a file cost on this machine's GPU, beside the same graphs with
 * nothing fused and beside what the GPU can do at best.
 *
 * Invariant: ceilings are measured in the same run, by the same clock. */
#include <time.h>
#include <unistd.h>

#include "driver/bench.h"

enum { ROUNDS = 15, MOST_ROUNDS = 10000, SIDE = 8192 };

/* ---- ceilings --------------------------------------------------------------------------------- */

double ceiling_of(const struct bench_report *r, const char *what)
{
    for (size_t i = 0; what && i < r->ceilings.n; i++)
        if (strcmp(r->ceilings.at[i].what, what) == 0) return r->ceilings.at[i].per_second;
    return 0;
}

/* By the first anchor's operand; exact f32 has none. */
static const char *kind_of(const struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op *op = g->ops.at[i];
        if (!(ops[op->id].traits & OPT_anchor)) continue;
        switch (op->in[0]->type) {
        case DT_bf16: return "bf16";
        case DT_f16: return "f16";
        case DT_e4m3:
        case DT_e5m2: return "f8";
        case DT_f32: return op->compute == DT_tf32 ? "tf32" : NULL;
        default: return NULL;
        }
    }
    return NULL;
}

static bool build_product(struct session *quiet, const struct options *o, const struct target *t,
                          const char *kind, bool by_column, struct runnable *out)
{
    bool f8 = strcmp(kind, "f8") == 0, tf32 = strcmp(kind, "tf32") == 0;
    const char *in = f8 ? "e4m3" : tf32 ? "f32" : kind, *result = f8 ? "bf16" : in;
    const char *text = arena_printf(
        quiet->arena,
        "fg 1\n\ngraph ceiling() {\n    input  a : %s[1, %d, %d]\n    input  b : %s[1, %d, %d]%s\n"
        "    output y : %s[1, %d, %d]\n\n    y = matmul(a, b%s)\n}\n",
        in, SIDE, SIDE, in, SIDE, SIDE, by_column ? " col_major" : "", result, SIDE, SIDE,
        tf32 ? ", compute=tf32" : "");
    struct options plain = {.command = o->command,
                            .cudnn = o->cudnn,
                            .cuda = o->cuda,
                            .no_python = o->no_python};
    struct source *src = source_add(quiet, "ceiling.fg", text, strlen(text));
    struct module *m = src ? driver_analyse(quiet, &plain, src, t, NULL, NULL) : NULL;
    struct compiled c = {0};
    if (!m || !pipeline_lower(quiet, m->graphs.at[0], &c) ||
        !pipeline_build(quiet, &plain, t, &c.kernels.at[0]))
        return false;
    *out = (struct runnable){.file = "", .target = t->name, .ir = m->graphs.at[0]};
    vec_push(quiet->arena, &out->steps, runnable_step(&c.kernels.at[0]));
    return true;
}

/* The faster of b by rows and by columns; which one a GPU likes differs. */
static void measure_product(struct session *quiet, const struct options *o, const struct target *t,
                            struct runner *device, const char *kind, struct bench_report *r)
{
    struct ceiling c = {.what = kind};
    for (int by_column = 0; by_column < 2; by_column++) {
        struct runnable p;
        double us = 0;
        session_hush(quiet);
        bool ok = build_product(quiet, o, t, kind, by_column, &p) &&
                  bench_plan(quiet, device, p.ir, &p.steps.at[0], 5, &us);
        if (!ok) c.why = quiet->diags.n ? quiet->diags.at[0]->text : "it is refused";
        double rate = ok && us > 0 ? 2.0 * SIDE * SIDE * SIDE / us * 1e6 : 0;
        if (rate > c.per_second) c.per_second = rate;
    }
    if (c.per_second > 0) c.why = NULL;
    vec_push(quiet->arena, &r->ceilings, c);
}

static void measure_copy(struct session *quiet, struct runner *device, struct bench_report *r)
{
    const int64_t bytes = (int64_t)1 << 30;
    struct ceiling c = {.what = "copy"};
    double us;
    if (runner_copy(device, bytes, &us) == RUNNER_OK && us > 0)
        c.per_second = 2.0 * (double)bytes / us * 1e6;
    else
        c.why = arena_strdup(quiet->arena, runner_why(device));
    vec_push(quiet->arena, &r->ceilings, c);
}

static void measure_ceilings(struct session *quiet, const struct options *o,
                             const struct target *t, struct runner *device,
                             const runnables_vec *all, struct bench_report *r)
{
    measure_copy(quiet, device, r);
    for (size_t i = 0; i < all->n; i++) {
        const char *kind = kind_of(all->at[i].ir);
        bool known = false;
        for (size_t k = 0; kind && k < r->ceilings.n; k++)
            known = known || strcmp(r->ceilings.at[k].what, kind) == 0;
        if (kind && !known) measure_product(quiet, o, t, device, kind, r);
    }
}

/* ---- the run ---------------------------------------------------------------------------------- */

static double roof_of(const struct bench_report *r, const struct bench_row *row)
{
    double flops = ceiling_of(r, row->kind), copy = ceiling_of(r, "copy");
    if (copy <= 0 || (row->work.flops > 0 && flops <= 0)) return 0;
    double compute = row->work.flops > 0 ? row->work.flops / flops * 1e6 : 0,
           memory = row->work.bytes / copy * 1e6;
    return compute > memory ? compute : memory;
}

static void bench_one(struct session *s, struct session *quiet, const struct options *o,
                      const struct target *t, struct runner *device, const struct runnable *x,
                      struct bench_report *r)
{
    struct bench_unfused *u = NEW(quiet->arena, struct bench_unfused);
    struct bench_row row = {.of = x, .unfused = u, .work = tune_work_of(x->ir), .kind = kind_of(x->ir)};
    unfused_of(quiet, o, t, x->ir, u);
    if (!u->why) row.unfused_bytes = bench_traffic(u->graph);
    if (!bench_graph(s, device, x->ir, &x->steps, u, r->rounds, &row.figures)) return;
    row.roof_us = roof_of(r, &row);
    vec_push(quiet->arena, &r->rows, row);
}

/* The GPU for this process alone; < 0 with a diagnostic. */
static int hold_device(struct session *s, const char *uuid)
{
    int fd;
    bool busy;
    while ((fd = tune_device_lock(s, uuid, &busy)) < 0 && busy)
        nanosleep(&(struct timespec){0, 200 * 1000 * 1000}, NULL);
    return fd;
}

static void write_report(struct session *s, const struct options *o, const struct bench_report *r)
{
    struct buf b = {0};
    if (o->csv) {
        bench_csv(r, &b);
        file_write(s, o->csv, b.at, b.n);
        b.n = 0;
    }
    if (o->json) {
        bench_json(r, &b);
        fwrite(b.at, 1, b.n, stdout);
    } else {
        bench_print(r, stdout);
    }
    buf_fini(&b);
}

static bool check_options(struct session *s, const struct options *o, int *rounds)
{
    *rounds = o->rounds.given ? (int)o->rounds.value : ROUNDS;
    if (o->operands.n == 0) {
        diag(s, DIAG_usage, NO_SPAN, "a FILE.plan or FILE.fg is needed");
        return false;
    }
    if (o->rounds.given && (o->rounds.value < 1 || o->rounds.value > MOST_ROUNDS)) {
        diag(s, DIAG_usage, NO_SPAN, "--rounds is from 1 to %d, got %lld", MOST_ROUNDS,
             (long long)o->rounds.value);
        return false;
    }
    return true;
}

int cmd_bench(struct session *s, const struct options *o)
{
    struct gpu_search search = driver_search(o);
    struct bench_report r = {.device = NULL};
    struct target t;
    runnables_vec all = {0};
    if (!check_options(s, o, &r.rounds)) return 0;
    struct runner *device = runner_open(s, &search);
    if (!device) return 0;
    struct session *quiet = session_new();
    int held = -1;
    bool ok = target_load(s, o->target ? o->target : "host", &search, &t);
    for (size_t i = 0; ok && i < o->operands.n; i++)
        ok = runnables_of_file(s, o, o->operands.at[i], &t, &all);
    if (ok) held = hold_device(s, device->uuid);
    ok = ok && held >= 0;
    r.device = device;
    if (ok) measure_ceilings(quiet, o, &t, device, &all, &r);
    for (size_t i = 0; ok && i < all.n; i++) /* one that fails is said so, and the others go on */
        bench_one(s, quiet, o, &t, device, &all.at[i], &r);
    if (r.rows.n) write_report(s, o, &r);
    if (held >= 0) close(held);
    runner_close(device);
    session_free(quiet);
    return 0;
}
