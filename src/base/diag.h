/* diag: what diag.c and diag_json.c share. */
#ifndef FGC_DIAG_H
#define FGC_DIAG_H

#include "base/base.h"

/* {"kind": "diagnostic", ...} on one line. */
void diag_put_json(struct session *s, const struct diag *d, FILE *to);
/* {"kind": "repeat", "command": ...} on one line. */
void diag_put_json_command(const char *command, FILE *to);
/* The SARIF 2.1.0 document of all kept diagnostics; command: what repeats the run, or NULL. */
void diag_put_sarif(struct session *s, const char *command, FILE *to);

#endif
