/* cmd_lsp: the language server: what it says of a file is what `fgc check` says.
 *
 * Invariant: only the protocol is written to standard output; whatever else this process prints there
 * goes to standard error. */
#include "driver/driver.h"
#include "lsp/lsp.h"

#include <signal.h>
#include <unistd.h>

struct checker {
    const struct options *o;
    const struct target *target;
};

static void check(void *self, struct session *s, struct source *src, struct sema_index *index)
{
    const struct checker *c = self;
    struct module *m = driver_analyse(s, c->o, src, c->target, index);
    struct compiled lowered;
    for (size_t i = 0; m && i < m->graphs.n; i++) pipeline_lower(s, m->graphs.at[i], &lowered);
}

int cmd_lsp(struct session *s, const struct options *o)
{
    struct target t;
    struct gpu_search search = driver_search(o);
    if (o->operands.n > 0) {
        diag(s, DIAG_usage, NO_SPAN, "fgc lsp takes no file: the editor sends them");
        return 0;
    }
    if (!target_load(s, o->target ? o->target : "nvidia-h200", &search, &t)) return 0;
    struct checker c = {o, &t};
    struct lsp_host host = {&c, PACKAGE_VERSION, check};
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        diag(s, DIAG_file, NO_SPAN, "standard output cannot be duplicated");
        return 0;
    }
    signal(SIGPIPE, SIG_IGN); /* a client that is gone is seen by write() */
    int status = lsp_serve(s, &host, STDIN_FILENO, out);
    close(out);
    return status;
}
