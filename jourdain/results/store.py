"""A store of models, designs (parameter sets), runs and results in one SQLite file.

Many processes may read and write at once (write-ahead log, immediate transactions). Every :meth:`RunWriter.append` is a
transaction of its own that is on disk when the call returns, so a killed run keeps all it had appended.  Every row and every block of
numbers has a digest, so that damage is told and never read as data (:meth:`Store.check`).
"""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jourdain.errors import InputError, JourdainError
from jourdain.results import metadata
from jourdain.results.channel import Array, Channel, unknown
from jourdain.results.columns import in_columns
from jourdain.results.events import EventTable
from jourdain.results.filter import parse
from jourdain.results.run_writer import RunWriter, as_json, now, unpacked
from jourdain.results.sample import Names
from jourdain.results.solution import Solution
from jourdain.results.store_file import SEALED, DamagedRow, connected, intact, prepare, row_digest, seal, told
from jourdain.shown import Shown
from jourdain.told import told as told_calls

_RUNS = """SELECT runs.*, designs.*
FROM runs JOIN designs ON designs.id = runs.design JOIN models ON models.hash = designs.model"""
#: Columns of a run and of a design.
_OF_RUN, _OF_DESIGN = 13, 5


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
    derivatives: dict[str, str]
    chunks: int | None


@dataclass(frozen=True)
class Comparison(Shown):
    """Runs side by side: what differs in parameters and settings, and the final values of their common channels."""

    runs: tuple[int, ...]
    different: dict[str, tuple[Any, ...]]
    final: dict[str, tuple[Any, ...]]

    def __str__(self) -> str:
        head = ("", *(f"run {run}" for run in self.runs))
        body = [(name, *map(_short, row)) for name, row in (self.different | self.final).items()]
        return in_columns([head, *body])


Runs = list[RunRecord]


@told_calls
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

    @told
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise InputError(f"store {str(self.path)!r}: its folder does not exist; create it first")
        self._local = threading.local()
        with self._transaction() as database:
            prepare(database, self.path)

    # -- connection --------------------------------------------------------------------------------------------------

    def _database(self) -> sqlite3.Connection:
        """The connection of this process and thread; SQLite forbids to carry one over a fork."""
        local = self._local
        if getattr(local, "process", None) != os.getpid():
            # closing the parent's connection in a child could drop the parent's locks: keep it, unused
            local.inherited = getattr(local, "database", None)
            local.database, local.process = connected(self.path), os.getpid()
        database: sqlite3.Connection = local.database
        return database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        database = self._database()
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:  # SQLite has gone back by itself where the disk is full
                database.execute("ROLLBACK")
            raise

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

    @told
    def add_model(self, name: str, toml: str) -> str:
        """Keep a model's text; returns its hash (SHA-256 of the text), the same for the same text."""
        key = hashlib.sha256(toml.encode()).hexdigest()
        with self._transaction() as database:
            if database.execute("INSERT OR IGNORE INTO models VALUES (?, ?, ?, ?, NULL)", (key, name, toml, now())).rowcount:
                seal(database, "models", key)
        return key

    def add_design(self, model: str, parameters: Mapping[str, Any]) -> int:
        """Keep a parameter set (SI) of a model given by its hash; returns its number (a known set keeps its own)."""
        return self.add_designs(model, [parameters])[0]

    @told
    def add_designs(self, model: str, parameters: Sequence[Mapping[str, Any]]) -> list[int]:
        """Keep many parameter sets of a model in one transaction, as a sweep does; returns their numbers."""
        texts = [metadata.dumps(dict(sorted(one.items())), "parameters") for one in parameters]
        numbers = []
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM models WHERE hash = ?", (model,)).fetchone() is None:
                raise InputError(f"store {str(self.path)!r} has no model with hash {model!r}; call add_model first")
            for text in texts:
                new = "INSERT OR IGNORE INTO designs (model, parameters, created) VALUES (?, ?, ?)"
                made = database.execute(new, (model, text, now()))
                found = "SELECT id FROM designs WHERE model = ? AND parameters = ?"
                numbers.append(int(database.execute(found, (model, text)).fetchone()[0]))
                if made.rowcount:
                    seal(database, "designs", numbers[-1])
        return numbers

    @told
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
                "INSERT INTO runs (design, status, method, created, host, process, statistics, metadata, derivatives, chunks) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", values,
            )  # fmt: skip
            seal(database, "runs", cursor.lastrowid)
        return RunWriter(self, int(cursor.lastrowid or 0), units or {}, descriptions or {})

    @told
    def resume(self, run: int) -> RunWriter:
        """Continue a run that was cut short; its status is "running" again and further chunks follow the last one."""
        record = self._record(run)
        if record.status == "done":
            raise InputError(f"run {run} is done already; start a new one with start_run({record.design})")
        with self._transaction() as database:
            mine = (socket.gethostname(), os.getpid(), run)
            database.execute("UPDATE runs SET status = 'running', host = ?, process = ? WHERE id = ?", mine)
            seal(database, "runs", run)
        return RunWriter(self, run, {}, {})

    @told
    def recover(self) -> list[int]:
        """Mark as "killed" the runs of this machine whose process has gone; returns their numbers."""
        with self._transaction() as database:
            query = "SELECT id, process FROM runs WHERE status = 'running' AND host = ?"
            running = database.execute(query, (socket.gethostname(),)).fetchall()
            gone = [run for run, process in running if not _alive(process)]
            for run in gone:
                database.execute("UPDATE runs SET status = 'killed' WHERE id = ?", (run,))
                seal(database, "runs", run)
        return gone

    @told
    def keep_answers(self, study: str, name: str, answers: Mapping[str, str]) -> None:
        """Keep answers of a study by keys that say what was asked; one transaction, and a known answer stays as it is."""
        with self._transaction() as database:
            for key, data in answers.items():
                row = (key, study, name, data, now())
                database.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", (*row, row_digest(row)))

    # -- reading -----------------------------------------------------------------------------------------------------

    @told
    def answers(self, study: str) -> dict[str, str]:
        """All answers of a study by their keys."""
        return {row[0]: row[3] for row in self._sealed("SELECT * FROM answers WHERE study = ?", study)}

    @told
    def studies(self) -> dict[str, tuple[str, int]]:
        """The studies with answers: what each is called, and how many it has."""
        rows = self._database().execute("SELECT study, name, count(*) FROM answers GROUP BY study ORDER BY min(created)")
        return {study: (name, int(count)) for study, name, count in rows}

    def _select(self, where: str = "", values: Sequence[Any] = ()) -> Runs:
        models = {row[0]: row for row in self._database().execute("SELECT * FROM models")}
        rows = self._database().execute(f"{_RUNS} {where} ORDER BY runs.id", values).fetchall()
        return [self._as_record(row[:_OF_RUN], row[_OF_RUN:], models.get(row[_OF_RUN + 1], ())) for row in rows]

    def _as_record(self, run: Sequence[Any], design: Sequence[Any], model: Sequence[Any]) -> RunRecord:
        if not model or not all(map(intact, (run, design, model))) or run[1] != design[0]:
            raise DamagedRow(f"the record of run {run[0]} was changed")
        try:
            return RunRecord(
                run[0], design[0], model[0], model[1], metadata.loads(design[2]), run[2], run[3], run[4], run[5],
                metadata.loads(run[8]), metadata.loads(run[9]), metadata.loads(run[10]), run[11],
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise DamagedRow(f"the record of run {run[0]} cannot be read: {error}") from error

    def _record(self, run: int) -> RunRecord:
        found = self._select("WHERE runs.id = ?", (run,))
        if not found:
            known = [record.id for record in self._select()][-5:]
            raise InputError(f"store {str(self.path)!r} has no run {run!r}; its last runs are {known}")
        return found[0]

    @told
    def model(self, hash: str) -> str:
        """The text of a model by its hash."""
        row = self._database().execute("SELECT toml FROM models WHERE hash = ?", (hash,)).fetchone()
        if row is None:
            raise InputError(f"store {str(self.path)!r} has no model with hash {hash!r}")
        if hashlib.sha256(str(row[0]).encode()).hexdigest() != hash:
            raise DamagedRow(f"the text of model {hash[:12]} was changed")
        return str(row[0])

    @told
    def load(self, run: int, *patterns: str) -> Solution:
        """The results of a run so far as a solution, all channels or those that match the glob patterns."""
        database = self._database()
        database.execute("BEGIN")  # one snapshot, though the run may be going on
        try:
            record = self._record(run)
            described = self._described(run)
            held = database.execute("SELECT DISTINCT channel FROM results WHERE run = ? AND channel <> ''", (run,))
            if lost := sorted({row[0] for row in held} - set(described)):
                raise DamagedRow(f"of run {run} the rows that describe {len(lost)} channels are gone, the first {lost[0]!r}")
            wanted = Names(described)(*patterns)
            arrays = {name: self._array(record, name) for name in ["", *wanted]}
        finally:
            if database.in_transaction:
                database.execute("COMMIT")
        if patterns and described and not wanted:
            raise unknown("channel", " ".join(patterns), described)
        channels = {name: Channel(arrays[name], *described[name]) for name in wanted}
        derivatives = {a: b for a, b in record.derivatives.items() if a in channels and b in channels}
        about = {"model": record.model, "method": record.method, "parameters": record.parameters} | record.metadata
        about |= {"model_hash": record.model_hash, "run": run, "status": record.status}
        events = EventTable.of(about.pop("events", {}))
        return Solution(arrays[""], channels, about, record.statistics, derivatives=derivatives, events=events)

    def _described(self, run: int) -> dict[str, tuple[str, str]]:
        """Unit and description of the channels of a run."""
        return {row[1]: row[2:4] for row in self._sealed("SELECT * FROM channels WHERE run = ? ORDER BY name", run)}

    def _sealed(self, query: str, *values: Any) -> list[Any]:
        """Whole rows of a sealed table."""
        rows = self._database().execute(query, values).fetchall()
        if not all(map(intact, rows)):
            raise DamagedRow(f"{sum(not intact(row) for row in rows)} of {len(rows)} rows were changed")
        return rows

    def _array(self, record: RunRecord, channel: str) -> Array:
        """All samples of a channel; the empty name is time."""
        query = "SELECT chunk, data FROM results WHERE run = ? AND channel = ? ORDER BY chunk"
        rows = self._database().execute(query, (record.id, channel)).fetchall()
        if [row[0] for row in rows] != list(range(len(rows) if record.chunks is None else record.chunks)):
            raise DamagedRow(f"of run {record.id} {len(rows)} of {record.chunks} chunks of {channel or 'time'!r} are left")
        parts = [unpacked(data, record.id, chunk, channel) for chunk, data in rows]
        return np.concatenate(parts) if parts else np.zeros(0)

    @told
    def check(self) -> list[str]:
        """What is damaged in the store, each in a sentence; an empty list if all that was written can be read as it was written."""
        found = [f"the file's structure: {row[0]}" for row in self._checked("PRAGMA integrity_check(20)") if row[0] != "ok"]
        found += [f"a row of {row[0]} refers to what is not there" for row in self._checked("PRAGMA foreign_key_check")]
        for table in SEALED:
            rows = self._checked(f"SELECT * FROM {table}")
            found += [f"row {row[:1] if table != 'channels' else row[:2]} of {table} was changed" for row in rows if not intact(row)]
        for verb, keys in ((self.model, "SELECT hash FROM models"), (self.load, "SELECT id FROM runs")):
            for (key,) in self._checked(keys):
                try:
                    verb(key)
                except JourdainError as error:
                    found.append(str(error))
        return found

    def _checked(self, query: str) -> list[Any]:
        """Rows as far as they can be read; an error is a row in words."""
        rows = []
        try:
            for row in self._database().execute(query):
                rows.append(row)
        except (sqlite3.Error, UnicodeError) as error:
            if not rows and query.startswith("PRAGMA integrity"):
                rows.append((str(error),))
        return rows

    @told
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

    @told
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

    @told
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

    @told
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

    @told
    def list(self, kind: str = "runs") -> Any:
        """What is in the store: "runs" as records, "models" and "designs" as dicts."""
        if kind == "runs":
            return self._select()
        if kind == "models":
            rows = self._sealed("SELECT * FROM models ORDER BY created, name")
            return [{"hash": row[0], "name": row[1], "created": row[3]} for row in rows]
        if kind == "designs":
            rows = self._sealed("SELECT * FROM designs ORDER BY id")
            return [{"id": row[0], "model": row[1], "parameters": metadata.loads(row[2])} for row in rows]
        raise InputError(f"store.list({kind!r}): the kinds are 'models', 'designs' and 'runs'")


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
