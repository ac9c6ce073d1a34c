"""Bodies by points, penalties, play and walls on the energy-consistent engine: long runs, all realisations of joints, gaps, losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from jourdain.analysis.simulate import SimulationError
from jourdain.elements.carriers import Directors, Ground, Particle, Tetrahedron
from jourdain.elements.clearance import Cavity, RevoluteClearance, SphericalClearance, constraint_of_wall
from jourdain.elements.element import Element
from jourdain.elements.pairs import Cylindrical, Planar, Prismatic, Revolute, Spherical, Universal
from jourdain.elements.points import Alignment, PointBody, coplanarity
from jourdain.elements.potentials import AugmentedLagrangian, Penalty, PointMass, PointPotential, VectorPenalty
from jourdain.elements.rigid import DirectorBody
from jourdain.library import conserving
from jourdain.systems.assembled.augmented_lagrangian import simulate_augmented
from jourdain.systems.assembled.system import AssembledSystem

TIGHT = 1e-15


def drift(sol: Any) -> float:
    return float(np.abs(sol["energy.total"] - sol["energy.total"][0]).max())


# central force ---------------------------------------------------------------------------------------------------------------------


def particle(stiffness: float) -> AssembledSystem:
    s = AssembledSystem("particle")
    x = s.coordinates("x", 3, (1.0, 0.0, 0.0), (0.3, 1.0, 0.2))
    s.add(PointMass(3), "mass", {"x": x}, {"mass": 1.0})
    s.add(PointPotential(Ground(), Particle()), "spring", {"b": x}, {"point_a": np.zeros(3), "stiffness": stiffness, "length": 1.0})
    return s


@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6])
def test_hundred_thousand_steps_about_a_centre(stiffness: float) -> None:
    """Energy and angular momentum to 1e-11 of their sizes (the spring's force is that of coordinates with 16 digits)."""
    sol = particle(stiffness).simulate(5000.0, 0.05, every=500, tolerance=TIGHT)
    assert sol.statistics["steps"] == 100_000
    assert drift(sol) < 1e-11 * sol["energy.total"][0] + 2e-16 * stiffness
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11


@pytest.mark.parametrize("method", ["midpoint", "trapezoidal"])
def test_other_rules_lose_the_energy_of_stiff_springs(method: str) -> None:
    try:
        sol = particle(1e6).simulate(50.0, 0.05, method=method)
    except SimulationError as failure:
        sol = failure.solution
    assert drift(sol) > 1e-2


def test_second_order_about_a_centre() -> None:
    fine = particle(1e2).simulate(1.0, 1e-4, every=10**6)["x"][-1]
    errors = [np.abs(particle(1e2).simulate(1.0, h)["x"][-1] - fine).max() for h in (0.01, 0.005)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)


# penalties and multipliers ------------------------------------------------------------------------------------------------------------

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.1, 1.0, 0.3], [0.0, 0.3, 1.0]])


def tumbling(rigidity: str, alpha: float = 1e10) -> AssembledSystem:
    s = AssembledSystem("tumbling body")
    body, w = PointBody(rigidity=rigidity), np.array([0.01, 5.0, 0.02])
    handles = {f"p{i}": s.coordinates(f"p{i}", 3, x, np.cross(w, x)) for i, x in enumerate(CORNERS)}
    s.add(body, "body", handles, body.numbers(CORNERS, 2.0, (0.1, 0.2, 0.27), np.zeros(3), alpha=alpha))
    return s


def test_penalties_tend_to_multipliers() -> None:
    """Violations and distances from the motion with exact constraints fall as 1/α from 1e8 to 1e12."""
    exact = tumbling("constraint").simulate(0.5, 0.002, tolerance=TIGHT)
    alphas, stretched, away = 10.0 ** np.arange(8, 13), [], []
    for alpha in alphas:
        sol = tumbling("penalty", alpha).simulate(0.5, 0.002, tolerance=TIGHT)
        lengths = [np.linalg.norm(sol[f"p{j}"] - sol[f"p{i}"], axis=1) for i in range(4) for j in range(i)]
        stretched.append(max(np.ptp(x) for x in lengths))
        away.append(max(np.abs(sol[f"p{k}"] - exact[f"p{k}"]).max() for k in range(4)))
    assert np.polyfit(np.log10(alphas), np.log10(stretched), 1)[0] == pytest.approx(-1.0, abs=0.05)
    assert np.polyfit(np.log10(alphas[:3]), np.log10(away[:3]), 1)[0] == pytest.approx(-1.0, abs=0.1)
    assert away[-1] < 1e-8


PAIRS = (Spherical, Revolute, Cylindrical, Prismatic, Planar, Universal)


def two_tetrahedra(kind: type, way: str) -> AssembledSystem:
    """Two bodies by points joined by a pair in one of three ways, in free flight."""
    rng = np.random.default_rng(7)
    s = AssembledSystem(f"{kind.__name__} by {way}")
    blocks, places, w = {}, {}, np.array([0.3, -0.5, 0.8])
    for side, shift in (("a", np.zeros(3)), ("b", np.array([0.6, 0.2, 0.1]))):
        x = CORNERS + shift + 0.05 * rng.normal(size=(4, 3))
        handles = {f"p{i}": s.coordinates(f"{side}{i}", 3, p, np.cross(w, p)) for i, p in enumerate(x)}
        body = PointBody(rigidity="constraint")
        s.add(body, f"body {side}", handles, body.numbers(x, 1.5, (0.2, 0.3, 0.25), x.mean(axis=0)))
        blocks |= {f"{side}{i}": h for i, h in enumerate(handles.values())}
        places[side] = x
    pair = kind(Tetrahedron(), Tetrahedron())
    constants = pair.place((0.4, 0.3, 0.2), (0.2, -0.3, 1.0), places["a"], places["b"])
    element: Element = {"multipliers": lambda: pair, "penalty": lambda: Penalty(pair), "augmented": lambda: AugmentedLagrangian(pair)}[
        way
    ]()
    s.add(element, "joint", blocks, constants if way == "multipliers" else {**constants, "alpha": 1e9 if way == "penalty" else 1e5})
    kick = np.concatenate([np.cross(w, s.q0[k : k + 3]) for k in range(0, 24, 3)])
    # the pair's own motions: rates of body b along its joint, kept compatible by projection
    G = two_rows(s, pair, constants)
    push = kick + np.concatenate([np.zeros(12), 0.8 * rng.normal(size=12)])
    s.set_state(s.q0, push - np.linalg.pinv(G) @ (G @ push))
    return s


def two_rows(s: AssembledSystem, pair: Any, constants: Any) -> np.ndarray:
    """Gradients of rigidity and of the pair at the start, from a copy with exact constraints."""
    copy = AssembledSystem("rows")
    handles = [copy.coordinates(h.name, 3, s.q0[h.offset : h.offset + 3]) for h in s.handles]
    for i in s.instances[:2]:
        at = np.cumsum([0, *i.element.constants.values()])
        numbers = {n: i.numbers[at[k] : at[k + 1]] for k, n in enumerate(i.element.constants)}
        copy.add(i.element, i.name, {b: handles[h.number] for b, h in i.blocks.items()}, numbers)
    copy.add(pair, "joint", {b: handles[k] for k, b in enumerate(pair.blocks)}, constants)
    return np.asarray(copy.equations.at(copy.q0, np.zeros(24), 0.0).rows.toarray())


@pytest.mark.parametrize("kind", PAIRS, ids=lambda k: k.__name__)
def test_pairs_of_bodies_by_points_in_three_ways(kind: type) -> None:
    """Multipliers, stiff penalty and augmented Lagrangian: the same motion, with energy and both momenta."""
    exact = two_tetrahedra(kind, "multipliers").simulate(1.0, 0.02, tolerance=1e-14)
    soft = two_tetrahedra(kind, "penalty").simulate(1.0, 0.02, tolerance=1e-14)
    sweeps = simulate_augmented(two_tetrahedra(kind, "augmented"), 1.0, 0.02, tolerance=1e-14)
    size = exact["energy.total"][0]
    for sol, energy in ((exact, 1e-11), (soft, 1e-9), (sweeps, 1e-7)):
        assert drift(sol) < energy * size
        assert np.ptp(sol["momentum.linear"], axis=0).max() < 1e-10
        assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-10
        assert max(np.abs(sol[f"b{k}"] - exact[f"b{k}"]).max() for k in range(4)) < 1e-6
    relative = np.linalg.norm(exact["b1"] - exact["a2"], axis=1)
    assert np.ptp(relative) > 1e-3  # the joint moves


def four_points(form: str) -> AssembledSystem:
    s = AssembledSystem("four points")
    rng = np.random.default_rng(2)
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.2, 0.0]])
    v = 0.5 * rng.normal(size=(4, 3))
    h = {f"x{k + 1}": s.coordinates(f"x{k + 1}", 3, x[k], v[k]) for k in range(4)}
    for name, handle in h.items():
        s.add(PointMass(3), f"mass {name}", {"x": handle}, {"mass": 1.0})
    s.add(VectorPenalty({f"x{k}": 3 for k in (1, 2, 3, 4)}, coplanarity, form=form), "plane", h, {"alpha": 1e4})
    return s


@pytest.mark.parametrize("form", ["beta", "gonzalez", "rules"])
def test_momenta_of_vector_constraints(form: str) -> None:
    """A cubic constraint of four points: energy stays in all forms, linear momentum but in Gonzalez', whose correction has a resultant;
    the moment about the mean place vanishes with the step only."""
    moved, turned = [], []
    for h in (0.05, 0.0125):
        sol = four_points(form).simulate(2.0, h, tolerance=1e-14)
        assert drift(sol) < 1e-10
        assert (sol["energy.potential"] + sol["energy.internal"]).max() > 1e-6
        moved.append(np.ptp(sol["momentum.linear"], axis=0).max())
        turned.append(np.ptp(sol["momentum.angular"], axis=0).max())
    assert (max(moved) < 1e-11) == (form != "gonzalez")
    assert 1e-9 < turned[1] < turned[0] < 2.0


# realisations of the revolute joint --------------------------------------------------------------------------------------------------


def prisms(joint: str) -> AssembledSystem:
    """Case 7.2 with perfect joints: the hinge at A by two shared points, by alignment, or by the linear equations (eq. 38)."""
    if joint == "linear":
        return conserving.prism_pendulum(None)
    s = AssembledSystem(joint)
    x = {
        "O": (0.0, 0.0, 0.0),
        "O2": (0.0, 0.1, 0.0),
        "A": (1.0, 0.0, 0.0),
        "Z": (1.0, 0.0, 0.2),
        "B": (1.0, 1.0, 0.0),
        "S": (1.1, 0.5, 0.0),
    }
    x |= {} if joint == "two points" else {"Z2": (1.0, 0.0, -0.2)}
    p = {k: s.coordinates(k, 3, v, fixed=k in ("O", "O2")) for k, v in x.items()}
    inner, outer = ("O", "O2", "A", "Z"), ("A", "B", "S", "Z" if joint == "two points" else "Z2")
    length, width, thick = (0.1**2 + 0.02**2) / 12.0, (1.0 + 0.02**2) / 12.0, (1.0 + 0.1**2) / 12.0
    body = PointBody(Tetrahedron(), "penalty")
    for name, points, inertia, centre in (
        ("first", inner, (length, width, thick), (0.5, 0.0, 0.0)), ("second", outer, (width, length, thick), (1.0, 0.5, 0.0)),
    ):  # fmt: skip
        numbers = body.numbers([x[n] for n in points], 1.0, inertia, centre, (0.0, 0.0, -10.0), 1e12)
        s.add(body, name, {f"p{i}": p[n] for i, n in enumerate(points)}, numbers)
    if joint == "alignment":
        s.add(Penalty(Alignment()), "joint", {"x1": p["A"], "x2": p["Z"], "x3": p["Z2"]}, {"alpha": 1e12})
    return s


def test_realisations_of_a_hinge_agree() -> None:
    runs = {j: prisms(j).simulate(0.5, 2e-3, tolerance=1e-14) for j in ("linear", "two points", "alignment")}
    for name in ("two points", "alignment"):
        assert np.abs(runs[name]["B"] - runs["linear"]["B"]).max() < 1e-6
        assert drift(runs[name]) < 1e-9


TWO_FREEDOMS = {  # t: centre of mass of the second prism, kinetic energy
    0.25: (0.982893, 0.498086, -0.351065, 5.192471), 0.5: (0.691732, 0.224750, -1.270541, 17.096761),
    1.0: (-1.243297, -0.337830, -0.572098, 7.811060), 1.5: (-0.879166, 0.499331, -0.528634, 7.862880),
    2.0: (0.710507, -0.383136, -1.113958, 15.355098), 2.5: (0.503284, -0.099722, -0.082775, 1.639197),
    3.0: (-0.180978, 0.451639, -1.200967, 16.953852),
}  # fmt: skip


def test_perfect_prisms_follow_the_two_freedoms() -> None:
    """Extrapolated from h = 2 and 1 ms, at seven instants; largest kinetic energy 19.3895 J at 0.611 s."""
    runs = [conserving.prism_pendulum(None).simulate(3.0, h, tolerance=1e-14) for h in (2e-3, 1e-3)]
    values = []
    for sol in runs:
        rows = [round(t / (sol.t[1] - sol.t[0])) for t in TWO_FREEDOMS]
        values.append(np.column_stack([0.5 * (sol["A"] + sol["B"])[rows], sol["energy.kinetic"][rows]]))
        assert drift(sol) < 1e-9
    limit = (4.0 * values[1] - values[0]) / 3.0
    assert limit == pytest.approx(np.array(list(TWO_FREEDOMS.values())), abs=2e-4)
    energy = runs[1]["energy.kinetic"]
    assert energy.max() == pytest.approx(19.3895, abs=1e-3)
    assert runs[1].t[int(np.argmax(energy))] == pytest.approx(0.611, abs=2e-3)


IDEAL = {  # t: A, B, kinetic energy of the ideal double pendulum of slender bars
    0.25: (0.921322, 0.005045, -0.388768, 1.039135, 0.991510, -0.274725, 5.261302),
    0.5: (0.254572, 0.278833, -0.925984, 1.107277, 0.473601, -1.410710, 16.313385),
    1.0: (-0.895417, -0.333075, -0.295449, -1.403113, -0.446979, -1.149422, 8.701600),
    1.5: (-0.523506, -0.438284, -0.730649, -0.813967, 0.081872, 0.072513, 6.943927),
    2.0: (0.128162, 0.526982, -0.840157, 0.683885, -0.295030, -0.964530, 13.224223),
    2.5: (0.921107, 0.253068, -0.295834, 0.592307, 0.635553, -1.159312, 8.754900),
    3.0: (-0.156381, -0.686767, -0.709857, -0.610888, 0.077195, -1.167880, 12.937964),
    5.0: (0.588174, 0.123580, -0.799237, 1.478373, -0.286741, -0.997180, 12.978269),
}


def test_ideal_pendulum_follows_the_converged_solution() -> None:
    values = []
    for h in (1e-3, 5e-4):
        sol = conserving.cavity_pendulum(clearance=False).simulate(5.0, h, tolerance=TIGHT)
        rows = [round(t / h) for t in IDEAL]
        values.append(np.column_stack([sol["A"][rows], sol["B"][rows], sol["energy.kinetic"][rows]]))
    exact = np.array(list(IDEAL.values()))
    assert np.abs(values[0][2, 3:6] - exact[2, 3:6]).max() < 2e-3
    assert (4.0 * values[1] - values[0]) / 3.0 == pytest.approx(exact, abs=5e-6)


# cavities (7.1) ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", "xyz")
def test_blob_in_all_directions(axis: str) -> None:
    """|ΔE| < 1e-8 J at 1 ms over 5 s, few halved steps, never far into the wall, both lobes visited."""
    sol = conserving.cavity_pendulum(axis).simulate(5.0, 1e-3, tolerance=TIGHT)
    assert drift(sol) < 1e-8
    assert sol.statistics["halvings"] < 10
    assert 0.0 < sol["support.phi"].max() < 0.2
    along = sol["O"]["xyz".index(axis)] if sol["O"].ndim == 1 else sol["O"][:, "xyz".index(axis)]
    assert along.min() < -0.02 < 0.02 < along.max()
    assert 19.5 < sol["energy.kinetic"].max() < 21.5


def test_trapezoidal_rule_has_a_much_smaller_limit() -> None:
    """At 1 ms it fails or blows up; at 70 µs, fourteen times less, it completes with an error below 1 J."""
    s = conserving.cavity_pendulum()
    try:
        energy = s.simulate(5.0, 1e-3, method="trapezoidal")["energy.total"]
    except SimulationError as failure:
        energy = failure.solution["energy.total"]
    assert np.abs(energy).max() > 10.0
    small = s.simulate(5.0, 7e-5, method="trapezoidal", every=20)
    assert small.t[-1] == pytest.approx(5.0)
    assert drift(small) < 1.0


def test_spheres_at_steps_beyond_the_published_limit() -> None:
    for h in (6e-3, 8e-3, 1.5e-2):
        assert drift(conserving.cavity_pendulum(two_spheres=True).simulate(5.0, h, tolerance=TIGHT)) < 1e-9


# play in a hinge (7.2) ------------------------------------------------------------------------------------------------------------------


def test_prisms_with_play_for_five_seconds() -> None:
    sol = conserving.prism_pendulum().simulate(5.0, 4e-3, tolerance=1e-14)
    assert drift(sol) < 1e-9
    assert 0.2 < sol["joint.misalignment"].max() < 0.27
    assert np.abs(sol["joint.radial"]).max() < 1e-9
    assert sol["energy.potential"].max() > -40.0
    contact = math.cos(0.2) - math.cos(sol["joint.misalignment"].max())
    assert contact == pytest.approx(0.0072, abs=0.002)
    fine = conserving.prism_pendulum().simulate(1.0, 1e-3, tolerance=1e-14)
    centre = 0.5 * (fine["A"] + fine["B"])
    assert centre[500] == pytest.approx([0.6754, 0.2594, -1.2521], abs=1e-3)
    assert centre[-1] == pytest.approx([-1.179, -0.392, -0.551], abs=2e-3)


def hinge_with_play(dissipation: bool) -> AssembledSystem:
    s = AssembledSystem("loose hinge")
    q = [DirectorBody.coordinates_of(), DirectorBody.coordinates_of((0.0, 0.0, 0.6))]
    rates = [DirectorBody.rates_of(q[0], (0.1, 0.0, 0.0), (0.5, 1.0, 2.0)), DirectorBody.rates_of(q[1], (0.0, 0.3, 0.1), (0.1, -0.4, 5.0))]
    h = [s.coordinates(n, 12, x, v) for n, x, v in zip("ab", q, rates, strict=True)]
    for n, handle, mass, inertia in zip("ab", h, (2.0, 1.0), ((0.3, 0.4, 0.5), (0.1, 0.2, 0.25)), strict=True):
        s.add(DirectorBody(), f"inertia.{n}", {"body": handle}, DirectorBody.numbers(mass, inertia))
    joint = RevoluteClearance(angular=2.0, axial=1.5, radial=1.5, dissipation=dissipation)
    play = {f"{w}_play": p for w, p in (("angular", 0.1), ("axial", 0.01), ("radial", 0.005))} | {
        f"{w}_stiffness": 1e5 for w in ("angular", "axial", "radial")
    }
    loss = {f"{w}_damping": c for w, c in (("angular", 5.0), ("axial", 0.5), ("radial", 0.5))} if dissipation else {}
    s.add(joint, "joint", {"a": h[0], "b": h[1]}, {**joint.place((0.0, 0.0, 0.3), (0, 0, 1), *q), **play, **loss})
    return s


def test_loose_hinge_with_and_without_loss() -> None:
    """Radial, axial and angular play at once: gaps stay at their limits, momenta stay, the loss is booked exactly."""
    free, lossy = (hinge_with_play(d).simulate(3.0, 2e-3, tolerance=1e-14) for d in (False, True))
    for sol in (free, lossy):
        assert np.ptp(sol["momentum.linear"], axis=0).max() < 1e-11
        assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11
        assert 0.1 < sol["joint.misalignment"].max() < 0.3
        assert 0.01 < np.abs(sol["joint.axial"]).max() < 0.03
        assert 0.005 < sol["joint.radial"].max() < 0.02
    assert drift(free) < 1e-9
    assert np.diff(lossy["energy.dissipated"]).min() >= 0.0
    assert lossy["energy.dissipated"][-1] > 0.05
    books = lossy["energy.total"] + lossy["energy.dissipated"]
    assert np.abs(books - books[0]).max() < 1e-9
    axes = np.einsum("ni,ni->n", free["a.rotation"][:, :, 2], free["b.rotation"][:, :, 2])
    assert free["joint.misalignment"] == pytest.approx(np.arccos(np.clip(axes, -1.0, 1.0)), abs=1e-7)


# user's own walls --------------------------------------------------------------------------------------------------------------------------


def pill(x: Any, y: Any, z: Any, c: Any) -> Any:
    """A superellipsoid (x/a)⁴ + (y/b)⁴ + (z/c)⁴ ≤ 1."""
    a = c.axes
    return (x / a[0]) ** 4 + (y / a[1]) ** 4 + (z / a[2]) ** 4 - 1.0


@pytest.mark.parametrize("form", ["gonzalez", "rules", "beta"])
def test_own_implicit_function_on_a_moving_body(form: str) -> None:
    """A particle flies in a hollow body that spins freely: energy and both momenta in all forms of the force."""
    s = AssembledSystem("pill")
    q = DirectorBody.coordinates_of()
    body = s.coordinates("body", 12, q, DirectorBody.rates_of(q, (0.1, 0.0, 0.0), (0.5, 1.0, 2.0)))
    point = s.coordinates("point", 3, (0.05, 0.02, -0.03), (0.8, -0.5, 0.3))
    s.add(DirectorBody(), "inertia", {"body": body}, DirectorBody.numbers(2.0, (0.3, 0.4, 0.5)))
    s.add(PointMass(3), "mass", {"x": point}, {"mass": 0.5})
    wall = Cavity(pill, {"axes": 3}, Directors(), Particle(), exponent=2.0, form=form)
    numbers = {"point_a": np.zeros(3), "frame_a": np.eye(3).ravel(), "axes": (0.3, 0.2, 0.15), "stiffness": 50.0}
    s.add(wall, "wall", {"a": body, "b": point}, numbers)
    sol = s.simulate(4.0, 2e-3, tolerance=1e-14)
    assert sol["wall.phi"].max() > 0.01
    assert drift(sol) < 1e-10
    assert np.ptp(sol["momentum.linear"], axis=0).max() < 1e-11
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11
    assert (sol["wall.gap"] > 0.0).sum() > 100
    assert np.sign(sol["wall.gap"]) == pytest.approx(-np.sign(sol["wall.phi"]))


def test_inequalities_in_any_coordinates() -> None:
    """Two limits φ(q) ≤ 0 of one particle, each with its own law: the floor z ≥ 0 and a wall that leans."""

    def corner(normal: tuple[float, float, float], exponent: float) -> VectorPenalty:
        def law(p: Any, c: Any) -> Any:
            phi = -(normal[0] * p.x[0] + normal[1] * p.x[1] + normal[2] * p.x[2])
            return constraint_of_wall(phi, c.stiffness, exponent)

        return VectorPenalty({"x": 3}, law, {"stiffness": 1})

    s = AssembledSystem("corner")
    x = s.coordinates("x", 3, (0.5, 0.1, 0.1), (-1.0, 0.2, -0.7))
    s.add(PointMass(3), "mass", {"x": x}, {"mass": 1.0})
    for name, normal, exponent, k in (("floor", (0.0, 0.0, 1.0), 1.5, 1e5), ("wall", (0.8, 0.0, 0.6), 3.0, 1e8)):
        s.add(corner(normal, exponent), name, {"x": x}, {"alpha": 1.0, "stiffness": k})
    sol = s.simulate(3.0, 1e-3, tolerance=1e-14)
    assert drift(sol) < 1e-9
    assert sol["x"][:, 2].min() < 0.0
    assert (0.8 * sol["x"][:, 0] + 0.6 * sol["x"][:, 2]).min() < 0.0
    assert min(sol["x"][:, 2].min(), (0.8 * sol["x"][:, 0] + 0.6 * sol["x"][:, 2]).min()) > -0.05
    assert np.linalg.norm(sol["x.rate"][-1]) == pytest.approx(np.linalg.norm([-1.0, 0.2, -0.7]), abs=1e-9)  # it has left the corner


def test_gap_of_a_sphere() -> None:
    s = AssembledSystem("sphere")
    x = s.coordinates("x", 3, (0.01, 0.0, 0.0), (0.3, 0.1, 0.0))
    s.add(PointMass(3), "mass", {"x": x}, {"mass": 1.0})
    wall = SphericalClearance(Ground(), Particle(), 1.5)
    s.add(wall, "wall", {"b": x}, {"point_a": np.zeros(3), "radius": 0.04, "stiffness": 1e6})
    sol = s.simulate(1.0, 1e-3, tolerance=1e-14)
    assert sol["wall.gap"] == pytest.approx(0.04 - np.linalg.norm(sol["x"], axis=1), abs=1e-15)
    assert sol.channel("wall.gap").unit == "m"
    assert sol["wall.gap"].min() < 0.0
