"""Lists and single objects, in pages, as JSON or as a Table. No I/O."""

from __future__ import annotations

import base64
import json

import msgspec

from simulator.apiserver import events
from simulator.apiserver.discovery import CORE, KINDS
from simulator.apiserver.pod_object import Json
from simulator.apiserver.requests import ListOptions, Target
from simulator.apiserver.status import StatusError, bad_request, gone, not_found
from simulator.apiserver.store import CompactedError, Snapshot, Store, Stored
from simulator.apiserver.tables import table


class Shown:
    """How objects are to be shown: as JSON, or as a Table at ``now``; in which group's form."""

    def __init__(
        self, *, as_table: bool, include: str, now: float, group_version: str = CORE
    ) -> None:
        self.as_table = as_table
        self.group_version = group_version
        self._include = include
        self._now = now

    def one(self, resource: str, stored: Stored, *, head: bool = True) -> object:
        """A single object, or a Table of one row."""
        if not self.as_table:
            return self.raw(stored)
        metadata = {"resourceVersion": str(stored.version)}
        return table(
            resource, [stored.object], metadata, self._now, self._include, head=head
        )  # fmt: skip

    def raw(self, stored: Stored) -> msgspec.Raw:
        """The object in JSON."""
        if self.group_version != events.GROUP:
            return stored.raw
        return msgspec.Raw(msgspec.json.encode(events.in_group(stored.object)))

    def page(self, resource: str, items: list[Stored], metadata: Json) -> object:
        """A list, or a Table of its rows."""
        if self.as_table:
            objects = (item.object for item in items)
            return table(resource, objects, metadata, self._now, self._include, head=True)
        kind, list_kind, _, _ = KINDS[resource]
        prefix = f'{{"kind":"{kind}","apiVersion":"{self.group_version}",'.encode()
        return {
            "kind": list_kind,
            "apiVersion": self.group_version,
            "metadata": metadata,
            "items": [_without_type(self.raw(item), prefix) for item in items],
        }


def _without_type(raw: msgspec.Raw, prefix: bytes) -> msgspec.Raw:
    """The object as it stands in a list: kind and apiVersion are the list's."""
    whole = bytes(raw)
    return msgspec.Raw(b"{" + whole[len(prefix) :]) if whole.startswith(prefix) else raw


def get_object(store: Store, target: Target, shown: Shown) -> object:
    """The object that ``target`` names.

    Raises:
        StatusError: 404.
    """
    found = store.get(target.resource, target.key)
    if found is None:
        raise not_found(target.resource, target.name)
    return shown.one(target.resource, found)


def list_page(store: Store, target: Target, options: ListOptions, shown: Shown) -> object:
    """A page of the list: the first, or the one that the continue token asks for.

    Raises:
        StatusError: 410, the version is no longer kept; 400, the token is not one of ours; 504,
            the version has not been reached yet.
    """
    if options.only and not options.version and not options.continue_token:
        found = store.get(target.resource, options.only)
        page = [found] if found is not None and options.matches(found.object) else []
        return shown.page(target.resource, page, {"resourceVersion": str(store.version)})
    snapshot, after = _snapshot(store, target.resource, options)
    left = [item for item in snapshot.items if item.key > after and options.matches(item.object)]
    page = left[: options.limit] if options.limit else left
    metadata: Json = {"resourceVersion": str(snapshot.version)}
    if len(page) < len(left):
        metadata["continue"] = _token(snapshot.version, page[-1].key)
        if not options.selects:
            metadata["remainingItemCount"] = len(left) - len(page)
    return shown.page(target.resource, page, metadata)


def _snapshot(store: Store, resource: str, options: ListOptions) -> tuple[Snapshot, str]:
    """The snapshot to be paged through, and the key after which the page begins."""
    try:
        if options.continue_token:
            version, after = _read_token(options.continue_token)
            return store.snapshot_at(resource, version), after
        if options.exact and options.version:
            return store.snapshot_at(resource, options.version), ""
    except CompactedError as error:
        raise gone(
            "The provided continue parameter is too old to display a consistent list result. "
            f"You must start a new list without the continue parameter: {error}"
        ) from error
    if options.version is not None and options.version > store.version:
        raise StatusError(504, "Timeout", f"Too large resource version: {options.version}")
    return store.snapshot(resource), ""


def _token(version: int, after: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": after})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        padded = token + "=" * (-len(token) % 4)
        read = json.loads(base64.urlsafe_b64decode(padded))
        return int(read["rv"]), str(read["start"])
    except (ValueError, KeyError, TypeError) as error:
        raise bad_request("continue key is not valid") from error
