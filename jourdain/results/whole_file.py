"""Files that are written whole: after a crash, a kill or on a full disk there is the older one or the new one, never a half."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Age (s) at which a temporary file counts as left over by a program that was killed.
LEFT_OVER = 3600.0
_TEMPORARY = ".jourdain-part"


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A temporary path beside the target; what was written there is on the disk before it takes the target's place.

    Temporary files that killed programs left behind for this target are removed.
    """
    stem = f".{target.stem[:50]}{_TEMPORARY}-"
    _remove_left_over(target, stem)
    temporary = target.with_name(f"{stem}{secrets.token_hex(6)}{target.suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_left_over(target: Path, stem: str) -> None:
    before = time.time() - LEFT_OVER
    try:
        for entry in os.scandir(target.parent):
            if entry.name.startswith(stem) and entry.name.endswith(target.suffix) and entry.stat(follow_symlinks=False).st_mtime < before:
                os.unlink(entry.path)
    except OSError:  # another program was faster, or the folder cannot be read
        pass


def _sync_folder(folder: Path) -> None:
    """The new name is on the disk, too, where folders can be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError:  # some file systems have no such thing
            pass
        finally:
            os.close(handle)
