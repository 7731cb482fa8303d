/* report: pages that need nothing else: drawings and tables of recorded figures.
 *
 * Invariant: every text from outside is escaped; a page loads nothing, and reads as XML too. */
#ifndef FGC_DRIVER_REPORT_H
#define FGC_DRIVER_REPORT_H

#include <jansson.h>

#include "driver/driver.h"

void page_begin(struct buf *b, const char *title);
void page_end(struct buf *b);
/* <TAG>text</TAG>, escaped. */
void page_text(struct buf *b, const char *tag, const char *fmt, ...) PRINTF_LIKE(3, 4);

enum mark { MARK_NONE, MARK_CHOSEN, MARK_OTHER }; /* chosen: green; other: what it is held against */
struct bar {
    const char *label;
    double us, low, high; /* low, high: 0 where there is no range */
    enum mark mark;
};
typedef VEC(struct bar) bars_vec;
/* One below the other on one scale; roof_us: a dashed line, 0: none. What takes more than four times
 * the shortest is cut. */
void page_bars(struct buf *b, const bars_vec *bars, double roof_us);

struct dot {
    const char *label;
    double bytes, us;
    enum mark mark;
};
typedef VEC(struct dot) dots_vec;
/* Time against workspace. */
void page_dots(struct buf *b, const dots_vec *dots);

struct line {
    const char *label;
    const json_t *us; /* array */
};
typedef VEC(struct line) lines_vec;
/* Times round by round. */
void page_lines(struct buf *b, const lines_vec *lines);

/* A table that sorts by a click on a column's head. columns: separated by '|'. */
void table_begin(struct buf *b, const char *columns);
void table_row(struct buf *b, enum mark mark);
void table_cell(struct buf *b, const char *text);
/* fmt: of one double; x <= 0 where `positive`: an empty cell. */
void table_number(struct buf *b, const char *fmt, double x, bool positive);
void table_row_end(struct buf *b);
void table_end(struct buf *b);

/* Members of recorded JSON: "" and 0 where there is none. */
const char *json_word(const json_t *j, const char *key);
double json_figure(const json_t *j, const char *key);

/* What each kind of record becomes. */
void report_tune(const json_t *runs, struct buf *b);
void report_bench(const json_t *bench, struct buf *b);
void report_board(const json_t *board, struct buf *b);

#endif
