"""Results that are written while a run goes on: rows are added to an HDF5 or Parquet file piece by piece, so that memory holds one piece alone.

A file grows as "<name>.part.<suffix>" and takes its name, and the place of an older one, when it is closed, also by an error, Ctrl-C or a full disk; then it is read
by :func:`jourdain.results.files.load_solution`.  What was added to an HDF5 file is on the disk after every piece, and any HDF5 library reads it after a kill (before, without its own lock).  A
Parquet file gets its footer when it is closed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jourdain.errors import InputError
from jourdain.results import metadata
from jourdain.results.books import BOOKS, counted_on
from jourdain.results.channel import Channel
from jourdain.results.events import EventTable
from jourdain.results.exchange import columns, need
from jourdain.results.files import _HDF5_BLOCK, _HDF5_MARK, _HEADER, FORMAT
from jourdain.results.joined import added
from jourdain.results.room import Room, claimed
from jourdain.results.solution import Solution
from jourdain.results.whole_file import sync_folder, unwritten

#: Headers of this version have no digest of all numbers, which are not all in memory at any time.
WITHOUT_DIGEST = 1
#: Room (bytes) that is kept for the end of a file, for each event in its header, for what a library writes beside the rows of a channel, and for what it may add to them.
END, EACH_EVENT, BESIDE, MORE = 1_000_000, 300, 150_000, 1.05


class StreamFile:
    """A file to which pieces of a run are added, with the channels of the first one that ``names`` keep (energies, figures of contacts and those that are computed, where none are named)."""

    def __init__(self, path: str | Path, names: Sequence[str] | None = None) -> None:
        self.path, self.names = Path(path), names
        self.samples = 0
        self._last: Solution | None = None
        #: What the pieces so far have come to: books of energy, events, statistics.
        self._books: dict[str, float] = {}
        self._events, self._statistics = EventTable(), dict[str, Any]()
        kinds = {".h5": _Hdf5, ".hdf5": _Hdf5, ".parquet": _Parquet}
        if self.path.suffix.lower() not in kinds:
            raise InputError(f"file {str(path)!r}: results are streamed to .h5, .hdf5 or .parquet, not to {self.path.suffix!r}")
        if not self.path.parent.is_dir():
            raise InputError(f"file {str(path)!r}: folder {str(self.path.parent)!r} does not exist; create it first")
        if self.path.exists() and not self.path.is_file():
            raise InputError(f"file {str(path)!r}: results are streamed to plain files, and this is none; choose another name")
        self.path = self.path.resolve() if self.path.is_symlink() else self.path
        self._growing = self.path.with_name(f"{self.path.stem}.part{self.path.suffix}")
        try:
            self._claim = claimed(self._growing)
        except BlockingIOError:
            raise InputError(
                f"file {str(path)!r}: another run is being streamed to it ('{self._growing.name}' grows); choose another name"
            ) from None
        except OSError as error:
            raise unwritten(self.path, error) from error
        try:
            self._file: Any = kinds[self.path.suffix.lower()](self._growing)
        except OSError as error:
            self._growing.unlink(missing_ok=True)
            os.close(self._claim)
            raise unwritten(self.path, error) from error

    def add(self, piece: Solution) -> None:
        """Adds the rows of a piece; the first one, which ended the piece before, is left out."""
        first = 0 if self._last is None else int(piece.t[0] == self._last.t[-1])
        names = self._names(piece)
        kept = piece.with_channels(**self._missing(piece, names), **self._counted_on(piece, names)).select(*names)
        events = self._events + piece.events
        room = sum(int(BESIDE + MORE * values[first:].nbytes) for values in (kept.t, *(kept[n] for n in kept.names)))
        try:
            self._file.add(kept, first, room, END + EACH_EVENT * len(events.t))
        except OSError as error:
            kept_to = "what was there is kept" if self._last is None else f"its rows up to t = {self._last.t[-1]:.6g} s are kept"
            raise InputError(f"file {str(self.path)!r} could not be written: {error.strerror or error}; {kept_to}") from error
        self.samples, self._last = self.samples + len(kept.t) - first, kept
        self._events, self._statistics = events, added(self._statistics, piece.statistics)

    def _names(self, piece: Solution) -> Sequence[str]:
        """The channels of the first piece that are kept."""
        if self._last is not None:
            return self._last.names
        return (
            piece.names(*self.names)
            if self.names is not None
            else [n for n in piece.names if n.startswith(("energy.", "contacts.")) or piece.channel(n).computed]
        )

    def _missing(self, piece: Solution, names: Sequence[str]) -> dict[str, Channel]:
        """Channels that a later piece does not have are zero, as of constraints that have let go."""
        known = {n: self._last.channel(n) for n in names if n not in piece} if self._last is not None else {}
        return {n: c.like(np.zeros((len(piece.t), *c.values.shape[1:]))) for n, c in known.items()}

    def _counted_on(self, piece: Solution, names: Sequence[str]) -> dict[str, Channel]:
        """Books that go on from those of the piece before."""
        found = {n: piece.channel(n).like(counted_on(n, piece[n], self._books.get(n, 0.0))) for n in BOOKS if n in names and n in piece}
        self._books |= {n: float(c.values[-1]) for n, c in found.items()}
        return found

    def close(self) -> None:
        """Ends the file, and gives its name free."""
        try:
            self._end()
        finally:
            os.close(self._claim)

    def _end(self) -> None:
        if self._last is None:
            self._file.abandon()
            self._growing.unlink()
            return
        sol = self._last
        described = [
            {"name": n, "unit": c.unit, "description": c.description, "shape": list(c.values.shape[1:]), "type": str(c.values.dtype)}
            for n, c in ((n, sol.channel(n)) for n in sol.names)
        ]
        head = {
            "format": FORMAT, "version": WITHOUT_DIGEST, "samples": self.samples, "channels": described, "derivatives": sol.derivatives,
            "metadata": sol.metadata, "statistics": self._statistics, "events": self._events.plain(),
        }  # fmt: skip
        try:
            self._file.close(metadata.dumps(head))
            os.replace(self._growing, self.path)
        except OSError as error:
            raise InputError(
                f"file {str(self.path)!r} could not be written: {error.strerror or error}; rows are in '{self._growing.name}'"
            ) from error
        sync_folder(self.path.parent)


class _Hdf5:
    """Datasets that grow."""

    def __init__(self, path: Path) -> None:
        h5py = need("h5py", "files", ".h5")
        path.write_bytes(bytes(4096))  # told here where not even that can be written
        self.path, self._file = path, h5py.File(path, "w", userblock_size=_HDF5_BLOCK, locking=False)  # claimed already
        self._room = Room(path)

    def add(self, sol: Solution, first: int, room: int, end: int) -> None:
        self._room.take(room + end)
        for name, values in {"t": sol.t, **{f"channels/{n}": sol[n] for n in sol.names}}.items():
            rows = np.asarray(values)[first:]
            if name not in self._file:
                data = self._file.create_dataset(name, data=rows, maxshape=(None, *rows.shape[1:]), chunks=True)
                channel = None if name == "t" else sol.channel(name.removeprefix("channels/"))
                data.attrs["unit"] = "s" if channel is None else channel.unit
                continue
            data = self._file[name]
            data.resize(len(data) + len(rows), axis=0)
            if len(rows):
                data[-len(rows) :] = rows
        self._file.flush()
        self._room.give_back(self._file.id.get_filesize())
        self._room.take(end)

    def close(self, head: str) -> None:
        if len(head) > END // 2:
            self._room.take(2 * len(head))
        self._file.attrs["format"] = FORMAT
        self._file.create_dataset(_HEADER, data=head)
        self._file.flush()
        self._room.give_back(self._file.id.get_filesize())
        self._file.close()
        self._room.close()
        with open(self.path, "r+b") as file:
            file.seek(_HDF5_BLOCK)
            digest = hashlib.file_digest(file, "sha256").hexdigest().encode()
            file.seek(0)
            file.write((_HDF5_MARK + digest).ljust(_HDF5_BLOCK, b"\0"))
            file.flush()
            os.fsync(file.fileno())

    def abandon(self) -> None:
        self._file.close()
        self._room.close()


class _Parquet:
    """A group of rows a piece."""

    def __init__(self, path: Path) -> None:
        self._pa, self._pq = need("pyarrow", "files", ".parquet"), need("pyarrow.parquet", "files", ".parquet")
        self._file, self._room = path.open("wb"), Room(path)
        self._writer: Any = None  # the first piece tells the columns

    def add(self, sol: Solution, first: int, room: int, end: int) -> None:
        self._room.give_back(self._file.tell())
        self._room.take(room + end)
        table = {"t": sol.t} | columns(sol)
        arrays = [self._pa.array(np.ascontiguousarray(values[first:]), from_pandas=False) for values in table.values()]
        if self._writer is None:
            fields = [
                self._pa.field(n, self._pa.from_numpy_dtype(v.dtype), nullable=False, metadata={"unit": sol.channel(n).unit})
                for n, v in table.items()
            ]
            self._schema = self._pa.schema(fields)
            self._writer = self._pq.ParquetWriter(self._file, self._schema, compression="zstd", write_page_checksum=True)
        self._writer.write_table(self._pa.Table.from_arrays(arrays, schema=self._schema))
        self._file.flush()

    def close(self, head: str) -> None:
        assert self._writer is not None
        self._writer.add_key_value_metadata({_HEADER: head})
        self._writer.close()
        self._file.flush()
        self._room.give_back(self._file.tell())
        os.fsync(self._file.fileno())
        self.abandon()

    def abandon(self) -> None:
        self._file.close()
        self._room.close()


__all__ = ["StreamFile"]
