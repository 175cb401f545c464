/* Counts that the test reads while the library runs, shared by every process that loads it. */
#ifndef FAKE_COUNTERS_H
#define FAKE_COUNTERS_H

#include "functions.h"

#include <stdbool.h>
#include <stdint.h>

void count_started(Function function);
void count_finished(Function function);

/* Takes one of the `times` that a fault may strike; false when all have been taken. */
bool count_fault(uint64_t slot, uint64_t times);

#endif
