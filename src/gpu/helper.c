/* helper: runs fgc-build with an empty environment and talks to it.
 *
 * Invariant: the caller's environment, arguments and memory reach the helper only as the request; a
 * helper that hangs is killed with all that it started. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/parent.h"

/* Beside the program (a build folder), at its place below the same prefix (wherever that was moved
 * to), or where configure was told to put it. */
const char *helper_path(struct session *s, const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *given = getenv("FGC_LIBEXEC");
    if (given) return arena_printf(s->arena, "%s/%s", given, name);
    if (n <= 0) return NULL;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (!slash) return NULL;
    *slash = '\0';
    const char *beside = arena_printf(s->arena, "%s/%s", self, name);
    if (access(beside, X_OK) == 0) return beside;
    const char *below = arena_printf(s->arena, "%s/../libexec/fgc/%s", self, name),
               *placed = arena_printf(s->arena, "%s/%s", FGC_PKGLIBEXECDIR, name);
    return access(below, X_OK) == 0 || access(placed, X_OK) != 0 ? below : placed;
}

struct helper {
    pid_t pid;
    int in, out, err; /* our ends */
};

static bool start(struct session *s, struct helper *h)
{
    const char *path = helper_path(s, "fgc-build");
    int in[2], out[2], err[2];
    if (!path || access(path, X_OK) != 0) {
        struct diag *d = diag(s, DIAG_helper, NO_SPAN,
                              "the program that builds plans, '%s', is not there",
                              path ? path : "fgc-build");
        diag_hint(s, d, "FGC_LIBEXEC names the folder that holds fgc-build");
        return false;
    }
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        diag(s, DIAG_helper, NO_SPAN, "cannot start '%s': %s", path, strerror(errno));
        return false;
    }
    h->pid = fork();
    if (h->pid == 0) {
        char *argv[] = {(char *)"fgc-build", NULL}, *envp[] = {NULL};
        setpgid(0, 0); /* out of reach of the terminal's Ctrl-C, but not to outlive us */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_DFL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        execve(path, argv, envp);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    h->in = in[1];
    fcntl(h->in, F_SETFL, O_NONBLOCK); /* a helper that does not read must not hold us up */
    h->out = out[0];
    h->err = err[0];
    if (h->pid > 0) setpgid(h->pid, h->pid);
    return h->pid > 0;
}

int64_t helper_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Feeds the request and gathers both outputs until they end. False when the time is over. */
static bool talk(struct helper *h, const char *request, int64_t deadline, struct buf *out,
                 struct buf *err)
{
    size_t put = 0, n = strlen(request);
    struct pollfd p[3] = {{h->in, POLLOUT, 0}, {h->out, POLLIN, 0}, {h->err, POLLIN, 0}};
    while (p[1].fd >= 0 || p[2].fd >= 0) {
        int64_t left = deadline - helper_now_ms();
        if (left <= 0) return false;
        if (poll(p, 3, left > INT_MAX ? INT_MAX : (int)left) < 0 && errno != EINTR) return false;
        if (p[0].fd >= 0 && p[0].revents) {
            ssize_t k = write(h->in, request + put, n - put);
            if (k > 0) put += (size_t)k;
            if ((k < 0 && errno != EINTR && errno != EAGAIN) || put == n) {
                close(h->in);
                h->in = p[0].fd = -1;
            }
        }
        for (int i = 1; i < 3; i++) {
            char part[65536];
            if (p[i].fd < 0 || !p[i].revents) continue;
            ssize_t k = read(p[i].fd, part, sizeof part);
            if (k > 0)
                buf_put(i == 1 ? out : err, part, (size_t)k);
            else if (k == 0 || errno != EINTR)
                p[i].fd = -1;
        }
    }
    return true;
}

static json_t *answer(struct session *s, struct helper *h, bool in_time, int status,
                      int time_limit_s, const struct buf *out, const struct buf *err)
{
    json_t *reply = in_time && out->n ? json_loadb(out->at, out->n, JSON_REJECT_DUPLICATES, NULL)
                                      : NULL;
    (void)h;
    if (json_is_object(reply)) return reply;
    json_decref(reply);
    struct diag *d;
    if (!in_time)
        d = diag(s, DIAG_helper, NO_SPAN, "the program that builds plans was not done after %d s",
                 time_limit_s);
    else if (WIFSIGNALED(status))
        d = diag(s, DIAG_helper, NO_SPAN, "the program that builds plans ended by signal %d",
                 WTERMSIG(status));
    else
        d = diag(s, DIAG_helper, NO_SPAN,
                 "the program that builds plans gave no answer (exit status %d)",
                 WEXITSTATUS(status));
    if (err->n) diag_note(s, d, NO_SPAN, "it said: %.*s", (int)strcspn(err->at, "\n"), err->at);
    return NULL;
}

static json_t *ask_once(struct session *s, const struct gpu_search *o, json_t *request, bool python,
                        int time_limit_s)
{
    struct helper h;
    json_object_set_new(request, "cudnn", search_cudnn(s, o, python));
    json_object_set_new(request, "nvrtc", search_nvrtc(s, o, python));
    if (!start(s, &h)) return NULL;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    char *text = json_dumps(request, JSON_COMPACT);
    if (o->sent) vec_push(s->arena, o->sent, arena_strdup(s->arena, text));
    struct buf out = {0}, err = {0};
    int status = 0;
    bool in_time = talk(&h, text, helper_now_ms() + (int64_t)time_limit_s * 1000, &out, &err);
    if (!in_time) kill(-h.pid, SIGKILL);
    while (waitpid(h.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (h.in >= 0) close(h.in);
    close(h.out);
    close(h.err);
    sigaction(SIGPIPE, &before, NULL);
    json_t *reply = answer(s, &h, in_time, status, time_limit_s, &out, &err);
    free(text);
    buf_fini(&out);
    buf_fini(&err);
    return reply;
}

/* python3 takes tenths of a second to ask, so it is asked only when nothing else was found. */
json_t *helper_ask(struct session *s, const struct gpu_search *o, json_t *request, int time_limit_s)
{
    json_t *reply = ask_once(s, o, request, false, time_limit_s),
           *found = json_object_get(reply, "found");
    bool whole = json_object_get(found, "cudnn") && json_object_get(found, "nvrtc");
    if (!reply || whole || !search_may_ask_python(o)) return reply;
    json_decref(reply);
    return ask_once(s, o, request, true, time_limit_s);
}
