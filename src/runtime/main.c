/* ---- a main() that reads .npy files, runs, compares, times --------------------------------------
 */

#include <ctype.h>
#include <math.h>
#include <time.h>

struct fgc_opts {
    const char *graph, *variant;
    const char *in[64], *out[64], *expect[64], *scalar[64], *update[64], *offset[64];
    int n_in, n_out, n_expect, n_scalar, n_update, n_offset;
    unsigned long seed;
    int iters, replay, poison, nodes, rotate;
};

static void fgc_die(const char *what, const char *why)
{
    fprintf(stderr, "error: %s: %s\n", what, why);
    exit(1);
}

static void fgc_usage(void)
{
    printf("usage: program [--graph NAME] [--variant NAME=VALUE,..] [--in NAME=FILE.npy].. [--out "
           "NAME=FILE.npy]..\n"
           "  [--expect NAME=FILE.npy].. [--scalar NAME=VALUE].. [--seed N] [--iters N] [--poison] "
           "[--nodes]\n"
           "  [--replay] [--update-scalar NAME=VALUE].. [--offset NAME=BYTES]..\n"
           "inputs that are not given are random; --poison fills outputs with 0xff before the run; "
           "--replay runs by\n"
           "a CUDA graph, --update-scalar changes it before it is launched; --nodes counts a "
           "captured run's nodes;\n"
           "--offset shifts a tensor's address; --iters times direct launches and replays\n");
}

static double fgc_element(enum fgc_type type, const unsigned char *p)
{
    float f;
    double d;
    uint16_t h;
    int32_t i;
    int64_t l;
    uint32_t u;
    switch (type) {
    case FGC_F64: memcpy(&d, p, 8); return d;
    case FGC_F32: memcpy(&f, p, 4); return (double)f;
    case FGC_BF16: memcpy(&h, p, 2); u = (uint32_t)h << 16; memcpy(&f, &u, 4); return (double)f;
    case FGC_F16: {
        int e;
        memcpy(&h, p, 2);
        e = h >> 10 & 31;
        d = e == 31 ? (h & 1023 ? NAN : INFINITY)
            : e     ? ldexp(1024 + (h & 1023), e - 25)
                    : ldexp(h & 1023, -24);
        return h & 0x8000 ? -d : d;
    }
    case FGC_E4M3: {
        int e = *p >> 3 & 15;
        d = (*p & 127) == 127 ? NAN : e ? ldexp(8 + (*p & 7), e - 10) : ldexp(*p & 7, -9);
        return *p & 0x80 ? -d : d;
    }
    case FGC_E5M2: {
        int e = *p >> 2 & 31;
        d = e == 31 ? (*p & 3 ? NAN : INFINITY)
            : e     ? ldexp(4 + (*p & 3), e - 17)
                    : ldexp(*p & 3, -16);
        return *p & 0x80 ? -d : d;
    }
    case FGC_E8M0: return ldexp(1.0, *p - 127);
    case FGC_I64: memcpy(&l, p, 8); return (double)l;
    case FGC_I32: memcpy(&i, p, 4); return (double)i;
    case FGC_I8: return (double)(signed char)*p;
    case FGC_U8: return (double)*p;
    case FGC_BOOL: return *p ? 1.0 : 0.0;
    }
    return 0.0;
}

static void fgc_put_element(enum fgc_type type, unsigned char *p, double x)
{
    float f = (float)x;
    uint16_t h;
    int32_t i = 0;
    int64_t l = 0;
    int code;
    switch (type) {
    case FGC_F64: memcpy(p, &x, 8); break;
    case FGC_F32: memcpy(p, &f, 4); break;
    case FGC_BF16: h = fgc_bf16_bits(f); memcpy(p, &h, 2); break;
    case FGC_F16: h = fgc_f16_bits(f); memcpy(p, &h, 2); break;
    case FGC_E4M3:
    case FGC_E5M2: /* the code of the nearest value, by search: 256 of them */
        *p = 0;
        for (code = 0; code < 256; code++) {
            unsigned char c = (unsigned char)code;
            double v = fgc_element(type, &c);
            if (!isnan(v) && !isinf(v) && fabs(v - x) < fabs(fgc_element(type, p) - x)) *p = c;
        }
        break;
    case FGC_E8M0: *p = 127; break;
    case FGC_I64: l = (int64_t)x; memcpy(p, &l, 8); break;
    case FGC_I32: i = (int32_t)x; memcpy(p, &i, 4); break;
    case FGC_I8: *p = (unsigned char)(signed char)x; break;
    case FGC_U8: *p = (unsigned char)x; break;
    case FGC_BOOL: *p = x != 0.0; break;
    }
}

/* ---- tensors on the host: logical row-major order <-> strides -----------------------------------
 */

static int64_t fgc_count(const struct fgc_tensor *t)
{
    int64_t n = 1;
    int i;
    for (i = 0; i < t->rank; i++) n *= t->dim[i];
    return n;
}

static size_t fgc_at(const struct fgc_tensor *t, int64_t flat)
{
    int64_t at = 0;
    int i;
    for (i = t->rank - 1; i >= 0; i--) {
        at += flat % t->dim[i] * t->stride[i];
        flat /= t->dim[i];
    }
    return (size_t)at * t->elem_bytes;
}

static void fgc_randomize(const struct fgc_tensor *t, unsigned long seed, unsigned char *host)
{
    static const uint64_t golden = ((uint64_t)0x9e3779b9u << 32) | 0x7f4a7c15u;
    uint64_t state = (uint64_t)seed * golden + (uint64_t)t->uid;
    int64_t n = fgc_count(t), i;
    int integer = t->type == FGC_I64 || t->type == FGC_I32 || t->type == FGC_I8 ||
                  t->type == FGC_U8;
    for (i = 0; i < n; i++) {
        uint64_t z = (state += golden);
        double u;
        z = (z ^ (z >> 30)) * (((uint64_t)0xbf58476du << 32) | 0x1ce4e5b9u);
        z = (z ^ (z >> 27)) * (((uint64_t)0x94d049bbu << 32) | 0x133111ebu);
        u = (double)((z ^ (z >> 31)) >> 11) * (1.0 / 9007199254740992.0);
        fgc_put_element(t->type, host + fgc_at(t, i),
                        integer               ? floor(u * 9.0)
                        : t->type == FGC_BOOL ? (u < 0.5 ? 1.0 : 0.0)
                                              : 2.0 * u - 1.0);
    }
}

/* ---- .npy ---------------------------------------------------------------------------------- */

static const char *fgc_descr(enum fgc_type type)
{
    static const char *const names[] = {"<f8", "<f4", "<f2", "<u2", "|u1", "|u1",
                                        "|u1", "<i8", "<i4", "|i1", "|u1", "|b1"};
    return names[type];
}

static unsigned char *fgc_read_npy(const char *path, const struct fgc_tensor *t)
{
    FILE *f = fopen(path, "rb");
    unsigned char head[12], *data;
    char *dict, shape[256] = "", *p;
    size_t n, len = 0;
    int i;
    if (!f) fgc_die(path, "cannot be opened");
    if (fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY", 6) != 0)
        fgc_die(path, "not a .npy file");
    n = head[8] | (size_t)head[9] << 8;
    if (head[6] > 1) {
        if (fread(head + 10, 1, 2, f) != 2) fgc_die(path, "cut short");
        n |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    }
    if (n > 65536) fgc_die(path, "its header is too long");
    dict = (char *)calloc(n + 1, 1);
    if (!dict || fread(dict, 1, n, f) != n) fgc_die(path, "cut short");
    if (!strstr(dict, fgc_descr(t->type))) fgc_die(path, "its element type is not the tensor's");
    if (strstr(dict, "'fortran_order': True")) fgc_die(path, "Fortran order is not read here");
    for (i = 0; i < t->rank; i++)
        len += (size_t)snprintf(shape + len, sizeof shape - len, "%lld,", (long long)t->dim[i]);
    p = strchr(dict, '(');
    if (!p) fgc_die(path, "no shape");
    for (i = 0, len = 0; p && *p && *p != ')'; p++)
        if (isdigit((unsigned char)*p) || *p == ',') dict[len++] = *p;
    if (len && dict[len - 1] != ',') dict[len++] = ',';
    dict[len] = '\0';
    if (strcmp(dict, shape) != 0) fgc_die(path, "its shape is not the tensor's");
    n = (size_t)fgc_count(t) * t->elem_bytes;
    data = (unsigned char *)malloc(n + 1);
    if (!data || fread(data, 1, n, f) != n || fgetc(f) != EOF)
        fgc_die(path, "its size is not the tensor's");
    fclose(f);
    free(dict);
    return data;
}

static void fgc_write_npy(const char *path, const struct fgc_tensor *t, const unsigned char *host)
{
    FILE *f = fopen(path, "wb");
    char dict[512];
    int64_t n = fgc_count(t), k;
    size_t len;
    int i, at = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                         fgc_descr(t->type));
    unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0, 0};
    if (!f) fgc_die(path, "cannot be written");
    for (i = 0; i < t->rank; i++)
        at += snprintf(dict + at, sizeof dict - (size_t)at, "%lld,", (long long)t->dim[i]);
    at += snprintf(dict + at, sizeof dict - (size_t)at, "), }");
    for (len = (size_t)at; (len + 11) % 64; len++) dict[len] = ' ';
    dict[len++] = '\n';
    head[8] = (unsigned char)(len & 255);
    head[9] = (unsigned char)(len >> 8);
    fwrite(head, 1, sizeof head, f);
    fwrite(dict, 1, len, f);
    for (k = 0; k < n; k++) fwrite(host + fgc_at(t, k), 1, t->elem_bytes, f);
    if (ferror(f) || fclose(f) != 0) fgc_die(path, "cannot be written");
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* The text behind "NAME=" in the last entry for that name, or NULL. */
static const char *fgc_given(const char *const *list, int n, const char *name)
{
    size_t len = strlen(name);
    int i;
    for (i = n - 1; i >= 0; i--)
        if (strncmp(list[i], name, len) == 0 && list[i][len] == '=') return list[i] + len + 1;
    return NULL;
}

static void fgc_parse(int argc, char **argv, struct fgc_opts *o)
{
    int i;
    memset(o, 0, sizeof *o);
    for (i = 1; i < argc; i++) {
        const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
        struct {
            const char *name;
            const char **list;
            int *n;
        } lists[6];
        int k, used = 0;
        lists[0].name = "--in"; lists[0].list = o->in; lists[0].n = &o->n_in;
        lists[1].name = "--out"; lists[1].list = o->out; lists[1].n = &o->n_out;
        lists[2].name = "--expect"; lists[2].list = o->expect; lists[2].n = &o->n_expect;
        lists[3].name = "--scalar"; lists[3].list = o->scalar; lists[3].n = &o->n_scalar;
        lists[4].name = "--update-scalar"; lists[4].list = o->update; lists[4].n = &o->n_update;
        lists[5].name = "--offset"; lists[5].list = o->offset; lists[5].n = &o->n_offset;
        if (strcmp(a, "--help") == 0) { fgc_usage(); exit(0); }
        if (strcmp(a, "--poison") == 0) { o->poison = 1; continue; }
        if (strcmp(a, "--replay") == 0) { o->replay = 1; continue; }
        if (strcmp(a, "--nodes") == 0) { o->nodes = 1; continue; }
        if (!v) fgc_die(a, "unknown, or its value is missing; --help lists the options");
        i++;
        if (strcmp(a, "--graph") == 0) { o->graph = v; continue; }
        if (strcmp(a, "--variant") == 0) { o->variant = v; continue; }
        if (strcmp(a, "--seed") == 0) { o->seed = strtoul(v, NULL, 10); continue; }
        if (strcmp(a, "--iters") == 0) { o->iters = atoi(v); continue; }
        for (k = 0; k < 6; k++)
            if (strcmp(a, lists[k].name) == 0) {
                if (*lists[k].n >= 64) fgc_die(a, "given too often");
                lists[k].list[(*lists[k].n)++] = v;
                used = 1;
            }
        if (!used) fgc_die(a, "unknown; --help lists the options");
    }
}

static void fgc_ok(struct fgc_object *m, int status, const char *what)
{
    if (status == FGC_OK) return;
    fprintf(stderr, "error: %s: %s\n", what, m ? m->error : "out of memory");
    exit(status == FGC_ERROR_ARGUMENT ? 2 : 1);
}

static void fgc_cu(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) fgc_die(what, cudaGetErrorString(e));
}

static void fgc_set_scalar(const struct fgc_tensor *t, unsigned char *args, double x)
{
    float f = (float)x;
    int64_t l = (int64_t)x;
    int32_t i = (int32_t)x;
    switch (t->field_type) {
    case FGC_F64: memcpy(args + t->field, &x, 8); break;
    case FGC_I64: memcpy(args + t->field, &l, 8); break;
    case FGC_I32: memcpy(args + t->field, &i, 4); break;
    default: memcpy(args + t->field, &f, 4); break;
    }
}

/* ---- device memory ----------------------------------------------------------------------------
 */

enum { FGC_GUARD = 4096 };

static void fgc_place(const struct fgc_tensor *t, const struct fgc_opts *o, unsigned char *args)
{
    const char *file = fgc_given(o->in, o->n_in, t->name),
               *shift = fgc_given(o->offset, o->n_offset, t->name);
    unsigned char *host = (unsigned char *)malloc(t->bytes), *device = NULL;
    size_t offset = shift ? (size_t)strtoul(shift, NULL, 10) : 0;
    int64_t n = fgc_count(t), i;
    if (!host || offset > FGC_GUARD) fgc_die(t->name, "out of memory, or shifted too far");
    memset(host, o->poison ? 0xff : 0, t->bytes);
    if (file) {
        unsigned char *data = fgc_read_npy(file, t);
        for (i = 0; i < n; i++)
            memcpy(host + fgc_at(t, i), data + (size_t)i * t->elem_bytes, t->elem_bytes);
        free(data);
    } else if (t->role == FGC_INPUT) {
        fgc_randomize(t, o->seed, host);
    }
    fgc_cu(cudaMalloc((void **)&device, t->bytes + FGC_GUARD), t->name);
    device += offset;
    fgc_cu(cudaMemcpy(device, host, t->bytes, cudaMemcpyHostToDevice), t->name);
    memcpy(args + t->field, &device, sizeof device);
    free(host);
}

static void fgc_collect(const struct fgc_tensor *t, const struct fgc_opts *o,
                        const unsigned char *args)
{
    const char *file = fgc_given(o->out, o->n_out, t->name),
               *want = fgc_given(o->expect, o->n_expect, t->name);
    unsigned char *host = (unsigned char *)malloc(t->bytes);
    int64_t n = fgc_count(t), i;
    double worst = 0, least = INFINITY, most = -INFINITY;
    if (!host) fgc_die(t->name, "out of memory");
    fgc_cu(cudaMemcpy(host, fgc_pointer(t, args), t->bytes, cudaMemcpyDeviceToHost), t->name);
    if (file) fgc_write_npy(file, t, host);
    for (i = 0; i < n; i++) {
        double x = fgc_element(t->type, host + fgc_at(t, i));
        if (!(x >= least)) least = x;
        if (!(x <= most)) most = x;
    }
    printf("output %s: least %.9g, largest %.9g", t->name, least, most);
    if (want) {
        unsigned char *data = fgc_read_npy(want, t);
        for (i = 0; i < n; i++) {
            double e = fabs(fgc_element(t->type, host + fgc_at(t, i)) -
                            fgc_element(t->type, data + (size_t)i * t->elem_bytes));
            if (!(e <= worst)) worst = e;
        }
        printf(", largest difference %.9g", worst);
        free(data);
    }
    printf("\n");
    free(host);
}

/* ---- nodes and times ----------------------------------------------------------------------------
 */

static void fgc_print_nodes(struct fgc_object *m, cudnnHandle_t handle, const void *args,
                            void *workspace)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t nodes[256];
    cudnnBackendDescriptor_t *packs = NULL;
    size_t n = 256, i;
    int kernels = 0, memsets = 0, copies = 0, others = 0;
    fgc_ok(m, fgc_pack(m, args, workspace, &packs), "capture");
    fgc_ok(m, fgc_capture(m, handle, packs, &graph), "capture");
    fgc_cu(cudaGraphGetNodes(graph, nodes, &n), "nodes");
    for (i = 0; i < n; i++) {
        enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
        fgc_cu(cudaGraphNodeGetType(nodes[i], &type), "nodes");
        kernels += type == cudaGraphNodeTypeKernel;
        memsets += type == cudaGraphNodeTypeMemset;
        copies += type == cudaGraphNodeTypeMemcpy;
        others += type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemset &&
                  type != cudaGraphNodeTypeMemcpy;
    }
    printf("nodes of a captured run: %d kernel, %d memset, %d memcpy, %d other\n", kernels, memsets,
           copies, others);
    cudaGraphDestroy(graph);
}

static int fgc_compare_times(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void fgc_time(struct fgc_object *m, cudnnHandle_t handle, const void *args, void *workspace,
                     int iters)
{
    cudaStream_t stream = NULL;
    cudaEvent_t from, to;
    struct fgc_graph *g = NULL;
    float *ms = (float *)malloc(sizeof *ms * (size_t)iters);
    int kind, i;
    cudnnGetStream(handle, &stream);
    fgc_cu(cudaEventCreate(&from), "events");
    fgc_cu(cudaEventCreate(&to), "events");
    fgc_ok(m, fgc_graph_create(&g, m, handle, args, workspace), "graph");
    for (kind = 0; kind < 2; kind++) {
        for (i = -10; i < iters; i++) {
            fgc_cu(cudaEventRecord(from, stream), "events");
            fgc_ok(m, kind ? fgc_graph_launch(g, stream) : fgc_run(m, handle, args, workspace),
                   "run");
            fgc_cu(cudaEventRecord(to, stream), "events");
            fgc_cu(cudaEventSynchronize(to), "run");
            if (i >= 0) cudaEventElapsedTime(&ms[i], from, to);
        }
        qsort(ms, (size_t)iters, sizeof *ms, fgc_compare_times);
        printf("%s: median %.2f us, least %.2f us, %d runs\n",
               kind ? "graph replay" : "direct launch", (double)ms[iters / 2] * 1e3,
               (double)ms[0] * 1e3, iters);
    }
    fgc_graph_destroy(g);
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    free(ms);
}

/* ---- main
 * ------------------------------------------------------------------------------------------ */

static const struct fgc_family *fgc_choose_family(const char *name)
{
    size_t i;
    for (i = 0; fgc_families[i]; i++)
        if (!name || strcmp(fgc_families[i]->name, name) == 0) return fgc_families[i];
    fgc_die(name, "no such graph");
    return NULL;
}

static const struct fgc_variant *fgc_choose_variant(const struct fgc_family *f, const char *name)
{
    size_t i;
    for (i = 0; i < f->n_variants; i++)
        if (!name || strcmp(f->variants[i].name, name) == 0) return &f->variants[i];
    fgc_die(name, "no such variant");
    return NULL;
}

static void fgc_launch(struct fgc_object *m, cudnnHandle_t handle, unsigned char *args,
                       void *workspace, const struct fgc_opts *o)
{
    struct fgc_graph *g = NULL;
    cudaStream_t stream = NULL;
    size_t i;
    if (!o->replay) {
        fgc_ok(m, fgc_run(m, handle, args, workspace), "run");
        return;
    }
    cudnnGetStream(handle, &stream);
    fgc_ok(m, fgc_graph_create(&g, m, handle, args, workspace), "graph");
    if (o->n_update) {
        for (i = 0; i < m->variant->n_tensors; i++) {
            const struct fgc_tensor *t = &m->variant->tensors[i];
            const char *value = t->role == FGC_SCALAR ? fgc_given(o->update, o->n_update, t->name)
                                                      : NULL;
            if (value) fgc_set_scalar(t, args, strtod(value, NULL));
        }
        fgc_ok(m, fgc_graph_update(g, args, workspace), "graph update");
    }
    fgc_ok(m, fgc_graph_launch(g, stream), "graph launch");
    fgc_cu(cudaStreamSynchronize(stream), "graph launch");
    fgc_graph_destroy(g);
}

int main(int argc, char **argv)
{
    struct fgc_opts o;
    const struct fgc_family *f;
    const struct fgc_variant *v;
    struct fgc_object *m = NULL;
    cudnnHandle_t handle = NULL;
    unsigned char *args;
    void *workspace = NULL;
    size_t i;
    int status;
    fgc_parse(argc, argv, &o);
    f = fgc_choose_family(o.graph);
    v = fgc_choose_variant(f, o.variant);
    if (cudnnCreate(&handle) != CUDNN_STATUS_SUCCESS)
        fgc_die("cudnnCreate", "no cuDNN handle; is there a GPU and its driver?");
    status = fgc_create(&m, f, handle, v, v->params);
    fgc_ok(m, status, "create");
    args = (unsigned char *)calloc(f->args_bytes, 1);
    if (!args) fgc_die("args", "out of memory");
    memcpy(args, &f->args_bytes, sizeof f->args_bytes);
    for (i = 0; i < v->n_tensors; i++) {
        const struct fgc_tensor *t = &v->tensors[i];
        const char *value = fgc_given(o.scalar, o.n_scalar, t->name);
        if (t->role == FGC_SCALAR)
            fgc_set_scalar(t, args, value ? strtod(value, NULL) : t->def);
        else
            fgc_place(t, &o, args);
    }
    if (m->workspace) {
        fgc_cu(cudaMalloc(&workspace, m->workspace), "workspace");
        fgc_cu(cudaMemset(workspace, o.poison ? 0xff : 0, m->workspace), "workspace");
    }
    fgc_cu(cudaDeviceSynchronize(), "set-up");
    printf("%s %s: workspace %lu bytes\n", f->name, v->name, (unsigned long)m->workspace);
    fgc_launch(m, handle, args, workspace, &o);
    fgc_cu(cudaDeviceSynchronize(), "run");
    for (i = 0; i < v->n_tensors; i++)
        if (v->tensors[i].role == FGC_OUTPUT) fgc_collect(&v->tensors[i], &o, args);
    if (o.nodes) fgc_print_nodes(m, handle, args, workspace);
    if (o.iters > 0) fgc_time(m, handle, args, workspace, o.iters);
    fgc_destroy(m);
    cudnnDestroy(handle);
    free(args);
    return 0;
}
