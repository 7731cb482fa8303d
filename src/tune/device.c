/* device: this machine's GPU, for the tuner. */
#include "tune/internal.h"

struct tune_device *tune_device_open(struct session *s, const struct gpu_search *o)
{
    struct gpu_probe here;
    if (!gpu_probe(s, o, true, &here)) return NULL;
    struct diag *d = diag(s, DIAG_no_device, NO_SPAN, "there is no GPU to tune on: %s",
                          here.n_devices ? "this fgc cannot yet run a plan on one by itself"
                          : here.device_error ? here.device_error
                                              : "none was found");
    diag_hint(s, d, "--build-only builds the candidates without one");
    return NULL;
}
