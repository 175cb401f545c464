/* MIG: the mode of a GPU, and the walk from it to its MIG devices and back. */
#include "call.h"

#include <string.h>

static nvmlReturn_t give_mode(const Call *call, unsigned int *now, unsigned int *pending)
{
    if (now == NULL || pending == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->mig != NULL || call->gpu->mig_mode == NONE)
        return NVML_ERROR_NOT_SUPPORTED;
    *now = (unsigned int)call->gpu->mig_mode;
    *pending = call->gpu->mig_pending == NONE ? *now : (unsigned int)call->gpu->mig_pending;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *currentMode,
                                  unsigned int *pendingMode)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetMigMode, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_mode(&call, currentMode, pendingMode);
    return call_end(&call, result);
}

static unsigned int most_migs(const Call *call)
{
    return call->gpu->mig_mode == 1 ? (unsigned int)call->gpu->mig_max : 0;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetMaxMigDeviceCount, HANDLE(device));
    if (result == NVML_SUCCESS && (count == NULL || call.mig != NULL))
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *count = most_migs(&call);
    return call_end(&call, result);
}

static nvmlReturn_t give_mig(const Call *call, unsigned int index, nvmlDevice_t *device)
{
    if (device == NULL || call->mig != NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->gpu->mig_mode == NONE)
        return NVML_ERROR_NOT_SUPPORTED;
    if (call->gpu->mig_mode == 1 && index >= most_migs(call))
        return NVML_ERROR_INVALID_ARGUMENT;
    EACH(Mig, mig, call->scenario->migs) {
        if (mig->index != index || strcmp(mig->gpu, call->gpu->uuid) != 0)
            continue;
        *device = mig_handle(mig->uuid);
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t *migDevice)
{
    Call call;
    nvmlReturn_t result =
        call_begin(&call, FN_nvmlDeviceGetMigDeviceHandleByIndex, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_mig(&call, index, migDevice);
    return call_end(&call, result);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
                                                          nvmlDevice_t *device)
{
    Call call;
    nvmlReturn_t result =
        call_begin(&call, FN_nvmlDeviceGetDeviceHandleFromMigDeviceHandle, HANDLE(migDevice));
    if (result == NVML_SUCCESS && (device == NULL || call.mig == NULL))
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *device = gpu_handle(call.gpu->uuid);
    return call_end(&call, result);
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *isMigDevice)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceIsMigDeviceHandle, HANDLE(device));
    if (result == NVML_SUCCESS && isMigDevice == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *isMigDevice = call.mig != NULL;
    return call_end(&call, result);
}

static nvmlReturn_t give_instance(const Call *call, bool compute, unsigned int *id)
{
    if (id == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->mig == NULL)
        return NVML_ERROR_NOT_SUPPORTED;
    *id = (unsigned int)(compute ? call->mig->ci : call->mig->gi);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetGpuInstanceId, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_instance(&call, false, id);
    return call_end(&call, result);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetComputeInstanceId, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_instance(&call, true, id);
    return call_end(&call, result);
}
