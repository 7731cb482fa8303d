/* diff: the difference of two texts, line by line, as `diff -u` prints it and `patch` takes it.
 *
 * Invariant: what is printed turns the first text into the second, byte for byte. It is the
 * shortest script (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986) unless the
 * texts differ in more than MAX_EDITS lines; then what lies between their equal ends is replaced as
 * a whole. */
#include <stdlib.h>

#include "driver/driver.h"

enum { CONTEXT = 3, MAX_EDITS = 2000 };

struct line {
    const char *at;
    size_t n; /* with its line end */
};
typedef VEC(struct line) lines_vec;
struct edit { /* lines [a, a_end) of the first become [b, b_end) of the second */
    size_t a, a_end, b, b_end;
};
typedef VEC(struct edit) edits_vec;
struct texts {
    struct arena *arena;
    lines_vec a, b;
    edits_vec edits;
};

static void split(struct arena *arena, const char *text, size_t n, lines_vec *out)
{
    while (n) {
        const char *end = memchr(text, '\n', n);
        struct line l = {text, end ? (size_t)(end - text) + 1 : n};
        vec_push(arena, out, l);
        text += l.n;
        n -= l.n;
    }
}

static bool equal(const struct texts *t, size_t i, size_t k)
{
    const struct line *a = &t->a.at[i], *b = &t->b.at[k];
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

/* One more line is taken from the first text (down false) or from the second, at (x, y). */
static void step(struct texts *t, edits_vec *back, size_t x, size_t y, bool down)
{
    struct edit *last = back->n ? &back->at[back->n - 1] : NULL;
    size_t x_end = x + !down, y_end = y + down;
    if (last && last->a == x_end && last->b == y_end) {
        last->a = x;
        last->b = y;
        return;
    }
    struct edit e = {x, x_end, y, y_end};
    vec_push(t->arena, back, e);
}

/* The furthest x on diagonal k after d edits, from those after d - 1. */
static bool comes_down(const int64_t *v, int64_t k, int64_t d)
{
    return k == -d || (k != d && v[k - 1] < v[k + 1]);
}

/* Lines [from, a_end) against [from, b_end), neither of which begins or ends alike. */
static void find_edits(struct texts *t, size_t from, size_t a_end, size_t b_end)
{
    int64_t n = (int64_t)(a_end - from), m = (int64_t)(b_end - from), d;
    int64_t most = n + m < MAX_EDITS ? n + m : MAX_EDITS;
    int64_t **trace = NEW_N(t->arena, int64_t *, most + 1);
    int64_t *v = NEW_N(t->arena, int64_t, 2 * most + 3) + most + 1;
    bool found = false;
    for (d = 0; d <= most && !found; d++) {
        trace[d] = (int64_t *)arena_copy(t->arena, v - d - 1, sizeof *v * (size_t)(2 * d + 3)) + d +
                   1;
        for (int64_t k = -d; k <= d && !found; k += 2) {
            int64_t x = comes_down(v, k, d) ? v[k + 1] : v[k - 1] + 1, y = x - k;
            while (x < n && y < m && equal(t, from + (size_t)x, from + (size_t)y)) x++, y++;
            v[k] = x;
            found = x >= n && y >= m;
        }
    }
    if (!found) {
        struct edit all = {from, a_end, from, b_end};
        vec_push(t->arena, &t->edits, all);
        return;
    }
    edits_vec back = {0};
    int64_t x = n, y = m;
    for (d--; d > 0; d--) {
        int64_t k = x - y;
        bool down = comes_down(trace[d], k, d);
        int64_t before = down ? k + 1 : k - 1;
        x = trace[d][before];
        y = x - before;
        step(t, &back, from + (size_t)x, from + (size_t)y, down);
    }
    while (back.n) vec_push(t->arena, &t->edits, back.at[--back.n]);
}

static void put_lines(struct buf *out, char mark, const lines_vec *v, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        buf_put(out, &mark, 1);
        buf_put(out, v->at[i].at, v->at[i].n);
        if (v->at[i].at[v->at[i].n - 1] != '\n') buf_puts(out, "\n\\ No newline at end of file\n");
    }
}

static void put_range(struct buf *out, char mark, size_t from, size_t n)
{
    buf_printf(out, "%c%zu", mark, n ? from + 1 : from);
    if (n != 1) buf_printf(out, ",%zu", n);
}

/* The edits [i, k), so near to each other that their contexts touch. */
static void put_hunk(const struct texts *t, size_t i, size_t k, struct buf *out)
{
    const struct edit *first = &t->edits.at[i], *last = &t->edits.at[k - 1];
    size_t before = first->a < CONTEXT ? first->a : CONTEXT;
    size_t after = t->a.n - last->a_end < CONTEXT ? t->a.n - last->a_end : CONTEXT;
    buf_puts(out, "@@ ");
    put_range(out, '-', first->a - before, last->a_end + after - (first->a - before));
    buf_puts(out, " ");
    put_range(out, '+', first->b - before, last->b_end + after - (first->b - before));
    buf_puts(out, " @@\n");
    size_t at = first->a - before;
    for (; i < k; i++) {
        const struct edit *e = &t->edits.at[i];
        put_lines(out, ' ', &t->a, at, e->a);
        put_lines(out, '-', &t->a, e->a, e->a_end);
        put_lines(out, '+', &t->b, e->b, e->b_end);
        at = e->a_end;
    }
    put_lines(out, ' ', &t->a, at, at + after);
}

bool diff_unified(const char *name_a, const char *a, size_t n_a, const char *name_b, const char *b,
                  size_t n_b, struct buf *out)
{
    if (n_a == n_b && (n_a == 0 || memcmp(a, b, n_a) == 0)) return false;
    struct texts t = {.arena = arena_new()};
    split(t.arena, a, n_a, &t.a);
    split(t.arena, b, n_b, &t.b);
    size_t from = 0, a_end = t.a.n, b_end = t.b.n;
    while (from < a_end && from < b_end && equal(&t, from, from)) from++;
    while (a_end > from && b_end > from && equal(&t, a_end - 1, b_end - 1)) a_end--, b_end--;
    find_edits(&t, from, a_end, b_end);
    buf_printf(out, "--- %s\n+++ %s\n", name_a, name_b);
    for (size_t i = 0, k; i < t.edits.n; i = k) {
        for (k = i + 1; k < t.edits.n && t.edits.at[k].a - t.edits.at[k - 1].a_end <= 2 * CONTEXT;)
            k++;
        put_hunk(&t, i, k, out);
    }
    arena_free(t.arena);
    return true;
}
