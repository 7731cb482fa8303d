/* runner: starts fgc-device, and speaks with it: one JSON object a line each way; tensors and plans
 * lie in memory that both have mapped. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/parent.h"
#include "gpu/runner.h"

enum { TIME_LIMIT_S = 60, PLAN_ROOM = 64 << 20 };

struct runner_process {
    struct session *s;
    const struct gpu_search *search;
    pid_t pid; /* 0: none */
    int in, out, memory;
    unsigned char *shared;
    size_t shared_bytes, tensor_bytes;
    struct buf line; /* of the answer, as far as it came */
    char *why;
};

static void say(struct runner_process *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void say(struct runner_process *p, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    free(p->why);
    p->why = strdup(text);
}

const char *runner_why(const struct runner *r)
{
    return r->p->why ? r->p->why : "";
}

void runner_say(struct runner *r, const char *why)
{
    say(r->p, "%s", why);
}

/* ---- the process ------------------------------------------------------------------------------
 */

static void stop(struct runner_process *p, int *status)
{
    if (!p->pid) return;
    close(p->in);
    close(p->out);
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, status, 0) < 0 && errno == EINTR) {
    }
    p->pid = 0;
    p->line.n = 0;
}

static bool start(struct runner_process *p)
{
    const char *path = helper_path(p->s, "fgc-device");
    int in[2], out[2];
    if (!path || access(path, X_OK) != 0) {
        say(p, "the program that runs plans, '%s', is not there", path ? path : "fgc-device");
        return false;
    }
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        say(p, "cannot start '%s': %s", path, strerror(errno));
        return false;
    }
    p->pid = fork();
    if (p->pid == 0) {
        char *argv[] = {(char *)"fgc-device", NULL};
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_DFL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        if (p->memory == 3)
            fcntl(3, F_SETFD, 0);
        else
            dup2(p->memory, 3);
        execv(path, argv); /* with the environment: it says which GPU is seen */
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p->in = in[1];
    p->out = out[0];
    if (p->pid > 0) return true;
    p->pid = 0;
    say(p, "cannot start '%s': %s", path, strerror(errno));
    return false;
}

static bool put(struct runner_process *p, json_t *j)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    char *text = json_dumps(j, JSON_COMPACT);
    size_t n = strlen(text), at = 0;
    text[n] = '\n';
    sigaction(SIGPIPE, &ignore, &before);
    while (at <= n) {
        ssize_t k = write(p->in, text + at, n + 1 - at);
        if (k < 0 && errno != EINTR) break;
        if (k > 0) at += (size_t)k;
    }
    sigaction(SIGPIPE, &before, NULL);
    free(text);
    json_decref(j);
    return at > n;
}

/* The next line of the answer; NULL at its end, or, with *late, when the time is over. */
static json_t *get(struct runner_process *p, int seconds, bool *late)
{
    int64_t deadline = helper_now_ms() + (int64_t)seconds * 1000;
    *late = false;
    for (;;) {
        char part[65536], *end = p->line.n ? memchr(p->line.at, '\n', p->line.n) : NULL;
        if (end) {
            size_t n = (size_t)(end - p->line.at);
            json_t *j = json_loadb(p->line.at, n, 0, NULL);
            memmove(p->line.at, end + 1, p->line.n - n - 1);
            p->line.n -= n + 1;
            return j;
        }
        struct pollfd one = {p->out, POLLIN, 0};
        int64_t left = deadline - helper_now_ms();
        if (left <= 0) {
            *late = true;
            return NULL;
        }
        if (poll(&one, 1, (int)left) < 0 && errno != EINTR) return NULL;
        if (!one.revents) continue;
        ssize_t k = read(p->out, part, sizeof part);
        if (k > 0) buf_put(&p->line, part, (size_t)k);
        if (k == 0 || (k < 0 && errno != EINTR)) return NULL;
    }
}

/* Sends a command and takes its answer into *answer, to be released. */
static enum runner_status ask(struct runner_process *p, json_t *j, json_t **answer)
{
    bool late = false;
    int status = 0;
    *answer = NULL;
    if (!p->pid) {
        json_decref(j);
        say(p, "the device's process has ended");
        return RUNNER_CRASH;
    }
    if (put(p, j)) *answer = get(p, TIME_LIMIT_S, &late);
    if (late) {
        stop(p, &status);
        say(p, "not done after %d s", TIME_LIMIT_S);
        return RUNNER_HANG;
    }
    if (!*answer) {
        stop(p, &status);
        if (WIFSIGNALED(status))
            say(p, "the process ended by signal %d", WTERMSIG(status));
        else
            say(p, "the process ended");
        return RUNNER_CRASH;
    }
    const char *why = json_string_value(json_object_get(*answer, "refused"));
    bool broken = json_is_true(json_object_get(*answer, "broken"));
    if (why) say(p, "%s", why);
    if (broken) stop(p, &status);
    return broken ? RUNNER_CRASH : why ? RUNNER_REFUSED : RUNNER_OK;
}

static enum runner_status ask_plainly(struct runner_process *p, json_t *j)
{
    json_t *answer;
    enum runner_status st = ask(p, j, &answer);
    json_decref(answer);
    return st;
}

/* Starts the process and lets it find its libraries; its introduction. */
static json_t *greet(struct runner_process *p, bool python)
{
    json_t *hello;
    if (!start(p)) return NULL;
    enum runner_status st = ask(p,
                                json_pack("{s:o, s:o}", "cudnn",
                                          search_cudnn(p->s, p->search, python), "nvrtc",
                                          search_nvrtc(p->s, p->search, python)),
                                &hello);
    if (st == RUNNER_OK) return hello;
    json_decref(hello);
    int status;
    stop(p, &status);
    return NULL;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static const char *text_of(struct arena *a, const json_t *j, const char *key)
{
    const char *t = json_string_value(json_object_get(j, key));
    return t ? arena_strdup(a, t) : "";
}

struct runner *runner_open(struct session *s, const struct gpu_search *o)
{
    struct runner *r = NEW(s->arena, struct runner);
    struct runner_process *p = r->p = NEW(s->arena, struct runner_process);
    p->s = s;
    p->search = o;
    p->memory = memfd_create("fgc", MFD_CLOEXEC);
    json_t *hello = p->memory >= 0 ? greet(p, false) : NULL;
    if (!hello && p->memory >= 0 && search_may_ask_python(o)) hello = greet(p, true);
    if (!hello) {
        diag(s, DIAG_no_device, NO_SPAN, "no plan can be run here: %s",
             p->why ? p->why : strerror(errno));
        runner_close(r);
        return NULL;
    }
    r->name = text_of(s->arena, hello, "name");
    r->uuid = text_of(s->arena, hello, "uuid");
    r->sm = (int)json_integer_value(json_object_get(hello, "sm"));
    r->multiprocessors = (int)json_integer_value(json_object_get(hello, "multiprocessors"));
    r->driver = (int)json_integer_value(json_object_get(hello, "driver"));
    r->memory_bytes = json_integer_value(json_object_get(hello, "memory_bytes"));
    r->cudnn_version = json_integer_value(json_object_get(hello, "cudnn"));
    const char *description = json_string_value(json_object_get(hello, "device"));
    struct target t;
    if (description && !target_check(s->arena, description, &t)) r->description = t.json;
    json_decref(hello);
    return r;
}

void runner_close(struct runner *r)
{
    struct runner_process *p = r->p;
    int status;
    stop(p, &status);
    if (p->shared) munmap(p->shared, p->shared_bytes);
    if (p->memory >= 0) close(p->memory);
    buf_fini(&p->line);
    free(p->why);
    *p = (struct runner_process){.memory = -1};
}

/* ---- jobs -------------------------------------------------------------------------------------
 */

static bool grow(struct runner_process *p, size_t bytes)
{
    if (bytes <= p->shared_bytes) return true;
    if (ftruncate(p->memory, (off_t)bytes) != 0) return false;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->memory, 0);
    if (at == MAP_FAILED) return false;
    if (p->shared) munmap(p->shared, p->shared_bytes);
    p->shared = at;
    p->shared_bytes = bytes;
    return true;
}

bool runner_layout(struct runner *r, runner_tensors_vec *tensors)
{
    size_t at = PLAN_ROOM; /* plans lie before */
    for (size_t i = 0; i < tensors->n; i++) {
        tensors->at[i].at = at;
        if (tensors->at[i].bytes > SIZE_MAX / 4 - at) return false;
        at += (tensors->at[i].bytes + 4095) / 4096 * 4096;
    }
    r->p->tensor_bytes = at;
    if (grow(r->p, at)) return true;
    say(r->p, "no room for the tensors: %zu bytes", at);
    return false;
}

void *runner_bytes(struct runner *r, size_t at)
{
    return r->p->shared + at;
}

/* The process may have been ended by the plan before. */
static bool alive(struct runner_process *p)
{
    if (p->pid) return true;
    json_t *hello = greet(p, search_may_ask_python(p->search));
    json_decref(hello);
    return hello != NULL;
}

static json_t *value_json(const struct runner_value_at *v)
{
    char hex[17] = "";
    for (size_t k = 0; k < v->bytes && k < 8; k++) snprintf(hex + 2 * k, 3, "%02x", v->value[k]);
    return json_pack("{s:I, s:s}", "uid", (json_int_t)v->uid, "hex", hex);
}

enum runner_status runner_begin(struct runner *r, const runner_tensors_vec *tensors,
                                const runner_values_vec *values)
{
    json_t *t = json_array(), *v = json_array();
    for (size_t i = 0; i < tensors->n; i++)
        json_array_append_new(
            t, json_pack("{s:I, s:I, s:I, s:b}", "uid", (json_int_t)tensors->at[i].uid, "bytes",
                         (json_int_t)tensors->at[i].bytes, "at", (json_int_t)tensors->at[i].at,
                         "output", tensors->at[i].output));
    for (size_t i = 0; i < values->n; i++)
        json_array_append_new(v, value_json(&values->at[i]));
    if (!alive(r->p)) {
        json_decref(t);
        json_decref(v);
        return RUNNER_GONE;
    }
    return ask_plainly(r->p,
                       json_pack("{s:s, s:o, s:o}", "do", "begin", "tensors", t, "values", v));
}

enum runner_status runner_fresh(struct runner *r)
{
    return ask_plainly(r->p, json_pack("{s:s}", "do", "fresh"));
}

enum runner_status runner_load(struct runner *r, int slot, const char *plan, size_t n,
                               int64_t workspace)
{
    if (n > PLAN_ROOM || !grow(r->p, PLAN_ROOM)) {
        say(r->p, "the plan has %zu bytes, %d are the most", n, PLAN_ROOM);
        return RUNNER_REFUSED;
    }
    memcpy(r->p->shared, plan, n);
    return ask_plainly(r->p,
                       json_pack("{s:s, s:i, s:i, s:I, s:I}", "do", "load", "slot", slot, "at", 0,
                                 "bytes", (json_int_t)n, "workspace", (json_int_t)workspace));
}

void runner_unload(struct runner *r, int slot)
{
    if (r->p->pid) ask_plainly(r->p, json_pack("{s:s, s:i}", "do", "unload", "slot", slot));
}

enum runner_status runner_run(struct runner *r, int slot)
{
    return ask_plainly(r->p, json_pack("{s:s, s:i}", "do", "run", "slot", slot));
}

enum runner_status runner_time(struct runner *r, int slot, double at_most_us, double *us,
                               double *mhz)
{
    json_t *answer;
    enum runner_status st = ask(
        r->p, json_pack("{s:s, s:i, s:f}", "do", "time", "slot", slot, "at_most_us", at_most_us),
        &answer);
    *us = json_number_value(json_object_get(answer, "us"));
    *mhz = json_number_value(json_object_get(answer, "mhz"));
    json_decref(answer);
    return st;
}

enum runner_status runner_wall(struct runner *r, int slot, struct runner_wall *out)
{
    json_t *answer;
    enum runner_status st = ask(r->p, json_pack("{s:s, s:i}", "do", "wall", "slot", slot), &answer);
    out->call_us = json_number_value(json_object_get(answer, "call_us"));
    out->host_us = json_number_value(json_object_get(answer, "host_us"));
    out->replay_us = json_number_value(json_object_get(answer, "replay_us"));
    json_decref(answer);
    return st;
}

enum runner_status runner_copy(struct runner *r, int64_t bytes, double *us)
{
    json_t *answer;
    *us = 0;
    if (!alive(r->p)) return RUNNER_GONE;
    enum runner_status st = ask(
        r->p, json_pack("{s:s, s:I}", "do", "copy", "bytes", (json_int_t)bytes), &answer);
    *us = json_number_value(json_object_get(answer, "us"));
    json_decref(answer);
    return st;
}

/* ---- programs ---------------------------------------------------------------------------------
 */

static json_t *arg_json(const struct runner_arg *a)
{
    if (a->kind == RUNNER_VALUE) return value_json(&a->value);
    return json_pack("{s:I, s:I, s:I}", "uid", (json_int_t)a->uid,
                     a->kind == RUNNER_TENSOR ? "tensor" : "buffer", (json_int_t)a->of, "offset",
                     (json_int_t)a->offset);
}

static json_t *launch_json(const struct runner_launch *l)
{
    json_t *args = json_array();
    for (size_t i = 0; i < l->args.n; i++) json_array_append_new(args, arg_json(&l->args.at[i]));
    if (!l->kernel) return json_pack("{s:i, s:o}", "plan", l->plan, "args", args);
    return json_pack("{s:s, s:I, s:I, s:o}", "kernel", l->kernel, "first", (json_int_t)l->first,
                     "count", (json_int_t)l->count, "args", args);
}

enum runner_status runner_program(struct runner *r, int slot, const struct runner_program *p)
{
    size_t n = p->text ? strlen(p->text) : 0;
    json_t *buffers = json_array(), *launches = json_array();
    if (n > PLAN_ROOM || !grow(r->p, PLAN_ROOM)) {
        json_decref(buffers);
        json_decref(launches);
        say(r->p, "the plain kernels' text has %zu bytes, %d are the most", n, PLAN_ROOM);
        return RUNNER_REFUSED;
    }
    if (n) memcpy(r->p->shared, p->text, n);
    for (size_t i = 0; i < p->buffers.n; i++)
        json_array_append_new(buffers, json_integer((json_int_t)p->buffers.at[i]));
    for (size_t i = 0; i < p->launches.n; i++)
        json_array_append_new(launches, launch_json(&p->launches.at[i]));
    return ask_plainly(r->p, json_pack("{s:s, s:i, s:i, s:I, s:b, s:o, s:o}", "do", "program",
                                       "slot", slot, "at", 0, "bytes", (json_int_t)n, "contract",
                                       p->contract, "buffers", buffers, "launches", launches));
}

enum runner_status runner_launch(struct runner *r, int slot, size_t from, size_t to)
{
    return ask_plainly(r->p, json_pack("{s:s, s:i, s:I, s:I}", "do", "launch", "slot", slot,
                                       "from", (json_int_t)from, "to", (json_int_t)to));
}

enum runner_status runner_fetch(struct runner *r, int slot, int buffer, size_t n)
{
    return ask_plainly(r->p, json_pack("{s:s, s:i, s:i, s:I}", "do", "fetch", "slot", slot,
                                       "buffer", buffer, "bytes", (json_int_t)n));
}
