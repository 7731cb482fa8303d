/* cmd_fmt: canonical form of specifications. A file with a syntax error is left alone. */
#include "driver/driver.h"

static int format_one(struct session *s, const struct options *o, const char *path)
{
    size_t before = s->n_errors;
    struct source *src = source_load(s, path);
    struct ast *ast = src ? ast_parse(s, src) : NULL;
    if (!ast || s->n_errors > before) return 0;
    struct buf b = {0};
    ast_format(ast, &b);
    bool same = b.n == src->len && memcmp(b.at, src->text, b.n) == 0;
    int status = 0;
    if (o->check_format && !same) status = 1;
    if (o->diff) {
        struct buf d = {0};
        if (diff_unified(src->name, src->text, src->len,
                         arena_printf(s->arena, "%s (formatted)", src->name), b.at, b.n, &d))
            fwrite(d.at, 1, d.n, stdout);
        buf_fini(&d);
    } else if (o->check_format) {
        if (!same) printf("%s\n", path);
    } else if (o->write && strcmp(path, "-") != 0) {
        if (!same) file_write(s, path, b.at, b.n);
    } else if (b.n) {
        fwrite(b.at, 1, b.n, stdout);
    }
    buf_fini(&b);
    return status;
}

int cmd_fmt(struct session *s, const struct options *o)
{
    if (o->operands.n == 0) {
        diag(s, DIAG_usage, NO_SPAN, "at least one FILE is needed");
        return 0;
    }
    int status = 0;
    for (size_t i = 0; i < o->operands.n; i++) {
        int one = format_one(s, o, o->operands.at[i]);
        if (one > status) status = one;
        diag_flush(s, stderr);
    }
    return status;
}
