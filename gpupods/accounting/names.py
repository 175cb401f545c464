"""The names by which Volcano's scheduler, its device plugins and the extender share GPUs."""

from __future__ import annotations

GPU_MEMORY = "volcano.sh/gpu-memory"
"""The resource of pods that share a GPU: units of its memory, all of one card."""

GPU_NUMBER = "volcano.sh/gpu-number"
"""The resource of pods that get whole GPUs."""

GPU_INDEX = "volcano.sh/gpu-index"
"""A pod's annotation: the indexes of the GPUs that it was given, "1" or "0,3"."""

PREDICATE_TIME = "volcano.sh/predicate-time"
"""A pod's annotation: when it was given them, in nanoseconds since 1970."""
