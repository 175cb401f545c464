/* The faults of the scenario: which of them a call meets, and what they do to it. */
#include "call.h"
#include "counters.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static bool concerns_target(const Fault *fault, const Call *call)
{
    if (fault->gpu[0] == '\0')
        return true;
    if (call->mig != NULL && strcmp(fault->gpu, call->mig->uuid) == 0)
        return true;
    return call->gpu != NULL && strcmp(fault->gpu, call->gpu->uuid) == 0;
}

static bool concerns(const Fault *fault, const Call *call)
{
    return concerns_target(fault, call) &&
           fnmatch(fault->function, function_name(call->function), 0) == 0;
}

/* A fault that strikes a number of times strikes one call once, however long it holds it. */
static bool strikes(const Fault *fault, Call *call)
{
    if (fault->times == NONE)
        return true;
    if (fault->slot == call->struck)
        return true;
    if (!count_fault(fault->slot, fault->times))
        return false;
    call->struck = fault->slot;
    return true;
}

static void sleep_ms(uint64_t milliseconds)
{
    struct timespec left = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static bool is_action(const Fault *fault, const char *action)
{
    return strcmp(fault->action, action) == 0;
}

static void crash(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    abort();
}

nvmlReturn_t faults_meet(Call *call, bool *hang)
{
    EACH(Fault, fault, call->scenario->faults) {
        if (is_action(fault, "grow") || !concerns(fault, call))
            continue;
        if (is_action(fault, "delay") && call->delayed)
            continue;
        if (!strikes(fault, call))
            continue;
        if (is_action(fault, "return"))
            return (nvmlReturn_t)fault->value;
        if (is_action(fault, "crash"))
            crash((int)fault->value);
        if (is_action(fault, "delay"))
            sleep_ms(fault->value);
        *hang = is_action(fault, "hang");
        if (*hang)
            break;
    }
    call->delayed = true;
    return NVML_SUCCESS;
}

unsigned int faults_growth(const Call *call)
{
    unsigned int more = 0;
    EACH(Fault, fault, call->scenario->faults) {
        if (!is_action(fault, "grow") || !concerns(fault, call))
            continue;
        if (fault->times == NONE || count_fault(fault->slot, fault->times))
            more += (unsigned int)fault->value;
    }
    return more;
}
