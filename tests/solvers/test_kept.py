"""Rows of runs that outgrow memory, runs that never get on, and what is kept of both."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, SolverError
from jourdain.library.mechanisms import double_pendulum, pendulum
from jourdain.solvers import kept
from jourdain.solvers.kept import Kept


def columns(rng: np.random.Generator, sizes: list[int]) -> list[tuple[np.ndarray, ...]]:
    return [(rng.normal(size=n), rng.normal(size=(n, 3)), rng.normal(size=(n, 0)), rng.integers(9, size=(n, 2))) for n in sizes]


@pytest.mark.parametrize("room", [0, 1000, 1 << 30])
def test_columns_come_back_from_memory_and_files(rng: np.random.Generator, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "ROOM", room)
    found, blocks = Kept(), columns(rng, [4, 1, 30, 2, 7])
    for block in blocks:
        found.add(*block)
    assert len(found) == 44
    for column, parts in zip(found.joined(), zip(*blocks, strict=True), strict=True):
        np.testing.assert_array_equal(column, np.concatenate(parts))
        assert column.dtype == parts[0].dtype


def test_columns_without_room_to_be_joined_go_through_files(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    found, blocks = Kept(), columns(rng, [4, 30])
    for block in blocks:
        found.add(*block)
    expected = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]

    def no_room(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(kept.np, "concatenate", no_room)
    for column, whole in zip(found.joined(), expected, strict=True):
        np.testing.assert_array_equal(column, whole)
    monkeypatch.setattr(kept.np, "memmap", no_room)
    with pytest.raises(SolverError, match=r"34 rows .* find no room in memory; keep fewer by times= or outputs="):
        found.joined()


@pytest.mark.parametrize(("formulation", "options"), [("recursive", {}), ("recursive", {"method": "radau"}), ("directors", {"step": 1e-3})])
def test_a_run_that_outgrows_memory_has_the_same_numbers(
    formulation: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    s = double_pendulum().compile(formulation=formulation)
    start = {"shoulder.angle": 2.0, "elbow.angle": 1.0}
    expected = s.simulate(start, 2.0, **options)
    monkeypatch.setattr(kept, "ROOM", 2000)
    found = s.simulate(start, 2.0, **options)
    np.testing.assert_array_equal(found.t, expected.t)
    for name in ("elbow.angle", "elbow.angle_rate", "energy.total"):
        np.testing.assert_array_equal(found[name], expected[name])
    if formulation == "recursive":
        np.testing.assert_array_equal(found.at(1.2345)["elbow.angle"], expected.at(1.2345)["elbow.angle"])


@pytest.mark.parametrize("most", [100, 10_000])
def test_files_of_runs_are_closed_when_nothing_keeps_rows_any_more(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run that ends by ``max_steps`` as of one that is finished; arrays that were read from them outlive them."""
    s = double_pendulum().compile()
    monkeypatch.setattr(kept, "ROOM", 2000)
    gc.collect()  # what other tests have left
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = s.simulate({"shoulder.angle": 2.0}, 2.0, max_steps=most)
        except jd.SimulationError as error:
            found = error.solution
            assert most == 100
        angle = found["shoulder.angle"]
        t = found.t
        del found, s
        gc.collect()
    assert not [str(w.message) for w in told if issubclass(w.category, ResourceWarning)]
    assert angle[0] == 2.0 and np.isfinite(angle).all() and (np.diff(t) >= 0).all()


FULL = """
import resource, signal
import jourdain as jd
from jourdain.library.mechanisms import double_pendulum
from jourdain.solvers import kept
kept.ROOM = 100_000
s = double_pendulum().compile()
short = s.simulate({"shoulder.angle": 2.0}, 1.0)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    s.simulate({"shoulder.angle": 2.0}, 1e4)
except jd.SimulationError as error:
    done = error.solution
    print(error)
    print((done["shoulder.angle"][:50] == short["shoulder.angle"][:50]).all(), len(done.t) > 500, done.at(0.5)["shoulder.angle"] == short.at(0.5)["shoulder.angle"])
"""


def test_no_room_for_temporary_files_keeps_what_was_done() -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    told, found = done.stdout.strip().splitlines()
    assert "has no room for more" in told and "keep fewer by times= or outputs=" in told
    assert found == "True True True"


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams", "radau", "rosenbrock"])
def test_steps_that_never_arrive_end_the_run(method: str) -> None:
    s = pendulum().compile()
    with pytest.raises(jd.SimulationError, match="fell below rounding|not finite|grew beyond|does not converge|stays singular") as told:
        s.simulate({"hinge.angle_rate": 1e150}, 1.0, method=method)
    assert len(told.value.solution.t) < 20_000


def test_tolerances_below_rounding_are_refused() -> None:
    with pytest.raises(InputError, match=r"rtol = 1e-30 must be a number between 1e-16 \(rounding\) and 1"):
        pendulum().compile().simulate({"hinge.angle": 1.0}, 1.0, rtol=1e-30)


def test_rk4_with_more_steps_than_memory_is_chunked(monkeypatch: pytest.MonkeyPatch) -> None:
    s = double_pendulum().compile()
    expected = s.simulate({"shoulder.angle": 2.0}, 1.0, method="rk4", step=1e-3)
    monkeypatch.setattr("jourdain.solvers.ode.integrate.ROOM", 1000)
    found = s.simulate({"shoulder.angle": 2.0}, 1.0, method="rk4", step=1e-3)
    np.testing.assert_array_equal(found["elbow.angle"], expected["elbow.angle"])


MEMORY = """
import resource
import jourdain as jd
from jourdain.library.mechanisms import pendulum
from jourdain.solvers import kept
kept.ROOM = 50_000_000
s = pendulum().compile()
s.simulate({"hinge.angle": 1.0}, 0.1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    s.simulate({"hinge.angle_rate": 1e5}, 1e6, max_steps=2_000_000)
except jd.SimulationError as error:
    print(len(error.solution.t), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_memory_stays_bounded_while_steps_are_kept() -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    steps, megabytes = map(float, done.stdout.split())
    assert steps > 1_500_000 and megabytes < 250.0  # 2 million steps with their interpolants take 290 MB
