/* The scenario file -> lists of records. The format is described in README.md.
 *
 * Each kind of line is a table of its keys: a new key is one line here and one in
 * scenario_format.py. An unknown kind or key is an error, so that a test cannot believe in
 * a setting that this library ignores.
 */
#include "scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *key;
    bool is_text;
    size_t offset;
    uint64_t absent; /* the value of a number that the line does not give */
} Field;

typedef struct {
    const char *kind;
    size_t size, list_offset;
    const Field *fields;
} Record;

#define TEXT(type, member) {#member, true, offsetof(type, member), 0}
#define NUMBER(type, member, absent) {#member, false, offsetof(type, member), absent}
#define END {NULL, false, 0, 0}

static const Field DRIVER[] = {
    TEXT(Driver, version), TEXT(Driver, nvml_version), NUMBER(Driver, cuda_version, 0),
    NUMBER(Driver, enumerate_at_init, 0), END};

static const Field GPU[] = {
    TEXT(Gpu, uuid), TEXT(Gpu, name), TEXT(Gpu, pci), TEXT(Gpu, serial),
    NUMBER(Gpu, minor, NONE), NUMBER(Gpu, board_id, NONE),
    NUMBER(Gpu, pci_device_id, 0), NUMBER(Gpu, pci_subsystem_id, 0),
    NUMBER(Gpu, memory_total, 0), NUMBER(Gpu, memory_used, 0), NUMBER(Gpu, memory_reserved, 0),
    NUMBER(Gpu, utilization_gpu, NONE), NUMBER(Gpu, utilization_memory, NONE),
    NUMBER(Gpu, mig_mode, NONE), NUMBER(Gpu, mig_pending, NONE), NUMBER(Gpu, mig_max, 7),
    NUMBER(Gpu, mig_aggregate, 1), NUMBER(Gpu, lost, 0), NUMBER(Gpu, enumerated, 1),
    NUMBER(Gpu, event_types, 0), NUMBER(Gpu, recovery_action, NONE),
    NUMBER(Gpu, remapped_correctable, NONE), NUMBER(Gpu, remapped_uncorrectable, NONE),
    NUMBER(Gpu, remap_pending, NONE), NUMBER(Gpu, remap_failure, NONE),
    NUMBER(Gpu, ecc_volatile_corrected, NONE), NUMBER(Gpu, ecc_volatile_uncorrected, NONE),
    NUMBER(Gpu, ecc_aggregate_corrected, NONE), NUMBER(Gpu, ecc_aggregate_uncorrected, NONE),
    END};

static const Field MIG[] = {
    TEXT(Mig, gpu), TEXT(Mig, uuid), TEXT(Mig, name), NUMBER(Mig, index, 0),
    NUMBER(Mig, gi, 0), NUMBER(Mig, ci, 0), NUMBER(Mig, memory_total, 0),
    NUMBER(Mig, memory_used, 0), NUMBER(Mig, memory_reserved, 0), END};

static const Field PROCESS[] = {
    TEXT(Process, gpu), TEXT(Process, name), NUMBER(Process, pid, 0),
    NUMBER(Process, memory, NONE), NUMBER(Process, kinds, KIND_COMPUTE),
    NUMBER(Process, gi, NONE), NUMBER(Process, ci, NONE), END};

static const Field SAMPLE[] = {
    TEXT(Sample, gpu), NUMBER(Sample, pid, 0), NUMBER(Sample, timestamp, 0),
    NUMBER(Sample, sm, 0), NUMBER(Sample, memory, 0), NUMBER(Sample, encoder, 0),
    NUMBER(Sample, decoder, 0), END};

static const Field FAULT[] = {
    TEXT(Fault, function), TEXT(Fault, gpu), TEXT(Fault, action), NUMBER(Fault, value, 0),
    NUMBER(Fault, times, NONE), NUMBER(Fault, slot, 0), END};

static const Field EVENT[] = {
    TEXT(Event, gpu), NUMBER(Event, id, 0), NUMBER(Event, type, 0), NUMBER(Event, data, 0),
    NUMBER(Event, gi, NONE), NUMBER(Event, ci, NONE), END};

static const Record RECORDS[] = {
    {"driver", sizeof(Driver), offsetof(Scenario, drivers), DRIVER},
    {"gpu", sizeof(Gpu), offsetof(Scenario, gpus), GPU},
    {"mig", sizeof(Mig), offsetof(Scenario, migs), MIG},
    {"process", sizeof(Process), offsetof(Scenario, processes), PROCESS},
    {"sample", sizeof(Sample), offsetof(Scenario, samples), SAMPLE},
    {"fault", sizeof(Fault), offsetof(Scenario, faults), FAULT},
    {"event", sizeof(Event), offsetof(Scenario, events), EVENT},
};

static const Record *record_of(const char *kind)
{
    for (size_t i = 0; i < sizeof RECORDS / sizeof RECORDS[0]; i++)
        if (strcmp(RECORDS[i].kind, kind) == 0)
            return &RECORDS[i];
    return NULL;
}

static char *append(List *list, const Record *record)
{
    char *items = realloc(list->items, (list->count + 1) * record->size);
    if (items == NULL)
        return NULL;
    list->items = items;
    char *item = items + list->count++ * record->size;
    for (const Field *field = record->fields; field->key != NULL; field++) {
        if (field->is_text)
            *(const char **)(item + field->offset) = "";
        else
            *(uint64_t *)(item + field->offset) = field->absent;
    }
    return item;
}

static bool read_number(const char *text, uint64_t *number)
{
    if (strcmp(text, "-") == 0) {
        *number = NONE;
        return true;
    }
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static bool set_field(char *item, const Record *record, char *setting)
{
    char *value = strchr(setting, '=');
    if (value == NULL)
        return false;
    *value++ = '\0';
    for (const Field *field = record->fields; field->key != NULL; field++) {
        if (strcmp(field->key, setting) != 0)
            continue;
        if (!field->is_text)
            return read_number(value, (uint64_t *)(item + field->offset));
        *(const char **)(item + field->offset) = value;
        return true;
    }
    return false;
}

/* Returns NULL, or the part of the line that makes no sense. */
static const char *parse_line(Scenario *scenario, char *line)
{
    char *rest = NULL;
    const char *kind = strtok_r(line, "\t", &rest);
    if (kind == NULL || kind[0] == '#')
        return NULL;
    const Record *record = record_of(kind);
    if (record == NULL)
        return kind;
    char *item = append((List *)((char *)scenario + record->list_offset), record);
    if (item == NULL)
        return "(out of memory)";
    for (char *setting; (setting = strtok_r(NULL, "\t", &rest)) != NULL;)
        if (!set_field(item, record, setting))
            return setting;
    return NULL;
}

static bool is_known_action(const char *action)
{
    static const char *const ACTIONS[] = {"return", "hang", "delay", "crash", "grow"};
    for (size_t i = 0; i < sizeof ACTIONS / sizeof ACTIONS[0]; i++)
        if (strcmp(ACTIONS[i], action) == 0)
            return true;
    return false;
}

static bool is_complete(const Scenario *scenario, const char *path)
{
    EACH(Fault, fault, scenario->faults)
        if (!is_known_action(fault->action)) {
            fprintf(stderr, "fake NVML: %s: no fault does '%s'\n", path, fault->action);
            return false;
        }
    if (scenario->drivers.count != 1)
        fprintf(stderr, "fake NVML: %s: one driver line is needed\n", path);
    return scenario->drivers.count == 1;
}

bool scenario_parse(Scenario *scenario, const char *path)
{
    char *line = scenario->text;
    for (int number = 1; line != NULL; number++) {
        char *next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        const char *wrong = parse_line(scenario, line);
        if (wrong != NULL) {
            fprintf(stderr, "fake NVML: %s:%d: cannot read '%s'\n", path, number, wrong);
            return false;
        }
        line = next;
    }
    return is_complete(scenario, path);
}

void scenario_free(Scenario *scenario)
{
    for (size_t i = 0; i < sizeof RECORDS / sizeof RECORDS[0]; i++)
        free(((List *)((char *)scenario + RECORDS[i].list_offset))->items);
    free(scenario->text);
    free(scenario);
}
