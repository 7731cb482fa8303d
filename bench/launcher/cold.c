/* cold: from the start of a process to a result on the host. Argument: when the parent called exec,
 * in nanoseconds of CLOCK_MONOTONIC. Prints, in milliseconds since then: main, context,
 * cudnnCreate, plan loaded, first run done, digest on the host. */
#include "bench.h"

int main(int argc, char **argv)
{
    double start = argc > 1 ? atof(argv[1]) * 1e-3 : 0, at[6];
    cudnnHandle_t handle;
    struct GRAPH *object = NULL;
    struct G(_args) args = G(_ARGS_INIT);
    void *p, *workspace, *out = NULL;
    uint64_t h;
    size_t bytes = 0;
    at[0] = now_us();
    CUDA(cudaFree(0));
    at[1] = now_us();
    CUDNN(cudnnCreate(&handle));
    at[2] = now_us();
    FGC(object, G(_create)(&object, handle));
    at[3] = now_us();
    for (int i = 0; i < N_TENSORS; i++) {
        set_pointer(&args, i, p = upload_noise(tensors[i].bytes, 0, (uint64_t)i + 1));
        if (tensors[i].is_output) out = p, bytes = tensors[i].bytes;
    }
    CUDA(cudaMalloc(&workspace, G(_workspace_bytes)(object) + 256));
    FGC(object, G(_run)(object, handle, &args, workspace));
    CUDA(cudaDeviceSynchronize());
    at[4] = now_us();
    h = digest(out, bytes, NULL);
    at[5] = now_us();
    for (int i = 0; i < 6; i++) printf("%.3f ", (at[i] - start) * 1e-3);
    printf("%016llx\n", (unsigned long long)h);
    return 0;
}
