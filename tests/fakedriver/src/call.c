#include "call.h"
#include "counters.h"

#include <string.h>

static bool works_uninitialised(Function function)
{
    return function == FN_nvmlInit_v2 || function == FN_nvmlInitWithFlags;
}

static nvmlReturn_t try_once(Call *call, bool *hang)
{
    *hang = false;
    if (!call->scenario->usable)
        return NVML_ERROR_UNKNOWN;
    if (!works_uninitialised(call->function) && !is_initialised())
        return NVML_ERROR_UNINITIALIZED;
    nvmlReturn_t resolved =
        target_resolve(call->scenario, &call->target, &call->gpu, &call->mig);
    nvmlReturn_t fault = faults_meet(call, hang);
    if (*hang || fault != NVML_SUCCESS)
        return fault;
    if (call->gpu != NULL && call->gpu->lost)
        return NVML_ERROR_GPU_IS_LOST;
    return resolved;
}

/* A call that hangs holds no scenario and no lock: others go on, and it sees the change. */
static nvmlReturn_t enter(Call *call)
{
    for (;;) {
        bool hang;
        call->scenario = scenario_acquire();
        nvmlReturn_t result = try_once(call, &hang);
        if (!hang)
            return result;
        uint64_t generation = call->scenario->generation;
        scenario_release(call->scenario);
        scenario_wait_change(generation, NULL);
    }
}

nvmlReturn_t call_begin(Call *call, Function function, Target target)
{
    *call = (Call){.function = function, .target = target, .struck = NONE};
    count_started(function);
    return enter(call);
}

nvmlReturn_t call_refresh(Call *call)
{
    scenario_release(call->scenario);
    return enter(call);
}

nvmlReturn_t call_end(Call *call, nvmlReturn_t result)
{
    scenario_release(call->scenario);
    count_finished(call->function);
    return result;
}

nvmlReturn_t copy_text(char *to, unsigned int length, const char *from)
{
    if (to == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(from) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, from);
    return NVML_SUCCESS;
}
