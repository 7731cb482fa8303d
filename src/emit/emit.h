/* emit: text made from a plan: the standalone C launcher. */
#ifndef FGC_EMIT_H
#define FGC_EMIT_H

#include "plan/plan.h"

struct emit_options {
    const char *header_name;  /* "model.h", for the #include */
    bool with_main;           /* --launcher-main */
    const char *plan_file;    /* --launcher-plan: plan bytes beside the program; NULL: inside */
    const char
        *plan_bytes; /* the whole container, when plan_file is set: for offsets and its hash */
    size_t n_plan_bytes;
};
bool emit_launcher(struct session *s, const struct plan *p, const struct emit_options *o,
                   struct buf *c_file, struct buf *h_file);

#endif
