/* runner: plans on this machine's GPU, run by another process (libexec/fgc/fgc-device).
 *
 * Invariant: a plan that crashes, hangs or ruins the device's context costs that process alone; the
 * next command starts a new one, which knows of no job and no plan. */
#ifndef FGC_GPU_RUNNER_H
#define FGC_GPU_RUNNER_H

#include "gpu/gpu.h"

enum runner_status {
    RUNNER_OK,
    RUNNER_REFUSED, /* cuDNN or the driver will not, and says why */
    RUNNER_CRASH,   /* the process ended, or its context was lost */
    RUNNER_HANG,    /* it did not answer in time, and was ended */
    RUNNER_GONE,    /* no process can be started any more */
};
struct runner_tensor_at { /* a tensor in device memory; its bytes on the host stand at `at` */
    int64_t uid;
    size_t bytes;
    bool output;
    size_t at; /* set by runner_layout: offset in the shared memory */
};
struct runner_value_at { /* a value that cuDNN reads from the host: its little-endian bytes */
    int64_t uid;
    size_t bytes;
    unsigned char value[8];
};
typedef VEC(struct runner_tensor_at) runner_tensors_vec;
typedef VEC(struct runner_value_at) runner_values_vec;

struct runner {
    const char *name, *uuid;
    int sm, multiprocessors, driver;
    int64_t memory_bytes, cudnn_version;
    const char *description; /* normalised, NULL when cuDNN gives none */
    struct runner_process *p;
};
/* NULL with a diagnostic when there is no GPU, driver or cuDNN. */
struct runner *runner_open(struct session *s, const struct gpu_search *o);
void runner_close(struct runner *r);
/* Room on the host for the tensors of a job; sets their `at`. False when there is no memory. */
bool runner_layout(struct runner *r, runner_tensors_vec *tensors);
void *runner_bytes(struct runner *r, size_t at);
/* Uploads the inputs; plans loaded before are gone. seconds: a time limit for this and each of the
 * others, 0: 60. */
enum runner_status runner_begin(struct runner *r, const runner_tensors_vec *tensors,
                                const runner_values_vec *values);
/* The same job's inputs anew, in other memory; plans stay. */
enum runner_status runner_fresh(struct runner *r);
enum runner_status runner_load(struct runner *r, int slot, const char *plan, size_t n,
                               int64_t workspace);
void runner_unload(struct runner *r, int slot);
/* Runs once on outputs of 0xff bytes, and fetches the outputs. */
enum runner_status runner_run(struct runner *r, int slot);
/* Microseconds a call, by events over a replay of a CUDA graph; mhz: the SMs' clock, 0 when not
 * known. Where a call takes longer than at_most_us (0: no limit) its time alone is given. */
enum runner_status runner_time(struct runner *r, int slot, double at_most_us, double *us,
                               double *mhz);
/* Host microseconds of a call: alone and waited for, enqueued, and replayed as a graph of one. */
struct runner_wall {
    double call_us, host_us, replay_us;
};
enum runner_status runner_wall(struct runner *r, int slot, struct runner_wall *out);
/* Microseconds to copy so many bytes within the device's memory. */
enum runner_status runner_copy(struct runner *r, int64_t bytes, double *us);

/* ---- programs: plain kernels and loaded plans as one list of launches, in a slot like a plan's -- */

struct runner_arg {
    enum { RUNNER_TENSOR, RUNNER_BUFFER, RUNNER_VALUE } kind;
    int64_t uid;  /* in the plan; kernels take their arguments in order */
    int64_t of;   /* the tensor's uid in the job, or the buffer's number */
    int64_t offset; /* bytes from its beginning, of a view */
    struct runner_value_at value;
};
struct runner_launch {
    const char *kernel; /* NULL: the plan that is loaded in slot `plan` */
    int plan;
    int64_t first, count; /* the last two parameters of a kernel; a thread each of count */
    VEC(struct runner_arg) args;
};
struct runner_program {
    const char *text; /* CUDA C++; NULL: no kernels */
    bool contract;    /* products and sums may become one operation */
    VEC(int64_t) buffers; /* their bytes */
    VEC(struct runner_launch) launches;
};
/* Compiles and loads; runner_run, runner_time, runner_wall and runner_unload take its slot then. */
enum runner_status runner_program(struct runner *r, int slot, const struct runner_program *p);
/* Launches from up to `to`, on the first set of the job's memory, and waits. */
enum runner_status runner_launch(struct runner *r, int slot, size_t from, size_t to);
/* The first n bytes of a buffer; they stand at runner_bytes(r, 0) until the next load or program. */
enum runner_status runner_fetch(struct runner *r, int slot, int buffer, size_t n);
/* Of the last status that was not RUNNER_OK; say: another text in its place. */
const char *runner_why(const struct runner *r);
void runner_say(struct runner *r, const char *why);

#endif
