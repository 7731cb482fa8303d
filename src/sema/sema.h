/* sema: gives names their meaning: binds parameters, evaluates constants, inlines fn and epilogue,
 * infers types, shapes and strides, and yields one IR graph for each variant of each chosen
 * graph. */
#ifndef FGC_SEMA_H
#define FGC_SEMA_H

#include "ast/ast.h"
#include "ir/ir.h"

struct sema_define {          /* -D N=64 or -D g.N=64 */
    const char *graph;        /* NULL: every graph that has it */
    const char *name;
    const char *value;        /* text: an integer or an element type */
};
/* What was found out about places of the text, for editors: the type of a name where it is declared or
 * bound, the result of a call at its operator. The first finding at a place stays. */
struct sema_index;
struct sema_index *sema_index_new(struct arena *a);
/* Lines of text about the name that begins at this offset of the session, "bf16[8, 16] channels_last"
 * first; NULL when nothing is known. */
const char *sema_index_at(const struct sema_index *x, uint32_t begin);

struct sema_options {
    const struct sema_define *defines;
    size_t n_defines;
    const char *const *graphs; /* --graph; none: all */
    size_t n_graphs;
    int sm;                    /* of the target, 90; 0: unknown, `require sm` is not checked */
    int64_t cudnn;             /* 91900; 0 when unknown */
    bool (*has_type)(const void *target, enum dtype t); /* for prefer(); NULL: by sm alone */
    const void *target;
    struct sema_index *index;  /* to be filled; NULL: not wanted */
};
/* Never NULL. On errors they are in the session and the graphs that failed are left out. */
struct module *sema_analyse(struct session *s, struct ast *ast, const struct sema_options *o);

#endif
