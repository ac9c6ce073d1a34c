"""Slips of new users with assembled systems: every message names the object, the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jourdain.analysis.assembled_system import AssembledSystem
from jourdain.errors import InputError, ModelError
from jourdain.formalisms.elements.augmentation import Screw
from jourdain.formalisms.elements.carriers import Ground, Particle
from jourdain.formalisms.elements.clearance import Cavity, SphericalClearance
from jourdain.formalisms.elements.pairs import Revolute
from jourdain.formalisms.elements.points import PointBody
from jourdain.formalisms.elements.potentials import PointMass
from jourdain.formalisms.elements.rigid import DirectorBody, PlanarBody
from tests.analysis.assembled_models import top

HERE = DirectorBody.coordinates_of()
CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def particle(element: Any, constants: dict[str, Any], block: str = "b") -> AssembledSystem:
    s = AssembledSystem("system")
    s.add(element, "thing", {block: s.coordinates("p", 3, 0.0)}, constants)
    return s


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "size": (lambda: AssembledSystem("s").coordinates("rod", 12, np.zeros(7)), "'rod': q0 must hold 12 numbers, got"),
    "not a number": (lambda: AssembledSystem("s").coordinates("rod", 2, (0, np.nan)), "'rod': q0 .* not finite"),
    "no size": (lambda: AssembledSystem("s").coordinates("rod", 0, ()), "'rod' of size 0 .* at least 1"),
    "one for three": (lambda: AssembledSystem("s").coordinates("rod", 3, 2.0), "'rod': q0 must hold 3 numbers, got 2.0"),
    "no name": (lambda: AssembledSystem("s").coordinates("", 3, 0.0), "give a name"),
    "negative mass": (lambda: DirectorBody.numbers(-1.0, (1, 1, 1)), "mass -1 and inertia"),
    "mass not a number": (lambda: DirectorBody.numbers(np.nan, (1, 1, 1)), "mass nan.*must be finite"),
    "negative inertia": (lambda: DirectorBody.numbers(1.0, (-1, 1, 1)), "no distribution of mass"),
    "two moments": (lambda: DirectorBody.numbers(1.0, (1, 1)), "inertia .1.0, 1.0. .* not 3 or 3 × 3"),
    "unsymmetric": (lambda: DirectorBody.numbers(1.0, [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
    "flat centre": (lambda: DirectorBody.numbers(1.0, (1, 1, 1), (0, 0)), "centre of mass .0.0, 0.0. are not"),
    "left-handed": (lambda: DirectorBody.coordinates_of((0, 0, 0), -np.eye(3)), "left-handed"),
    "small rotation": (lambda: DirectorBody.coordinates_of((0, 0, 0), np.eye(2)), "3 × 3 numbers"),
    "planar mass": (lambda: PlanarBody.numbers(-1.0, 1.0), "mass -1"),
    "planar inertia": (lambda: PlanarBody.numbers(1.0, -1.0), "inertia -1"),
    "planar tensor": (lambda: PlanarBody.numbers(1.0, (1, 1, 1)), "one moment of inertia"),
    "points": (lambda: PointBody().numbers(CORNERS[:3], 1.0, (1, 1, 1)), "has 4 of 3 numbers"),
    "points' mass": (lambda: PointBody().numbers(CORNERS, -1.0, (1, 1, 1)), "mass -1"),
    "class": (lambda: top().add(DirectorBody, "x", {}, {}), "'x': .*DirectorBody.* no element; give an instance"),
    "handle": (lambda: top().add(DirectorBody(), "x", {"body": "top"}, {}), "block 'body' is given 'top'"),
    "other system": (lambda: top().add(DirectorBody(), "x", {"body": top().handles[0]}, {}), "belongs to another system"),
    "one gravity": (
        lambda: top().add(DirectorBody(), "x", {"body": "?"}, DirectorBody.numbers(1.0, (1, 1, 1), gravity=-9.81)), "block 'body'",
    ),
    "mass of a particle": (lambda: particle(PointMass(3), {"mass": -1.0}, "x"), r"'thing' \(PointMass\): mass = -1 is negative"),
    "radius": (
        lambda: particle(SphericalClearance(Ground(), Particle()), {"point_a": (0, 0, 0), "radius": -1.0, "stiffness": 1.0}),
        "radius = -1 is negative",
    ),
    "shape": (lambda: Cavity(lambda x, y: x, {}, Ground(), Particle()), "function of .x, y, z, c."),
    "place": (lambda: Revolute(a=Ground()).place((0, 0), (0, 0, 1), b=HERE), "point .0, 0. is no place; give 3"),
    "place not a number": (lambda: Revolute(a=Ground()).place((0, np.inf, 0), (0, 0, 1), b=HERE), "is no place"),
    "pitch": (lambda: Screw(a=Ground()).place((0, 0, 0), (0, 0, 1), b=HERE, pitch_per_turn=np.nan), "pitch nan"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_slips_in_building(name: str) -> None:
    make, message = WRONG[name]
    with pytest.raises(ModelError, match=message):
        make()


def test_gravity_needs_three_numbers() -> None:
    s = AssembledSystem("s")
    body = s.coordinates("body", 12, HERE)
    with pytest.raises(ModelError, match="'inertia': gravity must hold 3 numbers, got"):
        s.add(DirectorBody(), "inertia", {"body": body}, DirectorBody.numbers(1.0, (1, 1, 1), gravity=-9.81))


RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "step zero": ({"end": 1.0, "step": 0.0}, "'top': step 0.0 s"),
    "step not a number": ({"end": 1.0, "step": np.nan}, "step nan s"),
    "step as text": ({"end": 1.0, "step": "0.1"}, "step 0.1 s .* numbers"),
    "backwards": ({"end": -1.0, "step": 0.1}, "span 0.0 … -1.0 s"),
    "for ever": ({"end": np.inf, "step": 0.1}, "span 0.0 … inf s must be positive and finite"),
    "every half": ({"end": 1.0, "step": 0.1, "every": 2.5}, "every = 2.5"),
    "tolerance": ({"end": 1.0, "step": 0.1, "tolerance": np.nan}, "tolerance = nan"),
    "iterations": ({"end": 1.0, "step": 0.1, "max_iterations": 0}, "max_iterations = 0"),
    "method": ({"end": 1.0, "step": 0.1, "method": "euler"}, "method 'euler' is unknown; choose one of"),
    "reduction": ({"end": 1.0, "step": 0.1, "reduction": "all"}, "reduction 'all' is unknown; choose one of"),
    "coefficient": ({"end": 1.0, "step": 0.1, "rho": 0.5}, "'energy-momentum' has no coefficient 'rho'"),
    "misspelt coefficient": ({"end": 1.0, "step": 0.1, "method": "hht", "alfa": -0.1}, "no coefficient 'alfa'; it takes alpha"),
    "accuracy": ({"end": 1.0, "step": 0.1, "adaptive": True, "rtol": -1.0}, "rtol = -1"),
}


@pytest.mark.parametrize("name", RUNS)
def test_slips_in_running(name: str) -> None:
    options, message = RUNS[name]
    with pytest.raises(InputError, match=message):
        top().simulate(**options)


def test_a_step_longer_than_the_span_is_shortened() -> None:
    assert top().simulate(0.05, 0.1).t == pytest.approx([0.0, 0.05])
