/* pending: stands in for rooms on their way; goes when the last of them is here. */
#include "driver/driver.h"
#define WEAK __attribute__((weak))
WEAK int cmd_show(struct session *s, const struct options *o) { (void)s; (void)o; return 70; }
WEAK int cmd_target(struct session *s, const struct options *o) { (void)s; (void)o; return 70; }
WEAK int cmd_doctor(struct session *s, const struct options *o) { (void)s; (void)o; return 70; }
int cmd_check_plan(struct session *s, const struct options *o, const char *path);
WEAK int cmd_check_plan(struct session *s, const struct options *o, const char *path) { (void)s; (void)o; (void)path; return 70; }
WEAK bool plan_encode(struct session *s, struct arena *a, const struct plan *p, char **bytes, size_t *n) { (void)s; (void)a; (void)p; (void)bytes; (void)n; return false; }
WEAK bool plan_decode(struct session *s, struct arena *a, const char *name, const char *bytes, size_t n, struct plan *out) { (void)s; (void)a; (void)name; (void)bytes; (void)n; (void)out; return false; }
