/* Enumeration, identity, memory and utilisation of GPUs and MIG devices. */
#include "call.h"

#include <stdio.h>
#include <string.h>

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetCount_v2, NO_TARGET);
    if (result == NVML_SUCCESS && count == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *count = enumerate(call.scenario).count;
    return call_end(&call, result);
}

static nvmlReturn_t find(Function function, Target target, nvmlDevice_t *device)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, function, target);
    if (result == NVML_SUCCESS && device == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *device = call.mig != NULL ? mig_handle(call.mig->uuid) : gpu_handle(call.gpu->uuid);
    return call_end(&call, result);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return find(FN_nvmlDeviceGetHandleByIndex_v2, (Target){.by = BY_INDEX, .index = index}, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    return find(FN_nvmlDeviceGetHandleByUUID, (Target){.by = BY_UUID, .text = uuid}, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    return find(FN_nvmlDeviceGetHandleByPciBusId_v2, (Target){.by = BY_PCI, .text = pciBusId},
                device);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetUUID, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = copy_text(uuid, length, call.mig != NULL ? call.mig->uuid : call.gpu->uuid);
    return call_end(&call, result);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetName, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = copy_text(name, length, call.mig != NULL ? call.mig->name : call.gpu->name);
    return call_end(&call, result);
}

static unsigned int index_of(const Call *call)
{
    if (call->mig != NULL)
        return (unsigned int)call->mig->index;
    Enumeration all = enumerate(call->scenario);
    nvmlDevice_t handle = gpu_handle(call->gpu->uuid);
    unsigned int index = 0;
    while (index < all.count && all.devices[index] != handle)
        index++;
    return index;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetIndex, HANDLE(device));
    if (result == NVML_SUCCESS && index == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *index = index_of(&call);
    return call_end(&call, result);
}

/* A property of whole GPUs only: NONE and MIG devices answer "not supported". */
static nvmlReturn_t give_number(const Call *call, uint64_t number, unsigned int *to)
{
    if (to == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->mig != NULL || number == NONE)
        return NVML_ERROR_NOT_SUPPORTED;
    *to = (unsigned int)number;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minorNumber)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetMinorNumber, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_number(&call, call.gpu->minor, minorNumber);
    return call_end(&call, result);
}

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int *boardId)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetBoardId, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_number(&call, call.gpu->board_id, boardId);
    return call_end(&call, result);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetSerial, HANDLE(device));
    if (result == NVML_SUCCESS && (call.mig != NULL || call.gpu->serial[0] == '\0'))
        result = NVML_ERROR_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        result = copy_text(serial, length, call.gpu->serial);
    return call_end(&call, result);
}

static nvmlReturn_t give_pci(const Call *call, nvmlPciInfo_t *pci)
{
    if (pci == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->mig != NULL)
        return NVML_ERROR_NOT_SUPPORTED;
    unsigned int function = 0;
    memset(pci, 0, sizeof *pci);
    sscanf(call->gpu->pci, "%x:%x:%x.%x", &pci->domain, &pci->bus, &pci->device, &function);
    snprintf(pci->busId, sizeof pci->busId, "%s", call->gpu->pci);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.%X",
             pci->domain & 0xFFFF, pci->bus & 0xFF, pci->device & 0xFF, function & 0xF);
    pci->pciDeviceId = (unsigned int)call->gpu->pci_device_id;
    pci->pciSubSystemId = (unsigned int)call->gpu->pci_subsystem_id;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetPciInfo_v3, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_pci(&call, pci);
    return call_end(&call, result);
}

static nvmlMemory_v2_t memory_of(const Call *call)
{
    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    memory.total = call->mig != NULL ? call->mig->memory_total : call->gpu->memory_total;
    memory.used = call->mig != NULL ? call->mig->memory_used : call->gpu->memory_used;
    memory.reserved = call->mig != NULL ? call->mig->memory_reserved : call->gpu->memory_reserved;
    memory.free = memory.total - memory.used - memory.reserved;
    return memory;
}

/* The first version counts what is reserved among what is used. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetMemoryInfo, HANDLE(device));
    if (result == NVML_SUCCESS && memory == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS) {
        nvmlMemory_v2_t now = memory_of(&call);
        *memory = (nvmlMemory_t){now.total, now.free, now.used + now.reserved};
    }
    return call_end(&call, result);
}

#ifndef FAKE_BEFORE_510
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetMemoryInfo_v2, HANDLE(device));
    if (result == NVML_SUCCESS && memory == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS && memory->version != nvmlMemory_v2)
        result = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (result == NVML_SUCCESS)
        *memory = memory_of(&call);
    return call_end(&call, result);
}
#endif

static nvmlReturn_t give_utilization(const Call *call, nvmlUtilization_t *utilization)
{
    if (utilization == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->gpu->mig_mode == 1 || call->gpu->utilization_gpu == NONE)
        return NVML_ERROR_NOT_SUPPORTED;
    utilization->gpu = (unsigned int)call->gpu->utilization_gpu;
    utilization->memory = (unsigned int)call->gpu->utilization_memory;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetUtilizationRates, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_utilization(&call, utilization);
    return call_end(&call, result);
}
