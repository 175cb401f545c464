/* Process lists and the utilisation samples of processes. */
#include "call.h"

#include <stdio.h>
#include <string.h>

#define FIRST_PID_OF_GROWTH 4000000u
#define MEMORY_OF_GROWTH (1024ull * 1024)

/* What drivers 535.43 to before 535.86 write for each process: one field more than the
 * caller's array has room for, so that everything after the first entry is misplaced. */
typedef struct {
    nvmlProcessInfo_v2_t info;
    unsigned long long protected_memory;
} WideProcessInfo;

static bool is_listed(const Process *process, const Call *call, uint64_t kind)
{
    if (!(process->kinds & kind) || strcmp(process->gpu, call->gpu->uuid) != 0)
        return false;
    if (call->mig != NULL)
        return process->gi == call->mig->gi && process->ci == call->mig->ci;
    return call->gpu->mig_mode != 1 || call->gpu->mig_aggregate;
}

static nvmlProcessInfo_v2_t info_of(const Process *process)
{
    bool in_mig = process->gi != NONE;
    return (nvmlProcessInfo_v2_t){
        .pid = (unsigned int)process->pid,
        .usedGpuMemory = process->memory,
        .gpuInstanceId = in_mig ? (unsigned int)process->gi : NO_INSTANCE,
        .computeInstanceId = in_mig ? (unsigned int)process->ci : NO_INSTANCE,
    };
}

static bool has_wide_layout(const Call *call)
{
    unsigned int major = 0, minor = 0;
    sscanf(scenario_driver(call->scenario)->version, "%u.%u", &major, &minor);
    return major == 535 && minor >= 43 && minor < 86;
}

/* The real library writes past the end of an array that is only just large enough; this
 * one stops at its end. */
static void put(nvmlProcessInfo_v2_t *infos, unsigned int room, unsigned int at, bool wide,
                nvmlProcessInfo_v2_t info)
{
    if (!wide) {
        infos[at] = info;
        return;
    }
    WideProcessInfo entry;
    memset(&entry, 0, sizeof entry); /* its gaps are read as numbers */
    entry.info.pid = info.pid;
    entry.info.usedGpuMemory = info.usedGpuMemory;
    entry.info.gpuInstanceId = info.gpuInstanceId;
    entry.info.computeInstanceId = info.computeInstanceId;
    size_t end = room * sizeof *infos, start = at * sizeof entry;
    if (start < end)
        memcpy((char *)infos + start, &entry,
               end - start < sizeof entry ? end - start : sizeof entry);
}

static unsigned int count_listed(const Call *call, uint64_t kind)
{
    unsigned int count = 0;
    EACH(Process, process, call->scenario->processes)
        count += is_listed(process, call, kind);
    return count;
}

static nvmlReturn_t give_list(Call *call, uint64_t kind, bool wide, unsigned int *count,
                              nvmlProcessInfo_v2_t *infos)
{
    if (count == NULL || (*count > 0 && infos == NULL))
        return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int room = *count, listed = count_listed(call, kind), at = 0;
    unsigned int grown = room > 0 ? faults_growth(call) : 0;
    *count = listed + grown;
    if (*count > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    EACH(Process, process, call->scenario->processes)
        if (is_listed(process, call, kind))
            put(infos, room, at++, wide, info_of(process));
    for (unsigned int i = 0; i < grown; i++) {
        nvmlProcessInfo_v2_t more = {FIRST_PID_OF_GROWTH + i, MEMORY_OF_GROWTH, NO_INSTANCE,
                                     NO_INSTANCE};
        put(infos, room, at++, wide, more);
    }
    return NVML_SUCCESS;
}

static nvmlReturn_t list(Function function, uint64_t kind, bool is_v3, nvmlDevice_t device,
                         unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, function, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_list(&call, kind, is_v3 && has_wide_layout(&call), count, infos);
    return call_end(&call, result);
}

#define PROCESS_LIST(name, kind, is_v3) \
    nvmlReturn_t name(nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_v2_t *infos) \
    { \
        return list(FN_##name, kind, is_v3, device, infoCount, infos); \
    }

PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, KIND_COMPUTE, false)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, KIND_GRAPHICS, false)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, KIND_MPS, false)
#ifndef FAKE_BEFORE_510
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, KIND_COMPUTE, true)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, KIND_GRAPHICS, true)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, KIND_MPS, true)
#endif

static bool is_newer(const Sample *sample, const Call *call, unsigned long long than)
{
    return strcmp(sample->gpu, call->gpu->uuid) == 0 && sample->timestamp > than;
}

static unsigned int count_newer(const Call *call, unsigned long long than)
{
    unsigned int count = 0;
    EACH(Sample, sample, call->scenario->samples)
        count += is_newer(sample, call, than);
    return count;
}

static nvmlReturn_t give_samples(const Call *call, nvmlProcessUtilizationSample_t *samples,
                                 unsigned int *count, unsigned long long since)
{
    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (call->mig != NULL || call->gpu->mig_mode == 1)
        return NVML_ERROR_NOT_SUPPORTED;
    unsigned int room = *count, at = 0;
    *count = count_newer(call, since);
    if (*count == 0)
        return NVML_ERROR_NOT_FOUND;
    if (samples == NULL || *count > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    EACH(Sample, sample, call->scenario->samples)
        if (is_newer(sample, call, since))
            samples[at++] = (nvmlProcessUtilizationSample_t){
                (unsigned int)sample->pid,     sample->timestamp,
                (unsigned int)sample->sm,      (unsigned int)sample->memory,
                (unsigned int)sample->encoder, (unsigned int)sample->decoder};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t *utilization,
                                             unsigned int *processSamplesCount,
                                             unsigned long long lastSeenTimeStamp)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetProcessUtilization, HANDLE(device));
    if (result == NVML_SUCCESS)
        result = give_samples(&call, utilization, processSamplesCount, lastSeenTimeStamp);
    return call_end(&call, result);
}
