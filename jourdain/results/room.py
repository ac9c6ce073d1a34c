"""Files that other libraries write: claimed, so that no other run writes there meanwhile, with room on the disk before a library writes:
HDF5 ends the program where it finds none, Arrow leaves a file that nobody can read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # where open files cannot be replaced by others anyway
    fcntl = None  # type: ignore[assignment]

#: Errors that say that there is no room.
_NONE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def claimed(path: Path) -> int:
    """A handle that holds a lock of the file, which is made where there is none; BlockingIOError where another run, of this program or of another, has it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if fcntl is None:
                return handle
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise
            except OSError:  # a file system without locks
                return handle
            if path.exists() and os.path.samestat(os.fstat(handle), os.stat(path)):  # else it has got its own name meanwhile
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


class Room:
    """Blocks taken beyond the end of a file that another library writes."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR)

    def take(self, size: int) -> None:
        """Takes so many bytes behind the end; an OSError where the disk, the quota or the limit of files has not got them."""
        if not hasattr(os, "posix_fallocate"):
            return
        end = os.fstat(self._handle).st_size
        try:
            os.posix_fallocate(self._handle, end, size)
        except OSError as error:
            os.ftruncate(self._handle, end)
            if error.errno in _NONE:
                raise

    def give_back(self, size: int) -> None:
        """Ends the file after so many bytes."""
        os.ftruncate(self._handle, size)

    def close(self) -> None:
        """The blocks that are left go back with the file's own end."""
        os.close(self._handle)


__all__ = ["Room", "claimed"]
