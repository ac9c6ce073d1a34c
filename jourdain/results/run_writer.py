"""Writes the results of one run into a store, chunk by chunk."""

from __future__ import annotations

import hashlib
import io
import sqlite3
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jourdain.errors import InputError
from jourdain.results import metadata
from jourdain.results.channel import Array, as_channel, unknown
from jourdain.results.events import EventTable
from jourdain.results.solution import Solution
from jourdain.results.store_file import DamagedRow, row_digest, seal, told

if TYPE_CHECKING:
    from jourdain.results.store import Store


class RunWriter:
    """Appends the results of one run to a store, chunk by chunk, each committed when ``append`` returns."""

    def __init__(self, store: Store, run: int, units: Mapping[str, str], descriptions: Mapping[str, str]) -> None:
        self.store = store
        self.id = run
        self._units = units
        self._descriptions = descriptions

    @told
    def append(self, t: ArrayLike, data: Mapping[str, Any]) -> None:
        """Commit samples at times ``t`` (n,) or one time, with values (n, …) for every channel by name."""
        single = np.ndim(t) == 0
        times = np.atleast_1d(np.asarray(t, float))
        given = {name: [values] if single else values for name, values in data.items()}
        # a solution of the chunk checks names, lengths and times
        chunk = Solution(times, {name: as_channel(name, values) for name, values in given.items()})
        if not len(chunk):
            return
        with self.store._transaction() as database:
            self._check_status(database)
            query = "SELECT chunk, data FROM results WHERE run = ? AND channel = '' ORDER BY chunk DESC LIMIT 1"
            last = database.execute(query, (self.id,)).fetchone()
            if last is None:
                self._describe(database, chunk)
            else:
                self._check_continues(database, chunk, unpacked(last[1], self.id, last[0], ""))
            place = 0 if last is None else last[0] + 1
            arrays = {"": chunk.t} | {name: chunk[name] for name in chunk.names}
            rows = [(self.id, place, name, packed(values, self.id, place, name)) for name, values in arrays.items()]
            database.executemany("INSERT INTO results VALUES (?, ?, ?, ?)", rows)
            database.execute("UPDATE runs SET chunks = ? WHERE id = ?", (place + 1, self.id))
            seal(database, "runs", self.id)

    def _check_status(self, database: sqlite3.Connection) -> None:
        row = database.execute("SELECT status FROM runs WHERE id = ?", (self.id,)).fetchone()
        if row is None:
            raise InputError(f"run {self.id} was deleted from the store; start a new run")
        if row[0] == "done":
            raise InputError(f"run {self.id} is done; start a new run to append results")

    def _describe(self, database: sqlite3.Connection, chunk: Solution) -> None:
        for mapping in (self._units, self._descriptions):
            if unused := [name for name in mapping if name not in chunk]:
                raise unknown("channel (given a unit or description)", unused[0], chunk.names)
        rows = []
        for name in chunk.names:
            channel = chunk.channel(name)
            unit, description = self._units.get(name, channel.unit), self._descriptions.get(name, channel.description)
            rows.append((self.id, name, unit, description, *_sample_kind(channel.values)))
        for row in rows:
            database.execute("INSERT INTO channels VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, row_digest(row)))

    def _check_continues(self, database: sqlite3.Connection, chunk: Solution, earlier: Array) -> None:
        if chunk.t[0] < earlier[-1]:
            back = f"from {earlier[-1]:g} s to {chunk.t[0]:g} s"
            raise InputError(f"run {self.id}: time goes back {back}; append in order")
        query = "SELECT name, shape, type FROM channels WHERE run = ?"
        before = {name: (shape, kind) for name, shape, kind in database.execute(query, (self.id,))}
        if odd := sorted(before.keys() ^ set(chunk.names)):
            raise InputError(f"run {self.id}: every chunk must have the same channels; {odd[:5]} are in only some")
        for name, kind in before.items():
            new = _sample_kind(chunk[name])
            if new != kind:
                raise InputError(
                    f"run {self.id}: samples of channel {name!r} are now of shape {new[0]} and type {new[1]}, "
                    f"before {kind[0]} and {kind[1]}; they must agree"
                )

    def append_solution(self, sol: Solution) -> None:
        """Commit all samples of a solution, with the units of its channels, and its events."""
        self.append(sol.t, {name: sol.channel(name) for name in sol.names})
        if len(sol.events):
            self._append_events(sol.events)

    @told
    def _append_events(self, events: EventTable) -> None:
        with self.store._transaction() as database:
            (text,) = database.execute("SELECT metadata FROM runs WHERE id = ?", (self.id,)).fetchone()
            about = metadata.loads(text)
            about["events"] = (EventTable.of(about.get("events", {})) + events).plain()
            database.execute("UPDATE runs SET metadata = ? WHERE id = ?", (as_json(about), self.id))
            seal(database, "runs", self.id)

    @told
    def finish(self, status: str = "done", statistics: Mapping[str, Any] | None = None) -> None:
        """End the run with a status ("done", "failed", …) and the statistics of the method."""
        with self.store._transaction() as database:
            values = (status, now(), as_json(statistics), self.id)
            if database.execute("UPDATE runs SET status = ?, finished = ?, statistics = ? WHERE id = ?", values).rowcount:
                seal(database, "runs", self.id)

    def __enter__(self) -> RunWriter:
        return self

    @told
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None:
            row = self.store._database().execute("SELECT status FROM runs WHERE id = ?", (self.id,)).fetchone()
            if row is not None and row[0] == "running":
                self.finish()
        else:
            status = "failed" if issubclass(kind, Exception) else "interrupted"
            self.finish(status, {"error": f"{kind.__name__}: {error}"})


def _sample_kind(values: Array) -> tuple[str, str]:
    return str(list(values.shape[1:])), str(values.dtype)


def as_json(value: Mapping[str, Any] | None) -> str:
    """JSON text of a mapping that may be absent."""
    return metadata.dumps(dict(value or {}))


def now() -> str:
    """The time of day in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_MARK, _DIGEST = b"jd2", 16


def _blob_digest(content: bytes, run: int, chunk: int, channel: str) -> bytes:
    """Binds the content to its place."""
    return hashlib.sha256(f"{run} {chunk} {channel}\0".encode() + content).digest()[:_DIGEST]


def packed(values: Array, run: int, chunk: int, channel: str) -> bytes:
    """An array as compressed bytes in NumPy's own format, behind the digest of it and of its place."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, values, allow_pickle=False)
    content = zlib.compress(buffer.getvalue(), 1)
    return _MARK + _blob_digest(content, run, chunk, channel) + content


def unpacked(blob: bytes, run: int, chunk: int, channel: str) -> Array:
    """The array packed by :func:`packed`, checked; blocks of older stores have no digest."""
    what = f"run {run}: chunk {chunk} of {channel or 'time'!r}"
    if not isinstance(blob, bytes):
        raise DamagedRow(f"{what} is not a block of numbers")
    if blob.startswith(_MARK):
        head = len(_MARK) + _DIGEST
        if blob[len(_MARK) : head] != _blob_digest(blob[head:], run, chunk, channel):
            raise DamagedRow(f"{what} was changed")
        blob = blob[head:]
    try:
        array: Array = np.lib.format.read_array(io.BytesIO(zlib.decompress(blob)), allow_pickle=False)
    except Exception as error:  # NumPy has many errors for what is not an array, down to those of its parser
        raise DamagedRow(f"{what} cannot be read: {error}") from error
    return array
