/* What the health watch asks: remapped rows, ECC errors, the GPU's own recovery action. */
#include "call.h"

#include <string.h>
#include <time.h>

static bool has_instances(const Call *call)
{
    if (call->gpu->mig_mode == 1)
        EACH(Mig, mig, call->scenario->migs)
            if (strcmp(mig->gpu, call->gpu->uuid) == 0)
                return true;
    return false;
}

static nvmlReturn_t give_rows(const Call *call, unsigned int *correctable,
                              unsigned int *uncorrectable, unsigned int *pending,
                              unsigned int *failure)
{
    if (!correctable || !uncorrectable || !pending || !failure)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->gpu->remapped_correctable == NONE || has_instances(call))
        return NVML_ERROR_NOT_SUPPORTED;
    *correctable = (unsigned int)call->gpu->remapped_correctable;
    *uncorrectable = (unsigned int)call->gpu->remapped_uncorrectable;
    *pending = (unsigned int)call->gpu->remap_pending;
    *failure = (unsigned int)call->gpu->remap_failure;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows,
                                       unsigned int *uncRows, unsigned int *isPending,
                                       unsigned int *failureOccurred)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetRemappedRows, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_rows(&call, corrRows, uncRows, isPending, failureOccurred);
    return call_end(&call, result);
}

static nvmlReturn_t give_ecc(const Gpu *gpu, nvmlMemoryErrorType_t type,
                             nvmlEccCounterType_t counter, unsigned long long *count)
{
    const uint64_t counts[2][2] = {
        {gpu->ecc_volatile_corrected, gpu->ecc_volatile_uncorrected},
        {gpu->ecc_aggregate_corrected, gpu->ecc_aggregate_uncorrected}};
    if (count == NULL || (unsigned)type > NVML_MEMORY_ERROR_TYPE_UNCORRECTED ||
        (unsigned)counter > NVML_AGGREGATE_ECC)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (counts[counter][type] == NONE)
        return NVML_ERROR_NOT_SUPPORTED;
    *count = counts[counter][type];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                         nvmlEccCounterType_t counterType,
                                         unsigned long long *eccCounts)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetTotalEccErrors, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_ecc(call.gpu, errorType, counterType, eccCounts);
    return call_end(&call, result);
}

static uint64_t field_number(const Gpu *gpu, unsigned int field)
{
    switch (field) {
    case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: return gpu->recovery_action;
    case NVML_FI_DEV_REMAPPED_COR: return gpu->remapped_correctable;
    case NVML_FI_DEV_REMAPPED_UNC: return gpu->remapped_uncorrectable;
    case NVML_FI_DEV_REMAPPED_PENDING: return gpu->remap_pending;
    case NVML_FI_DEV_REMAPPED_FAILURE: return gpu->remap_failure;
    default: return NONE;
    }
}

static void give_field(const Gpu *gpu, nvmlFieldValue_t *value)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t number = field_number(gpu, value->fieldId);
    value->timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    value->latencyUsec = 0;
    value->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    value->nvmlReturn = number == NONE ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    if (number != NONE)
        value->value.uiVal = (unsigned int)number;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount,
                                      nvmlFieldValue_t *values)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetFieldValues, HANDLE(device));
    if (result == NVML_SUCCESS && (values == NULL || valuesCount <= 0))
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        for (int i = 0; i < valuesCount; i++)
            give_field(call.gpu, &values[i]);
    return call_end(&call, result);
}
