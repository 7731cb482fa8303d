/* tune_report: what a search found, as a table for people and as JSON.
 *
 * Invariant: every candidate stands there with its time or the reason why it has none. */
#include <inttypes.h>
#include <jansson.h>

#include "driver/driver.h"

struct tune_row tune_row_of(const struct tune_report *r, const struct tune_candidate *c)
{
    struct tune_row x = {0, 0, 0, 0, 0};
    struct tune_work w = tune_work_of(r->job->ir);
    const double *us = c->final.n ? c->final.at : c->screen.at;
    size_t n = c->final.n ? c->final.n : c->screen.n;
    if (n == 0) return x;
    x.us = stats_median(us, n);
    x.spread = stats_spread(us, n);
    x.tflops = w.flops / x.us / 1e6;
    x.gbs = w.bytes / x.us / 1e3;
    x.roof = tune_roof(r->job->ir, r->setup->target) * 1e6 / x.us;
    return x;
}

const char *tune_verdict(const struct tune_report *r, size_t i)
{
    const struct tune_candidate *c = &r->candidates.at[i];
    if ((int)i == r->winner) return r->race.kept ? "kept" : "best";
    if (c->status) return c->status;
    if (c->final.n) return "final";
    if (c->screen.n) return "timed";
    return c->checked ? "checked" : c->pick.plan[0] ? "built" : "not reached";
}

/* The fastest first, what was not timed in order of evidence. */
size_t *tune_order_of(const struct tune_report *r, struct arena *a)
{
    size_t n = r->candidates.n, *order = NEW_N(a, size_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        double us = tune_row_of(r, &r->candidates.at[i]).us;
        size_t k = i;
        for (; us > 0 && k > 0; k--) {
            double other = tune_row_of(r, &r->candidates.at[order[k - 1]]).us;
            if (other > 0 && other <= us) break;
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
    return order;
}

static void print_row(const struct tune_report *r, size_t i, FILE *to)
{
    const struct tune_candidate *c = &r->candidates.at[i];
    struct tune_row x = tune_row_of(r, c);
    char time[96] = "                                        ", error[24] = "";
    if (x.us > 0 && x.tflops >= 0.05)
        snprintf(time, sizeof time, "%10.2f us %5.1f %%  %8.1f TFLOP/s", x.us, 100 * x.spread,
                 x.tflops);
    else if (x.us > 0)
        snprintf(time, sizeof time, "%10.2f us %5.1f %%  %8.0f GB/s   ", x.us, 100 * x.spread,
                 x.gbs);
    if (x.roof > 0)
        snprintf(time + strlen(time), sizeof time - strlen(time), " %3.0f %%", 100 * x.roof);
    if (c->checked) snprintf(error, sizeof error, "error %.2g", c->check.error);
    fprintf(to, "%c %-8s %3d  %-40s %10" PRId64 " B %-45s %-10s %s%s%s\n",
            (int)i == r->winner ? '*' : ' ', c->mode, c->rank, c->id, c->pick.workspace_bytes, time,
            error, tune_verdict(r, i), c->reason ? ": " : "", c->reason ? c->reason : "");
}

void tune_outcome_print(const struct tune_report *r, FILE *to)
{
    if (r->known) {
        fprintf(to, "  in the database already: %.2f us\n", r->figures.median);
        return;
    }
    if (r->winner < 0) {
        fprintf(to, "  %d listed, %d built, %s in %.1f s\n", r->listed, r->built,
                r->setup->device ? "nothing was decided" : "none timed (no GPU was asked for)",
                r->seconds);
        return;
    }
    const struct tune_candidate *w = &r->candidates.at[r->winner];
    fprintf(
        to,
        "  %s: %.2f us (95 %%: %.2f to %.2f), %.3f of the first choice's %.2f us (%.3f to %.3f)\n",
        w->id, r->figures.median, r->figures.low, r->figures.high,
        r->figures.first > 0 ? r->figures.median / r->figures.first : 1, r->figures.first,
        r->race.against.low, r->race.against.high);
    fprintf(to, "  equal means within %.2f %%: the one to beat against itself was %.4f to %.4f\n",
            100 * r->race.noise, r->race.again.low, r->race.again.high);
    fprintf(to, "  %d listed, %d built, %d timed in %.1f s%s\n", r->listed, r->built, r->timed,
            r->seconds, r->hurried ? "; the budget ended the search early" : "");
    if (r->cut) fprintf(to, "  --max-candidates left some out\n");
    if (r->race.throttled)
        fprintf(to, "  the GPU slowed itself while it was timed: SM clocks from %.0f to %.0f MHz\n",
                r->race.mhz.low, r->race.mhz.high);
}

void tune_report_print(const struct tune_report *r, FILE *to)
{
    struct arena *a = arena_new();
    size_t *order = tune_order_of(r, a);
    fprintf(to, "%s: graph %s%s%s for %s\n", r->job->file, r->job->graph,
            *r->job->variant ? " " : "", r->job->variant, r->setup->target->name);
    for (size_t i = 0; i < r->candidates.n; i++) print_row(r, order[i], to);
    tune_outcome_print(r, to);
    arena_free(a);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *reals(const double *x, size_t n)
{
    json_t *j = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(j, json_real(x[i]));
    return j;
}

static json_t *words_of(const words_vec *w)
{
    json_t *j = json_array();
    for (size_t i = 0; i < w->n; i++) json_array_append_new(j, json_string(w->at[i]));
    return j;
}

static void put_positive(json_t *j, const char *key, double x)
{
    json_object_set_new(j, key, x > 0 ? json_real(x) : json_null());
}

static json_t *candidate_json(const struct tune_report *r, size_t i)
{
    const struct tune_candidate *c = &r->candidates.at[i];
    struct tune_row x = tune_row_of(r, c);
    json_t *knobs = json_object(), *j;
    for (size_t k = 0; k < c->pick.knobs.n; k++) {
        char type[24];
        snprintf(type, sizeof type, "%" PRId64, c->pick.knobs.at[k].type);
        json_object_set_new(knobs, type, json_integer(c->pick.knobs.at[k].value));
    }
    j = json_pack("{s:s, s:s, s:i, s:I, s:o, s:o, s:o, s:I, s:s, s:s, s:s?}", "id", c->id, "mode",
                  c->mode, "rank", c->rank, "engine", (json_int_t)c->pick.engine, "knobs", knobs,
                  "numerical", words_of(&c->pick.numerical), "behavior",
                  words_of(&c->pick.behavior), "workspace_bytes",
                  (json_int_t)c->pick.workspace_bytes, "plan", c->pick.plan, "verdict",
                  tune_verdict(r, i), "reason", c->reason);
    json_object_set_new(j, "build_ms", json_real(c->build_ms));
    if (c->checked)
        json_object_set_new(j, "check",
                            json_pack("{s:s, s:f, s:s?}", "verdict", check_words[c->check.verdict],
                                      "error", c->check.error < 1e300 ? c->check.error : 1e300,
                                      "note", c->check.note));
    put_positive(j, "median_us", x.us);
    put_positive(j, "spread", x.us > 0 ? x.spread : 0);
    put_positive(j, "tflops", x.tflops);
    put_positive(j, "gb_per_s", x.gbs);
    put_positive(j, "share_of_roof", x.roof);
    json_object_set_new(j, "screen_us", reals(c->screen.at, c->screen.n));
    json_object_set_new(j, "final_us", reals(c->final.at, c->final.n));
    return j;
}

static json_t *report_json(const struct tune_report *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->candidates.n; i++) json_array_append_new(list, candidate_json(r, i));
    json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:I, s:s, s:I, s:s, s:s, s:b, s:i, s:i, "
                          "s:i, s:f, s:b, s:b, s:b, s:b}",
                          "file", r->job->file, "graph", r->job->graph, "variant", r->job->variant,
                          "step", r->job->step, "region", r->job->region_hash, "target",
                          r->setup->target->name, "cudnn", (json_int_t)r->setup->key.cudnn, "nvrtc",
                          r->setup->key.nvrtc, "driver", (json_int_t)r->setup->key.driver, "key",
                          r->key, "search", r->setup->exhaustive ? "exhaustive" : "heuristic",
                          "deterministic", r->setup->key.deterministic, "listed", r->listed,
                          "built", r->built, "timed", r->timed, "seconds", r->seconds, "stopped",
                          r->stopped, "hurried", r->hurried, "known", r->known, "cut", r->cut);
    json_object_set_new(j, "candidates", list);
    json_object_set_new(j, "winner",
                        r->winner >= 0 ? json_string(r->candidates.at[r->winner].id) : json_null());
    json_object_set_new(j, "first",
                        r->first >= 0 ? json_string(r->candidates.at[r->first].id) : json_null());
    if (r->winner < 0) return j;
    json_object_set_new(
        j, "result",
        json_pack("{s:f, s:f, s:f, s:f, s:b, s:f, s:[f, f], s:[f, f], s:b, s:[f, f]}", "median_us",
                  r->figures.median, "low_us", r->figures.low, "high_us", r->figures.high,
                  "first_us", r->figures.first, "kept", r->race.kept, "noise", r->race.noise,
                  "against_first", r->race.against.low, r->race.against.high, "against_itself",
                  r->race.again.low, r->race.again.high, "throttled", r->race.throttled, "sm_mhz",
                  r->race.mhz.low, r->race.mhz.high));
    return j;
}

void tune_reports_json(const tune_reports_vec *v, struct buf *out)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->n; i++) json_array_append_new(list, report_json(&v->at[i]));
    json_print(list, out);
    buf_puts(out, "\n");
    json_decref(list);
}
