/* parent: what the files of the calling process's side share. */
#ifndef FGC_GPU_PARENT_H
#define FGC_GPU_PARENT_H

#include <jansson.h>

#include "gpu/gpu.h"

/* Adds the candidate lists of the search to the request, runs fgc-build, and returns its answer.
 * NULL with a diagnostic when it cannot run, hangs or answers nonsense. */
json_t *helper_ask(struct session *s, const struct gpu_search *o, json_t *request,
                   int time_limit_s);
/* [{where, path}...] for each library, in the order to be tried; python: with python3's packages.
 */
json_t *search_cudnn(struct session *s, const struct gpu_search *o, bool python);
json_t *search_nvrtc(struct session *s, const struct gpu_search *o, bool python);
/* Where a program of libexec is: beside this one, or installed. */
const char *helper_path(struct session *s, const char *name);
int64_t helper_now_ms(void); /* a clock that never goes back */
bool search_may_ask_python(const struct gpu_search *o);
#endif
