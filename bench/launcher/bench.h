/* What the programs of this folder share. bind.h is generated for one graph: GRAPH, its launcher's
 * header, and TENSORS(X), an X(field, uid, bytes, is_output) a tensor, in the order of the plan's
 * uids. */
#ifndef BENCH_H
#define BENCH_H

#include <cuda_runtime_api.h>
#include <cudnn_graph.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bind.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define G(suffix) JOIN(GRAPH, suffix)
#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess) {                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define CUDNN(call)                                                       \
    do {                                                                  \
        cudnnStatus_t s_ = (call);                                        \
        if (s_ != CUDNN_STATUS_SUCCESS) {                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                    cudnnGetErrorString(s_));                             \
            exit(1);                                                      \
        }                                                                 \
    } while (0)
#define FGC(m, call)                                                                            \
    do {                                                                                        \
        if ((call) != FGC_OK) {                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, G(_error_string)(m)); \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

struct tensor {
    const char *name;
    int64_t uid;
    size_t bytes;
    int is_output;
    size_t field; /* of the args */
};
#define ROW(f, id, n, out) {#f, id, n, out, offsetof(struct G(_args), f)},
static const struct tensor tensors[] = {TENSORS(ROW)};
enum { N_TENSORS = COUNT_OF(tensors), STEP = 256 };

/* bf16 noise in (-1, 1), the same for the same seed. */
static inline void *upload_noise(size_t bytes, size_t room, uint64_t seed)
{
    uint16_t *host = (uint16_t *)malloc(bytes);
    void *device = NULL;
    size_t i;
    for (i = 0; i < bytes / 2; i++) {
        float f;
        uint32_t u;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        f = (float)(int32_t)(seed >> 32) / 2147483648.0f;
        memcpy(&u, &f, sizeof u);
        host[i] = (uint16_t)(u >> 16);
    }
    CUDA(cudaMalloc(&device, bytes + room));
    CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

static inline void set_pointer(struct G(_args) * args, int tensor, void *p)
{
    memcpy((char *)args + tensors[tensor].field, &p, sizeof p);
}

/* FNV-1a of an output. */
static inline uint64_t digest(const void *device, size_t bytes, cudaStream_t stream)
{
    unsigned char *host = (unsigned char *)malloc(bytes);
    uint64_t h = 14695981039346656037u;
    size_t i;
    CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (i = 0; i < bytes; i++) h = (h ^ host[i]) * 1099511628211u;
    free(host);
    return h;
}

#endif
