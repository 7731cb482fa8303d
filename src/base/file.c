/* file: reading and writing whole files.
 *
 * Invariant: a file is written to a temporary name in its own folder, synced and renamed: the old
 * file or the whole new one stands, never a part, and no temporary file stays behind. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 1 << 30 };

static bool refuse(struct session *s, const char *what, const char *path, const char *why)
{
    diag(s, DIAG_file, NO_SPAN, "cannot %s '%s': %s", what, path, why);
    return false;
}

static bool read_all(struct session *s, int fd, const char *path, char **bytes, size_t *n)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return refuse(s, "read", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return refuse(s, "read", path, strerror(EISDIR));
    if (S_ISREG(st.st_mode) && st.st_size > MAX_FILE)
        return refuse(s, "read", path, "larger than 1 GiB");
    size_t cap = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : 65536;
    char *at = arena_alloc(s->arena, cap + 1);
    *n = 0;
    for (;;) {
        ssize_t got = read(fd, at + *n, cap - *n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return refuse(s, "read", path, strerror(errno));
        if (got == 0) break;
        *n += (size_t)got;
        if (*n > MAX_FILE) return refuse(s, "read", path, "larger than 1 GiB");
        if (*n < cap) continue;
        char *more = arena_alloc(s->arena, 2 * cap + 1);
        memcpy(more, at, *n);
        at = more;
        cap *= 2;
    }
    at[*n] = '\0';
    *bytes = at;
    return true;
}

bool file_read(struct session *s, const char *path, char **bytes, size_t *n)
{
    if (strcmp(path, "-") == 0) return read_all(s, STDIN_FILENO, path, bytes, n);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return refuse(s, "read", path, strerror(errno));
    bool ok = read_all(s, fd, path, bytes, n);
    close(fd);
    return ok;
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* Renames only if everything reached the disk. */
static bool write_and_rename(int fd, const char *temp, const char *path, const void *bytes,
                             size_t n)
{
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = stat(path, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;
    bool ok = write_all(fd, bytes, n) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    int saved = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    if (ok && rename(temp, path) != 0) {
        ok = false;
        saved = errno;
    }
    if (!ok) unlink(temp);
    errno = saved;
    return ok;
}

bool file_write(struct session *s, const char *path, const void *bytes, size_t n)
{
    if (strcmp(path, "-") == 0) {
        if (fwrite(bytes, 1, n, stdout) == n && fflush(stdout) == 0) return true;
        return refuse(s, "write", "standard output", strerror(errno));
    }
    struct stat st;
    if (stat(path, &st) == 0 &&
        !S_ISREG(st.st_mode)) { /* /dev/null, a pipe: nothing to rename over */
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool ok = fd >= 0 && write_all(fd, bytes, n);
        int saved = errno;
        if (fd >= 0) close(fd);
        return ok || refuse(s, "write", path, strerror(saved));
    }
    char *temp = arena_printf(s->arena, "%s.XXXXXX", path);
    int fd = mkstemp(temp);
    if (fd < 0) return refuse(s, "write", path, strerror(errno));
    if (!write_and_rename(fd, temp, path, bytes, n))
        return refuse(s, "write", path, strerror(errno));
    return true;
}
