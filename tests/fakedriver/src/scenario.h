/* What the fake driver pretends is true at the moment: values read from the scenario file.
 *
 * Numbers are 64 bits wide; NONE stands for "this GPU does not support it". Texts point
 * into the scenario's own copy of the file and live as long as it does.
 */
#ifndef FAKE_SCENARIO_H
#define FAKE_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NONE UINT64_MAX
#define NO_INSTANCE 0xFFFFFFFFu

enum { KIND_COMPUTE = 1, KIND_GRAPHICS = 2, KIND_MPS = 4 };

typedef struct {
    const char *version, *nvml_version;
    uint64_t cuda_version, enumerate_at_init;
} Driver;

typedef struct {
    const char *uuid, *name, *pci, *serial;
    uint64_t minor, board_id, pci_device_id, pci_subsystem_id;
    uint64_t memory_total, memory_used, memory_reserved;
    uint64_t utilization_gpu, utilization_memory;
    uint64_t mig_mode, mig_pending, mig_max, mig_aggregate;
    uint64_t lost, enumerated, event_types, recovery_action;
    uint64_t remapped_correctable, remapped_uncorrectable, remap_pending, remap_failure;
    uint64_t ecc_volatile_corrected, ecc_volatile_uncorrected;
    uint64_t ecc_aggregate_corrected, ecc_aggregate_uncorrected;
} Gpu;

typedef struct {
    const char *gpu, *uuid, *name;
    uint64_t index, gi, ci, memory_total, memory_used, memory_reserved;
} Mig;

typedef struct {
    const char *gpu, *name;
    uint64_t pid, memory, kinds, gi, ci;
} Process;

typedef struct {
    const char *gpu;
    uint64_t pid, timestamp, sm, memory, encoder, decoder;
} Sample;

typedef struct {
    const char *function, *gpu, *action;
    uint64_t value, times, slot;
} Fault;

typedef struct {
    const char *gpu;
    uint64_t id, type, data, gi, ci;
} Event;

typedef struct {
    void *items;
    size_t count;
} List;

typedef struct {
    char *text;
    uint64_t generation; /* differs between any two scenarios of one process */
    bool usable;
    int references;
    List drivers, gpus, migs, processes, samples, faults, events;
} Scenario;

#define EACH(type, item, list) \
    for (const type *item = (list).items; \
         item != NULL && item < (const type *)(list).items + (list).count; item++)

/* The scenario as the file has it now; to be given back with scenario_release. */
Scenario *scenario_acquire(void);
void scenario_release(Scenario *scenario);

/* Sleeps until the file is no longer the one of that generation, or the deadline
 * (CLOCK_MONOTONIC; NULL: never) has passed. */
void scenario_wait_change(uint64_t generation, const struct timespec *deadline);

const Driver *scenario_driver(const Scenario *scenario);
const Gpu *scenario_gpu(const Scenario *scenario, const char *uuid);
const Mig *scenario_mig(const Scenario *scenario, const char *uuid);

/* parse.c: fills the lists from scenario->text; on failure says where on stderr. */
bool scenario_parse(Scenario *scenario, const char *path);
void scenario_free(Scenario *scenario);

#endif
