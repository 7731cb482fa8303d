/* fgc-build: the helper that builds plans. A request comes on standard input, its answer goes to
 * standard output, both JSON; nothing else is read or written.
 *
 * Invariant: each heuristics query and each plan for a described target has a process of its own,
 * forked from one that has opened the libraries and built nothing; so a plan's bytes do not depend
 * on what was built before, and an engine that crashes or hangs costs only itself. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/build/device.h"
#include "gpu/build/engines.h"
#include "gpu/build/layout.h"
#include "gpu/gpu.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *t = json_string_value(json_object_get(o, key));
    return t ? t : "";
}

static bool flag(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

/* ---- a process of its own for each piece of work ------------------------------------------ */

struct work {
    struct cudnn *c;
    struct build *b;
    const json_t *config; /* the plan of this one; else: */
    const json_t *batch;  /* which of these finalize; else: */
    bool ranges;          /* every engine and its knobs; else the heuristics query */
    int out;
};

static json_t *do_it(struct work *w)
{
    if (w->config) return engines_build(w->c, w->b, w->config);
    if (w->batch) return engines_try(w->c, w->b, w->batch);
    return w->ranges ? engines_ranges(w->c, w->b) : engines_list(w->c, w->b);
}

static bool put_json(int fd, const json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);
    for (size_t n = strlen(text), put = 0; put < n;) {
        ssize_t k = write(fd, text + put, n - put);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        put += (size_t)k;
    }
    return true;
}

static void write_json(int fd, const json_t *j)
{
    if (!put_json(fd, j)) _exit(71);
}

static void do_work(void *data)
{
    struct work *w = data;
    layout_wipe_stack();
    write_json(w->out, do_it(w));
    _exit(0);
}

static json_t *on_device(struct work *w)
{
    if (!w->c->handle && w->c->cudnnCreate(&w->c->handle) != CUDNN_STATUS_SUCCESS)
        return json_pack("{s:s, s:[s]}", "status", "NO_DEVICE", "reasons", cudnn_last_error(w->c));
    return do_it(w);
}

static json_t *read_json(int fd)
{
    struct buf b = {0};
    char part[65536];
    for (ssize_t n; (n = read(fd, part, sizeof part)) != 0;) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        buf_put(&b, part, (size_t)n);
    }
    json_t *j = b.n ? json_loadb(b.at, b.n, 0, NULL) : NULL;
    buf_fini(&b);
    return j;
}

struct child {
    pid_t pid; /* < 0: could not be started */
    int from;
    unsigned limit_s;
};

static struct child start_child(struct work *w, enum world world, unsigned limit_s)
{
    struct child c = {.pid = -1, .limit_s = limit_s};
    int ends[2];
    if (pipe(ends) != 0) return c;
    c.pid = fork();
    if (c.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        w->out = ends[1];
        alarm(limit_s);
        layout_enter(world, do_work, w);
        _exit(0);
    }
    close(ends[1]);
    c.from = ends[0];
    return c;
}

/* The same plan by this program started again for the other world; its answer is a whole reply. */
static struct child start_other(const json_t *request, const json_t *config, unsigned limit_s)
{
    struct child c = {.pid = -1, .limit_s = limit_s};
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) return c;
    c.pid = fork();
    if (c.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++) close(fd);
        layout_start_other();
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    json_t *one = json_copy((json_t *)request);
    json_object_set_new(one, "what", json_string("one"));
    json_object_set_new(one, "again", json_true());
    json_object_set(one, "engine", json_object_get(config, "engine"));
    json_object_set(one, "knobs", json_object_get(config, "knobs"));
    put_json(in[1], one); /* one that cannot start gives no answer, which is noticed */
    close(in[1]);
    json_decref(one);
    c.from = out[0];
    return c;
}

/* The child's answer; a crash or a hang becomes a status. */
static json_t *finish_child(struct child c)
{
    int status = 0;
    if (c.pid < 0)
        return json_pack("{s:s, s:[s]}", "status", "crash", "reasons", "no process can be started");
    json_t *reply = read_json(c.from);
    close(c.from);
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (reply) return reply;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return json_pack("{s:s, s:[o]}", "status", "timeout", "reasons",
                         json_sprintf("not done after %u s", c.limit_s));
    return json_pack("{s:s, s:[o]}", "status", "crash", "reasons",
                     WIFSIGNALED(status)
                         ? json_sprintf("the process ended by signal %d", WTERMSIG(status))
                         : json_sprintf("the process gave no answer"));
}

/* ---- requests ----------------------------------------------------------------------------- */

static words_vec words(struct arena *a, const json_t *list)
{
    words_vec out = {0};
    size_t i;
    json_t *word;
    json_array_foreach((json_t *)list, i, word) vec_push(a, &out, json_string_value(word));
    return out;
}

/* NULL, or why this engine is barred. */
static const char *barred(struct cudnn *c, const json_t *request, const json_t *config)
{
    struct engine_bars bars = {.deterministic = flag(request, "deterministic"),
                               .exact_f32 = flag(request, "exact_f32"),
                               .no_cublaslt = flag(request, "no_cublaslt")};
    words_vec numerical = words(c->arena, json_object_get(config, "numerical")),
              behavior = words(c->arena, json_object_get(config, "behavior"));
    return gpu_barred(&bars, &numerical, &behavior);
}

static bool is_compiled(const json_t *config)
{
    json_t *behavior = json_object_get(config, "behavior"), *note;
    size_t i;
    json_array_foreach(behavior, i, note)
        if (strcmp(json_string_value(note), "RUNTIME_COMPILATION") == 0) return true;
    return strcmp(text_of(config, "mode"), "lock") == 0; /* its notes are not known */
}

/* One plan. An engine that compiles at run time writes kernels' parameter blocks: its plan is built
 * in two worlds at once, to tell what is of the plan from what lay in memory. A real device's
 * context does not go well with another stack in another process (cudnnCreate fails there), and
 * nobody promises the bytes of its plans: that work is done here. */
static json_t *build_plan(struct work *w, const json_t *request, unsigned limit_s)
{
    if (w->b->host) return on_device(w);
    enum world world = layout_world();
    bool twice = world == WORLD_ZERO && is_compiled(w->config);
    struct child first = start_child(w, world, limit_s), second = {.pid = -1};
    if (twice) second = start_other(request, w->config, limit_s);
    json_t *one = finish_child(first), *other = twice ? finish_child(second) : NULL;
    if (world == WORLD_OTHER) return one;
    const char *plan = json_string_value(json_object_get(one, "plan"));
    json_t *there = json_array_get(json_object_get(other, "candidates"), 0);
    if (twice && !there) /* a hard limit of the stack: the libraries stay, all else moves */
        there = finish_child(start_child(w, WORLD_OTHER, limit_s));
    const char *theirs = json_string_value(json_object_get(there, "plan"));
    if (!plan || (!twice && !strstr(plan, "\"rawData\""))) return one;
    char *mine = arena_strdup(w->c->arena, plan);
    if (theirs && scrub_compare(w->c->arena, mine, theirs))
        json_object_set_new(one, "plan", json_string(mine));
    else /* elsewhere than in parameter blocks, or there was nothing to compare with */
        json_object_set_new(one, "differs", json_true());
    return one;
}

/* Not on the stack that the kernel gave, which lies alike in both worlds. */
static struct work *new_work(struct cudnn *c, struct build *b, const json_t *config)
{
    struct work *w = NEW(c->arena, struct work);
    *w = (struct work){.c = c, .b = b, .config = config};
    return w;
}

static json_t *candidate(struct cudnn *c, struct build *b, const json_t *request, json_t *config)
{
    const char *why = barred(c, request, config);
    unsigned limit = (unsigned)json_integer_value(json_object_get(request, "time_limit_s"));
    struct work *w = new_work(c, b, config);
    json_t *one = why ? json_pack("{s:s, s:[s]}", "status", "notes", "reasons", why)
                      : build_plan(w, request, limit ? limit : 300);
    /* What a list did not say of an engine is known once it is built. */
    if (!why && json_object_get(one, "numerical") && (why = barred(c, request, one))) {
        json_object_del(one, "plan");
        json_object_set_new(one, "status", json_string("notes"));
        json_object_set_new(one, "reasons", json_pack("[s]", why));
    }
    json_object_update_missing(one, config);
    return one;
}

/* cuDNN 9.19 opens cuBLASLt by name and aborts without it. Asked only after a crash: the file is
 * huge. */
static bool blas_is_missing(void)
{
    return !dlopen("libcublasLt.so.13", RTLD_LAZY) && !dlopen("libcublasLt.so.12", RTLD_LAZY);
}

/* cuDNN compares the versions of these two of its parts when the first descriptor is finalized, and
 * not before. */
static void versions_differ(json_t *reply)
{
    const char *path = text_of(json_object_get(json_object_get(reply, "found"), "cudnn"), "path");
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash - path) : 0;
    json_object_set_new(
        reply, "error",
        json_sprintf("parts of different cuDNN versions: '%.*s/libcudnn_graph.so.9' and "
                     "'%.*s/libcudnn_engines_runtime_compiled.so.9'",
                     n, path, n, path));
}

/* For doctor: finalizes a descriptor that needs no device. */
static void try_versions(struct cudnn *c, json_t *reply)
{
    cudnnBackendDescriptor_t d = NULL;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    if (c->cudnnBackendCreateDescriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR, &d) !=
        CUDNN_STATUS_SUCCESS)
        return;
    c->cudnnBackendSetAttribute(d, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    if (c->cudnnBackendFinalize(d) == CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH)
        versions_differ(reply);
}

/* Which of the configurations are barred, and why. */
static void list_configs(struct cudnn *c, const json_t *request, json_t *configs)
{
    size_t i;
    json_t *config;
    json_array_foreach(configs, i, config) {
        const char *why = barred(c, request, config);
        json_object_set_new(config, "status", json_string(why ? "notes" : "listed"));
        if (why) json_object_set_new(config, "reasons", json_pack("[s]", why));
    }
}

/* Questions that build nothing: what engines and knobs there are, which of them finalize. */
static bool survey(struct cudnn *c, struct build *b, const json_t *request, json_t *reply)
{
    const char *what = text_of(request, "what");
    bool ranges = strcmp(what, "engines") == 0;
    if (!ranges && strcmp(what, "try") != 0) return false;
    struct work *w = new_work(c, b, NULL);
    w->ranges = ranges;
    w->batch = ranges ? NULL : json_object_get(request, "configs");
    json_t *got = b->host ? on_device(w) : finish_child(start_child(w, WORLD_ZERO, 300));
    json_object_update(reply, got);
    list_configs(c, request, json_object_get(reply, "engines"));
    return true;
}

static void build_plans(struct cudnn *c, struct build *b, const json_t *request, json_t *reply)
{
    const char *what = text_of(request, "what");
    json_t *list, *candidates = json_array(), *config;
    size_t i;
    json_object_set_new(reply, "candidates", candidates);
    if (strcmp(what, "one") == 0) {
        list = json_pack("{s:[o], s:[]}", "configs",
                         json_pack("{s:s, s:i, s:O, s:O, s:[], s:[]}", "mode", "lock", "rank", 0,
                                   "engine", json_object_get(request, "engine"), "knobs",
                                   json_object_get(request, "knobs"), "numerical", "behavior"),
                         "refusals");
    } else {
        struct work *w = new_work(c, b, NULL);
        list = b->host ? on_device(w) : finish_child(start_child(w, WORLD_ZERO, 300));
    }
    if (json_object_get(list, "status")) {
        const char *why = json_string_value(json_array_get(json_object_get(list, "reasons"), 0));
        json_object_set_new(
            reply, "error",
            json_sprintf(
                "cuDNN's heuristics failed: %s%s", why,
                blas_is_missing()
                    ? "; it ends the process when libcublasLt cannot be opened, and here it cannot"
                    : ""));
        return;
    }
    json_t *refusals = json_object_get(list, "refusals");
    if (strcmp(text_of(json_array_get(refusals, 0), "status"), "SUBLIBRARY_VERSION_MISMATCH") ==
        0) {
        versions_differ(reply);
        return;
    }
    json_object_set(reply, "refusals", refusals);
    json_t *configs = json_object_get(list, "configs");
    if (strcmp(what, "list") == 0) {
        list_configs(c, request, configs);
        json_object_set(reply, "candidates", configs);
        return;
    }
    size_t usable = 0;
    json_array_foreach(configs, i, config) usable += barred(c, request, config) == NULL;
    json_object_set_new(reply, "n_supported", json_integer((json_int_t)usable));
    if (strcmp(what, "count") == 0) return;
    json_array_foreach(configs, i, config) {
        json_t *one = candidate(c, b, request, config);
        json_array_append_new(candidates, one);
        if (strcmp(what, "first") == 0 && json_object_get(one, "plan")) break;
    }
}

static bool open_standin(json_t *reply)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    if (n > 0) {
        path[n] = '\0';
        char *slash = strrchr(path, '/');
        strcpy(slash ? slash : path, "/standin/libcuda.so.1");
        if (dlopen(path, RTLD_NOW | RTLD_GLOBAL)) return true;
    }
    json_object_set_new(reply, "error",
                        json_sprintf("the stand-in for libcuda cannot be opened: %s",
                                     n > 0 ? dlerror() : "no /proc"));
    return false;
}

static void serve(struct cudnn *c, bool opened, const json_t *request, json_t *reply)
{
    const char *what = text_of(request, "what"), *tree = text_of(request, "tree"), *why = NULL;
    if (strcmp(what, "probe") == 0) {
        libraries_report(reply);
        if (opened) try_versions(c, reply);
        device_list(reply);
        return;
    }
    if (strcmp(what, "dump") == 0) {
        device_dump(c, reply);
        return;
    }
    struct build *b = NEW(c->arena, struct build);
    *b = (struct build){
        .target = text_of(request, "target"), .host = flag(request, "host"), .workspace_limit = -1};
    b->graph = desc_read(c->arena, tree, strlen(tree), &why);
    if (!b->graph) {
        json_object_set_new(reply, "error", json_sprintf("the request's descriptor tree: %s", why));
        return;
    }
    json_t *limit = json_object_get(request, "workspace_limit");
    if (limit) b->workspace_limit = json_integer_value(limit);
    if (!survey(c, b, request, reply)) build_plans(c, b, request, reply);
}

int main(int argc, char **argv)
{
    const char *why = NULL;
    (void)argc;
    layout_fix_process(argv, &why);
    if (chdir("/") != 0) return 70;
    json_t *request = read_json(STDIN_FILENO), *reply = json_pack("{}");
    if (!json_is_object(request)) {
        write_json(STDOUT_FILENO, json_pack("{s:s}", "error", "the request is not JSON"));
        return 0;
    }
    /* Where personality() is refused this is the first world again: it would start the next, without end. */
    if (flag(request, "again") && layout_world() != WORLD_OTHER) return 1;
    struct arena *arena = arena_new();
    struct cudnn *c = NEW(arena, struct cudnn); /* not on the stack that the kernel gave */
    c->arena = arena;
    signal(SIGPIPE, SIG_IGN);
    bool ok = true;
    if (!flag(request, "host")) {
        ok = open_standin(reply);
        if (ok && !layout_reserve(&why)) json_object_set_new(reply, "layout", json_string(why));
    }
    json_object_set_new(reply, "reproducible", json_boolean(why == NULL && !flag(request, "host")));
    if (why) json_object_set_new(reply, "not_reproducible_why", json_string(why));
    bool opened = ok && libraries_open(c, request, reply);
    if (opened || (ok && strcmp(text_of(request, "what"), "probe") == 0))
        serve(c, opened, request, reply);
    write_json(STDOUT_FILENO, reply);
    _exit(0);
}
