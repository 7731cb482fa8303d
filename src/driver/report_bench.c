/* report_bench: what graphs cost, fused and unfused; and a scoreboard of fgc against PyTorch. */
#include <math.h>

#include "driver/report.h"

static void put_ceilings(const json_t *ceilings, struct buf *b)
{
    struct buf text = {0};
    const char *key;
    json_t *x;
    json_object_foreach((json_t *)ceilings, key, x) {
        bool copy = strcmp(key, "copy") == 0;
        buf_printf(&text, "%s%s ", text.n ? ", " : "", key);
        if (json_is_number(x))
            buf_printf(&text, "%.4g %s", json_number_value(x) / 1e12, copy ? "TB/s" : "TFLOP/s");
        else
            buf_puts(&text, "not measured");
    }
    page_text(b, "p", "Ceilings measured in the same run: %s.", text.n ? text.at : "none");
    buf_fini(&text);
}

/* ---- bench ------------------------------------------------------------------------------------ */

static const char *title_of(struct arena *a, const json_t *row)
{
    const char *variant = json_word(row, "variant");
    return arena_printf(a, "%s%s%s", json_word(row, "graph"), *variant ? " " : "", variant);
}

static struct bar bar_of(const char *label, const json_t *way, enum mark mark)
{
    return (struct bar){label, json_figure(way, "gpu_us"), json_figure(way, "low_us"),
                        json_figure(way, "high_us"), mark};
}

static void put_graph(struct arena *a, const json_t *row, struct buf *b)
{
    const json_t *f = json_object_get(row, "fused"), *u = json_object_get(row, "unfused");
    bars_vec bars = {0};
    vec_push(a, &bars, bar_of("fused", f, MARK_CHOSEN));
    vec_push(a, &bars, bar_of("unfused", u, MARK_OTHER));
    page_text(b, "h3", "%s", title_of(a, row));
    page_bars(b, &bars, json_figure(row, "roof_us"));
    if (*json_word(u, "why")) page_text(b, "p", "Unfused: not measured: %s", json_word(u, "why"));
    if (json_figure(u, "bytes") > 0)
        page_text(b, "p", "Unfused it moves %.1f MB instead of %.1f.", json_figure(u, "bytes") / 1e6,
                  json_figure(row, "bytes") / 1e6);
}

static void put_bench_row(struct arena *a, const json_t *row, struct buf *b)
{
    const json_t *f = json_object_get(row, "fused"), *u = json_object_get(row, "unfused");
    double us = json_figure(f, "gpu_us"), unfused = json_figure(u, "gpu_us");
    table_row(b, MARK_NONE);
    table_cell(b, title_of(a, row));
    table_number(b, "%.2f", us, true);
    table_number(b, "%.2f", unfused, true);
    table_number(b, "%.2f", us > 0 ? unfused / us : 0, true);
    table_number(b, "%.1f", json_figure(row, "tflops"), true);
    table_number(b, "%.0f", json_figure(row, "gb_per_s"), true);
    table_number(b, "%.0f %%", 100 * json_figure(row, "share_of_roof"), true);
    table_number(b, "%.1f", json_figure(f, "call_us"), true);
    table_number(b, "%.2f", json_figure(f, "host_us"), true);
    table_number(b, "%.1f", json_figure(f, "replay_us"), true);
    table_number(b, "%.0f", json_figure(f, "workspace_bytes"), false);
    table_cell(b, json_word(row, "file"));
    table_row_end(b);
}

void report_bench(const json_t *bench, struct buf *b)
{
    const json_t *rows = json_object_get(bench, "rows");
    struct arena *a = arena_new();
    page_begin(b, "What graphs cost");
    page_text(b, "p", "%s, cuDNN %.0f, driver %.0f; medians of %.0f rounds, microseconds a call.",
              json_word(bench, "gpu"), json_figure(bench, "cudnn"), json_figure(bench, "driver"),
              json_figure(bench, "rounds"));
    put_ceilings(json_object_get(bench, "ceilings"), b);
    page_text(b, "h2", "Figures");
    table_begin(b, "graph|fused, us|unfused, us|times|TFLOP/s|GB/s|of the roof|a call, us|to enqueue, "
                   "us|as a graph, us|workspace, bytes|file");
    for (size_t i = 0; i < json_array_size(rows); i++) put_bench_row(a, json_array_get(rows, i), b);
    table_end(b);
    page_text(b, "h2", "Fused and unfused");
    for (size_t i = 0; i < json_array_size(rows); i++) put_graph(a, json_array_get(rows, i), b);
    page_end(b);
    arena_free(a);
}

/* ---- scoreboard ------------------------------------------------------------------------------- */

static double first_of(const json_t *row, const char *key)
{
    return json_number_value(json_array_get(json_object_get(row, key), 0));
}

static double way_us(const json_t *row, const char *name)
{
    return json_figure(json_object_get(json_object_get(row, "ways"), name), "us");
}

static double geomean_of(const json_t *rows, const char *key, const char *family, size_t *n)
{
    double sum = 0;
    *n = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double x = first_of(row, key);
        if (family && strcmp(json_word(row, "family"), family) != 0) continue;
        sum += log(x > 0 ? x : 0.5); /* what fgc refuses counts one half, as in the scoreboard */
        ++*n;
    }
    return *n ? exp(sum / (double)*n) : 0;
}

static void put_families(const json_t *rows, struct buf *b)
{
    size_t n;
    table_begin(b, "family|workloads|times the best of PyTorch|times its eager way");
    for (size_t i = 0; i <= json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *family = row ? json_word(row, "family") : NULL;
        bool seen = false;
        for (size_t k = 0; row && k < i; k++)
            seen = seen || strcmp(json_word(json_array_get(rows, k), "family"), family) == 0;
        if (seen) continue;
        double best = geomean_of(rows, "against_best", family, &n);
        table_row(b, row ? MARK_NONE : MARK_CHOSEN);
        table_cell(b, row ? family : "all");
        table_number(b, "%.0f", (double)n, false);
        table_number(b, "%.3f", best, true);
        table_number(b, "%.3f", geomean_of(rows, "against_eager", family, &n), true);
        table_row_end(b);
    }
    table_end(b);
}

static void put_board_row(const json_t *row, struct buf *b)
{
    const char *judged = json_word(row, "judged"), *best = json_word(row, "best"), *why = "", *key;
    const json_t *ways = json_object_get(row, "ways"), *mine = json_object_get(ways, judged);
    json_t *x;
    if (!mine) /* refused: any way's reason */
        json_object_foreach((json_t *)json_object_get(row, "refused"), key, x) why = json_string_value(x);
    table_row(b, MARK_NONE);
    table_cell(b, json_word(row, "name"));
    table_cell(b, json_word(row, "family"));
    table_number(b, "%.2f", way_us(row, judged), true);
    table_number(b, "%.2f", way_us(row, best), true);
    table_number(b, "%.3f", first_of(row, "against_best"), true);
    table_number(b, "%.3f", first_of(row, "against_eager"), true);
    table_number(b, "%.0f %%", 100 * json_figure(row, "of_roof"), true);
    table_number(b, "%.2f", json_figure(row, "error_ratio"), true);
    table_cell(b, best);
    table_cell(b, mine ? json_word(mine, "plan") : why ? why : "");
    table_row_end(b);
}

static void put_ways(struct arena *a, const json_t *row, struct buf *b)
{
    const char *judged = json_word(row, "judged"), *best = json_word(row, "best"), *name;
    bars_vec bars = {0};
    json_t *way;
    json_object_foreach((json_t *)json_object_get(row, "ways"), name, way) {
        struct bar x = {.label = arena_strdup(a, name),
                        .us = json_figure(way, "us"),
                        .mark = strcmp(name, judged) == 0 ? MARK_CHOSEN
                                : strcmp(name, best) == 0 ? MARK_OTHER
                                                          : MARK_NONE};
        vec_push(a, &bars, x);
        for (size_t k = bars.n - 1; k > 0 && bars.at[k - 1].us > bars.at[k].us; k--) {
            struct bar other = bars.at[k - 1];
            bars.at[k - 1] = bars.at[k];
            bars.at[k] = other;
        }
    }
    page_text(b, "h3", "%s", json_word(row, "name"));
    page_bars(b, &bars, json_figure(row, "roof_us"));
}

void report_board(const json_t *board, struct buf *b)
{
    const json_t *rows = json_object_get(board, "rows");
    struct arena *a = arena_new();
    const char *key;
    json_t *x;
    page_begin(b, "fgc against PyTorch");
    json_object_foreach((json_t *)json_object_get(board, "facts"), key, x)
        page_text(b, "p", json_is_string(x) ? "%s: %s" : "%s: %.0s%g", key,
                  json_is_string(x) ? json_string_value(x) : "", json_number_value(x));
    put_ceilings(json_object_get(board, "ceilings"), b);
    page_text(b, "h2", "Workloads: GPU microseconds a call, medians of interleaved rounds");
    put_families(rows, b);
    table_begin(b, "workload|family|fgc, us|best of PyTorch, us|times best|times eager|of the "
                   "roof|error over best\'s|which|plan");
    for (size_t i = 0; i < json_array_size(rows); i++) put_board_row(json_array_get(rows, i), b);
    table_end(b);
    page_text(b, "h2", "Every way");
    for (size_t i = 0; i < json_array_size(rows); i++) put_ways(a, json_array_get(rows, i), b);
    page_end(b);
    arena_free(a);
}
