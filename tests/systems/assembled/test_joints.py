"""Reduction to joint coordinates: the same motion, reactions and invariants as with all constraints, few unknowns, good conditioning."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from scipy.spatial.transform import Rotation

from jourdain.elements.augmentation import JointAngle, JointDisplacement, Screw
from jourdain.elements.carriers import Ground
from jourdain.elements.discrete.null_space import PlanarPlatform, choose, leg_gradients, planar_hinge, planar_transfer, variable_reduction
from jourdain.elements.pairs import (
    Cylindrical,
    Pair,
    Planar,
    PlanarPrismatic,
    PlanarRevolute,
    PlanarRigid,
    Prismatic,
    Revolute,
    Rigid,
    Spherical,
    Universal,
)
from jourdain.elements.potentials import CoordinatePotential
from jourdain.elements.rigid import DirectorBody, PlanarBody
from jourdain.library import conserving, conserving_loops
from jourdain.library.manipulators import planar_manipulator, radio_telescope
from jourdain.solvers.stepping import frame as ap
from jourdain.solvers.stepping import joint_space as sp
from jourdain.systems.assembled.joints import JointSpace, condition_table, spanning_tree
from jourdain.systems.assembled.system import AssembledSystem
from jourdain.systems.formulations import formulate
from tests.systems.assembled.test_directors import MODELS

SPATIAL = (Spherical, Revolute, Prismatic, Cylindrical, Planar, Universal, Rigid, Screw)
PLANAR = (PlanarRevolute, PlanarPrismatic, PlanarRigid)


def joints_of(s: AssembledSystem, h: float) -> tuple[Any, JointSpace]:
    """A run in joint coordinates that has not begun."""
    from jourdain.elements.discrete.schemes import scheme

    run, _ = s.new_run(scheme("energy-momentum"), "joints", 0.0, 1.0, h, 1, 1e-12, 20)
    return run, run.joints


def set_rates(s: AssembledSystem, rng: np.random.Generator, size: float = 1.0) -> None:
    """Random rates of the tree's joints."""
    run, joints = joints_of(s, 1e-3)
    joints.build(run, predicted=False)
    delta = joints.null_space(mean=False) @ (size * rng.normal(size=joints.size))
    v = np.zeros(s.q0.size)
    for h in s.handles:
        u = joints.program.first_unknown[h.number]
        q = s.q0[h.offset : h.offset + h.size]
        if h.fixed:
            continue
        if h.size == 12:
            part = DirectorBody.rates_of(q, delta[u : u + 3], delta[u + 3 : u + 6])
        elif h.size == 6:
            part = PlanarBody.rates_of(q, delta[u : u + 2], delta[u + 2])
        else:
            part = delta[u : u + h.size]
        v[h.offset : h.offset + h.size] = part
    s.set_state(s.q0, v)


def spatial_body(s: AssembledSystem, name: str, rng: np.random.Generator, gravity: Any = (0.0, 0.0, 0.0)) -> tuple[Any, np.ndarray]:
    q = DirectorBody.coordinates_of(rng.normal(size=3), Rotation.random(random_state=rng).as_matrix())
    handle = s.coordinates(name, 12, q)
    root = rng.normal(size=(3, 3))
    inertia = root @ root.T + 3.0 * np.eye(3)
    e = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    inertia = inertia if np.linalg.eigvalsh(e).min() > 0.0 else np.diag([1.0, 1.2, 1.4])
    s.add(
        DirectorBody(),
        f"{name}.body",
        {"body": handle},
        DirectorBody.numbers(rng.uniform(1, 3), inertia, 0.3 * rng.normal(size=3), gravity),
    )
    return handle, q


def planar_body(s: AssembledSystem, name: str, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    q = PlanarBody.coordinates_of(rng.normal(size=2), rng.uniform(-3, 3))
    handle = s.coordinates(name, 6, q)
    s.add(
        PlanarBody(), f"{name}.body", {"body": handle}, PlanarBody.numbers(rng.uniform(1, 3), rng.uniform(0.5, 2), 0.3 * rng.normal(size=2))
    )
    return handle, q


def join(s: AssembledSystem, kind: type[Pair], name: str, a: Any, b: Any, rng: np.random.Generator) -> None:
    """A pair at a random place between two bodies; ``a`` None is the ground."""
    dimension = kind.dimension
    pair = kind(a=Ground(dimension)) if a is None else kind()
    blocks = {"b": b[0]} if a is None else {"a": a[0], "b": b[0]}
    place: dict[str, Any] = {"pitch_per_radian": 0.2} if kind is Screw else {}
    qa = None if a is None else a[1]
    constants = pair.place(rng.normal(size=dimension), rng.normal(size=dimension) if pair.framed else None, qa, b[1], **place)
    if kind is Screw:
        blocks |= {k: s.coordinates(f"{name}.{k}", 1, 0.0) for k in ("displacement", "angle")}
    s.add(pair, name, blocks, constants)


def flying_pair(kind: type[Pair], seed: int = 3) -> AssembledSystem:
    rng = np.random.default_rng(seed)
    s = AssembledSystem(kind.__name__)
    made = [(planar_body if kind.dimension == 2 else spatial_body)(s, n, rng) for n in ("one", "two")]
    # the second body is the pair's body a, so that the tree meets the pair against its sense
    join(s, kind, "pair", made[1], made[0], rng) if seed % 2 else join(s, kind, "pair", made[0], made[1], rng)
    set_rates(s, rng)
    return s


def pair_tree(seed: int = 5) -> AssembledSystem:
    """Seven bodies on the ground and on each other by pairs of all kinds, with springs and measured coordinates."""
    rng = np.random.default_rng(seed)
    s, g = AssembledSystem("tree"), (0.0, 0.0, -9.81)
    body = [spatial_body(s, f"body{i}", rng, g) for i in range(7)]
    layout = [
        (Revolute, None, 0), (Spherical, 0, 1), (Prismatic, 2, 0), (Universal, 2, 3), (Screw, 3, 4), (Cylindrical, 0, 5), (Rigid, 5, 6),
    ]  # fmt: skip
    for k, (kind, a, b) in enumerate(layout):
        join(s, kind, f"joint{k}", None if a is None else body[a], body[b], rng)
    numbers = {i.name: i.numbers for i in s.instances}
    turn, angle = JointAngle(a=Ground()), s.coordinates("angle", 1, 0.0)
    frames = dict(zip(("frame_a", "frame_b"), np.split(numbers["joint0"][6:], 2), strict=True))
    s.add(turn, "turn", {"b": body[0][0], "angle": angle}, frames)
    s.add(CoordinatePotential(), "spring", {"x": angle}, {"stiffness": 40.0, "rest": 0.3})
    slide, place = JointDisplacement(), s.coordinates("slide", 1, 0.0)
    constants = dict(zip(("point_a", "point_b", "frame_a", "frame_b"), np.split(numbers["joint2"], [3, 6, 15]), strict=True))
    s.add(slide, "slider", {"a": body[2][0], "b": body[0][0], "displacement": place}, constants)
    s.add(CoordinatePotential(), "slide spring", {"x": place}, {"stiffness": 60.0, "rest": 0.0})
    set_rates(s, rng, 0.5)
    return s


def assert_same(s: AssembledSystem, end: float, h: float, tolerance: float = 1e-10, forces: float = 1e-8, **options: Any) -> Any:
    """The three reductions give the same channels; the solution in joint coordinates."""
    runs = {r: s.simulate(end, h, reduction=r, **options) for r in ("none", "bodies", "joints")}
    reference = runs["none"]
    multipliers = {n for n in runs["joints"].names if "multiplier" in runs["joints"].channel(n).description}
    for name in ("bodies", "joints"):
        for n in reference.names:
            if n not in runs[name] or n.startswith("newton") or n in ("constraints.violation", "energy.residual"):
                continue
            scale = max(1.0, float(np.abs(reference[n]).max()))
            limit = forces if n in multipliers or n.endswith(".rate") or "velocity" in n else tolerance
            assert np.abs(runs[name][n] - reference[n]).max() < limit * scale, (name, n)
    assert len(runs["joints"].t) > 100
    return runs["joints"]


# trees -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SPATIAL + PLANAR)
@pytest.mark.parametrize("seed", [3, 4])
def test_flying_pairs(kind: type[Pair], seed: int) -> None:
    s = flying_pair(kind, seed)
    free = {
        Spherical: 9, Revolute: 7, Prismatic: 7, Cylindrical: 8, Planar: 9, Universal: 8, Rigid: 6, Screw: 7,
        PlanarRevolute: 4, PlanarPrismatic: 4, PlanarRigid: 3,
    }  # fmt: skip
    assert s.report(0.02, reduction="joints")["unknowns"] == free[kind]
    sol = assert_same(s, 3.0, 0.02)
    assert np.ptp(sol["energy.total"]) < 1e-11 * sol["energy.total"][0]
    for which in ("linear", "angular"):
        assert np.ptp(sol[f"momentum.{which}"], axis=0).max() < 1e-11 * max(1.0, np.abs(sol[f"momentum.{which}"]).max())
    assert sol["constraints.violation"].max() < 1e-13 * 300


def test_tree_of_all_pairs() -> None:
    s = pair_tree()
    nodes, used = spanning_tree(s.handles, s.instances)
    assert len(nodes) == 7
    assert len(used) == 7
    assert s.report(0.01, reduction="joints")["unknowns"] == 1 + 3 + 1 + 2 + 1 + 2 + 0
    sol = assert_same(s, 1.2, 0.01)
    assert np.ptp(sol["energy.total"]) < 1e-10 * np.abs(sol["energy.kinetic"]).max()


@pytest.mark.parametrize("h", [0.02, 0.3])
def test_discrete_gradients_vanish_along_the_null_space(h: float) -> None:
    """Ḡ P̄ = 0 for all rows of the tree and of augmented coordinates, for finite steps."""
    for s in (pair_tree(), *(flying_pair(k) for k in SPATIAL + PLANAR)):
        run, joints = joints_of(s, h)
        joints.build(run)
        program = joints.program
        K = csc_matrix((run.values, program.indices, program.starts), shape=(program.unknowns,) * 2).toarray()
        rows = np.flatnonzero((joints.kind == sp.TREE_ROW) | (joints.kind == sp.OWN_ROW))
        G = K[: program.coordinate_unknowns, rows].T
        P = joints.null_space()
        assert np.abs(G @ P).max(initial=0.0) < 1e-12 * max(1.0, np.abs(G).max(), np.abs(P).max()) ** 2
        assert np.linalg.matrix_rank(P) == joints.size
        assert P.shape[0] - len(rows) == joints.size
        moved = np.abs(run.vec.u).max()
        assert moved > 0.1 * h


def residual_at(run: Any, joints: JointSpace) -> np.ndarray:
    """The reduced residual at the present iterate (its negative is the right-hand side)."""
    from jourdain.solvers.stepping import joint_step as reduced_step
    from jourdain.solvers.stepping import kernels as assembled_kernels

    def go(kernel: Any) -> None:
        ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t)(kernel.address)(run.address)

    run.count.which, run.count.mode = ap.TANGENT, ap.APPLY
    for kernel in (assembled_kernels.evaluate, reduced_step.spaces, reduced_step.project, reduced_step.reduce_loops):
        go(kernel)
    return -joints.frame.w[: joints.unknowns].copy()


def test_matrix_is_the_derivative_of_the_residual() -> None:
    """Including the change of the discrete null space with the end of the step, against central differences."""
    from jourdain.solvers.stepping import joint_step as reduced_step
    from jourdain.solvers.stepping import kernels as assembled_kernels

    for s in (
        flying_pair(Universal),
        flying_pair(Planar, 4),
        flying_pair(Cylindrical),
        flying_pair(PlanarPrismatic),
        flying_pair(PlanarPrismatic, 4),
    ):
        run, joints = joints_of(s, 0.2)
        K = joints.build(run)
        q, u = run.vec.q1.copy(), run.vec.u.copy()
        found = np.zeros_like(K)
        for k in range(joints.unknowns):
            sides = []
            for sign in (1.0, -1.0):
                run.vec.q1, run.vec.u = q, u
                residual_at(run, joints)
                joints.frame.w[:] = 0.0
                joints.frame.w[k] = sign * 1e-5
                run.vec.saved, run.vec.u_saved = q, u
                run.clock.alpha, run.count.mode = 1.0, ap.APPLY
                for kernel in (reduced_step.expand, assembled_kernels.move):
                    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t)(kernel.address)(run.address)
                sides.append(residual_at(run, joints))
            found[:, k] = (sides[0] - sides[1]) / 2e-5
        assert np.abs(found - K).max() < 1e-8 * np.abs(K).max()


def test_pendulum_in_one_unknown() -> None:
    s = conserving.pendulum_with_viscous_joint()
    assert s.report(0.02, reduction="joints")["unknowns"] == 1
    sol = assert_same(s, 3.0, 0.02)
    assert np.abs(sol["energy.residual"]).max() < 1e-11


def test_pair_with_motor_and_screw_pair() -> None:
    sol = conserving.pair_with_motor().simulate(2.0, 0.05, reduction="joints")
    assert sol["angle"][-1] == pytest.approx(21.292714, abs=1e-5)
    s = conserving.screw_pair()
    sol = s.simulate(1.0, 0.02, reduction="joints")
    assert (sol["angle"][-1], sol["displacement"][-1]) == pytest.approx((19.544341, 62.211571), abs=1e-6)
    assert np.ptp(sol["energy.total"]) < 1e-12 * 99421.0 * 10
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-12 * 1e5
    assert (s.report(0.02)["unknowns"], s.report(0.02, reduction="joints")["unknowns"]) == (45, 7)
    full = s.simulate(1.0, 0.02)
    for n in ("screw.pitch", "screw.displacement", "screw.angle", "screw.lateral.1", "screw.axis.2"):
        assert sol[n] == pytest.approx(full[n], abs=1e-9 * np.abs(full[n]).max())


def test_rolling_and_inputs_stay() -> None:
    """Nonholonomic rows are eliminated as loops are, inputs stay."""
    s = conserving.ball_on_plate()
    sol = s.simulate(5.0, 0.1, reduction="joints")
    full = s.simulate(5.0, 0.1)
    assert np.abs(sol["ball.position"] - full["ball.position"]).max() < 1e-10
    assert np.abs(sol["drive.input"] - full["drive.input"]).max() < 1e-9
    robot = conserving.two_wheeled_robot([1.0, 0.0], [0.0, 0.5 * math.pi])
    a, b = (robot.simulate(4.0, 0.02, reduction=r) for r in ("none", "joints"))
    assert np.abs(a["left.position"] - b["left.position"]).max() < 1e-9


def test_long_run_keeps_the_tree() -> None:
    sol = flying_pair(Universal).simulate(200.0, 0.02, reduction="joints", every=100)
    assert sol["constraints.violation"].max() < 1e-11
    assert np.ptp(sol["energy.total"]) < 1e-10 * sol["energy.total"][0]


# loops -----------------------------------------------------------------------------------------------------------------------------------


def test_planar_manipulator_with_small_torques() -> None:
    s = planar_manipulator(0.05)
    sol = assert_same(s, 1.2, 0.01)
    after = sol["energy.total"][sol.t >= 0.5 - 1e-9]
    assert after[0] == pytest.approx(0.41016147, abs=1e-8)
    assert np.ptp(after) < 1e-12
    k = int(np.argmin(np.abs(sol.t - 1.0)))
    assert [sol[f"angle{i}"][k] for i in (1, 2, 3)] == pytest.approx([-1.816174, 0.157051, 3.384092], abs=1e-6)
    assert np.abs(sol["momentum.linear"]).max() < 1e-12
    assert np.abs(sol["momentum.angular"]).max() < 1e-11
    assert sol.statistics["iterations"] / sol.statistics["steps"] < 3.5
    assert (s.report(0.01)["unknowns"], s.report(0.01, reduction="joints")["unknowns"]) == (96, 10)


def test_planar_manipulator_through_singular_legs() -> None:
    """Full torques stretch legs; dependent rates are chosen anew where the present choice gets singular, and the motion is that of BEM."""
    s = planar_manipulator()
    early = s.simulate(0.2, 0.01, reduction="joints")
    assert early["energy.total"][-1] == pytest.approx(15.677069867, abs=1e-8)
    assert [early[f"angle{i}"][-1] for i in (1, 2, 3)] == pytest.approx([-1.695873, 0.427057, 3.141493], abs=1e-6)
    sol = assert_same(s, 1.05, 0.01, 1e-9, 1e-6)
    assert sol["energy.total"][-1] == pytest.approx(171.013963, abs=1e-6)
    assert sol.statistics["halvings"] == 0
    assert sol.statistics["switches"] > 0
    assert min(leg_indicator(sol, k) for k in range(len(sol.t))) < 1e-4


def test_loops_do_not_depend_on_the_dependent_rates() -> None:
    """Any regular set of dependent rates gives the same steps."""
    ends = []
    for dependent in (None, (3, 4, 5, 6), (6, 7, 8, 9), (3, 5, 7, 9)):
        run, joints = joints_of(planar_manipulator(), 0.01)
        if dependent:
            joints.frame.dependent[:] = [*dependent, *(k for k in range(10) if k not in dependent)]
            state = joints.frame.state
            state.chosen, state.chosen_ratio, state.limit = 1, 1.0, 0.0
        run.set_time(0.0, 0.3, 0.01)
        run.begin()
        rows, _ = run.march()
        ends.append(rows.joined()[1][-1])
        if dependent:
            assert joints.independent == [joints.names[k] for k in range(10) if k not in dependent]
    for end in ends[1:]:
        assert np.abs(end - ends[0]).max() < 1e-11


def leg_indicator(sol: Any, k: int) -> float:
    """Smallest ζ of the manipulator's legs over the largest, at row k of a solution."""
    return float((z := platform_of(sol, k).indicators).min() / z.max())


def hinge_place(sol: Any, k: int, link: str, end: float) -> np.ndarray:
    x, a = sol[f"{link}.position"][k], sol[f"{link}.angle"][k]
    return x + end * np.array([math.cos(a), math.sin(a)])


def platform_of(sol: Any, k: int) -> PlanarPlatform:
    legs = [
        [hinge_place(sol, k, f"link{i}", -0.2), hinge_place(sol, k, f"link{i}", 0.2), hinge_place(sol, k, f"link{i + 3}", 0.3)]
        for i in (1, 2, 3)
    ]
    return PlanarPlatform(sol["base.position"][k], sol["platform.position"][k], legs)


def test_radio_telescope() -> None:
    """C-REM of a closed loop with screw and two inputs, against the values of C-BEM."""
    s = radio_telescope()
    assert (s.report(0.01)["unknowns"], s.report(0.01, reduction="joints")["unknowns"]) == (102, 6)
    for turn, energy, spin, lift, swing in (
        (2 * math.pi, 5350.773, 6852.276, (-2764.46, -170.27, 4583.05, 1774.27, 191.88), (-576.44, -5461.53, -7561.02, 16858.58)),
        (math.pi, 2481.458, 2558.093, (-1710.92, 64.18, 1220.10, 362.286, -66.827), (-712.22, -2632.79, -1763.78, 6293.64)),
    ):
        sol = radio_telescope(turn).simulate(4.0, 0.01, reduction="joints")
        at = {t: int(np.argmin(np.abs(sol.t - t))) for t in (0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 4.0)}
        assert sol["energy.total"][at[2.0]] == pytest.approx(energy, abs=1e-3)
        assert sol["momentum.angular"][at[2.0], 2] == pytest.approx(spin, abs=1e-3)
        assert [sol["drive.spindle.input"][at[t]] for t in (0.5, 1.0, 1.5, 2.5, 4.0)] == pytest.approx(lift, abs=6e-3)
        assert [sol["drive.platform.input"][at[t]] for t in (0.5, 1.0, 1.5, 3.5)] == pytest.approx(swing, abs=6e-3)
        assert np.abs(sol["energy.residual"]).max() < 1e-10 * energy
    assert_same(s, 1.5, 0.01, 1e-9, 1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    """Models, some of them with overconstrained loops, in joint coordinates as with all constraints."""
    start, _, step = MODELS[name]
    system, state = start()
    directors = formulate(system, "directors")
    joints, full = (directors.simulate(state, 101 * step, step=step, reduction=r).assembled for r in ("joints", "none"))
    for n in full.names:
        if n.endswith((".position", ".rotation")):
            assert np.abs(joints[n] - full[n]).max() < 1e-9, n
    books = joints["energy.total"] + joints["energy.dissipated"] - joints["energy.supplied"]
    assert np.abs(books - books[0]).max() < 1e-10 * max(1.0, np.abs(joints["energy.kinetic"]).max())
    assert joints["constraints.violation"].max() < 1e-10


@pytest.mark.parametrize("make", [conserving_loops.double_wishbone, conserving_loops.rpr_manipulator])
def test_loops_with_dissipation_and_prescribed_motion(make: Any) -> None:
    joints, full = (make().simulate(1.2, 0.01, reduction=r) for r in ("joints", "none"))
    for n in full.names:
        if n.endswith((".position", ".angle", ".dissipated", ".supplied")):
            assert np.abs(joints[n] - full[n]).max() < 1e-9 * max(1.0, np.abs(full[n]).max()), n
    assert np.abs(joints["energy.residual"]).max() < 1e-10 * max(1.0, np.abs(joints["energy.total"]).max())


# null spaces of loops --------------------------------------------------------------------------------------------------------------------


def test_planar_transfers_form_a_group() -> None:
    a, b, c = np.random.default_rng(0).normal(size=(3, 2))
    assert planar_transfer(a, b) @ planar_transfer(b, c) == pytest.approx(planar_transfer(a, c))
    assert planar_transfer(a, b) @ planar_transfer(b, a) == pytest.approx(np.eye(3))
    assert planar_hinge(a, b) == pytest.approx(np.array([-(a - b)[1], (a - b)[0], 1.0]))


def test_explicit_loop_reductions_span_the_same_space() -> None:
    from scipy.linalg import subspace_angles

    sol = planar_manipulator(0.05).simulate(0.3, 0.01)
    platform = platform_of(sol, -1)
    rows = platform.closure()
    spaces = [
        platform.by_platforms(),
        *(platform.by_leg(i) for i in range(3)),
        variable_reduction(rows)[0],
        variable_reduction(rows, [0, 1, 2, 3, 4, 5])[0],
    ]
    for P in spaces:
        assert P.shape == (12, 6)
        assert np.abs(rows @ P).max() < 1e-12 * np.abs(P).max()
        assert subspace_angles(P, spaces[0]).max() < 1e-10
    columns = platform.columns(1)
    g, zeta = leg_gradients(columns)
    for i in range(3):
        j, k = columns[:, (i + 1) % 3], columns[:, (i + 2) % 3]
        normal = np.cross(j, k)
        assert g[i] == pytest.approx(normal / (columns[:, i] @ normal), rel=1e-10)
    assert zeta.min() > 0.0
    assert choose(platform)[1]["independent"] == "platforms"


def test_choice_at_a_stretched_leg() -> None:
    straight = [np.array([0.0, 0.0]), np.array([0.4, 0.0]), np.array([1.0, 0.0])]
    bent = [np.array([0.0, 1.0]), np.array([0.3, 1.2]), np.array([0.9, 0.9])]
    other = [np.array([0.5, -1.0]), np.array([0.8, -0.8]), np.array([0.7, -0.2])]
    platform = PlanarPlatform(np.zeros(2), np.array([0.9, 0.3]), [bent, straight, other])
    P, about = choose(platform)
    assert (about["independent"], about["leg"]) == ("leg", 1)
    assert np.abs(platform.closure() @ P).max() < 1e-12


def test_condition_numbers() -> None:
    """The textbook's matrix grows as h⁻³; in joint coordinates with scaled balance the condition number does not depend on h."""
    for s in (planar_manipulator(), conserving.screw_pair()):
        table = condition_table(s, (1e-2, 1e-3, 1e-4))
        assert table["none"]["slope"] == pytest.approx(-3.0, abs=0.1)
        assert table["joints"]["slope"] == pytest.approx(0.0, abs=0.1)
        assert table["joints"]["unknowns"] < 0.2 * table["none"]["unknowns"]
