/* search: where cuDNN and NVRTC may be, in the order they are tried.
 *
 * What the user says comes first, then the environment, the loader's own paths, the toolkit's usual
 * prefixes, a deps folder as tools/get-cudnn makes it, and last the nvidia packages of python3,
 * which has to be asked. Nothing is opened here. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/parent.h"

struct wanted {
    const char *const *names; /* sonames, best first */
    const char *python;       /* folder under nvidia/ in Python's packages */
};
static const char *const cudnn_names[] = {"libcudnn.so.9", NULL};
static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};

static void add(json_t *list, const char *where, const char *path)
{
    json_array_append_new(list, json_pack("{s:s, s:s}", "where", where, "path", path));
}

/* A folder is tried only where a file of that name is in it, save when the user named it. */
static void add_folder(struct session *s, json_t *list, const char *where, const char *folder,
                       const struct wanted *w, bool always)
{
    for (int i = 0; w->names[i]; i++) {
        const char *path = arena_printf(s->arena, "%s/%s", folder, w->names[i]);
        if (access(path, F_OK) == 0 || (always && i == 0)) add(list, where, path);
    }
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A file, a folder with the library, or a prefix with lib or lib64 in it. */
static void add_given(struct session *s, json_t *list, const char *where, const char *path,
                      const struct wanted *w)
{
    char real[PATH_MAX];
    if (realpath(path, real))
        path = arena_strdup(s->arena, real); /* the helper runs in another folder */
    if (!is_folder(path)) {
        add(list, where, path);
        return;
    }
    static const char *const below[] = {"lib", "lib64"};
    for (size_t i = 0; i < COUNT_OF(below); i++)
        add_folder(s, list, where, arena_printf(s->arena, "%s/%s", path, below[i]), w, false);
    add_folder(s, list, where, path, w, true);
}

static void add_path_list(struct session *s, json_t *list, const char *variable,
                          const struct wanted *w)
{
    const char *p = getenv(variable);
    char real[PATH_MAX];
    while (p && *p) {
        size_t n = strcspn(p, ":");
        const char *folder = arena_strndup(s->arena, p, n);
        if (n && realpath(folder, real)) /* absolute: the helper runs in another folder */
            add_folder(s, list, variable, arena_strdup(s->arena, real), w, false);
        p += n + (p[n] == ':');
    }
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*b)->d_name, (*a)->d_name);
}

static int is_toolkit(const struct dirent *d)
{
    return strncmp(d->d_name, "cuda-", 5) == 0;
}

static void add_prefixes(struct session *s, json_t *list, const struct wanted *w)
{
    static const char *const usual[] = {"/usr/local/cuda/lib", "/usr/local/cuda/lib64"};
    static const char *const others[] = {"/opt/cuda/lib64", "/usr/lib/x86_64-linux-gnu"};
    struct dirent **toolkits;
    for (size_t i = 0; i < COUNT_OF(usual); i++)
        add_folder(s, list, "CUDA prefix", usual[i], w, false);
    int n = scandir("/usr/local", &toolkits, is_toolkit, newest_first);
    for (int i = 0; i < n; i++) {
        const char *prefix = arena_printf(s->arena, "/usr/local/%s", toolkits[i]->d_name);
        add_folder(s, list, "CUDA prefix", arena_printf(s->arena, "%s/lib", prefix), w, false);
        add_folder(s, list, "CUDA prefix", arena_printf(s->arena, "%s/lib64", prefix), w, false);
        free(toolkits[i]);
    }
    if (n >= 0) free(toolkits);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        add_folder(s, list, "CUDA prefix", others[i], w, false);
}

static void add_deps(struct session *s, json_t *list, const struct wanted *w)
{
    char self[PATH_MAX], here[PATH_MAX];
    if (getcwd(here, sizeof here))
        add_folder(s, list, "deps", arena_printf(s->arena, "%s/deps/lib", here), w, false);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return;
    self[n] = '\0';
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(self, '/');
        if (!slash || slash == self) return;
        *slash = '\0';
        add_folder(s, list, "deps", arena_printf(s->arena, "%s/deps/lib", self), w, false);
    }
}

/* Python's package folders, a line each, or nothing after two seconds. */
static char *ask_python(struct session *s)
{
    static const char program[] =
        "import sys,sysconfig,site\n"
        "for p in sys.path+site.getsitepackages()+[sysconfig.get_path('purelib')]: print(p)\n";
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) return NULL;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        setpgid(0, 0);
        execlp("python3", "python3", "-c", program, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    struct buf b = {0};
    char part[4096];
    for (int left = 2000; pid > 0;) {
        struct pollfd p = {out[0], POLLIN, 0};
        if (poll(&p, 1, left) <= 0) {
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            break;
        }
        ssize_t n = read(out[0], part, sizeof part);
        if (n <= 0) break;
        buf_put(&b, part, (size_t)n);
    }
    close(out[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    char *text = arena_strndup(s->arena, b.at ? b.at : "", b.n);
    buf_fini(&b);
    return text;
}

static void add_python(struct session *s, json_t *list, const struct wanted *w)
{
    char *lines = ask_python(s);
    for (char *p = lines; p && *p;) {
        size_t n = strcspn(p, "\n");
        const char *folder = arena_strndup(s->arena, p, n);
        static const char *const inside[] = {"cu13/lib", "cu12/lib"};
        if (n)
            add_folder(s, list, "python3",
                       arena_printf(s->arena, "%s/nvidia/%s/lib", folder, w->python), w, false);
        for (size_t i = 0; n && i < COUNT_OF(inside); i++)
            add_folder(s, list, "python3",
                       arena_printf(s->arena, "%s/nvidia/%s", folder, inside[i]), w, false);
        p += n + (p[n] == '\n');
    }
}

bool search_may_ask_python(const struct gpu_search *o)
{
    return !o->no_python && !getenv("FGC_NO_PYTHON");
}

static json_t *search(struct session *s, const char *given, const char *variable,
                      const struct wanted *w, bool python)
{
    json_t *list = json_array();
    if (given) {
        add_given(s, list, "option", given, w);
        return list; /* what the user named, and nothing else */
    }
    const char *env = getenv(variable);
    if (env && *env) {
        add_given(s, list, variable, env, w);
        return list;
    }
    add_path_list(s, list, "LD_LIBRARY_PATH", w);
    for (int i = 0; w->names[i]; i++) add(list, "loader", w->names[i]);
    add_prefixes(s, list, w);
    add_deps(s, list, w);
    if (python) add_python(s, list, w);
    return list;
}

json_t *search_cudnn(struct session *s, const struct gpu_search *o, bool python)
{
    struct wanted w = {cudnn_names, "cudnn"};
    return search(s, o->cudnn, "FGC_CUDNN", &w, python);
}

/* In the folder of the cuDNN that was named, or in that of the file. */
static void add_beside(struct session *s, json_t *list, const char *cudnn, const struct wanted *w)
{
    char real[PATH_MAX];
    if (!realpath(cudnn, real)) return; /* what it names is complained of by who opens it */
    if (is_folder(real)) {
        add_given(s, list, "beside cuDNN", real, w);
        return;
    }
    *strrchr(real, '/') = '\0';
    add_folder(s, list, "beside cuDNN", arena_strdup(s->arena, real), w, false);
}

json_t *search_nvrtc(struct session *s, const struct gpu_search *o, bool python)
{
    struct wanted w = {nvrtc_names, "cuda_nvrtc"};
    json_t *list = search(s, o->cuda, "FGC_CUDA", &w, python);
    const char *env = getenv("FGC_CUDNN");
    const char *cudnn = o->cudnn ? o->cudnn : env && *env ? env : NULL;
    if (!o->cuda && cudnn) { /* NVRTC mostly lies beside cuDNN */
        json_t *beside = json_array();
        add_beside(s, beside, cudnn, &w);
        json_array_extend(beside, list);
        json_decref(list);
        list = beside;
    }
    return list;
}
