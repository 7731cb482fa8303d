/* transport: messages on a pair of file descriptors: a header with Content-Length, an empty line,
 * that many bytes of JSON.
 *
 * Invariant: a header that is not understood ends the conversation: there is no way to tell where
 * the next message would begin. */
#include "lsp/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

/* ---- in ---------------------------------------------------------------------------------- */

static bool read_length(const char *p, const char *end, size_t *out)
{
    size_t n = 0, digits = 0;
    for (; p < end && *p >= '0' && *p <= '9' && digits < 12; p++, digits++)
        n = n * 10 + (size_t)(*p - '0');
    *out = n;
    return digits > 0 && p == end;
}

/* One "Name: value" without its line end. NULL, or what is wrong. */
static const char *read_field(const char *p, const char *end, bool *has, size_t *length)
{
    static const char key[] = "Content-Length";
    const char *colon = memchr(p, ':', (size_t)(end - p));
    if (!colon || colon == p) return "a header line has no name and colon";
    if ((size_t)(colon - p) != sizeof key - 1 || strncasecmp(p, key, sizeof key - 1) != 0)
        return NULL;
    const char *value = colon + 1;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (*has) return "Content-Length stands twice in one header";
    if (!read_length(value, end, length)) return "Content-Length is not a number of bytes";
    if (*length > MAX_MESSAGE) return "Content-Length is more than 64 MiB";
    *has = true;
    return NULL;
}

static const char *read_header(const char *p, const char *end, size_t *length)
{
    bool has = false;
    while (p < end) {
        const char *line = memchr(p, '\r', (size_t)(end - p));
        if (!line) line = end;
        const char *why = read_field(p, line, &has, length);
        if (why) return why;
        p = line + 2;
    }
    return has ? NULL : "the header has no Content-Length";
}

enum frame transport_next(struct transport *t, const char **body, size_t *n, const char **why)
{
    if (t->at == t->pending.n) return FRAME_MORE;
    const char *from = t->pending.at + t->at;
    size_t have = t->pending.n - t->at, look = have < MAX_HEADER ? have : MAX_HEADER;
    const char *end = memmem(from, look, "\r\n\r\n", 4);
    if (!end) {
        /* Text that is no header is told at once, not after four kilobytes of it. */
        const char *line = memchr(from, '\n', look);
        *why = look == MAX_HEADER ? "the header is longer than 4096 bytes"
                                  : "a header line does not end with CR LF";
        return look == MAX_HEADER || (line && (line == from || line[-1] != '\r')) ? FRAME_REFUSED
                                                                                  : FRAME_MORE;
    }
    size_t length = 0;
    *why = read_header(from, end, &length);
    if (*why) return FRAME_REFUSED;
    size_t head = (size_t)(end - from) + 4;
    if (have - head < length) return FRAME_MORE;
    *body = from + head;
    *n = length;
    t->at += head + length;
    return FRAME_WHOLE;
}

bool transport_read(struct transport *t, bool wait)
{
    struct pollfd p = {.fd = t->in, .events = POLLIN};
    int ready;
    if (t->ended) return false;
    while ((ready = poll(&p, 1, wait ? -1 : 0)) < 0 && errno == EINTR) {
    }
    if (ready <= 0) return false;
    if (t->at > 0) { /* what was handed out is gone */
        memmove(t->pending.at, t->pending.at + t->at, t->pending.n - t->at);
        t->pending.n -= t->at;
        t->at = 0;
        if (t->pending.n == 0 && t->pending.cap > (1u << 20)) buf_fini(&t->pending);
    }
    char bytes[1 << 16];
    ssize_t got;
    while ((got = read(t->in, bytes, sizeof bytes)) < 0 && errno == EINTR) {
    }
    if (got > 0)
        buf_put(&t->pending, bytes, (size_t)got);
    else
        t->ended = true;
    return got > 0;
}

/* ---- out --------------------------------------------------------------------------------- */

static void write_all(struct transport *t, const char *p, size_t n)
{
    while (n > 0 && !t->broken) {
        ssize_t put = write(t->out, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) {
            t->broken = true;
            return;
        }
        p += put;
        n -= (size_t)put;
    }
}

void transport_send(struct transport *t, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    if (!text) return;
    struct buf b = {0};
    buf_printf(&b, "Content-Length: %zu\r\n\r\n", strlen(text));
    buf_puts(&b, text);
    write_all(t, b.at, b.n);
    buf_fini(&b);
    free(text);
}

void transport_fini(struct transport *t)
{
    buf_fini(&t->pending);
}
