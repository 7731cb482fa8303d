/* floor: what compiling conv_bias_relu costs when nothing but cuDNN is there. Makes the one plan of
 * examples/conv_bias_relu (N = 32, bf16, channels-last) for a described device, with no GPU, and prints its
 * engine. bench/compile-cost compares fgc with it.
 *
 * Usage: floor STANDIN CUDNN DEVICE.json  (the stand-in libcuda, libcudnn.so.9, the target's description)
 *
 * Invariant: the same calls as any user of the C API would make: no helper, no checks, no file written. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cudnn_graph.h>

typedef cudnnStatus_t create_fn(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *);
typedef cudnnStatus_t finalize_fn(cudnnBackendDescriptor_t);
typedef cudnnStatus_t set_fn(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
                             int64_t, const void *);
typedef cudnnStatus_t get_fn(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
                             int64_t, int64_t *, void *);

struct api {
    create_fn *create;
    finalize_fn *finalize;
    set_fn *set;
    get_fn *get;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "floor: %s: %s\n", what, why);
    exit(3);
}

static void *symbol(void *lib, const char *name)
{
    void *p = dlsym(lib, name);
    if (!p) die(name, dlerror());
    return p;
}

static void check(cudnnStatus_t status, const char *what)
{
    char number[32];
    snprintf(number, sizeof number, "status %d", (int)status);
    if (status != CUDNN_STATUS_SUCCESS) die(what, number);
}

static cudnnBackendDescriptor_t make(const struct api *c, cudnnBackendDescriptorType_t kind)
{
    cudnnBackendDescriptor_t d;
    check(c->create(kind, &d), "create");
    return d;
}

static void put(const struct api *c, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    check(c->set(d, name, type, n, values), "set");
}

static void link_to(const struct api *c, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    cudnnBackendDescriptor_t to)
{
    put(c, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &to);
}

/* dims in logical order, strides channels-last. */
static cudnnBackendDescriptor_t tensor(const struct api *c, int64_t uid, const int64_t dim[4],
                                       cudnnDataType_t type, bool is_virtual)
{
    cudnnBackendDescriptor_t t = make(c, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    int64_t align = 16, stride[4] = {dim[1] * dim[2] * dim[3], 1, dim[1] * dim[3], dim[1]};
    put(c, t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    put(c, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dim);
    put(c, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, stride);
    put(c, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
    put(c, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    put(c, t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    check(c->finalize(t), "tensor");
    return t;
}

static cudnnBackendDescriptor_t conv(const struct api *c, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
                                     cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t d = make(c, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    cudnnBackendDescriptor_t op = make(c, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    int64_t rank = 2, one[2] = {1, 1};
    float alpha = 1, beta = 0;
    put(c, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    put(c, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    put(c, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank);
    put(c, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, one);
    put(c, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, one);
    put(c, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, one);
    put(c, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, one);
    check(c->finalize(d), "convolution");
    link_to(c, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, d);
    link_to(c, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    link_to(c, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    link_to(c, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    put(c, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
    put(c, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
    check(c->finalize(op), "convolution operation");
    return op;
}

/* b is NULL for a mode with one operand. */
static cudnnBackendDescriptor_t pointwise(const struct api *c, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t x,
                                          cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y)
{
    cudnnBackendDescriptor_t d = make(c, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    cudnnBackendDescriptor_t op = make(c, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    put(c, d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    put(c, d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute);
    check(c->finalize(d), "pointwise");
    link_to(c, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
    link_to(c, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) link_to(c, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    link_to(c, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    check(c->finalize(op), "pointwise operation");
    return op;
}

static cudnnBackendDescriptor_t graph(const struct api *c)
{
    const int64_t x[4] = {32, 64, 56, 56}, w[4] = {64, 64, 3, 3}, bias[4] = {1, 64, 1, 1};
    cudnnBackendDescriptor_t acc = tensor(c, 5, x, CUDNN_DATA_FLOAT, true);
    cudnnBackendDescriptor_t sum = tensor(c, 6, x, CUDNN_DATA_FLOAT, true);
    cudnnBackendDescriptor_t ops[3];
    ops[0] = conv(c, tensor(c, 1, x, CUDNN_DATA_BFLOAT16, false), tensor(c, 2, w, CUDNN_DATA_BFLOAT16, false), acc);
    ops[1] = pointwise(c, CUDNN_POINTWISE_ADD, acc, tensor(c, 3, bias, CUDNN_DATA_BFLOAT16, false), sum);
    ops[2] = pointwise(c, CUDNN_POINTWISE_RELU_FWD, sum, NULL, tensor(c, 4, x, CUDNN_DATA_BFLOAT16, false));
    cudnnBackendDescriptor_t g = make(c, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    put(c, g, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 3, ops);
    check(c->finalize(g), "operation graph");
    return g;
}

static cudnnBackendDescriptor_t device(const struct api *c, const char *path)
{
    char json[8192];
    FILE *f = fopen(path, "r");
    if (!f) die(path, "cannot be read");
    size_t n = fread(json, 1, sizeof json - 1, f);
    fclose(f);
    json[n] = '\0';
    cudnnBackendDescriptor_t d = make(c, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    put(c, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)n + 1, json);
    check(c->finalize(d), "device description");
    return d;
}

/* The first of heuristic A's configurations that builds. */
static cudnnBackendDescriptor_t plan(const struct api *c, cudnnBackendDescriptor_t g, cudnnBackendDescriptor_t dev)
{
    cudnnBackendDescriptor_t h = make(c, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), configs[16];
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t n = 0;
    link_to(c, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g);
    link_to(c, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, dev);
    put(c, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    check(c->finalize(h), "heuristics");
    for (int i = 0; i < 16; i++) configs[i] = make(c, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    check(c->get(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 16, &n, configs), "results");
    for (int64_t i = 0; i < n && i < 16; i++) {
        cudnnBackendDescriptor_t p = make(c, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        link_to(c, p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs[i]);
        link_to(c, p, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, dev);
        if (c->finalize(p) == CUDNN_STATUS_SUCCESS) return p;
    }
    die("plan", "no configuration builds");
    return NULL;
}

int main(int argc, char **argv)
{
    static char json[1 << 20];
    if (argc != 4) die("usage", "floor STANDIN CUDNN DEVICE.json");
    if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) die(argv[1], dlerror());
    void *lib = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
    if (!lib) die(argv[2], dlerror());
    struct api c;
    *(void **)&c.create = symbol(lib, "cudnnBackendCreateDescriptor");
    *(void **)&c.finalize = symbol(lib, "cudnnBackendFinalize");
    *(void **)&c.set = symbol(lib, "cudnnBackendSetAttribute");
    *(void **)&c.get = symbol(lib, "cudnnBackendGetAttribute");
    cudnnBackendDescriptor_t p = plan(&c, graph(&c), device(&c, argv[3]));
    int64_t n = 0;
    check(c.get(p, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, sizeof json, &n, json), "plan text");
    printf("a plan of %lld bytes\n", (long long)n);
    return 0;
}
