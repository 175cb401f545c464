/* The scenario file, read again whenever it has been replaced.
 *
 * Each API call looks at the file's identity (one stat) and works on one whole scenario
 * from its start to its end, however often the file changes meanwhile.
 */
#include "scenario.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_VARIABLE "GPUPODS_FAKE_NVML_SCENARIO"

/* A watch can fail to report (a bind mount, no inotify instance left): look anyway. */
#define LOOK_AGAIN_MS 100
#define LOOK_AGAIN_UNWATCHED_MS 5

typedef struct {
    struct timespec modified;
    ino_t inode;
    off_t size;
    bool present;
} Identity;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Scenario *current;
static Identity current_identity;
static uint64_t generations;

static const char *scenario_path(void)
{
    const char *path = getenv(PATH_VARIABLE);
    return path == NULL ? "" : path;
}

static Identity identity_of(const struct stat *status)
{
    return (Identity){status->st_mtim, status->st_ino, status->st_size, true};
}

static bool same(const Identity *a, const Identity *b)
{
    return a->present == b->present && a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

static Identity look(void)
{
    struct stat status;
    if (stat(scenario_path(), &status) != 0)
        return (Identity){.present = false};
    return identity_of(&status);
}

static char *read_whole(int file, size_t size)
{
    char *text = malloc(size + 1);
    size_t length = 0;
    while (text != NULL && length < size) {
        ssize_t got = read(file, text + length, size - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    if (text != NULL)
        text[length] = '\0';
    return text;
}

/* Always a scenario: one that is not usable where the file is missing or makes no sense. */
static Scenario *load(Identity *identity)
{
    Scenario *scenario = calloc(1, sizeof *scenario);
    if (scenario == NULL)
        abort();
    scenario->references = 1;
    scenario->generation = ++generations;
    *identity = (Identity){.present = false};
    struct stat status;
    int file = open(scenario_path(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) {
        fprintf(stderr, "fake NVML: no scenario at '%s' (set %s)\n", scenario_path(),
                PATH_VARIABLE);
    } else {
        *identity = identity_of(&status);
        scenario->text = read_whole(file, (size_t)status.st_size);
        scenario->usable = scenario->text != NULL && scenario_parse(scenario, scenario_path());
    }
    if (file >= 0)
        close(file);
    return scenario;
}

static void drop(Scenario *scenario)
{
    if (--scenario->references == 0)
        scenario_free(scenario);
}

Scenario *scenario_acquire(void)
{
    pthread_mutex_lock(&lock);
    Identity now = look();
    if (current == NULL || !same(&now, &current_identity)) {
        if (current != NULL)
            drop(current);
        current = load(&current_identity);
    }
    Scenario *scenario = current;
    scenario->references++;
    pthread_mutex_unlock(&lock);
    return scenario;
}

void scenario_release(Scenario *scenario)
{
    pthread_mutex_lock(&lock);
    drop(scenario);
    pthread_mutex_unlock(&lock);
}

static bool is_current(uint64_t generation)
{
    pthread_mutex_lock(&lock);
    Identity now = look();
    bool yes = current != NULL && current->generation == generation &&
               same(&now, &current_identity);
    pthread_mutex_unlock(&lock);
    return yes;
}

static int watch_folder(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", scenario_path());
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch < 0)
        return -1;
    if (inotify_add_watch(watch, dirname(path), IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE) >= 0)
        return watch;
    close(watch);
    return -1;
}

/* Rounded up, so that a wait never ends before its deadline. */
static int milliseconds_left(const struct timespec *deadline, int most)
{
    if (deadline == NULL)
        return most;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = ((int64_t)deadline->tv_sec - now.tv_sec) * 1000 +
                   (deadline->tv_nsec - now.tv_nsec + 999999) / 1000000;
    return left < 0 ? 0 : left < most ? (int)left : most;
}

void scenario_wait_change(uint64_t generation, const struct timespec *deadline)
{
    int watch = watch_folder();
    int most = watch < 0 ? LOOK_AGAIN_UNWATCHED_MS : LOOK_AGAIN_MS;
    while (is_current(generation)) {
        int patience = milliseconds_left(deadline, most);
        if (patience == 0)
            break;
        char heard[4096] __attribute__((aligned(8)));
        struct pollfd poller = {.fd = watch, .events = POLLIN};
        if (poll(&poller, 1, patience) > 0 && read(watch, heard, sizeof heard) < 0)
            continue;
    }
    if (watch >= 0)
        close(watch);
}

const Driver *scenario_driver(const Scenario *scenario)
{
    return scenario->drivers.items;
}

const Gpu *scenario_gpu(const Scenario *scenario, const char *uuid)
{
    EACH(Gpu, gpu, scenario->gpus)
        if (strcmp(gpu->uuid, uuid) == 0)
            return gpu;
    return NULL;
}

const Mig *scenario_mig(const Scenario *scenario, const char *uuid)
{
    EACH(Mig, mig, scenario->migs)
        if (strcmp(mig->uuid, uuid) == 0)
            return mig;
    return NULL;
}
