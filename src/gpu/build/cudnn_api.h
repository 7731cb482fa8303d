/* cudnn_api: cuDNN's functions, looked up in a library that is opened at run time, and the words
 * for its enumerations. */
#ifndef FGC_GPU_BUILD_CUDNN_API_H
#define FGC_GPU_BUILD_CUDNN_API_H

#include <cudnn_graph.h>
#include <jansson.h>

#include "desc/desc.h"

#define CUDNN_FUNCTIONS(F)                                                        \
    F(cudnnGetVersion)                                                            \
    F(cudnnGetErrorString)                                                        \
    F(cudnnGetLastErrorString) F(cudnnSetCallback) F(cudnnCreate) F(cudnnDestroy) \
        F(cudnnBackendCreateDescriptor) F(cudnnBackendDestroyDescriptor)          \
            F(cudnnBackendSetAttribute) F(cudnnBackendGetAttribute) F(cudnnBackendFinalize)

/* Everything the helper has opened. One object, passed down. */
struct cudnn {
#define MEMBER(name) __typeof__(&name) name;
    CUDNN_FUNCTIONS(MEMBER)
#undef MEMBER
    struct arena *arena;
    json_t *reasons;      /* lines the callback collected since cudnn_listen, cause first */
    char *status;         /* status name of the first of them */
    cudnnHandle_t handle; /* host builds only */
};

/* Opens cuDNN, its sub-libraries and NVRTC from the request's candidate lists and writes what was
 * tried and found into reply ("tried", "found"). False when there is no usable cuDNN. */
bool libraries_open(struct cudnn *c, const json_t *request, json_t *reply);
/* Every mapped file whose name is that of a cuDNN or CUDA library, as "mapped". */
void libraries_report(json_t *reply);

/* Starts collecting the reasons of the next calls. */
void cudnn_listen(struct cudnn *c);
/* Takes the text of the last error; also empties it, for it outlives later successes. */
char *cudnn_last_error(struct cudnn *c);
/* "NOT_SUPPORTED_LAYOUT" */
const char *status_word(struct cudnn *c, cudnnStatus_t status);

cudnnDataType_t word_data_type(const char *word, bool *ok);
int64_t word_value(enum desc_type type, const char *word, bool *ok); /* any enumeration */
const char *numerical_word(struct arena *a, int note);
const char *behavior_word(struct arena *a, int note);

/* tree.c: the descriptor tree as handles. The operation graph, finalized; NULL with *refused the id
 * of the descriptor that was refused ("graph" for the whole). */
cudnnBackendDescriptor_t tree_build(struct cudnn *c, const struct desc_graph *g,
                                    const char **refused, cudnnStatus_t *status);

/* scrub.c: a serialized plan with everything taken out that is not of the plan: slots that are
 * rewritten at launch, words that point into this process, the device's own name and numbers. */
char *scrub_plan(struct arena *a, char *plan, size_t n, const char *target);
/* Clears the bytes of parameter blocks in which the two plans differ. False when they differ
 * elsewhere. */
bool scrub_compare(struct arena *a, char *plan, const char *other);

#endif
