"""Floating frames of a free body: the tests T1 … T18 of the specification on mean axes, by number."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.condense import constrained_modes, mean_axis_pencil, pencil_modes
from jourdain.structures.floating import FloatingBody, matrix, quaternion
from jourdain.structures.frames import conditions
from jourdain.structures.load_cases import load_cases
from jourdain.structures.parts.dofs import skew
from jourdain.structures.pose import Pose, changed, frame_of, node_motion, positions_of, rotation, turned

R7, R10 = jd.structures.lattice_rod(7), jd.structures.lattice_rod(10)
BOX = jd.structures.truss_box()
PSI = np.array([-1, -0.221549, 0.400757, 0.641585, 0.400757, -0.221549, -1])


def consistent_box():
    """The box with the consistent mass of its bars: M = μ ⊗ I₃, not lumped."""
    group = BOX.elements[0]
    return jd.structures.truss(BOX.nodes, group.nodes.tolist(), 1000.0, mass_per_length=1.0)


def random_pose(part, rng, size=0.1):
    planar = part.dofs.planar
    mask = np.array([1, 1, 0]) if planar else np.ones(3)
    spin = np.array([0, 0, 1]) if planar else np.ones(3)
    n = len(part.dofs)
    return Pose(
        mask * rng.standard_normal(3),
        rotation(spin * rng.standard_normal(3)),
        size * rng.standard_normal(n),
        mask * rng.standard_normal(3),
        spin * rng.standard_normal(3),
        rng.standard_normal(n),
    )


def bent_and_turning(part, eps: float, omega: float = 0.3):
    """§4.3: positions s + ε ψ₁, velocities of a rigid rotation of that shape."""
    shape = part.reduce(1).shapes[1::2, 0]
    shape = shape / -shape[0]
    d = part.nodes.copy()
    d[:, 1] += eps * shape
    rates = np.zeros(len(part.dofs))
    rates[0::2], rates[1::2] = -omega * d[:, 1], omega * d[:, 0]
    return d, rates


def tisserand_start(part, d, rates):
    """The frame aligned with the undeformed body; velocities by (25), (26)."""
    columns = part.dofs.rigid_columns
    R = part.dofs.rigid_motions(d)[:, columns]
    twist = np.zeros(6)
    twist[columns] = np.linalg.solve(R.T @ (part.M @ R), R.T @ (part.M @ rates))
    deflection = (d - part.nodes)[part.dofs.nodes, part.dofs.components]
    return Pose(np.zeros(3), np.eye(3), deflection, twist[:3], twist[3:], rates - part.dofs.rigid_motions(d) @ twist)


@pytest.mark.parametrize("part", [R7, BOX], ids=["R7", "box"])
def test_08_T1_kinematics_and_mass_blocks(part) -> None:
    """(3), (4) against differences of (2) along a trajectory; Lᵀ M L = blocks of (18); T from the blocks."""
    rng = np.random.default_rng(0)
    p = random_pose(part, rng)
    planar = part.dofs.planar
    a0, alpha, delta2 = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(len(part.dofs))
    if planar:
        a0[2] = 0
        alpha[:2] = 0

    def at(t):
        """Constant inertial acceleration; rotation of angular velocity ω and acceleration α at t = 0 (up to third order)."""
        turn = rotation(p.omega * t + 0.5 * alpha * t**2 + np.cross(p.omega, alpha) * t**3 / 12)
        r = p.r + p.A @ (p.velocity * t + 0.5 * a0 * t**2)
        b = positions_of(part, p.deflection + p.rate * t + 0.5 * delta2 * t**2)
        return r + b @ (p.A @ turn).T

    b = positions_of(part, p.deflection)
    R = part.dofs.rigid_motions(b)
    rate = R @ np.concatenate([p.velocity, p.omega]) + p.rate
    rate_nodes = np.zeros((len(part.nodes), 3))
    rate_nodes[part.dofs.nodes, part.dofs.components] = rate
    body = FloatingBody(part)
    second = R @ np.concatenate([a0, alpha]) + delta2 + body.bias(p)
    second_nodes = np.zeros((len(part.nodes), 3))
    second_nodes[part.dofs.nodes, part.dofs.components] = second
    keep = [0, 1] if planar else [0, 1, 2]
    errors = []
    for h in (4e-3, 2e-3):
        first = (at(h) - at(-h)) / (2 * h) @ p.A
        double = (at(h) - 2 * at(0) + at(-h)) / h**2 @ p.A
        errors.append((np.abs(first - rate_nodes)[:, keep].max(), np.abs(double - second_nodes)[:, keep].max()))
    assert errors[0][0] / errors[1][0] == pytest.approx(4.0, rel=0.02)
    assert errors[0][1] / errors[1][1] == pytest.approx(4.0, rel=0.05)

    L = np.hstack([R, np.eye(len(part.dofs))])
    M = part.M.toarray()
    blocks = L.T @ M @ L
    masses = part.field.weights.diagonal()
    assert_allclose(blocks[:2, :2], part.mass * np.eye(2), atol=1e-12)
    if not planar:
        J = sum(m * skew(x).T @ skew(x) for m, x in zip(masses, b))
        assert_allclose(blocks[3:6, 3:6], J, atol=1e-12)
    assert_allclose(blocks[6:, 6:], M)
    v = np.concatenate([p.velocity, p.omega, p.rate])
    assert 0.5 * v @ blocks @ v == pytest.approx(0.5 * rate @ M @ rate, rel=1e-13)
    positions, rates = node_motion(part, p)
    assert_allclose(positions, at(0.0), atol=1e-14)
    assert_allclose(turned(part, p.A.T, rates), rate, atol=1e-13)


@pytest.mark.parametrize("part, rigid", [(R7, 3), (BOX, 6)], ids=["R7", "box"])
def test_08_T2_ranks(part, rigid: int) -> None:
    n = len(part.dofs)
    assert np.linalg.matrix_rank(part.K.toarray(), tol=1e-9 * abs(part.K).max()) == n - rigid
    b = positions_of(part, 0.1 * np.random.default_rng(2).standard_normal(n))
    L = np.hstack([part.dofs.rigid_motions(b)[:, part.dofs.rigid_columns], np.eye(n)])
    assert np.linalg.matrix_rank(L.T @ part.M.toarray() @ L) == n
    R = part.rigid[:, part.dofs.rigid_columns]
    assert np.abs(part.K @ R).max() < 1e-12 * abs(part.K).max()


def test_08_T3_invariance_of_the_mass_matrix() -> None:
    A = rotation(np.array([0.3, -0.8, 0.5]))
    parts = {"lumped": BOX, "consistent": consistent_box(), "guyan": BOX.condensed(["left", "right"])}
    change = {}
    for name, part in parts.items():
        M = part.M.toarray()
        turned_M = turned(part, A, turned(part, A, M).T)
        change[name] = np.abs(turned_M - M).max() / np.abs(M).max()
    assert change["lumped"] < 1e-14
    assert change["consistent"] < 1e-14
    assert change["guyan"] > 0.01


def test_08_T4_nodal_fixed_conditions_hold() -> None:
    part = jd.structures.lattice_rod(7, EA=100.0)
    d, rates = bent_and_turning(part, 0.2)
    start = frame_of(part, d, rates, "nodal-fixed", (0, 6))
    run = FloatingBody(part, "nodal-fixed", at=(0, 6)).simulate(start, np.linspace(0, 2, 5), rtol=1e-10)
    B = conditions(part, "nodal-fixed", (0, 6))
    assert np.abs(B @ start.deflection).max() < 1e-14
    for state in run.states:
        assert np.abs(B @ state.deflection).max() < 1e-12
        found = frame_of(part, *node_motion(part, state), "nodal-fixed", (0, 6))
        assert_allclose(found.r, state.r, atol=1e-12)
        assert_allclose(found.A, state.A, atol=1e-12)
        assert_allclose(found.omega, state.omega, atol=1e-11)
        assert_allclose(found.rate, state.rate, atol=1e-11)


def test_08_T4_nodal_fixed_frame_in_space() -> None:
    """(21): origin node, axis node, plane node; the frame from three positions by cross products."""
    at = (0, 12, 3)  # (0,0,0), (3,0,0), (0,1,1)
    rng = np.random.default_rng(4)
    d = (BOX.nodes + 0.05 * rng.standard_normal(BOX.nodes.shape)) @ rotation(rng.standard_normal(3)).T + rng.standard_normal(3)
    pose = frame_of(BOX, d, None, "nodal-fixed", at)
    e1 = (d[12] - d[0]) / np.linalg.norm(d[12] - d[0])
    e3 = np.cross(e1, d[3] - d[0])
    e3 /= np.linalg.norm(e3)
    nodal = np.column_stack([e1, np.cross(e3, e1), e3])
    s1, s3 = np.array([1.0, 0, 0]), np.cross([1.0, 0, 0], [0, 1.0, 1.0]) / np.sqrt(2)
    body = np.column_stack([s1, np.cross(s3, s1), s3])
    assert_allclose(pose.A, nodal @ body.T, atol=1e-12)
    assert_allclose(pose.r, d[0] - pose.A @ BOX.nodes[0], atol=1e-12)


def test_08_T5_mean_axes_minimise_the_kinetic_energy_of_deformation() -> None:
    rng = np.random.default_rng(5)
    part = BOX
    body = FloatingBody(part, "tisserand")
    nodes = part.nodes - part.com
    for _ in range(5):
        d = nodes + 0.1 * rng.standard_normal(nodes.shape)
        masses = part.field.weights.diagonal()
        d -= masses @ d / part.mass
        rates = rng.standard_normal(len(part.dofs))
        R = part.dofs.rigid_motions(d)
        M = part.M
        twist = np.linalg.solve(R.T @ (M @ R), R.T @ (M @ rates))
        least = rates - R @ twist
        energy = 0.5 * least @ (M @ least)
        for k in range(6):
            for h in (-0.1, 0.1):
                other = rates - R @ (twist + h * np.eye(6)[k])
                assert 0.5 * other @ (M @ other) > energy
        velocity = rates.reshape(-1, 3)
        centre = masses @ velocity / part.mass
        H = np.sum(masses[:, None] * np.cross(d, velocity - centre), axis=0)
        J = sum(m * skew(x).T @ skew(x) for m, x in zip(masses, d))
        assert_allclose(twist[:3], centre, atol=1e-13)
        assert_allclose(twist[3:], np.linalg.solve(J, H), atol=1e-13)
        koenig = 0.5 * part.mass * centre @ centre + 0.5 * twist[3:] @ J @ twist[3:] + energy
        assert koenig == pytest.approx(0.5 * rates @ (M @ rates), rel=1e-13)
        nodal = frame_of(part, d + part.com, rates, "nodal-fixed", (0, 12, 3))
        assert body.deformation_energy(nodal) >= energy
        # row identity: −b̃ᵀ(f − M w) = Σ b × f − ω × J ω − J̇ ω
        f = rng.standard_normal(len(part.dofs))
        w = twist[3:]
        shift = jd.structures.Structure(nodes, part.M, part.K)
        pose = Pose(np.zeros(3), np.eye(3), (d - nodes).ravel(), twist[:3], w, least)
        bias = FloatingBody(shift, "tisserand").bias(pose)
        rate = least.reshape(-1, 3)
        J_dot = sum(m * (skew(u).T @ skew(x) + skew(x).T @ skew(u)) for m, x, u in zip(masses, d, rate))
        row = R[:, 3:].T @ (f - M @ bias)
        expected = np.sum(np.cross(d, f.reshape(-1, 3)), axis=0) - np.cross(w, J @ w) - J_dot @ w
        assert_allclose(row, expected, atol=1e-12 * max(1.0, np.abs(expected).max()))


TABLE = [  # frame, form, modes, node 1, node 7, largest deflection, energy error, angular-momentum error
    ("nodal-fixed", "consistent", None, (-2.81017, 1.11337), (2.93260, -0.73259), 0.3283, 0.0, 0.0),
    ("tisserand", "consistent", None, (-2.81053, 1.11235), (2.93291, -0.73151), 0.2007, 0.0, 0.0),
    ("mean axes", "consistent", 11, (-2.81052, 1.11235), (2.93292, -0.73152), 0.2007, 0.0, 0.0),
    ("tisserand", "elastic moment", None, (-2.79716, 1.14556), (2.92402, -0.76623), 0.2007, 7.9e-3, 4.0e-3),
    ("nodal-fixed", "elastic moment", None, (-2.79753, 1.14476), (2.92424, -0.76530), 0.3285, 7.7e-3, 3.9e-3),
    ("mean axes", "elastic moment", 11, (-2.79788, 1.14376), (2.92454, -0.76435), 0.2007, 7.5e-3, 3.8e-3),
    ("tisserand", "no multipliers", None, None, None, None, 0.44, 0.23),
]


def transient(frame: str, form: str = "consistent", modes: int | None = None, eps: float = 0.2, rtol: float = 1e-9, end: float = 20.0):
    return transient_run(frame, form, modes, eps, rtol, end)


@cache
def transient_run(frame, form, modes, eps, rtol, end):
    part = jd.structures.lattice_rod(7, EA=100.0)
    d, rates = bent_and_turning(part, eps)
    at = (0, 6) if frame == "nodal-fixed" else None
    start = tisserand_start(part, d, rates) if frame == "tisserand" else frame_of(part, d, rates, frame, at)
    return FloatingBody(part, frame, form, modes, at).simulate(start, np.linspace(0, end, 201), rtol=rtol)


@pytest.mark.parametrize("frame, form, modes, first, last, largest, energy, momentum", TABLE)
def test_08_T6_transient_table(frame, form, modes, first, last, largest, energy, momentum) -> None:
    run = transient(frame, form, modes)
    assert run.energy[0] == pytest.approx(0.86973194, rel=1e-7)
    assert run.angular_momentum[0, 2] == pytest.approx(5.72197214, rel=1e-8)
    E, H = run.energy, run.angular_momentum[:, 2]
    errors = np.abs(E / E[0] - 1).max(), np.abs(H / H[0] - 1).max()
    if form == "consistent":
        assert max(errors) < 1e-9
    else:
        assert_allclose(errors, (energy, momentum), rtol=0.02)
    if first is not None:
        assert_allclose(run.positions[-1, 0, :2], first, atol=1.1e-5)
        assert_allclose(run.positions[-1, 6, :2], last, atol=1.1e-5)
        assert run.deflection.max() == pytest.approx(largest, abs=1.5e-4)
    if frame == "tisserand" and form == "consistent":
        for state in run.states[::20]:
            R = run.body.part.dofs.rigid_motions(positions_of(run.body.part, state.deflection))
            assert np.abs(R.T @ (run.body.M @ state.rate)).max() < 1e-10


def test_08_T7_frames_differ_by_second_order() -> None:
    """With linear K the two frames are two models; they differ by ε², the modal and the Tisserand form by less."""
    sizes = (0.4, 0.2, 0.1)
    nodal, mean, modal = (
        [transient(f, modes=m, eps=e).positions[-1] for e in sizes]
        for f, m in (("nodal-fixed", None), ("tisserand", None), ("mean axes", 11))
    )
    gap = [np.abs(a - b).max() for a, b in zip(nodal, mean)]
    assert_allclose(gap, [4.65e-3, 1.07e-3, 3.2e-4], rtol=0.02)
    assert 1.8 < np.polyfit(np.log(sizes), np.log(gap), 1)[0] < 2.3
    small = [np.abs(a - b).max() for a, b in zip(modal, mean)]
    assert_allclose(small, [8.8e-5, 9.7e-6, 9.7e-7], rtol=0.06)


def test_08_T8_mean_axes_see_smaller_deflections() -> None:
    largest = [transient(f).deflection.max() for f in ("nodal-fixed", "tisserand")]
    assert largest[0] / largest[1] == pytest.approx(1.64, rel=0.01)


def test_08_T9_guyan() -> None:
    small = R7.condensed([0, 2, 4, 6])
    assert_allclose(small.frequencies(5), [0.564076, 1.392399, 16.903085, 34.641016, 44.721360], rtol=1e-6)
    assert (small.frequencies(5) >= R7.frequencies(5) - 1e-12).all()
    for part, masters in ((R7, [0, 2, 4, 6]), (BOX, ["left", "right"])):
        reduced = part.condensed(masters)
        columns = part.dofs.rigid_columns
        R, Rm = part.rigid[:, columns], reduced.rigid[:, columns]
        whole = R.T @ (part.M @ R)
        assert_allclose(Rm.T @ (reduced.M @ Rm), whole, atol=1e-12 * np.abs(whole).max())
        assert np.abs(reduced.K @ Rm).max() < 1e-10 * abs(part.K).max()
        assert reduced.mass == pytest.approx(part.mass, rel=1e-12)
        assert_allclose(reduced.inertia, part.inertia, atol=1e-10)
        # statics under balanced loads on masters
        rng = np.random.default_rng(0)
        f = rng.standard_normal(len(reduced.dofs))
        f -= Rm @ np.linalg.solve(Rm.T @ Rm, Rm.T @ f)
        nodes = part.nodes_of(masters)
        rows = part.dofs.of(nodes)
        full = np.zeros(len(part.dofs))
        full[rows] = f
        u, us = np.linalg.pinv(part.K.toarray()) @ full, np.linalg.pinv(reduced.K.toarray()) @ f
        difference = u[rows] - us
        difference -= Rm @ np.linalg.lstsq(Rm, difference, rcond=None)[0]
        assert np.abs(difference).max() < 1e-9 * np.abs(us).max()
    expected = [14.564753, 19.995092, 19.995092, 29.847505, 32.828030, 33.186832, 33.498348, 33.498348]
    assert_allclose(BOX.condensed(["left", "right"]).frequencies(8), expected, rtol=1e-6)


def test_08_T10_free_free_modes() -> None:
    for part in (R7, BOX):
        body = part.reduce(5, normalise="mass")
        R = part.rigid[:, part.dofs.rigid_columns]
        assert np.abs(R.T @ (part.M @ body.shapes)).max() < 1e-12 * part.mass
    bending = [0.558829, 1.369998, 2.316497, 3.181683, 3.784382]
    axial = [16.369154, 31.622777, 44.721360, 54.772256, 61.090513, 63.245553]
    assert_allclose(R7.frequencies(11), bending + axial, rtol=1e-6)
    shape = R7.reduce(1).shapes[1::2, 0]
    assert_allclose(shape / -shape[0], PSI, atol=1e-6)
    assert_allclose(R10.frequencies(8), [0.262968, 0.685126, 1.250055, 1.890649, 2.538609, 3.126687, 3.594951, 3.896136], rtol=3e-6)
    box = [
        14.391205,
        16.948585,
        16.948585,
        26.591479,
        29.422717,
        29.422717,
        29.441913,
        31.794758,
        32.886856,
        34.743442,
        *[37.606031] * 3,
        40.265622,
    ]
    assert_allclose(BOX.frequencies(14), box, rtol=1e-6)


def test_08_T10_all_modes_are_the_nodal_eckart_body_and_few_converge() -> None:
    nodal = transient("mean axes", rtol=1e-10, end=5.0).positions[-1]
    errors = [np.abs(transient("mean axes", modes=m, rtol=1e-10, end=5.0).positions[-1] - nodal).max() for m in (1, 6, 11)]
    assert errors[-1] < 1e-8
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("frame, modes", [("mean axes", None), ("mean axes", 11), ("tisserand", None), ("nodal-fixed", None)])
def test_08_T10_steady_spin_is_an_equilibrium(frame: str, modes: int | None) -> None:
    """(K − Ω² M) δ = Ω² M s stays as it is in every formulation."""
    omega = 0.5
    part = jd.structures.lattice_rod(7, EA=100.0)
    s = part.nodes[part.dofs.nodes, part.dofs.components]
    A = (part.K - omega**2 * part.M).toarray()
    delta = np.linalg.lstsq(A, omega**2 * (part.M @ s), rcond=None)[0]
    d = positions_of(part, delta)
    rates = np.zeros(14)
    rates[0::2], rates[1::2] = -omega * d[:, 1], omega * d[:, 0]
    at = (0, 6) if frame == "nodal-fixed" else None
    start = tisserand_start(part, d, rates) if frame == "tisserand" else frame_of(part, d, rates, frame, at)
    end = FloatingBody(part, frame, modes=modes, at=at).simulate(start, [0.0, 4.0], rtol=1e-12).states[-1]
    assert_allclose(end.deflection, start.deflection, atol=1e-9)
    assert_allclose(end.rate, 0, atol=1e-8)
    assert end.omega[2] == pytest.approx(omega, abs=1e-10)


def test_08_T10_spinning_rod_of_the_continuum() -> None:
    """u(x) = ρ Ω² (L² x/8 − x³/6)/E from the centre, with a fine mesh and slow spin; second order in the spacing."""
    omega, length = 1e-3, 1.0
    errors = []
    for n in (41, 81):
        rod = jd.structures.lattice_rod(n, spacing=length / (n - 1), EA=1.0, EI=1.0, mass_per_length=1.0)
        cases = load_cases(rod.reduce(0), [])
        u = omega**2 * cases.displacements[0::2, cases.names.index("omegazz")]
        x = rod.nodes[:, 0]
        exact = omega**2 * (length**2 * x / 8 - x**3 / 6)
        errors.append(np.abs(u - exact).max() / np.abs(exact).max())
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


@pytest.fixture(scope="module")
def whirl():
    """§4.4: two equal bending modes of the box, 90° apart, zero angular momentum: both frames."""
    part = jd.structures.Structure(BOX.nodes - BOX.com, BOX.M, BOX.K)
    body = part.reduce(3)
    phi_y, phi_z = body.shapes[:, 1], body.shapes[:, 2]
    frequency = body.frequencies[1]
    deflection, rate = 0.1 * phi_y, 0.1 * frequency * phi_z
    d = positions_of(part, deflection)
    R = part.dofs.rigid_motions(d)
    twist = np.linalg.solve(R.T @ (part.M @ R), R.T @ (part.M @ rate))
    rates = rate - R @ twist  # no momentum and no angular momentum
    runs = {}
    for frame, t in (("mean axes", np.linspace(0, 4, 81)), ("tisserand", np.linspace(0, 6, 61))):
        start = tisserand_start(part, d, rates) if frame == "tisserand" else frame_of(part, d, rates, frame)
        runs[frame] = FloatingBody(part, frame).simulate(start, t, rtol=1e-8)
    y, z = phi_y.reshape(-1, 3), phi_z.reshape(-1, 3)
    shares = 0.01 * frequency * (y[:, 1] @ z[:, 2] - y[:, 2] @ z[:, 1])
    return runs, shares / part.inertia[0, 0]


def test_08_T11_whirl(whirl) -> None:
    runs, predicted = whirl
    assert abs(predicted) == pytest.approx(0.3310, rel=0.02)
    eckart = runs["mean axes"]
    angle = np.unwrap([np.arctan2(s.A[2, 1], s.A[1, 1]) for s in eckart.states])
    assert abs(angle[-1] - angle[0]) / (eckart.t[-1]) == pytest.approx(0.3228, rel=0.02)
    assert eckart.deflection.min() > 0.095 and eckart.deflection.max() < 0.116
    drifting = runs["tisserand"]
    assert max(np.abs(s.omega).max() for s in drifting.states) < 1e-8
    top = [drifting.deflection[(drifting.t > a - 0.4) & (drifting.t <= a + 1e-9)].max() for a in (2, 4, 6)]
    assert_allclose(top, [0.41, 0.75, 1.07], rtol=0.02)
    for run in runs.values():
        assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-6


CASES = [
    (R10, [(0, 0), (0, 1), (9, 0), (9, 1)], [0.120615, 0.467911, 1.0, 1.652704, 2.347296, 3.0, 3.532089, 3.879385], 30, 16),
    (R10, [(0, 0), (0, 1), (9, 0), (9, 1), (1, 1), (8, 1)], [0.352014, 0.938326, 1.719331, 2.558680, 3.304540, 3.817421], 32, 14),
    (
        BOX,
        [(n, c) for n in (*range(4), *range(12, 16)) for c in range(3)],
        [17.962682, 17.962682, 18.803015, 31.119847, 31.119847, 32.567778, 39.902312, 40.576429],
        84,
        24,
    ),
    (
        BOX,
        [(n, c) for n in range(4) for c in range(3)],
        [4.376240, 4.376240, 8.368129, 16.2675, 16.2675, 17.481358, 23.446977, 30.980542],
        72,
        36,
    ),
]


def rows_of(part, pairs):
    return np.array([part.dofs.table[i, c] for i, c in pairs])


@pytest.mark.parametrize("part, pairs, expected, size, nonzero", CASES, ids=["pinned", "clamped", "box both", "box left"])
def test_08_T12_pencil_of_constrained_modes(part, pairs, expected, size: int, nonzero: int) -> None:
    boundary = rows_of(part, pairs)
    squares, psi, rho, zeros = pencil_modes(part, boundary)
    r = len(part.dofs.rigid_columns)
    assert len(mean_axis_pencil(part, boundary)[0]) == size == len(part.dofs) + 2 * r + len(pairs)
    assert len(squares) == nonzero == len(part.dofs) - len(pairs)
    assert zeros == 2 * r + 2 * len(pairs)
    assert_allclose(np.sqrt(squares[: len(expected)]), expected, atol=6e-7)
    projected = constrained_modes(part, boundary, len(squares))
    assert_allclose(squares, projected.squares, rtol=1e-9)
    R = part.rigid[:, part.dofs.rigid_columns]
    D = R.T @ part.M.toarray()
    assert np.abs(D @ psi).max() < 1e-10 * np.abs(D).max() * np.abs(psi).max()
    distinct = [k for k in range(len(expected)) if np.sum(np.abs(squares / squares[k] - 1) < 1e-6) == 1]
    for k in distinct:
        a, b = psi[:, k], projected.seen[:, k]
        assert abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) == pytest.approx(1.0, abs=1e-9)
        scale = (a @ b) / (b @ b)
        # the pencil's frame displacement is that of the projection
        assert_allclose(rho[:, k], scale * projected.motions[:, k], atol=1e-7 * np.abs(psi[:, k]).max())


def test_08_T12_table_of_R10() -> None:
    assert_allclose(
        np.sqrt(constrained_modes(R10, rows_of(R10, CASES[0][1]), 8).squares), 4 * np.sin(np.arange(1, 9) * np.pi / 18) ** 2, rtol=1e-9
    )
    pinned = constrained_modes(R10, rows_of(R10, CASES[0][1]), 3)
    scale = [np.sign(pinned.held[1::2, k][1]) * np.abs(pinned.held[:, k]).max() for k in range(3)]
    psi = pinned.seen / scale
    rho = pinned.motions / scale
    assert_allclose(psi[1::2, 0][:5], [-0.639863, -0.292567, 0.012840, 0.239522, 0.360137], atol=1e-6)
    assert_allclose(rho[:, 0], [0, 0.639863, 0], atol=1e-6)
    assert_allclose(psi[1::2, 1][:5], [-0.907545, -0.053165, 0.495808, 0.576870, 0.246458], atol=1e-6)
    assert_allclose(rho[:, 1], [0, 0, -0.201677], atol=1e-6)
    assert_allclose(np.diag(pinned.seen.T @ (R10.M @ pinned.seen)), [0.205841, 0.454316, 0.925926], atol=1e-6)
    clamped = constrained_modes(R10, rows_of(R10, CASES[1][1]), 2)
    size = np.abs(clamped.held).max(axis=0)
    assert_allclose(np.abs(clamped.motions[[1, 2], [0, 1]]) / size, [0.459122, 0.111127], atol=1e-6)
    assert_allclose(np.abs(clamped.seen).max(axis=0) / size, [0.540878, 0.833310], atol=1e-6)


def test_08_T13_forward_and_backward() -> None:
    for part, pairs, *_ in CASES:
        boundary = rows_of(part, pairs)
        modes = constrained_modes(part, boundary, len(part.dofs) - len(boundary))
        R = part.rigid[:, part.dofs.rigid_columns]
        rho = np.linalg.lstsq(R[boundary], -modes.seen[boundary], rcond=None)[0]
        assert np.abs(modes.seen + R @ rho - modes.held).max() < 1e-12 * np.abs(modes.held).max()


def test_08_T14_projected_modes_with_boundary_constraints() -> None:
    """Right frequencies come from rigid coordinates, modes and constraints together, not from the projected modes alone."""
    boundary = rows_of(R10, CASES[0][1])
    modes = constrained_modes(R10, boundary, 3)
    psi = modes.seen
    alone = np.sqrt(np.diag(psi.T @ (R10.K @ psi)) / np.diag(psi.T @ (R10.M @ psi)))
    assert_allclose(alone, [0.2658, 0.6942, 1.0392], atol=1e-4)
    R = R10.rigid[:, [0, 1, 5]]
    L = np.hstack([R, psi])
    M, K = L.T @ (R10.M @ L), L.T @ (R10.K @ L)
    constraints = L[boundary]
    assert np.linalg.matrix_rank(constraints, tol=1e-10) == 3
    Z = sl.null_space(constraints)
    found = np.sqrt(sl.eigh(Z.T @ K @ Z, Z.T @ M @ Z, eigvals_only=True))
    assert_allclose(found, [0.120615, 0.467911, 1.0], atol=1e-6)
    assert_allclose(found, np.sqrt(modes.squares), rtol=1e-9)


def test_08_T15_absolute_nodes_with_a_procrustes_frame() -> None:
    """(13): M d″ = −A K δ with the Eckart frame of each instant; the difference to the consistent form is of second order."""
    part = jd.structures.lattice_rod(7, EA=100.0)

    def absolute(eps):
        from scipy.integrate import solve_ivp

        d, rates = bent_and_turning(part, eps)
        inverse = 1.0 / part.M.diagonal()

        def rate(t, y):
            places = np.pad(y[:14].reshape(7, 2), ((0, 0), (0, 1)))
            pose = frame_of(part, places)
            return np.concatenate([y[14:], -inverse * turned(part, pose.A, part.K @ pose.deflection)])

        y = solve_ivp(rate, (0, 2.0), np.concatenate([d[:, :2].ravel(), rates]), "DOP853", rtol=1e-8, atol=1e-9).y[:14, -1]
        return y.reshape(7, 2)

    gaps = [np.abs(absolute(e) - transient("mean axes", eps=e, rtol=1e-9, end=2.0).positions[-1, :, :2]).max() for e in (0.4, 0.2)]
    assert 1.7 < np.log2(gaps[0] / gaps[1]) < 2.5


def test_08_T16_bending_frequencies_converge() -> None:
    beta = np.array([4.730040745, 7.853204624])
    errors = []
    for n in (11, 21, 41, 81):
        rod = jd.structures.lattice_rod(n, spacing=1 / (n - 1), EA=1e5, EI=1.0)
        errors.append(rod.reduce(2, bending="y").frequencies / beta**2 - 1)
    assert_allclose(np.array(errors)[:, 0] * 100, [-3.927, -1.018, -0.2569, -0.0644], rtol=2e-3)
    assert_allclose(np.array(errors)[:, 1] * 100, [-8.28, -2.21, -0.564, -0.142], rtol=5e-3)
    assert np.log2(errors[-2][0] / errors[-1][0]) == pytest.approx(2.0, abs=0.02)


def hanging(eps_scale: float, frame: str, end: float = 4.0):
    """A rod of ten nodes hinged at its first, dropped from the horizontal."""
    part = jd.structures.lattice_rod(10, EA=2000.0 * eps_scale, EI=40.0 * eps_scale)
    at = (0, 9) if frame == "nodal-fixed" else None
    body = FloatingBody(part, frame, at=at, grounded=[(0, 0), (0, 1)], gravity=(0, -0.05, 0))
    start = frame_of(part, part.nodes, np.zeros(20), frame, at)
    return part, body.simulate(start, np.linspace(0, end, 21), rtol=1e-8)


def test_08_T17_flexible_pendulum() -> None:
    gaps = []
    for scale in (1.0, 2.0):
        runs = [hanging(scale, frame)[1] for frame in ("mean axes", "nodal-fixed")]
        for run in runs:
            assert np.abs(run.energy - run.energy[0]).max() < 1e-7 * 0.05 * 9 * 4.5
            assert np.abs(run.positions[:, 0] - run.positions[0, 0]).max() < 1e-6
        gaps.append(np.abs(runs[0].positions[:, -1] - runs[1].positions[:, -1]).max())
    assert gaps[0] < 5e-3
    assert gaps[0] / gaps[1] > 3.0  # halving the deflections quarters the difference


def test_08_T17_rigid_limit_of_the_pendulum() -> None:
    from scipy.integrate import solve_ivp

    part, run = hanging(250.0, "mean axes", end=2.0)  # EI is 10⁴ times that of the rod of ten nodes
    inertia = part.inertia[2, 2] + part.mass * 4.5**2
    law = lambda t, y: [y[1], -part.mass * 0.05 * 4.5 * np.cos(y[0]) / inertia]
    angle = solve_ivp(law, (0, 2), [0, 0], "DOP853", run.t, rtol=1e-10, atol=1e-12).y[0]
    tip = run.positions[:, -1, :2] - run.positions[:, 0, :2]
    assert np.abs(np.arctan2(tip[:, 1], tip[:, 0]) - angle).max() < 2.5e-5


def test_08_T18_symmetry() -> None:
    for pairs in (CASES[0][1], CASES[1][1]):
        modes = constrained_modes(R10, rows_of(R10, pairs), 2)
        assert abs(modes.motions[2, 0]) < 1e-12
        assert np.abs(modes.motions[:2, 1]).max() < 1e-12


def test_frames_are_changed_and_changed_back() -> None:
    """C15: a state seen from any frame and back is the same motion of the nodes."""
    rng = np.random.default_rng(8)
    part = BOX
    for _ in range(3):
        d = (BOX.nodes + 0.05 * rng.standard_normal(BOX.nodes.shape)) @ rotation(rng.standard_normal(3)).T
        rates = rng.standard_normal(48)
        first = frame_of(part, d, rates)
        second = changed(part, first, "nodal-fixed", (0, 12, 3))
        back = changed(part, second, "mean axes")
        for pose in (first, second, back):
            positions, speed = node_motion(part, pose)
            assert_allclose(positions, d, atol=1e-12)
            assert_allclose(speed, rates, atol=1e-12)
        assert_allclose(back.deflection, first.deflection, atol=1e-12)
        assert_allclose(back.omega, first.omega, atol=1e-12)


def test_eckart_frame_is_the_procrustes_fit() -> None:
    rng = np.random.default_rng(9)
    d = (BOX.nodes + 0.1 * rng.standard_normal(BOX.nodes.shape)) @ rotation(rng.standard_normal(3)).T
    A = frame_of(BOX, d).A
    s, x = BOX.nodes - BOX.com, d - d.mean(axis=0)
    assert np.abs(np.sum(np.cross(s, x @ A), axis=0)).max() < 1e-12
    U, _, V = np.linalg.svd(x.T @ s)
    assert_allclose(A, U @ V, atol=1e-12)


def test_quaternions() -> None:
    rng = np.random.default_rng(10)
    for _ in range(50):
        A = rotation(4 * rng.standard_normal(3))
        assert_allclose(matrix(quaternion(A)), A, atol=1e-13)


def test_forms_for_study_refuse() -> None:
    beam = jd.structures.beam((0, 0, 0), (1, 0, 0), jd.structures.circle(0.01), jd.structures.STEEL)
    with pytest.raises(jd.InputError, match="nodes without rotations"):
        FloatingBody(beam)
    with pytest.raises(jd.InputError, match="form 'wrong' is unknown"):
        FloatingBody(R7, form="wrong")
    with pytest.raises(jd.InputError, match="free-free modes with frame 'nodal-fixed'"):
        FloatingBody(R7, "nodal-fixed", modes=3)
    with pytest.raises(jd.InputError, match="grounded = .* needs form='consistent'"):
        FloatingBody(R7, form="elastic moment", grounded=[(0, 0)])
    with pytest.raises(jd.InputError, match="not integrable"):
        R7.reduce(2, frame="tisserand")
    with pytest.raises(jd.InputError, match="free-free modes with frame 'nodal-fixed'"):
        R7.reduce(2, frame="nodal-fixed", kind="free-free")
