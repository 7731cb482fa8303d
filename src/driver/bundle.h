/* bundle: what the files of `fgc bundle` share. */
#ifndef FGC_BUNDLE_H
#define FGC_BUNDLE_H

#include "driver/driver.h"

/* An archive in the making: files below a folder of its own. */
struct bundle {
    struct session *s;
    const char *folder;         /* absolute */
    VEC(const char *) names;    /* of files, relative to the folder, in the archive's order */
    VEC(const char *) hidden;   /* folders of this machine that no text may name */
};

/* A new folder below $TMPDIR. False with a diagnostic. */
bool bundle_open(struct bundle *b, struct session *s);
/* Writes folder/name and lists it. */
bool bundle_put(struct bundle *b, const char *name, const char *bytes, size_t n);
/* The same for text that fgc printed: absolute paths become ".../" and their last part. */
bool bundle_put_text(struct bundle *b, const char *name, const char *text, size_t n);
/* The same for JSON, whose strings that are absolute paths lose their folders. */
bool bundle_put_json(struct bundle *b, const char *name, const char *text);
/* Writes all that is listed into one ZIP archive; the same files give the same bytes. */
bool bundle_zip(struct bundle *b, const char *path);
/* Removes the folder with all that is in it. */
void bundle_close(struct bundle *b);

#endif
