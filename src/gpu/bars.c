/* bars: which engines a graph and its options rule out.
 *
 * Invariant: the rule is here alone; the helper applies it to what cuDNN lists, the parent to what
 * a lock or a database names. */
#include "gpu/gpu.h"

/* True when a conv or matmul reads f32 operands, which tensor cores would round to TF32. */
static bool reads_f32(const struct desc_graph *g)
{
    for (size_t i = 0; i < g->operations.n; i++) {
        const struct desc *d = g->operations.at[i];
        const struct desc_attr *x = desc_get(d, DESC_ATTR_OPERATION_MATMUL_ADESC);
        if (!x) x = desc_get(d, DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
        if (x && strcmp(desc_get(x->child, DESC_ATTR_TENSOR_DATA_TYPE)->word, "FLOAT") == 0)
            return true;
    }
    return false;
}

/* cuDNN 9.19's cuBLASLt engine takes matmul, bias and a RELU or GELU, but drops the RELU's clips
 * and slope without a word and computes GELU by its tanh approximation (measured on an H200). True
 * when a graph has such an operator. */
static bool beyond_cublaslt(const struct desc_graph *g)
{
    for (size_t i = 0; i < g->descs.n; i++) {
        const struct desc *d = g->descs.at[i];
        const struct desc_attr *mode = desc_get(d, DESC_ATTR_POINTWISE_MODE);
        const struct desc_attr *lower = desc_get(d, DESC_ATTR_POINTWISE_RELU_LOWER_CLIP);
        const struct desc_attr *upper = desc_get(d, DESC_ATTR_POINTWISE_RELU_UPPER_CLIP);
        const struct desc_attr *slope = desc_get(d, DESC_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
        if (mode && strcmp(mode->word, "GELU_FWD") == 0) return true;
        if ((lower && lower->r[0] != 0) || (upper && upper->r[0] < 3e38) ||
            (slope && slope->r[0] != 0))
            return true;
    }
    return false;
}

struct engine_bars gpu_bars(const struct build_request *r)
{
    return (struct engine_bars){.deterministic = r->deterministic,
                                .exact_f32 = !r->allow_tf32 && reads_f32(r->graph),
                                .no_cublaslt = beyond_cublaslt(r->graph)};
}

static bool has_word(const words_vec *w, const char *word)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->at[i], word) == 0) return true;
    return false;
}

const char *gpu_barred(const struct engine_bars *b, const words_vec *numerical,
                       const words_vec *behavior)
{
    if (b->deterministic && has_word(numerical, "NONDETERMINISTIC"))
        return "its results may differ from run to run, which --deterministic bars";
    if (b->exact_f32 &&
        (has_word(numerical, "TENSOR_CORE") || has_word(numerical, "DOWN_CONVERT_INPUTS")))
        return "it rounds f32 operands to TF32 or less, which the specification does not allow";
    if (!has_word(behavior, "CUBLASLT_DEPENDENCY")) return NULL;
    /* An f32 matmul made on an H200 came out rounded as TF32 rounds, without a note of it; that the
     * engine was cuBLASLt's is inferred. */
    if (b->exact_f32)
        return "cuBLASLt rounds f32 operands to TF32, which the specification does not allow";
    if (b->no_cublaslt) return "cuBLASLt drops a relu's clips and slope, and approximates gelu";
    return NULL;
}
