/* options: reads the command line by the table options.def.
 *
 * Invariant: an option is accepted only for the commands its row names; what a row does not say is
 * not understood. */
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>

#define CMD(name) (1u << CMD_##name)
#define ANY (~0u)

enum option_kind { KIND_FLAG, KIND_TEXT, KIND_LIST, KIND_BYTES, KIND_SEED };
struct option_row {
    const char *name;
    char letter;
    const char *arg;
    enum option_kind kind;
    unsigned commands;
    size_t at; /* offset of the member in struct options */
    const char *doc;
};
static const struct option_row rows[] = {
#define COMMAND(name, operands, doc)
#define OPTION(field, long_name, letter, arg, kind, commands, doc) \
    {long_name, letter, arg, KIND_##kind, commands, offsetof(struct options, field), doc},
#include "driver/options.def"
#undef COMMAND
#undef OPTION
};
static const struct command_view command_rows[] = {
#define COMMAND(name, operands, doc) {#name, operands, doc},
#define OPTION(...)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
};

/* bundle takes what compile takes: it compiles. */
static bool takes(enum command c, const struct option_row *r)
{
    unsigned as = c == CMD_bundle ? CMD(bundle) | CMD(compile) : 1u << c;
    return (r->commands & as) != 0;
}

const struct command_view *options_command(enum command c)
{
    return &command_rows[c];
}

bool options_row(enum command c, size_t i, struct option_view *out)
{
    if (i >= COUNT_OF(rows)) return false;
    *out = (struct option_view){rows[i].name, rows[i].arg, rows[i].doc, rows[i].letter,
                                takes(c, &rows[i])};
    return true;
}

static const struct option_row *find_long(enum command c, const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (takes(c, &rows[i]) && strlen(rows[i].name) == len &&
            memcmp(rows[i].name, name, len) == 0)
            return &rows[i];
    return NULL;
}

static const struct option_row *find_letter(enum command c, char letter)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (takes(c, &rows[i]) && rows[i].letter == letter && letter) return &rows[i];
    return NULL;
}

static bool number(const char *text, bool bytes, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || errno || v < 0) return false;
    int64_t unit = 1;
    if (bytes && *end) {
        const char *units = "kMG", *u = strchr(units, *end);
        if (!u || end[1]) return false;
        for (ptrdiff_t i = 0; i <= u - units; i++) unit *= 1024;
        end++;
    }
    return *end == '\0' && i64_mul(v, unit, out);
}

static bool store(struct session *s, struct options *o, const struct option_row *r,
                  const char *value)
{
    void *member = (char *)o + r->at;
    switch (r->kind) {
    case KIND_FLAG: *(option_FLAG *)member = true; return true;
    case KIND_TEXT: *(option_TEXT *)member = value; return true;
    case KIND_LIST: vec_push(s->arena, (option_LIST *)member, value); return true;
    case KIND_BYTES:
    case KIND_SEED: {
        struct option_number *n = member;
        n->given = true;
        if (number(value, r->kind == KIND_BYTES, &n->value)) return true;
        diag(s, DIAG_usage, NO_SPAN, "--%s needs a whole number, got '%s'", r->name, value);
        return false;
    }
    }
    return false;
}

static void unknown(struct session *s, enum command c, const char *text)
{
    struct diag *d = diag(s, DIAG_usage, NO_SPAN, "unknown option '%s' for fgc %s", text,
                          command_rows[c].name);
    const char *names[COUNT_OF(rows)];
    size_t n = 0, len = strcspn(text, "=");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (takes(c, &rows[i])) names[n++] = rows[i].name;
    const char *near = NULL;
    if (len > 2) near = closest_name(arena_strndup(s->arena, text + 2, len - 2), names, n);
    if (near) diag_hint(s, d, "did you mean '--%s'", near);
    diag_hint(s, d, "fgc %s --help lists its options", command_rows[c].name);
}

/* One argument that begins with '-'. May take the next one as its value. */
static bool parse_one(struct session *s, struct options *o, char **argv, int argc, int *i)
{
    const char *text = argv[*i];
    const struct option_row *r;
    const char *value = NULL;
    if (text[1] == '-') {
        size_t len = strcspn(text + 2, "=");
        r = find_long(o->command, text + 2, len);
        if (text[2 + len] == '=') value = text + 3 + len;
    } else if (strcmp(text, "-MD") == 0 || strcmp(text, "-MF") == 0) { /* as compilers spell it */
        const char *name = text[2] == 'D' ? "depend" : "depfile";
        r = find_long(o->command, name, strlen(name));
    } else {
        r = find_letter(o->command, text[1]);
        if (text[2]) value = text + 2;
    }
    if (!r || (!r->arg && value)) {
        unknown(s, o->command, text);
        return false;
    }
    if (r->arg && !value) {
        if (*i + 1 >= argc) {
            diag(s, DIAG_usage, NO_SPAN, "%s needs %s", text, r->arg);
            return false;
        }
        value = argv[++*i];
    }
    return store(s, o, r, value);
}

bool options_parse(struct session *s, int argc, char **argv, struct options *o)
{
    *o = (struct options){.command = CMD_compile};
    int i = 1;
    for (size_t c = 0; argc > 1 && c < COUNT_OF(command_rows); c++)
        if (strcmp(argv[1], command_rows[c].name) == 0) {
            o->command = (enum command)c;
            i = 2;
            break;
        }
    bool ok = true, only_operands = false;
    for (; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0)
            only_operands = true;
        else if (!only_operands && argv[i][0] == '-' && argv[i][1])
            ok &= parse_one(s, o, argv, argc, &i);
        else
            vec_push(s->arena, &o->operands, argv[i]);
    }
    return ok;
}

void options_help(enum command c, bool all, FILE *to)
{
    fprintf(to, "usage: fgc %s%s[OPTION...] %s\n%s\n\n",
            c == CMD_compile ? "" : command_rows[c].name, c == CMD_compile ? "" : " ",
            command_rows[c].operands, command_rows[c].doc);
    if (all) {
        fprintf(to, "commands (fgc COMMAND --help says more):\n");
        for (size_t k = 0; k < COUNT_OF(command_rows); k++)
            fprintf(to, "  %-9s %-21s %s\n", command_rows[k].name, command_rows[k].operands,
                    command_rows[k].doc);
        fprintf(to, "\n");
    }
    fprintf(to, "options:\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct option_row *r = &rows[i];
        if (!takes(c, r)) continue;
        char left[80];
        snprintf(left, sizeof left, "%c%c%s --%s%s%s", r->letter ? '-' : ' ',
                 r->letter ? r->letter : ' ', r->letter ? "," : " ", r->name, r->arg ? "=" : "",
                 r->arg ? r->arg : "");
        fprintf(to, "  %-34s %s\n", left, r->doc);
    }
    fprintf(
        to,
        "\nexit status: 0 done, 1 the input is wrong, 2 wrong usage, 3 the environment refused, "
        "70 a bug in fgc\n");
}

void options_each(const struct options *o, enum command c,
                  void (*f)(void *ctx, const char *name, const char *value), void *ctx)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct option_row *r = &rows[i];
        const void *member = (const char *)o + r->at;
        char name[64], digits[24];
        snprintf(name, sizeof name, "--%s", r->name);
        if (!takes(c, r)) continue;
        switch (r->kind) {
        case KIND_FLAG:
            if (*(const option_FLAG *)member) f(ctx, name, NULL);
            break;
        case KIND_TEXT:
            if (*(const option_TEXT *)member) f(ctx, name, *(const option_TEXT *)member);
            break;
        case KIND_LIST: {
            const option_LIST *list = member;
            for (size_t k = 0; k < list->n; k++) f(ctx, name, list->at[k]);
            break;
        }
        case KIND_BYTES:
        case KIND_SEED: {
            const struct option_number *n = member;
            snprintf(digits, sizeof digits, "%lld", (long long)n->value);
            if (n->given) f(ctx, name, digits);
            break;
        }
        }
    }
}
