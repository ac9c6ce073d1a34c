"""Assembled systems that change between runs or in them: other starts, waiting elements, new constants, locked joint coordinates."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from jourdain.analysis.simulate import SimulationError
from jourdain.elements.augmentation import Screw
from jourdain.elements.carriers import Ground
from jourdain.elements.element import Element
from jourdain.elements.pairs import PlanarRevolute, Revolute, Rigid
from jourdain.elements.potentials import CoordinatePotential, PointMass
from jourdain.elements.rigid import DirectorBody, PlanarBody
from jourdain.systems.assembled.system import AssembledSystem


def parallelogram_state(angle: float) -> list[np.ndarray]:
    """Cranks of length 1 and a coupler of length 2."""
    c, s = np.cos(angle), np.sin(angle)
    places = [((0.5 * c, 0.5 * s), angle), ((c + 1.0, s), 0.0), ((2.0 + 0.5 * c, 0.5 * s), angle)]
    return [PlanarBody.coordinates_of(*place) for place in places]


def parallelogram(angle: float) -> AssembledSystem:
    s, q = AssembledSystem("parallelogram"), parallelogram_state(angle)
    bodies = [s.coordinates(name, 6, x) for name, x in zip(("crank", "coupler", "rocker"), q, strict=True)]
    for body in bodies:
        s.add(PlanarBody(), f"inertia of {body.name}", {"body": body}, PlanarBody.numbers(1.0, 0.1, gravity=(0.0, -9.81)))
    tip = np.array([np.cos(angle), np.sin(angle)])
    for name, i, k, point in (("A", None, 0, (0, 0)), ("B", 0, 1, tip), ("C", 1, 2, tip + (2, 0)), ("D", None, 2, (2, 0))):
        pin = PlanarRevolute(a=Ground(2) if i is None else None)
        given = {} if i is None else {"a": bodies[i]}
        s.add(pin, name, {**given, "b": bodies[k]}, pin.place(point, a=None if i is None else q[i], b=q[k]))
    return s


@pytest.mark.parametrize("reduction", ["none", "joints"])
def test_rows_that_are_redundant_in_one_position_count_in_another(reduction: str) -> None:
    s = parallelogram(0.0)
    with pytest.raises(SimulationError, match="'position.x' of element '.' is violated"):
        s.simulate(0.5, 0.01, reduction=reduction)
    s.set_state(np.concatenate(parallelogram_state(1.0)), 0.0)
    sol = s.simulate(1.0, 0.01, reduction=reduction)
    assert np.abs(sol["crank.angle"] - sol["rocker.angle"]).max() < 1e-12
    assert np.abs(sol["crank.angle"] - parallelogram(1.0).simulate(1.0, 0.01)["crank.angle"]).max() < 1e-11


def test_rows_that_are_left_out_show_in_the_violation() -> None:
    s = parallelogram(0.0)
    with pytest.raises(SimulationError) as caught:
        s.simulate(0.3, 0.01)
    sol = caught.value.solution
    gap = np.abs(
        np.exp(1j * sol["crank.angle"][-1]) + 2.0 * np.exp(1j * sol["coupler.angle"][-1]) - 2.0 - np.exp(1j * sol["rocker.angle"][-1])
    )
    assert sol["constraints.violation"].max() == pytest.approx(gap, rel=1e-9)


def screwed(locked: bool) -> AssembledSystem:
    """A pendulum that carries a body by a screw, whose coordinates may be locked, or by a rigid joint."""
    s = AssembledSystem("screw")
    q = [DirectorBody.coordinates_of((0.5, 0.0, 0.0)), DirectorBody.coordinates_of((1.0, 0.0, 0.3))]
    a = s.coordinates("a", 12, q[0])
    fixed = {"displacement": s.coordinates("u", 1, 0.0, fixed=True), "angle": s.coordinates("angle", 1, 0.0, fixed=True)} if locked else {}
    b = s.coordinates("b", 12, q[1])
    for body in (a, b):
        s.add(DirectorBody(), f"inertia of {body.name}", {"body": body}, DirectorBody.numbers(1.0, (0.05, 0.1, 0.1), gravity=(0, 0, -9.81)))
    pivot = Revolute(a=Ground())
    s.add(pivot, "pivot", {"b": a}, pivot.place((0, 0, 0), (0, 1, 0), b=q[0]))
    if locked:
        screw = Screw()
        s.add(screw, "screw", {"a": a, "b": b, **fixed}, screw.place((1, 0, 0), (1, 0, 0), a=q[0], b=q[1], pitch_per_radian=0.3))
    else:
        s.add(Rigid(), "weld", {"a": a, "b": b}, Rigid().place((1, 0, 0), a=q[0], b=q[1]))
    return s


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_a_screw_whose_coordinates_are_fixed_is_rigid(reduction: str) -> None:
    locked, welded = (screwed(x).simulate(0.5, 0.01, reduction=reduction) for x in (True, False))
    assert np.abs(locked["b.position"] - welded["b.position"]).max() < 1e-11


def square(x: Any, c: Any) -> Any:
    return 0.5 * c.stiffness * x * x


def oscillator() -> tuple[AssembledSystem, Any]:
    s = AssembledSystem("oscillator")
    x = s.coordinates("x", 1, 0.1, unit="m")
    s.add(PointMass(1), "mass", {"x": x}, {"mass": 1.0})
    s.add(CoordinatePotential(square, {"stiffness": 1}), "spring", {"x": x}, {"stiffness": 4.0})
    s.add(CoordinatePotential(square, {"stiffness": 1}), "stop", {"x": x}, {"stiffness": 1e4}, active=False)
    return s, x


def test_elements_that_wait_for_an_event_do_not_act_in_analyses() -> None:
    s, _ = oscillator()
    assert np.abs(s.modal(np.zeros(1)).eigenvalues[0].imag) == pytest.approx(2.0)
    wanted = AssembledSystem("plain")
    x = wanted.coordinates("x", 1, 0.1)
    wanted.add(PointMass(1), "mass", {"x": x}, {"mass": 1.0})
    wanted.add(CoordinatePotential(square, {"stiffness": 1}), "spring", {"x": x}, {"stiffness": 4.0})
    assert s.report(0.5) == wanted.report(0.5)


def test_solutions_stay_as_they_are_when_their_system_grows() -> None:
    s, _ = oscillator()
    sol = s.simulate(0.1, 0.01)
    s.coordinates("another", 2, 0.0)
    assert sol["x"].shape == (11,) and "another" not in sol


class Push(Element):
    """A force of two parts."""

    def __init__(self) -> None:
        self.blocks, self.constants = {"x": 1}, {"parts": 2}

    def external(self, s: Any) -> Any:
        return {("x", 0): s.parts[0] + s.parts[1]}


def test_constants_of_several_numbers_change_at_events() -> None:
    s = AssembledSystem("pushed")
    x = s.coordinates("x", 1, 0.0, 1.0)
    s.add(PointMass(1), "mass", {"x": x}, {"mass": 1.0})
    s.add(Push(), "push", {"x": x}, {"parts": (0.0, 0.0)})
    for place, parts in ((0.1, (1.0, 2.0)), (0.2, (-5.0, 2.0))):
        s.event(
            f"at {place}",
            lambda s, p=place: s.x[0] - p,
            {"x": x},
            direction=1,
            action=lambda m, p=parts: m.change("push", parts=np.array(p)),
        )
    sol = s.simulate(0.3, 0.01)
    (first, _), (second, _) = sol.metadata["events"]
    speed = np.sqrt(1.0 + 2.0 * 3.0 * 0.1)  # energy: 3 N over 0.1 m
    assert first == pytest.approx(0.1, abs=1e-13) and second == pytest.approx(0.1 + (speed - 1.0) / 3.0, abs=1e-12)
    assert sol["x.rate"][-1] == pytest.approx(speed - 3.0 * (0.3 - second), abs=1e-11)


THREADS = """
import threading
from jourdain.library.conserving import screw_pair

system, found = screw_pair(), {}

def run(k):
    found[k] = system.simulate(0.1, 0.01, reduction=("bodies", "joints")[k % 2])["nut.position"]

threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert len(found) == 6 and all(abs(x - found[0]).max() < 1e-10 for x in found.values())
"""


def test_threads_that_need_the_same_code_at_once_share_it() -> None:
    """In a process of its own, where nothing is loaded yet."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
