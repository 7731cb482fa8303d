/* parse: a source to its tree: scans, checks the version, runs the parser, attaches documentation.
 *
 * Invariant: always yields a tree; what could not be read is an ERROR node and a diagnostic. */
#include "ast/front.h"

#include <inttypes.h>

#include "ast/fg_parse.h"

/* ---- messages ---------------------------------------------------------------------------- */

void front_too_deep(struct front *f, struct span at)
{
    diag(f->session, DIAG_nesting, at,
         "nested more than %d levels deep; nothing after this is read", MAX_NESTING);
}

static bool has(const int *set, size_t n, int symbol)
{
    for (size_t i = 0; i < n; i++)
        if (set[i] == symbol) return true;
    return false;
}

/* "an expression" stands for its many first tokens, "an operator" for the binary ones, "a
 * statement" and "a declaration" for the words that begin one. */
static void describe(const int *expected, size_t n, struct buf *out)
{
    static const int starts[] = {TOK_NAME,     TOK_INT,   TOK_REAL, TOK_LPAREN,
                                 TOK_LBRACKET, TOK_MINUS, TOK_NOT};
    static const int binary[] = {TOK_CHAIN,    TOK_OR,   TOK_AND,   TOK_IN,    TOK_EQ,
                                 TOK_NE,       TOK_LE,   TOK_GE,    TOK_LT,    TOK_GT,
                                 TOK_FLOORDIV, TOK_PLUS, TOK_MINUS, TOK_TIMES, TOK_SLASH,
                                 TOK_PERCENT,  TOK_DOT};
    if (has(expected, n, TOK_RETURN) || has(expected, n, TOK_GRAPH)) {
        buf_puts(out, has(expected, n, TOK_RETURN)
                          ? ", expected a statement or '}'"
                          : ", expected 'graph', 'fn', 'epilogue', 'const' or 'import'");
        return;
    }
    const char *words[128];
    int n_words = 0;
    bool expression = has(expected, n, TOK_INT) && has(expected, n, TOK_LPAREN);
    bool infix = has(expected, n, TOK_CHAIN) || has(expected, n, TOK_TIMES);
    if (expression) words[n_words++] = "an expression";
    for (size_t i = 0; i < n; i++) {
        bool folded = (expression && has(starts, COUNT_OF(starts), expected[i])) ||
                      (infix &&
                       (has(binary, COUNT_OF(binary), expected[i]) || expected[i] == TOK_LPAREN));
        if (!folded && n_words < 127) words[n_words++] = front_symbol_name(expected[i]);
    }
    if (infix && n_words < 4) words[n_words++] = "an operator";
    if (n_words == 0 || n_words > 5) return;
    buf_puts(out, ", expected ");
    for (int i = 0; i < n_words; i++)
        buf_printf(out, "%s%s", i == 0 ? "" : i + 1 == n_words ? " or " : ", ", words[i]);
}

static void describe_found(const struct front *f, struct span at, int found, struct buf *out)
{
    const char *text = f->source->text + (at.begin - f->source->base);
    if (found == TOK_NAME || found == TOK_INT || found == TOK_REAL)
        buf_printf(out, "unexpected '%.*s'", (int)(at.end - at.begin), text);
    else if (found == TOK_STRING)
        buf_puts(out, "unexpected string");
    else
        buf_printf(out, "unexpected %s", found <= 0 ? "end of file" : front_symbol_name(found));
}

/* A slip in the word that begins a statement or an item, or in one that joins two operands. */
static void hint_keyword(struct front *f, struct diag *d, struct span at, int found,
                         const int *expected, size_t n)
{
    static const int words[] = {TOK_INPUT,   TOK_OUTPUT,  TOK_SCALAR, TOK_CONST,
                                TOK_COMPUTE, TOK_REQUIRE, TOK_RETURN};
    static const char *const joining[] = {"and", "or", "in"};
    const char *near = NULL;
    if (found == TOK_NAME && has(expected, n, TOK_GRAPH))
        near = front_keyword_near(f->first.text, expected, n);
    else if (f->first.kind == TOK_NAME && f->first.span.end <= at.begin &&
             has(expected, n, TOK_ASSIGN) && has(expected, n, TOK_COLON)) /* one name was read */
        near = front_keyword_near(f->first.text, words, COUNT_OF(words));
    if (near) diag_did_you_mean(f->session, d, f->first.span, near);
    if (near || found != TOK_NAME || !has(expected, n, TOK_AND) || at.end - at.begin < 3) return;
    const char *text = f->source->text + (at.begin - f->source->base);
    const char *word = arena_strndup(f->scratch, text, at.end - at.begin);
    diag_did_you_mean(f->session, d, at, closest_name(word, joining, COUNT_OF(joining)));
}

void front_unexpected(struct front *f, struct span at, int found, const int *expected, size_t n)
{
    static const int compare[] = {TOK_EQ, TOK_NE, TOK_LE, TOK_GE, TOK_LT, TOK_GT, TOK_IN};
    static const int arithmetic[] = {TOK_PLUS,     TOK_MINUS,   TOK_TIMES, TOK_SLASH,
                                     TOK_FLOORDIV, TOK_PERCENT, TOK_AND,   TOK_OR};
    if (f->given_up) return; /* the text was cut off; that was said */
    struct buf text = {0};
    describe_found(f, at, found, &text);
    describe(expected, n, &text);
    if (at.end == at.begin) at.end++;
    struct diag *d = diag(f->session, DIAG_syntax, at, "%s", text.at);
    buf_fini(&text);
    hint_keyword(f, d, at, found, expected, n);
    if (found == TOK_STRING) diag_hint(f->session, d, "strings stand after 'import' only");
    if (found == TOK_LPAREN && has(expected, n, TOK_ASSIGN))
        diag_hint(f->session, d, "a call's result is bound to a name, y = f(x)");
    if (has(expected, n, TOK_INT) || !has(expected, n, TOK_CHAIN))
        return; /* not after an operand */
    if (has(compare, COUNT_OF(compare), found))
        diag_hint(f->session, d,
                  "comparisons do not chain; join them with 'and', or use parentheses");
    if (has(arithmetic, COUNT_OF(arithmetic), found))
        diag_hint(f->session, d,
                  "'|>' binds loosest: put the chain, or what follows it, in parentheses");
}

/* ---- version ----------------------------------------------------------------------------- */

/* `fg 1` and its line end. True when the rest is to be read. Nothing behind the version is scanned
 * before it was found to be 1. */
static bool check_version(struct front *f)
{
    while (front_raw(f, 0).kind == TOK_NL) f->next++;
    struct token fg = front_raw(f, 0);
    struct span start = {f->source->base, f->source->base + 1};
    if (fg.kind != TOK_NAME || strcmp(fg.text, "fg") != 0) {
        struct diag *d = diag(f->session, DIAG_language_version, fg.kind ? fg.span : start,
                              "the first statement of a file is 'fg 1'");
        diag_hint(f->session, d, "it names the version of the language the file is written for");
        return false;
    }
    struct token number = front_raw(f, 1);
    if (number.kind != TOK_INT) {
        bool there = number.kind != 0 && number.kind != TOK_NL;
        diag(f->session, DIAG_language_version, there ? number.span : fg.span,
             "'fg' needs a version, as in 'fg 1'");
        return false;
    }
    f->ast->version = number.i;
    if (number.i != 1) {
        diag(f->session, DIAG_language_version, number.span,
             "this file is written for fg %" PRId64 "; this fgc reads fg 1", number.i);
        return false;
    }
    f->next += 2;
    struct token after = front_raw(f, 0);
    if (after.kind == TOK_NL || after.kind == 0) return true;
    diag(f->session, DIAG_syntax, after.span, "'fg 1' stands on a line of its own");
    return true;
}

/* ---- documentation ------------------------------------------------------------------------ */

struct docs {
    const struct front *front;
    size_t next; /* first comment at or after the last declaration looked at */
};

/* Line ends between two offsets, counted up to 2. */
static int line_ends(const struct front *f, uint32_t from, uint32_t to)
{
    const char *text = f->source->text;
    from -= f->source->base;
    to -= f->source->base;
    int n = 0;
    for (uint32_t i = from; i < to && n < 2; i++)
        n += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
    return n;
}

/* True when none but these characters stand between two offsets. */
static bool only(const struct front *f, const char *these, uint32_t from, uint32_t to)
{
    const char *p = f->source->text + (from - f->source->base);
    while (from < to && *p && strchr(these, *p)) from++, p++;
    return from >= to;
}

/* A comment's text without '#', one blank and the line end. */
static void put_comment(const struct front *f, struct span c, struct buf *out)
{
    const char *p = f->source->text + (c.begin - f->source->base) + 1;
    size_t n = c.end - c.begin - 1;
    if (n && *p == ' ') p++, n--;
    if (out->n) buf_puts(out, "\n");
    buf_put(out, p, n);
}

/* The comment lines directly above `at`, those inside, and the one at the end of its last line. */
static const char *doc_of(struct docs *d, struct span at)
{
    const struct front *f = d->front;
    const struct comment *c = f->ast->comments.at;
    size_t n = f->ast->comments.n;
    while (d->next < n && c[d->next].span.begin < at.begin) d->next++;
    size_t first = d->next;
    uint32_t below = at.begin;
    while (first > 0 && c[first - 1].own_line && line_ends(f, c[first - 1].span.end, below) == 1 &&
           only(f, " \t\r\n", c[first - 1].span.end, below))
        below = c[--first].span.begin;
    size_t after = d->next;
    while (after < n && c[after].span.begin < at.end) after++;
    if (after < n && only(f, " \t}", at.end, c[after].span.begin)) after++;
    struct buf out = {0};
    for (size_t i = first; i < after; i++) put_comment(f, c[i].span, &out);
    const char *doc = out.n ? arena_strndup(f->arena, out.at, out.n) : NULL;
    buf_fini(&out);
    return doc;
}

static void attach_docs(struct front *f)
{
    struct docs d = {.front = f};
    for (size_t i = 0; i < f->ast->items.n; i++) {
        struct item *it = f->ast->items.at[i];
        if (it->kind == ITEM_ERROR) continue;
        it->doc = doc_of(&d, it->head.end ? it->head : it->span);
        for (size_t k = 0; k < it->body.n; k++) {
            struct stmt *s = it->body.at[k];
            if (s->kind == STMT_ERROR) continue;
            s->doc = doc_of(&d, s->span);
        }
    }
}

/* ---- entry ------------------------------------------------------------------------------- */

struct ast *ast_parse(struct session *s, struct source *src)
{
    struct front f = {
        .session = s, .arena = s->arena, .source = src, .underscore = intern_z(s, "_")};
    f.ast = NEW(s->arena, struct ast);
    f.ast->source = src;
    struct arena *scratch = arena_new(); /* tokens, and the text, which the scanner writes into */
    f.scratch = scratch;
    size_t bom = src->len >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    f.end = (uint32_t)bom;
    front_scan_open(&f, arena_copy(scratch, src->text + bom, src->len - bom + 2), src->len - bom);
    if (front_is_utf8(&f) && check_version(&f)) {
        uint32_t here = front_raw(&f, 0).span.begin;
        f.last = TOK_NL;
        f.last_span = (struct span){here, here};
        fg_parse(&f);
        attach_docs(&f);
    }
    front_scan_close(&f);
    arena_free(scratch);
    return f.ast;
}
