/* fake_device: the program fgc with a device that plays back a script, for tests of tuning where
 * there is no GPU. Linked before the library, it takes the place of tune/device.c.
 *
 * FAKE_DEVICE names the script, a line a candidate: ID time US | crash STAGE | hang STAGE | wrong |
 * mistrusted | refused STAGE, with STAGE load, check or time; '*' is every other candidate.
 * FAKE_NOISE is the relative noise of a sample, FAKE_SLEEP_MS how long one takes, FAKE_SEED the
 * day's luck, FAKE_TRACE a file that gets a line for each sample. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "tune/internal.h"

enum { SLOTS = 4096 };

struct fake {
    struct tune_device device;
    struct session *s;
    const char *id[SLOTS]; /* of what is loaded */
    char *script;
    double noise, sleep_ms;
    uint64_t z;
    const char *why;
};

static double setting(const char *name, double none)
{
    const char *text = getenv(name);
    return text ? strtod(text, NULL) : none;
}

/* The candidate's line after its id. */
static const char *line_of(const struct fake *f, const char *id)
{
    const char *all = "time 100";
    for (const char *p = f->script; p && *p;) {
        size_t n = strcspn(p, " \n");
        const char *rest = p + n + (p[n] == ' ');
        if (strlen(id) == n && memcmp(p, id, n) == 0) return rest;
        if (n == 1 && *p == '*') all = rest;
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return all;
}

static bool says(const char *line, const char *word, const char *stage)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 &&
           (!stage || (line[n] == ' ' && strncmp(line + n + 1, stage, strlen(stage)) == 0));
}

static enum run_status play(struct fake *f, const char *id, const char *stage)
{
    const char *line = line_of(f, id);
    enum run_status st = RUN_OK;
    if (says(line, "crash", stage)) st = RUN_CRASH, f->why = "the process ended by signal 11";
    if (says(line, "hang", stage)) st = RUN_HANG, f->why = "no answer after 1 s";
    if (says(line, "refused", stage)) st = RUN_REFUSED, f->why = "the driver refused the kernel";
    if (st == RUN_CRASH || st == RUN_HANG) memset(f->id, 0, sizeof f->id);
    return st;
}

static enum run_status begin(void *self, const struct tune_job *j, uint64_t seed)
{
    struct fake *f = self;
    (void)j;
    (void)seed;
    memset(f->id, 0, sizeof f->id);
    return RUN_OK;
}

static enum run_status load(void *self, int slot, const struct tune_pick *p, const char *plan,
                            size_t n)
{
    struct fake *f = self;
    char hash[65];
    sha256_hex(plan, n, hash);
    if (strcmp(hash, p->plan) != 0 || slot >= SLOTS) return RUN_REFUSED;
    f->id[slot] = pick_id(f->s->arena, p);
    return play(f, f->id[slot], "load");
}

static enum run_status check(void *self, struct arena *a, int slot, struct tune_check *out)
{
    struct fake *f = self;
    const char *line = line_of(f, f->id[slot]);
    (void)a;
    *out = (struct tune_check){CHECK_PASSED, 0.25, NULL};
    if (says(line, "wrong", NULL))
        *out = (struct tune_check){CHECK_WRONG, 1e9, "output 'y' at [0, 3]"};
    if (says(line, "mistrusted", NULL))
        *out = (struct tune_check){CHECK_MISTRUSTED, 0.5, "the bound is as wide as the values"};
    return play(f, f->id[slot], "check");
}

static enum run_status run(void *self, int slot, double at_most_us, struct tune_sample *out)
{
    struct fake *f = self;
    const char *id = f->id[slot], *trace = getenv("FAKE_TRACE");
    enum run_status st = id ? play(f, id, "time") : RUN_REFUSED;
    (void)at_most_us;
    if (!id) f->why = "nothing is loaded there";
    if (st != RUN_OK) return st;
    f->z = f->z * 6364136223846793005u + 1442695040888963407u;
    double us = says(line_of(f, id), "time", NULL) ? strtod(line_of(f, id) + 5, NULL) : 100;
    out->us = us * (1 + f->noise * ((double)(f->z >> 33) / 2147483648.0 - 0.5));
    out->mhz = 1980;
    struct timespec t = {0, (long)(f->sleep_ms * 1e6)};
    nanosleep(&t, NULL);
    FILE *to = trace ? fopen(trace, "a") : NULL;
    if (to) fprintf(to, "%s\n", id), fclose(to);
    return RUN_OK;
}

static enum run_status fresh(void *self, uint64_t seed)
{
    (void)self;
    (void)seed;
    return RUN_OK;
}

static void unload(void *self, int slot)
{
    ((struct fake *)self)->id[slot] = NULL;
}

static const char *why(void *self)
{
    return ((struct fake *)self)->why;
}

static void finish(void *self)
{
    (void)self;
}

struct tune_device *tune_device_open(struct session *s, const struct gpu_search *o,
                                     tune_judge_fn *judge)
{
    struct fake *f = NEW(s->arena, struct fake);
    const char *path = getenv("FAKE_DEVICE"), *uuid = getenv("FAKE_UUID");
    size_t n;
    (void)o;
    (void)judge;
    f->s = s;
    if (path && !file_read(s, path, &f->script, &n)) return NULL;
    f->noise = setting("FAKE_NOISE", 0.01);
    f->sleep_ms = setting("FAKE_SLEEP_MS", 0);
    f->z = (uint64_t)setting("FAKE_SEED", 1) * 977;
    f->device = (struct tune_device){.self = f,
                                     .uuid = uuid ? uuid : "fake",
                                     .name = "fake GPU",
                                     .begin = begin,
                                     .load = load,
                                     .check = check,
                                     .time = run,
                                     .fresh = fresh,
                                     .unload = unload,
                                     .why = why,
                                     .close = finish};
    return &f->device;
}
