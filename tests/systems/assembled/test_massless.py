"""Coordinates without mass: they start, and go on after events, in the balance of their forces."""

from typing import Any

import numpy as np
import pytest

from jourdain.analysis.simulate import SimulationError
from jourdain.elements.discrete.schemes import NAMES
from jourdain.elements.dissipation import Viscous
from jourdain.elements.element import Element
from jourdain.elements.potentials import CoordinatePotential, PointMass
from jourdain.errors import InputError
from jourdain.symbolic.functions import sin
from jourdain.systems.assembled.system import AssembledSystem


class Link(Element):
    """A spring ½ k (y − x)² between two coordinates."""

    def __init__(self) -> None:
        self.blocks, self.constants = {"x": 1, "y": 1}, {"stiffness": 1}

    def potential(self, s: Any) -> Any:
        return (0.5 * s.stiffness * (s.y[0] - s.x[0]) * (s.y[0] - s.x[0]),)


class Push(Element):
    """A force sin t."""

    def __init__(self) -> None:
        self.blocks = {"x": 1}

    def external(self, s: Any) -> Any:
        return {("x", 0): sin(s.t)}


class Slope(Element):
    """A constant force: nothing balances it."""

    def __init__(self) -> None:
        self.blocks = {"x": 1}

    def potential(self, s: Any) -> Any:
        return (3.0 * s.x[0],)


def series() -> AssembledSystem:
    """A mass on two springs in series; the point between them has no mass and starts anywhere."""
    s = AssembledSystem("series")
    x, y = s.coordinates("x", 1, 7.0), s.coordinates("y", 1, 1.0, 0.5)
    s.add(PointMass(1), "mass", {"x": y}, {"mass": 1.0})
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 3.0, "rest": 0.0})
    s.add(Link(), "link", {"x": x, "y": y}, {"stiffness": 1.0})
    return s


@pytest.mark.parametrize("method", [n for n in NAMES if n != "variational"])
def test_the_point_between_two_springs_does_not_alternate(method: str) -> None:
    sol = series().simulate(2.0, 0.01, method)
    assert np.allclose(sol["x"], 0.25 * sol["y"], atol=1e-11) and np.allclose(sol["x.rate"], 0.25 * sol["y.rate"], atol=1e-9)
    w = np.sqrt(0.75)
    exact = np.cos(w * sol.t) + 0.5 / w * np.sin(w * sol.t)
    assert np.abs(sol["y"] - exact).max() < (1e-2 if method == "backward-euler" else 2e-5)


def test_a_massless_coordinate_alone_rests_in_its_balance() -> None:
    s = AssembledSystem("alone")
    x = s.coordinates("x", 1, 0.0)
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 2.0, "rest": 0.5})
    sol = s.simulate(1.0, 0.1)
    assert np.allclose(sol["x"], 0.5, atol=1e-14) and np.abs(sol["x.rate"]).max() < 1e-12


def test_it_follows_a_force_of_time_with_the_right_rate() -> None:
    s = AssembledSystem("pushed")
    x = s.coordinates("x", 1, 0.0)
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 2.0, "rest": 0.0})
    s.add(Push(), "push", {"x": x})
    errors = []
    for h in (0.02, 0.01):
        sol = s.simulate(1.0, h)
        errors.append([np.abs(sol["x"] - 0.5 * np.sin(sol.t)).max(), np.abs(sol["x.rate"] - 0.5 * np.cos(sol.t)).max()])
    assert np.allclose(np.divide(*errors), 4.0, atol=0.4) and np.max(errors) < 2e-4


def test_with_damping_the_rate_is_completed_and_the_position_kept() -> None:
    """ẋ = −2 x: the start stays, the rate is −2."""
    s = AssembledSystem("damped")
    x = s.coordinates("x", 1, 1.0)
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 2.0, "rest": 0.0})
    s.add(Viscous(), "damper", {"x": x}, {"damping": 1.0})
    sol = s.simulate(1.0, 0.01)
    assert np.allclose(sol["x"], np.exp(-2 * sol.t), atol=1e-4) and np.allclose(sol["x.rate"], -2 * np.exp(-2 * sol.t), atol=5e-4)
    assert sol["x"][0] == 1.0 and np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-13


def test_balance_is_found_anew_when_an_event_changes_a_spring() -> None:
    s = series()
    s.event("soften", lambda s: s.t - 0.505, action=lambda at: at.change("spring", stiffness=1.0))
    sol = s.simulate(1.0, 0.01)
    k = int(np.searchsorted(sol.t, 0.505)) + 1
    assert np.allclose(sol["x"][:k], 0.25 * sol["y"][:k], atol=1e-12) and np.allclose(sol["x"][k:], 0.5 * sol["y"][k:], atol=1e-12)
    assert np.allclose(sol["x.rate"][k:], 0.5 * sol["y.rate"][k:], atol=1e-9)
    assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-12


def test_a_variational_step_needs_mass_and_says_so() -> None:
    with pytest.raises(SimulationError, match=r"do not determine coordinate 'x\[0\]'"):
        series().simulate(1.0, 0.1, "variational")


def test_a_coordinate_that_nothing_balances_is_named() -> None:
    s = AssembledSystem("lost")
    x = s.coordinates("x", 1, 0.0)
    s.add(Slope(), "slope", {"x": x})
    with pytest.raises(InputError, match=r"coordinate 'x\[0\]' has no mass and is out of balance, with a force of -3 left"):
        s.simulate(1.0, 0.1)
