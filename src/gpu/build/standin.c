/* standin: a libcuda.so.1 for machines, and builds, without a driver.
 *
 * cuDNN's run-time compiled engines refuse to work when libcuda.so.1 cannot be opened, though with
 * device properties they only look functions up in it. Invariant: every entry returns
 * CUDA_ERROR_NO_DEVICE (100), so nothing ever succeeds by accident; a cuInit that succeeded would
 * make the CUDA runtime go on to entries that are not here. The number of devices is written as 0:
 * left unwritten, cuDNN would go on to load its kernels. */
#define NO_DEVICE 100
#define ENTRY(name)       \
    int name(void);       \
    int name(void)        \
    {                     \
        return NO_DEVICE; \
    }

ENTRY(cuInit)
ENTRY(cuDriverGetVersion)
ENTRY(cuGetErrorString)
ENTRY(cuGetErrorName)
ENTRY(cuDeviceGet)
ENTRY(cuCtxPushCurrent)
ENTRY(cuCtxPushCurrent_v2)
ENTRY(cuCtxPopCurrent)
ENTRY(cuCtxPopCurrent_v2)
ENTRY(cuCtxGetLimit)
ENTRY(cuCtxGetCurrent)
ENTRY(cuStreamGetCtx)
ENTRY(cuLaunchKernel)
ENTRY(cuLaunchKernelEx)
ENTRY(cuLaunchCooperativeKernel)
ENTRY(cuLinkCreate)
ENTRY(cuLinkCreate_v2)
ENTRY(cuLinkAddData)
ENTRY(cuLinkAddData_v2)
ENTRY(cuLinkComplete)
ENTRY(cuLinkDestroy)
ENTRY(cuOccupancyMaxPotentialClusterSize)
ENTRY(cuLibraryLoadData)
ENTRY(cuLibraryLoadFromFile)
ENTRY(cuLibraryUnload)
ENTRY(cuLibraryGetKernel)
ENTRY(cuKernelGetAttribute)
ENTRY(cuKernelSetAttribute)

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    if (count) *count = 0;
    return NO_DEVICE;
}
