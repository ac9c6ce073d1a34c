"""Room on a disk before a library writes there: HDF5 ends the program where it finds none, Arrow leaves a file that nobody can read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

#: Errors that say that there is no room.
_NONE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


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


__all__ = ["Room"]
