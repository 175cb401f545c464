"""Pauses between failures: they grow to a limit, and chance keeps nodes apart."""

import itertools

from nodeagent.gpus.retry import BackOff


def test_pauses_double_up_to_the_longest() -> None:
    back_off = BackOff(1.0, 5.0, chance=lambda: 1.0)
    assert [back_off.pause() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_chance_shortens_a_pause_to_half_at_most() -> None:
    chances = itertools.cycle([0.0, 0.5])
    back_off = BackOff(4.0, 4.0, chance=lambda: next(chances))
    assert [back_off.pause(), back_off.pause()] == [2.0, 3.0]


def test_success_starts_over() -> None:
    back_off = BackOff(1.0, 8.0, chance=lambda: 1.0)
    back_off.pause()
    back_off.pause()
    back_off.reset()
    assert back_off.pause() == 1.0
