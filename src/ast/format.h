/* format: what the two halves of the formatter share: expressions (format_expr.c), and statements,
 * items and comments (format.c). Not for other rooms. */
#ifndef FGC_AST_FORMAT_H
#define FGC_AST_FORMAT_H

#include "ast/ast.h"

enum { WIDTH = 100, STEP = 4 };

struct writer {
    const struct ast *ast;
    struct buf *out;
    size_t line_at; /* where the current line starts in out */
    size_t comment; /* next to print */
    uint32_t done;  /* source offset up to which everything is printed */
    bool apart;     /* an empty line is due before whatever comes next */
};

void format_new_line(struct writer *w, int indent);
size_t format_column(const struct writer *w);
/* On one line, whatever its length. */
void format_flat(const struct expr *e, struct buf *out);
void format_args(const args_vec *a, struct buf *out);
/* On one line when that leaves `reserve` columns for what follows, else broken, continued lines
 * deeper than `indent`. */
void format_expr(struct writer *w, const struct expr *e, int indent, size_t reserve);

#endif
