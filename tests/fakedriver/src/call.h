/* The frame of every API call: counted, on one scenario, with its faults.
 *
 *     Call call;
 *     nvmlReturn_t result = call_begin(&call, FN_..., target);
 *     if (result == NVML_SUCCESS)
 *         ... answer from call.scenario, call.gpu, call.mig ...
 *     return call_end(&call, result);
 */
#ifndef FAKE_CALL_H
#define FAKE_CALL_H

#include "functions.h"
#include "targets.h"

typedef struct {
    Function function;
    Target target;
    Scenario *scenario;
    const Gpu *gpu; /* the GPU meant; of a MIG device, its parent */
    const Mig *mig; /* NULL for a whole GPU */
    bool delayed;
    uint64_t struck; /* slot of the fault that already holds this call, or NONE */
} Call;

#define NO_TARGET ((Target){.by = BY_NOTHING})
#define HANDLE(device) ((Target){.by = BY_HANDLE, .handle = (device)})

nvmlReturn_t call_begin(Call *call, Function function, Target target);

/* Goes over to the scenario of now, and meets its faults. */
nvmlReturn_t call_refresh(Call *call);

nvmlReturn_t call_end(Call *call, nvmlReturn_t result);

/* faults.c: meets the scenario's faults for this call. May sleep or end the process; sets
 * *hang where the call must not come back, and else returns the code to answer with. */
nvmlReturn_t faults_meet(Call *call, bool *hang);

/* faults.c: by how many processes a list has grown since its size was asked for. */
unsigned int faults_growth(const Call *call);

/* system.c */
bool is_initialised(void);

/* A text into the caller's buffer, as NVML does it: whole or not at all. */
nvmlReturn_t copy_text(char *to, unsigned int length, const char *from);

#endif
