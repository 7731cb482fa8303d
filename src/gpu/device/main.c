/* fgc-device: runs plans on GPU 0 for a parent that speaks with it, one JSON object a line each
 * way, over standard input and output; tensors travel in the memory behind descriptor 3. See
 * gpu/device.h.
 *
 * Invariant: every answer is about the command before it; after an error that leaves the device's
 * context unusable the process says so and ends, so that the next one starts clean. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "gpu/device/runner.h"

static void reply(json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT);
    size_t n = strlen(text);
    text[n] = '\n';
    for (size_t at = 0; at <= n;) {
        ssize_t k = write(STDOUT_FILENO, text + at, n + 1 - at);
        if (k < 0 && errno != EINTR) _exit(1);
        if (k > 0) at += (size_t)k;
    }
    free(text);
    json_decref(j);
}

/* One line, NULL at the end. */
static json_t *command(FILE *from)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n = getline(&line, &room, from);
    json_t *j = n > 0 ? json_loadb(line, (size_t)n, 0, NULL) : NULL;
    free(line);
    return j;
}

/* The shared memory as large as it is now; the parent lets it grow between commands. */
static bool map_shared(struct runner *r)
{
    struct stat st;
    if (fstat(3, &st) != 0 || st.st_size < 0) return false;
    if ((size_t)st.st_size == r->shared_bytes) return true;
    if (r->shared) munmap(r->shared, r->shared_bytes);
    r->shared_bytes = (size_t)st.st_size;
    r->shared = r->shared_bytes
                    ? mmap(NULL, r->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0)
                    : NULL;
    return r->shared != MAP_FAILED;
}

/* Faults on purpose, for tests of who must live with them: FGC_TEST_FAULT=corrupt:2,hang:3,crash:4,
 * by slot. */
static const char *planted(int64_t slot)
{
    static const char *const kinds[] = {"corrupt", "hang", "crash"};
    const char *asked = getenv("FGC_TEST_FAULT");
    for (const char *p = asked; p && *p; p += strcspn(p, ","), p += *p == ',')
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {
            size_t n = strlen(kinds[i]);
            if (strncmp(p, kinds[i], n) == 0 && p[n] == ':' && strtoll(p + n + 1, NULL, 10) == slot)
                return kinds[i];
        }
    return "";
}

static json_t *run(struct runner *r, int64_t slot)
{
    const char *fault = planted(slot);
    if (strcmp(fault, "crash") == 0) abort();
    while (strcmp(fault, "hang") == 0) pause();
    json_t *out = runner_run(r, slot);
    if (strcmp(fault, "corrupt") == 0) runner_corrupt(r);
    return out;
}

static json_t *serve(struct runner *r, const json_t *j)
{
    const char *what = json_string_value(json_object_get(j, "do"));
    int64_t slot = json_integer_value(json_object_get(j, "slot"));
    if (!what) return json_pack("{s:s}", "refused", "no command");
    if (!map_shared(r)) return json_pack("{s:s}", "refused", "the shared memory cannot be mapped");
    if (strcmp(what, "begin") == 0) return runner_begin(r, j);
    if (strcmp(what, "load") == 0) return runner_load(r, slot, j);
    if (strcmp(what, "run") == 0) return run(r, slot);
    if (strcmp(what, "time") == 0)
        return runner_time(r, slot, json_number_value(json_object_get(j, "at_most_us")));
    if (strcmp(what, "wall") == 0) return runner_wall(r, slot);
    if (strcmp(what, "copy") == 0)
        return runner_copy(r, json_integer_value(json_object_get(j, "bytes")));
    if (strcmp(what, "program") == 0) return runner_program(r, slot, j);
    if (strcmp(what, "launch") == 0)
        return runner_launch(r, slot, json_integer_value(json_object_get(j, "from")),
                             json_integer_value(json_object_get(j, "to")));
    if (strcmp(what, "fetch") == 0) return runner_fetch(r, slot, j);
    if (strcmp(what, "fresh") == 0) return runner_fresh(r);
    if (strcmp(what, "unload") == 0) return runner_unload(r, slot);
    return json_pack("{s:s}", "refused", "an unknown command");
}

int main(void)
{
    struct arena *arena = arena_new();
    struct runner *r = NEW(arena, struct runner);
    r->arena = arena;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    json_t *first = command(stdin), *hello = runner_open(r, first);
    bool ok = !json_object_get(hello, "refused");
    reply(hello);
    if (!ok) return 0;
    for (json_t *j; (j = command(stdin)) != NULL; json_decref(j)) {
        json_t *out = serve(r, j);
        if (r->broken) json_object_set_new(out, "broken", json_true());
        reply(out);
        if (r->broken) _exit(0);
    }
    _exit(0); /* the driver frees what the process has */
}
