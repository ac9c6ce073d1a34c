"""Slips of new users with assembled systems: every message names the object, the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import jourdain as jd
from jourdain.elements.augmentation import Screw
from jourdain.elements.carriers import Ground, Particle
from jourdain.elements.clearance import Cavity, SphericalClearance
from jourdain.elements.element import Element
from jourdain.elements.pairs import Revolute
from jourdain.elements.points import PointBody
from jourdain.elements.potentials import PointMass
from jourdain.elements.rigid import DirectorBody, PlanarBody
from jourdain.errors import InputError, ModelError
from jourdain.systems.assembled.system import AssembledSystem
from tests.systems.assembled.assembled_models import top

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
    "negative mass": (lambda: DirectorBody.numbers(-1.0, (1, 1, 1)), "mass -1 kg is negative"),
    "mass not a number": (lambda: DirectorBody.numbers(np.nan, (1, 1, 1)), "mass nan.*must be finite"),
    "negative inertia": (lambda: DirectorBody.numbers(1.0, (-1, 1, 1)), "no distribution of mass"),
    "two moments": (lambda: DirectorBody.numbers(1.0, (1, 1)), "inertia .1.0, 1.0. .* not 3 or 3 × 3"),
    "unsymmetric": (lambda: DirectorBody.numbers(1.0, [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
    "flat centre": (lambda: DirectorBody.numbers(1.0, (1, 1, 1), (0, 0)), "centre of mass .0.0, 0.0. are not"),
    "left-handed": (lambda: DirectorBody.coordinates_of((0, 0, 0), -np.eye(3)), "left-handed"),
    "no rotation": (lambda: DirectorBody.coordinates_of((0, 0, 0), 2 * np.eye(3)), "not of length 1"),
    "one angular velocity": (lambda: DirectorBody.rates_of(HERE, omega=3.0), "angular velocity 3.0 must hold 3 numbers"),
    "ground as text": (lambda: Revolute(a="ground"), "Revolute: 'ground' is no kind of body; give Ground()"),
    "axis as text": (lambda: Revolute(a=Ground()).place((0, 0, 0), "y", b=HERE), "axis y has no direction"),
    "guard of another block": (lambda: top().event("floor", lambda s: s.ball[2], {"top": top().handles[0]}), "'floor'.*uses 'ball'.*are top"),
    "guard without blocks": (lambda: top().event("floor", lambda s: s.top[2]), "uses 'top'; its blocks are none"),
    "guard as condition": (lambda: top().event("noon", lambda s: s.t > 1.0), "'noon'.*is a condition; give .* crosses zero"),
    "action as text": (lambda: top().event("noon", lambda s: s.t - 1.0, action="stop"), "'noon': action 'stop' cannot be called"),
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
    "coefficient": ({"end": 1.0, "step": 0.1, "rho": 0.5}, "'rho' is no option, and no coefficient of method 'energy-momentum'"),
    "misspelt coefficient": (
        {"end": 1.0, "step": 0.1, "method": "hht", "alfa": -0.1},
        "'alfa' is no option, .* method 'hht', which takes alpha",
    ),
    "accuracy of steps of one size": ({"end": 1.0, "step": 0.1, "rtol": 1e-8}, "rtol and atol choose steps when adaptive=True"),
    "accuracy": ({"end": 1.0, "step": 0.1, "adaptive": True, "rtol": -1.0}, "rtol = -1"),
}


@pytest.mark.parametrize("name", RUNS)
def test_slips_in_running(name: str) -> None:
    options, message = RUNS[name]
    with pytest.raises(InputError, match=message):
        top().simulate(**options)


class Misspelt(Element):
    blocks: ClassVar = {"body": 12}
    constants: ClassVar = {"stiffness": 1}

    def potential(self, s: Any) -> Any:
        return [0.5 * s.stifness * s.body[0] ** 2]


class Unlisted(Misspelt):
    def potential(self, s: Any) -> Any:
        return 0.5 * s.stiffness * s.body[0] ** 2


def test_slips_in_elements_of_ones_own() -> None:
    for made, error, message in (
        (Misspelt(), AttributeError, "'stifness', which is none of .* there are .*body, stiffness"),
        (Unlisted(), ModelError, r"must be a list of terms: return \[energy\]"),
    ):
        system = top()
        system.add(made, "spring", {"body": system.handles[0]}, {"stiffness": 1.0})
        with pytest.raises(error, match=message):
            system.simulate(1.0, 0.1)


def test_slips_in_compiling() -> None:
    with pytest.raises(InputError, match="formulation 'directors' has no option 'steps'; it takes reduction"):
        cart().compile(formulation="directors", steps=3)
    with pytest.raises(InputError, match="reduction 'qr' is unknown; use one of none, projection, bodies, joints"):
        cart().compile(formulation="directors", reduction="qr")
    assert cart().compile(formulation="directors", reduction="bodies").simulate({}, 0.1).metadata["reduction"] == "bodies"


def test_modes_need_all_coordinates() -> None:
    with pytest.raises(InputError, match="modes of 'top': 2 coordinates are given; it has 12"):
        top().modal(np.zeros(2))


MODEL_RUNS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "time as text": ({}, {"t": "soon"}, "'cart': the time: 'soon' is not a number"),
    "three times": ({}, {"t": [0, 1, 2]}, "neither a number of seconds nor a pair"),
    "for ever": ({}, {"t": np.inf}, "the end inf s"),
    "rows": ({}, {"t": 1.0, "outputs": 1}, "outputs = 1 must be a whole number"),
    "state as array": (np.zeros(2), {"t": 1.0}, "is no state; give values by the names of coordinates"),
}


def cart() -> jd.Model:
    m = jd.Model("cart")
    body = m.body("body", mass=m.parameter("mass", 2.0), inertia=(1, 1, 1))
    m.force(m.prismatic("slide", m.ground, body, axis="x"), m.input("push", unit="N"))
    m.sensor("place", body)
    return m


@pytest.mark.parametrize("formulation", ["recursive", "natural", "directors"])
@pytest.mark.parametrize("name", MODEL_RUNS)
def test_slips_in_running_models(name: str, formulation: str) -> None:
    state, options, message = MODEL_RUNS[name]
    with pytest.raises(InputError, match=message):
        cart().compile(formulation=formulation).simulate(state, **options)


@pytest.mark.parametrize("formulation", ["recursive", "directors"])
def test_runs_need_all_parameters(formulation: str) -> None:
    with pytest.raises(InputError, match="'cart': 0 values are given for its . parameters"):
        cart().compile(formulation=formulation).simulate({}, 1.0, parameters=np.zeros(0))


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_without_a_state_all_coordinates_start_at_zero(formulation: str) -> None:
    sol = cart().compile(formulation=formulation).simulate(None, 0.1)
    assert sol["slide.displacement"][0] == sol["slide.displacement_rate"][0] == 0.0


def test_slips_in_tracking() -> None:
    m = cart()
    x, directors = m.sensors["place"].position.x, m.compile(formulation="directors")
    with pytest.raises(InputError, match="track 'cart': .*velocity violates 'push'.*adjust=True takes the nearest state"):
        directors.track({"push": x - m.time}, {}, 1.0)
    with pytest.raises(InputError, match="input 'push' is to be found and given at once"):
        directors.track({"push": x}, {}, 1.0, inputs={"push": 1.0})
    with pytest.raises(InputError, match="must be expressions by the names of inputs"):
        directors.track([x], {}, 1.0)
    followed = directors.track({"push": x - m.time}, {}, 1.0, adjust=True)
    assert followed["slide.displacement_rate"] == pytest.approx(1.0, abs=1e-9)


def test_a_step_longer_than_the_span_is_shortened() -> None:
    assert top().simulate(0.05, 0.1).t == pytest.approx([0.0, 0.05])
