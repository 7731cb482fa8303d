/* device: what the real driver says of the machine's GPUs. */
#ifndef FGC_GPU_BUILD_DEVICE_H
#define FGC_GPU_BUILD_DEVICE_H

#include "gpu/build/cudnn_api.h"

/* "driver_version", "devices": [{name, sm, multiprocessors, memory_bytes}], "device_error". */
void device_list(json_t *reply);
/* "device": cuDNN's description of GPU 0. */
void device_dump(struct cudnn *c, json_t *reply);

#endif
