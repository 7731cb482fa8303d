/* cmd_bundle: everything that repeats a compilation, in one archive: the sources with what they
 * import, the target's description, versions, what doctor finds, what compiling says, and what the
 * helper is asked.
 *
 * Invariant: the compilation that is recorded is done in the archive's own folder with the command
 * that is in its repro.sh, so the log is what whoever unpacks it gets, and no path of this machine
 * is in either. The archive is made whether or not compiling works. */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zip.h>

#include "driver/bundle.h"

typedef VEC(const char *) strings_vec;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *absolute(struct session *s, const char *path)
{
    char *real = realpath(path, NULL);
    const char *kept = real ? arena_strdup(s->arena, real) : NULL;
    free(real);
    return kept;
}

/* ---- what is packed ------------------------------------------------------------------------------ */

/* How much of a and b, up to a slash, is the same. */
static size_t common_folder(const char *a, const char *b, size_t n)
{
    size_t slash = 0;
    for (size_t i = 0; i < n && a[i] && a[i] == b[i]; i++)
        if (a[i] == '/') slash = i + 1;
    return slash;
}

/* The sources that were read, below source/ as they lie to each other. Those that are no files (the
 * library that fgc carries) come with fgc. *main_name: what the operand is called there. */
static bool put_sources(struct bundle *b, const struct session *read, const char *operand,
                        const char **main_name)
{
    strings_vec paths = {0};
    size_t common = SIZE_MAX;
    *main_name = NULL;
    for (size_t i = 0; i < read->sources.n; i++) {
        const char *path = absolute(b->s, read->sources.at[i]->name);
        vec_push(b->s->arena, &paths, path);
        if (path && common == SIZE_MAX) common = common_folder(path, path, strlen(path));
        if (path) common = common_folder(path, paths.at[0] ? paths.at[0] : path, common);
    }
    for (size_t i = 0; i < paths.n; i++) {
        const struct source *src = read->sources.at[i];
        bool is_stdin = strcmp(src->name, "<stdin>") == 0;
        if (!paths.at[i] && !is_stdin) continue;
        const char *below = is_stdin ? "stdin.fg" : paths.at[i] + common;
        const char *name = arena_printf(b->s->arena, "source/%s", below);
        if (!bundle_put(b, name, src->text, src->len)) return false;
        if (is_stdin || strcmp(src->name, operand) == 0) *main_name = name;
    }
    return *main_name != NULL;
}

struct words {
    struct bundle *b;
    strings_vec repro, here; /* the command's words; those that hold for this machine alone */
    bool ok;
};

/* Options that name what is written, or where this machine has things. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"--output", "--target", "--quiet", "--color",
                                      "--launcher", "--launcher-plan",
                                      "--depend", "--depfile"};
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (strcmp(name, own[i]) == 0) return true;
    return false;
}

static bool is_machine(const char *name)
{
    return strcmp(name, "--cudnn") == 0 || strcmp(name, "--cuda") == 0 ||
           strcmp(name, "--no-python") == 0;
}

static void add_option(void *ctx, const char *name, const char *value)
{
    struct words *w = ctx;
    struct arena *a = w->b->s->arena;
    if (is_own(name)) return;
    strings_vec *to = is_machine(name) ? &w->here : &w->repro;
    const char *path = value && to == &w->repro ? absolute(w->b->s, value) : NULL;
    char *bytes;
    size_t n;
    if (path && access(value, R_OK) == 0 && file_read(w->b->s, value, &bytes, &n)) {
        value = arena_printf(a, "files/%s", base_name(path));
        w->ok &= bundle_put(w->b, value, bytes, n);
    } else if (to == &w->repro && value && strchr(value, '/')) {
        return; /* a place that whoever unpacks the archive does not have */
    } else if (to == &w->here && value) {
        const char *real = absolute(w->b->s, value);
        value = real ? real : value;
    }
    vec_push(a, to, arena_strdup(a, name));
    if (value) vec_push(a, to, arena_strdup(a, value));
}

/* The target's description, and the words that name it. */
static bool put_target(struct bundle *b, const struct options *o, const struct target *t,
                       strings_vec *words)
{
    const char *name = arena_printf(b->s->arena, "target/%s.json", t->name), *spec = name;
    if (!t->json) spec = o->target; /* it could not be read: so it is told */
    if (t->host) spec = "host";
    if (!spec) return true;
    vec_push(b->s->arena, words, "--target");
    vec_push(b->s->arena, words, spec);
    return !t->json || bundle_put(b, name, t->json, strlen(t->json));
}

static bool put_versions(struct bundle *b, const struct options *o)
{
    struct gpu_search search = driver_search(o);
    struct gpu_probe p = {0};
    struct utsname u = {0};
    struct buf t = {0};
    search.sent = NULL;
    bool probed = gpu_probe(b->s, &search, true, &p);
    uname(&u);
    buf_printf(&t, "fgc %s\nlibzip %s\njansson %s\n%s\nlibc %s\n%s %s %s\n", PACKAGE_VERSION,
               zip_libzip_version(), jansson_version_str(), OpenSSL_version(OPENSSL_VERSION),
               gnu_get_libc_version(), u.sysname, u.release, u.machine);
    static const char *const names[N_GPU_LIBS] = {"cuDNN", "NVRTC", "CUDA runtime", "CUDA driver"};
    for (int i = 0; probed && i < N_GPU_LIBS; i++)
        if (p.lib[i].version) buf_printf(&t, "%s %s\n", names[i], p.lib[i].version);
    for (int i = 0; i < p.n_devices; i++) buf_printf(&t, "GPU %d: %s\n", i, p.device[i].name);
    bool ok = bundle_put_text(b, "versions.txt", t.at, t.n);
    buf_fini(&t);
    return ok;
}

static bool put_script(struct bundle *b, const strings_vec *words)
{
    struct buf t = {0};
    buf_puts(&t, "#!/bin/sh\n"
                 "# Repeats the compilation of this archive: ./repro.sh [OPTION...]\n"
                 "# FGC names the program; FGC_CUDNN and FGC_CUDA say where the libraries are.\n"
                 "cd \"$(dirname \"$0\")\" && mkdir -p made && exec \"${FGC:-fgc}\"");
    for (size_t i = 0; i < words->n; i++) {
        buf_puts(&t, " ");
        shell_word(&t, words->at[i]);
    }
    buf_puts(&t, " \"$@\"\n");
    bool ok = bundle_put(b, "repro.sh", t.at, t.n);
    buf_fini(&t);
    return ok;
}

static bool put_readme(struct bundle *b)
{
    static const char text[] =
        "Made by fgc bundle. repro.sh repeats the compilation.\n\n"
        "source/       the specification, with what it imports\n"
        "target/       the description of the GPU\n"
        "files/        other files that options name\n"
        "log.txt       what compiling printed where this was made, and its exit status\n"
        "request-*     what the program that builds plans was asked, in this order\n"
        "doctor.txt    what 'fgc doctor' found there\n"
        "versions.txt  of fgc and of what it stands on\n\n"
        "Of the paths of that machine only the last parts are kept; source/ and files/ are as they "
        "were.\n";
    return bundle_put(b, "README.txt", text, sizeof text - 1);
}

/* ---- what is run -------------------------------------------------------------------------------- */

/* Runs `fgc WORDS` in this process with its output into folder/name. The exit status, -1 when the
 * output cannot be kept. */
static int captured(struct bundle *b, const char *name, const strings_vec *words,
                    words_vec *requests)
{
    struct session *s = session_new();
    struct options o;
    words_vec sent = {0};
    const char *path = arena_printf(b->s->arena, "%s/%s.part", b->folder, name);
    char **argv = NEW_N(s->arena, char *, words->n + 2), *bytes;
    size_t n;
    argv[0] = (char *)"fgc";
    for (size_t i = 0; i < words->n; i++) argv[i + 1] = arena_strdup(s->arena, words->at[i]);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO), fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    FILE *to = fd >= 0 ? fdopen(fd, "a") : NULL;
    if (saved < 0 || !to || dup2(fd, STDOUT_FILENO) < 0) {
        diag(b->s, DIAG_file, NO_SPAN, "cannot write '%s': %s", path, strerror(errno));
        session_free(s);
        return -1;
    }
    int status = 0;
    if (options_parse(s, (int)words->n + 1, argv, &o)) {
        s->werror = o.werror;
        o.requests = &sent;
        status = (o.command == CMD_doctor ? cmd_doctor : cmd_compile)(s, &o);
    }
    fflush(stdout);
    diag_flush(s, to);
    if (session_exit_status(s)) status = session_exit_status(s);
    if (o.command == CMD_compile) fprintf(to, "exit status %d\n", status);
    fclose(to);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    for (size_t i = 0; requests && i < sent.n; i++)
        vec_push(b->s->arena, requests, arena_strdup(b->s->arena, sent.at[i]));
    session_free(s);
    return file_read(b->s, path, &bytes, &n) && bundle_put_text(b, name, bytes, n) ? status : -1;
}

static void hide(struct bundle *b, const char *folder)
{
    const char *real = folder ? absolute(b->s, folder) : NULL;
    if (folder && strlen(folder) > 1) vec_push(b->s->arena, &b->hidden, folder);
    if (real && strlen(real) > 1) vec_push(b->s->arena, &b->hidden, real);
}

/* Everything but the archive itself, in the bundle's folder. The exit status of compiling, or -1. */
static int fill(struct bundle *b, const struct options *o, const char *operand)
{
    struct session *read = session_new();
    struct gpu_search search = driver_search(o);
    struct target t;
    const char *main_name = NULL;
    bool known = target_load(read, o->target ? o->target : "nvidia-h200", &search, &t);
    driver_module(read, o, operand, known ? &t : NULL);
    bool ok = put_sources(b, read, operand, &main_name);
    if (!main_name) { /* it could not be read */
        diag_flush(read, stderr);
        diag(b->s, DIAG_file, NO_SPAN, "there is nothing to pack: '%s' cannot be read", operand);
        ok = false;
    }
    struct words w = {.b = b, .ok = ok};
    vec_push(b->s->arena, &w.repro, main_name);
    if (ok) w.ok = put_target(b, o, &t, &w.repro);
    if (w.ok) options_each(o, CMD_compile, add_option, &w);
    session_free(read);
    static const char *const outputs[] = {"-q", "-o", "made/model.plan", "--launcher",
                                          "made/model.c"};
    for (size_t i = 0; i < (o->launcher ? 5 : 3); i++)
        vec_push(b->s->arena, &w.repro, outputs[i]);
    if (!w.ok || !put_script(b, &w.repro) || !put_readme(b) || !put_versions(b, o)) return -1;
    strings_vec doctor = {0};
    vec_push(b->s->arena, &doctor, "doctor");
    for (size_t i = 0; i < w.here.n; i++) {
        vec_push(b->s->arena, &doctor, w.here.at[i]);
        vec_push(b->s->arena, &w.repro, w.here.at[i]);
    }
    words_vec requests = {0};
    if (chdir(b->folder) != 0 || mkdir("made", 0700) != 0) return -1;
    int status = captured(b, "log.txt", &w.repro, &requests);
    if (status < 0 || captured(b, "doctor.txt", &doctor, NULL) < 0) return -1;
    for (size_t i = 0; i < requests.n; i++)
        if (!bundle_put_json(b, arena_printf(b->s->arena, "request-%zu.json", i + 1),
                             requests.at[i]))
            return -1;
    return status;
}

int cmd_bundle(struct session *s, const struct options *o)
{
    if (o->operands.n != 1) {
        diag(s, DIAG_usage, NO_SPAN, "one FILE is needed, got %zu", o->operands.n);
        return 0;
    }
    const char *operand = o->operands.at[0];
    size_t stem = strlen(base_name(operand));
    if (stem > 3 && strcmp(base_name(operand) + stem - 3, ".fg") == 0) stem -= 3;
    const char *out = o->output.n ? o->output.at[o->output.n - 1]
                                  : arena_printf(s->arena, "%.*s.bundle.zip", (int)stem,
                                                 base_name(operand));
    struct bundle b;
    char *here = getcwd(NULL, 0);
    if (!here || !bundle_open(&b, s)) {
        free(here);
        return 3;
    }
    hide(&b, b.folder);
    hide(&b, here);
    hide(&b, getenv("HOME"));
    hide(&b, o->cudnn);
    hide(&b, o->cuda);
    int status = fill(&b, o, operand);
    bool ok = status >= 0 && chdir(here) == 0 && bundle_zip(&b, out);
    bundle_close(&b);
    free(here);
    if (!ok && s->n_errors == 0)
        diag(s, DIAG_file, NO_SPAN, "cannot write '%s': %s", out, strerror(errno));
    if (ok && strcmp(out, "-") != 0)
        printf("%s: %zu files; compiling ended with exit status %d\n", out, b.names.n, status);
    return ok ? 0 : 3;
}
