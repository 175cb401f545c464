/* Call counters and fault counters in one mapped file, so that they outlive a killed process.
 *
 * Layout, as call_log.py reads it: FUNCTION_ROOM entries of {char name[48], u64 started,
 * u64 finished}, then FAULT_ROOM entries of u64. Without the variable they are private.
 */
#include "counters.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATH_VARIABLE "GPUPODS_FAKE_NVML_CALLS"
#define FUNCTION_ROOM 128
#define FAULT_ROOM 1024

typedef struct {
    char name[48];
    uint64_t started, finished;
} CallCount;

typedef struct {
    CallCount calls[FUNCTION_ROOM];
    uint64_t faults[FAULT_ROOM];
} Counters;

_Static_assert(FUNCTION_COUNT <= FUNCTION_ROOM, "FUNCTION_ROOM is too small");
_Static_assert(sizeof(Counters) == FUNCTION_ROOM * 64 + FAULT_ROOM * 8, "packed");

static Counters *counters;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void *map_file(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || ftruncate(file, sizeof(Counters)) != 0)
        return MAP_FAILED;
    void *mapped = mmap(NULL, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return mapped;
}

static void open_counters(void)
{
    const char *path = getenv(PATH_VARIABLE);
    void *mapped = path != NULL ? map_file(path)
                                : mmap(NULL, sizeof(Counters), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "fake NVML: cannot map the counters at '%s' (%s)\n",
                path == NULL ? "" : path, PATH_VARIABLE);
        abort();
    }
    counters = mapped;
    for (int function = 0; function < FUNCTION_COUNT; function++)
        strncpy(counters->calls[function].name, function_name((Function)function),
                sizeof counters->calls[function].name - 1);
}

static Counters *shared(void)
{
    pthread_once(&opened, open_counters);
    return counters;
}

void count_started(Function function)
{
    __atomic_fetch_add(&shared()->calls[function].started, 1, __ATOMIC_SEQ_CST);
}

void count_finished(Function function)
{
    __atomic_fetch_add(&shared()->calls[function].finished, 1, __ATOMIC_SEQ_CST);
}

bool count_fault(uint64_t slot, uint64_t times)
{
    if (slot >= FAULT_ROOM) {
        fprintf(stderr, "fake NVML: fault slot %llu of %d\n", (unsigned long long)slot, FAULT_ROOM);
        abort();
    }
    return __atomic_fetch_add(&shared()->faults[slot], 1, __ATOMIC_SEQ_CST) < times;
}

#define AS_NAME(name) #name,
static const char *const NAMES[] = {FOR_EACH_FUNCTION(AS_NAME)};

const char *function_name(Function function)
{
    return NAMES[function];
}
