"""A store of models, designs (parameter sets), runs and results in one SQLite file.

Many processes may read and write at once (write-ahead log, immediate transactions). Every :meth:`RunWriter.append` is a
transaction of its own that is on disk when the call returns, so a killed run keeps all it had appended.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jourdain.errors import InputError
from jourdain.results import metadata
from jourdain.results.channel import Channel, unknown
from jourdain.results.files import ResultFileError
from jourdain.results.filter import parse
from jourdain.results.run_writer import RunWriter, as_json, joined, now
from jourdain.results.solution import Names, Solution

SCHEMA_VERSION = 1
_BUSY_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE models (hash TEXT PRIMARY KEY, name TEXT NOT NULL, toml TEXT NOT NULL, created TEXT NOT NULL);
CREATE TABLE designs (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL REFERENCES models(hash), parameters TEXT NOT NULL,
    created TEXT NOT NULL, UNIQUE (model, parameters)
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, design INTEGER NOT NULL REFERENCES designs(id), status TEXT NOT NULL,
    method TEXT NOT NULL, created TEXT NOT NULL, finished TEXT, host TEXT NOT NULL, process INTEGER NOT NULL,
    statistics TEXT NOT NULL, metadata TEXT NOT NULL, derivatives TEXT NOT NULL
);
CREATE INDEX runs_of_design ON runs(design);
CREATE TABLE channels (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, name TEXT NOT NULL, unit TEXT NOT NULL,
    description TEXT NOT NULL, shape TEXT NOT NULL, type TEXT NOT NULL, PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE TABLE results (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, chunk INTEGER NOT NULL, channel TEXT NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (run, channel, chunk)
);
"""
_RUNS = """SELECT runs.id, runs.design, models.hash, models.name, designs.parameters, runs.status, runs.method,
runs.created, runs.finished, runs.statistics, runs.metadata
FROM runs JOIN designs ON designs.id = runs.design JOIN models ON models.hash = designs.model"""


@dataclass(frozen=True)
class RunRecord:
    """What the store knows of a run, besides its results."""

    id: int
    design: int
    model_hash: str
    model: str
    parameters: dict[str, Any]
    status: str
    method: str
    created: str
    finished: str | None
    statistics: dict[str, Any]
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Runs side by side: what differs in parameters and settings, and the final values of their common channels."""

    runs: tuple[int, ...]
    different: dict[str, tuple[Any, ...]]
    final: dict[str, tuple[Any, ...]]

    def __str__(self) -> str:
        head = ("", *(f"run {run}" for run in self.runs))
        body = [(name, *map(_short, row)) for name, row in (self.different | self.final).items()]
        table = [head, *body]
        width = [max(len(row[i]) for row in table) for i in range(len(head))]
        return "\n".join("  ".join(x.ljust(w) for x, w in zip(row, width, strict=True)).rstrip() for row in table)


Runs = list[RunRecord]


class Store:
    """One database file of models, designs, runs and results.

    >>> import tempfile
    >>> store = Store(os.path.join(tempfile.mkdtemp(), "study.db"))
    >>> design = store.add_design(store.add_model("pendulum", "format = 1"), {"length": 0.5})
    >>> with store.start_run(design, units={"angle": "rad"}) as run:
    ...     run.append([0.0, 0.1], {"angle": [0.0, 0.2]})
    >>> store.load(run.id)["angle"]
    array([0. , 0.2])
    >>> [found.id for found in store.query("length < 1 and status = 'done'")] == [run.id]
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise InputError(f"store {str(self.path)!r}: its folder does not exist; create it first")
        self._local = threading.local()
        with self._transaction() as database:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise ResultFileError(f"store {str(self.path)!r} is of version {version}: upgrade jourdain")
            if version == 0 and tables:
                raise ResultFileError(f"{str(self.path)!r} is the database of another program; choose another file")
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    # -- connection --------------------------------------------------------------------------------------------------

    def _database(self) -> sqlite3.Connection:
        """The connection of this process and thread; SQLite forbids to carry one over a fork."""
        local = self._local
        if getattr(local, "process", None) != os.getpid():
            # closing the parent's connection in a child could drop the parent's locks: keep it, unused
            local.inherited = getattr(local, "database", None)
            local.database, local.process = self._connect(), os.getpid()
        database: sqlite3.Connection = local.database
        return database

    def _connect(self) -> sqlite3.Connection:
        try:
            database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
            _use_write_ahead_log(database)
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA foreign_keys = ON")
        except sqlite3.DatabaseError as error:
            raise ResultFileError(
                f"store {str(self.path)!r} cannot be opened ({error}); it is damaged, not a store, or not writable"
            ) from error
        return database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        database = self._database()
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")

    def close(self) -> None:
        """Close this thread's connection; the store opens it again when it is used again."""
        if getattr(self._local, "process", None) == os.getpid():
            self._local.database.close()
            self._local.process = None
            self._local.database = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Store, (str(self.path),))

    # -- writing -----------------------------------------------------------------------------------------------------

    def add_model(self, name: str, toml: str) -> str:
        """Keep a model's text; returns its hash (SHA-256 of the text), the same for the same text."""
        key = hashlib.sha256(toml.encode()).hexdigest()
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO models VALUES (?, ?, ?, ?)", (key, name, toml, now()))
        return key

    def add_design(self, model: str, parameters: Mapping[str, Any]) -> int:
        """Keep a parameter set (SI) of a model given by its hash; returns its number (a known set keeps its own)."""
        return self.add_designs(model, [parameters])[0]

    def add_designs(self, model: str, parameters: Sequence[Mapping[str, Any]]) -> list[int]:
        """Keep many parameter sets of a model in one transaction, as a sweep does; returns their numbers."""
        texts = [metadata.dumps(dict(sorted(one.items())), "parameters") for one in parameters]
        numbers = []
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM models WHERE hash = ?", (model,)).fetchone() is None:
                raise InputError(f"store {str(self.path)!r} has no model with hash {model!r}; call add_model first")
            for text in texts:
                new = "INSERT OR IGNORE INTO designs (model, parameters, created) VALUES (?, ?, ?)"
                database.execute(new, (model, text, now()))
                found = "SELECT id FROM designs WHERE model = ? AND parameters = ?"
                numbers.append(int(database.execute(found, (model, text)).fetchone()[0]))
        return numbers

    def start_run(
        self,
        design: int,
        method: str = "",
        *,
        units: Mapping[str, str] | None = None,
        descriptions: Mapping[str, str] | None = None,
        derivatives: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> RunWriter:
        """Begin a run of a design; append results to the writer, then finish it (or use it in a ``with`` block)."""
        values = (design, "running", method, now(), socket.gethostname(), os.getpid(), "{}",
                  as_json(metadata), as_json(derivatives))  # fmt: skip
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM designs WHERE id = ?", (design,)).fetchone() is None:
                raise InputError(f"store {str(self.path)!r} has no design {design!r}; call add_design first")
            cursor = database.execute(
                "INSERT INTO runs (design, status, method, created, host, process, statistics, metadata, derivatives) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values,
            )  # fmt: skip
        return RunWriter(self, int(cursor.lastrowid or 0), units or {}, descriptions or {})

    def resume(self, run: int) -> RunWriter:
        """Continue a run that was cut short; its status is "running" again and further chunks follow the last one."""
        record = self._record(run)
        if record.status == "done":
            raise InputError(f"run {run} is done already; start a new one with start_run({record.design})")
        with self._transaction() as database:
            mine = (socket.gethostname(), os.getpid(), run)
            database.execute("UPDATE runs SET status = 'running', host = ?, process = ? WHERE id = ?", mine)
        return RunWriter(self, run, {}, {})

    def recover(self) -> list[int]:
        """Mark as "killed" the runs of this machine whose process has gone; returns their numbers."""
        with self._transaction() as database:
            query = "SELECT id, process FROM runs WHERE status = 'running' AND host = ?"
            running = database.execute(query, (socket.gethostname(),)).fetchall()
            gone = [run for run, process in running if not _alive(process)]
            database.executemany("UPDATE runs SET status = 'killed' WHERE id = ?", [(run,) for run in gone])
        return gone

    # -- reading -----------------------------------------------------------------------------------------------------

    def _select(self, where: str = "", values: Sequence[Any] = ()) -> Runs:
        rows = self._database().execute(f"{_RUNS} {where} ORDER BY runs.id", values).fetchall()
        return [_as_record(row) for row in rows]

    def _record(self, run: int) -> RunRecord:
        found = self._select("WHERE runs.id = ?", (run,))
        if not found:
            known = [record.id for record in self._select()][-5:]
            raise InputError(f"store {str(self.path)!r} has no run {run!r}; its last runs are {known}")
        return found[0]

    def model(self, hash: str) -> str:
        """The text of a model by its hash."""
        row = self._database().execute("SELECT toml FROM models WHERE hash = ?", (hash,)).fetchone()
        if row is None:
            raise InputError(f"store {str(self.path)!r} has no model with hash {hash!r}")
        return str(row[0])

    def load(self, run: int, *patterns: str) -> Solution:
        """The results of a run so far as a solution, all channels or those that match the glob patterns."""
        record = self._record(run)
        database = self._database()
        database.execute("BEGIN")  # one snapshot, though the run may be going on
        try:
            query = "SELECT name, unit, description FROM channels WHERE run = ? ORDER BY name"
            described = {row[0]: row[1:] for row in database.execute(query, (run,))}
            wanted = Names(described)(*patterns)
            blobs = {name: self._blobs(run, name) for name in ["", *wanted]}
            slopes = database.execute("SELECT derivatives FROM runs WHERE id = ?", (run,)).fetchone()[0]
        finally:
            database.execute("COMMIT")
        if patterns and described and not wanted:
            raise unknown("channel", " ".join(patterns), described)
        t = joined(blobs[""])
        channels = {name: Channel(joined(blobs[name]), *described[name]) for name in wanted}
        derivatives = {a: b for a, b in metadata.loads(slopes).items() if a in channels and b in channels}
        about = {"model": record.model, "method": record.method, "parameters": record.parameters} | record.metadata
        about |= {"model_hash": record.model_hash, "run": run, "status": record.status}
        return Solution(t, channels, about, record.statistics, derivatives=derivatives)

    def _blobs(self, run: int, channel: str) -> list[bytes]:
        query = "SELECT data FROM results WHERE run = ? AND channel = ? ORDER BY chunk"
        return [row[0] for row in self._database().execute(query, (run, channel))]

    def query(self, condition: str = "") -> Runs:
        """The runs that fulfil a condition on parameters and fields, e.g. "mass > 3 and status = 'done'".

        The language is that of :mod:`jourdain.results.filter`; an empty condition gives every run.
        """
        if not condition.strip():
            return self._select()
        parsed = parse(condition)
        for name in parsed.parameters:
            self._check_parameter(name)
        return self._select(f"WHERE {parsed.sql}", parsed.values)

    def _check_parameter(self, name: str) -> None:
        database = self._database()
        sql = "SELECT 1 FROM designs WHERE json_type(parameters, ?) IS NOT NULL LIMIT 1"
        if database.execute(sql, (f'$."{name}"',)).fetchone() is not None:
            return
        keys = {row[0] for row in database.execute("SELECT DISTINCT key FROM designs, json_each(parameters)")}
        if keys:
            raise unknown("parameter", name, [*keys, "status", "method", "model", "run", "design"])

    def show(self, run: int) -> str:
        """A run in words: model, parameters, status, and the summary of its results."""
        from jourdain.results.summary import plain_summary

        record = self._record(run)
        lines = [
            f"run {record.id} of design {record.design}: {record.status}, begun {record.created}"
            + (f", ended {record.finished}" if record.finished else ""),
            f"model {record.model} ({record.model_hash[:12]}), method {record.method or '–'}",
            "parameters " + (", ".join(f"{key} = {_short(value)}" for key, value in record.parameters.items()) or "–"),
        ]
        return "\n".join([*lines, plain_summary(self.load(run))])

    def compare(self, *runs: int) -> Comparison:
        """Runs side by side: parameters and settings that differ, final values of the channels they share."""
        if len(runs) < 2:
            raise InputError(f"compare{runs!r}: give at least two runs")
        records = [self._record(run) for run in runs]
        rows = [{"model": r.model, "method": r.method, "status": r.status} | r.parameters for r in records]
        keys = dict.fromkeys(key for row in rows for key in row)
        table = {key: tuple(row.get(key) for row in rows) for key in keys}
        different = {key: values for key, values in table.items() if any(value != values[0] for value in values)}
        ends = [sol.final if len(sol := self.load(run)) else {} for run in runs]
        common = [name for name in ends[0] if all(name in end for end in ends)]
        return Comparison(runs, different, {name: tuple(end[name] for end in ends) for name in common})

    def prune(self, condition: str, *, running: bool = False, compact: bool = False) -> int:
        """Delete the runs that fulfil a condition, with their results; returns how many.

        Runs that are going on are kept unless ``running``; ``compact`` gives the freed space back to the disk.
        """
        chosen = [(r.id,) for r in self.query(condition) if running or r.status != "running"]
        with self._transaction() as database:
            database.executemany("DELETE FROM results WHERE run = ?", chosen)
            database.executemany("DELETE FROM runs WHERE id = ?", chosen)
        if compact:
            self._database().execute("VACUUM")
        return len(chosen)

    def list(self, kind: str = "runs") -> Any:
        """What is in the store: "runs" as records, "models" and "designs" as dicts."""
        if kind == "runs":
            return self._select()
        if kind == "models":
            rows = self._database().execute("SELECT hash, name, created FROM models ORDER BY created, name").fetchall()
            return [dict(zip(("hash", "name", "created"), row, strict=True)) for row in rows]
        if kind == "designs":
            rows = self._database().execute("SELECT id, model, parameters FROM designs ORDER BY id").fetchall()
            return [{"id": row[0], "model": row[1], "parameters": metadata.loads(row[2])} for row in rows]
        raise InputError(f"store.list({kind!r}): the kinds are 'models', 'designs' and 'runs'")


def _as_record(row: tuple[Any, ...]) -> RunRecord:
    run, design, key, model, parameters, status, method, created, finished, statistics, about = row
    return RunRecord(
        run, design, key, model, metadata.loads(parameters), status, method, created, finished,
        metadata.loads(statistics), metadata.loads(about),
    )  # fmt: skip


def _use_write_ahead_log(database: sqlite3.Connection) -> None:
    """Switch the file to the write-ahead log; SQLite does not wait here if another process opens it just now."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _alive(process: int) -> bool:
    """Whether a process of this machine is still there."""
    if sys.platform == "win32":  # where os.kill would end the process
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, process)
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _short(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return np.array2string(value, precision=5) if isinstance(value, np.ndarray) else str(value)
