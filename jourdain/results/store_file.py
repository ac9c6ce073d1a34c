"""The file of a store: its tables, the digest of every row, and its errors in words."""

from __future__ import annotations

import functools
import hashlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from jourdain.results.files import ResultFileError

#: Version 2 has digests and the number of chunks of a run; rows of version 1 stay without.  Version 3 has answers of studies.
SCHEMA_VERSION = 3
_BUSY_SECONDS = 60.0
_SCHEMA = """
CREATE TABLE models (hash TEXT PRIMARY KEY, name TEXT NOT NULL, toml TEXT NOT NULL, created TEXT NOT NULL, digest TEXT);
CREATE TABLE designs (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL REFERENCES models(hash), parameters TEXT NOT NULL,
    created TEXT NOT NULL, digest TEXT, UNIQUE (model, parameters)
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, design INTEGER NOT NULL REFERENCES designs(id), status TEXT NOT NULL,
    method TEXT NOT NULL, created TEXT NOT NULL, finished TEXT, host TEXT NOT NULL, process INTEGER NOT NULL,
    statistics TEXT NOT NULL, metadata TEXT NOT NULL, derivatives TEXT NOT NULL, chunks INTEGER, digest TEXT
);
CREATE INDEX runs_of_design ON runs(design);
CREATE TABLE channels (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, name TEXT NOT NULL, unit TEXT NOT NULL,
    description TEXT NOT NULL, shape TEXT NOT NULL, type TEXT NOT NULL, digest TEXT, PRIMARY KEY (run, name)
) WITHOUT ROWID;
CREATE TABLE results (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, chunk INTEGER NOT NULL, channel TEXT NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (run, channel, chunk)
);
"""
_ANSWERS = """
CREATE TABLE answers (
    key TEXT PRIMARY KEY, study TEXT NOT NULL, name TEXT NOT NULL, data TEXT NOT NULL, created TEXT NOT NULL, digest TEXT
) WITHOUT ROWID;
CREATE INDEX answers_of_study ON answers(study);
"""
_TO_VERSION = {
    2: (
        "ALTER TABLE runs ADD COLUMN chunks INTEGER",
        *(f"ALTER TABLE {table} ADD COLUMN digest TEXT" for table in ("models", "designs", "runs", "channels")),
    ),
    3: tuple(_ANSWERS.split(";")),
}
#: Tables whose rows are sealed, with the columns that name a row.
SEALED = {"models": "hash", "designs": "id", "runs": "id", "channels": "run, name", "answers": "key"}

P = ParamSpec("P")
T = TypeVar("T")


def connected(path: Path) -> sqlite3.Connection:
    """A connection to the file in the mode that a store wants."""
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    _use_write_ahead_log(database)
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    return database


def prepare(database: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of a new file, brings an older one up to date, and refuses others."""
    version = database.execute("PRAGMA user_version").fetchone()[0]
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise ResultFileError(f"store {str(path)!r} is of version {version}: upgrade jourdain")
    if version == 0 and tables:
        raise ResultFileError(f"{str(path)!r} is the database of another program; choose another file")
    if version < SCHEMA_VERSION:
        steps = [(_SCHEMA + _ANSWERS).split(";")] if version == 0 else [_TO_VERSION[v] for v in range(version + 1, SCHEMA_VERSION + 1)]
        for statement in (one for step in steps for one in step):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


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


# -- errors ----------------------------------------------------------------------------------------------------------


class DamagedRow(Exception):
    """A row or a block of numbers is not as it was written."""


def in_words(path: Path, error: Exception) -> ResultFileError:
    """What went wrong with the file, and what can be done."""
    text = str(error) or type(error).__name__
    reasons = {
        "locked": f"another program has held it for {_BUSY_SECONDS:g} s; try again when that has ended",
        "full": "the disk is full; what was committed is kept",
        "readonly": "it may be read only; make it and its folder writable",
        "unable to open": "it cannot be opened; check the path and the rights to it",
        "not a database": "it is no store; choose another file",
        "I/O": "the disk gives an error or has no room; what was committed is kept",
    }
    damaged = f"it is damaged; `jourdain store check {path}` says what can still be read"
    reason = next((words for key, words in reasons.items() if key in text), damaged)
    return ResultFileError(f"store {str(path)!r}: {reason} ({text})")


def told(method: Callable[P, T]) -> Callable[P, T]:
    """A method of a store, or of a writer to one, whose errors of the file come in words."""

    @functools.wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except (sqlite3.Error, UnicodeError, DamagedRow) as error:
            path: Any = args[0]
            raise in_words(getattr(path, "store", path).path, error) from error

    return wrapped


# -- digests ---------------------------------------------------------------------------------------------------------


def row_digest(values: Sequence[Any]) -> str:
    """Digest of the other columns of a row."""
    parts = [f"{type(v).__name__}:{v}".encode(errors="surrogateescape") for v in values]
    return hashlib.sha256(b"".join(len(p).to_bytes(8, "little") + p for p in parts)).hexdigest()[:32]


def seal(database: sqlite3.Connection, table: str, *key: Any) -> None:
    """Writes the digest of a row that was made or changed."""
    where = " AND ".join(f"{column} = ?" for column in SEALED[table].split(", "))
    row = database.execute(f"SELECT * FROM {table} WHERE {where}", key).fetchone()
    database.execute(f"UPDATE {table} SET digest = ? WHERE {where}", (row_digest(row[:-1]), *key))


def intact(row: Sequence[Any]) -> bool:
    """Whether a whole row of a sealed table is as it was written; rows of older stores have no digest."""
    return row[-1] is None or row[-1] == row_digest(row[:-1])
