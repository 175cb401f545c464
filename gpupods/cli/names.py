"""Names as arguments: refused before anybody is asked, where they can be nobody's."""

from __future__ import annotations

import re

import click

LONGEST_NAME = 253
DNS_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
KUBECTL_PREFIXES = ("node/", "nodes/", "no/")


class PlainText(click.ParamType[str]):
    """Text that a server can be given: no control characters, no bytes that are no text."""

    name = "text"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Read ``value``; what is wrong with it becomes the error line."""
        text = str(value)
        if not text.isprintable():
            self.fail(f"{text!r} has control characters, or bytes that are no text", param, ctx)
        return text


class NameOfNode(PlainText):
    """A name that a node can have. It becomes a part of a path, so ``..`` must not be one."""

    name = "node"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Read ``value``; what is wrong with it becomes the error line."""
        text = super().convert(value, param, ctx)
        if text.startswith(KUBECTL_PREFIXES):
            self.fail(f"{text!r}: write the node's name alone", param, ctx)
        if len(text) > LONGEST_NAME or not DNS_NAME.fullmatch(text):
            self.fail(
                f"{text!r} can be no node's name: small letters, digits, '-' and '.'", param, ctx
            )
        return text
