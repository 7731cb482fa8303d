/* runner: a GPU's memory, loaded plans and their timing, inside fgc-device. */
#ifndef FGC_GPU_DEVICE_RUNNER_H
#define FGC_GPU_DEVICE_RUNNER_H

#include "gpu/build/cudnn_api.h"
#include "gpu/device/cuda_api.h"

enum { RUNNER_SLOTS = 4096, RUNNER_SETS = 64, RUNNER_TENSORS = 512 };

struct runner_tensor {
    int64_t uid;
    size_t bytes, at; /* at: offset in the shared memory */
    bool output;
};
struct runner_program; /* program.c */
struct runner_slot {    /* a plan or a program */
    struct runner_program *program;
    cudnnBackendDescriptor_t plan;
    CUdeviceptr workspace;
    cudnnBackendDescriptor_t pack[RUNNER_SETS]; /* NULL: not made for the present memory */
    CUgraphExec graph;
    int calls;     /* in the graph */
    double one_us; /* a call, estimated */
};
struct runner {
    struct arena *arena;
    struct cudnn c;
    struct cuda cu;
    cudnnStatus_t (*execute)(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t);
    cudnnStatus_t (*set_stream)(cudnnHandle_t, CUstream);
    int (*clock)(void *device, int kind, unsigned *mhz); /* NVML; NULL: not known */
    void *nvml_device;
    CUstream stream;
    CUevent begin, end;
    int driver, sm;
    size_t l2_bytes;
    unsigned char *shared;
    size_t shared_bytes;
    /* the job at hand */
    struct runner_tensor tensor[RUNNER_TENSORS];
    int n_tensors;
    int64_t value_uid[RUNNER_TENSORS];
    unsigned char value[RUNNER_TENSORS][8];
    int n_values;
    int n_sets;
    CUdeviceptr memory[RUNNER_SETS][RUNNER_TENSORS];
    struct runner_slot *slot[RUNNER_SLOTS];
    bool broken; /* the context is unusable */
};

/* Each gives the answer to one command. */
json_t *runner_open(struct runner *r, const json_t *request);
json_t *runner_begin(struct runner *r, const json_t *job);
json_t *runner_fresh(struct runner *r);
json_t *runner_load(struct runner *r, int64_t slot, const json_t *how);
json_t *runner_unload(struct runner *r, int64_t slot);
json_t *runner_run(struct runner *r, int64_t slot);
json_t *runner_time(struct runner *r, int64_t slot, double at_most_us);
/* Host microseconds of a call: alone and waited for, enqueued, and replayed as a graph of one. */
json_t *runner_wall(struct runner *r, int64_t slot);
/* Microseconds to copy so many bytes from one place of the device's memory to another. */
json_t *runner_copy(struct runner *r, int64_t bytes);
/* program.c: kernels compiled from text and plans of other slots, one after the other as one call.
 */
json_t *runner_program(struct runner *r, int64_t slot, const json_t *how);
json_t *runner_launch(struct runner *r, int64_t slot, int64_t from, int64_t to);
json_t *runner_fetch(struct runner *r, int64_t slot, const json_t *how);
/* Launches `from` up to `to` on a set of memory; to < 0: all. NULL, or what went wrong. */
json_t *program_call(struct runner *r, struct runner_slot *s, int set, int64_t from, int64_t to);
void program_forget(struct runner *r, struct runner_program *p); /* packs of the present memory */
void program_free(struct runner *r, struct runner_program *p);
bool runner_value(const json_t *j, unsigned char out[8]); /* "hex" */
/* time.c: a finished variant pack. */
cudnnStatus_t runner_pack(struct runner *r, CUdeviceptr workspace, int n, const int64_t *uid,
                          void *const *at, cudnnBackendDescriptor_t *out);
/* The slot's plan or program once, on the set. NULL, or what went wrong. */
json_t *runner_call(struct runner *r, struct runner_slot *s, int set);
/* The answer for what went wrong; notices when the context is lost. */
json_t *runner_cuda(struct runner *r, CUresult e, const char *what);
json_t *runner_cudnn(struct runner *r, cudnnStatus_t st, const char *what);
/* Spoils the outputs of the last runner_run, there and as they were fetched. */
void runner_corrupt(struct runner *r);

#endif
