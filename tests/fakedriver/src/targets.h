/* Which GPU or MIG device a call is about: handles, indexes, UUIDs, PCI addresses. */
#ifndef FAKE_TARGETS_H
#define FAKE_TARGETS_H

#include "api.h"
#include "scenario.h"

#define MOST_GPUS 64

typedef struct {
    enum { BY_NOTHING, BY_HANDLE, BY_INDEX, BY_UUID, BY_PCI } by;
    nvmlDevice_t handle;
    unsigned int index;
    const char *text;
} Target;

typedef struct {
    nvmlDevice_t devices[MOST_GPUS];
    unsigned int count;
} Enumeration;

/* A handle is for ever: the same UUID always has the same one. */
nvmlDevice_t gpu_handle(const char *uuid);
nvmlDevice_t mig_handle(const char *uuid);

/* The GPUs that have an index now: those of the scenario, or of the last initialisation
 * where the scenario says that later changes are not seen. */
Enumeration enumerate(const Scenario *scenario);
void enumeration_capture(const Scenario *scenario);

/* Sets *gpu and, for a MIG device, *mig. */
nvmlReturn_t target_resolve(const Scenario *scenario, const Target *target, const Gpu **gpu,
                            const Mig **mig);

#endif
