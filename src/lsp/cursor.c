/* cursor: what is being written at an offset: which word, in which kind of place, in which call.
 *
 * Invariant: looks only at the tokens from the start of the statement to the offset, and at the one
 * after the word, so unfinished text is no obstacle. */
#include "lsp/internal.h"

#include <ctype.h>

enum { MAX_FRAMES = 64 };

struct bracket {
    char sign;   /* ( or [ */
    size_t at;   /* its token */
    long callee; /* token of the name before it, -1: none */
    int commas;
    size_t part; /* first token after it or after the last comma */
};
struct walk {
    const struct outline *o;
    size_t first, word; /* tokens of the statement's start and of the word (or of what follows) */
    bool head;          /* the statement is an item's head, and its '{' was not passed */
    bool colon, equals; /* passed outside brackets */
    bool ended;         /* a '{' or '}' was passed last */
    int depth;
    struct bracket open[MAX_FRAMES];
};

static bool is(const struct walk *w, size_t i, const char *text)
{
    return i < w->o->tokens.n && lexeme_is(w->o, &w->o->tokens.at[i], text);
}

static bool name_at(const struct walk *w, size_t i)
{
    return i < w->o->tokens.n && w->o->tokens.at[i].kind == TOKEN_NAME;
}

static bool one_of(const struct walk *w, size_t i, const char *const *list, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (is(w, i, list[k])) return true;
    return false;
}

static const char *const item_words[] = {"graph", "fn", "epilogue"};
static const char *const typed_words[] = {"input", "output", "scalar"};
static const char *const reserved[] = {"and", "or", "not", "in"};

static void step(struct walk *w, size_t i)
{
    struct bracket *top = w->depth > 0 && w->depth <= MAX_FRAMES ? &w->open[w->depth - 1] : NULL;
    w->ended = false;
    if (is(w, i, "(") || is(w, i, "[")) {
        long callee = is(w, i, "(") && i > w->first && name_at(w, i - 1) &&
                              !one_of(w, i - 1, reserved, COUNT_OF(reserved))
                          ? (long)i - 1
                          : -1;
        if (w->depth < MAX_FRAMES)
            w->open[w->depth] = (struct bracket){w->o->text[w->o->tokens.at[i].begin], i, callee, 0,
                                                 i + 1};
        w->depth++;
    } else if (is(w, i, ")") || is(w, i, "]")) {
        if (w->depth > 0) w->depth--;
    } else if (is(w, i, "{") || is(w, i, "}")) {
        w->depth = 0;
        w->ended = true;
        w->head = w->colon = w->equals = false;
    } else if (is(w, i, ",") && top) {
        top->commas++;
        top->part = i + 1;
    } else if (w->depth == 0) {
        w->colon |= is(w, i, ":");
        w->equals |= is(w, i, "=");
    }
}

/* ---- the word ---------------------------------------------------------------------------- */

/* False inside comments and strings. */
static bool find_word(struct cursor *c, struct walk *w, uint32_t offset)
{
    const struct outline *o = w->o;
    for (size_t i = 0; i < o->comments.n && o->comments.at[i].begin < offset; i++)
        if (offset <= o->comments.at[i].end) return false;
    size_t i = outline_token(o, offset);
    if (i > 0 && o->tokens.at[i - 1].end == offset && o->tokens.at[i - 1].kind <= TOKEN_NUMBER &&
        !(i < o->tokens.n && o->tokens.at[i].begin == offset &&
          o->tokens.at[i].kind <= TOKEN_NUMBER))
        i--;
    const struct lexeme *t = i < o->tokens.n ? &o->tokens.at[i] : NULL;
    if (t && t->kind == TOKEN_STRING && t->begin < offset) return false;
    w->word = i;
    c->begin = c->end = offset;
    c->word = "";
    if (t && t->begin <= offset && t->kind <= TOKEN_NUMBER) {
        c->begin = t->begin;
        c->end = t->end;
        c->word = lexeme_text(o, t);
    }
    return true;
}

/* Nothing but blanks before it on its line? And how many? */
static bool line_start(const struct outline *o, uint32_t at, uint32_t *column)
{
    uint32_t from = at;
    while (from > 0 && (o->text[from - 1] == ' ' || o->text[from - 1] == '\t')) from--;
    *column = at - from;
    return from == 0 || o->text[from - 1] == '\n' || o->text[from - 1] == '\r';
}

static bool find_statement(const struct outline *o, size_t word, size_t *first)
{
    size_t lo = 0, hi = o->statements.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (o->statements.at[mid] <= word)
            lo = mid + 1;
        else
            hi = mid;
    }
    *first = lo > 0 ? o->statements.at[lo - 1] : 0;
    return lo > 0;
}

/* ---- the place --------------------------------------------------------------------------- */

static bool goes_on(const struct walk *w)
{
    static const char *const open_end[] = {",",  "=", ":",  "not", "|>", "+",  "-",
                                           "*",  "/", "//", "%",   "==", "!=", "<",
                                           "<=", ">", ">=", "and", "or", "in"};
    return w->word > w->first && one_of(w, w->word - 1, open_end, COUNT_OF(open_end));
}

static bool new_statement(const struct walk *w, const struct cursor *c)
{
    uint32_t column, own;
    if (w->word == w->first || w->ended) return true;
    if (!line_start(w->o, c->begin, &column)) return false;
    line_start(w->o, w->o->tokens.at[w->first].begin, &own);
    return w->depth == 0 ? !goes_on(w) : column <= own && !w->head;
}

static enum spot in_call(struct walk *w, struct cursor *c, const struct bracket *b)
{
    size_t i = b->part;
    bool named = name_at(w, i) && is(w, i + 1, "=");
    if (named && i == w->word && c->begin < c->end) c->is_attribute = true;
    if (!named || i >= w->word) return SPOT_ARGUMENT;
    c->attribute = lexeme_text(w->o, &w->o->tokens.at[i]);
    return i + 2 == w->word ? SPOT_VALUE : SPOT_EXPR;
}

static void find_call(struct walk *w, struct cursor *c)
{
    int depth = w->depth < MAX_FRAMES ? w->depth : MAX_FRAMES;
    for (int i = depth - 1; i >= 0; i--) {
        const struct bracket *b = &w->open[i];
        if (b->callee < 0) continue;
        size_t from = (size_t)b->callee;
        while (from >= w->first + 2 && is(w, from - 1, ".") && name_at(w, from - 2)) from -= 2;
        c->callee = arena_strndup(w->o->a, w->o->text + w->o->tokens.at[from].begin,
                                  w->o->tokens.at[b->callee].end - w->o->tokens.at[from].begin);
        c->chained = from > w->first && is(w, from - 1, "|>");
        c->argument = b->commas;
        c->open = w->o->tokens.at[b->at].begin;
        if (name_at(w, b->part) && is(w, b->part + 1, "=") && b->part < w->word)
            c->attribute = lexeme_text(w->o, &w->o->tokens.at[b->part]);
        return;
    }
}

static enum spot in_head(const struct walk *w)
{
    for (size_t i = w->word; i > w->first; i--) {
        if (is(w, i - 1, ",") || (is(w, i - 1, "(") && i - 1 == w->open[0].at)) return SPOT_NONE;
        if (is(w, i - 1, "=") || is(w, i - 1, "[") || is(w, i - 1, "in")) return SPOT_EXPR;
    }
    return SPOT_NONE;
}

static enum spot in_statement(struct walk *w, struct cursor *c)
{
    bool typed = one_of(w, w->first, typed_words, COUNT_OF(typed_words)) &&
                 name_at(w, w->first + 1);
    bool type_part = w->colon && !w->equals;
    size_t before = w->word - 1;
    if (is(w, before, "|>")) return SPOT_CALLEE;
    if (is(w, before, ".") && before > w->first && name_at(w, before - 1)) {
        c->qualifier = lexeme_text(w->o, &w->o->tokens.at[before - 1]);
        return is(w, w->first, "import") ? SPOT_LIBRARY : SPOT_MEMBER;
    }
    if (w->head) return in_head(w);
    if (w->depth > 0 && type_part) return SPOT_DIM;
    if (w->depth > 0) {
        const struct bracket *top = &w->open[(w->depth < MAX_FRAMES ? w->depth : MAX_FRAMES) - 1];
        return top->callee >= 0 ? in_call(w, c, top) : SPOT_EXPR;
    }
    if (type_part) return is(w, before, ":") ? SPOT_TYPE : SPOT_CLAUSE;
    if (w->equals) return SPOT_EXPR;
    if (is(w, w->first, "import")) return SPOT_IMPORT;
    if (is(w, w->first, "compute")) return SPOT_TYPE;
    if (typed || is(w, w->first, "const")) return SPOT_NONE;
    return is(w, w->first, "require") || is(w, w->first, "return") ? SPOT_EXPR : SPOT_NONE;
}

void cursor_find(struct cursor *c, const struct outline *o, uint32_t offset)
{
    struct walk w = {.o = o};
    *c = (struct cursor){.spot = SPOT_NONE, .word = "", .item = outline_item(o, offset)};
    if (!find_word(c, &w, offset)) return;
    bool inside = c->item >= 0 && offset > o->decls.at[c->item].head;
    /* Where nothing was written yet, the statement is that of the token before. */
    size_t last = c->begin < c->end ? w.word : w.word - 1;
    if ((c->begin == c->end && w.word == 0) || !find_statement(o, last, &w.first)) {
        c->spot = SPOT_TOP;
        return;
    }
    w.head = one_of(&w, w.first, item_words, COUNT_OF(item_words)) && name_at(&w, w.first + 1);
    for (size_t i = w.first; i < w.word; i++) step(&w, i);
    find_call(&w, c);
    if (new_statement(&w, c)) {
        c->callee = NULL;
        c->spot = inside && !(w.ended && is(&w, w.word - 1, "}")) ? SPOT_BODY : SPOT_TOP;
        return;
    }
    c->spot = in_statement(&w, c);
}
