"""Compiled objects kept on disk: an entry is used if it is whole, was kept under this very name, and belongs to this user.

Entries are machine code that is loaded and run.  Files and folders of other users, or that others may write, count as absent.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
import warnings
from functools import cache
from pathlib import Path

_DIGEST = 32
#: Age (s) at which a temporary file counts as left over by a program that was killed.
LEFT_OVER = 3600.0
#: Bytes of an entry above which it is none.
LARGEST = 1 << 31
_PART = "part-"


def cache_folder() -> Path:
    """Where compiled objects are kept: ``JOURDAIN_CACHE`` or the user's cache folder."""
    chosen = os.environ.get("JOURDAIN_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "jourdain"


def read_cache(key: str, suffix: str) -> bytes | None:
    """The entry, or None; one that cannot be read, or is not whole as it was written under this name, counts as absent."""
    try:
        folder = cache_folder()
        if not _own(folder) or not _own(folder / key[:2]):
            return None
        data = _read(folder / key[:2] / f"{key}{suffix}")
    except (OSError, RuntimeError):  # RuntimeError: the user has no home folder
        return None
    return opened(key, suffix, data)


def sealed(key: str, suffix: str, data: bytes) -> bytes:
    """An entry behind its digest."""
    return _digest(key, suffix, data) + data


def opened(key: str, suffix: str, data: bytes) -> bytes | None:
    """The content of an entry; None if it is not whole as it was written under this name."""
    return data[_DIGEST:] if data[:_DIGEST] == _digest(key, suffix, data[_DIGEST:]) else None


def _read(path: Path) -> bytes:
    """The content of a plain file of this user; what is not one (a pipe, a device, a link to elsewhere) is not waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or not _ours(found) or found.st_size > LARGEST:
            raise OSError("not a file of this user, or none that was written here")
        return file.read()


def _ours(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write it."""
    return os.name != "posix" or (found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _own(folder: Path) -> bool:
    """Whether code in a folder may be run; one of this user that others may write is closed to them."""
    found = os.stat(folder)
    if _ours(found):
        return True
    if found.st_uid == os.geteuid():
        os.chmod(folder, stat.S_IMODE(found.st_mode) & ~(stat.S_IWGRP | stat.S_IWOTH))
        return True
    _warn(folder)
    return False


@cache
def _warn(folder: Path) -> None:
    warnings.warn(
        f"the cache folder '{folder}' belongs to another user: nothing is read from it or kept; set JOURDAIN_CACHE to a folder of your own",
        stacklevel=2,
    )


def _digest(key: str, suffix: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{key}{suffix}\0".encode() + content).digest()


def write_cache(key: str, suffix: str, data: bytes) -> None:
    """Stores an entry behind its digest, atomically, so that two processes writing at once do no harm.

    A full or read-only disk is ignored.
    """
    import tempfile  # takes time to load, and reading does without

    try:
        top = cache_folder()
        top.parent.mkdir(parents=True, exist_ok=True)
        folder = top / key[:2]
        for place in (top, folder):
            place.mkdir(mode=0o700, exist_ok=True)
            if not _own(place):
                return
        _remove_left_over(folder)
        handle, name = tempfile.mkstemp(prefix=_PART, dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sealed(key, suffix, data))
            os.replace(name, folder / f"{key}{suffix}")
        except OSError:
            os.unlink(name)
    except (OSError, RuntimeError):
        return


def _remove_left_over(folder: Path) -> None:
    """Removes parts that killed programs left behind."""
    before = time.time() - LEFT_OVER
    for entry in os.scandir(folder):
        if entry.name.startswith(_PART) and entry.stat(follow_symlinks=False).st_mtime < before:
            os.unlink(entry.path)
