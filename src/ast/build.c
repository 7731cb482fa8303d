/* build: the node builders that grammar actions call; each makes one node and checks nothing.
 *
 * Invariant: nodes and what they hold live in the session's arena; the lists that carry parts from
 * one action to the next live in the scratch arena, and only their storage outlives parsing. */
#include "ast/front.h"

struct names *ast_name(struct front *f, struct names *l, const char *text, struct span at)
{
    if (!l) l = NEW(f->scratch, struct names);
    vec_push(f->arena, &l->v, ((struct name){text, at}));
    return l;
}

struct params *ast_param(struct front *f, struct params *l, struct param p)
{
    if (!l) l = NEW(f->scratch, struct params);
    vec_push(f->arena, &l->v, p);
    return l;
}

struct exprs *ast_expr_add(struct front *f, struct exprs *l, struct expr *e)
{
    if (!l) l = NEW(f->scratch, struct exprs);
    vec_push(f->arena, &l->v, e);
    return l;
}

struct args *ast_arg(struct front *f, struct args *l, struct arg a)
{
    if (!l) l = NEW(f->scratch, struct args);
    vec_push(f->arena, &l->v, a);
    return l;
}

struct stmts *ast_stmts(struct front *f)
{
    return NEW(f->scratch, struct stmts);
}

struct stmts *ast_stmt_add(struct front *f, struct stmts *l, struct stmt *s)
{
    vec_push(f->arena, &l->v, s);
    return l;
}

/* ---- items ------------------------------------------------------------------------------- */

static struct item *item(struct front *f, enum item_kind kind, struct span at)
{
    struct item *i = NEW(f->arena, struct item);
    i->kind = kind;
    i->span = at;
    vec_push(f->arena, &f->ast->items, i);
    return i;
}

void ast_import_path(struct front *f, struct span at, struct names *path)
{
    item(f, ITEM_IMPORT, at)->import_path = path->v;
}

void ast_import_file(struct front *f, struct span at, const char *file)
{
    item(f, ITEM_IMPORT, at)->import_file = file;
}

void ast_const_item(struct front *f, struct span at, const char *name, struct span name_at,
                    struct expr *e)
{
    struct item *i = item(f, ITEM_CONST, at);
    i->name = (struct name){name, name_at};
    i->value = e;
}

void ast_item(struct front *f, enum item_kind kind, struct span at, const char *name,
              struct span name_at, struct params *p, struct span body_at, struct stmts *body)
{
    struct item *i = item(f, kind, at);
    i->name = (struct name){name, name_at};
    i->head = (struct span){at.begin, body_at.begin + 1};
    for (size_t k = 0; p && k < p->v.n; k++) vec_push(f->arena, &i->params, p->v.at[k]);
    for (size_t k = 0; k < body->v.n; k++) vec_push(f->arena, &i->body, body->v.at[k]);
}

void ast_error_item(struct front *f, struct span at)
{
    item(f, ITEM_ERROR, at);
}

/* ---- statements -------------------------------------------------------------------------- */

struct stmt *ast_declare(struct front *f, enum stmt_kind kind, struct span at, struct names *names,
                         struct type_expr *type, struct expr *value)
{
    struct stmt *s = NEW(f->arena, struct stmt);
    s->kind = kind;
    s->span = at;
    if (names) s->names = names->v;
    s->type = type;
    s->value = value;
    return s;
}

struct stmt *ast_return(struct front *f, struct span at, struct exprs *results)
{
    struct stmt *s = ast_declare(f, STMT_RETURN, at, NULL, NULL, NULL);
    s->results = results->v;
    return s;
}

struct stmt *ast_error_stmt(struct front *f, struct span at)
{
    return ast_declare(f, STMT_ERROR, at, NULL, NULL, NULL);
}

/* ---- types ------------------------------------------------------------------------------- */

struct type_expr *ast_type(struct front *f, const char *name, struct span at)
{
    struct type_expr *t = NEW(f->arena, struct type_expr);
    t->elem = (struct name){name, at};
    t->span = at;
    return t;
}

struct type_expr *ast_type_end(struct type_expr *t, const struct type_expr *dims,
                               const struct type_expr *clauses, struct span at)
{
    if (dims) {
        t->has_brackets = true;
        t->infer_all = dims->infer_all;
        t->dims = dims->dims;
        memcpy(&t->dim_spans, &dims->dim_spans, sizeof t->dim_spans);
    }
    if (clauses) memcpy(&t->clauses, &clauses->clauses, sizeof t->clauses);
    t->span = at;
    return t;
}

struct type_expr *ast_dims_all(struct front *f)
{
    struct type_expr *t = NEW(f->arena, struct type_expr);
    t->infer_all = true;
    return t;
}

struct type_expr *ast_dim(struct front *f, struct type_expr *l, struct expr *e, struct span at)
{
    if (!l) l = NEW(f->arena, struct type_expr);
    vec_push(f->arena, &l->dims, e);
    vec_push(f->arena, &l->dim_spans, at);
    return l;
}

struct type_expr *ast_clause(struct front *f, struct type_expr *l, struct clause c)
{
    if (!l) l = NEW(f->arena, struct type_expr);
    vec_push(f->arena, &l->clauses, c);
    return l;
}

struct clause ast_clause_make(const char *name, struct span name_at, bool parens,
                              const struct args *args, struct span at)
{
    struct clause c = {.name = {name, name_at}, .has_parens = parens, .span = at};
    if (args) c.args = args->v;
    return c;
}

/* ---- expressions ------------------------------------------------------------------------- */

static struct expr *expr(struct front *f, enum expr_kind kind, struct span at)
{
    struct expr *e = NEW(f->arena, struct expr);
    e->kind = kind;
    e->span = at;
    return e;
}

struct expr *ast_chain(struct front *f, struct span at, struct expr *left, struct span op,
                       const struct names *path, bool parens, const struct args *args)
{
    struct expr *e = expr(f, EXPR_CHAIN, at);
    e->left = left;
    e->op_span = op;
    e->path = path->v;
    e->has_parens = parens;
    if (args) e->args = args->v;
    return e;
}

struct expr *ast_binary(struct front *f, struct span at, enum ast_op op, struct span op_at,
                        struct expr *left, struct expr *right)
{
    struct expr *e = expr(f, EXPR_BINARY, at);
    e->op = op;
    e->op_span = op_at;
    e->left = left;
    e->right = right;
    return e;
}

struct expr *ast_unary(struct front *f, struct span at, enum ast_op op, struct span op_at,
                       struct expr *right)
{
    struct expr *e = expr(f, EXPR_UNARY, at);
    e->op = op;
    e->op_span = op_at;
    e->right = right;
    return e;
}

struct expr *ast_in(struct front *f, struct span at, struct span op_at, struct expr *left,
                    struct expr *list)
{
    struct expr *e = expr(f, EXPR_IN, at);
    e->op_span = op_at;
    e->left = left;
    e->right = list;
    return e;
}

struct expr *ast_path(struct front *f, struct span at, const struct names *path)
{
    struct expr *e = expr(f, EXPR_NAME, at);
    e->path = path->v;
    return e;
}

struct expr *ast_call(struct front *f, struct span at, const struct names *path,
                      const struct args *args)
{
    struct expr *e = expr(f, EXPR_CALL, at);
    e->path = path->v;
    e->has_parens = true;
    if (args) e->args = args->v;
    return e;
}

struct expr *ast_int(struct front *f, struct span at, struct literal v)
{
    struct expr *e = expr(f, EXPR_INT, at);
    e->i = v.i;
    e->literal = v.text;
    return e;
}

struct expr *ast_real(struct front *f, struct span at, struct literal v)
{
    struct expr *e = expr(f, EXPR_REAL, at);
    e->r = v.r;
    e->literal = v.text;
    return e;
}

struct expr *ast_list(struct front *f, struct span at, const struct exprs *items)
{
    struct expr *e = expr(f, EXPR_LIST, at);
    if (items) e->items = items->v;
    return e;
}

struct expr *ast_unread(struct front *f, struct span at)
{
    return expr(f, EXPR_ERROR, at);
}

struct expr *ast_paren(struct front *f, struct span at, struct expr *inner)
{
    struct expr *e = expr(f, EXPR_PAREN, at);
    e->right = inner;
    return e;
}
