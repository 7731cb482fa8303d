/* Runs the launcher of conv_bias_relu.fg on the current device and checks every element of its output.
 *
 * x is all 1, each filter tap 1/64 and bias -4: an element of y is relu(taps inside the image - 4), which is 5
 * inside, 2 on an edge and 0 in a corner, exactly. Exit status: 0 right, 1 wrong, 77 no device to run on. */
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "conv_bias_relu.h"

enum { ONE = 0x3f80, ONE_64TH = 0x3c80, MINUS_FOUR = 0xc080 }; /* bf16 */

static void *filled(size_t bytes, uint16_t value)
{
    uint16_t *host = malloc(bytes);
    void *device = NULL;
    if (!host || cudaMalloc(&device, bytes) != cudaSuccess) exit(1);
    for (size_t i = 0; i < bytes / 2; i++) host[i] = value;
    if (cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess) exit(1);
    free(host);
    return device;
}

/* bf16 is the upper half of f32. */
static float widened(uint16_t half)
{
    union {
        uint32_t bits;
        float value;
    } u = {(uint32_t)half << 16};
    return u.value;
}

static int n_wrong(const void *device)
{
    static const int dim[] = conv_bias_relu_y_DIMS;
    static const float expected[] = {5, 2, 0}; /* inside, on an edge, in a corner */
    uint16_t *y = malloc(conv_bias_relu_y_BYTES);
    int wrong = 0;
    if (!y || cudaMemcpy(y, device, conv_bias_relu_y_BYTES, cudaMemcpyDeviceToHost) != cudaSuccess) exit(1);
    for (int i = 0; i < dim[0] * dim[2] * dim[3]; i++) {
        int row = i / dim[3] % dim[2], column = i % dim[3];
        int edges = (row == 0 || row == dim[2] - 1) + (column == 0 || column == dim[3] - 1);
        for (int k = 0; k < dim[1]; k++) /* channels_last: channels lie beside each other */
            wrong += widened(y[(size_t)i * dim[1] + k]) != expected[edges];
    }
    free(y);
    return wrong;
}

int main(void)
{
    int n_devices = 0;
    cudaError_t e = cudaGetDeviceCount(&n_devices);
    if (e != cudaSuccess || n_devices == 0) {
        fprintf(stderr, "no device to run on: %s\n", e != cudaSuccess ? cudaGetErrorString(e) : "none is visible");
        return 77;
    }
    cudnnHandle_t handle;
    struct conv_bias_relu *m;
    if (cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS) return 1;
    int status = conv_bias_relu_create(&m, handle);
    struct conv_bias_relu_args args = conv_bias_relu_ARGS_INIT;
    args.x = filled(conv_bias_relu_x_BYTES, ONE);
    args.w = filled(conv_bias_relu_w_BYTES, ONE_64TH);
    args.bias = filled(conv_bias_relu_bias_BYTES, MINUS_FOUR);
    args.y = filled(conv_bias_relu_y_BYTES, 0xffff); /* NaN: what is not written is seen */
    void *workspace = NULL;
    if (status == FGC_OK && cudaMalloc(&workspace, conv_bias_relu_workspace_bytes(m)) != cudaSuccess) return 1;
    if (status == FGC_OK) status = conv_bias_relu_run(m, handle, &args, workspace);
    if (status != FGC_OK || cudaDeviceSynchronize() != cudaSuccess) {
        fprintf(stderr, "conv_bias_relu: %s\n", conv_bias_relu_error_string(m));
        return 1;
    }
    int wrong = n_wrong(args.y);
    printf("conv_bias_relu: %d of %d elements are wrong\n", wrong, conv_bias_relu_y_BYTES / 2);
    conv_bias_relu_destroy(m);
    cudnnDestroy(handle);
    return wrong != 0;
}
