"""Container images without a registry.

`small_images` makes one from busybox in a few lines; it is the pause image, too.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Final

PAUSE: Final = "localhost/pause:1"
BUSYBOX: Final = "localhost/busybox:1"
_APPLETS: Final = ("sh", "sleep", "cat", "grep", "hostname", "ls", "mkdir", "ps", "wget")


def small_images(busybox: Path, into: Path) -> Path:
    """Write the images PAUSE and BUSYBOX, which are the same, as one docker archive."""
    layer = _layer(busybox)
    digest = hashlib.sha256(layer).hexdigest()
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/bin/sleep", "2000000000"], "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
    ).encode()
    name = hashlib.sha256(config).hexdigest()
    manifest = [{"Config": f"{name}.json", "RepoTags": [PAUSE, BUSYBOX], "Layers": ["layer.tar"]}]
    with tarfile.open(into, "w") as archive:
        _add(archive, f"{name}.json", config)
        _add(archive, "layer.tar", layer)
        _add(archive, "manifest.json", json.dumps(manifest).encode())
    return into


def _layer(busybox: Path) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as layer:
        _add(layer, "bin/busybox", busybox.read_bytes(), mode=0o755)
        for applet in _APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        layer.addfile(folder)
    return written.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))
