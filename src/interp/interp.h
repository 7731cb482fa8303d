/* interp: the reference. Evaluates IR on host arrays in f64 with its own kernels, rounding only
 * where the language rounds (cast). Also judges results: each value carries the bound that a right
 * implementation keeps. Sees no lowering. */
#ifndef FGC_INTERP_H
#define FGC_INTERP_H

#include "ir/ir.h"

/* A host array: row-major, packed, elements as f64 (exact for every type but large i64). */
struct array {
    int rank;
    int64_t dim[MAX_RANK];
    int64_t count;
    double *at;
    double *bound; /* allowed |error| of each element; NULL until asked for */
};
struct interp_result {
    struct array **of; /* by value id; NULL where not computed */
};
/* inputs: by value id, for every INPUT (array) and SCALAR (count 1; NULL takes the default). With
 * want_bounds each output gets its bound. False with diagnostics when it does not fit memory. */
bool interp_run(struct session *s, struct arena *a, const struct graph *g,
                struct array *const *inputs, bool want_bounds, struct interp_result *out);

/* Fills with what a tensor of that type can hold: uniform in [-1, 1) for floats, small integers,
 * bools; rounded to the type. Deterministic in (seed, name). */
void interp_random(const struct value *v, uint64_t seed, struct array *out, struct arena *a);

/* .npy (format 1.0 to 3.0, C or Fortran order, little endian). Types numpy lacks travel as <u2 /
 * |u1 raw bits. Every size in the header is checked against the file. False with diagnostics. */
bool npy_read(struct session *s, struct arena *a, const char *path, const struct value *v,
              struct array *out);
bool npy_write(struct session *s, const char *path, const struct value *v, const struct array *x);

/* Compares got with the reference (which has bounds): the largest |error| / bound, where it is. */
struct verdict {
    bool ok;
    double worst; /* largest error / bound; NaN mismatch counts as infinity */
    int64_t at;   /* flat index of the worst element */
    double got, want, bound;
    double relative; /* ||got - want|| / ||want|| */
};
struct verdict interp_compare(const struct value *v, const struct array *want,
                              const struct array *got);

/* Judges a tensor of real size by some of its elements, each evaluated by itself from the inputs:
 * first and last ones, and others drawn by the seed, as many as `budget` multiplications and
 * additions allow. The whole tensor is looked through for what cannot be there (NaN where no
 * operator makes one: memory that was not written). A reduction that is too long is judged by the
 * values it gathers, where they are an output too. bytes: by value id, the interface's tensors as
 * they lie in memory; scalars take their defaults, or 1. */
struct sampled {
    struct verdict verdict;
    int64_t n;       /* elements that were judged */
    const char *why; /* NULL, or why this tensor cannot be judged */
};
void interp_sample(struct arena *a, const struct graph *g, void *const *bytes,
                   const struct value *output, uint64_t seed, double budget, struct sampled *out);
/* The same of one element, by its flat index. */
void interp_sample_one(struct arena *a, const struct graph *g, void *const *bytes,
                       const struct value *output, int64_t place, double budget,
                       struct sampled *out);

#endif
