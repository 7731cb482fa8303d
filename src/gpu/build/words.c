/* words: cuDNN's enumerations by name. Names are pasted onto cuDNN's prefixes, so a word that cuDNN
 * does not have fails to compile here. */
#include "gpu/build/cudnn_api.h"

struct word {
    const char *name;
    int64_t value;
};

static const struct word data_types[] = {
#define DTYPE(id, bits, cudnn, npy, klass, sig, doc) {#cudnn, CUDNN_DATA_##cudnn},
#include "op/dtypes.def"
#undef DTYPE
};

#define MODE_pointwise(mode) {#mode, CUDNN_POINTWISE_##mode},
#define MODE_backward(mode) MODE_pointwise(mode)
#define MODE_conv(mode)
#define MODE_view(mode)
#define MODE_matmul(mode)
#define MODE_sdpa(mode)
#define MODE_reduction(mode)
#define FAMILY(f)
#define SHAPE(r)
#define EVAL(k)
#define LOWER(builder, mode) MODE_##builder(mode)
static const struct word pointwise_modes[] = {
#define OP(id, family, shape, eval, lower, ...) lower
#include "op/ops.def"
#undef OP
};

#define REDUCE(name)                      \
    {                                     \
#name, CUDNN_REDUCE_TENSOR_##name \
    }
static const struct word reductions[] = {REDUCE(ADD),   REDUCE(MUL),   REDUCE(MIN),
                                         REDUCE(MAX),   REDUCE(AMAX),  REDUCE(AVG),
                                         REDUCE(NORM1), REDUCE(NORM2), REDUCE(MUL_NO_ZEROS)};
static const struct word conv_modes[] = {{"CROSS_CORRELATION", CUDNN_CROSS_CORRELATION},
                                         {"CONVOLUTION", CUDNN_CONVOLUTION}};
static const struct word nan_modes[] = {{"PROPAGATE_NAN", CUDNN_PROPAGATE_NAN},
                                        {"NOT_PROPAGATE_NAN", CUDNN_NOT_PROPAGATE_NAN}};

static int64_t find(const struct word *words, size_t n, const char *name, bool *ok)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i].name, name) == 0) {
            *ok = true;
            return words[i].value;
        }
    *ok = false;
    return 0;
}

cudnnDataType_t word_data_type(const char *word, bool *ok)
{
    return (cudnnDataType_t)find(data_types, COUNT_OF(data_types), word, ok);
}

int64_t word_value(enum desc_type type, const char *word, bool *ok)
{
    switch (type) {
    case DESC_DATA_TYPE: return find(data_types, COUNT_OF(data_types), word, ok);
    case DESC_POINTWISE_MODE: return find(pointwise_modes, COUNT_OF(pointwise_modes), word, ok);
    case DESC_REDUCTION_OPERATOR: return find(reductions, COUNT_OF(reductions), word, ok);
    case DESC_CONVOLUTION_MODE: return find(conv_modes, COUNT_OF(conv_modes), word, ok);
    case DESC_NAN_PROPAGATION: return find(nan_modes, COUNT_OF(nan_modes), word, ok);
    default: *ok = false; return 0;
    }
}

static const char *by_value(struct arena *a, const struct word *words, size_t n, int value)
{
    for (size_t i = 0; i < n; i++)
        if (words[i].value == value) return words[i].name;
    return arena_printf(a, "%d", value);
}

#define NOTE(name)                         \
    {                                      \
#name, CUDNN_NUMERICAL_NOTE_##name \
    }
static const struct word numerical[] = {NOTE(TENSOR_CORE),
                                        NOTE(DOWN_CONVERT_INPUTS),
                                        NOTE(REDUCED_PRECISION_REDUCTION),
                                        NOTE(FFT),
                                        NOTE(NONDETERMINISTIC),
                                        NOTE(WINOGRAD),
                                        NOTE(WINOGRAD_TILE_4x4),
                                        NOTE(WINOGRAD_TILE_6x6),
                                        NOTE(WINOGRAD_TILE_13x13),
                                        NOTE(STRICT_NAN_PROP)};
#undef NOTE
#define NOTE(name)                        \
    {                                     \
#name, CUDNN_BEHAVIOR_NOTE_##name \
    }
static const struct word behavior[] = {
    NOTE(RUNTIME_COMPILATION), NOTE(REQUIRES_FILTER_INT8x32_REORDER),
    NOTE(REQUIRES_BIAS_INT8x32_REORDER), NOTE(SUPPORTS_CUDA_GRAPH_NATIVE_API),
    NOTE(CUBLASLT_DEPENDENCY)};

const char *numerical_word(struct arena *a, int note)
{
    return by_value(a, numerical, COUNT_OF(numerical), note);
}

const char *behavior_word(struct arena *a, int note)
{
    return by_value(a, behavior, COUNT_OF(behavior), note);
}

const char *status_word(struct cudnn *c, cudnnStatus_t status)
{
    const char *text = c->cudnnGetErrorString(status);
    static const char prefix[] = "CUDNN_STATUS_";
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : text;
}
