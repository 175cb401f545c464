"""Rows of cells as aligned lines, made for names that must stay whole.

Nothing is cut and no cell is wrapped: a person copies pod names from here. Where a line would be
wider than the terminal, columns move to a second line below, the same ones in every row.
Pure: a list of `rich.text.Text`, no printing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

GAP = "  "
CONTINUATION = " " * 6


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, and to which side its cells are set."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One cell for each column, from the left; with a ``note`` after the last of them."""

    cells: tuple[str, ...]
    style: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """How wide each column is, and which columns share a line."""

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    lines: tuple[range, ...]

    def header(self, style: str) -> list[Text]:
        """The titles, laid out as a row."""
        return self.render(Row(tuple(column.title for column in self.columns), style))

    def render(self, row: Row) -> list[Text]:
        """The lines of one row, at least one; others with nothing on them are left out."""
        texts = [
            self._line(row, columns, CONTINUATION if number else "")
            for number, columns in enumerate(self.lines)
        ]
        texts = [text for text in texts if text.strip()] or [""]
        if row.note:
            texts[-1] += GAP + row.note
        return [Text(text, style=row.style) for text in texts]

    def _line(self, row: Row, columns: range, indent: str) -> str:
        cells = (
            _pad(row.cells[index], self.widths[index], right=self.columns[index].right)
            for index in columns
            if index < len(row.cells)
        )
        return (indent + GAP.join(cells)).rstrip()


def lay_out(columns: Sequence[Column], rows: Sequence[Row], width: int | None) -> Layout:
    """Fit ``columns`` to their widest cells, and to lines of ``width``; None: one line."""
    widths = [cell_len(column.title) for column in columns]
    for row in rows:
        for index, cell in enumerate(row.cells):
            widths[index] = max(widths[index], cell_len(cell))
    return Layout(tuple(columns), tuple(widths), tuple(_lines(widths, width)))


def _lines(widths: Sequence[int], width: int | None) -> Iterator[range]:
    """As many columns on each line as fit, at least one."""
    start = 0
    used = 0
    for index, needed in enumerate(widths):
        after = used + needed + (len(GAP) if index > start else 0)
        if width is not None and after > width and index > start:
            yield range(start, index)
            start, after = index, len(CONTINUATION) + needed
        used = after
    yield range(start, len(widths))


def join_wrapped(pieces: Sequence[str], width: int | None) -> list[str]:
    """``pieces`` on one line, or on several that are broken between pieces only."""
    lines: list[str] = []
    for piece in pieces:
        longer = lines[-1] + GAP + piece if lines else piece
        if not lines or (width is not None and cell_len(longer) > width):
            lines.append(CONTINUATION + piece if lines else piece)
        else:
            lines[-1] = longer
    return lines


def _pad(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space
