/* json: the one spelling of a JSON value.
 *
 * Invariant: the text depends on the value alone, neither on the library's version nor on the
 * locale, so that equal plans are equal bytes. */
#include <inttypes.h>
#include <jansson.h>

#include "base/base.h"

static void print_string(const char *s, size_t n, struct buf *out)
{
    buf_puts(out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c == '\n')
            buf_puts(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(out, "\\u%04x", c);
        else
            buf_put(out, &s[i], 1);
    }
    buf_puts(out, "\"");
}

static bool is_plain(const json_t *v)
{
    return !json_is_object(v) && !json_is_array(v);
}

static void print_value(const json_t *v, int depth, struct buf *out);

static void print_line_break(int depth, struct buf *out)
{
    buf_printf(out, "\n%*s", depth, "");
}

static void print_array(const json_t *v, int depth, struct buf *out)
{
    size_t i, n = json_array_size(v);
    json_t *one;
    bool flat = true;
    json_array_foreach(v, i, one) flat = flat && is_plain(one);
    buf_puts(out, "[");
    json_array_foreach(v, i, one) {
        if (flat && i) buf_puts(out, " ");
        if (!flat) print_line_break(depth + 1, out);
        print_value(one, depth + 1, out);
        if (i + 1 < n) buf_puts(out, ",");
    }
    if (!flat) print_line_break(depth, out);
    buf_puts(out, "]");
}

static void print_object(const json_t *v, int depth, struct buf *out)
{
    const char *key;
    json_t *member;
    size_t left = json_object_size(v);
    buf_puts(out, "{");
    json_object_foreach((json_t *)v, key, member) {
        print_line_break(depth + 1, out);
        print_string(key, strlen(key), out);
        buf_puts(out, ": ");
        print_value(member, depth + 1, out);
        if (--left) buf_puts(out, ",");
    }
    if (json_object_size(v)) print_line_break(depth, out);
    buf_puts(out, "}");
}

/* The depth is that of what fgc made, or of a text that the reader's library bounds. */
static void print_value(const json_t *v, int depth, struct buf *out)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT: print_object(v, depth, out); break;
    case JSON_ARRAY: print_array(v, depth, out); break;
    case JSON_STRING: print_string(json_string_value(v), json_string_length(v), out); break;
    case JSON_INTEGER: buf_printf(out, "%" PRId64, (int64_t)json_integer_value(v)); break;
    case JSON_REAL: buf_real(out, json_real_value(v)); break;
    case JSON_TRUE: buf_puts(out, "true"); break;
    case JSON_FALSE: buf_puts(out, "false"); break;
    case JSON_NULL: buf_puts(out, "null"); break;
    }
}

struct json_t *json_utf8(const char *text)
{
    json_t *j = json_string(text);
    if (j) return j;
    struct buf b = {0};
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p < 0x80)
            buf_put(&b, p, 1);
        else if (((unsigned char)*p & 0xc0) != 0x80)
            buf_puts(&b, "?");
    }
    j = json_string(b.n ? b.at : "");
    buf_fini(&b);
    return j;
}

void path_to_uri(const char *path, struct buf *out)
{
    for (const char *p = path; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                     (*p >= '0' && *p <= '9') || strchr("/-._~", *p);
        if (plain)
            buf_put(out, p, 1);
        else
            buf_printf(out, "%%%02X", (unsigned char)*p);
    }
}

void json_print(const struct json_t *v, struct buf *out)
{
    print_value(v, 0, out);
}
