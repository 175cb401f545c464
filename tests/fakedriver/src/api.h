/* NVIDIA's own declarations: every function here is checked against them by the compiler.
 *
 * They alone are exported. The unversioned names are not mapped to the newest version, so that the older ones
 * (_v2 of the process lists) are declared too and can be offered beside the newer.
 */
#ifndef FAKE_API_H
#define FAKE_API_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#pragma GCC visibility push(default)
#include <nvml.h>
#pragma GCC visibility pop

#endif
