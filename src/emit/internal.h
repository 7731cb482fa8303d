/* emit, internal: what the header's and the code's writer share. */
#ifndef FGC_EMIT_INTERNAL_H
#define FGC_EMIT_INTERNAL_H

#include "emit/emit.h"

struct writer {
    struct session *s;
    const struct plan *p;
    const struct emit_options *o;
    struct buf *c, *h;
    struct map *taken;  /* global identifiers of the header */
    struct map *macros; /* those of them that are macros */
    bool ok;
};

/* A name of the specification as one of C: int -> int_, _Exit -> fg_Exit. One to one. */
const char *emit_identifier(struct writer *w, const char *name);
/* The same for a parameter of a generated function, which has names of its own there. */
const char *emit_parameter(struct writer *w, const char *name);
/* "S=512,T=bf16" -> "_S_512_T_bf16"; "" -> "". */
const char *emit_suffix(struct writer *w, const struct plan_variant *v);
/* Text inside a block comment, which it cannot end. */
void emit_comment(struct buf *b, const char *text);
/* A C string literal, quotes and all. */
void emit_string(struct buf *b, const char *text);

/* The type of a scalar's field in args: the widest of f64, f32, i64, i32 that the variants ask for.
 */
enum dtype emit_field_type(const struct plan_graph *g, size_t tensor);
const char *emit_ctype(enum dtype t);
void emit_real(struct buf *b, double x);
size_t emit_bytes(const struct plan_tensor *t);   /* first element to the end of the last */
void emit_list(struct buf *b, int n, const int64_t *v);
/* False for an input that no operator reads: the plan has no such tensor. */
bool emit_is_read(const struct plan_variant *v, const struct plan_tensor *t);

/* Parameters that choose the variant. */
size_t emit_n_choosers(const struct plan_variant *v);
/* ", int64_t S, int64_t T" */
void emit_params(struct writer *w, struct buf *b, const struct plan_variant *v, bool with_type);
int64_t emit_param_value(const struct graph_param *p);
bool emit_has_round_up(const struct plan_graph *g);

/* The whole header into w->h. w->ok is false when two names collide in it. */
void emit_header(struct writer *w);

#endif
