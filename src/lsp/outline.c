/* outline: the tokens of a text and the names it declares, by the first words of its statements.
 *
 * Invariant: works on any bytes; a bracket left open ends where a line begins that is a statement
 * and stands no deeper than the one it interrupts. The parser, which must refuse what is not fg,
 * gives up such statements whole; whoever types one still wants the names around it. */
#include "lsp/internal.h"

#include <ctype.h>

const char *const decl_words[N_DECL_KINDS] = {
    [DECL_PARAM] = "parameter", [DECL_CONST] = "const",       [DECL_INPUT] = "input",
    [DECL_SCALAR] = "scalar",   [DECL_OUTPUT] = "output",     [DECL_BINDING] = "",
    [DECL_FN] = "fn",           [DECL_EPILOGUE] = "epilogue", [DECL_GRAPH] = "graph",
    [DECL_IMPORT] = "import",
};

/* ---- tokens ------------------------------------------------------------------------------ */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static uint32_t token_end(const char *p, uint32_t i, uint32_t n, enum token_kind *kind)
{
    static const char *const pairs[] = {"|>", "==", "!=", "<=", ">=", "//"};
    uint32_t k = i + 1;
    *kind = TOKEN_SIGN;
    if (p[i] == '#' || p[i] == '"') {
        *kind = p[i] == '#' ? TOKEN_COMMENT : TOKEN_STRING;
        while (k < n && p[k] != '\n' && p[k] != '\r' && (p[i] == '#' || p[k] != '"'))
            k += p[i] == '"' && p[k] == '\\' && k + 1 < n && p[k + 1] != '\n' ? 2 : 1;
        return k < n && p[i] == '"' && p[k] == '"' ? k + 1 : k < n ? k : n;
    }
    if (is_name(p[i])) {
        bool number = isdigit((unsigned char)p[i]) != 0;
        *kind = number ? TOKEN_NUMBER : TOKEN_NAME;
        while (k < n &&
               (is_name(p[k]) ||
                (number &&
                 ((p[k] == '.' && k + 1 < n && isdigit((unsigned char)p[k + 1])) ||
                  ((p[k] == '-' || p[k] == '+') && (p[k - 1] | 32) == 'e' && p[i + 1] != 'x')))))
            k++;
        return k;
    }
    for (size_t j = 0; k < n && j < COUNT_OF(pairs); j++)
        if (p[i] == pairs[j][0] && p[k] == pairs[j][1]) return k + 1;
    return k;
}

static void make_tokens(struct outline *o)
{
    bool first = true;
    for (uint32_t i = 0; i < o->len;) {
        char c = o->text[i];
        if (c == '\n' || c == '\r') first = true;
        if (isspace((unsigned char)c)) {
            i++;
            continue;
        }
        struct lexeme t = {.begin = i, .first = first};
        t.end = i = token_end(o->text, i, o->len, &t.kind);
        if (t.kind == TOKEN_COMMENT)
            vec_push(o->a, &o->comments, t);
        else
            vec_push(o->a, &o->tokens, t);
        first = false;
    }
}

bool lexeme_is(const struct outline *o, const struct lexeme *t, const char *word)
{
    size_t n = strlen(word);
    return t->end - t->begin == n && memcmp(o->text + t->begin, word, n) == 0;
}

const char *lexeme_text(const struct outline *o, const struct lexeme *t)
{
    return arena_strndup(o->a, o->text + t->begin, t->end - t->begin);
}

size_t outline_token(const struct outline *o, uint32_t offset)
{
    size_t lo = 0, hi = o->tokens.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (o->tokens.at[mid].end <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* ---- statements -------------------------------------------------------------------------- */

struct reader {
    struct outline *o;
    size_t i;        /* the token at hand */
    int item;        /* the item whose body is open, -1 outside */
    uint32_t column; /* of the statement at hand */
    int depth;       /* open ( and [ */
    bool body;       /* '{' was seen */
};

static bool is(const struct reader *r, size_t i, const char *word)
{
    return i < r->o->tokens.n && lexeme_is(r->o, &r->o->tokens.at[i], word);
}

static bool name_at(const struct reader *r, size_t i)
{
    return i < r->o->tokens.n && r->o->tokens.at[i].kind == TOKEN_NAME;
}

static uint32_t column_of(const struct outline *o, uint32_t at)
{
    uint32_t from = at;
    while (from > 0 && o->text[from - 1] != '\n' && o->text[from - 1] != '\r') from--;
    return at - from;
}

static enum decl_kind keyword(const struct reader *r, size_t i, bool body)
{
    static const enum decl_kind own[] = {DECL_CONST, DECL_INPUT, DECL_SCALAR, DECL_OUTPUT},
                                of_file[] = {DECL_CONST, DECL_FN, DECL_EPILOGUE, DECL_GRAPH,
                                             DECL_IMPORT};
    const enum decl_kind *list = body ? own : of_file;
    size_t n = body ? COUNT_OF(own) : COUNT_OF(of_file);
    bool followed = name_at(r, i + 1) && !r->o->tokens.at[i + 1].first;
    if (!body && i + 1 < r->o->tokens.n && r->o->tokens.at[i + 1].kind == TOKEN_STRING)
        followed = true;
    for (size_t k = 0; followed && k < n; k++)
        if (is(r, i, decl_words[list[k]])) return list[k];
    return N_DECL_KINDS;
}

/* Is this line's first token that of a binding: a, _ = ... or a : T = ...? */
static bool binds(const struct reader *r, size_t i)
{
    while (name_at(r, i) && is(r, i + 1, ",") && !r->o->tokens.at[i + 1].first) i += 2;
    return name_at(r, i) && (is(r, i + 1, "=") || is(r, i + 1, ":")) &&
           !r->o->tokens.at[i + 1].first;
}

static bool plain_keyword(const struct reader *r, size_t i)
{
    return (is(r, i, "compute") || is(r, i, "require") || is(r, i, "return")) && !binds(r, i);
}

/* Does a statement begin at token i although brackets are open? */
static bool interrupts(const struct reader *r, size_t i)
{
    const struct lexeme *t = &r->o->tokens.at[i];
    if (!t->first) return false;
    if (keyword(r, i, false) != N_DECL_KINDS && column_of(r->o, t->begin) == 0) return true;
    if (!r->body || column_of(r->o, t->begin) > r->column) return false;
    return keyword(r, i, true) != N_DECL_KINDS || binds(r, i) || plain_keyword(r, i) ||
           is(r, i, "}");
}

static void add(struct reader *r, enum decl_kind kind, size_t i, size_t first)
{
    const struct lexeme *t = &r->o->tokens.at[i];
    struct decl d = {.kind = kind,
                     .name = lexeme_text(r->o, t),
                     .begin = t->begin,
                     .end = t->end,
                     .from = r->o->tokens.at[first].begin,
                     .to = t->end,
                     .head = t->end,
                     .item = r->item};
    vec_push(r->o->a, &r->o->decls, d);
}

/* name, name : ... or name, _ = ... */
static void add_names(struct reader *r, enum decl_kind kind, size_t i, size_t first)
{
    for (;; i += 2) {
        if (!name_at(r, i)) return;
        if (!is(r, i, "_")) add(r, kind, i, first);
        if (!is(r, i + 1, ",")) return;
    }
}

/* Skips to the end of the statement at hand: a line's first token with all brackets closed, that
 * does not go on with it. */
static void skip_statement(struct reader *r)
{
    static const char *const goes_on[] = {"|>", "{", "+",  "-", "*",  "/",   "//", "%", "==",
                                          "!=", "<", "<=", ">", ">=", "and", "or", "in"};
    static const char *const open_end[] = {",",  "=", ":",  "not", "|>", "+",  "-",
                                           "*",  "/", "//", "%",   "==", "!=", "<",
                                           "<=", ">", ">=", "and", "or", "in"};
    r->depth = 0;
    for (size_t from = r->i++; r->i < r->o->tokens.n; r->i++) {
        const struct lexeme *t = &r->o->tokens.at[r->i];
        if (r->depth > 0 && interrupts(r, r->i)) return;
        if (r->depth == 0 && t->first) {
            bool more = false;
            for (size_t k = 0; k < COUNT_OF(goes_on); k++) more |= is(r, r->i, goes_on[k]);
            for (size_t k = 0; k < COUNT_OF(open_end); k++)
                more |= r->i > from && is(r, r->i - 1, open_end[k]) && !interrupts(r, r->i);
            if (!more) return;
        }
        if (is(r, r->i, "(") || is(r, r->i, "[")) r->depth++;
        if ((is(r, r->i, ")") || is(r, r->i, "]")) && r->depth > 0) r->depth--;
        if (is(r, r->i, "{") || is(r, r->i, "}")) return;
    }
}

static void end_declarations(struct reader *r, size_t from_decl, size_t from_token)
{
    struct outline *o = r->o;
    uint32_t to = r->i > from_token ? o->tokens.at[r->i - 1].end : o->tokens.at[from_token].end;
    for (size_t k = from_decl; k < o->decls.n; k++) o->decls.at[k].to = to;
}

static void statement(struct reader *r)
{
    size_t first = r->i, before = r->o->decls.n;
    r->column = column_of(r->o, r->o->tokens.at[first].begin);
    vec_push(r->o->a, &r->o->statements, (uint32_t)first);
    enum decl_kind kind = keyword(r, first, true);
    if (kind != N_DECL_KINDS && !binds(r, first))
        add_names(r, kind, first + 1, first);
    else if (!plain_keyword(r, first) && binds(r, first))
        add_names(r, DECL_BINDING, first, first);
    skip_statement(r);
    end_declarations(r, before, first);
}

static void close_item(struct reader *r, uint32_t end)
{
    if (r->item >= 0) r->o->decls.at[r->item].to = end;
    r->item = -1;
    r->body = false;
}

/* graph NAME(params) up to its '{', which may be missing. */
static void head(struct reader *r, enum decl_kind kind)
{
    size_t first = r->i;
    r->item = -1;
    add(r, kind, first + 1, first);
    r->item = (int)r->o->decls.n - 1;
    r->column = 0;
    int depth = 0;
    for (r->i += 2; r->i < r->o->tokens.n; r->i++) {
        if (is(r, r->i, "{")) break;
        if (r->o->tokens.at[r->i].first && (depth == 0 || interrupts(r, r->i))) break;
        bool start = depth == 1 && (is(r, r->i - 1, "(") || is(r, r->i - 1, ","));
        if (depth == 1 && (is(r, r->i, ",") || is(r, r->i, ")")) && !start)
            r->o->decls.at[r->o->decls.n - 1].to = r->o->tokens.at[r->i - 1].end;
        if (start && name_at(r, r->i)) add(r, DECL_PARAM, r->i, r->i);
        if (is(r, r->i, "(") || is(r, r->i, "[")) depth++;
        if (is(r, r->i, ")") || is(r, r->i, "]")) depth--;
    }
    struct decl *d = &r->o->decls.at[r->item];
    d->head = d->to = r->o->tokens.at[r->i - 1].end;
    r->body = is(r, r->i, "{");
    if (r->body)
        r->i++;
    else
        close_item(r, d->head);
}

/* import std.act or import "x.fg": the name is the path's last word, or the string. */
static void import(struct reader *r)
{
    size_t first = r->i, name = first + 1;
    while (name_at(r, name) && is(r, name + 1, ".") && name_at(r, name + 2) &&
           !r->o->tokens.at[name + 2].first)
        name += 2;
    add(r, DECL_IMPORT, name, first);
    for (r->i = name + 1; r->i < r->o->tokens.n && !r->o->tokens.at[r->i].first;) r->i++;
}

void outline_make(struct outline *o, struct arena *a, const char *text, size_t len)
{
    *o = (struct outline){.a = a, .text = text, .len = (uint32_t)len};
    make_tokens(o);
    struct reader r = {.o = o, .item = -1};
    while (r.i < o->tokens.n) {
        enum decl_kind kind = keyword(&r, r.i, false);
        bool own_line = o->tokens.at[r.i].first;
        bool top = own_line && kind != N_DECL_KINDS && kind != DECL_CONST &&
                   (!r.body || column_of(o, o->tokens.at[r.i].begin) == 0);
        if (top) {
            if (r.body) close_item(&r, o->tokens.at[r.i - 1].end);
            vec_push(o->a, &o->statements, (uint32_t)r.i);
            if (kind == DECL_IMPORT)
                import(&r);
            else
                head(&r, kind);
        } else if (is(&r, r.i, "}")) {
            close_item(&r, o->tokens.at[r.i].end);
            r.i++;
        } else {
            statement(&r);
        }
    }
    if (r.body) close_item(&r, o->len);
}

/* ---- what a name means ------------------------------------------------------------------- */

int outline_item(const struct outline *o, uint32_t offset)
{
    int found = -1;
    for (size_t i = 0; i < o->decls.n && o->decls.at[i].from <= offset; i++)
        if (o->decls.at[i].item < 0) {
            enum decl_kind k = o->decls.at[i].kind;
            bool item = k == DECL_FN || k == DECL_EPILOGUE || k == DECL_GRAPH;
            found = item && offset <= o->decls.at[i].to ? (int)i : -1;
        }
    return found;
}

const struct decl *outline_find(const struct outline *o, const char *name, uint32_t offset)
{
    int item = outline_item(o, offset);
    const struct decl *of_file = NULL;
    for (size_t i = 0; i < o->decls.n; i++) {
        const struct decl *d = &o->decls.at[i];
        if (strcmp(d->name, name) != 0 || d->kind == DECL_IMPORT) continue;
        if (d->item == item && item >= 0) return d;
        if (d->item < 0 && !of_file) of_file = d;
    }
    return of_file;
}

/* ---- documentation ----------------------------------------------------------------------- */

static void add_comment(const struct outline *o, const struct lexeme *c, struct buf *b)
{
    uint32_t from = c->begin + 1, to = c->end;
    if (from < to && o->text[from] == ' ') from++;
    while (to > from && isspace((unsigned char)o->text[to - 1])) to--;
    if (b->n) buf_puts(b, "\n");
    buf_put(b, o->text + from, to - from);
}

/* Line ends between two offsets. */
static int lines_between(const struct outline *o, uint32_t from, uint32_t to)
{
    int n = 0;
    for (uint32_t i = from; i < to; i++)
        if (o->text[i] == '\n' ||
            (o->text[i] == '\r' && (i + 1 == o->len || o->text[i + 1] != '\n')))
            n++;
    return n;
}

const char *outline_doc(const struct outline *o, const struct decl *d)
{
    struct buf b = {0};
    size_t above = 0;
    if (d->kind == DECL_PARAM) return NULL; /* what stands above is its function's */
    while (above < o->comments.n && o->comments.at[above].begin < d->from) above++;
    size_t from = above;
    uint32_t next = d->from;
    while (from > 0 && o->comments.at[from - 1].first &&
           lines_between(o, o->comments.at[from - 1].end, next) == 1)
        next = o->comments.at[--from].begin;
    for (; from < above; from++) add_comment(o, &o->comments.at[from], &b);
    for (size_t i = above; i < o->comments.n; i++) {
        const struct lexeme *c = &o->comments.at[i];
        if (lines_between(o, d->begin, c->begin) > 0) break;
        if (!c->first) add_comment(o, c, &b);
    }
    const char *text = b.n ? arena_strdup(o->a, b.at) : NULL;
    buf_fini(&b);
    return text;
}
