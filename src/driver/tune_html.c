/* tune_html: what a search found as one page that needs nothing else: tables and drawings, no
 * script, no file beside it.
 *
 * Invariant: every text from outside is escaped; a candidate without a time stands in the table
 * with its reason. */
#include <inttypes.h>
#include <stdlib.h>

#include "driver/driver.h"

enum { WIDTH = 900, LEFT = 300, RIGHT = 80, ROW = 18, ROUNDS_HEIGHT = 260 };

static const double *times_of(const struct tune_candidate *c, size_t *n)
{
    *n = c->final.n ? c->final.n : c->screen.n;
    return c->final.n ? c->final.at : c->screen.at;
}

/* What the drawing's right edge stands for: the slowest that is less than four times the fastest.
 */
static double edge_of(const struct tune_report *r, double *best)
{
    double edge = 0;
    size_t n;
    *best = 0;
    for (size_t i = 0; i < r->candidates.n; i++) {
        const double *us = times_of(&r->candidates.at[i], &n);
        double m = n ? stats_median(us, n) : 0;
        if (n && (*best == 0 || m < *best)) *best = m;
    }
    for (size_t i = 0; i < r->candidates.n; i++) {
        const double *us = times_of(&r->candidates.at[i], &n);
        double m = n ? stats_quantile(us, n, 0.75) : 0;
        if (m < 4 * *best && m > edge) edge = m;
    }
    return edge * 1.05;
}

/* ---- a bar for each candidate that was timed --------------------------------------------------
 */

static void draw_bar(const struct tune_report *r, size_t i, double edge, int y, struct buf *b)
{
    const struct tune_candidate *c = &r->candidates.at[i];
    size_t n;
    const double *us = times_of(c, &n), scale = (WIDTH - LEFT - RIGHT) / edge;
    double m = stats_median(us, n), low = stats_quantile(us, n, 0.25),
           high = stats_quantile(us, n, 0.75);
    const char *fill = (int)i == r->winner ? "#2a7" : (int)i == r->first ? "#48c" : "#bbb";
    buf_printf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8, y + 13);
    markup_put(b, c->id);
    buf_puts(b, "</text>");
    if (m > edge) {
        buf_printf(b, "<text x=\"%d\" y=\"%d\">&#8594; %.1f us</text>\n", LEFT, y + 13, m);
        return;
    }
    buf_printf(b,
               "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
               "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#000\"/>"
               "<text x=\"%.1f\" y=\"%d\">%.2f</text>\n",
               LEFT, y + 3, m * scale, ROW - 6, fill, LEFT + low * scale, LEFT + high * scale,
               y + ROW / 2, y + ROW / 2, LEFT + m * scale + 6, y + 13, m);
}

static void draw_bars(const struct tune_report *r, const size_t *order, struct buf *b)
{
    double best, edge = edge_of(r, &best), roof = tune_roof(r->job->ir, r->setup->target) * 1e6;
    int n_timed = 0, y = 0;
    for (size_t i = 0; i < r->candidates.n; i++)
        n_timed += r->candidates.at[i].screen.n || r->candidates.at[i].final.n;
    if (!n_timed) return;
    buf_printf(b,
               "<h3>Times</h3><p>Median of the last rounds, microseconds; the line is the middle "
               "half. Green: the "
               "winner; blue: the heuristics' first choice%s.</p>\n<svg viewBox=\"0 0 %d %d\" "
               "width=\"%d\">\n",
               roof > 0 ? "; dashed: the roof, by measured ceilings" : "", WIDTH, n_timed * ROW + 4,
               WIDTH);
    for (size_t k = 0; k < r->candidates.n; k++) {
        const struct tune_candidate *c = &r->candidates.at[order[k]];
        if (!c->screen.n && !c->final.n) continue;
        draw_bar(r, order[k], edge, y, b);
        y += ROW;
    }
    if (roof > 0 && roof < edge) {
        double x = LEFT + roof * (WIDTH - LEFT - RIGHT) / edge;
        buf_printf(b,
                   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%d\" stroke=\"#c33\" "
                   "stroke-dasharray=\"4 3\"/>\n",
                   x, x, y);
    }
    buf_puts(b, "</svg>\n");
}

/* ---- the finals, round by round -------------------------------------------------------------- */

static void draw_rounds(const struct tune_report *r, struct buf *b)
{
    static const char *const colours[] = {"#2a7", "#48c", "#c63", "#85b",
                                          "#990", "#399", "#c39", "#555"};
    double low = 0, high = 0;
    size_t most = 0, drawn = 0;
    for (size_t i = 0; i < r->candidates.n; i++) {
        const struct tune_candidate *c = &r->candidates.at[i];
        for (size_t k = 0; k < c->final.n; k++) {
            if (low == 0 || c->final.at[k] < low) low = c->final.at[k];
            if (c->final.at[k] > high) high = c->final.at[k];
        }
        if (c->final.n > most) most = c->final.n;
    }
    if (most < 2) return;
    double margin = (high - low) * 0.05 + 1e-9, x0 = 70,
           dx = (WIDTH - x0 - 260) / (double)(most - 1);
    low -= margin;
    high += margin;
    buf_printf(b,
               "<h3>Finals</h3><p>Each round times every finalist once, on fresh data.</p>\n"
               "<svg viewBox=\"0 0 %d %d\" width=\"%d\">\n<text x=\"4\" y=\"14\">%.2f "
               "us</text><text x=\"4\" "
               "y=\"%d\">%.2f us</text>\n",
               WIDTH, ROUNDS_HEIGHT, WIDTH, high, ROUNDS_HEIGHT - 6, low);
    for (size_t i = 0; i < r->candidates.n; i++) {
        const struct tune_candidate *c = &r->candidates.at[i];
        if (!c->final.n) continue;
        const char *colour = colours[drawn % COUNT_OF(colours)];
        buf_printf(b, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colour);
        for (size_t k = 0; k < c->final.n; k++)
            buf_printf(b, "%.1f,%.1f ", x0 + dx * (double)k,
                       ROUNDS_HEIGHT * (high - c->final.at[k]) / (high - low));
        buf_printf(b, "\"/><text x=\"%d\" y=\"%d\" fill=\"%s\">", WIDTH - 250,
                   (int)(16 + 16 * drawn), colour);
        markup_put(b, c->id);
        buf_puts(b, "</text>\n");
        drawn++;
    }
    buf_puts(b, "</svg>\n");
}

/* ---- the table ------------------------------------------------------------------------------- */

static void put_words(struct buf *b, const words_vec *w)
{
    for (size_t i = 0; i < w->n; i++) {
        markup_put(b, w->at[i]);
        buf_puts(b, " ");
    }
}

static void put_row(const struct tune_report *r, size_t i, struct buf *b)
{
    const struct tune_candidate *c = &r->candidates.at[i];
    struct tune_row x = tune_row_of(r, c);
    buf_printf(b, "<tr%s><td>%s %d</td><td>", (int)i == r->winner ? " class=\"w\"" : "", c->mode,
               c->rank);
    markup_put(b, c->id);
    buf_puts(b, "</td><td>");
    put_words(b, &c->pick.numerical);
    put_words(b, &c->pick.behavior);
    buf_printf(b, "</td><td>%" PRId64 "</td>", c->pick.workspace_bytes);
    if (x.us > 0)
        buf_printf(b, "<td>%.2f</td><td>%.1f %%</td><td>%.1f</td><td>%.0f</td>", x.us,
                   100 * x.spread, x.tflops, x.gbs);
    else
        buf_puts(b, "<td></td><td></td><td></td><td></td>");
    if (x.roof > 0)
        buf_printf(b, "<td>%.0f %%</td>", 100 * x.roof);
    else
        buf_puts(b, "<td></td>");
    if (c->checked)
        buf_printf(b, "<td>%.2g</td>", c->check.error);
    else
        buf_puts(b, "<td></td>");
    buf_puts(b, "<td>");
    markup_put(b, tune_verdict(r, i));
    if (c->reason) {
        buf_puts(b, ": ");
        markup_put(b, c->reason);
    }
    buf_puts(b, "</td></tr>\n");
}

static void put_report(const struct tune_report *r, struct buf *b)
{
    struct arena *a = arena_new();
    size_t *order = tune_order_of(r, a);
    buf_puts(b, "<h2>");
    markup_put(b, r->job->graph);
    buf_printf(b, " %s</h2>\n<p>", r->job->variant);
    markup_put(b, r->job->file);
    buf_printf(b, ", for %s, cuDNN %" PRId64 ", NVRTC %s, driver %" PRId64 ". Key %s.</p>\n<pre>",
               r->setup->target->name, r->setup->key.cudnn, r->setup->key.nvrtc,
               r->setup->key.driver, r->key);
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (f) {
        tune_outcome_print(r, f);
        fclose(f);
        markup_put(b, text);
        free(text);
    }
    buf_puts(b, "</pre>\n");
    draw_bars(r, order, b);
    draw_rounds(r, b);
    buf_puts(b, "<h3>Candidates</h3>\n<table><tr><th>from</th><th>engine:knobs</th><th>notes</"
                "th><th>workspace, "
                "bytes</th><th>us</th><th>spread</th><th>TFLOP/s</th><th>GB/s</th><th>of the "
                "roof</th><th>error over "
                "bound</th><th>verdict</th></tr>\n");
    for (size_t i = 0; i < r->candidates.n; i++) put_row(r, order[i], b);
    buf_puts(b, "</table>\n");
    arena_free(a);
}

void tune_reports_html(const tune_reports_vec *v, struct buf *out)
{
    buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>fgc "
                  "tune</title>\n<style>body{font:14px "
                  "sans-serif;margin:2em auto;max-width:70em}svg text{font:12px "
                  "monospace}table{border-collapse:collapse;font:12px "
                  "monospace}td,th{padding:2px 8px;text-align:left;border-bottom:1px solid "
                  "#ddd}tr.w{background:#dfd}</style></head>"
                  "<body>\n<h1>What tuning found</h1>\n");
    for (size_t i = 0; i < v->n; i++) put_report(&v->at[i], out);
    buf_printf(out, "<p>fgc %s</p>\n</body></html>\n", PACKAGE_VERSION);
}
