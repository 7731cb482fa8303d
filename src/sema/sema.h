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
struct sema_options {
    const struct sema_define *defines;
    size_t n_defines;
    const char *const *graphs; /* --graph; none: all */
    size_t n_graphs;
    int sm;                    /* of the target, 90; 0: unknown, `require sm` is not checked */
    int64_t cudnn;             /* 91900; 0 when unknown */
    bool (*has_type)(const void *target, enum dtype t); /* for prefer(); NULL: by sm alone */
    const void *target;
};
/* Never NULL. On errors they are in the session and the graphs that failed are left out. */
struct module *sema_analyse(struct session *s, struct ast *ast, const struct sema_options *o);

#endif
