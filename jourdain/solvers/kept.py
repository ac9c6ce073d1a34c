"""Rows that a run keeps: in memory, and beyond a bound in temporary files, so that a long run does not fill the memory."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..errors import SolverError

#: Bytes that the rows of a run may take in memory.
ROOM = 1 << 30


class Kept:
    """Columns of equal length, appended block by block; all blocks of a column have the same shape and type but for their length."""

    def __init__(self) -> None:
        self._blocks: list[tuple[np.ndarray, ...]] = []
        self._files: list[Any] = []
        self._shapes: list[tuple[Any, tuple[int, ...]]] = []
        self._rows = self._bytes = 0

    def __len__(self) -> int:
        return self._rows

    def add(self, *blocks: np.ndarray) -> None:
        """Appends blocks of rows, one for each column; they are not copied."""
        self._blocks.append(blocks)
        self._bytes += sum([block.nbytes for block in blocks])
        if self._files or self._bytes > ROOM:
            self._spill()
        else:
            self._rows += len(blocks[0])

    def _spill(self) -> None:
        """Moves the blocks in memory into files, behind those that are there."""
        import tempfile  # takes time to load, and few runs come here

        if not self._files:
            self._files = [tempfile.TemporaryFile() for _ in self._blocks[0]]  # noqa: SIM115 - they live as long as their arrays
            weakref.finalize(self, _close, self._files)
            self._shapes = [(block.dtype, block.shape[1:]) for block in self._blocks[0]]
            self._rows = 0
        blocks, self._blocks = self._blocks, []
        try:
            for block in blocks:
                for file, column in zip(self._files, block, strict=True):
                    column.tofile(file)
                self._rows += len(block[0])
        except OSError as error:
            raise SolverError(
                f"the steps to keep take more than {self._bytes / 2**30:.3g} GB, and the folder of temporary files "
                f"'{tempfile.gettempdir()}' has no room for more ({error.strerror or error}); keep fewer by times= or outputs=, or dense=False"
            ) from error

    def pieces(self) -> list[tuple[np.ndarray, ...]]:
        """The columns in as many pieces as there are in memory, for a reader that may never come."""
        return [self.joined()] if self._files else list(self._blocks)

    def joined(self) -> tuple[np.ndarray, ...]:
        """The columns; those in files are arrays whose pages are read when they are used."""
        if not self._files:
            try:
                return self._blocks[0] if len(self._blocks) == 1 else tuple(map(np.concatenate, zip(*self._blocks, strict=True)))
            except MemoryError:  # less than twice the rows: what is in files needs no room of its own
                self._spill()
        try:
            return self._mapped()
        except (MemoryError, OSError) as error:
            raise SolverError(
                f"{self._rows} rows of {self._bytes / 2**30:.3g} GB find no room in memory; keep fewer by times= or outputs=, or dense=False"
            ) from error

    def _mapped(self) -> tuple[np.ndarray, ...]:
        """The columns in files."""
        found = []
        for file, (dtype, shape) in zip(self._files, self._shapes, strict=True):
            whole = (self._rows, *shape)
            empty = 0 in whole
            found.append(np.zeros(whole, dtype) if empty else np.asarray(np.memmap(file, dtype, "c", shape=whole)))
        return tuple(found)


def _close(files: list[Any]) -> None:
    """Closes files; arrays that are mapped to them keep what they need."""
    for file in files:
        file.close()
