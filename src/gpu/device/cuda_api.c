/* cuda_api: opens libcuda. */
#include "gpu/device/cuda_api.h"

#include <dlfcn.h>

/* cuda.h maps names to versioned ones by macros; the strings below go through them too. */
#define STRING(x) STRING_(x)
#define STRING_(x) #x

bool cuda_open(struct cuda *c, const char **why)
{
    void *h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!h) {
        *why = dlerror();
        return false;
    }
#define LOOK(name)                                            \
    if (!(*(void **)&c->p_##name = dlsym(h, STRING(name)))) { \
        *why = "libcuda.so.1 lacks " STRING(name);            \
        return false;                                         \
    }
    CUDA_FUNCTIONS(LOOK)
#undef LOOK
    return true;
}

const char *cuda_word(const struct cuda *c, CUresult r)
{
    const char *name = 0;
    return c->p_cuGetErrorName && c->p_cuGetErrorName(r, &name) == CUDA_SUCCESS && name
               ? name
               : "an unknown error";
}
