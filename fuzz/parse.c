/* parse: bytes in, no crash; what parses is printed, read again and printed again, and must agree.
 *
 * Usage: fuzz-parse [-n RUNS] [-s SEED] FILE...
 * Every file is tried as it is, then RUNS mixtures of them. Invariant checked for each input
 * without an error: the printed text parses to the same tree, printing it again changes nothing,
 * and no comment is lost or moved past another. With -DLIBFUZZER the same check is a libFuzzer
 * target. */
#include <stdlib.h>

#include "ast/ast.h"

static void comments_of(const struct ast *a, struct buf *out)
{
    for (size_t i = 0; i < a->comments.n; i++) {
        struct span c = a->comments.at[i].span;
        buf_put(out, a->source->text + (c.begin - a->source->base), c.end - c.begin);
        buf_puts(out, "\n");
    }
}

static void must_equal(const char *what, const struct buf *a, const struct buf *b, const char *text,
                       size_t n)
{
    if (a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n) == 0)) return;
    fprintf(stderr, "fuzz-parse: %s differ\n---- input\n%.*s\n---- one\n%s\n---- other\n%s\n", what,
            (int)n, text, a->at ? a->at : "", b->at ? b->at : "");
    abort();
}

static void check_print(struct session *s, const struct ast *first, const char *text, size_t n)
{
    struct buf one = {0}, two = {0}, tree_one = {0}, tree_two = {0}, said_one = {0}, said_two = {0};
    ast_format(first, &one);
    struct source *src = source_add(s, "printed", one.at, one.n);
    struct ast *second = ast_parse(s, src);
    if (s->n_errors) {
        fprintf(stderr,
                "fuzz-parse: the printed text does not parse\n---- input\n%.*s\n---- printed\n%s\n",
                (int)n, text, one.at);
        diag_flush(s, stderr);
        abort();
    }
    ast_format(second, &two);
    ast_dump(first, &tree_one);
    ast_dump(second, &tree_two);
    comments_of(first, &said_one);
    comments_of(second, &said_two);
    must_equal("trees", &tree_one, &tree_two, text, n);
    must_equal("comments", &said_one, &said_two, text, n);
    must_equal("prints", &one, &two, text, n);
    struct buf *const all[] = {&one, &two, &tree_one, &tree_two, &said_one, &said_two};
    for (size_t i = 0; i < COUNT_OF(all); i++) buf_fini(all[i]);
}

/* True when the text had no error. */
static bool try_text(const char *text, size_t n, FILE *sink)
{
    struct session *s = session_new();
    struct source *src = source_add(s, "fuzz", text, n);
    struct ast *a = src ? ast_parse(s, src) : NULL;
    bool good = a && s->n_errors == 0;
    if (good) {
        check_print(s, a, text, n);
    } else if (a) {
        struct buf tree = {0};
        ast_dump(a, &tree);
        buf_fini(&tree);
    }
    diag_flush(s, sink);
    session_free(s);
    return good;
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n)
{
    FILE *sink = fopen("/dev/null", "w");
    if (!sink) return 0;
    try_text((const char *)bytes, n, sink);
    fclose(sink);
    return 0;
}
#else

static uint64_t state;

/* splitmix64 (Steele, Lea, Flood 2014): one run is repeated by its seed. */
static size_t below(size_t n)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return n ? (size_t)((z ^ z >> 31) % n) : 0;
}

static const char *const pieces[] = {
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "# note\n",
    " # note",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "|>",
    "|> relu",
    "-",
    "not ",
    " and ",
    " or ",
    " in ",
    "==",
    "<",
    "+",
    "*",
    "//",
    "%",
    ".",
    "...",
    "_",
    "1",
    "0x1f",
    "1e3",
    "0.5",
    "1e999",
    "007",
    "\"s\"",
    "\"",
    "\\",
    ";",
    "x",
    "graph",
    "fn",
    "epilogue",
    "input ",
    "output ",
    "scalar ",
    "const ",
    "compute ",
    "require ",
    "return ",
    "import ",
    "fg ",
    "((((",
    "]]",
    "\xef\xbb\xbf",
    "\xc3\xa9",
    "\xff",
    "x = 1\n",
    "const c = [1, 2,]\n",
    "a, _ = f(x, y=2)\n",
    "x : f32[...] order(0, 1) = y\n",
};

/* Cuts, doubles, inserts and swaps at random. */
static void mutate(struct buf *b)
{
    for (size_t k = 1 + below(4); k > 0; k--) {
        struct buf out = {0};
        size_t at = below(b->n + 1), len = below(1 + (below(3) ? 6 : 60));
        if (at + len > b->n) len = b->n - at;
        const char *text = b->at ? b->at : "";
        buf_put(&out, text, at);
        switch (below(4)) {
        case 0: break; /* cut */
        case 1:
            buf_put(&out, text + at, len);
            buf_put(&out, text + at, len);
            break;
        case 2: {
            const char *piece = pieces[below(COUNT_OF(pieces))];
            buf_puts(&out, piece);
            buf_put(&out, text + at, len);
            break;
        }
        default: {
            size_t from = below(b->n + 1), n = below(40);
            buf_put(&out, text + from, n < b->n - from ? n : b->n - from);
            buf_put(&out, text + at, len);
            break;
        }
        }
        buf_put(&out, text + at + len, b->n - at - len);
        buf_fini(b);
        *b = out;
    }
}

int main(int argc, char **argv)
{
    size_t runs = 0, n_good = 0, first = 1;
    struct buf texts[512] = {{0}};
    size_t n = 0;
    while (first + 1 < (size_t)argc && argv[first][0] == '-') {
        if (argv[first][1] == 'n') runs = strtoul(argv[first + 1], NULL, 10);
        if (argv[first][1] == 's') state = strtoul(argv[first + 1], NULL, 10);
        first += 2;
    }
    FILE *sink = fopen("/dev/null", "w");
    if (!sink) return 1;
    struct session *s = session_new();
    for (size_t i = first; i < (size_t)argc && n < COUNT_OF(texts); i++) {
        char *bytes;
        size_t len;
        if (!file_read(s, argv[i], &bytes, &len)) continue;
        buf_put(&texts[n], bytes, len);
        n_good += try_text(texts[n].at, texts[n].n, sink);
        n++;
    }
    bool read_all = n + first == (size_t)argc;
    diag_flush(s, stderr);
    session_free(s);
    for (size_t i = 0; n && i < runs; i++) {
        const struct buf *from = &texts[below(n)];
        struct buf b = {0};
        buf_put(&b, from->at, from->n);
        mutate(&b);
        n_good += try_text(b.at, b.n, sink);
        buf_fini(&b);
    }
    printf("%zu files, %zu mixtures, %zu of them without an error\n", n, runs, n_good);
    for (size_t i = 0; i < n; i++) buf_fini(&texts[i]);
    fclose(sink);
    return n && read_all ? 0 : 1;
}
#endif
