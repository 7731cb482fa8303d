/* chain: eight layers, each a launch of the same plan with weights of its own. Arguments: ROUNDS,
 * then a file to which the last layer's output goes. Reads weights.bin: for each layer its b, then
 * its bias; and a.bin.
 *
 * Prints wall microseconds a chain: by launches, and as one CUDA graph captured from the launches;
 * then the GPU's own time of the graph (events around 20 replays). */
#include "bench.h"

enum { LAYERS = 8, BATCH = 50 };

static void *read_into_device(FILE *f, size_t bytes)
{
    void *host = malloc(bytes), *device;
    if (!host || fread(host, 1, bytes, f) != bytes) {
        fprintf(stderr, "an input file is too short\n");
        exit(1);
    }
    CUDA(cudaMalloc(&device, bytes));
    CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    return device;
}

static struct GRAPH *object;
static cudnnHandle_t handle;
static cudaStream_t stream;
static struct G(_args) layer[LAYERS];
static void *workspace;

static void launch_all(void)
{
    for (int i = 0; i < LAYERS; i++) FGC(object, G(_run)(object, handle, &layer[i], workspace));
}

int main(int argc, char **argv)
{
    struct G(_args) init = G(_ARGS_INIT);
    FILE *weights = fopen("weights.bin", "rb"), *a = fopen("a.bin", "rb"), *out;
    cudaGraph_t captured;
    cudaGraphExec_t exec;
    cudaEvent_t begin, end;
    void *x, *host;
    size_t bytes = tensors[3].bytes;
    int rounds = argc > 2 ? atoi(argv[1]) : 0;
    if (rounds < 1 || !weights || !a) {
        fprintf(stderr, "usage: chain ROUNDS OUT, beside weights.bin and a.bin\n");
        return 2;
    }
    CUDA(cudaStreamCreate(&stream));
    CUDNN(cudnnCreate(&handle));
    CUDNN(cudnnSetStream(handle, stream));
    FGC(object, G(_create)(&object, handle));
    CUDA(cudaMalloc(&workspace, G(_workspace_bytes)(object) + 256));
    x = read_into_device(a, tensors[0].bytes);
    for (int i = 0; i < LAYERS; i++) {
        layer[i] = init;
        set_pointer(&layer[i], 0, x);
        set_pointer(&layer[i], 1, read_into_device(weights, tensors[1].bytes));
        set_pointer(&layer[i], 2, read_into_device(weights, tensors[2].bytes));
        CUDA(cudaMalloc(&x, bytes));
        set_pointer(&layer[i], 3, x);
    }
    launch_all();
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_all();
    CUDA(cudaStreamEndCapture(stream, &captured));
    CUDA(cudaGraphInstantiate(&exec, captured, 0));
    CUDA(cudaMemset(x, 0xff, bytes));
    CUDA(cudaGraphLaunch(exec, stream));
    host = malloc(bytes);
    CUDA(cudaMemcpyAsync(host, x, bytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    out = fopen(argv[2], "wb");
    if (!out || fwrite(host, 1, bytes, out) != bytes || fclose(out)) return 1;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    for (int k = 0; k < rounds; k++) {
        float ms;
        double t[2];
        for (int how = 0; how < 2; how++) {
            double start = now_us();
            for (int i = 0; i < BATCH; i++) {
                if (how == 0)
                    launch_all();
                else
                    CUDA(cudaGraphLaunch(exec, stream));
            }
            CUDA(cudaStreamSynchronize(stream));
            t[how] = (now_us() - start) / BATCH;
        }
        CUDA(cudaEventRecord(begin, stream));
        for (int i = 0; i < 20; i++) CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        printf("%.4f\t%.4f\t%.4f\n", t[0], t[1], (double)ms * 1e3 / 20);
    }
    return 0;
}
