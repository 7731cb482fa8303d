/* tokens: the filter between scanner and parser. Decides which line ends end a statement, which
 * words are keywords, closes what was left open, and limits nesting.
 *
 * Invariant: brackets reach the parser balanced, and a statement never runs on into the next one,
 * so that one slip costs one statement. */
#include "ast/front.h"

#include "ast/fg_parse.h"

static const struct {
    const char *word;
    int kind;
} keywords[] = {
    {"import", TOK_IMPORT},     {"graph", TOK_GRAPH},   {"fn", TOK_FN},
    {"epilogue", TOK_EPILOGUE}, {"const", TOK_CONST},   {"input", TOK_INPUT},
    {"output", TOK_OUTPUT},     {"scalar", TOK_SCALAR}, {"compute", TOK_COMPUTE},
    {"require", TOK_REQUIRE},   {"return", TOK_RETURN},
};

const char *front_keyword_near(const char *word, const int *expected, size_t n)
{
    const char *at[COUNT_OF(keywords)];
    size_t n_words = 0;
    for (size_t i = 0; i < COUNT_OF(keywords); i++)
        for (size_t k = 0; k < n; k++)
            if (expected[k] == keywords[i].kind) at[n_words++] = keywords[i].word;
    return closest_name(word, at, n_words);
}

static bool is_binary(int kind)
{
    switch (kind) {
    case TOK_CHAIN:
    case TOK_OR:
    case TOK_AND:
    case TOK_IN:
    case TOK_EQ:
    case TOK_NE:
    case TOK_LT:
    case TOK_LE:
    case TOK_GT:
    case TOK_GE:
    case TOK_PLUS:
    case TOK_MINUS:
    case TOK_TIMES:
    case TOK_SLASH:
    case TOK_FLOORDIV:
    case TOK_PERCENT: return true;
    default: return false;
    }
}

static bool ends_operand(int kind)
{
    switch (kind) {
    case TOK_NAME:
    case TOK_INT:
    case TOK_REAL:
    case TOK_STRING:
    case TOK_RPAREN:
    case TOK_RBRACKET:
    case TOK_UNDERSCORE:
    case TOK_ELLIPSIS:
    case TOK_FG_error: return true;
    default: return false;
    }
}

static bool continues(int kind)
{
    return is_binary(kind) || kind == TOK_COMMA || kind == TOK_ASSIGN || kind == TOK_COLON ||
           kind == TOK_NOT;
}

static bool at_statement_start(const struct front *f)
{
    return f->last == TOK_NL || f->last == TOK_LBRACE || f->last == 0;
}

static int keyword(struct front *f, const struct token *t)
{
    int after = front_raw(f, 1).kind;
    if (after == TOK_ASSIGN || after == TOK_COMMA || after == TOK_COLON) return TOK_NAME;
    for (size_t i = 0; i < COUNT_OF(keywords); i++)
        if (strcmp(t->text, keywords[i].word) == 0) return keywords[i].kind;
    if (f->body.end || after != TOK_NAME || front_raw(f, 2).kind != TOK_LPAREN) return TOK_NAME;
    /* Between bodies only a slip looks like this; taken for what it means, its body is read. */
    static const int callable[] = {TOK_GRAPH, TOK_FN, TOK_EPILOGUE};
    const char *near = front_keyword_near(t->text, callable, COUNT_OF(callable));
    if (!near) return TOK_NAME;
    struct diag *d = diag(f->session, DIAG_syntax, t->span,
                          "unexpected '%s', expected 'graph', 'fn' or 'epilogue'", t->text);
    diag_did_you_mean(f->session, d, t->span, near);
    for (size_t i = 0; i < COUNT_OF(keywords); i++)
        if (strcmp(near, keywords[i].word) == 0) return keywords[i].kind;
    return TOK_NAME;
}

static struct span gap(const struct front *f)
{
    return (struct span){f->last_span.end, f->last_span.end + 1};
}

static int closer(int opener)
{
    return opener == TOK_LPAREN ? TOK_RPAREN : TOK_RBRACKET;
}

static void enqueue(struct front *f, int kind)
{
    struct token t = {
        .kind = kind, .span = {f->last_span.end, f->last_span.end}, .column = UINT32_MAX};
    vec_push(f->scratch, &f->queue, t);
}

/* Closes brackets until `keep` are open, with one message for the innermost. */
static void close_to(struct front *f, size_t keep)
{
    struct open_bracket *b = &f->open.at[f->open.n - 1];
    const char *mark = b->kind == TOK_LPAREN ? ")" : "]";
    struct diag *d = diag(f->session, DIAG_syntax, gap(f), "missing '%s'", mark);
    diag_note(f->session, d, b->span, "to close this '%s'", b->kind == TOK_LPAREN ? "(" : "[");
    for (size_t i = f->open.n; i > keep; i--) enqueue(f, closer(f->open.at[i - 1].kind));
}

/* A line end: statement end, nothing, or the place where something is missing. True when the token
 * to hand out is in the queue or is a line end to hand out; false when it is to be dropped. */
static bool line_end_counts(struct front *f)
{
    if (at_statement_start(f)) return false;
    struct token next = front_raw(f, 1); /* the scanner gives no two line ends in a row */
    if (f->open.n) {
        bool ends = ends_operand(f->last);
        int after = next.kind == TOK_NAME ? front_raw(f, 2).kind : 0;
        if (!ends &&
            (after == TOK_NAME || after == TOK_COLON)) { /* never so in brackets: a statement */
            close_to(f, 0);
            return true;
        }
        if (!ends || (next.kind != TOK_NAME && next.kind != TOK_RBRACE && next.kind != 0))
            return false;
        if (next.kind == TOK_NAME && next.column != UINT32_MAX &&
            next.column > f->statement_column) {
            diag(f->session, DIAG_syntax, gap(f), "missing ','");
            enqueue(f, TOK_COMMA);
            return false;
        }
        close_to(f, 0);
        return true;
    }
    if (continues(f->last)) {
        if (next.kind != TOK_NAME || f->last == TOK_COMMA || f->last == TOK_COLON) return false;
        int after = front_raw(f, 2).kind; /* what cannot go on an expression begins a statement */
        return after == TOK_ASSIGN || after == TOK_NAME || after == TOK_COLON;
    }
    return next.kind != TOK_LBRACE && !is_binary(next.kind);
}

static void too_deep(struct front *f, struct span at)
{
    front_too_deep(f, at);
    f->given_up = f->stop = true;
}

/* Counts nesting: brackets, and runs of prefix '-' and 'not'. */
static void count(struct front *f, const struct token *t)
{
    bool prefix = t->kind == TOK_NOT || (t->kind == TOK_MINUS && !ends_operand(f->last));
    if (prefix) {
        f->prefix++;
    } else if (t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET) {
        struct open_bracket b = {t->kind, t->span, f->prefix};
        vec_push(f->arena, &f->open, b);
        f->depth += f->prefix + 1;
        f->prefix = 0;
    } else if ((t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET) && f->open.n) {
        f->open.n--;
        f->depth -= f->open.at[f->open.n].prefix + 1;
        f->prefix = 0;
    } else {
        f->prefix = 0;
    }
    if (f->depth + f->prefix > MAX_NESTING && !f->given_up) too_deep(f, t->span);
}

/* A closer of the wrong kind: the missing ones are put before it when an outer bracket matches,
 * else it is read as the right one. */
static int fix_closer(struct front *f, const struct token *t)
{
    if (f->open.n == 0 || closer(f->open.at[f->open.n - 1].kind) == t->kind) return t->kind;
    for (size_t i = f->open.n; i > 0; i--)
        if (closer(f->open.at[i - 1].kind) == t->kind) {
            close_to(f, i);
            return -1;
        }
    struct open_bracket *b = &f->open.at[f->open.n - 1];
    const char *right = b->kind == TOK_LPAREN ? ")" : "]";
    struct diag *d = diag(f->session, DIAG_syntax, t->span, "expected '%s'", right);
    diag_note(f->session, d, b->span, "to close this '%s'", b->kind == TOK_LPAREN ? "(" : "[");
    return closer(b->kind);
}

static bool starts_callable(int kind)
{
    return kind == TOK_GRAPH || kind == TOK_FN || kind == TOK_EPILOGUE;
}

/* The file ends, or a graph or function begins, inside of a body: bodies do not nest. */
static void close_body(struct front *f, const struct token *t)
{
    struct diag *d = t->kind ? diag(f->session, DIAG_syntax, t->span, "missing '}' before this")
                             : diag(f->session, DIAG_syntax, gap(f),
                                    "missing '}' at the end of the file");
    diag_note(f->session, d, f->body, "to close this '{'");
    enqueue(f, TOK_RBRACE);
    enqueue(f, TOK_NL);
    f->body = NO_SPAN;
}

static struct token pull(struct front *f)
{
    for (;;) {
        if (f->queue_next < f->queue.n) return f->queue.at[f->queue_next++];
        f->queue.n = f->queue_next = 0;
        if (f->given_up) f->tokens.n = f->next; /* what was scanned ahead is not read either */
        struct token t = front_raw(f, 0);
        bool stops = t.kind == TOK_RBRACE || t.kind == 0;
        if (t.kind == TOK_NL) {
            bool counts = line_end_counts(f);
            if (f->queue.n) { /* what is missing goes first; the line end is looked at again */
                if (!counts) f->next++;
                continue;
            }
            f->next++;
            if (!counts) continue;
            t.span = (struct span){f->last_span.end, f->last_span.end}; /* before a comment, too */
            return t;
        }
        if (stops && f->open.n && !f->given_up) {
            close_to(f, 0);
            continue;
        }
        if (stops && !at_statement_start(f) && !(t.kind == 0 && f->given_up && f->last == TOK_NL)) {
            t.kind = TOK_NL;
            t.span = (struct span){f->last_span.end, f->last_span.end};
            return t;
        }
        if (t.kind == TOK_RPAREN || t.kind == TOK_RBRACKET) {
            t.kind = fix_closer(f, &t);
            if (t.kind < 0) continue;
        }
        if (t.kind == TOK_NAME && at_statement_start(f)) t.kind = keyword(f, &t);
        if (t.kind == TOK_LBRACE) f->body = t.span;
        if (t.kind == TOK_RBRACE) f->body = NO_SPAN;
        if (f->body.end && !f->given_up &&
            (t.kind == 0 || (starts_callable(t.kind) && front_raw(f, 2).kind == TOK_LPAREN))) {
            close_body(f, &t);
            continue;
        }
        if (at_statement_start(f)) f->first = t;
        if (at_statement_start(f) && t.column != UINT32_MAX) f->statement_column = t.column;
        if (t.kind != 0) f->next++;
        return t;
    }
}

int fg_lex(FG_STYPE *value, FG_LTYPE *at, struct front *front)
{
    struct token t = pull(front);
    count(front, &t);
    if (front->given_up && t.kind != 0 && t.kind != TOK_NL) {
        t.kind = TOK_NL;
        front->open.n = 0;
    }
    front->last = t.kind;
    front->last_span = t.span;
    *at = t.span;
    if (t.kind == TOK_NAME)
        value->TOK_NAME = t.text;
    else if (t.kind == TOK_STRING)
        value->TOK_STRING = t.text;
    else if (t.kind == TOK_INT)
        value->TOK_INT = (struct literal){t.text, t.i, 0};
    else if (t.kind == TOK_REAL)
        value->TOK_REAL = (struct literal){t.text, 0, t.r};
    return t.kind;
}
