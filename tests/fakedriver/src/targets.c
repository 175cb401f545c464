#include "targets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HANDLES 4096

struct nvmlDevice_st {
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    bool is_mig;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nvmlDevice_st handles[MOST_HANDLES];
static size_t handle_count;
static Enumeration at_init;

static nvmlDevice_t intern_locked(const char *uuid, bool is_mig)
{
    for (size_t i = 0; i < handle_count; i++)
        if (handles[i].is_mig == is_mig && strcmp(handles[i].uuid, uuid) == 0)
            return &handles[i];
    if (handle_count == MOST_HANDLES || strlen(uuid) >= sizeof handles[0].uuid) {
        fprintf(stderr, "fake NVML: no handle for '%s': too many, or too long\n", uuid);
        abort();
    }
    nvmlDevice_t handle = &handles[handle_count++];
    strcpy(handle->uuid, uuid);
    handle->is_mig = is_mig;
    return handle;
}

static nvmlDevice_t intern(const char *uuid, bool is_mig)
{
    pthread_mutex_lock(&lock);
    nvmlDevice_t handle = intern_locked(uuid, is_mig);
    pthread_mutex_unlock(&lock);
    return handle;
}

nvmlDevice_t gpu_handle(const char *uuid)
{
    return intern(uuid, false);
}

nvmlDevice_t mig_handle(const char *uuid)
{
    return intern(uuid, true);
}

static bool is_handle(nvmlDevice_t handle)
{
    size_t offset = (size_t)((char *)handle - (char *)handles);
    pthread_mutex_lock(&lock);
    bool yes = offset % sizeof handles[0] == 0 && offset / sizeof handles[0] < handle_count;
    pthread_mutex_unlock(&lock);
    return yes;
}

static Enumeration enumerate_scenario(const Scenario *scenario)
{
    Enumeration all = {.count = 0};
    EACH(Gpu, gpu, scenario->gpus)
        if (gpu->enumerated && all.count < MOST_GPUS)
            all.devices[all.count++] = gpu_handle(gpu->uuid);
    return all;
}

void enumeration_capture(const Scenario *scenario)
{
    Enumeration all = enumerate_scenario(scenario);
    pthread_mutex_lock(&lock);
    at_init = all;
    pthread_mutex_unlock(&lock);
}

Enumeration enumerate(const Scenario *scenario)
{
    if (!scenario_driver(scenario)->enumerate_at_init)
        return enumerate_scenario(scenario);
    pthread_mutex_lock(&lock);
    Enumeration all = at_init;
    pthread_mutex_unlock(&lock);
    return all;
}

static nvmlReturn_t resolve_handle(const Scenario *scenario, nvmlDevice_t handle,
                                   const Gpu **gpu, const Mig **mig)
{
    if (!is_handle(handle))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (handle->is_mig) {
        *mig = scenario_mig(scenario, handle->uuid);
        if (*mig == NULL) /* the instance has been destroyed */
            return NVML_ERROR_INVALID_ARGUMENT;
    }
    *gpu = scenario_gpu(scenario, *mig == NULL ? handle->uuid : (*mig)->gpu);
    return *gpu == NULL ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

static nvmlReturn_t resolve_index(const Scenario *scenario, unsigned int index, const Gpu **gpu)
{
    Enumeration all = enumerate(scenario);
    if (index >= all.count)
        return NVML_ERROR_INVALID_ARGUMENT;
    const Mig *none = NULL;
    return resolve_handle(scenario, all.devices[index], gpu, &none);
}

/* MIG-<UUID>, or the older MIG-<GPU's UUID>/<GPU instance>/<compute instance>. */
static const Mig *mig_named(const Scenario *scenario, const char *text)
{
    EACH(Mig, mig, scenario->migs) {
        char old[256];
        snprintf(old, sizeof old, "MIG-%s/%u/%u", mig->gpu, (unsigned)mig->gi, (unsigned)mig->ci);
        if (strcmp(mig->uuid, text) == 0 || strcmp(old, text) == 0)
            return mig;
    }
    return NULL;
}

static bool is_enumerated(const Scenario *scenario, const Gpu *gpu)
{
    Enumeration all = enumerate(scenario);
    for (unsigned int i = 0; i < all.count; i++)
        if (strcmp(all.devices[i]->uuid, gpu->uuid) == 0)
            return true;
    return false;
}

static nvmlReturn_t resolve_uuid(const Scenario *scenario, const char *text, const Gpu **gpu,
                                 const Mig **mig)
{
    if (text == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *mig = mig_named(scenario, text);
    *gpu = scenario_gpu(scenario, *mig == NULL ? text : (*mig)->gpu);
    if (*gpu != NULL && is_enumerated(scenario, *gpu))
        return NVML_SUCCESS;
    *gpu = NULL;
    *mig = NULL;
    return NVML_ERROR_NOT_FOUND;
}

typedef struct {
    unsigned int domain, bus, device, function;
} PciAddress;

static bool read_pci(const char *text, PciAddress *address)
{
    *address = (PciAddress){0};
    return sscanf(text, "%x:%x:%x.%x", &address->domain, &address->bus, &address->device,
                  &address->function) >= 3 ||
           (address->domain = 0,
            sscanf(text, "%x:%x.%x", &address->bus, &address->device, &address->function) == 3);
}

static nvmlReturn_t resolve_pci(const Scenario *scenario, const char *text, const Gpu **gpu)
{
    PciAddress asked, has;
    if (text == NULL || !read_pci(text, &asked))
        return NVML_ERROR_INVALID_ARGUMENT;
    EACH(Gpu, candidate, scenario->gpus) {
        if (!read_pci(candidate->pci, &has) || memcmp(&asked, &has, sizeof has) != 0)
            continue;
        if (is_enumerated(scenario, candidate)) {
            *gpu = candidate;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t target_resolve(const Scenario *scenario, const Target *target, const Gpu **gpu,
                            const Mig **mig)
{
    *gpu = NULL;
    *mig = NULL;
    switch (target->by) {
    case BY_HANDLE: return resolve_handle(scenario, target->handle, gpu, mig);
    case BY_INDEX: return resolve_index(scenario, target->index, gpu);
    case BY_UUID: return resolve_uuid(scenario, target->text, gpu, mig);
    case BY_PCI: return resolve_pci(scenario, target->text, gpu);
    case BY_NOTHING: break;
    }
    return NVML_SUCCESS;
}
