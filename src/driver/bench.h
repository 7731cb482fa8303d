/* bench: what cmd_bench measures and bench_report prints. */
#ifndef FGC_DRIVER_BENCH_H
#define FGC_DRIVER_BENCH_H

#include "driver/driver.h"

struct ceiling { /* what the GPU did at best, in the same run */
    const char *what; /* "bf16", "f16", "f8", "tf32": matmul of 8192 x 8192 x 8192; "copy" */
    double per_second; /* FLOP, or bytes read and written; 0: not measured */
    const char *why;   /* why not, or NULL */
};
typedef VEC(struct ceiling) ceilings_vec;
struct bench_row {
    const struct runnable *of;
    struct bench_figures figures;
    struct tune_work work;
    const struct bench_unfused *unfused;
    double unfused_bytes;
    const char *kind; /* of its ceiling, or NULL where there is no anchor */
    double roof_us;   /* 0: not known */
};
struct bench_report {
    const struct runner *device;
    ceilings_vec ceilings;
    VEC(struct bench_row) rows;
    int rounds;
};
double ceiling_of(const struct bench_report *r, const char *what);
void bench_print(const struct bench_report *r, FILE *to);
void bench_json(const struct bench_report *r, struct buf *out);
void bench_csv(const struct bench_report *r, struct buf *out);

#endif
