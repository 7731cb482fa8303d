/* libraries: opens cuDNN and NVRTC, all parts from one folder, and says what is mapped.
 *
 * Invariant: every part that cuDNN would open later is opened here first, by its full path and in a
 * fixed order, so that none comes from elsewhere and each lies at the same address in every run. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/build/cudnn_api.h"

static void tried(json_t *reply, const char *lib, const json_t *from, const char *error)
{
    json_array_append_new(json_object_get(reply, "tried"),
                          json_pack("{s:s, s:s, s:s, s:s?}", "lib", lib, "where",
                                    json_string_value(json_object_get(from, "where")), "path",
                                    json_string_value(json_object_get(from, "path")), "error",
                                    error));
}

/* The first of the candidates that opens. */
static void *open_first(const json_t *request, const char *lib, json_t *reply)
{
    size_t i;
    json_t *from;
    json_array_foreach(json_object_get(request, lib), i, from) {
        dlerror();
        void *h = dlopen(json_string_value(json_object_get(from, "path")), RTLD_NOW | RTLD_GLOBAL);
        const char *error = h ? NULL : dlerror();
        tried(reply, lib, from, error ? error : h ? NULL : "cannot be opened");
        if (h) return h;
    }
    return NULL;
}

/* The real path of the file that `symbol` of handle h comes from. */
static char *path_of(struct arena *a, void *h, const char *symbol)
{
    Dl_info info;
    char real[PATH_MAX];
    void *at = dlsym(h, symbol);
    if (!at || !dladdr(at, &info) || !realpath(info.dli_fname, real)) return NULL;
    return arena_strdup(a, real);
}

static void found(json_t *reply, const char *lib, const char *path, const char *version)
{
    json_object_set_new(json_object_get(reply, "found"), lib,
                        json_pack("{s:s?, s:s?}", "path", path, "version", version));
}

/* The parts of cuDNN that graphs need, from the folder of libcudnn.so.9 itself. */
static bool open_parts(struct cudnn *c, const char *main_path, json_t *reply)
{
    static const char *const parts[] = {"graph", "engines_precompiled", "engines_runtime_compiled",
                                        "heuristic"};
    const char *slash = strrchr(main_path, '/');
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char *path = arena_printf(c->arena, "%.*s/libcudnn_%s.so.9", (int)(slash - main_path),
                                  main_path, parts[i]);
        if (dlopen(path, RTLD_NOW | RTLD_GLOBAL)) continue;
        json_object_set_new(
            reply, "error",
            json_sprintf("'%s' is found, but its part cannot be opened: %s", main_path, dlerror()));
        return false;
    }
    return true;
}

/* Parts that report another version than the library itself would fail late and obscurely. */
static bool check_parts(struct cudnn *c, void *h, const char *main_path, json_t *reply)
{
    static const char *const parts[][2] = {{"libcudnn_graph.so.9", "cudnnGraphVersionCheck"},
                                           {"libcudnn_engines_precompiled.so.9", NULL},
                                           {"libcudnn_engines_runtime_compiled.so.9", NULL},
                                           {"libcudnn_heuristic.so.9", NULL}};
    (void)h;
    const char *slash = strrchr(main_path, '/');
    FILE *f = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 200];
    bool ok = true;
    while (ok && f && fgets(line, sizeof line, f)) {
        char *path = strchr(line, '/');
        if (!path) continue;
        path[strcspn(path, "\n")] = '\0';
        for (size_t i = 0; i < COUNT_OF(parts); i++) {
            const char *base = strrchr(path, '/') + 1;
            size_t folder = (size_t)(base - 1 - path);
            if (strncmp(base, parts[i][0], strlen(parts[i][0])) != 0) continue;
            if (folder == (size_t)(slash - main_path) && strncmp(path, main_path, folder) == 0)
                continue;
            json_object_set_new(
                reply, "error",
                json_sprintf("parts of two cuDNN installations: '%s' and '%s'", main_path, path));
            ok = false;
        }
    }
    if (f) fclose(f);
    cudnnStatus_t (*check)(void) = NULL;
    *(void **)&check = dlsym(RTLD_DEFAULT, parts[0][1]);
    if (ok && check && check() != CUDNN_STATUS_SUCCESS) {
        json_object_set_new(
            reply, "error",
            json_sprintf("the parts of cuDNN beside '%s' are of different versions (%s)", main_path,
                         c->cudnnGetErrorString(check())));
        ok = false;
    }
    return ok;
}

static bool open_cudnn(struct cudnn *c, const json_t *request, json_t *reply)
{
    void *h = open_first(request, "cudnn", reply);
    if (!h) {
        json_object_set_new(reply, "error", json_string("no libcudnn.so.9 could be opened"));
        return false;
    }
    const char *missing = NULL;
#define LOOK(name) \
    if (!(*(void **)&c->name = dlsym(h, #name))) missing = #name;
    CUDNN_FUNCTIONS(LOOK)
#undef LOOK
    const char *path = path_of(c->arena, h, "cudnnGetVersion");
    if (missing || !path) {
        json_object_set_new(
            reply, "error",
            json_sprintf("the libcudnn found lacks '%s'; cuDNN 9.10 or newer is needed",
                         missing ? missing : "cudnnGetVersion"));
        return false;
    }
    found(reply, "cudnn", path, NULL);
    /* Before the first call: without its parts the library ends the process. */
    if (!open_parts(c, path, reply)) return false;
    size_t v = c->cudnnGetVersion();
    found(reply, "cudnn", path,
          arena_printf(c->arena, "%zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100));
    json_object_set_new(reply, "cudnn_version", json_integer((json_int_t)v));
    if (v < 91000 || v >= 100000) {
        json_object_set_new(
            reply, "error",
            json_sprintf("'%s' is cuDNN %zu.%zu.%zu; cuDNN 9.10 or a newer 9 is needed", path,
                         v / 10000, v / 100 % 100, v % 100));
        return false;
    }
    return check_parts(c, h, path, reply);
}

/* True when the user said where the library is: then it must be there. */
static bool was_named(const json_t *request, const char *lib)
{
    const char *where = json_string_value(
        json_object_get(json_array_get(json_object_get(request, lib), 0), "where"));
    return where && (strcmp(where, "option") == 0 || strncmp(where, "FGC_", 4) == 0);
}

/* NVRTC before cuDNN: cuDNN opens it by name and gets the one that is there. Without it cuDNN's
 * precompiled engines are left, unless the user named a place where it is not. */
static bool open_nvrtc(struct cudnn *c, const json_t *request, json_t *reply)
{
    void *h = open_first(request, "nvrtc", reply);
    int (*version)(int *, int *) = NULL;
    if (h) *(void **)&version = dlsym(h, "nvrtcVersion");
    int major = 0, minor = 0;
    if (!version || version(&major, &minor) != 0) {
        if (!was_named(request, "nvrtc")) return true;
        json_object_set_new(reply, "error",
                            json_string("there is no usable NVRTC in the place that was named"));
        return false;
    }
    const char *path = path_of(c->arena, h, "nvrtcVersion");
    found(reply, "nvrtc", path, arena_printf(c->arena, "%d.%d", major, minor));
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (!slash) return true;
    /* its own part, before somebody else's is found by name */
    dlopen(arena_printf(c->arena, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - path), path,
                        major, minor),
           RTLD_NOW | RTLD_GLOBAL);
    return true;
}

bool libraries_open(struct cudnn *c, const json_t *request, json_t *reply)
{
    json_object_set_new(reply, "tried", json_array());
    json_object_set_new(reply, "found", json_object());
    return open_nvrtc(c, request, reply) && open_cudnn(c, request, reply);
}

void libraries_report(json_t *reply)
{
    json_t *list = json_array();
    FILE *f = fopen("/proc/self/maps", "r");
    char line[PATH_MAX + 200], last[PATH_MAX + 200] = "";
    while (f && fgets(line, sizeof line, f)) {
        char *path = strchr(line, '/');
        if (!path) continue;
        path[strcspn(path, "\n")] = '\0';
        if (strcmp(path, last) == 0) continue;
        const char *base = strrchr(path, '/') + 1;
        if (strncmp(base, "libcudnn", 8) == 0 || strncmp(base, "libnvrtc", 8) == 0 ||
            strncmp(base, "libcuda", 7) == 0)
            json_array_append_new(list, json_string(path));
        strcpy(last, path);
    }
    if (f) fclose(f);
    json_object_set_new(reply, "mapped", list);
}
