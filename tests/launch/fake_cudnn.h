/* fake_cudnn: what a test sees of the fake libcudnn and libcudart.
 *
 * Every function that a launcher calls is there; a breach of the protocol (an unfinalized plan that
 * is executed, a finalized descriptor that is changed, a wrong type or count) ends the program. */
#ifndef FAKE_CUDNN_H
#define FAKE_CUDNN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fake_field {
    FAKE_MULTIPROCESSORS, FAKE_SHARED_OPTIN, FAKE_SHARED_RESERVED, FAKE_REGISTERS, FAKE_THREADS,
    FAKE_GRID_X, FAKE_GRID_Y, FAKE_GRID_Z, FAKE_MAJOR, FAKE_MINOR, FAKE_N_FIELDS
};
struct fake {
    int fail_at;             /* the call with this number (from 1) fails; 0: none */
    int n_calls;             /* calls that can fail, so far */
    const char *failed;      /* name of the one that did */
    int driver;              /* 13000 */
    size_t version;          /* CUDNN_VERSION of the headers */
    int field[FAKE_N_FIELDS];
    int no_update;           /* cudaGraphExecUpdate refuses */
    int64_t workspace;       /* what the plan says it needs; -1: 0 */
    int n_mallocs;           /* of the launcher, when it is compiled with malloc=fake_malloc */
    int n_packs;             /* variant packs finalized */
    int n_executed;          /* runs, on a stream or into a CUDA graph */
    int n_populated, n_captured, n_instantiated, n_updated, n_launched;
    int n_live;              /* descriptors, graphs, streams not yet destroyed */
};
extern struct fake fake;

struct cudnnContext *fake_handle(void);
void *fake_stream_of_handle(void);
void fake_set_stream(void *stream);
void fake_drop_stream(void);      /* destroys the handle's stream */

/* The run that is looked at, whether direct, captured or populated: the last one, until
 * fake_look(1) chooses the one before, and so on, up to 63. */
void fake_look(int back);
int fake_n_bound(void);
int64_t fake_uid(int i);
void *fake_pointer(int64_t uid);   /* NULL: the uid is not bound */
void *fake_workspace(void);
/* What cuDNN read of a host value at that moment: 8 bytes from the pointer. */
void fake_value(int64_t uid, void *to, size_t n);
/* The uids that are read as host values when what binds them runs. */
void fake_host_uid(int64_t uid, size_t bytes);

const char *fake_plan(size_t *n);  /* text of the plan that ran; it must be alive */

void *fake_malloc(size_t n);
void *fake_calloc(size_t n, size_t size);

#ifdef __cplusplus
}
#endif
#endif
