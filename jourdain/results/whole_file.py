"""Files that are written whole: after a crash, a kill or on a full disk there is the older one or the new one, never a half."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jourdain.errors import InputError

#: Age (s) at which a temporary file counts as left over by a program that was killed.
LEFT_OVER = 3600.0
_TEMPORARY = ".jourdain-part"


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A temporary path beside the target; what was written there is on the disk before it takes the target's place.

    Temporary files that killed programs left behind for this target are removed.  What is no plain file (a pipe, /dev/stdout) is written as it is, and a
    link stays one.
    """
    device = target.parts[:2] in (("/", "dev"), ("/", "proc")) and target.parts[:3] != ("/", "dev", "shm")
    if device or (target.exists() and not target.is_file()):
        yield target
        return
    target = target.resolve() if target.is_symlink() else target
    stem = f".{target.stem[:50]}{_TEMPORARY}-"
    _remove_left_over(target, stem)
    temporary = target.with_name(f"{stem}{secrets.token_hex(6)}{target.suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Writes a file whole; where it cannot be written, the error says so and what was there is kept."""
    return make_whole(path, lambda temporary: temporary.write_bytes(data.encode() if isinstance(data, str) else data))


def make_whole(path: str | os.PathLike[str], write: Callable[[Path], Any]) -> Path:
    """The same for what writes its file itself, to the path that it is given (of the same suffix)."""
    target = Path(path)
    try:
        with whole_file(target) as temporary:
            write(temporary)
    except OSError as error:
        raise unwritten(target, error) from error
    return target


def unwritten(target: Path, error: OSError) -> InputError:
    """What is told of a file that cannot be written."""
    return InputError(f"file {str(target)!r} could not be written: {error.strerror or error}; what was there is kept")


def _remove_left_over(target: Path, stem: str) -> None:
    before = time.time() - LEFT_OVER
    try:
        for entry in os.scandir(target.parent):
            if entry.name.startswith(stem) and entry.name.endswith(target.suffix) and entry.stat(follow_symlinks=False).st_mtime < before:
                os.unlink(entry.path)
    except OSError:  # another program was faster, or the folder cannot be read
        pass


def sync_folder(folder: Path) -> None:
    """The new name is on the disk, too, where folders can be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError:  # some file systems have no such thing
            pass
        finally:
            os.close(handle)
