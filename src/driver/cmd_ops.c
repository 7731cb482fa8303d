/* cmd_ops: prints the table of operators, or one row of it as a page. */
#include "driver/driver.h"

extern const struct embedded embedded_examples[]; /* made from tests/ops by tools/embed */

static void example(const struct op_info *op, FILE *to)
{
    size_t n = strlen(op->name);
    for (const struct embedded *e = embedded_examples; e->name; e++) {
        if (strncmp(e->name, op->name, n) != 0 || strcmp(e->name + n, ".fg") != 0) continue;
        fprintf(to, "\nexample:\n");
        for (const char *line = e->text; *line;) {
            const char *end = strchr(line, '\n');
            int length = end ? (int)(end - line) : (int)strlen(line);
            fprintf(to, length ? "  %.*s\n" : "\n", length, line);
            line += length + (end != NULL);
        }
    }
}

static void signature(const struct op_info *op, FILE *to)
{
    struct buf b = {0};
    op_signature((enum op_id)(op - ops), &b);
    fprintf(to, "%s\n", b.at);
    buf_fini(&b);
}

static void page(const struct op_info *op, FILE *to)
{
    signature(op, to);
    fprintf(to, "  %s\n  formula: %s\n  element types: %s\n", op->doc, op->formula, op->types);
    for (int i = 0; i < MAX_ATTRS && op->attr[i].kind != ATTR_none; i++) {
        const struct attr_info *a = &op->attr[i];
        fprintf(to, "  %s: %s%s%s\n", a->name, a->doc ? a->doc : "", a->choices ? "; one of " : "",
                a->choices ? a->choices : "");
    }
    if (op->limits) fprintf(to, "  limits: %s\n", op->limits);
    if (op->cudnn_min)
        fprintf(to, "  needs cuDNN %d.%d\n", op->cudnn_min / 10000, op->cudnn_min / 100 % 100);
    example(op, to);
}

int cmd_ops(struct session *s, const struct options *o)
{
    if (o->operands.n > 1) {
        diag(s, DIAG_usage, NO_SPAN, "at most one operator is named, got %zu", o->operands.n);
        return 0;
    }
    if (o->operands.n == 0) {
        for (int i = OP_none + 1; i < N_OPS; i++) signature(&ops[i], stdout);
        return 0;
    }
    enum op_id id = op_find(o->operands.at[0]);
    if (id != OP_none) {
        page(&ops[id], stdout);
        return 0;
    }
    const char *names[N_OPS];
    size_t n = 0;
    for (int i = OP_none + 1; i < N_OPS; i++) names[n++] = ops[i].name;
    struct diag *d = diag(s, DIAG_usage, NO_SPAN, "there is no operator '%s'", o->operands.at[0]);
    const char *near = closest_name(o->operands.at[0], names, n);
    if (near) diag_hint(s, d, "did you mean '%s'", near);
    return 0;
}
