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
struct runner_slot {
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
    int driver;
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
/* The answer for what went wrong; notices when the context is lost. */
json_t *runner_cuda(struct runner *r, CUresult e, const char *what);
json_t *runner_cudnn(struct runner *r, cudnnStatus_t st, const char *what);
/* Spoils the outputs that runner_run has fetched. */
void runner_corrupt(struct runner *r);

#endif
