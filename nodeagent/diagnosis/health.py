"""What is to be said of the GPUs' health, and of how it is watched. Pure: from facts to checks."""

from __future__ import annotations

from collections.abc import Sequence

from gpupods.diagnosis import Check, failed, ok, warning
from nodeagent.diagnosis.judge import SHOWN
from nodeagent.health.verdict import Standing, Verdict

GPU_HEALTH = "GPU health"
HEALTH_WATCH = "health watch"


def gpu_health_check(verdicts: Sequence[Verdict] | None) -> Check:
    """Whether every GPU is fit; None: nobody watches.

    A GPU that is excluded by an operator, or that only has to stay clean, is a warning.
    """
    if verdicts is None:
        return ok(GPU_HEALTH, "not judged: --no-health is set")
    unfit = [each for each in verdicts if not each.fit]
    if not verdicts:
        return ok(GPU_HEALTH, "no GPU is known to judge")
    if not unfit:
        return ok(GPU_HEALTH, f"{len(verdicts)} known, and none is unfit")
    unfit.sort(key=lambda each: each.standing is not Standing.UNFIT)  # the gravest are shown
    more = f", and {len(unfit) - SHOWN} more" if len(unfit) > SHOWN else ""
    found = "; ".join(map(_told, unfit[:SHOWN])) + more
    actions = dict.fromkeys(each.action for each in unfit[:SHOWN] if each.action)
    advice = "; ".join(actions) or "see health_detail in the answers about this node"
    if any(each.standing is Standing.UNFIT for each in unfit):
        return failed(GPU_HEALTH, found, advice)
    return warning(GPU_HEALTH, found, advice)


def _told(verdict: Verdict) -> str:
    standing = f"unfit ({verdict.standing.value})"
    if verdict.standing is Standing.UNFIT:
        standing = "unfit"
    return f"GPU {verdict.index} is {standing}: {verdict.reason}"


def health_watch_check(problems: Sequence[str]) -> Check:
    """Whether all that is to be noticed is noticed, judged by the right table, and kept."""
    if not problems:
        return ok(HEALTH_WATCH, "nothing goes unseen")
    return warning(
        HEALTH_WATCH,
        "; ".join(problems),
        "docs/health.md has each of these and what to do; health is judged by what is seen else",
    )
