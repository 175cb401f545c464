/* Event sets: XIDs and other events that the scenario posts, each with a rising id.
 *
 * A set delivers, oldest first, the events of its GPUs that were posted after the GPU was
 * registered: what happened before is not recorded, as NVML documents it.
 */
#include "call.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    nvmlDevice_t device;
    unsigned long long types;
    uint64_t delivered; /* the highest id that is not to be delivered (again) */
} Registration;

struct nvmlEventSet_st {
    Registration registrations[MOST_GPUS];
    size_t count;
    uint64_t delivered_of_none; /* the same for events that name no GPU */
    bool in_use;
};

#define MOST_SETS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlEventSet_st sets[MOST_SETS];

static bool is_set_locked(nvmlEventSet_t set)
{
    for (size_t i = 0; i < MOST_SETS; i++)
        if (&sets[i] == set)
            return set->in_use;
    return false;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *eventTypes)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceGetSupportedEventTypes, HANDLE(device));
    if (result == NVML_SUCCESS && eventTypes == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *eventTypes = call.gpu->event_types;
    return call_end(&call, result);
}

static nvmlReturn_t take_free_set(nvmlEventSet_t *set)
{
    if (set == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < MOST_SETS; i++) {
        if (sets[i].in_use)
            continue;
        sets[i] = (struct nvmlEventSet_st){.in_use = true};
        *set = &sets[i];
        return NVML_SUCCESS;
    }
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlEventSetCreate, NO_TARGET);
    pthread_mutex_lock(&lock);
    if (result == NVML_SUCCESS)
        result = take_free_set(set);
    pthread_mutex_unlock(&lock);
    return call_end(&call, result);
}

static uint64_t newest_event(const Scenario *scenario)
{
    uint64_t newest = 0;
    EACH(Event, event, scenario->events)
        newest = event->id > newest ? event->id : newest;
    return newest;
}

static Registration *registration_of(nvmlEventSet_t set, nvmlDevice_t device)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->registrations[i].device == device)
            return &set->registrations[i];
    return NULL;
}

static nvmlReturn_t register_locked(const Call *call, unsigned long long types, nvmlEventSet_t set)
{
    if (!is_set_locked(set) || call->mig != NULL || (types & ~(uint64_t)nvmlEventTypeAll) != 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if ((types & ~call->gpu->event_types) != 0)
        return NVML_ERROR_NOT_SUPPORTED;
    Registration *known = registration_of(set, call->target.handle);
    if (known != NULL) {
        known->types |= types;
        return NVML_SUCCESS;
    }
    if (set->count == MOST_GPUS)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    uint64_t newest = newest_event(call->scenario);
    if (set->count == 0)
        set->delivered_of_none = newest;
    set->registrations[set->count++] = (Registration){call->target.handle, types, newest};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes,
                                      nvmlEventSet_t set)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlDeviceRegisterEvents, HANDLE(device));
    pthread_mutex_lock(&lock);
    if (result == NVML_SUCCESS)
        result = register_locked(&call, eventTypes, set);
    pthread_mutex_unlock(&lock);
    return call_end(&call, result);
}

/* Where the set remembers how far it has delivered events like this one; NULL where it does
 * not listen for them. */
static uint64_t *delivered_mark(nvmlEventSet_t set, const Event *event)
{
    if (event->gpu[0] == '\0')
        return set->count > 0 ? &set->delivered_of_none : NULL;
    Registration *registration = registration_of(set, gpu_handle(event->gpu));
    if (registration == NULL || !(registration->types & event->type))
        return NULL;
    return &registration->delivered;
}

static nvmlEventData_t data_of(const Event *event)
{
    return (nvmlEventData_t){
        .device = event->gpu[0] == '\0' ? NULL : gpu_handle(event->gpu),
        .eventType = event->type,
        .eventData = event->data,
        .gpuInstanceId = event->gi == NONE ? NO_INSTANCE : (unsigned int)event->gi,
        .computeInstanceId = event->ci == NONE ? NO_INSTANCE : (unsigned int)event->ci,
    };
}

/* Events stand in the scenario in the order of their ids. */
static bool deliver_locked(const Scenario *scenario, nvmlEventSet_t set, nvmlEventData_t *data)
{
    EACH(Event, event, scenario->events) {
        uint64_t *mark = delivered_mark(set, event);
        if (mark == NULL || event->id <= *mark)
            continue;
        *mark = event->id;
        *data = data_of(event);
        return true;
    }
    return false;
}

static bool any_lost_locked(const Scenario *scenario, nvmlEventSet_t set)
{
    EACH(Gpu, gpu, scenario->gpus)
        if (gpu->lost && registration_of(set, gpu_handle(gpu->uuid)) != NULL)
            return true;
    return false;
}

/* NVML_ERROR_TIMEOUT: nothing yet. What was posted goes before the news of a lost GPU. */
static nvmlReturn_t look_for_event(const Call *call, nvmlEventSet_t set, nvmlEventData_t *data)
{
    if (data == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t result = NVML_ERROR_TIMEOUT;
    pthread_mutex_lock(&lock);
    if (!is_set_locked(set))
        result = NVML_ERROR_INVALID_ARGUMENT;
    else if (deliver_locked(call->scenario, set, data))
        result = NVML_SUCCESS;
    else if (any_lost_locked(call->scenario, set))
        result = NVML_ERROR_GPU_IS_LOST;
    pthread_mutex_unlock(&lock);
    return result;
}

static struct timespec deadline_in(unsigned int milliseconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static bool has_passed(const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    Call call;
    struct timespec deadline = deadline_in(timeoutms);
    nvmlReturn_t result = call_begin(&call, FN_nvmlEventSetWait_v2, NO_TARGET);
    while (result == NVML_SUCCESS) {
        result = look_for_event(&call, set, data);
        if (result != NVML_ERROR_TIMEOUT || has_passed(&deadline))
            break;
        scenario_wait_change(call.scenario->generation, &deadline);
        result = call_refresh(&call);
    }
    return call_end(&call, result);
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    Call call;
    nvmlReturn_t result = call_begin(&call, FN_nvmlEventSetFree, NO_TARGET);
    pthread_mutex_lock(&lock);
    if (result == NVML_SUCCESS && !is_set_locked(set))
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        set->in_use = false;
    pthread_mutex_unlock(&lock);
    return call_end(&call, result);
}
