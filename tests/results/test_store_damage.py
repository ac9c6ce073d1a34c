"""A store on bad disks: damage, no room and locks are told in words, and no changed byte is ever read as data."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli import main
from jourdain.errors import JourdainError
from jourdain.results import ResultFileError, Solution, Store, run_writer, store_file


def filled(path: Path) -> Store:
    """Three runs of two designs, one of them in several chunks, all in the main file."""
    rng = np.random.default_rng(0)
    store = Store(path)
    model = store.add_model("pendulum", "format = 1\n# a comment of some length\n" * 5)
    designs = store.add_designs(model, [{"mass": 1.5, "name": "light"}, {"mass": 3.0}])
    for k, design in enumerate([designs[0], designs[1], designs[1]]):
        with store.start_run(design, "radau", units={"q": "rad"}, metadata={"seed": k}, derivatives={"q": "v"}) as run:
            for chunk in range(3):
                t = np.linspace(chunk, chunk + 0.9, 20)
                run.append(t, {"q": rng.normal(size=20), "v": rng.normal(size=20), "p": rng.normal(size=(20, 3))})
    store._database().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    return store


def contents(sol: Solution) -> tuple[object, ...]:
    numbers = {name: (sol[name].tobytes(), sol.channel(name).unit) for name in ("q", "v", "p")}
    return sol.t.tobytes(), numbers, sol.metadata, sol.statistics, sol.derivatives


VERBS: dict[str, Callable[[Store], object]] = {
    "load": lambda s: [contents(s.load(run)) for run in (1, 2, 3)],
    "list": lambda s: [s.list("runs"), s.list("designs"), s.list("models")],
    "model": lambda s: s.model(s.list("models")[0]["hash"]),
    "query": lambda s: s.query("mass > 2 and status = 'done'"),
    "show": lambda s: s.show(2),
    "compare": lambda s: str(s.compare(1, 2)),
}


def test_a_changed_byte_is_an_error_or_without_effect(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "study.db"
    store = filled(path)
    whole = {verb: do(store) for verb, do in VERBS.items()}
    store.close()
    content = path.read_bytes()
    refused = 0
    for _ in range(60):
        harmed = bytearray(content)
        for at in rng.integers(len(content), size=rng.integers(1, 30)):
            harmed[at] = rng.integers(256)
        for other in tmp_path.iterdir():
            other.unlink()
        path.write_bytes(harmed)
        for verb, do in VERBS.items():
            try:
                with Store(path) as damaged:
                    found = do(damaged)
            except JourdainError as error:
                refused += 1
                assert len(str(error)) > 20
            else:
                if found != whole[verb]:  # rows that are lost altogether are told by check
                    assert isinstance(found, list) and verb in ("list", "query") and damaged.check(), verb
    assert refused > 60


def test_check_says_what_is_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "study.db"
    store = filled(path)
    assert store.check() == []
    assert main(["store", "check", str(path)]) == 0 and "1 models, 3 runs, all as they were written" in capsys.readouterr().out
    with sqlite3.connect(path) as database:
        database.execute("UPDATE results SET chunk = 7 WHERE run = 1 AND channel = 'q' AND chunk = 1")
        database.execute("UPDATE designs SET parameters = '{\"mass\": 9}' WHERE id = 2")
        data = database.execute("SELECT data FROM results WHERE run = 1 AND channel = 'v' AND chunk = 0").fetchone()[0]
        database.execute("UPDATE results SET data = ? WHERE run = 1 AND channel = 'v' AND chunk = 1", (data,))
    assert len(store.check()) >= 3
    with pytest.raises(ResultFileError, match="chunks of 'q' are left"):
        store.load(1, "q")
    with pytest.raises(ResultFileError, match="chunk 1 of 'v' was changed"):
        store.load(1, "v")
    with pytest.raises(ResultFileError, match="run 2 was changed"):
        store.load(2)
    assert main(["store", "check", str(path)]) == 2
    told = capsys.readouterr()
    assert "designs was changed" in told.out and "is damaged in" in told.err
    assert main(["store", "check", str(tmp_path / "none.db")]) == 2 and not (tmp_path / "none.db").exists()
    assert main(["store", "list", str(tmp_path / "study.db")]) == 2


def test_stores_of_version_2_get_answers(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    filled(path)
    with sqlite3.connect(path) as database:  # as version 2 wrote it
        database.execute("DROP TABLE answers")
        database.execute("PRAGMA user_version = 2")
    old = Store(path)
    old.keep_answers("study", "ride", {"a": "1.5", "b": "2"})
    old.keep_answers("study", "ride", {"a": "7"})  # a known answer stays
    assert old.answers("study") == {"a": "1.5", "b": "2"} and old.studies() == {"study": ("ride", 2)} and old.check() == []
    old._database().execute("UPDATE answers SET data = '3' WHERE key = 'b'")
    assert old.check() == ["row ('b',) of answers was changed"]
    with pytest.raises(jd.JourdainError, match="is damaged"):
        old.answers("study")


def test_stores_of_version_1_are_read_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.db"
    filled(path)
    with sqlite3.connect(path) as database:  # as version 1 wrote it
        database.execute("DROP TABLE answers")
        for run, chunk, channel, data in database.execute("SELECT * FROM results").fetchall():
            plain = data[len(run_writer._MARK) + run_writer._DIGEST :]
            database.execute("UPDATE results SET data = ? WHERE run = ? AND chunk = ? AND channel = ?", (plain, run, chunk, channel))
        for table in (t for t in store_file.SEALED if t != "answers"):
            database.execute(f"ALTER TABLE {table} DROP COLUMN digest")
        database.execute("ALTER TABLE runs DROP COLUMN chunks")
        database.execute("PRAGMA user_version = 1")
    old = Store(path)
    assert old.check() == [] and len(old.load(1)) == 60
    with old.start_run(1) as run:
        run.append([0.0], {"q": [1.0]})
    assert old.load(run.id)["q"] == [1.0] and old.check() == []


FULL = """
import resource, signal, sys
import numpy as np
from jourdain.results import Store
store = Store(sys.argv[1])
run = store.start_run(store.add_design(store.add_model("m", "x"), {"a": 1.0}))
run.append([0.0], {"q": [1.0]})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    run.append(np.arange(1.0, 1e6), {"q": np.random.default_rng(0).normal(size=999_999)})
except Exception as error:
    print(type(error).__name__, error)
print(len(store.load(run.id)), store.check())
"""


def test_a_full_disk_keeps_what_was_committed(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path / "full.db")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-800:]
    told, left = done.stdout.strip().splitlines()
    assert told.startswith("ResultFileError store ") and "what was committed is kept" in told
    assert left == "1 []"


def test_a_locked_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_file, "_BUSY_SECONDS", 0.1)
    store = filled(tmp_path / "study.db")
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(ResultFileError, match="another program has held it for 0.1 s"):
        store.add_model("other", "text")
    holder.execute("ROLLBACK")
    holder.close()
    store.add_model("other", "text")


def test_channels_whose_description_is_gone_are_told(tmp_path: Path) -> None:
    # as where two pages of the file were exchanged: the run would have fewer channels without a word
    filled(tmp_path / "s.db").close()
    with sqlite3.connect(tmp_path / "s.db") as database:
        database.execute("DELETE FROM channels WHERE run = 1 AND name = 'q'")
    with Store(tmp_path / "s.db") as store:
        with pytest.raises(ResultFileError, match="of run 1 the rows that describe 1 channels are gone, the first 'q'"):
            store.load(1)
        assert store.load(2)["q"].shape == (60,) and store.check()
