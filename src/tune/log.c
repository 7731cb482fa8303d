/* log: what a search has done, a line of JSON for each step of a candidate.
 *
 * Invariant: lines are only ever added, each by one write and synced before the search goes on, so
 * that whatever ends the process, all that was finished is in the file; a last line that is cut is
 * passed over. One process has a job's log at a time. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "tune/internal.h"

static bool refuse(struct session *s, const char *path)
{
    diag(s, DIAG_file, NO_SPAN, "cannot write '%s': %s", path, strerror(errno));
    return false;
}

bool log_line(struct session *s, const struct tune_log *l, json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);
    json_decref(j);
    struct buf b = {0};
    buf_puts(&b, text);
    buf_puts(&b, "\n");
    free(text);
    off_t before = lseek(l->fd, 0, SEEK_END); /* nobody else writes: the lock is ours */
    ssize_t put;
    do put = write(l->fd, b.at, b.n);
    while (put < 0 && errno == EINTR);
    bool ok = put == (ssize_t)b.n && (l->lazy || fsync(l->fd) == 0);
    if (put >= 0 && put < (ssize_t)b.n) errno = ENOSPC;
    int saved = errno;
    if (!ok && before >= 0)
        (void)!ftruncate(l->fd, before); /* no half line for the next to follow */
    errno = saved;
    buf_fini(&b);
    return ok || refuse(s, l->path);
}

bool log_sync(struct session *s, const struct tune_log *l)
{
    return fsync(l->fd) == 0 || refuse(s, l->path);
}

/* The place after the last line that says a search began anew. */
static size_t last_start(const char *text, size_t n)
{
    static const char word[] = "{\"did\":\"start\"";
    size_t from = 0;
    for (size_t i = 0; i < n;) {
        const char *end = memchr(text + i, '\n', n - i);
        if (!end) break;
        if (n - i > sizeof word && memcmp(text + i, word, sizeof word - 1) == 0) from = i;
        i = (size_t)(end - text) + 1;
    }
    return from;
}

static void replay(const char *text, size_t n, void (*see)(void *, const json_t *), void *data)
{
    for (size_t i = last_start(text, n); i < n;) {
        const char *end = memchr(text + i, '\n', n - i);
        if (!end) break; /* cut in the middle of a line */
        json_t *j = json_loadb(text + i, (size_t)(end - text) - i, JSON_REJECT_DUPLICATES, NULL);
        if (json_is_object(j)) see(data, j);
        json_decref(j);
        i = (size_t)(end - text) + 1;
    }
}

bool log_open(struct session *s, const struct tune_setup *u, const struct tune_report *r,
              void (*see)(void *, const json_t *), void *data, struct tune_log *out)
{
    *out = (struct tune_log){
        .path = arena_printf(s->arena, "%s/logs/%s.jsonl", u->db.dir, r->build_key)};
    out->fd = open(out->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (out->fd < 0) return refuse(s, out->path);
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        struct diag *d = diag(s, DIAG_tune_busy, r->job->ir->span,
                              "graph '%s'%s%s is being tuned by another process", r->job->graph,
                              *r->job->variant ? " with " : "", r->job->variant);
        diag_note(s, d, NO_SPAN, "it holds '%s'", out->path);
        close(out->fd);
        return false;
    }
    char *text;
    size_t n;
    if (!file_read(s, out->path, &text, &n)) {
        close(out->fd);
        return false;
    }
    if (n && text[n - 1] != '\n' && write(out->fd, "\n", 1) != 1) {
        close(out->fd);
        return refuse(s, out->path);
    }
    if (u->resume && n) {
        replay(text, n, see, data);
        return true;
    }
    return log_line(s, out,
                    json_pack("{s:s, s:s, s:s, s:s, s:I}", "did", "start", "graph", r->job->graph,
                              "variant", r->job->variant, "region", r->job->region_hash, "time",
                              (json_int_t)time(NULL)));
}
