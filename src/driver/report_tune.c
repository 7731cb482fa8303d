/* report_tune: what a search found: times, times against workspace, the finals, every candidate with
 * its time or the reason why it has none. */
#include "driver/report.h"

static const json_t *times_of(const json_t *c)
{
    const json_t *final = json_object_get(c, "final_us");
    return json_array_size(final) ? final : json_object_get(c, "screen_us");
}

static double quantile(struct arena *a, const json_t *us, double q)
{
    size_t n = json_array_size(us);
    double *x = NEW_N(a, double, n + 1);
    for (size_t i = 0; i < n; i++) x[i] = json_number_value(json_array_get(us, i));
    return n ? stats_quantile(x, n, q) : 0;
}

static enum mark mark_of(const json_t *run, const json_t *c)
{
    const char *id = json_word(c, "id");
    return strcmp(id, json_word(run, "winner")) == 0  ? MARK_CHOSEN
           : strcmp(id, json_word(run, "first")) == 0 ? MARK_OTHER
                                                      : MARK_NONE;
}

/* The fastest first, what was not timed as it comes. */
static const json_t **in_order(struct arena *a, const json_t *list)
{
    size_t n = json_array_size(list);
    const json_t **order = NEW_N(a, const json_t *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *c = json_array_get(list, i);
        double us = json_figure(c, "median_us");
        size_t k = i;
        for (; us > 0 && k > 0; k--) {
            double other = json_figure(order[k - 1], "median_us");
            if (other > 0 && other <= us) break;
            order[k] = order[k - 1];
        }
        order[k] = c;
    }
    return order;
}

static void put_drawings(struct arena *a, const json_t *run, const json_t **order, size_t n,
                         struct buf *b)
{
    bars_vec bars = {0};
    dots_vec dots = {0};
    lines_vec lines = {0};
    double roof = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *c = order[i], *us = times_of(c), *final = json_object_get(c, "final_us");
        double median = json_figure(c, "median_us"), bytes = json_figure(c, "workspace_bytes");
        const char *id = json_word(c, "id");
        if (median <= 0) continue;
        if (json_figure(c, "share_of_roof") > 0) roof = json_figure(c, "share_of_roof") * median;
        vec_push(a, &bars,
                 ((struct bar){.label = id,
                               .us = median,
                               .low = quantile(a, us, 0.25),
                               .high = quantile(a, us, 0.75),
                               .mark = mark_of(run, c)}));
        vec_push(a, &dots, ((struct dot){id, bytes, median, mark_of(run, c)}));
        if (json_array_size(final)) vec_push(a, &lines, ((struct line){id, final}));
    }
    if (bars.n) page_text(b, "h3", "Times");
    page_bars(b, &bars, roof);
    if (dots.n > 1) page_text(b, "h3", "Time against workspace, microseconds");
    page_dots(b, &dots);
    if (lines.n) page_text(b, "h3", "Finals: each round times every finalist once, on fresh data");
    page_lines(b, &lines);
}

static void put_words(const json_t *list, char *text, size_t room)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t n = strlen(text);
        snprintf(text + n, room - n, "%s%s", n ? " " : "",
                 json_string_value(json_array_get(list, i)));
    }
}

static void put_row(const json_t *run, const json_t *c, struct buf *b)
{
    char from[64], notes[400] = "";
    const char *reason = json_word(c, "reason");
    const json_t *check = json_object_get(c, "check");
    struct buf verdict = {0};
    snprintf(from, sizeof from, "%s %d", json_word(c, "mode"), (int)json_figure(c, "rank"));
    put_words(json_object_get(c, "numerical"), notes, sizeof notes);
    put_words(json_object_get(c, "behavior"), notes, sizeof notes);
    buf_printf(&verdict, "%s%s%s", json_word(c, "verdict"), *reason ? ": " : "", reason);
    table_row(b, mark_of(run, c));
    table_cell(b, json_word(c, "id"));
    table_cell(b, verdict.at);
    table_number(b, "%.2f", json_figure(c, "median_us"), true);
    table_number(b, "%.1f %%", 100 * json_figure(c, "spread"), true);
    table_number(b, "%.1f", json_figure(c, "tflops"), true);
    table_number(b, "%.0f", json_figure(c, "gb_per_s"), true);
    table_number(b, "%.0f %%", 100 * json_figure(c, "share_of_roof"), true);
    table_number(b, "%.0f", json_figure(c, "workspace_bytes"), false);
    table_number(b, "%.2g", json_figure(check, "error"), !check);
    table_cell(b, from);
    table_cell(b, notes);
    table_row_end(b);
    buf_fini(&verdict);
}

static void put_run(const json_t *run, struct buf *b)
{
    struct arena *a = arena_new();
    const json_t *list = json_object_get(run, "candidates"), *r = json_object_get(run, "result"),
                 *against = json_object_get(r, "against_first");
    size_t n = json_array_size(list);
    const json_t **order = in_order(a, list);
    page_text(b, "h2", "%s %s", json_word(run, "graph"), json_word(run, "variant"));
    page_text(b, "p", "%s, for %s, cuDNN %.0f, NVRTC %s, driver %.0f. Key %s.", json_word(run, "file"),
              json_word(run, "target"), json_figure(run, "cudnn"), json_word(run, "nvrtc"),
              json_figure(run, "driver"), json_word(run, "key"));
    page_text(b, "p", "%.0f listed, %.0f built, %.0f timed in %.1f s.", json_figure(run, "listed"),
              json_figure(run, "built"), json_figure(run, "timed"), json_figure(run, "seconds"));
    if (r)
        page_text(b, "p",
                  "%s: %.2f us (95 %%: %.2f to %.2f), %s; the first choice takes %.2f us, the ratio is "
                  "%.3f to %.3f, and less than %.2f %% counts as equal.",
                  json_word(run, "winner"), json_figure(r, "median_us"), json_figure(r, "low_us"),
                  json_figure(r, "high_us"),
                  json_is_true(json_object_get(r, "kept")) ? "kept" : "faster than what was",
                  json_figure(r, "first_us"), json_number_value(json_array_get(against, 0)),
                  json_number_value(json_array_get(against, 1)), 100 * json_figure(r, "noise"));
    if (json_is_true(json_object_get(r, "throttled")))
        page_text(b, "p", "The GPU slowed itself while it was timed.");
    put_drawings(a, run, order, n, b);
    page_text(b, "h3", "Candidates");
    table_begin(b, "engine:knobs|verdict|us|spread|TFLOP/s|GB/s|of the roof|workspace, bytes|error over "
                   "bound|from|notes");
    for (size_t i = 0; i < n; i++) put_row(run, order[i], b);
    table_end(b);
    arena_free(a);
}

void report_tune(const json_t *runs, struct buf *b)
{
    page_begin(b, "What tuning found");
    for (size_t i = 0; i < json_array_size(runs); i++) put_run(json_array_get(runs, i), b);
    page_end(b);
}

void tune_reports_html(const tune_reports_vec *v, struct buf *out)
{
    struct buf text = {0};
    tune_reports_json(v, &text);
    json_t *j = json_loadb(text.at, text.n, 0, NULL);
    if (j) report_tune(j, out);
    json_decref(j);
    buf_fini(&text);
}
