/* cuda_api: the driver's functions, looked up in libcuda.so.1 when the program runs. */
#ifndef FGC_GPU_DEVICE_CUDA_API_H
#define FGC_GPU_DEVICE_CUDA_API_H

#include <cuda.h>
#include <stdbool.h>

#define CUDA_FUNCTIONS(F)                                                                          \
    F(cuInit)                                                                                      \
    F(cuDriverGetVersion) F(cuDeviceGet) F(cuDeviceGetName) F(cuDeviceGetUuid)                     \
        F(cuDeviceGetAttribute) F(cuDeviceTotalMem) F(cuDevicePrimaryCtxRetain) F(cuCtxSetCurrent) \
            F(cuMemAlloc) F(cuMemFree) F(cuMemGetInfo) F(cuMemcpyHtoD) F(cuMemcpyDtoH)             \
                F(cuMemcpyDtoD) F(cuMemsetD8) F(cuStreamCreate) F(cuStreamSynchronize)             \
                    F(cuStreamBeginCapture) F(cuStreamEndCapture) F(cuGraphInstantiateWithFlags)   \
                        F(cuGraphLaunch) F(cuGraphDestroy) F(cuGraphExecDestroy) F(cuEventCreate)  \
                            F(cuEventRecord) F(cuEventSynchronize) F(cuEventElapsedTime)           \
                                F(cuGetErrorName) F(cuMemcpyDtoDAsync) F(cuModuleLoadData)         \
                                    F(cuModuleGetFunction) F(cuModuleUnload) F(cuLaunchKernel)

struct cuda {
#define MEMBER(name) __typeof__(&name) p_##name;
    CUDA_FUNCTIONS(MEMBER)
#undef MEMBER
};
/* False when the library or one of the functions is not there; *why says which. */
bool cuda_open(struct cuda *c, const char **why);
const char *cuda_word(const struct cuda *c, CUresult r);

#endif
