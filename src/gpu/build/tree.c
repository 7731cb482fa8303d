/* tree: turns the descriptor tree into cuDNN's handles, in the tree's order.
 *
 * Handles are never destroyed: the process ends with the one plan it was started for. */
#include "gpu/build/cudnn_api.h"

static const struct {
    cudnnBackendDescriptorType_t type;
} kinds[N_DESC_KINDS] = {
#define DESC_KIND(name, cudnn) [DESC_KIND_##name] = {CUDNN_BACKEND_##cudnn},
#define DESC_ATTR(name, type)
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
};
static const cudnnBackendAttributeName_t attributes[N_DESC_ATTRS] = {
#define DESC_KIND(name, cudnn)
#define DESC_ATTR(name, type) [DESC_ATTR_##name] = CUDNN_ATTR_##name,
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
};

struct made { /* parallel to desc_graph.descs */
    const struct desc *desc;
    cudnnBackendDescriptor_t handle;
};

static cudnnBackendDescriptor_t handle_of(const struct made *made, size_t n, const struct desc *d)
{
    for (size_t i = 0; i < n; i++)
        if (made[i].desc == d) return made[i].handle;
    return NULL;
}

/* The value's C type for each kind of attribute, as cuDNN's header says: enumerations are ints. */
static cudnnStatus_t set(struct cudnn *c, cudnnBackendDescriptor_t h, const struct desc_attr *a,
                         const struct made *made, size_t n_made)
{
    cudnnBackendAttributeName_t name = attributes[a->id];
    enum desc_type type = desc_attrs[a->id].type;
    if (type == DESC_INT64)
        return c->cudnnBackendSetAttribute(h, name, CUDNN_TYPE_INT64, a->n, a->i);
    if (type == DESC_DOUBLE)
        return c->cudnnBackendSetAttribute(h, name, CUDNN_TYPE_DOUBLE, 1, a->r);
    if (type == DESC_FLOAT) {
        float f = (float)a->r[0];
        return c->cudnnBackendSetAttribute(h, name, CUDNN_TYPE_FLOAT, 1, &f);
    }
    if (type == DESC_BOOLEAN) {
        bool b = a->i[0] != 0;
        return c->cudnnBackendSetAttribute(h, name, CUDNN_TYPE_BOOLEAN, 1, &b);
    }
    if (type == DESC_DESCRIPTOR) {
        cudnnBackendDescriptor_t child = handle_of(made, n_made, a->child);
        return c->cudnnBackendSetAttribute(h, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &child);
    }
    static const cudnnBackendAttributeType_t types[] = {
        [DESC_DATA_TYPE] = CUDNN_TYPE_DATA_TYPE,
        [DESC_POINTWISE_MODE] = CUDNN_TYPE_POINTWISE_MODE,
        [DESC_REDUCTION_OPERATOR] = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
        [DESC_CONVOLUTION_MODE] = CUDNN_TYPE_CONVOLUTION_MODE,
        [DESC_NAN_PROPAGATION] = CUDNN_TYPE_NAN_PROPOGATION,
    };
    bool ok;
    int value = (int)word_value(type, a->word, &ok);
    if (!ok) return CUDNN_STATUS_BAD_PARAM;
    return c->cudnnBackendSetAttribute(h, name, types[type], 1, &value);
}

static cudnnStatus_t make(struct cudnn *c, const struct desc *d, struct made *made, size_t n_made)
{
    cudnnBackendDescriptor_t h;
    cudnnStatus_t st = c->cudnnBackendCreateDescriptor(kinds[d->kind].type, &h);
    for (size_t i = 0; i < d->attrs.n && st == CUDNN_STATUS_SUCCESS; i++)
        st = set(c, h, &d->attrs.at[i], made, n_made);
    if (st == CUDNN_STATUS_SUCCESS) st = c->cudnnBackendFinalize(h);
    made[n_made] = (struct made){d, h};
    return st;
}

cudnnBackendDescriptor_t tree_build(struct cudnn *c, const struct desc_graph *g,
                                    const char **refused, cudnnStatus_t *status)
{
    struct made *made = NEW_N(c->arena, struct made, g->descs.n + 1);
    cudnn_listen(c);
    for (size_t i = 0; i < g->descs.n; i++) {
        *status = make(c, g->descs.at[i], made, i);
        if (*status != CUDNN_STATUS_SUCCESS) {
            *refused = g->descs.at[i]->id;
            return NULL;
        }
    }
    cudnnBackendDescriptor_t *list = NEW_N(c->arena, cudnnBackendDescriptor_t, g->operations.n + 1),
                             graph;
    for (size_t i = 0; i < g->operations.n; i++)
        list[i] = handle_of(made, g->descs.n, g->operations.at[i]);
    *refused = "graph";
    *status = c->cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph);
    if (*status == CUDNN_STATUS_SUCCESS)
        *status = c->cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
                                              CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                              (int64_t)g->operations.n, list);
    if (*status == CUDNN_STATUS_SUCCESS && c->handle)
        *status = c->cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE,
                                              CUDNN_TYPE_HANDLE, 1, &c->handle);
    if (*status == CUDNN_STATUS_SUCCESS) *status = c->cudnnBackendFinalize(graph);
    return *status == CUDNN_STATUS_SUCCESS ? graph : NULL;
}
