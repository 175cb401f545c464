/* Initialisation, and what NVML knows of the machine as a whole. */
#include "call.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int initialisations;

bool is_initialised(void)
{
    pthread_mutex_lock(&lock);
    bool yes = initialisations > 0;
    pthread_mutex_unlock(&lock);
    return yes;
}

static nvmlReturn_t initialise(const Scenario *scenario, unsigned int flags)
{
    bool any = false;
    EACH(Gpu, gpu, scenario->gpus)
        any = any || gpu->enumerated;
    if (!any && !(flags & NVML_INIT_FLAG_NO_GPUS))
        return NVML_ERROR_GPU_NOT_FOUND;
    pthread_mutex_lock(&lock);
    if (initialisations++ == 0)
        enumeration_capture(scenario);
    pthread_mutex_unlock(&lock);
    return NVML_SUCCESS;
}

static nvmlReturn_t init(Function function, unsigned int flags)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, function, NO_TARGET);
    if (result == NVML_SUCCESS)
        result = initialise(call.scenario, flags);
    return call_end(&call, result);
}

nvmlReturn_t nvmlInit_v2(void)
{
    return init(FN_nvmlInit_v2, 0);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    return init(FN_nvmlInitWithFlags, flags);
}

nvmlReturn_t nvmlShutdown(void)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlShutdown, NO_TARGET);
    if (result == NVML_SUCCESS) {
        pthread_mutex_lock(&lock);
        if (initialisations > 0)
            initialisations--;
        else
            result = NVML_ERROR_UNINITIALIZED;
        pthread_mutex_unlock(&lock);
    }
    return call_end(&call, result);
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlSystemGetDriverVersion, NO_TARGET);
    if (result == NVML_SUCCESS)
        result = copy_text(version, length, scenario_driver(call.scenario)->version);
    return call_end(&call, result);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlSystemGetNVMLVersion, NO_TARGET);
    if (result == NVML_SUCCESS)
        result = copy_text(version, length, scenario_driver(call.scenario)->nvml_version);
    return call_end(&call, result);
}

static nvmlReturn_t cuda_version(Function function, int *version)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, function, NO_TARGET);
    if (result == NVML_SUCCESS && version == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *version = (int)scenario_driver(call.scenario)->cuda_version;
    return call_end(&call, result);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    return cuda_version(FN_nvmlSystemGetCudaDriverVersion, version);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return cuda_version(FN_nvmlSystemGetCudaDriverVersion_v2, version);
}

/* A process that really runs: its first argument, as the driver shows it. */
static nvmlReturn_t name_from_proc(unsigned int pid, char *name, unsigned int length)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NVML_ERROR_NOT_FOUND;
    ssize_t got = read(file, name, length - 1);
    close(file);
    name[got > 0 ? got : 0] = '\0';
    return got > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

static nvmlReturn_t process_name(const Scenario *scenario, unsigned int pid, char *name,
                                 unsigned int length)
{
    if (name == NULL || length == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    EACH(Process, process, scenario->processes) {
        if (process->pid != pid || process->name[0] == '\0')
            continue;
        snprintf(name, length, "%s", process->name);
        return NVML_SUCCESS;
    }
    return name_from_proc(pid, name, length);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlSystemGetProcessName, NO_TARGET);
    if (result == NVML_SUCCESS)
        result = process_name(call.scenario, pid, name, length);
    return call_end(&call, result);
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED: return "GPU requires restart";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
    case NVML_ERROR_GPU_NOT_FOUND: return "No GPU was found";
    default: return "Unknown Error";
    }
}
