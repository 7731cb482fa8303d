/* bundle_zip: the folder of a bundle, and the archive made of it.
 *
 * Invariant: the folder is removed whatever happened; the archive is whole or absent. */
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "driver/bundle.h"

static bool refuse(struct session *s, const char *path, const char *why)
{
    diag(s, DIAG_file, NO_SPAN, "cannot write '%s': %s", path, why);
    return false;
}

bool bundle_open(struct bundle *b, struct session *s)
{
    const char *given = getenv("TMPDIR");
    char *folder = arena_printf(s->arena, "%s/fgc-bundle-XXXXXX", given && *given ? given : "/tmp");
    *b = (struct bundle){.s = s};
    if (!mkdtemp(folder)) return refuse(s, folder, strerror(errno));
    char *real = realpath(folder, NULL);
    b->folder = arena_strdup(s->arena, real ? real : folder);
    free(real);
    return true;
}

bool bundle_put(struct bundle *b, const char *name, const char *bytes, size_t n)
{
    char *path = arena_printf(b->s->arena, "%s/%s", b->folder, name);
    for (char *slash = path + strlen(b->folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) return refuse(b->s, path, strerror(errno));
    }
    if (!file_write(b->s, path, bytes, n)) return false;
    vec_push(b->s->arena, &b->names, arena_strdup(b->s->arena, name));
    return true;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

void bundle_close(struct bundle *b)
{
    if (b->folder) nftw(b->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* One file, dated 1980-01-01, readable by all; a script may be run. */
static bool add(struct bundle *b, zip_t *z, const char *name)
{
    char *bytes;
    size_t n, len = strlen(name);
    if (!file_read(b->s, arena_printf(b->s->arena, "%s/%s", b->folder, name), &bytes, &n))
        return false;
    zip_source_t *source = zip_source_buffer(z, bytes, n, 0);
    zip_int64_t i = source ? zip_file_add(z, name, source, ZIP_FL_ENC_UTF_8) : -1;
    if (i < 0) {
        zip_source_free(source);
        return false;
    }
    bool script = len > 3 && strcmp(name + len - 3, ".sh") == 0;
    zip_uint32_t mode = script ? 0100755 : 0100644;
    zip_uint64_t k = (zip_uint64_t)i;
    return zip_file_set_dostime(z, k, 0, 0x21, 0) == 0 &&
           zip_file_set_external_attributes(z, k, 0, ZIP_OPSYS_UNIX, mode << 16) == 0;
}

bool bundle_zip(struct bundle *b, const char *path)
{
    char *temp = arena_printf(b->s->arena, "%s/bundle.zip", b->folder), *bytes;
    size_t n;
    int code;
    zip_t *z = zip_open(temp, ZIP_CREATE | ZIP_EXCL, &code);
    if (!z) return refuse(b->s, temp, "no archive can be made there");
    bool ok = true;
    for (size_t i = 0; i < b->names.n && ok; i++) ok = add(b, z, b->names.at[i]);
    if (ok && zip_close(z) == 0)
        return file_read(b->s, temp, &bytes, &n) && file_write(b->s, path, bytes, n);
    refuse(b->s, temp, zip_strerror(z));
    zip_discard(z);
    return false;
}
