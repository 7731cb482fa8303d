/* ---- CUDA graphs --------------------------------------------------------------------------- */

/* Records a run on a stream of its own, so that the caller's is not disturbed. */
static int fgc_capture(struct fgc_object *m, cudnnHandle_t handle, cudnnBackendDescriptor_t *packs,
                       cudaGraph_t *graph)
{
    cudaStream_t stream = NULL, before = NULL;
    cudnnStatus_t st = cudnnGetStream(handle, &before);
    int status = fgc_cudnn(m, st, "the handle's stream cannot be asked");
    if (status == FGC_OK)
        status = fgc_cuda(m, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                          "a stream cannot be made");
    if (status != FGC_OK) return status;
    status = fgc_cudnn(m, cudnnSetStream(handle, stream), "the handle's stream cannot be set");
    if (status == FGC_OK)
        status = fgc_cuda(m, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                          "capture cannot begin");
    if (status == FGC_OK) {
        cudaGraph_t made = NULL;
        cudaError_t e;
        status = fgc_execute(m, handle, packs, "the run cannot be captured");
        e = cudaStreamEndCapture(stream, &made);
        if (status == FGC_OK) status = fgc_cuda(m, e, "the run cannot be captured");
        if (status == FGC_OK)
            *graph = made;
        else if (made)
            cudaGraphDestroy(made);
    }
    st = cudnnSetStream(handle, before);
    if (st != CUDNN_STATUS_SUCCESS) { /* the handle still has the new one: it must stay alive */
        if (*graph) cudaGraphDestroy(*graph);
        *graph = NULL;
        return fgc_cudnn(m, st, "the handle's stream cannot be set back; set it again");
    }
    cudaStreamDestroy(stream);
    return status;
}

static int fgc_fill_graph(struct fgc_object *m, cudnnHandle_t handle, const void *args,
                          void *workspace, cudaGraph_t *graph)
{
    cudnnBackendDescriptor_t *packs = NULL;
    int status = fgc_pack(m, args, workspace, &packs);
    if (status != FGC_OK) return status;
    if (m->variant->n_steps > 1 || !m->variant->steps[0].native_graph)
        return fgc_capture(m, handle, packs, graph); /* it also orders the steps */
    status = fgc_cuda(m, cudaGraphCreate(graph, 0), "a CUDA graph cannot be made");
    if (status == FGC_OK)
        status = fgc_cudnn(m, cudnnBackendPopulateCudaGraph(handle, m->plans[0], packs[0], *graph),
                           "cuDNN does not fill the CUDA graph");
    return status;
}

static void fgc_graph_destroy(struct fgc_graph *g)
{
    if (!g) return;
    if (g->exec) cudaGraphExecDestroy(g->exec);
    if (g->graph) cudaGraphDestroy(g->graph);
    free(g);
}

static int fgc_graph_create(struct fgc_graph **out, struct fgc_object *m, cudnnHandle_t handle,
                            const void *args, void *workspace)
{
    struct fgc_graph *g;
    int status;
    *out = NULL;
    if (!m) return FGC_ERROR_ARGUMENT;
    if (!handle) return fgc_fail(m, FGC_ERROR_ARGUMENT, "the cuDNN handle is NULL");
    g = (struct fgc_graph *)calloc(1, sizeof *g);
    if (!g) return fgc_fail(m, FGC_ERROR_MEMORY, "out of memory");
    g->object = m;
    g->handle = handle;
    status = fgc_fill_graph(m, handle, args, workspace, &g->graph);
    if (status == FGC_OK)
        status = fgc_cuda(m, cudaGraphInstantiate(&g->exec, g->graph, 0),
                          "the CUDA graph cannot be instantiated");
    if (status == FGC_OK)
        *out = g;
    else
        fgc_graph_destroy(g);
    return status;
}

/* New pointers and scalars into the executable graph; it is made again where CUDA cannot change it.
 */
static int fgc_graph_update(struct fgc_graph *g, const void *args, void *workspace)
{
    struct fgc_object *m;
    cudaGraph_t graph = NULL;
    cudaGraphExecUpdateResultInfo info;
    int status;
    if (!g) return FGC_ERROR_ARGUMENT;
    m = g->object;
    status = fgc_fill_graph(m, g->handle, args, workspace, &graph);
    if (status == FGC_OK && cudaGraphExecUpdate(g->exec, graph, &info) != cudaSuccess) {
        cudaGraphExec_t exec = NULL;
        cudaGetLastError(); /* the refusal is answered, not kept */
        status = fgc_cuda(m, cudaGraphInstantiate(&exec, graph, 0),
                          "the CUDA graph cannot be instantiated");
        if (status == FGC_OK) {
            cudaGraphExecDestroy(g->exec);
            g->exec = exec;
        }
    }
    if (status == FGC_OK) {
        cudaGraphDestroy(g->graph);
        g->graph = graph;
    } else if (graph) {
        cudaGraphDestroy(graph);
    }
    return status;
}

static int fgc_graph_launch(struct fgc_graph *g, cudaStream_t stream)
{
    if (!g) return FGC_ERROR_ARGUMENT;
    return fgc_cuda(g->object, cudaGraphLaunch(g->exec, stream),
                    "the CUDA graph cannot be launched");
}
