/* reasons: what cuDNN says of its refusals, taken from its callback and its last-error text.
 *
 * cuDNN 9 hands the callback, inside the failing call, a list of NUL-ended lines closed by an empty
 * one: the chain of conditions that failed, innermost first, then the C++ call path, which is
 * always alike and is dropped. The first line's status is finer than the one the call returns. */
#include <stdlib.h>

#include "gpu/build/engines.h"

enum { MOST_LINES = 12 };

/* Names of functions that only pass a refusal on. */
static bool is_call_path(const char *reason)
{
    static const char *const path[] = {"finalize_internal()", "ptrDesc->finalize()",
                                       "check_for_support()", "ptr->isSupported()",
                                       "isSupported()",       "ptr.isSupported()"};
    for (size_t i = 0; i < COUNT_OF(path); i++)
        if (strcmp(reason, path[i]) == 0) return true;
    return false;
}

/* "   Warning: CUDNN_STATUS_X; Reason: text" -> X and text; false for other lines. */
static bool split(struct arena *a, const char *line, char **status, char **reason)
{
    const char *st = strstr(line, "CUDNN_STATUS_"), *re = strstr(line, "Reason: ");
    if (!st || !re || st > re) return false;
    st += strlen("CUDNN_STATUS_");
    re += strlen("Reason: ");
    *status = arena_strndup(a, st, strcspn(st, "; \n"));
    size_t n = strlen(re);
    while (n && (re[n - 1] == '\n' || re[n - 1] == '\r' || re[n - 1] == ' ')) n--;
    *reason = arena_strndup(a, re, n);
    return true;
}

static void on_message(cudnnSeverity_t severity, void *data, const cudnnDebug_t *debug,
                       const char *message)
{
    struct cudnn *c = data;
    (void)severity;
    if (!debug || debug->cudnnStatus == CUDNN_STATUS_SUCCESS) return; /* a greeting at first use */
    for (const char *line = message; *line; line += strlen(line) + 1) {
        char *status, *reason;
        if (!split(c->arena, line, &status, &reason)) continue;
        if (strcmp(status, "SUCCESS") == 0) continue; /* the greeting, kept until a call fails */
        if (!c->status) c->status = status;
        if (!is_call_path(reason) && json_array_size(c->reasons) < MOST_LINES)
            json_array_append_new(c->reasons, json_string(reason));
    }
}

void cudnn_listen(struct cudnn *c)
{
    cudnn_last_error(c);
    c->reasons = json_array();
    c->status = NULL;
    c->cudnnSetCallback(CUDNN_SEV_WARNING_EN | CUDNN_SEV_ERROR_EN, c, on_message);
}

char *cudnn_last_error(struct cudnn *c)
{
    enum { MOST = 256 * 1024 };
    char *text = arena_alloc(c->arena, MOST);
    c->cudnnGetLastErrorString(text, MOST - 1);
    return text;
}

/* Engines made for other GPUs, which nobody can do anything about. */
static bool is_architecture(const char *status, const char *reason)
{
    if (status && strstr(status, "ARCH_MISMATCH")) return true;
    return reason &&
           ((strstr(reason, "engine is only supported") && strstr(reason, "Blackwell")) ||
            strstr(reason, "is not enabled for") || strstr(reason, "deviceVer") ||
            strstr(reason, "sm_version") || strstr(reason, "_10X") || strstr(reason, "_12X"));
}

static json_t *refusal(json_int_t engine)
{
    return json_pack("{s:I, s:s, s:[], s:b}", "engine", engine, "status", "NOT_SUPPORTED",
                     "reasons", "architecture", 0);
}

static bool listed(const json_t *refusals, json_int_t engine)
{
    size_t i;
    json_t *r;
    json_array_foreach((json_t *)refusals, i, r)
        if (json_integer_value(json_object_get(r, "engine")) == engine) return true;
    return false;
}

/* After a retrieval of no configuration the last-error text has, for each that was tried, a line
 * {"engineId":..} and its reasons. */
void reasons_from_text(struct arena *a, const char *text, json_t *refusals)
{
    json_t *now = NULL;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        char *line = arena_strndup(a, p, n), *status, *reason;
        p += n + (p[n] == '\n');
        const char *id = strstr(line, "\"engineId\":");
        if (id) {
            json_int_t engine = strtoll(id + strlen("\"engineId\":"), NULL, 10);
            now = engine < 0 || listed(refusals, engine) ? NULL
                                                         : refusal(engine); /* -1: a place holder */
            if (now) json_array_append_new(refusals, now);
            continue;
        }
        if (!now || !split(a, line, &status, &reason) || is_call_path(reason)) continue;
        json_t *reasons = json_object_get(now, "reasons");
        if (json_array_size(reasons) == 0) json_object_set_new(now, "status", json_string(status));
        if (json_array_size(reasons) < MOST_LINES)
            json_array_append_new(reasons, json_string(reason));
        if (is_architecture(status, reason)) json_object_set_new(now, "architecture", json_true());
    }
}
