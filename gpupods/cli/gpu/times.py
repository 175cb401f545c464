"""Until when a word holds: as people write it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click


class Moment(click.ParamType[datetime]):
    """An option's value as a time that knows its zone; without one it is this machine's."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Read ``value``; what is wrong with it becomes the error line."""
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(
                f"{text!r} is not a time: write 2026-12-24T18:00Z, 2026-12-24T18:00+01:00, or "
                "2026-12-24T18:00 for this machine's own zone",
                param,
                ctx,
            )


def until(moment: datetime | None, seconds: float | None, now: datetime) -> datetime | None:
    """When a word ends by itself; None: it does not.

    Raises:
        click.UsageError: both are given, or it would have ended by now, or never.
    """
    if moment is not None and seconds is not None:
        raise click.UsageError("give either --until or --for")
    if seconds is not None:
        try:
            moment = now + timedelta(seconds=seconds)
        except OverflowError:
            raise click.UsageError("--for is longer than any calendar: leave it out") from None
    if moment is not None and moment <= now:
        raise click.UsageError(
            f"--until is {moment:%Y-%m-%d %H:%M:%S}Z, and it is {now:%Y-%m-%d %H:%M:%S}Z now"
        )
    return moment
