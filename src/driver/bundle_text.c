/* bundle_text: takes this machine's folders out of what fgc printed and asked.
 *
 * Invariant: of an absolute path only the last part stays: it says which library or file was meant,
 * and not where or whose. Relative paths are the archive's own. */
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>

#include "driver/bundle.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : "";
}

/* The length of the longest hidden folder that `at` begins with; those may have blanks in them. */
static size_t hidden_at(const struct bundle *b, const char *at)
{
    size_t longest = 0;
    for (size_t i = 0; i < b->hidden.n; i++) {
        size_t n = strlen(b->hidden.at[i]);
        bool whole = at[n < strlen(at) ? n : 0] == '/' || !isalnum((unsigned char)at[n]);
        if (n > longest && strncmp(at, b->hidden.at[i], n) == 0 && whole) longest = n;
    }
    return longest;
}

static bool ends_path(char c)
{
    return c == '\0' || isspace((unsigned char)c) || strchr("'\"`,;:()<>|", c) != NULL;
}

/* An absolute path begins at a slash that follows nothing of a name. */
static bool begins_path(const char *text, size_t i)
{
    if (text[i] != '/' || ends_path(text[i + 1]) || text[i + 1] == '/' || text[i + 1] == '*')
        return false;
    return i == 0 || ends_path(text[i - 1]) || text[i - 1] == '=';
}

static void put_without_paths(const struct bundle *b, const char *text, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n;) {
        size_t skip = text[i] == '/' ? hidden_at(b, text + i) : 0;
        if (!skip && !begins_path(text, i)) {
            buf_put(out, text + i++, 1);
            continue;
        }
        size_t end = i + skip, name = end;
        for (; end < n && !ends_path(text[end]); end++)
            if (text[end] == '/') name = end + 1;
        buf_puts(out, "...");
        if (name < end) buf_printf(out, "/%.*s", (int)(end - name), text + name);
        i = end;
    }
}

bool bundle_put_text(struct bundle *b, const char *name, const char *text, size_t n)
{
    struct buf out = {0};
    put_without_paths(b, text, n, &out);
    bool ok = bundle_put(b, name, out.at ? out.at : "", out.n);
    buf_fini(&out);
    return ok;
}

static void strip(json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;
    if (json_is_string(value) && json_string_value(value)[0] == '/') {
        char *name = strdup(last_part(json_string_value(value)));
        if (name) json_string_set(value, name);
        free(name);
    }
    json_object_foreach(value, key, inner) strip(inner);
    json_array_foreach(value, i, inner) strip(inner);
}

bool bundle_put_json(struct bundle *b, const char *name, const char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    strip(root);
    char *stripped = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    bool ok = stripped && bundle_put(b, name, stripped, strlen(stripped));
    free(stripped);
    return ok;
}
