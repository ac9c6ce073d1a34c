"""Steps in joint coordinates by every scheme, and at steps so large that projected equations have false solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.sparse import csc_matrix

from jourdain.elements.augmentation import JointAngle, Screw
from jourdain.elements.carriers import Ground
from jourdain.elements.discrete.schemes import NAMES, scheme
from jourdain.elements.pairs import Revolute, Spherical, Universal
from jourdain.elements.potentials import CoordinatePotential
from jourdain.elements.rigid import DirectorBody
from jourdain.errors import JourdainError
from jourdain.library import conserving
from jourdain.library.manipulators import planar_manipulator
from jourdain.solvers.stepping import joint_space as sp
from jourdain.systems.assembled.system import AssembledSystem
from jourdain.systems.formulations import formulate
from tests.systems.assembled.test_directors import MODELS
from tests.systems.assembled.test_joints import PLANAR, SPATIAL, flying_pair, pair_tree


def model(name: str) -> AssembledSystem:
    """A model of the library as an assembled system."""
    system, state = MODELS[name][0]()
    return formulate(system, "directors").assembled(state)


# schemes ---------------------------------------------------------------------------------------------------------------------------------

SYSTEMS = {
    "universal": (lambda: flying_pair(Universal), 0.02),
    "screw": (conserving.screw_pair, 0.005),
    "tree": (pair_tree, 0.01),
    "3-RRR": (lambda: planar_manipulator(0.05), 0.01),
    "Bricard": (lambda: model("Bricard"), 0.01),
}


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_schemes_are_those_with_all_constraints(name: str, method: str) -> None:
    make, h = SYSTEMS[name]
    s = make()
    full, joints = (s.simulate(50 * h, h, method, reduction=r) for r in ("none", "joints"))
    multipliers = {n for n in joints.names if "multiplier" in joints.channel(n).description}
    assert joints.statistics["unknowns"] < 0.25 * full.statistics["unknowns"]
    # of schemes with accelerations in the state reactions alternate about the mean, at the size of Newton's tolerance over h²
    forces = 1e-7 if scheme(method).has_acceleration else 1e-8
    for n in full.names:
        if n.startswith("newton") or n in ("constraints.violation", "energy.residual") or n not in joints:
            continue
        limit = forces if n in multipliers else 1e-8 if n.endswith(".rate") or "velocity" in n else 1e-10
        assert np.abs(joints[n] - full[n]).max() < limit * max(1.0, np.abs(full[n]).max()), n
    assert joints["constraints.violation"].max() < 1e-11


@pytest.mark.parametrize("method", NAMES)
def test_rows_of_a_scheme_vanish_along_its_null_space(method: str) -> None:
    """Ḡ P̄ = 0 where the scheme evaluates its rows: discrete, at the mid-point, at q₀, at q₁, or between."""
    for s in (pair_tree(), flying_pair(Screw), *(flying_pair(k, 4) for k in SPATIAL + PLANAR)):
        run, _ = s.new_run(scheme(method), "joints", 0.0, 1.0, 0.2, 1, 1e-12, 20)
        run.joints.build(run)
        program, joints = run.joints.program, run.joints
        K = csc_matrix((run.values, program.indices, program.starts), shape=(program.unknowns,) * 2).toarray()
        rows = np.flatnonzero((joints.kind == sp.TREE_ROW) | (joints.kind == sp.OWN_ROW))
        G, P = K[: program.coordinate_unknowns, rows].T, joints.null_space()
        assert np.abs(G @ P).max(initial=0.0) < 1e-12 * max(1.0, np.abs(G).max(), np.abs(P).max()) ** 2


# equilibrium -----------------------------------------------------------------------------------------------------------------------------


def sprung_chain() -> AssembledSystem:
    """Four rods on hinges about alternating axes, with torsion springs."""
    s, gravity = AssembledSystem("chain"), (0.0, 0.0, -9.81)
    inner: Any = None
    for k in range(4):
        q = DirectorBody.coordinates_of((0.5 * k + 0.25, 0.0, 0.0))
        rod = s.coordinates(f"rod{k}", 12, q)
        s.add(DirectorBody(), f"body{k}", {"body": rod}, DirectorBody.numbers(1.0, (0.01, 0.03, 0.03), gravity=gravity))
        side = {"a": Ground()} if inner is None else {}
        blocks, qa = ({"b": rod}, None) if inner is None else ({"a": inner[0], "b": rod}, inner[1])
        axis = (0.0, 1.0, 0.3 * (-1) ** k)
        hinge, turn, angle = Revolute(**side), JointAngle(**side), s.coordinates(f"angle{k}", 1, 0.0)
        s.add(hinge, f"hinge{k}", blocks, hinge.place((0.5 * k, 0.0, 0.0), axis, qa, q))
        s.add(turn, f"turn{k}", {**blocks, "angle": angle}, turn.place(axis, qa, q))
        s.add(CoordinatePotential(), f"spring{k}", {"x": angle}, {"stiffness": 12.0 - 2.0 * k, "rest": 0.1})
        inner = rod, q
    return s


@pytest.mark.parametrize("make", [sprung_chain, lambda: model("RSSR"), lambda: model("four-bar")], ids=["chain", "RSSR", "four-bar"])
def test_equilibrium(make: Any) -> None:
    s = make()
    full, joints = (s.equilibrium(r) for r in ("none", "joints"))
    assert np.abs(joints.q - full.q).max() < 1e-9
    assert np.abs(full.q - s.q0).max() > 0.1
    assert joints.imbalance < 1e-8
    kept = [n for n in joints.multipliers if n in full.multipliers]
    largest = max(map(abs, full.multipliers.values()))
    assert len(kept) > 3
    assert max(abs(joints.multipliers[n] - full.multipliers[n]) for n in kept) < 1e-7 * largest


# large steps -----------------------------------------------------------------------------------------------------------------------------


def heavy_top(rng: np.random.Generator) -> AssembledSystem:
    """A fast top of random shape."""
    s = AssembledSystem("top")
    mass, sides, length = 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(-1.5, 0.3, 3), 10 ** rng.uniform(-1.5, 0.3)
    e = mass * sides**2 / 12.0
    spin, tilt = 10 ** rng.uniform(2, 2.7), rng.uniform(0.1, 3)
    c, d = np.cos(tilt), np.sin(tilt)
    R = np.array([[1, 0, 0], [0, c, -d], [0, d, c]])
    q = DirectorBody.coordinates_of(length * R[:, 2], R)
    omega = spin * R[:, 2]
    top = s.coordinates("top", 12, q, DirectorBody.rates_of(q, np.cross(omega, length * R[:, 2]), omega))
    numbers = DirectorBody.numbers(mass, (e[1] + e[2], e[0] + e[2], e[0] + e[1]), gravity=(0.0, 0.0, -9.81))
    s.add(DirectorBody(), "inertia", {"body": top}, numbers)
    pivot = Spherical(a=Ground())
    s.add(pivot, "pivot", {"b": top}, pivot.place(np.zeros(3), None, b=q))
    return s


def kicked_loop(name: str, rng: np.random.Generator, size: float) -> AssembledSystem:
    """A closed loop with random rates."""
    s = planar_manipulator(0.0) if name == "3-RRR" else model(name)
    Z = null_space(s.equations.at(s.q0, s.v0, 0.0).rows.toarray(), rcond=1e-9)
    s.set_state(s.q0, size * (Z @ rng.normal(size=Z.shape[1])))
    return s


def assert_balanced(s: AssembledSystem, step: float, count: int, reduction: str) -> bool:
    """Whatever finishes conserves; whether it finished."""
    try:
        sol = s.simulate(count * step, step, reduction=reduction)
    except JourdainError:
        return False
    energy = sol["energy.total"] + sol["energy.dissipated"] - sol["energy.supplied"]
    scale = np.abs(sol["energy.kinetic"]).max() + np.abs(sol["energy.potential"]).max()
    assert np.ptp(energy) < 1e-9 * scale
    places = [np.abs(sol[f"{h.name}.position"]).max() for h in s.handles if h.size in (6, 12) and not h.fixed]
    assert sol["constraints.violation"].max() < 1e-7 * max(1.0, *places)
    return True


@pytest.mark.parametrize("reduction", ["joints", "bodies"])
def test_fast_tops_at_steps_of_a_second(reduction: str) -> None:
    """Turns of π in a step make the discrete null space lose rank; such solutions do not balance and are refused at any step."""
    rng = np.random.default_rng(1)
    for _ in range(80):
        assert assert_balanced(heavy_top(rng), 1.0, 10, reduction)


@pytest.mark.parametrize("reduction", ["joints", "bodies"])
def test_pairs_at_large_steps(reduction: str) -> None:
    rng = np.random.default_rng(2)
    done = 0
    kinds = [k for k in SPATIAL + PLANAR for _ in range(4 if reduction == "joints" else 1)]
    for kind in kinds:
        s = flying_pair(kind, int(rng.integers(1000)))
        s.set_state(s.q0, 10 ** rng.uniform(0, 1.5) * s.v0)
        done += assert_balanced(s, 10 ** rng.uniform(-1, 0.5), 8, reduction)
    assert done > 0.9 * len(kinds)


def test_loops_at_large_steps() -> None:
    rng = np.random.default_rng(3)
    done = [
        assert_balanced(kicked_loop(name, rng, 10 ** rng.uniform(0, 1.7)), 10 ** rng.uniform(-1.5, 0.3), 8, "joints")
        for name in ("3-RRR", "Bricard", "four-bar")
        for _ in range(8)
    ]
    assert sum(done) > 20


def spinning_disk(rate: float) -> AssembledSystem:
    """A disk on a hinge whose angle is a coordinate."""
    s = AssembledSystem("disk")
    q = DirectorBody.coordinates_of()
    disk = s.coordinates("disk", 12, q, DirectorBody.rates_of(q, omega=(0.0, 0.0, rate)))
    s.add(DirectorBody(), "inertia", {"body": disk}, DirectorBody.numbers(1.0, (1.0, 1.0, 1.5)))
    hinge, turn, angle = Revolute(a=Ground()), JointAngle(a=Ground()), s.coordinates("angle", 1, 0.0, rate)
    s.add(hinge, "hinge", {"b": disk}, hinge.place(np.zeros(3), (0, 0, 1), b=q))
    s.add(turn, "turn", {"b": disk, "angle": angle}, turn.place((0, 0, 1), b=q))
    return s


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
@pytest.mark.parametrize("rate", [1.9, 5.0, 40.0])
def test_angles_do_not_jump(reduction: str, rate: float) -> None:
    """Steps in which the angle leaves its branch or turns by more than π are divided: it counts all turns, 2 arctan(h ω/2) a step."""
    sol = spinning_disk(rate).simulate(6.0, 1.0, reduction=reduction)
    assert np.ptp(sol["energy.total"]) < 1e-12 * sol["energy.total"][0]
    steps, turns = sol["newton.steps"][1:], np.diff(sol["angle"])
    assert np.all(turns > 0.0)
    assert np.all(turns <= steps * np.pi)
    assert np.abs(turns).max() <= rate * 1.0 + 1e-9
    if steps.max() == steps.min() == 1:
        assert turns == pytest.approx(np.full(6, 2.0 * np.arctan(0.5 * rate)))
    directions = np.arctan2(sol["disk.rotation"][:, 1, 0], sol["disk.rotation"][:, 0, 0])
    assert np.abs(np.exp(1j * directions) - np.exp(1j * sol["angle"])).max() < 1e-9
