/* bench_report: what was measured, as a table for people, as JSON and as CSV.
 *
 * Invariant: what was not measured is said to be so, with the reason, and has no figure. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "driver/bench.h"

static double tflops(const struct bench_row *x, double us)
{
    return us > 0 ? x->work.flops / us / 1e6 : 0;
}

static double gbs(double bytes, double us)
{
    return us > 0 ? bytes / us / 1e3 : 0;
}

static double share(const struct bench_row *x)
{
    double us = x->figures.fused.median;
    return x->roof_us > 0 && us > 0 ? x->roof_us / us : 0;
}

/* ---- for people ------------------------------------------------------------------------------- */

static void print_ceilings(const struct bench_report *r, FILE *to)
{
    fprintf(to, "ceilings measured in this run on %s:", r->device->name);
    for (size_t i = 0; i < r->ceilings.n; i++) {
        const struct ceiling *c = &r->ceilings.at[i];
        bool copy = strcmp(c->what, "copy") == 0;
        if (c->per_second > 0 && copy)
            fprintf(to, "%s copy %.2f TB/s", i ? "," : "", c->per_second / 1e12);
        else if (c->per_second > 0)
            fprintf(to, "%s %s matmul %.0f TFLOP/s", i ? "," : "", c->what, c->per_second / 1e12);
        else
            fprintf(to, "%s %s not measured (%s)", i ? "," : "", c->what, c->why);
    }
    fprintf(to, "\n");
}

static void print_way(const char *name, const struct bench_way *w, FILE *to)
{
    char range[48];
    if (w->why) {
        fprintf(to, "  %-8s not measured: %s", name, w->why);
        return;
    }
    snprintf(range, sizeof range, "%.2f to %.2f", w->low, w->high);
    fprintf(to, "  %-8s %10.2f  %-20s %9.1f %9.2f %9.1f %11" PRId64, name, w->median, range,
            w->wall.call_us, w->wall.host_us, w->wall.replay_us, w->workspace_bytes);
}

static void print_fusion(const struct bench_row *x, FILE *to)
{
    const struct bench_way *f = &x->figures.fused, *u = &x->figures.unfused;
    fprintf(to, "  unfused takes %.2f times as long:", u->median / f->median);
    for (size_t i = 0; i < x->unfused->kernels.launches.n; i++)
        fprintf(to, "%s %s%s", i ? "," : "", x->unfused->kernels.launches.at[i].what,
                x->unfused->kernels.launches.at[i].name ? "" : " by cuDNN");
    fprintf(to, "; %.1f MB moved instead of %.1f; outputs differ by %.1e\n", x->unfused_bytes / 1e6,
            x->work.bytes / 1e6, x->figures.difference);
}

static void print_row(const struct bench_row *x, FILE *to)
{
    const struct bench_way *f = &x->figures.fused, *u = &x->figures.unfused;
    const struct graph *g = x->of->ir;
    fprintf(to, "%s: graph %s%s%s for %s, engine", x->of->file, g->name, *g->variant ? " " : "",
            g->variant, x->of->target);
    for (size_t i = 0; i < x->of->steps.n; i++)
        fprintf(to, "%s %" PRId64, i ? "," : "", x->of->steps.at[i].engine);
    fprintf(to, "\n           %10s  %-20s %9s %9s %9s %11s %9s %8s %8s\n", "GPU us", "95 %", "call us",
            "host us", "graph us", "workspace", "TFLOP/s", "GB/s", "of roof");
    print_way("fused", f, to);
    if (x->work.flops > 0)
        fprintf(to, " %9.1f", tflops(x, f->median));
    else
        fprintf(to, " %9s", "");
    fprintf(to, " %8.0f", gbs(x->work.bytes, f->median));
    if (share(x) > 0) fprintf(to, " %6.0f %%", 100 * share(x));
    fprintf(to, "\n");
    print_way("unfused", u, to);
    fprintf(to, "\n");
    if (!u->why) print_fusion(x, to);
    if (stats_throttled(x->figures.mhz.at, x->figures.mhz.n, &(struct interval){0, 0}))
        fprintf(to, "  the GPU slowed itself while it was timed\n");
}

void bench_print(const struct bench_report *r, FILE *to)
{
    for (size_t i = 0; i < r->rows.n; i++) print_row(&r->rows.at[i], to);
    print_ceilings(r, to);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static json_t *way_json(const struct bench_way *w)
{
    json_t *samples = json_array();
    if (w->why) {
        json_decref(samples);
        return json_pack("{s:s}", "why", w->why);
    }
    for (size_t i = 0; i < w->us.n; i++) json_array_append_new(samples, json_real(w->us.at[i]));
    return json_pack("{s:f, s:f, s:f, s:o, s:f, s:f, s:f, s:I}", "gpu_us", w->median, "low_us",
                     w->low, "high_us", w->high, "samples_us", samples, "call_us", w->wall.call_us,
                     "host_us", w->wall.host_us, "replay_us", w->wall.replay_us, "workspace_bytes",
                     (json_int_t)w->workspace_bytes);
}

static json_t *positive(double x)
{
    return x > 0 ? json_real(x) : json_null();
}

static json_t *row_json(const struct bench_row *x)
{
    json_t *engines = json_array(), *kernels = json_array();
    for (size_t i = 0; i < x->of->steps.n; i++)
        json_array_append_new(engines, json_integer((json_int_t)x->of->steps.at[i].engine));
    for (size_t i = 0; !x->figures.unfused.why && i < x->unfused->kernels.launches.n; i++)
        json_array_append_new(kernels, json_string(x->unfused->kernels.launches.at[i].what));
    json_t *unfused = way_json(&x->figures.unfused);
    if (!x->figures.unfused.why) {
        json_object_set_new(unfused, "kernels", kernels);
        json_object_set_new(unfused, "bytes", json_real(x->unfused_bytes));
        json_object_set_new(unfused, "difference", json_real(fmin(x->figures.difference, 1e300)));
    } else {
        json_decref(kernels);
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:s?, s:o, s:o}",
                     "file", x->of->file, "graph", x->of->ir->name, "variant", x->of->ir->variant,
                     "target", x->of->target, "engines", engines, "fused",
                     way_json(&x->figures.fused), "unfused", unfused, "flop", x->work.flops, "bytes",
                     x->work.bytes, "tflops", positive(tflops(x, x->figures.fused.median)),
                     "gb_per_s", positive(gbs(x->work.bytes, x->figures.fused.median)), "ceiling",
                     x->kind, "roof_us", positive(x->roof_us), "share_of_roof", positive(share(x)));
}

void bench_json(const struct bench_report *r, struct buf *out)
{
    json_t *rows = json_array(), *ceilings = json_object();
    for (size_t i = 0; i < r->rows.n; i++) json_array_append_new(rows, row_json(&r->rows.at[i]));
    for (size_t i = 0; i < r->ceilings.n; i++)
        json_object_set_new(ceilings, r->ceilings.at[i].what,
                            positive(r->ceilings.at[i].per_second));
    json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:I, s:i, s:o, s:o}", "kind", "bench", "fgc",
                          PACKAGE_VERSION, "gpu", r->device->name, "driver", r->device->driver,
                          "cudnn", (json_int_t)r->device->cudnn_version, "rounds", r->rounds,
                          "ceilings", ceilings, "rows", rows);
    json_print(j, out);
    buf_puts(out, "\n");
    json_decref(j);
}

/* ---- CSV -------------------------------------------------------------------------------------- */

static void put_text(struct buf *b, const char *text)
{
    buf_puts(b, "\"");
    for (; *text; text++) {
        if (*text == '"') buf_puts(b, "\"");
        buf_put(b, text, 1);
    }
    buf_puts(b, "\",");
}

static void put_figure(struct buf *b, double x, const char *end)
{
    if (x > 0) buf_printf(b, "%.6g", x);
    buf_puts(b, end);
}

static void put_way(struct buf *b, const struct bench_way *w)
{
    put_figure(b, w->median, ",");
    put_figure(b, w->low, ",");
    put_figure(b, w->high, ",");
    put_figure(b, w->wall.call_us, ",");
    put_figure(b, w->wall.host_us, ",");
    put_figure(b, w->wall.replay_us, ",");
    if (!w->why) buf_printf(b, "%" PRId64, w->workspace_bytes);
    buf_puts(b, ",");
}

void bench_csv(const struct bench_report *r, struct buf *b)
{
    static const char columns[] = "gpu_us,%slow_us,%shigh_us,%scall_us,%shost_us,%sreplay_us,%s"
                                  "workspace_bytes,";
    const char *u = "unfused_";
    buf_puts(b, "file,graph,variant,target,");
    buf_printf(b, columns, "", "", "", "", "", "");
    buf_puts(b, u);
    buf_printf(b, columns, u, u, u, u, u, u);
    buf_puts(b, "flop,bytes,unfused_bytes,tflops,gb_per_s,roof_us,share_of_roof\n");
    for (size_t i = 0; i < r->rows.n; i++) {
        const struct bench_row *x = &r->rows.at[i];
        put_text(b, x->of->file);
        put_text(b, x->of->ir->name);
        put_text(b, x->of->ir->variant);
        put_text(b, x->of->target);
        put_way(b, &x->figures.fused);
        put_way(b, &x->figures.unfused);
        put_figure(b, x->work.flops, ",");
        put_figure(b, x->work.bytes, ",");
        put_figure(b, x->unfused_bytes, ",");
        put_figure(b, tflops(x, x->figures.fused.median), ",");
        put_figure(b, gbs(x->work.bytes, x->figures.fused.median), ",");
        put_figure(b, x->roof_us, ",");
        put_figure(b, share(x), "\n");
    }
}
