from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpupods.kube.backoff import Backoff


def test_doubles_up_to_the_longest() -> None:
    backoff = Backoff(0.5, 15.0, dice=lambda: 1.0)
    assert [backoff.next_delay_s() for _ in range(7)] == [0.5, 1, 2, 4, 8, 15, 15]


def test_begins_again() -> None:
    backoff = Backoff(0.5, 15.0, dice=lambda: 1.0)
    for _ in range(5):
        backoff.next_delay_s()
    backoff.reset()
    assert backoff.next_delay_s() == 0.5


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 100))
def test_never_shorter_than_half_a_step_nor_than_asked(dice: list[float], asked: float) -> None:
    throws = iter(dice * 2)
    backoff = Backoff(0.5, 15.0, dice=lambda: next(throws))
    step = 0.5
    for _ in dice:
        delay = backoff.next_delay_s(asked)
        assert delay >= asked
        assert delay >= step / 2
        assert delay <= max(step, asked + 0.5)
        step = min(step * 2, 15.0)
