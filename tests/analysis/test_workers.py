"""Workers: the same bits by every kind; dead workers, runs that hang, a killed caller; nothing committed is done twice."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.workers import Failed, WorkersError, results
from jourdain.library.mechanisms import four_bar, pendulum

LENGTHS = np.linspace(0.5, 2.0, 40)
ASK = {"parameters": {"length": LENGTHS}, "outputs": ["hinge.angle", "energy.total"], "rtol": 1e-9, "method": "dop853"}


@pytest.fixture(scope="module")
def swing() -> jd.System:
    return pendulum().compile()


@pytest.fixture(scope="module")
def serial(swing: jd.System) -> np.ndarray:
    return swing.sweep({"hinge.angle": 1.0}, 1.0, workers=1, **ASK).table


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.mark.parametrize("workers", [2, 5, "processes:2"])
def test_the_same_bits_by_threads_and_processes(swing: jd.System, serial: np.ndarray, workers: int | str) -> None:
    assert swing.sweep({"hinge.angle": 1.0}, 1.0, workers=workers, **ASK).table.tobytes() == serial.tobytes()


def test_the_same_bits_by_executors(swing: jd.System, serial: np.ndarray) -> None:
    for pool in (ThreadPoolExecutor(2), ProcessPoolExecutor(2, mp_context=get_context("spawn"))):
        with pool:
            assert swing.sweep({"hinge.angle": 1.0}, 1.0, workers=pool, **ASK).table.tobytes() == serial.tobytes()


def test_the_same_bits_by_a_cluster(swing: jd.System, serial: np.ndarray, cluster) -> None:
    found = swing.sweep({"hinge.angle": 1.0}, 1.0, workers=cluster.scheduler_address, **ASK)
    assert found.table.tobytes() == serial.tobytes() and found.threads == 2


def test_states_lambdas_and_loops_reach_other_processes() -> None:
    s = four_bar().compile()
    starts = [s.assemble({s.coordinate_names[0]: a}) for a in (0.3, 0.4, 0.5)]
    ask = {"initial": starts, "outputs": {"fast": lambda sol: np.abs(sol[s.velocity_names[0]]).max()}}
    assert s.sweep(None, 0.2, workers="processes:2", **ask).table.tobytes() == s.sweep(None, 0.2, workers=1, **ask).table.tobytes()


# -- death ------------------------------------------------------------------------------------------------------------


class Deadly:
    """Squares; some jobs end their process: once, or each time (the folder remembers), and some hang."""

    def __init__(self, folder: Path, once: set[int], always: set[int], hang: set[int]) -> None:
        self.folder, self.once, self.always, self.hang = folder, once, always, hang

    def __call__(self, job: int) -> int:
        mark = self.folder / f"{job}"
        first = not mark.exists()
        mark.write_text(mark.read_text() + "x" if not first else "x")
        if job in self.always or (job in self.once and first):
            os.kill(os.getpid(), signal.SIGKILL)
        while job in self.hang:
            time.sleep(0.05)
        if job == 7:
            raise jd.InputError("seven is odd")
        return job * job


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_worker_that_dies_or_hangs_costs_no_other_run(tmp_path: Path) -> None:
    task = Deadly(tmp_path, {3, 11}, {5}, {9})
    found = dict(results(task, range(14), "processes:2", timeout=0.7))
    assert sorted(found) == list(range(14))
    assert {i: x for i, x in found.items() if not isinstance(x, Failed)} == {i: i * i for i in range(14) if i not in (5, 7, 9)}
    assert found[7] == Failed("seven is odd")
    assert found[5].message == found[9].message == "its worker died or gave no answer within 0.7 s, 3 times"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_cluster_goes_on_without_a_dead_worker(tmp_path: Path, cluster) -> None:
    found = dict(results(Deadly(tmp_path, {3, 11}, set(), set()), range(14), cluster.scheduler_address))
    assert {i: x for i, x in found.items() if i != 7} == {i: i * i for i in range(14) if i != 7}


def slept(i: int) -> int:
    time.sleep(0.1)
    return i


@pytest.mark.slow  # Dask gives a scheduler up after ten seconds
@pytest.mark.parametrize("lost", ["scheduler", "workers"])
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_cluster_that_is_gone_ends_the_study_and_one_without_workers_waits(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both hung without a word."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("jourdain.analysis.workers.PATIENCE", 2.0)
    address = f"tcp://127.0.0.1:{_free_port()}"
    with ExitStack() as stack:

        def begun(kind: str, *words: str) -> subprocess.Popen:
            p = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words, "--no-dashboard"], stderr=subprocess.DEVNULL
            )
            stack.callback(p.kill)
            return p

        def worker() -> subprocess.Popen:
            return begun("worker", address, "--nthreads", "1", "--no-nanny")

        parts = {"scheduler": begun("scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2]), "workers": worker()}
        from distributed import Client

        with Client(address, timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
        found = results(slept, range(40), address)
        some = [next(found) for _ in range(3)]
        parts[lost].kill()
        if lost == "scheduler":
            with pytest.raises(WorkersError, match=f"the cluster at '{address}' is gone; results that were done are kept"):
                list(found)
            return
        later = threading.Timer(7.0, worker)
        later.start()
        with pytest.warns(UserWarning, match="has no workers left; the study waits for some"):
            some += list(found)
        later.join()
        assert dict(some) == {i: i for i in range(40)}


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


STUDY = """
import sys, jourdain as jd, numpy as np
from jourdain.library.mechanisms import pendulum
def main(workers):
    s = pendulum().compile()
    r = s.sweep({"hinge.angle": 1.0}, 160.0, parameters={"length": np.linspace(0.5, 2.0, 24)}, outputs=["hinge.angle"], rtol=1e-10,
                method="rk4", step=2e-4, store=sys.argv[1], workers=workers)
    np.save(sys.argv[2], r["hinge.angle"])
if __name__ == "__main__":
    main(int(sys.argv[3]) if sys.argv[3].isdigit() else sys.argv[3])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("workers", ["2", "processes:2"])
def test_a_killed_caller_goes_on_where_it_was(tmp_path: Path, workers: str) -> None:
    script, store = tmp_path / "study.py", tmp_path / "study.db"
    script.write_text(textwrap.dedent(STUDY))

    def begun(name: str, where: Path) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, str(script), str(where), str(tmp_path / name), workers])

    first = begun("first.npy", store)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not store.exists() or _done(store) < 4):
        time.sleep(0.02)
    first.kill()
    first.wait()
    committed = _done(store)
    assert 4 <= committed < 24 and not (tmp_path / "first.npy").exists()
    assert begun("again.npy", store).wait() == 0
    assert _done(store) == 24  # what was committed was not done again
    assert begun("whole.npy", tmp_path / "other.db").wait() == 0
    assert np.load(tmp_path / "again.npy").tobytes() == np.load(tmp_path / "whole.npy").tobytes()


def _done(path: Path) -> int:
    try:
        with jd.Store(path) as store:
            return len(store.query("status = 'done'"))
    except jd.JourdainError:
        return 0


REFUSED = [
    (0, "workers = 0 must be a number of threads"),
    (True, "workers = True must be"),
    ("procesess", "workers = 'procesess' is unknown"),
    ("processes:x", "write 'processes', or 'processes:4'"),
    ("tcp://127.0.0.1:9", "cluster at 'tcp://127.0.0.1:9' gives no answer"),
]


@pytest.mark.parametrize(("workers", "message"), REFUSED)
def test_what_is_refused(swing: jd.System, workers, message: str, monkeypatch) -> None:
    monkeypatch.setattr("jourdain.analysis.workers.PATIENCE", 0.5)
    if str(workers).startswith("tcp"):
        pytest.importorskip("distributed")
    with pytest.raises(jd.InputError, match=message):
        swing.sweep({}, 1.0, workers=workers, **ASK)


def test_threads_cannot_end_a_run_that_hangs(swing: jd.System) -> None:
    with pytest.raises(jd.InputError, match="in another process only"):
        swing.sweep({}, 1.0, workers=2, timeout=1.0, **ASK)
    with pytest.raises(jd.InputError, match="timeout = -1"):
        swing.sweep({}, 1.0, workers="processes", timeout=-1, **ASK)
