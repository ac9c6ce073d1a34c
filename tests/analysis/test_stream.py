"""Results that go to a file while a run goes on: the rows of one run, whatever the method, also where it ends early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library.mechanisms import double_pendulum
from jourdain.results import load_solution
from jourdain.results.stream_file import StreamFile

WAYS: dict[str, dict[str, Any]] = {
    "moreau": {"method": "moreau", "step": 1e-3},
    "events": {"rtol": 1e-9},
    "penalty": {"method": "rk4", "step": 1e-4},
}


def balls(way: str) -> jd.System:
    m = jd.Model("balls")
    m.ground.shapes.append(jd.plane())
    for k in range(3):
        m.free(f"f{k}", m.ground, m.body(f"ball{k}", shape=jd.sphere(0.05, density=1000.0)))
    law = jd.contact.kelvin_voigt(stiffness=1e4, damping=5.0) if way == "penalty" else jd.contact.rigid(friction=0.3, restitution=0.5)
    m.contact("touch", law=law)
    return m.compile()


START = {"f0.z": 0.1, "f1.z": 0.25, "f2.z": 0.4, "f1.x": 0.02, "f2.y": -0.01}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("suffix", ["h5", "parquet"])
def test_the_file_holds_the_rows_of_one_run(way: str, suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("h5py" if suffix == "h5" else "pyarrow")
    s, file = balls(way), tmp_path / f"run.{suffix}"
    last = s.stream(file, START, 0.3, pieces=6, **WAYS[way])
    found, whole = jd.load_solution(file), s.simulate(START, 0.3, **WAYS[way])
    assert found.t[0] == 0.0 and found.t[-1] == whole.t[-1] == last.t[-1]
    assert (np.diff(found.t) >= 0.0).all()
    if way != "events":  # there steps of pieces end elsewhere
        np.testing.assert_allclose(found.t, whole.t, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found["f1.z"], whole["f1.z"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        [found[n][-1] for n in ("f0.x", "f1.z", "f2.y")], [whole[n][-1] for n in ("f0.x", "f1.z", "f2.y")], atol=1e-6
    )
    if way == "moreau":
        assert found["touch.ball0.force"].shape == (len(found.t), 3)
        np.testing.assert_allclose(found["contacts.dissipated"][-1], whole["contacts.dissipated"][-1], rtol=1e-9)


STEPS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "moreau": ("recursive", jd.contact.rigid(friction=0.3, restitution=0.4), {"method": "moreau", "step": 1e-3}),
    "nonsmooth": ("recursive", jd.contact.rigid(friction=0.3, restitution=0.4), {"method": "nonsmooth-generalized-alpha", "step": 1e-3}),
    "implicit": ("recursive", jd.contact.kelvin_voigt(1e4, 20.0, friction=0.3), {"method": "generalized-alpha", "step": 5e-4}),
    "explicit": (
        "recursive",
        jd.contact.flores(0.5, stiffness=1e5, friction=jd.contact.bristle(0.3, 1e4, 10.0)),
        {"method": "rk4", "step": 1e-4},
    ),
    "conserving": ("directors", jd.contact.kelvin_voigt(1e4, 20.0, friction=0.3), {"step": 1e-3}),
}


def block(law: Any, formulation: str) -> jd.System:
    """A block thrown onto a floor, sliding and turning on four corners."""
    m = jd.Model("block", gravity=(0.5, 0.2, -9.81))
    m.ground.shapes.append(jd.plane())
    body = m.body("b", shape=jd.box(0.1, 0.08, 0.06, density=1000.0))
    m.free("f", m.ground, body)
    m.contact("floor", body, m.ground, law=law)
    return m.compile(formulation=formulation)


THROWN = {"f.z": 0.08, "f.x_rate": 0.5, "f.orientation.omega_z": 2.0, "f.orientation.omega_x": 1.0}


@pytest.mark.parametrize("way", STEPS)
@pytest.mark.parametrize("suffix", ["h5", "parquet"])
def test_every_channel_of_pieces_is_that_of_one_run(way: str, suffix: str, tmp_path: Path) -> None:
    """Books of energy go on from piece to piece, laws that leave forces open find the same ones, and channels are those of the first piece."""
    pytest.importorskip("h5py" if suffix == "h5" else "pyarrow")
    formulation, law, run = STEPS[way]
    s, file = block(law, formulation), tmp_path / f"run.{suffix}"
    whole = s.simulate(THROWN, 0.16, **run)
    for names in (None, list(whole.names)):
        s.stream(file, THROWN, 0.16, pieces=4, names=names, **run)
        found = jd.load_solution(file)
        assert names is None or set(found.names) == set(names)
        for name in set(found.names) - {"step.newton.iterations"}:
            np.testing.assert_allclose(found[name], whole[name], rtol=1e-9, atol=1e-9, err_msg=name)
    assert whole["energy.dissipated"][-1] > 0.1


def test_events_and_books_of_all_pieces_are_kept(tmp_path: Path) -> None:
    """A damped pendulum that is stopped by events; joined solutions count on, too."""
    pytest.importorskip("h5py")
    m = jd.Model("pendulum")
    bob = m.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01))
    hinge = m.revolute("hinge", m.ground, bob, axis="y", damping=0.2)
    m.event("passes", hinge.position)
    s = m.compile()
    whole = s.simulate({"hinge.angle": 1.0}, 4.0, rtol=1e-10, atol=1e-12)
    names = ["hinge.angle", "energy.dissipated", "energy.error"]
    s.stream(tmp_path / "run.h5", {"hinge.angle": 1.0}, 4.0, pieces=4, names=names, rtol=1e-10, atol=1e-12)
    found = jd.load_solution(tmp_path / "run.h5")
    assert len(whole.events) > 3
    np.testing.assert_allclose([e.t for e in found.events], [e.t for e in whole.events], atol=1e-8)
    assert found["energy.dissipated"][-1] == pytest.approx(whole["energy.dissipated"][-1], rel=1e-8)
    first = s.simulate({"hinge.angle": 1.0}, 2.0, rtol=1e-10, atol=1e-12)
    both = first + s.simulate(first, (2.0, 4.0), rtol=1e-10, atol=1e-12)
    assert both["energy.dissipated"][-1] == pytest.approx(whole["energy.dissipated"][-1], rel=1e-8)
    assert (np.diff(both["energy.dissipated"]) >= 0.0).all()
    halves = whole.between(0.0, 2.0) + whole.between(2.0, 4.0)
    assert halves["energy.dissipated"][-1] == pytest.approx(whole["energy.dissipated"][-1], rel=1e-12)


@pytest.mark.parametrize("kept", [None, ["f.z", "energy.*", "*dissipated"]])
@pytest.mark.parametrize("way", [*WAYS, "damped", "directors"])
def test_books_of_energy_go_on_from_piece_to_piece(way: str, kept: list[str] | None, tmp_path: Path) -> None:
    """Dissipated by dampers, friction and impacts from the start on; the error is that of the whole run."""
    pytest.importorskip("h5py")
    m = jd.Model("ball")
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)))
    rigid, soft = jd.contact.rigid(friction=0.3, restitution=0.5), jd.contact.hunt_crossley(stiffness=1e5, damping=0.3, friction=0.3)
    if way == "damped":
        m.spring("s", m.ground, m.bodies["ball"], stiffness=50.0, damping=1.0, length=0.3)
    else:
        m.contact("touch", m.bodies["ball"], m.ground, law=rigid if way in ("moreau", "events") else soft)
    options = {"step": 2e-3} if way == "directors" else WAYS.get(way, {})
    s, start = m.compile(formulation="directors" if way == "directors" else "recursive"), {"f.z": 0.3, "f.x_rate": 1.0}
    s.stream(tmp_path / "run.h5", start, 0.6, pieces=4, names=kept, **options)
    found, whole = jd.load_solution(tmp_path / "run.h5"), s.simulate(start, 0.6, **options)
    assert {n for n in whole.names if n.startswith("energy.")} <= set(found.names)
    for name in ("energy.dissipated", "energy.total"):
        np.testing.assert_allclose(found[name][-1], whole[name][-1], rtol=1e-6)
    assert found["energy.dissipated"][0] == 0.0 and np.diff(found["energy.dissipated"]).min() > -1e-9
    books = found["energy.total"] - found["energy.total"][0] - found["energy.supplied"] + found["energy.dissipated"]
    if kept is None or "contacts.stored" not in whole:
        stored = sum(found[n] for n in found.names("contacts.stored"))
        np.testing.assert_allclose(found["energy.error"], books + stored, atol=1e-12)
    np.testing.assert_allclose(found["energy.error"][-1], whole["energy.error"][-1], atol=1e-5)


def test_named_channels_alone(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    balls("moreau").stream(tmp_path / "run.h5", START, 0.1, pieces=3, names=["f0.z", "touch.*.force"], **WAYS["moreau"])
    assert set(jd.load_solution(tmp_path / "run.h5").names) == {"f0.z", *(f"touch.ball{k}.force" for k in range(3))}


@pytest.mark.parametrize("suffix", ["h5", "parquet"])
def test_ctrl_c_keeps_what_was_done(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("h5py" if suffix == "h5" else "pyarrow")
    s, file = balls("moreau"), tmp_path / f"run.{suffix}"
    s.simulate(START, 0.01, **WAYS["moreau"])
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as told:
        s.stream(file, START, 4000.0, pieces=4000, **WAYS["moreau"])
    timer.join()
    done = jd.load_solution(file)
    assert 0.0 < done.t[-1] < 4000.0 and len(done.t) > 100
    assert (np.diff(done.t) > 0.0).all()
    assert told.value is not None


def test_what_cannot_be_streamed_is_told(tmp_path: Path) -> None:
    s = balls("moreau")
    for given, told in (
        ({"path": tmp_path / "run.csv"}, "streamed to .h5, .hdf5 or .parquet"), ({"path": tmp_path / "no" / "run.h5"}, "does not exist"),
        ({"path": tmp_path / "run.h5", "pieces": 0}, "pieces = 0"), ({"path": tmp_path / "run.h5", "outputs": 5}, "no option 'outputs'"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=told):
            s.stream(**{"x0": START, "t": 0.1, **given}, **WAYS["moreau"])
    with pytest.raises(InputError):
        s.stream(tmp_path / "gone.h5", {"nobody": 1.0}, 0.1, **WAYS["moreau"])
    assert not (tmp_path / "gone.h5").exists()


def test_a_span_goes_on_from_the_start_as_that_of_a_run(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    m = jd.Model("ball")
    m.free("f", m.ground, m.body("b", mass=1.0, inertia=(1, 1, 1)))
    s = m.compile()
    first = s.simulate({"f.z": 1.0}, t=0.5)
    for start in (first, first.final_state()):
        s.stream(tmp_path / "run.h5", start, "500 ms", pieces=2)
        found = jd.load_solution(tmp_path / "run.h5")
        assert found.t[0] == 0.5 and found.t[-1] == 1.0
        assert found["f.z"][-1] == pytest.approx(1.0 - 0.5 * 9.81, rel=1e-12)


FULL = """
import resource, signal, sys
import jourdain as jd
from jourdain.library.mechanisms import double_pendulum
s = double_pendulum().compile()
s.simulate({"shoulder.angle": 2.0}, t=0.1).save(sys.argv[1])
s.stream(sys.argv[1] + ".h5", {"shoulder.angle": 2.0}, t=0.1, pieces=2)  # compiles what is needed
older = jd.load_solution(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    s.stream(sys.argv[1], {"shoulder.angle": 2.0}, t=1000.0, pieces=300)
except jd.InputError as error:
    print(error)
print(jd.load_solution(sys.argv[1]).t[-1])
"""


@pytest.mark.parametrize(
    ("room", "told", "least", "most"), [(300_000, "what was there is kept", 0.1, 0.1), (5_000_000, "s are kept", 3.0, 999.0)]
)
@pytest.mark.parametrize("suffix", ["h5", "parquet"])
def test_a_full_disk_keeps_the_older_file_or_the_rows_so_far(
    suffix: str, room: int, told: str, least: float, most: float, tmp_path: Path
) -> None:
    for needed in ("resource", "h5py", "pyarrow"):
        pytest.importorskip(needed)
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / f"run.{suffix}"), str(room)], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    message, kept = ended.stdout.strip().splitlines()
    assert f"run.{suffix}' could not be written: File too large" in message and told in message
    assert least <= float(kept) <= most and not list(tmp_path.glob("*.part.*"))


@pytest.mark.parametrize("suffix", [".h5", ".parquet"])
def test_two_runs_into_one_file_do_not_destroy_each_other(tmp_path: Path, suffix: str) -> None:
    """The second one truncated what the first had written, and whoever ended first removed it."""
    s = double_pendulum().compile()
    path = tmp_path / f"run{suffix}"
    first = StreamFile(path)
    first.add(s.simulate({"shoulder": 1.0}, 0.5))
    with pytest.raises(InputError, match=r"another run is being streamed to it \('run\.part"):
        s.stream(path, {"shoulder": 2.0}, 0.5)
    child = "import sys, pathlib; from jourdain.results.room import claimed; claimed(pathlib.Path(sys.argv[1]))"
    told = subprocess.run([sys.executable, "-c", child, str(tmp_path / f"run.part{suffix}")], capture_output=True, text=True)
    assert "BlockingIOError" in told.stderr
    if suffix == ".h5":
        with h5py.File(tmp_path / "run.part.h5", locking=False) as file:
            assert len(file["t"]) == first.samples
    first.close()
    assert len(load_solution(path)) == first.samples
    assert s.stream(path, {"shoulder": 2.0}, 0.5, pieces=1).t[-1] == load_solution(path).t[-1] == 0.5
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="pipes and links with places in the file system")
@pytest.mark.parametrize("suffix", [".h5", ".parquet"])
def test_streams_keep_links_and_refuse_what_is_no_file(tmp_path: Path, suffix: str) -> None:
    s = double_pendulum().compile()
    (tmp_path / "there").mkdir()
    link = tmp_path / f"link{suffix}"
    link.symlink_to(tmp_path / "there" / f"run{suffix}")
    s.stream(link, {"shoulder": 1.0}, 0.1, pieces=2)
    assert link.is_symlink() and load_solution(tmp_path / "there" / f"run{suffix}").t[-1] == 0.1
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(InputError, match="plain files, and this is none"):
            s.stream(tmp_path / f"{name}{suffix}", {"shoulder": 1.0}, 0.1)
