/* cmd_graph: draws what a specification means, and what of it runs in one kernel: DOT text, or what
 * Graphviz's `dot` makes of it.
 *
 * Invariant: a box is a tensor in memory or a host scalar, an ellipse is an operator, a frame is a
 * kernel; what no box stands for never reaches memory. */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/driver.h"

extern char **environ;

struct drawing {
    struct session *s;
    struct buf *out;
    const struct graph *g; /* as the language means it */
    size_t number;         /* of the graph: prefixes the names of its nodes */
};

/* Inside of double quotes. */
static void put_label(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') buf_puts(out, "\\");
        if (*text == '\n')
            buf_puts(out, "\\n");
        else
            buf_put(out, text, 1);
    }
}

static void put_type(struct buf *out, const struct value *v)
{
    static const char *const layouts[] = {[LAYOUT_row_major] = "",
                                          [LAYOUT_channels_last] = " channels_last",
                                          [LAYOUT_col_major] = " col_major",
                                          [LAYOUT_order] = " order",
                                          [LAYOUT_strides] = " strides"};
    buf_puts(out, dtypes[v->type].name);
    for (int i = 0; i < v->rank; i++) buf_printf(out, "%s%" PRId64, i ? ", " : "[", v->dim[i]);
    if (v->rank) buf_printf(out, "]%s", layouts[v->layout]);
}

static bool is_interface(const struct drawing *d, const struct value *v)
{
    const values_vec *lists[] = {&d->g->inputs, &d->g->scalars, &d->g->outputs};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (size_t k = 0; k < lists[i]->n; k++)
            if (lists[i]->at[k]->uid == v->uid) return true;
    return false;
}

/* A view has no box: what it looks at has one. NULL: drawn where it is made. */
static const struct value *looked_at(const struct drawing *d, const struct value *v)
{
    if (!v->base) return v;
    for (size_t i = 0; i < d->g->inputs.n; i++)
        if (d->g->inputs.at[i]->uid == v->base) return d->g->inputs.at[i];
    return NULL;
}

/* A box for each value of one role in one region; drawn twice, it is one node. */
static void put_boxes(const struct drawing *d, const values_vec *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct value *v = looked_at(d, list->at[i]);
        if (!v) continue;
        bool crosses = !is_interface(d, v);
        buf_printf(d->out, "    v%zu_%" PRId64 " [shape=box, label=\"%s", d->number, v->uid,
                   crosses ? "temporary" : word);
        if (v->name) buf_printf(d->out, " %s", v->name);
        buf_puts(d->out, "\\n");
        put_type(d->out, v);
        buf_printf(d->out, "\"%s];\n", crosses ? ", style=dashed" : "");
    }
}

/* The operator with its attributes, and the literals among its operands. */
static void put_operator(const struct drawing *d, size_t region, const struct op *op)
{
    const struct op_info *info = &ops[op->id];
    struct buf label = {0};
    buf_puts(&label, info->name);
    ir_print_attrs(op, &label);
    for (int j = 0; j < info->n_in; j++)
        if (op->in[j]->role == VAL_CONST) {
            buf_printf(&label, "\n%s = ", info->in[j].name);
            buf_real(&label, op->in[j]->literal);
        }
    if (op->promise) buf_printf(&label, "\nin epilogue %s", op->promise->name);
    buf_printf(d->out, "      o%zu_%zu_%d [label=\"", d->number, region, op->index);
    put_label(d->out, label.at);
    buf_puts(d->out, "\"];\n");
    buf_fini(&label);
}

static void put_edges(const struct drawing *d, size_t region, const struct op *op)
{
    for (int j = 0; j < ops[op->id].n_in; j++) {
        const struct value *v = op->in[j];
        if (v->role == VAL_CONST) continue;
        if (v->role == VAL_TEMP && v->producer) {
            buf_printf(d->out, "    o%zu_%zu_%d -> o%zu_%zu_%d [label=\"", d->number, region,
                       v->producer->index, d->number, region, op->index);
            if (v->name) buf_printf(d->out, "%s\\n", v->name);
            put_type(d->out, v);
            buf_puts(d->out, "\"];\n");
        } else {
            buf_printf(d->out, "    v%zu_%" PRId64 " -> o%zu_%zu_%d;\n", d->number,
                       v->base ? v->base : v->uid, d->number, region, op->index);
        }
    }
    for (int j = 0; j < ops[op->id].n_out; j++)
        if (op->out[j] && op->out[j]->role == VAL_OUTPUT)
            buf_printf(d->out, "    o%zu_%zu_%d -> v%zu_%" PRId64 ";\n", d->number, region,
                       op->index, d->number, op->out[j]->uid);
}

static bool draw(struct session *s, const struct graph *g, size_t number, struct buf *out)
{
    struct drawing d = {.s = s, .out = out, .g = g, .number = number};
    graphs_vec regions = {0};
    if (!pass_regions(s, g, "partition", &regions)) return false;
    buf_printf(out, "  subgraph \"cluster_%zu\" {\n    label=\"graph %s%s", number, g->name,
               *g->variant ? " " : "");
    put_label(out, g->variant);
    buf_puts(out, "\"; style=solid;\n");
    for (size_t r = 0; r < regions.n; r++) {
        const struct graph *part = regions.at[r];
        put_boxes(&d, &part->inputs, "input");
        put_boxes(&d, &part->scalars, "scalar");
        put_boxes(&d, &part->outputs, "output");
        buf_printf(out,
                   "    subgraph \"cluster_%zu_%zu\" {\n      label=\"kernel %zu\"; style=filled; "
                   "color=\"#e8eef7\";\n",
                   number, r, r);
        for (size_t i = 0; i < part->ops.n; i++) put_operator(&d, r, part->ops.at[i]);
        buf_puts(out, "    }\n");
    }
    for (size_t r = 0; r < regions.n; r++)
        for (size_t i = 0; i < regions.at[r]->ops.n; i++)
            put_edges(&d, r, regions.at[r]->ops.at[i]);
    buf_puts(out, "  }\n");
    return true;
}

static bool no_dot(struct session *s, int error)
{
    struct diag *d = diag(s, DIAG_file, NO_SPAN, "cannot run 'dot': %s", strerror(error));
    diag_hint(s, d, "it is part of Graphviz; --dot prints the drawing's text without it");
    return false;
}

/* The SVG that `dot` makes of the text. The text goes through a file, so that neither waits for the
 * other. */
static bool run_dot(struct session *s, const struct buf *text, struct buf *out)
{
    char *argv[] = {(char *)"dot", (char *)"-Tsvg", NULL}, part[4096];
    int back[2], status = 0;
    pid_t child;
    FILE *in = tmpfile();
    if (!in) return no_dot(s, errno);
    if (fwrite(text->at, 1, text->n, in) != text->n || fflush(in) != 0 || pipe(back) != 0) {
        int error = errno;
        fclose(in);
        return no_dot(s, error);
    }
    rewind(in);
    posix_spawn_file_actions_t acts;
    posix_spawn_file_actions_init(&acts);
    posix_spawn_file_actions_adddup2(&acts, fileno(in), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&acts, back[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&acts, back[0]);
    int error = posix_spawnp(&child, argv[0], &acts, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&acts);
    close(back[1]);
    fclose(in);
    for (ssize_t got; !error && (got = read(back[0], part, sizeof part)) != 0;) {
        if (got > 0) buf_put(out, part, (size_t)got);
        if (got < 0 && errno != EINTR) break;
    }
    close(back[0]);
    if (error) return no_dot(s, error);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && out->n) return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return no_dot(s, ENOENT);
    diag(s, DIAG_file, NO_SPAN, "'dot -Tsvg' failed with %s %d",
         WIFEXITED(status) ? "exit status" : "signal",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return false;
}

int cmd_graph(struct session *s, const struct options *o)
{
    struct target t;
    struct gpu_search search = driver_search(o);
    if (o->operands.n != 1 || (o->dot && o->svg)) {
        diag(s, DIAG_usage, NO_SPAN,
             o->operands.n == 1 ? "--dot and --svg exclude each other" : "one FILE.fg is needed");
        return 0;
    }
    if (!target_load(s, o->target ? o->target : "nvidia-h200", &search, &t)) return 0;
    struct module *m = driver_module(s, o, o->operands.at[0], &t);
    struct buf dot = {0}, svg = {0};
    bool ok = m != NULL;
    buf_puts(&dot, "digraph fgc {\n  node [fontname=\"monospace\", fontsize=10];\n"
                   "  edge [fontname=\"monospace\", fontsize=9];\n");
    for (size_t i = 0; m && i < m->graphs.n; i++) ok = draw(s, m->graphs.at[i], i, &dot) && ok;
    buf_puts(&dot, "}\n");
    if (ok && o->svg) ok = run_dot(s, &dot, &svg);
    const struct buf *out = o->svg ? &svg : &dot;
    if (ok) fwrite(out->at, 1, out->n, stdout);
    buf_fini(&dot);
    buf_fini(&svg);
    return 0;
}
