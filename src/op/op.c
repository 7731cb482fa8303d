/* op: the table of operators expanded, and lookups by name. */
#include "op/op.h"

#include <math.h>

#define FAMILY(f) FAM_##f
#define SHAPE(r) #r
#define EVAL(k) #k
#define LOWER(builder, mode) #mode
const struct op_info ops[N_OPS] = {
    [OP_none] = {.name = "none"},
#define OP(id, family_, shape, eval, lower, ...) \
    [OP_##id] = {.name = #id,                    \
                 .family = family_,              \
                 .shape_rule = shape,            \
                 .eval_rule = eval,              \
                 .mode = lower,                  \
                 __VA_ARGS__},
#include "op/ops.def"
#undef OP
};

enum op_id op_find(const char *name)
{
    for (int i = OP_none + 1; i < N_OPS; i++)
        if (strcmp(ops[i].name, name) == 0) return (enum op_id)i;
    return OP_none;
}

int op_n_attrs(enum op_id op)
{
    int n = 0;
    while (n < MAX_ATTRS && ops[op].attr[n].kind != ATTR_none) n++;
    return n;
}

int op_attr_index(enum op_id op, const char *name)
{
    for (int i = 0; i < op_n_attrs(op); i++)
        if (strcmp(ops[op].attr[i].name, name) == 0) return i;
    return -1;
}

const struct word_info fg_words[] = {
#define WORD(kind, name, doc) {WORD_##kind, #name, doc},
#include "op/words.def"
#undef WORD
};
const size_t n_fg_words = COUNT_OF(fg_words);

const struct word_info *fg_word_find(enum word_kind kind, const char *name)
{
    for (size_t i = 0; i < n_fg_words; i++)
        if (fg_words[i].kind == kind && strcmp(fg_words[i].name, name) == 0) return &fg_words[i];
    return NULL;
}

void op_signature(enum op_id id, struct buf *out)
{
    const struct op_info *op = &ops[id];
    buf_printf(out, "%s(", op->name);
    for (int i = 0; i < op->n_in; i++) buf_printf(out, "%s%s", i ? ", " : "", op->in[i].name);
    for (int i = 0; i < op_n_attrs(id); i++)
        buf_printf(out, op->attr[i].required ? ", %s=" : " [, %s=]", op->attr[i].name);
    buf_puts(out, ") ->");
    for (int i = 0; i < op->n_out; i++)
        buf_printf(out, op->out[i].optional ? " [, %s]" : " %s", op->out[i].name);
}

const char *word_at(const char *words, int i, char out[64])
{
    for (; i > 0 && *words; i--) {
        words += strcspn(words, " ");
        words += strspn(words, " ");
    }
    size_t n = strcspn(words, " ");
    if (n > 63) n = 63;
    memcpy(out, words, n);
    out[n] = '\0';
    return out;
}

int word_index(const char *words, const char *word)
{
    char one[64];
    for (int i = 0; *word_at(words, i, one); i++)
        if (strcmp(one, word) == 0) return i;
    return -1;
}
