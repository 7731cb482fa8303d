/* cost: host time of one call of a generated launcher against bare cuDNN. Arguments: PLAN.json,
 * ROUNDS.
 *
 * Every row enqueues BATCH calls on an idle GPU and is timed until the last is enqueued; then comes
 * a synchronisation. Rows take turns, a batch each a round. Prints, for each row, its name, then
 * its microseconds a call in each round; then, for 10,000 calls, how often malloc, calloc and
 * realloc were called by the launcher's own code, and by anybody: cuDNN allocates in each
 * cudnnBackendExecute. */
#include "bench.h"

enum { BATCH = 200, SETS = 8, FRESH = 4096 };

/* ---- every allocation of the process is counted -------------------------------------------- */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern char __executable_start, etext;
static unsigned long n_allocations,
    n_own; /* own: called from this program, whose code the launcher's is */
static void count(const char *caller)
{
    n_allocations++;
    n_own += caller >= &__executable_start && caller < &etext;
}
void *malloc(size_t n)
{
    count(__builtin_return_address(0));
    return __libc_malloc(n);
}
void *calloc(size_t k, size_t n)
{
    count(__builtin_return_address(0));
    return __libc_calloc(k, n);
}
void *realloc(void *p, size_t n)
{
    count(__builtin_return_address(0));
    return __libc_realloc(p, n);
}

static cudnnHandle_t handle;
static cudaStream_t stream;
static cudnnBackendDescriptor_t plan, ready;
static struct GRAPH *object;
static struct G(_graph) * graph;
static void *base[N_TENSORS], *workspace;
static struct G(_args) sets[SETS];
static unsigned long fresh;

static cudnnBackendDescriptor_t make_pack(const struct G(_args) * args)
{
    cudnnBackendDescriptor_t pack;
    int64_t uids[N_TENSORS];
    void *pointers[N_TENSORS];
    for (int i = 0; i < N_TENSORS; i++) {
        uids[i] = tensors[i].uid;
        memcpy(&pointers[i], (const char *)args + tensors[i].field, sizeof pointers[i]);
    }
    CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
    CUDNN(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                                   N_TENSORS, uids));
    CUDNN(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                   N_TENSORS, pointers));
    CUDNN(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                   &workspace));
    CUDNN(cudnnBackendFinalize(pack));
    return pack;
}

/* A set of pointers that none of the last thousands of calls had. */
static struct G(_args) fresh_set(void)
{
    struct G(_args) args = sets[0];
    size_t k = ++fresh % FRESH;
    for (int i = 0; i < N_TENSORS; i++)
        if (tensors[i].is_output) set_pointer(&args, i, (char *)base[i] + k * STEP);
    return args;
}

/* ---- the rows -------------------------------------------------------------------------------- */
static void bare(int i)
{
    (void)i;
    CUDNN(cudnnBackendExecute(handle, plan, ready));
}
static void bare_fresh(int i)
{
    struct G(_args) args = fresh_set();
    cudnnBackendDescriptor_t pack = make_pack(&args);
    (void)i;
    CUDNN(cudnnBackendExecute(handle, plan, pack));
    CUDNN(cudnnBackendDestroyDescriptor(pack));
}
static void same(int i)
{
    (void)i;
    FGC(object, G(_run)(object, handle, &sets[0], workspace));
}
static void rotating(int i)
{
    FGC(object, G(_run)(object, handle, &sets[i % SETS], workspace));
}
static void never_seen(int i)
{
    struct G(_args) args = fresh_set();
    (void)i;
    FGC(object, G(_run)(object, handle, &args, workspace));
}
static void replay(int i)
{
    (void)i;
    FGC(object, G(_graph_launch)(graph, stream));
}

static const struct {
    const char *name;
    void (*call)(int);
} rows[] = {
    {"bare", bare},
    {"bare again", bare},
    {"bare, new pack each call", bare_fresh},
    {"same pointers", same},
    {"8 rotating sets", rotating},
    {"never-seen set", never_seen},
    {"graph replay", replay},
};

static double batch(void (*call)(int))
{
    double start;
    CUDA(cudaStreamSynchronize(stream));
    start = now_us();
    for (int i = 0; i < BATCH; i++) call(i);
    start = now_us() - start;
    CUDA(cudaStreamSynchronize(stream));
    return start / BATCH;
}

static void print_allocations(const char *what, void (*call)(int))
{
    unsigned long all, own;
    for (int i = 0; i < SETS; i++) call(i);
    all = n_allocations;
    own = n_own;
    for (int i = 0; i < 10000; i++) {
        call(i);
        if (i % BATCH == 0) CUDA(cudaStreamSynchronize(stream));
    }
    printf("allocations, 10,000 %s\t%lu\t%lu\n", what, n_own - own, n_allocations - all);
}

static void load_plan(const char *path)
{
    FILE *f = fopen(path, "rb");
    static char text[1 << 24];
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (n == 0) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(1);
    }
    fclose(f);
    CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
    CUDNN(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                   CUDNN_TYPE_CHAR, (int64_t)n, text));
    CUDNN(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                   &handle));
    CUDNN(cudnnBackendFinalize(plan));
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (rounds < 1 || rounds > 10000) {
        fprintf(stderr, "usage: cost PLAN.json ROUNDS\n");
        return 2;
    }
    static double us[COUNT_OF(rows)][10000];
    CUDA(cudaStreamCreate(&stream));
    CUDNN(cudnnCreate(&handle));
    CUDNN(cudnnSetStream(handle, stream));
    load_plan(argv[1]);
    FGC(object, G(_create)(&object, handle));
    CUDA(cudaMalloc(&workspace, G(_workspace_bytes)(object) + 256));
    for (int i = 0; i < N_TENSORS; i++) {
        base[i] = upload_noise(tensors[i].bytes, (FRESH + SETS) * STEP, (uint64_t)i + 1);
        for (int k = 0; k < SETS; k++) {
            struct G(_args) init = G(_ARGS_INIT);
            if (i == 0) sets[k] = init;
            /* below: inputs as they are, outputs at addresses that fresh_set never makes */
            set_pointer(&sets[k], i,
                        tensors[i].is_output ? (char *)base[i] + (size_t)(FRESH + k) * STEP
                                             : (char *)base[i]);
        }
    }
    ready = make_pack(&sets[0]);
    FGC(object, G(_graph_create)(&graph, object, handle, &sets[0], workspace));
    for (size_t r = 0; r < COUNT_OF(rows); r++) batch(rows[r].call);
    for (int k = 0; k < rounds; k++)
        for (size_t r = 0; r < COUNT_OF(rows); r++)
            us[r][k] = batch(rows[(r + (size_t)k) % COUNT_OF(rows)].call);
    /* Row r was measured in round k at place r - k: turn back. */
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        printf("%s", rows[r].name);
        for (int k = 0; k < rounds; k++)
            printf("\t%.4f",
                   us[(r + COUNT_OF(rows) - (size_t)k % COUNT_OF(rows)) % COUNT_OF(rows)][k]);
        printf("\n");
    }
    print_allocations("bare calls", bare);
    print_allocations("calls, same pointers", same);
    print_allocations("calls, 8 rotating sets", rotating);
    print_allocations("calls, never-seen sets", never_seen);
    print_allocations("graph replays", replay);
    G(_graph_destroy)(graph);
    G(_destroy)(object);
    return 0;
}
