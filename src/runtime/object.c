/* ---- making and ending an object ------------------------------------------------------------ */

static int fgc_check_field(struct fgc_object *m, const char *what, int found, int needed)
{
    if (found == needed) return FGC_OK;
    return fgc_fail(m, FGC_ERROR_DEVICE, "%s is %d on this GPU; the plan was made for %d", what,
                    found, needed);
}

/* What cuDNN compares when it loads a plan, said in words before it refuses without any. */
static int fgc_check_device(struct fgc_object *m)
{
    static const struct {
        enum cudaDeviceAttr attr;
        const char *name;
    } fields[] = {
        {cudaDevAttrMultiProcessorCount, "the number of multiprocessors"},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, "shared memory a block (opt-in, bytes)"},
        {cudaDevAttrReservedSharedMemoryPerBlock, "reserved shared memory a block (bytes)"},
        {cudaDevAttrMaxRegistersPerBlock, "registers a block"},
        {cudaDevAttrMaxThreadsPerMultiProcessor, "threads a multiprocessor"},
        {cudaDevAttrMaxGridDimX, "the largest grid in x"},
        {cudaDevAttrMaxGridDimY, "the largest grid in y"},
        {cudaDevAttrMaxGridDimZ, "the largest grid in z"},
    };
    const struct fgc_device *d = &m->family->device;
    int needed[8], device = 0, major = 0, minor = 0, driver = 0, status, i;
    needed[0] = d->multiprocessors;
    needed[1] = d->shared_optin;
    needed[2] = d->shared_reserved;
    needed[3] = d->regs_per_block;
    needed[4] = d->threads_per_mp;
    for (i = 0; i < 3; i++) needed[5 + i] = d->grid[i];
    status = fgc_cuda(m, cudaGetDevice(&device), "there is no CUDA device");
    if (status == FGC_OK)
        status = fgc_cuda(m,
                          cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                          "the device cannot be asked");
    if (status == FGC_OK)
        status = fgc_cuda(m,
                          cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
                          "the device cannot be asked");
    if (status == FGC_OK)
        status = fgc_check_field(m, "the compute capability (times 10)", 10 * major + minor, d->sm);
    for (i = 0; i < 8 && status == FGC_OK; i++) {
        int found = 0;
        status = fgc_cuda(m, cudaDeviceGetAttribute(&found, fields[i].attr, device),
                          "the device cannot be asked");
        if (status == FGC_OK) status = fgc_check_field(m, fields[i].name, found, needed[i]);
    }
    if (status == FGC_OK)
        status = fgc_cuda(m, cudaDriverGetVersion(&driver), "the driver cannot be asked");
    if (status == FGC_OK && driver < m->family->cuda_version)
        return fgc_fail(
            m, FGC_ERROR_DEVICE,
            "the driver supports CUDA %d.%d; the plan's kernels were compiled by CUDA %d.%d",
            driver / 1000, driver % 1000 / 10, m->family->cuda_version / 1000,
            m->family->cuda_version % 1000 / 10);
    return status;
}

/* The plan's text with the running driver's version in it: cuDNN refuses any other, though the
 * kernels run on every newer driver. */
static int fgc_plan_text(struct fgc_object *m, const struct fgc_step *s, const unsigned char *plan,
                         char **out, size_t *n)
{
    size_t behind = s->driver_at + s->driver_len;
    char digits[16], *text;
    int driver = 0, len;
    int status = fgc_cuda(m, cudaDriverGetVersion(&driver), "the driver cannot be asked");
    if (status != FGC_OK) return status;
    len = snprintf(digits, sizeof digits, "%d", driver);
    if (len <= 0 || !s->driver_len || behind > s->plan_bytes)
        return fgc_fail(m, FGC_ERROR_PLAN, "the plan names no driver version");
    text = (char *)malloc(s->plan_bytes + (size_t)len + 1);
    if (!text) return fgc_fail(m, FGC_ERROR_MEMORY, "out of memory");
    memcpy(text, plan, s->driver_at);
    memcpy(text + s->driver_at, digits, (size_t)len);
    memcpy(text + s->driver_at + (size_t)len, plan + behind, s->plan_bytes - behind);
    *n = s->plan_bytes - s->driver_len + (size_t)len;
    text[*n] = '\0';
    *out = text;
    return FGC_OK;
}

static unsigned char *fgc_plan_from_file(struct fgc_object *m, const struct fgc_step *s);

/* workspace: what this plan needs at least. */
static int fgc_load_step(struct fgc_object *m, cudnnHandle_t handle, const struct fgc_step *s,
                         cudnnBackendDescriptor_t *out, size_t *workspace)
{
    unsigned char *read = s->plan ? NULL : fgc_plan_from_file(m, s);
    const unsigned char *plan = s->plan ? s->plan : read;
    cudnnBackendDescriptor_t made = NULL;
    size_t n = 0;
    int64_t got = 0, needs = -1;
    char *text = NULL;
    cudnnStatus_t st;
    int status;
    if (!plan) return FGC_ERROR_PLAN;
    status = fgc_plan_text(m, s, plan, &text, &n);
    free(read);
    if (status != FGC_OK) return status;
    st = cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &made);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(made, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                      CUDNN_TYPE_CHAR, (int64_t)n, text);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                      &handle);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendFinalize(made);
    free(text);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendGetAttribute(made, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &got, &needs);
    if (st != CUDNN_STATUS_SUCCESS) {
        status = fgc_cudnn(m, st, "cuDNN does not load the plan");
        if (made) cudnnBackendDestroyDescriptor(made);
        return status;
    }
    *out = made;
    *workspace = needs > s->workspace ? (size_t)needs : (size_t)s->workspace;
    return FGC_OK;
}

static int fgc_load(struct fgc_object *m, cudnnHandle_t handle)
{
    const struct fgc_variant *v = m->variant;
    size_t most = 0, needs = 0, i;
    int status = FGC_OK;
    for (i = 0; i < v->n_steps && status == FGC_OK; i++) {
        status = fgc_load_step(m, handle, &v->steps[i], &m->plans[i], &needs);
        if (needs > most) most = needs;
    }
    m->workspace = v->temporaries + most;
    m->loaded = status == FGC_OK;
    return status;
}

/* All memory that running needs. */
static int fgc_bind(struct fgc_object *m)
{
    const struct fgc_variant *v = m->variant;
    size_t most = 0, i;
    for (i = 0; i < v->n_steps; i++)
        if (v->steps[i].n_operands > most) most = v->steps[i].n_operands;
    m->plans = (cudnnBackendDescriptor_t *)calloc(v->n_steps, sizeof *m->plans);
    m->packs = (cudnnBackendDescriptor_t *)calloc(v->n_steps * FGC_SLOTS, sizeof *m->packs);
    m->values = (unsigned char(*)[8])calloc(v->n_tensors + v->n_constants + 1, 8);
    m->pointers = (void **)calloc(v->n_tensors * FGC_SLOTS + most + 1, sizeof *m->pointers);
    if (!m->plans || !m->packs || !m->values || !m->pointers)
        return fgc_fail(m, FGC_ERROR_MEMORY, "out of memory");
    for (i = 0; i < v->n_constants; i++) memcpy(m->values[v->n_tensors + i], v->constants[i], 8);
    for (i = 0; i < FGC_SLOTS; i++) {
        m->slot[i].packs = m->packs + i * v->n_steps;
        m->slot[i].pointers = m->pointers + i * v->n_tensors;
    }
    return FGC_OK;
}

static void fgc_destroy(struct fgc_object *m)
{
    size_t i;
    if (!m) return;
    for (i = 0; m->packs && m->variant && i < FGC_SLOTS * m->variant->n_steps; i++)
        if (m->packs[i]) cudnnBackendDestroyDescriptor(m->packs[i]);
    for (i = 0; m->plans && m->variant && i < m->variant->n_steps; i++)
        if (m->plans[i]) cudnnBackendDestroyDescriptor(m->plans[i]);
    free(m->plans);
    free(m->packs);
    free(m->values);
    free(m->pointers);
    free(m);
}

static int fgc_no_variant(struct fgc_object *m, const int64_t *params)
{
    char text[256] = "";
    size_t i, n = 0;
    for (i = 0; i < m->family->n_params && n < sizeof text; i++) {
        int len = snprintf(text + n, sizeof text - n, "%s%s=%lld", i ? ", " : "",
                           m->family->param_names[i], (long long)params[i]);
        if (len < 0) break;
        n += (size_t)len;
    }
    return fgc_fail(m, FGC_ERROR_VARIANT, "graph '%s' has no variant for %s", m->family->name,
                    text);
}

/* The object is there even when this fails, to hold the message; NULL only without memory. */
static int fgc_create(struct fgc_object **out, const struct fgc_family *family,
                      cudnnHandle_t handle, const struct fgc_variant *variant,
                      const int64_t *params)
{
    struct fgc_object *m = (struct fgc_object *)calloc(1, sizeof *m);
    int status;
    *out = m;
    if (!m) return FGC_ERROR_MEMORY;
    m->family = family;
    m->variant = variant;
    if (!variant) return fgc_no_variant(m, params);
    if (!handle) return fgc_fail(m, FGC_ERROR_ARGUMENT, "the cuDNN handle is NULL");
    if (cudnnGetVersion() != family->cudnn_version)
        return fgc_fail(m, FGC_ERROR_VERSION,
                        "cuDNN %lu is loaded; the plan was made by, and loads in, %lu only",
                        (unsigned long)cudnnGetVersion(), (unsigned long)family->cudnn_version);
    status = fgc_check_device(m);
    if (status == FGC_OK) status = fgc_bind(m);
    if (status == FGC_OK) status = fgc_load(m, handle);
    return status;
}

static const struct fgc_variant *fgc_find_variant(const struct fgc_family *f, const int64_t *params)
{
    size_t i, k;
    for (i = 0; i < f->n_variants; i++) {
        for (k = 0; k < f->n_params; k++)
            if (f->variants[i].params[k] != params[k]) break;
        if (k == f->n_params) return &f->variants[i];
    }
    return NULL;
}
