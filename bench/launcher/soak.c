/* soak: a launcher that runs for long, and in several threads. Arguments: LAUNCHES, THREADS.
 *
 * 1. LAUNCHES runs, 15 of 16 with one of 8 sets of pointers and one with a set not seen before, and
 * a CUDA graph made and destroyed each 1024 runs. Memory of the process and of the device are
 * printed after a tenth and at the end.
 * 2. THREADS threads, each with its own stream, cuDNN handle, object and data, run at once; each
 * result must be that of the same data run alone. */
#define _GNU_SOURCE
#include <pthread.h>

#include "bench.h"

enum { SETS = 8, FRESH = 4096, RUNS = 2000 };

static long resident_kb(void)
{
    long pages = 0, skipped;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &skipped, &pages) != 2) pages = -1;
    if (f) fclose(f);
    return pages * 4;
}

static void print_memory(const char *when, long launches)
{
    size_t free_bytes = 0, all = 0;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemGetInfo(&free_bytes, &all));
    printf("%s\t%ld\t%ld\t%zu\n", when, launches, resident_kb(), all - free_bytes);
    fflush(stdout);
}

static void soak(long launches)
{
    cudaStream_t stream;
    cudnnHandle_t handle;
    struct GRAPH *object = NULL;
    struct G(_graph) * graph;
    void *base[N_TENSORS], *workspace;
    struct G(_args) init = G(_ARGS_INIT), args;
    CUDA(cudaStreamCreate(&stream));
    CUDNN(cudnnCreate(&handle));
    CUDNN(cudnnSetStream(handle, stream));
    FGC(object, G(_create)(&object, handle));
    CUDA(cudaMalloc(&workspace, G(_workspace_bytes)(object) + 256));
    for (int i = 0; i < N_TENSORS; i++)
        base[i] = upload_noise(tensors[i].bytes, (FRESH + SETS) * STEP, (uint64_t)i + 1);
    for (long n = 0; n < launches; n++) {
        size_t k = n % 16 == 0 ? (size_t)(n / 16) % FRESH : (size_t)(FRESH + n % SETS);
        args = init;
        for (int i = 0; i < N_TENSORS; i++)
            set_pointer(&args, i,
                        tensors[i].is_output ? (char *)base[i] + k * STEP : (char *)base[i]);
        FGC(object, G(_run)(object, handle, &args, workspace));
        if (n % 1024 == 0) {
            FGC(object, G(_graph_create)(&graph, object, handle, &args, workspace));
            FGC(object, G(_graph_launch)(graph, stream));
            CUDA(cudaStreamSynchronize(stream));
            G(_graph_destroy)(graph);
        }
        if (n == launches / 10) print_memory("memory", n);
    }
    print_memory("memory", launches);
    G(_destroy)(object);
    CUDNN(cudnnDestroy(handle));
    for (int i = 0; i < N_TENSORS; i++) CUDA(cudaFree(base[i]));
    CUDA(cudaFree(workspace));
    CUDA(cudaStreamDestroy(stream));
}

struct job {
    int number, runs, wrong;
    uint64_t want, got;
    pthread_barrier_t *start;
};

static void *work(void *arg)
{
    struct job *job = (struct job *)arg;
    cudaStream_t stream;
    cudnnHandle_t handle;
    struct GRAPH *object = NULL;
    struct G(_args) args = G(_ARGS_INIT);
    void *at[N_TENSORS], *workspace;
    uint64_t all = 0;
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDNN(cudnnCreate(&handle));
    CUDNN(cudnnSetStream(handle, stream));
    FGC(object, G(_create)(&object, handle));
    CUDA(cudaMalloc(&workspace, G(_workspace_bytes)(object) + 256));
    for (int i = 0; i < N_TENSORS; i++)
        set_pointer(
            &args, i,
            at[i] = upload_noise(tensors[i].bytes, 0, (uint64_t)(100 * job->number + i) + 7));
    if (job->start) pthread_barrier_wait(job->start);
    for (int k = 0; k < job->runs; k++) {
        for (int i = 0; i < N_TENSORS; i++)
            if (tensors[i].is_output) CUDA(cudaMemsetAsync(at[i], 0xff, tensors[i].bytes, stream));
        FGC(object, G(_run)(object, handle, &args, workspace));
        if (k % 100 && k + 1 < job->runs) continue;
        all = 0;
        for (int i = 0; i < N_TENSORS; i++)
            if (tensors[i].is_output) all ^= digest(at[i], tensors[i].bytes, stream);
        if (job->start && all != job->want) job->wrong++;
    }
    job->got = all;
    G(_destroy)(object);
    CUDNN(cudnnDestroy(handle));
    for (int i = 0; i < N_TENSORS; i++) CUDA(cudaFree(at[i]));
    CUDA(cudaFree(workspace));
    CUDA(cudaStreamDestroy(stream));
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    long launches = argc > 1 ? atol(argv[1]) : 0;
    int n = argc > 2 ? atoi(argv[2]) : 0, wrong = 0, distinct = 1;
    struct job jobs[MOST];
    pthread_t thread[MOST];
    pthread_barrier_t start;
    if (launches < 10 || n < 1 || n > MOST) {
        fprintf(stderr, "usage: soak LAUNCHES THREADS\n");
        return 2;
    }
    soak(launches);
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct job){.number = i, .runs = 1};
        work(&jobs[i]);
        jobs[i].want = jobs[i].got;
        if (i && jobs[i].want == jobs[0].want) distinct = 0; /* then equality would show nothing */
    }
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        jobs[i].runs = RUNS;
        jobs[i].start = &start;
        pthread_create(&thread[i], NULL, work, &jobs[i]);
    }
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < n; i++) wrong += jobs[i].wrong;
    printf("threads\t%d\t%d\t%d\t%d\n", n, RUNS, wrong, distinct);
    return wrong || !distinct;
}
