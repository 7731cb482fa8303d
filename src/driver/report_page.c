/* report_page: the page itself, bars, dots, lines and tables.
 *
 * Bars are boxes of the page, not drawings, so that labels stay readable at every width. */
#include <math.h>
#include <stdlib.h>

#include "driver/report.h"

static const char style[] =
    ":root{--ink:#1c2024;--dim:#5d6670;--rule:#d9dde2;--bar:#b4bcc6;--chosen:#1a7f5a;--other:#3673c4;--roof:#c22f2f;--paper:#fff}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--dim:#9aa4af;--rule:#353b43;--bar:#5a6572;--chosen:#37b384;"
    "--other:#6aa2ea;--roof:#f06a6a;--paper:#15181c}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;padding:1rem;max-width:72rem}\n"
    "h1{font-size:1.5rem}h2{font-size:1.2rem;margin:2rem 0 .3rem;border-top:1px solid var(--rule);padding-top:1rem}h3{font-size:1rem;margin:1.2rem 0 .3rem}\n"
    "p{margin:.3rem 0;overflow-wrap:anywhere}.dim{color:var(--dim)}\n"
    ".bar{display:grid;grid-template-columns:minmax(9rem,19rem) 1fr 6rem;gap:0 .6rem;align-items:center;font-size:.8rem;break-inside:avoid}\n"
    ".bar .l{text-align:right;overflow-wrap:anywhere}.bar .t{position:relative;height:1.1rem}.bar .v{font-variant-numeric:tabular-nums}\n"
    ".bar i,.bar b,.bar u{position:absolute;display:block}.bar i{top:.15rem;bottom:.15rem;left:0;background:var(--bar);border-radius:0 2px 2px 0}\n"
    ".bar b{top:50%;height:1px;background:var(--ink)}.bar u{top:0;bottom:0;border-left:2px dashed var(--roof)}\n"
    ".chosen i{background:var(--chosen)}.other i{background:var(--other)}.chosen .l,.chosen .v{font-weight:600}\n"
    ".key{font-size:.8rem;color:var(--dim)}.key span{margin-right:1rem;white-space:nowrap}.key em{display:inline-block;width:.8rem;height:.6rem;margin-right:.3rem;background:var(--bar)}\n"
    ".key .chosen{background:var(--chosen)}.key .other{background:var(--other)}.key .roof{background:none;border-left:2px dashed var(--roof);width:.2rem;height:.8rem}\n"
    "svg{width:100%;max-width:56rem;height:auto;display:block}svg text{font:15px system-ui,sans-serif;fill:var(--dim)}svg .axis{stroke:var(--rule)}\n"
    "circle{fill:var(--bar);stroke:var(--paper)}circle.chosen{fill:var(--chosen);stroke:var(--ink);stroke-width:2}circle.other{fill:var(--other)}\n"
    ".wide{overflow-x:auto;margin:.6rem 0 1rem}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}td,th{padding:.25rem .6rem;text-align:left;"
    "border-bottom:1px solid var(--rule);vertical-align:top;white-space:nowrap}td.n{text-align:right;white-space:nowrap}th{cursor:pointer;white-space:nowrap}\n"
    "th[aria-sort=ascending]::after{content:' \\25b2'}th[aria-sort=descending]::after{content:' \\25bc'}tr.chosen td{font-weight:600}tr.chosen td:first-child{border-left:4px solid var(--chosen)}\n"
    "tr.other td:first-child{border-left:4px solid var(--other)}td.why{min-width:16rem;white-space:normal}\n"
    "@media (max-width:40rem){.bar{grid-template-columns:1fr 5.2rem;margin-bottom:.25rem}.bar .l{grid-column:1/-1;text-align:left;line-height:1.2}svg text{font-size:24px}}\n"
    "@media print{body{max-width:none;padding:0;font-size:10pt}.wide{overflow:visible}table{font-size:7.5pt}td,th{padding:.1rem .3rem;white-space:normal}i{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

/* Without '<' and '&': the page reads as XML. Empty cells stay at the end. */
static const char script[] =
    "document.querySelectorAll('th').forEach(function (head) {\n"
    "  function sort() {\n"
    "    var table = head.closest('table'), body = table.tBodies[0], at = head.cellIndex;\n"
    "    var down = head.getAttribute('aria-sort') === 'ascending';\n"
    "    table.querySelectorAll('th').forEach(function (h) { h.removeAttribute('aria-sort'); });\n"
    "    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');\n"
    "    function value(row) { var c = row.cells[at]; return c.dataset.v === undefined ? c.textContent : Number(c.dataset.v); }\n"
    "    Array.from(body.rows).sort(function (a, b) {\n"
    "      var x = value(a), y = value(b);\n"
    "      if (x === '' || y === '') return x === y ? 0 : x === '' ? 1 : -1;\n"
    "      var order = typeof x === 'number' ? x - y : x.localeCompare(y);\n"
    "      return down ? -order : order;\n"
    "    }).forEach(function (row) { body.appendChild(row); });\n"
    "  }\n"
    "  head.addEventListener('click', sort);\n"
    "  head.addEventListener('keydown', function (e) { if (e.key === 'Enter') sort(); });\n"
    "});\n";

static const char *class_of(enum mark m)
{
    return m == MARK_CHOSEN ? "chosen" : m == MARK_OTHER ? "other" : "plain";
}

void page_begin(struct buf *b, const char *title)
{
    buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>");
    markup_put(b, title);
    buf_puts(b, "</title>\n<style>");
    buf_puts(b, style);
    buf_puts(b, "</style></head>\n<body>\n");
    page_text(b, "h1", "%s", title);
}

void page_end(struct buf *b)
{
    page_text(b, "p", "fgc %s", PACKAGE_VERSION);
    buf_puts(b, "<script>\n");
    buf_puts(b, script);
    buf_puts(b, "</script>\n</body></html>\n");
}

void page_text(struct buf *b, const char *tag, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0) return;
    buf_printf(b, "<%s>", tag);
    markup_put(b, text);
    buf_printf(b, "</%s>\n", tag);
    free(text);
}

const char *json_word(const json_t *j, const char *key)
{
    const char *text = json_string_value(json_object_get(j, key));
    return text ? text : "";
}

double json_figure(const json_t *j, const char *key)
{
    double x = json_number_value(json_object_get(j, key));
    return isfinite(x) ? x : 0;
}

/* ---- bars ------------------------------------------------------------------------------------- */

static void put_key(struct buf *b, bool other, bool roof)
{
    buf_puts(b, "<p class=\"key\"><span><em class=\"chosen\"></em>chosen</span>");
    if (other) buf_puts(b, "<span><em class=\"other\"></em>held against it</span>");
    if (roof) buf_puts(b, "<span><em class=\"roof\"></em>the roof, by measured ceilings</span>");
    buf_puts(b, "</p>\n");
}

void page_bars(struct buf *b, const bars_vec *bars, double roof_us)
{
    double best = 0, edge = 0;
    bool other = false;
    for (size_t i = 0; i < bars->n; i++) {
        const struct bar *x = &bars->at[i];
        if (x->us > 0 && (best == 0 || x->us < best)) best = x->us;
        other = other || x->mark == MARK_OTHER;
    }
    for (size_t i = 0; i < bars->n; i++) {
        const struct bar *x = &bars->at[i];
        double right = x->high > x->us ? x->high : x->us;
        if (x->us <= 4 * best && right > edge) edge = right;
    }
    if (edge <= 0) return;
    put_key(b, other, roof_us > 0 && roof_us < edge);
    for (size_t i = 0; i < bars->n; i++) {
        const struct bar *x = &bars->at[i];
        if (x->us <= 0) continue;
        bool cut = x->us > edge;
        buf_printf(b, "<div class=\"bar %s\"><span class=\"l\">", class_of(x->mark));
        markup_put(b, x->label);
        buf_printf(b, "</span><span class=\"t\"><i style=\"width:%.2f%%\"></i>",
                   cut ? 100 : 100 * x->us / edge);
        if (x->high > x->low && !cut)
            buf_printf(b, "<b style=\"left:%.2f%%;width:%.2f%%\"></b>", 100 * x->low / edge,
                       100 * (x->high - x->low) / edge);
        if (roof_us > 0 && roof_us < edge)
            buf_printf(b, "<u style=\"left:%.2f%%\"></u>", 100 * roof_us / edge);
        buf_printf(b, "</span><span class=\"v\">%s%.2f us</span></div>\n", cut ? "&#8594; " : "",
                   x->us);
    }
}

/* ---- time against workspace ------------------------------------------------------------------- */

enum { WIDTH = 760, HEIGHT = 320, LEFT = 90, RIGHT = 30, TOP = 16, BOTTOM = 44 };

/* Powers of two, with room for none at all. */
static double place_of(double bytes, double most)
{
    return LEFT + 14 +
           (WIDTH - LEFT - RIGHT - 28) * log2(1 + bytes) / (most > 0 ? log2(1 + most) : 1);
}

void page_dots(struct buf *b, const dots_vec *dots)
{
    double low = 0, high = 0, most = 0;
    for (size_t i = 0; i < dots->n; i++) {
        const struct dot *d = &dots->at[i];
        if (low == 0 || d->us < low) low = d->us;
        if (d->us > high) high = d->us;
        if (d->bytes > most) most = d->bytes;
    }
    if (dots->n < 2) return;
    if (high > 4 * low) high = 4 * low;
    double margin = (high - low) * 0.06 + low * 1e-3, base = low - margin, room = high + margin - base;
    buf_printf(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"time against workspace\">\n"
                  "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>"
                  "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
               WIDTH, HEIGHT, LEFT, TOP, LEFT, HEIGHT - BOTTOM, LEFT, HEIGHT - BOTTOM,
               WIDTH - RIGHT, HEIGHT - BOTTOM);
    for (int k = 0; k < 3; k++)
        buf_printf(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>", LEFT - 8,
                   TOP + (HEIGHT - TOP - BOTTOM) * (0.03 + k * 0.47) + 5,
                   base + room * (0.97 - k * 0.47));
    static const struct {
        double bytes;
        const char *name;
    } tick[] = {{0, "0"}, {1024, "1 KiB"}, {1048576, "1 MiB"}, {1073741824, "1 GiB"}};
    for (size_t k = 0; k < COUNT_OF(tick); k++)
        if (tick[k].bytes <= most)
            buf_printf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
                       place_of(tick[k].bytes, most), HEIGHT - BOTTOM + 20, tick[k].name);
    buf_printf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">workspace, up to %.0f bytes</text>\n",
               WIDTH - RIGHT, HEIGHT - 4, most);
    for (int pass = 0; pass < 2; pass++) /* marked ones above the others */
        for (size_t i = 0; i < dots->n; i++) {
            const struct dot *d = &dots->at[i];
            if ((d->mark != MARK_NONE) != (pass == 1)) continue;
            double us = d->us > high ? high : d->us;
            buf_printf(b, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>",
                       class_of(d->mark), place_of(d->bytes, most),
                       TOP + (HEIGHT - TOP - BOTTOM) * (1 - (us - base) / room), pass ? 8 : 6);
            markup_put(b, d->label);
            buf_printf(b, ": %.2f us, %.0f bytes</title></circle>\n", d->us, d->bytes);
        }
    buf_puts(b, "</svg>\n");
}

/* ---- rounds ----------------------------------------------------------------------------------- */

void page_lines(struct buf *b, const lines_vec *lines)
{
    static const char *const colours[] = {"#1a7f5a", "#3673c4", "#c26a2f", "#8552b5",
                                          "#8f8a10", "#2f9a9a", "#c22f8a", "#777777"};
    double low = 0, high = 0;
    size_t most = 0;
    for (size_t i = 0; i < lines->n; i++)
        for (size_t k = 0; k < json_array_size(lines->at[i].us); k++) {
            double us = json_number_value(json_array_get(lines->at[i].us, k));
            if (low == 0 || us < low) low = us;
            if (us > high) high = us;
            if (k + 1 > most) most = k + 1;
        }
    if (most < 2) return;
    double margin = (high - low) * 0.05 + 1e-9;
    low -= margin;
    high += margin;
    buf_printf(b, "<svg viewBox=\"0 0 %d 240\" role=\"img\" aria-label=\"times by round\">\n"
                  "<text x=\"4\" y=\"16\">%.4g us</text><text x=\"4\" y=\"234\">%.4g us</text>\n",
               WIDTH, high, low);
    for (size_t i = 0; i < lines->n; i++) {
        buf_printf(b, "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" points=\"",
                   colours[i % COUNT_OF(colours)]);
        for (size_t k = 0; k < json_array_size(lines->at[i].us); k++)
            buf_printf(b, "%.1f,%.1f ", LEFT + (double)(WIDTH - LEFT - 10) * (double)k / (double)(most - 1),
                       240 * (high - json_number_value(json_array_get(lines->at[i].us, k))) / (high - low));
        buf_puts(b, "\"/>\n");
    }
    buf_puts(b, "</svg>\n<p class=\"key\">");
    for (size_t i = 0; i < lines->n; i++) {
        buf_printf(b, "<span><em style=\"background:%s\"></em>", colours[i % COUNT_OF(colours)]);
        markup_put(b, lines->at[i].label);
        buf_puts(b, "</span> ");
    }
    buf_puts(b, "</p>\n");
}

/* ---- tables ----------------------------------------------------------------------------------- */

void table_begin(struct buf *b, const char *columns)
{
    buf_puts(b, "<div class=\"wide\"><table><thead><tr>");
    for (const char *p = columns; *p; p += strcspn(p, "|"), p += *p == '|')
        buf_printf(b, "<th scope=\"col\" tabindex=\"0\">%.*s</th>", (int)strcspn(p, "|"), p);
    buf_puts(b, "</tr></thead><tbody>\n");
}

void table_row(struct buf *b, enum mark mark)
{
    buf_printf(b, "<tr class=\"%s\">", class_of(mark));
}

void table_cell(struct buf *b, const char *text)
{
    buf_puts(b, strlen(text) > 60 ? "<td class=\"why\">" : "<td>");
    markup_put(b, text);
    buf_puts(b, "</td>");
}

void table_number(struct buf *b, const char *fmt, double x, bool positive)
{
    char text[64] = "";
    if (positive && !(x > 0)) {
        buf_puts(b, "<td></td>");
        return;
    }
    snprintf(text, sizeof text, fmt, x);
    buf_printf(b, "<td class=\"n\" data-v=\"%.9g\">%s</td>", x, text);
}

void table_row_end(struct buf *b)
{
    buf_puts(b, "</tr>\n");
}

void table_end(struct buf *b)
{
    buf_puts(b, "</tbody></table></div>\n");
}
