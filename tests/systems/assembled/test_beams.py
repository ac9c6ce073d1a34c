"""Beams by directors: native loops against the declaration in symbols, exact energies, closed forms, published values, every reduction."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.elements import (
    Beam,
    CoordinateForce,
    DirectorBody,
    JointAngle,
    PointForce,
    Revolute,
    Rigid,
    Solid,
    hexahedron,
    lame,
    section_of,
)
from jourdain.elements.carriers import Directors, Ground
from jourdain.elements.discrete.schemes import scheme
from jourdain.elements.discrete.stepping import ElementStep
from jourdain.errors import InputError, ModelError
from jourdain.solvers.stepping import frame as ap
from jourdain.solvers.stepping.kernels import accept
from jourdain.solvers.stepping.kernels import evaluate as native_evaluate
from jourdain.structures import Material, block, rectangle
from jourdain.symbolic.graph import evaluate
from jourdain.systems.assembled.system import AssembledSystem
from jourdain.systems.run import SimulationError

METHODS = ("energy-momentum", "midpoint", "backward-euler", "hht")
VISCOUS: dict[str, dict[str, Any]] = {
    "none": {}, "kelvin-voigt": {"damping": (0.3, 0.2, 0.1, 0.02, 0.01, 0.03)},
    "standard": {"branch": (30.0, 20.0, 10.0, 2.0, 1.0, 3.0), "relaxation": 0.2},
}  # fmt: skip


def random_section(seed: int = 0) -> dict[str, np.ndarray]:
    """A full stiffness matrix and an inertia with first moments."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(6, 6)), rng.normal(size=(4, 4))
    return {"stiffness": A @ A.T + 5.0 * np.eye(6), "inertia": B @ B.T + 0.1 * np.eye(4)}


def curved(nodes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Places and frames of a curved and twisted line."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, nodes)
    places = np.stack([t, 0.2 * t**2, -0.1 * t**3], axis=1)
    turns = Rotation.from_rotvec(np.outer(t, rng.normal(size=3) * 0.5)) * Rotation.from_rotvec(rng.normal(size=3))
    return places, turns.as_matrix()


def single(nodes: int, viscosity: str = "none", seed: int = 0) -> AssembledSystem:
    s = AssembledSystem("one")
    places, turns = curved(nodes, seed)
    s.beam("b", places, rotations=turns, order=nodes - 1, gravity=(0.3, -0.4, -9.81), **random_section(seed), **VISCOUS[viscosity])
    return s


def stepped(s: AssembledSystem, method: str, q0: np.ndarray, q1: np.ndarray, excess: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Residual and matrix of the beam elements alone, and the run."""
    alone = s.copy()
    alone.instances = [i for i in s.instances if isinstance(i.element, Beam)]
    alone.constants = [c for i, c in zip(s.instances, s.constants, strict=True) if isinstance(i.element, Beam)]
    alone.set_state(q0, 0 * q0)
    run, _ = alone.new_run(scheme(method), "none", 0.0, 1.0, 0.1, 1, 1e-12, 20)
    run.begin()
    run.matrix()
    run.vec.q0, run.vec.q1, run.vec.excess = q0, q1, excess
    run.count.which = ap.TANGENT
    native_evaluate.call(run.address)
    return run.r.copy(), run.values.reshape(q0.size, -1).T.copy(), run


def states(s: AssembledSystem, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directors need not be orthonormal for these identities."""
    rng = np.random.default_rng(seed)
    q0, q1 = (s.q0 + 0.1 * rng.normal(size=s.q0.size) for _ in range(2))
    return q0, q1, rng.normal(size=s.q0.size)


@pytest.mark.parametrize("method", METHODS)
def test_native_loops_are_what_is_declared_in_symbols(method: str) -> None:
    s = single(2, seed=1)
    q0, q1, excess = states(s, 2)
    r, K, run = stepped(s, method, q0, q1, excess)
    k = next(k for k, i in enumerate(s.instances) if isinstance(i.element, Beam))
    step = ElementStep(s.instances[k].element, scheme(method).evaluation)
    p = step.packing
    known = dict(zip(p.scalars, (run.clock.h, run.clock.t, run.scheme.kappa, run.scheme.weight, run.scheme.factor), strict=True))
    for symbols, values in ((p.q0, q0), (p.q1, q1), (p.excess, excess), (p.offset, 0 * q0)):
        known |= dict(zip(symbols, values, strict=True))
    for name, numbers in s.constants[k].items():
        given = getattr(step.s, name)
        known |= dict(zip(given if isinstance(given, tuple) else (given,), numbers, strict=True))
    assert r == pytest.approx(np.array(evaluate(step.residual_expressions, known), float), abs=1e-13 * np.abs(r).max())
    found = np.zeros_like(K)
    for (i, j), e in zip(step.tangent_entries, evaluate(list(step.tangent_entries.values()), known), strict=True):
        found[i, j] = e
    assert pytest.approx(found, abs=1e-12 * np.abs(K).max()) == K


@pytest.mark.parametrize("nodes, viscosity", [*product((2, 3, 4), VISCOUS)])
def test_tangent_and_exact_energy_of_an_element(nodes: int, viscosity: str) -> None:
    """The matrix is the derivative of the residual; forces times displacement are the change of energies and what is dissipated."""
    s = single(nodes, viscosity, 3)
    q0, q1, excess = states(s, 4)
    for method in METHODS[: 4 if viscosity == "none" else 1]:
        _, K, _ = stepped(s, method, q0, q1, excess)
        for k in range(0, q0.size, 7):
            e = np.zeros(q0.size)
            e[k] = 1e-5
            slope = (stepped(s, method, q0, q1 + e, excess + e)[0] - stepped(s, method, q0, q1 - e, excess - e)[0]) / 2e-5
            assert K[:, k] == pytest.approx(slope, abs=1e-8 * np.abs(K).max())
    r, _, run = stepped(s, "energy-momentum", q0, q1, 0 * q0)
    force, before = r / run.scheme.kappa, run.book[1] + run.book[2]
    run.vec.u, run.vec.v1 = q1 - q0, 0 * q0
    accept.call(run.address)
    assert force @ (q1 - q0) == pytest.approx(run.frame.audit[1:4].sum() - before, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_curved_and_twisted_beam_is_free_of_stress_wherever_it_is(order: int) -> None:
    places, turns = curved(order * 2 + 1)
    Q, x = Rotation.from_rotvec((1.0, -2.0, 0.7)).as_matrix(), np.array((3.0, 1.0, -2.0))
    s = AssembledSystem("moved")
    s.beam("b", places, rotations=turns, order=order, at=(places @ Q.T + x, Q @ turns), **random_section())
    assert np.abs(s.equations.at(s.q0, 0 * s.q0, 0.0).force).max() < 1e-12


@pytest.mark.parametrize("order, viscosity", [(1, "none"), (2, "none"), (3, "none"), (1, "kelvin-voigt"), (2, "standard")])
def test_energy_and_momenta_of_a_flying_beam(order: int, viscosity: str) -> None:
    places, turns = curved(6 * order + 1)
    s = AssembledSystem("flying")
    section = section_of(rectangle(0.1, 0.2), Material(2e5, 0.3, 100.0))
    s.beam(
        "b", places, rotations=turns, order=order, **section, velocities=np.cross((2.0, 3.0, 1.0), places) + (0.1, 0.2, 0.3), omegas=(2.0, 3.0, 1.0),
        **VISCOUS[viscosity],
    )  # fmt: skip
    sol = s.simulate(2.0, 0.05, reduction="bodies")
    total, lost = sol["energy.total"], sol["energy.dissipated"]
    assert sol["energy.potential"].max() > 1e-4 * total[0]
    assert np.ptp(total + lost) < 1e-11 * total[0] and np.diff(lost).min() >= 0.0
    assert lost[-1] > 1e-6 * total[0] or viscosity == "none"
    for name in ("momentum.linear", "momentum.angular"):
        assert np.ptp(sol[name], axis=0).max() < 1e-11 * np.abs(sol[name]).max()


# -- closed forms -----------------------------------------------------------------------------------------------------------


def straight(elements: int, order: int = 1, stiffness: Any = (1e5, 1e5, 1e5, 1.0, 1.0, 1.0), **options: Any) -> AssembledSystem:
    """A clamped beam of length 1 and EI = 1 along x."""
    s = AssembledSystem("beam")
    line = np.linspace((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), elements * order + 1)
    s.beam("b", line, stiffness=stiffness, inertia=(1.0, 0.0, 1e-4, 1e-4), order=order, start="clamped", **options)
    return s


@pytest.mark.parametrize("turns", [1, 2])
def test_an_end_moment_rolls_a_beam_up(turns: int) -> None:
    """M = 2π EI/L bends a beam into a circle, 4π into two turns: the moment acts on the angle of the last section, as on that of any body.

    Of a two-node element K = sin θ/ℓ, so that M = EI sin θ cos θ/ℓ and n elements turn by ½ n asin(2 M ℓ/EI) exactly, which tends to M L/EI with
    second order.
    """
    errors = []
    for n in (32 * turns, 64 * turns):
        s, moment = straight(n, damping=(0, 0, 0, 0.5, 0.5, 0.5)), 2.0 * np.pi * turns
        tip = next(h for h in s.handles if h.name == f"b.{n}")
        angle, q = s.coordinates("angle", 1, 0.0, unit="rad"), s.q0[tip.offset : tip.offset + 12]
        pair = JointAngle(Ground(), Directors())
        place = Revolute(Ground(), Directors()).place((1.0, 0, 0), (0, -1.0, 0), b=q)
        s.add(pair, "measured", {"b": tip, "angle": angle}, {k: place[k] for k in pair.constants})
        s.add(
            CoordinateForce(lambda t, x, v, c: c.moment * jd.minimum(t / 5.0, 1.0), {"moment": 1}),
            "moment",
            {"x": angle},
            {"moment": moment},
        )
        sol = s.simulate(25.0, 0.05)
        turned = sol["angle"][-1]
        assert turned == pytest.approx(0.5 * n * np.arcsin(2.0 * moment / n), rel=1e-7)
        errors.append(abs(turned - moment))
        assert np.abs(sol[f"b.{n}.position"][-1]).max() < errors[-1]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("load, down, in_", [(1.0, 0.30172, 0.05643), (10.0, 0.81061, 0.55500)])
def test_elastica(load: float, down: float, in_: float) -> None:
    """A cantilever with a dead load P at its end: deflections at P L²/EI = 1 and 10 (Bisshopp & Drucker 1945)."""
    s = straight(16, 3, stiffness=(1e7, 1e7, 1e7, 1.0, 1.0, 1.0))
    tip = next(h for h in s.handles if h.name == "b.48")
    s.add(PointForce(Directors()), "load", {"a": tip}, {"point": (0, 0, 0), "force": (0, 0, -load)})
    q = s.equilibrium(first=0.05, reduction="bodies").q[tip.offset : tip.offset + 3]
    assert -q[2] == pytest.approx(down, abs=2e-5) and 1.0 - q[0] == pytest.approx(in_, abs=2e-5)


def test_the_bend_of_45_degrees() -> None:
    """Bathe & Bolourchi 1979: a curved cantilever (R = 100, section 1 × 1, E = 1e7, ν = 0) with 600 at its end.

    Simo & Vu-Quoc 1986 give (15.79, 47.23, 53.37) with eight straight elements; curved ones of second and third order agree among themselves.
    """
    found = []
    for order in (2, 3):
        angles = np.linspace(0.0, np.pi / 4, 8 * order + 1)
        places = 100.0 * np.stack([1.0 - np.cos(angles), np.sin(angles), 0 * angles], axis=1)
        s = AssembledSystem("bend")
        nodes = s.beam("b", places, order=order, start="clamped", **section_of(rectangle(1.0, 1.0), Material(1e7, 0.0, 1e-3)))
        s.add(PointForce(Directors()), "load", {"a": nodes[-1]}, {"point": (0, 0, 0), "force": (0, 0, 600.0)})
        found.append(s.equilibrium(first=0.5, reduction="bodies").q[nodes[-1].offset :][:3])
    assert found[0] == pytest.approx(found[1], abs=0.01)
    assert found[1] == pytest.approx((15.79, 47.23, 53.37), abs=0.4)


def test_buckling_load_of_a_column() -> None:
    """ω² of a clamped column falls linearly with the load and vanishes at π² EI/4L²."""
    squares, loads = [], (2.3, 2.4)
    for load in loads:
        s = straight(8, 2, stiffness=(1e7, 1e7, 1e7, 1.0, 1.0, 1.0))
        tip = next(h for h in s.handles if h.name == "b.16")
        s.add(PointForce(Directors()), "load", {"a": tip}, {"point": (0, 0, 0), "force": (-load, 0, 0)})
        squares.append(s.modal(s.equilibrium(first=0.01).q).frequencies[0] ** 2)
    critical = loads[0] + (loads[1] - loads[0]) * squares[0] / (squares[0] - squares[1])
    assert critical == pytest.approx(np.pi**2 / 4, rel=1e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_frequencies_converge_to_those_of_the_beam(order: int) -> None:
    exact = 1.8751040687**2 / (2 * np.pi)
    found = [straight(n, order, stiffness=(1e8, 1e8, 1e8, 1.0, 1.0, 1.0)).modal().frequencies[0] for n in (4, 8)]
    slender = exact * (1 - 0.5 * 1e-4 * 4.65)  # rotary inertia (Rayleigh)
    errors = [abs(f - slender) / exact for f in found]
    assert errors[1] < {1: 5e-3, 2: 2e-4, 3: 1e-5}[order] and (order == 3 or errors[1] < 0.35 * errors[0])


def test_a_beam_is_the_slender_limit_of_hexahedra() -> None:
    """Swinging by large angles under its weight, the middle of the end face and the end node."""
    material, size = Material(2e6, 0.0, 1000.0), (1.0, 0.05, 0.05)
    s = AssembledSystem("beam")
    s.beam(
        "b",
        np.linspace((0, 0, 0), (1.0, 0, 0), 17),
        order=2,
        start="clamped",
        gravity=(0, 0, -9.81),
        **section_of(rectangle(0.05, 0.05), material),
    )
    part = block(size, (32, 1, 1), material, origin=(0, -0.025, -0.025))
    t = AssembledSystem("solid")
    t.mesh(
        Solid(hexahedron(), enhanced=True), "b", part.nodes, part.elements[0].nodes, fixed=part.sets["x-"], density=1000.0, gravity=(0, 0, -9.81),  # type: ignore[attr-defined]
        **lame(2e6, 0.0),
    )  # fmt: skip
    one, two = s.simulate(0.5, 0.01, reduction="bodies"), t.simulate(0.5, 0.01)
    tip = np.mean([two[f"b.{k}"] for k in part.sets["x+"]], axis=0)
    assert np.ptp(tip[:, 2]) > 0.5
    assert np.abs(one["b.16.position"] - tip).max() < 0.01


# -- with bodies ------------------------------------------------------------------------------------------------------------


def mixed(way: str) -> AssembledSystem:
    """A beam between a hinged hub and a hanging body, held at places of these, by shared nodes or by rigid pairs."""
    s = AssembledSystem("mixed")
    q, p = (
        DirectorBody.coordinates_of((0.0, 0.0, 0.0)),
        DirectorBody.coordinates_of((1.4, 0.1, 0.0), Rotation.from_rotvec((0.3, 0, 0)).as_matrix()),
    )
    hub, weight = (
        s.coordinates("hub", 12, q, DirectorBody.rates_of(q, omega=(0, 0, 2.0))),
        s.coordinates("weight", 12, p, DirectorBody.rates_of(p, np.cross((0, 0, 2.0), p[:3]), (0, 0, 2.0))),
    )
    s.add(DirectorBody(), "hub.body", {"body": hub}, DirectorBody.numbers(1.0, (0.1, 0.1, 0.1)))
    s.add(DirectorBody(), "weight.body", {"body": weight}, DirectorBody.numbers(0.5, (0.02, 0.01, 0.03), gravity=(0, 0, -9.81)))
    pair = Revolute(Ground(), Directors())
    s.add(pair, "hinge", {"b": hub}, pair.place((0, 0, 0), (0, 0, 1.0), b=q))
    line = np.linspace((0.2, 0.0, 0.1), (1.2, 0.0, 0.0), 9)
    options: dict[str, Any] = section_of(rectangle(0.05, 0.02), Material(2e8, 0.3, 500.0))
    options |= {"order": 1, "gravity": (0, 0, -9.81), "velocities": np.cross((0, 0, 2.0), line), "omegas": (0, 0, 2.0)}
    if way == "shared":
        s.beam("b", line, start=hub, end=weight, **options)
    else:
        nodes = s.beam("b", line, **options)
        for name, body, node, place in (("root", hub, nodes[0], line[0]), ("tip", weight, nodes[-1], line[-1])):
            fixed = Rigid(Directors(), Directors())
            qa, qb = (s.q0[h.offset : h.offset + 12] for h in (body, node))
            s.add(fixed, name, {"a": body, "b": node}, fixed.place(place, (0, 0, 1.0), a=qa, b=qb))
    return s


def test_every_reduction_gives_the_same_motion_and_ends_on_bodies_need_no_pairs() -> None:
    expected = mixed("pairs").simulate(0.5, 0.02)
    assert np.ptp(expected["weight.position"][:, 2]) > 0.02
    for way, reduction in [("shared", r) for r in ("none", "projection", "bodies", "joints")] + [("pairs", "bodies"), ("pairs", "joints")]:
        sol = mixed(way).simulate(0.5, 0.02, reduction=reduction)
        assert sol["weight.position"] == pytest.approx(expected["weight.position"], abs=1e-9), (way, reduction)
        assert np.ptp(sol["energy.total"]) < 1e-11
        assert np.ptp(sol["momentum.angular"][:, 2]) < 1e-11
    assert mixed("shared").report(0.02, reduction="bodies")["unknowns"] == 2 * 6 + 7 * 6 + 5


@pytest.mark.parametrize("method", ["midpoint", "backward-euler", "generalized-alpha"])
def test_other_methods(method: str) -> None:
    runs = [mixed(way).simulate(0.1, 0.01, method, reduction=r) for way, r in (("pairs", "none"), ("shared", "bodies"))]
    assert runs[1]["weight.position"] == pytest.approx(runs[0]["weight.position"], abs=1e-9)


def test_resultants_are_channels() -> None:
    """At rest the bending moment at the clamp is that of the weight."""
    s = straight(20, stiffness=(1e5, 1e5, 1e5, 50.0, 50.0, 50.0), gravity=(0, 0, -1.0), damping=(0, 0, 0, 5.0, 5.0, 5.0))
    sol = s.simulate(20.0, 0.05, reduction="bodies")
    assert sol["b.e0.My"][-1] == pytest.approx(0.5 * (1 - 1 / 40) ** 2, rel=0.02)
    assert sol["b.e0.Vz"][-1] == pytest.approx(-(1 - 1 / 40), rel=0.02)


def test_refusals() -> None:
    s, line = AssembledSystem("bad"), np.linspace((0, 0, 0), (1.0, 0, 0), 4)
    section = random_section()
    with pytest.raises(ModelError, match=r"places of shape \(4, 3\) are not \(1 \+ a multiple of 2, 3\)"):
        s.beam("b", line, **section)
    with pytest.raises(ModelError, match="order 4 is none of 1, 2 and 3"):
        s.beam("b", line, order=4, **section)
    with pytest.raises(ModelError, match=r"up = \[1, 0, 0\] is along the beam at node 0"):
        s.beam("b", line, order=1, up=(1, 0, 0), **section)
    with pytest.raises(ModelError, match="stiffness is not positive"):
        s.beam("b", line, order=1, stiffness=(1, 1, 1, 1, 1, -1.0), inertia=section["inertia"])
    with pytest.raises(ModelError, match="stiffness must be a symmetric matrix"):
        s.beam("b", line, order=1, stiffness=np.arange(36.0).reshape(6, 6), inertia=section["inertia"])
    with pytest.raises(ModelError, match="inertia must be 4 × 4 numbers"):
        s.beam("b", line, order=1, stiffness=section["stiffness"], inertia=(1.0, 2.0))
    with pytest.raises(ModelError, match=r"viscous constants \['relaxation'\] are given"):
        s.beam("b", line, order=1, relaxation=1.0, **section)
    with pytest.raises(ModelError, match="its end 'glued' is neither a body nor 'clamped'"):
        s.beam("b", line, order=1, end="glued", **section)
    s = AssembledSystem("damped")
    s.beam("b", line, order=1, damping=np.ones(6), **section)
    with pytest.raises(InputError, match="viscosity 'kelvin-voigt' is balanced by the method 'energy-momentum' alone"):
        s.simulate(0.1, 0.01, "midpoint")
    with pytest.raises(InputError, match="'variational' does not know solids and beams"):
        straight(2).simulate(0.1, 0.01, "variational")


def test_an_element_that_folds_is_named_with_the_time() -> None:
    """Beyond a right angle between nodes the curvature would fall again, and the beam with it."""
    with pytest.raises(
        SimulationError,
        match=r"at t = 0\.\d+ s, .* element 'b\.e\d' of a beam turns by a right angle between its nodes: take more elements",
    ):
        straight(2, stiffness=(1e5, 1e5, 1e5, 1.0, 1.0, 1.0), gravity=(0, 0, -100.0)).simulate(2.0, 0.01, reduction="bodies")
