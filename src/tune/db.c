/* db: the folder that remembers what tuning found.
 *
 * Invariant: a reader sees whole files or none, whoever writes at the same time and wherever a
 * writer stops: a file is written under a name that no reader looks at, synced, and renamed (NFS
 * keeps both promises). An entry is written after the plan that it names. What a reader takes is in
 * the one form that the writer has, carries its own checksum, and its key is equal in every part.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tune/internal.h"

#define ENTRY_FORMAT 1

bool is_sha256(const char *s)
{
    return s && strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

char *json_text(struct arena *a, const json_t *j, size_t *n)
{
    struct buf b = {0};
    json_print(j, &b);
    buf_puts(&b, "\n");
    *n = b.n;
    char *text = arena_strndup(a, b.at, b.n);
    buf_fini(&b);
    return text;
}

/* ---- a pick as JSON ------------------------------------------------------------------------- */

static json_t *words_json(const words_vec *w)
{
    json_t *j = json_array();
    for (size_t i = 0; i < w->n; i++) json_array_append_new(j, json_string(w->at[i]));
    return j;
}

json_t *pick_json(const struct tune_pick *p)
{
    json_t *knobs = json_array();
    for (size_t i = 0; i < p->knobs.n; i++)
        json_array_append_new(knobs, json_pack("[I, I]", (json_int_t)p->knobs.at[i].type,
                                               (json_int_t)p->knobs.at[i].value));
    return json_pack("{s:I, s:o, s:o, s:o, s:I, s:s, s:I}", "engine", (json_int_t)p->engine,
                     "knobs", knobs, "numerical", words_json(&p->numerical), "behavior",
                     words_json(&p->behavior), "workspace_bytes", (json_int_t)p->workspace_bytes,
                     "plan", p->plan, "plan_bytes", (json_int_t)p->plan_bytes);
}

static bool read_words(struct arena *a, const json_t *list, words_vec *out)
{
    size_t i;
    json_t *w;
    if (!json_is_array(list)) return false;
    json_array_foreach((json_t *)list, i, w) {
        if (!json_is_string(w)) return false;
        vec_push(a, out, arena_strdup(a, json_string_value(w)));
    }
    return true;
}

const char *pick_read(struct arena *a, const json_t *j, struct tune_pick *out)
{
    json_t *knobs = NULL, *numerical = NULL, *behavior = NULL, *pair;
    json_int_t engine, workspace, bytes;
    const char *plan;
    size_t i;
    *out = (struct tune_pick){0};
    if (json_unpack((json_t *)j, "{s:I, s:o, s:o, s:o, s:I, s:s, s:I !}", "engine", &engine,
                    "knobs", &knobs, "numerical", &numerical, "behavior", &behavior,
                    "workspace_bytes", &workspace, "plan", &plan, "plan_bytes", &bytes) != 0)
        return "its pick is not engine, knobs, notes, workspace and plan";
    if (engine < 0 || workspace < 0 || bytes < 0 || (*plan && !is_sha256(plan)))
        return "its pick has a number or a hash out of range";
    if (!json_is_array(knobs)) return "its knobs are not a list";
    json_array_foreach(knobs, i, pair) {
        json_int_t type, value;
        if (json_unpack(pair, "[I, I !]", &type, &value) != 0) return "a knob is not a pair";
        vec_push(a, &out->knobs, ((struct knob){type, value}));
    }
    if (!read_words(a, numerical, &out->numerical) || !read_words(a, behavior, &out->behavior))
        return "its notes are not lists of words";
    out->engine = engine;
    out->workspace_bytes = workspace;
    out->plan_bytes = bytes;
    snprintf(out->plan, sizeof out->plan, "%s", plan);
    return NULL;
}

/* ---- an entry's text ------------------------------------------------------------------------ */

static char *entry_text(struct arena *a, const struct tune_entry *e, size_t *n)
{
    json_t *j = json_pack("{s:i, s:o, s:o, s:{s:f, s:f, s:f, s:f}, s:s, s:s, s:I, s:I}", "fgc_tune",
                          ENTRY_FORMAT, "key", key_json(&e->key, false), "pick",
                          pick_json(&e->pick), "figures", "median_us", e->figures.median, "low_us",
                          e->figures.low, "high_us", e->figures.high, "first_us", e->figures.first,
                          "tree", e->tree, "search", e->search, "listed", (json_int_t)e->listed,
                          "timed", (json_int_t)e->timed);
    char *body = json_text(a, j, n), digest[65];
    sha256_hex(body, *n, digest);
    json_object_set_new(j, "checksum", json_string(digest));
    char *text = json_text(a, j, n);
    json_decref(j);
    return text;
}

static const char *read_key(struct arena *a, json_t *j, struct tune_key *out)
{
    int lowering, policy, deterministic;
    json_int_t cudnn, workspace, driver;
    const char *region, *target, *nvrtc;
    if (json_unpack(j, "{s:i, s:s, s:s, s:I, s:s, s:I, s:b, s:i, s:I !}", "lowering", &lowering,
                    "region", &region, "target", &target, "cudnn", &cudnn, "nvrtc", &nvrtc,
                    "workspace_limit", &workspace, "deterministic", &deterministic, "policy",
                    &policy, "driver", &driver) != 0)
        return "its key lacks a part";
    if (lowering != TUNE_LOWERING) return "it is of another revision of fgc's lowering";
    if (policy != TUNE_POLICY) return "it was measured another way";
    *out = (struct tune_key){.region = arena_strdup(a, region),
                             .target = arena_strdup(a, target),
                             .cudnn = cudnn,
                             .nvrtc = arena_strdup(a, nvrtc),
                             .driver = driver,
                             .workspace_limit = workspace,
                             .deterministic = deterministic};
    return NULL;
}

static const char *read_parts(struct arena *a, json_t *j, struct tune_entry *out)
{
    int format;
    json_t *key, *pick;
    json_int_t listed, timed;
    const char *tree, *search;
    struct tune_figures *f = &out->figures;
    if (json_unpack(j, "{s:i, s:o, s:o, s:{s:F, s:F, s:F, s:F !}, s:s, s:s, s:I, s:I !}",
                    "fgc_tune", &format, "key", &key, "pick", &pick, "figures", "median_us",
                    &f->median, "low_us", &f->low, "high_us", &f->high, "first_us", &f->first,
                    "tree", &tree, "search", &search, "listed", &listed, "timed", &timed) != 0)
        return "it lacks a part";
    if (format != ENTRY_FORMAT) return "it is of another format";
    if (!is_sha256(tree)) return "its tree is not a hash";
    out->tree = arena_strdup(a, tree);
    out->search = arena_strdup(a, search);
    out->listed = listed;
    out->timed = timed;
    const char *why = read_key(a, key, &out->key);
    if (!why) why = pick_read(a, pick, &out->pick);
    return why ? why : out->pick.plan[0] ? NULL : "it names no plan";
}

/* NULL when the text is sound: its checksum holds and it is what entry_text writes. */
static const char *entry_read(struct arena *a, const char *text, size_t n, struct tune_entry *out)
{
    *out = (struct tune_entry){0};
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    const char *sum = json_string_value(json_object_get(j, "checksum")), *why = NULL;
    char digest[65], given[65] = "";
    size_t m;
    if (!is_sha256(sum)) {
        json_decref(j);
        return "it is cut short or not an entry";
    }
    snprintf(given, sizeof given, "%s", sum);
    json_object_del(j, "checksum");
    char *body = json_text(a, j, &m);
    sha256_hex(body, m, digest);
    if (strcmp(digest, given) != 0) why = "its checksum does not hold";
    if (!why) why = read_parts(a, j, out);
    json_decref(j);
    if (!why) {
        char *again = entry_text(a, out, &m);
        if (m != n || memcmp(again, text, n) != 0) why = "it is not in the form that fgc writes";
    }
    return why;
}

/* ---- the folder ----------------------------------------------------------------------------- */

static bool make_folder(struct session *s, const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return true;
    diag(s, DIAG_file, NO_SPAN, "cannot make the folder '%s': %s", path, strerror(errno));
    return false;
}

/* Removes what writers that were killed left under names that nobody reads, a day later:
 * "HASH.XXXXXX", "HASH.json.XXXXXX". */
static void sweep(struct session *s, const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        char name[65];
        struct stat st;
        size_t n = strlen(f->d_name);
        snprintf(name, sizeof name, "%.64s", f->d_name);
        bool left = n >= 71 && is_sha256(name) && f->d_name[n - 7] == '.' &&
                    (n == 71 || (n == 76 && strncmp(f->d_name + 64, ".json", 5) == 0));
        if (!left) continue;
        const char *path = arena_printf(s->arena, "%s/%s", dir, f->d_name);
        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && time(NULL) - st.st_mtime > 24 * 3600)
            unlink(path);
    }
    if (d) closedir(d);
}

bool tune_db_open(struct session *s, const char *dir, bool create, struct tune_db *out)
{
    struct stat st;
    out->dir = dir;
    if (create) {
        const char *plans = arena_printf(s->arena, "%s/plans", dir);
        if (!make_folder(s, dir) || !make_folder(s, plans) ||
            !make_folder(s, arena_printf(s->arena, "%s/logs", dir)))
            return false;
        sweep(s, dir);
        sweep(s, plans);
        return true;
    }
    if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)) return true;
    diag(s, DIAG_file, NO_SPAN, "cannot read the database '%s': %s", dir,
         errno ? strerror(errno) : strerror(ENOTDIR));
    return false;
}

/* Renames last across a power cut only when the folder is synced too; some file systems have no
 * such thing, which is not an error. */
static void sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

static bool put_file(struct session *s, const char *dir, const char *path, const char *bytes,
                     size_t n)
{
    if (!file_write(s, path, bytes, n)) return false;
    sync_folder(dir);
    return true;
}

static const char *entry_path(struct session *s, const struct tune_db *db, const char *name)
{
    return arena_printf(s->arena, "%s/%s.json", db->dir, name);
}

bool tune_db_put(struct session *s, const struct tune_db *db, const struct tune_entry *e)
{
    char name[65];
    size_t n;
    tune_key_name(&e->key, name);
    char *text = entry_text(s->arena, e, &n);
    return put_file(s, db->dir, entry_path(s, db, name), text, n);
}

static void warn(struct session *s, const char *path, const char *why)
{
    struct diag *d = diag(s, DIAG_tune_entry, NO_SPAN, "'%s' is passed over: %s", path, why);
    diag_hint(s, d, "it may be removed; tuning again writes it anew");
}

/* A file of the database in the arena. NULL when it is not there; a warning when it cannot be read.
 */
static char *read_file(struct session *s, const char *path, size_t *n)
{
    struct stat st;
    if (stat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR)) return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > (1 << 30)) {
        bool gone = fd < 0 && errno == ENOENT; /* replaced or removed meanwhile */
        if (!gone) warn(s, path, fd < 0 ? strerror(errno) : "not a file of at most 1 GiB");
        if (fd >= 0) close(fd);
        return NULL;
    }
    size_t cap = (size_t)st.st_size, got = 0;
    char *bytes = arena_alloc(s->arena, cap + 1);
    while (got < cap) {
        ssize_t k = read(fd, bytes + got, cap - got);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) break;
        got += (size_t)k;
    }
    close(fd);
    *n = got;
    return bytes;
}

static bool keys_equal(const struct tune_key *x, const struct tune_key *y)
{
    return strcmp(x->region, y->region) == 0 && strcmp(x->target, y->target) == 0 &&
           x->cudnn == y->cudnn && strcmp(x->nvrtc, y->nvrtc) == 0 &&
           (x->workspace_limit < 0 ? -1 : x->workspace_limit) ==
               (y->workspace_limit < 0 ? -1 : y->workspace_limit) &&
           x->deterministic == y->deterministic && x->driver == y->driver;
}

/* Reads one entry; its name must be that of its key. */
static bool read_entry(struct session *s, const struct tune_db *db, const char *name, bool quiet,
                       struct tune_entry *out)
{
    size_t n;
    const char *path = entry_path(s, db, name);
    char *text = read_file(s, path, &n), own[65];
    if (!text) return false;
    const char *why = entry_read(s->arena, text, n, out);
    if (!why) {
        tune_key_name(&out->key, own);
        if (strcmp(own, name) != 0) why = "it is the entry of another key";
    }
    if (why && !quiet) warn(s, path, why);
    return why == NULL;
}

/* Calls back for every sound entry. */
static void each_entry(struct session *s, const struct tune_db *db,
                       void (*see)(void *, const struct tune_entry *), void *data)
{
    DIR *d = opendir(db->dir);
    for (struct dirent *f; d && (f = readdir(d));) {
        char name[65];
        struct tune_entry e;
        if (strlen(f->d_name) != 69 || strcmp(f->d_name + 64, ".json") != 0) continue;
        snprintf(name, sizeof name, "%.64s", f->d_name);
        if (is_sha256(name) && read_entry(s, db, name, true, &e)) see(data, &e);
    }
    if (d) closedir(d);
}

struct wanted {
    struct tune_key key;
    struct tune_entry best;
    bool found;
};

static void see_newest(void *data, const struct tune_entry *e)
{
    struct wanted *w = data;
    w->key.driver = e->key.driver;
    if (!keys_equal(&w->key, &e->key) || (w->found && w->best.key.driver >= e->key.driver)) return;
    w->best = *e;
    w->found = true;
}

bool tune_db_get(struct session *s, const struct tune_db *db, const struct tune_key *key,
                 struct tune_entry *out)
{
    char name[65];
    if (key->driver) {
        tune_key_name(key, name);
        return read_entry(s, db, name, false, out) && keys_equal(&out->key, key);
    }
    struct wanted w = {.key = *key};
    each_entry(s, db, see_newest, &w);
    *out = w.best;
    return w.found;
}

struct near {
    struct arena *a;
    const struct tune_key *key;
    const char *text;
};

static void see_near(void *data, const struct tune_entry *e)
{
    struct near *n = data;
    const struct tune_key *k = n->key, *has = &e->key;
    if (n->text || strcmp(k->region, has->region) != 0) return;
    if (strcmp(k->target, has->target) != 0)
        n->text = "it has one for another target";
    else if (k->cudnn != has->cudnn)
        n->text = arena_printf(n->a, "it has one for cuDNN %lld, here is %lld",
                               (long long)has->cudnn, (long long)k->cudnn);
    else if (strcmp(k->nvrtc, has->nvrtc) != 0)
        n->text = arena_printf(n->a, "it has one for NVRTC '%s', here is '%s'", has->nvrtc,
                               k->nvrtc);
    else if (k->deterministic != has->deterministic || k->workspace_limit != has->workspace_limit)
        n->text = arena_printf(n->a, "it has one with %s and a workspace limit of %lld bytes",
                               has->deterministic ? "--deterministic" : "no --deterministic",
                               (long long)has->workspace_limit);
    else if (k->driver != has->driver)
        n->text = arena_printf(n->a, "it has one for driver %lld, here is %lld",
                               (long long)has->driver, (long long)k->driver);
}

const char *tune_db_near(struct session *s, const struct tune_db *db, const struct tune_key *key)
{
    struct near n = {.a = s->arena, .key = key};
    each_entry(s, db, see_near, &n);
    return n.text;
}

/* ---- plans by content ------------------------------------------------------------------------ */

bool tune_plan_put(struct session *s, const char *dir, const char *bytes, size_t n, char hash[65])
{
    sha256_hex(bytes, n, hash);
    const char *path = arena_printf(s->arena, "%s/%s", dir, hash);
    size_t have;
    char *old = read_file(s, path, &have);
    if (old && have == n && memcmp(old, bytes, n) == 0) return true;
    return put_file(s, dir, path, bytes, n);
}

char *tune_plan_get(struct session *s, const char *dir, const char *hash, size_t *n)
{
    const char *path = arena_printf(s->arena, "%s/%s", dir, hash);
    char *bytes = read_file(s, path, n), digest[65];
    if (!bytes) return NULL;
    sha256_hex(bytes, *n, digest);
    if (strcmp(digest, hash) == 0) return bytes;
    warn(s, path, "its bytes are not those that its name says");
    return NULL;
}
