"""Kernels of a belt by themselves: strain fields, ring friction, stack moments, flank forces, problems of a whole pulley."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.solvers.belt import flanks, layers, line
from jourdain.solvers.belt.march import find_all
from jourdain.solvers.complementarity.build import dense_problem
from jourdain.solvers.complementarity.gauss_seidel import gauss_seidel
from jourdain.solvers.complementarity.pivoting import complementarity, lemke, linear_room, solve_similar


def belt(ratio: float = 1.0, **parts):
    return jd.library.push_belt_variator(ratio=ratio, **parts).start("2000 rpm")


def test_T7_moment_of_the_stack() -> None:
    P, k_minus, k_plus, EI = -3000.0, 0.3e-3, 5e-3, 50.0

    def moment(kap: float, force: float = P) -> float:
        return line.stack_moment(EI, kap, force, k_minus, k_plus)[0]

    assert abs(moment(18.0) + 0.9) < 1e-12
    assert abs(moment(-18.0) - 15.0) < 1e-12
    for kap in np.linspace(-0.29, 0.017, 11):
        assert abs(moment(kap) + EI * kap) < 1e-12
    assert moment(18.0, 0.0) == 0.0 == moment(-18.0, 0.0)


def test_moment_of_the_stack_straightens() -> None:
    """The source's sign in (23) would bend a closed stack further; the work of the moment is −M times the change of angle."""
    b = belt()
    b.q[:] = 0.0
    b.layers.deviation[0] = -1e-4 - 3.1e-4  # closed all along
    find_all(b)
    line._gather(b, 1e-4)
    with_stack = b.right.copy()
    b.stack = 0.0
    line._gather(b, 1e-4)
    pushed = with_stack - b.right
    rng = np.random.default_rng(0)
    motion = rng.standard_normal(b.size) * 1e-6
    b.q[:] = motion
    line.find_line(b)
    curved = b.path.turning > 0
    more = b.path.angle - b.path.turning  # further turning
    force = b.layers.stiffness[0] * np.minimum(b.layers.strain[0], 0)
    assert abs(pushed @ motion + (-force[curved] * b.k_minus * more[curved]).sum()) < 0.05 * abs(pushed @ motion) + 1e-9
    assert curved.sum() > 100


def test_T9_strain_field_under_a_sine_load() -> None:
    """τ ∂ε/∂t = ε″ + f′/EA ends at N = f₀ l/2π cos(2πs/l), of second order in the spacing; the sum of strains stays."""
    errors = []
    for spacing in (3.6e-3, 1.8e-3):
        b = jd.library.push_belt_variator(spacing=spacing).start(0.0)
        lay, path = b.layers, b.path
        s = np.concatenate([[0.0], np.cumsum(path.step)[:-1]])
        length, f0 = path.step.sum(), 500.0
        line.find_line(b)
        layers.find_strains(path, lay)
        start = lay.deviation[1] @ path.share
        lay.secant[:] = 0.0
        lay.drive[1] = f0 * np.sin(2 * math.pi * s / length) * path.share
        time = lay.relaxation * (length / (2 * math.pi)) ** 2
        for _ in range(300):
            layers.find_strains(path, lay)
            layers.step_strains(path, lay, b.driving, b.driven, time / 10)
        expected = f0 * length / (2 * math.pi) * np.cos(2 * math.pi * s / length)
        errors.append(np.abs(lay.stiffness[1] * lay.deviation[1] - expected).max() / expected.max())
        assert abs(lay.deviation[1] @ path.share - start) < 1e-12
    assert errors[1] < 2e-3
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_T9_rate_of_relaxation_and_mean_speed() -> None:
    b = belt()
    lay, path = b.layers, b.path
    s = np.concatenate([[0.0], np.cumsum(path.step)[:-1]])
    length = path.step.sum()
    line.find_line(b)
    lay.deviation[1] = 1e-4 * np.cos(2 * math.pi * s / length)
    lay.deviation[1] -= lay.deviation[1] @ path.share / length
    layers.find_strains(path, lay)
    assert abs(lay.speed[1] * np.sum((1 + lay.strain[1]) / (1 + lay.mean[1]) * path.share) / length - lay.speed[1]) < 1e-12 * lay.speed[1]
    lay.secant[:] = 0.0
    lay.drive[:] = 0.0
    time, first = lay.relaxation * (length / (2 * math.pi)) ** 2, lay.deviation[1].copy()
    for _ in range(100):
        layers.find_strains(path, lay)
        layers.step_strains(path, lay, b.driving, b.driven, time / 100)
    assert abs((lay.deviation[1] @ first) / (first @ first) - math.exp(-1)) < 3e-3


def test_T10_mean_speed_under_a_constant_force() -> None:
    b = belt()
    b.driving.kinetic = b.driven.kinetic = 0
    lay, path = b.layers, b.path
    find_all(b)
    for name in ("secant", "friction", "drive"):
        getattr(lay, name)[:] = 0.0
    for p in (b.driving, b.driven):
        p.secant[:] = p.tangential[:] = 0.0
    before = lay.speed.copy()
    layers.step_speeds(path, lay, b.driving, b.driven, 1e-3)
    assert_allclose(lay.speed, before, rtol=1e-15)  # no friction: nothing changes
    f = 40.0
    lay.drive[3] = f * path.share * lay.lines[3] / path.share.sum()  # per length of the layer's own line
    layers.step_speeds(path, lay, b.driving, b.driven, 1e-3)
    assert abs(lay.speed[3] - before[3] - 1e-3 * f / lay.mass[3]) < 1e-9 * before[3]


def test_T14_complementarity_problems_of_a_pulley() -> None:
    """Random positive definite problems: pivots, Lemke's method, Gauss–Seidel, and pivots from the factors of the problem before."""
    rng = np.random.default_rng(3)
    for n in (5, 40, 150):
        B = rng.standard_normal((n, n))
        A = B @ B.T / n + np.diag(rng.uniform(0.2, 1.0, n))
        room = linear_room(n)
        room.A, room.symmetric = A.ravel().copy(), 1
        known = False
        for k in range(4):
            q = rng.standard_normal(n) + 0.02 * k
            z = complementarity(A, q).z
            w = A @ z + q
            assert np.abs(np.minimum(z, w)).max() < 1e-10
            room.q[:] = q
            assert solve_similar(room, known) == 0
            known = True
            assert_allclose(room.z, z, atol=1e-8)
            q2 = q + 1e-7  # the set stays: no factorisation
            room.q[:] = q2
            assert solve_similar(room, True) == 0 and room.iterations == 0
            assert_allclose(room.z, complementarity(A, q2).z, atol=1e-8)
            other = linear_room(n)
            other.A, other.q, other.symmetric = A.ravel().copy(), q.copy(), 1
            assert lemke(other) == 0
            assert_allclose(other.z, z, atol=1e-8)
            p = np.zeros(n)
            gauss_seidel(dense_problem(A, q, ["unilateral"] * n, [0.0] * n), p, 1e-12, 20000)
            assert_allclose(p, z, atol=1e-8)


@pytest.mark.parametrize(
    ("A", "gap", "force", "opened"),
    [
        ([[1 / 24, 5 / 48], [5 / 48, 1 / 3]], [-0.04, -0.05], [0.96, 0.0], [0.0, 0.05]),  # T12: penetrates and is open
        ([[1.0, -0.5], [-0.5, 1.0]], [-1.0, 0.2], [1.2, 0.4], [0.0, 0.0]),  # T13: a gap that is closed
    ],
)
def test_T12_T13_gaps_do_not_tell_who_touches(A, gap, force, opened) -> None:
    found = complementarity(A, gap)
    assert_allclose(found.z, force, atol=1e-12)
    assert_allclose(found.w, opened, atol=1e-12)


def test_T15_flank_forces() -> None:
    mu, wedge = 0.09, math.radians(11)
    rng = np.random.default_rng(2)
    for dv_t, dv_r in rng.standard_normal((10_000, 2)):
        normal, t, r, outward, dv = flanks.flank_force(100.0, wedge, mu, dv_t, dv_r, 0.0)
        gamma = math.asin(dv_r / dv) if dv_t > 0 else math.pi - math.asin(dv_r / dv)  # (36)
        other = math.atan2(dv_r, dv_t)
        other += 2 * math.pi if other < -math.pi / 2 else 0.0
        assert abs(gamma - other) < 1e-7
        assert abs(math.hypot(t, r) - mu * normal) < 1e-12 * normal
        assert t * dv_t + r * dv_r < 0 and abs(t * dv_r - r * dv_t) < 1e-12 * normal
        assert abs(normal * math.cos(wedge) + r * math.sin(wedge) - 100.0) < 1e-10
        assert abs(outward - normal * math.sin(wedge) + r * math.cos(wedge)) < 1e-10
    for direction, factor, radial in (((0, 1), 1.036856, 1.79112), ((1, 0), 1.018717, 2.62042), ((0, -1), 1.001201, 4.87983)):
        normal, _, _, outward, _ = flanks.flank_force(1.0, wedge, mu, *map(float, direction), 0.0)
        assert abs(normal - factor) < 1e-6
        assert abs(normal / (2 * outward) - radial) < 2e-5  # of the load that both flanks carry


def test_T16_concentric_rotation_without_slip() -> None:
    b = belt(pulleys=(jd.library.variator.parts.Pulley(play=0.0),) * 2)
    b.q[:] = 0.0
    b.rate[:] = 0.0
    b.layers.deviation[:] = 0.0
    find_all(b)
    b.layers.speed[0] = b.driving.omega * b.driving.radius[b.driving.contacts // 2]
    find_all(b)
    on = np.abs(b.driving.lean) < 1e-12
    assert np.abs(b.driving.dv_t[on]).max() < 1e-12 and np.abs(b.driving.dv_r[on]).max() < 1e-12


def test_T16_closed_contacts_do_not_move_along_their_normal() -> None:
    """(40) written down anew in three dimensions with rotation matrices: v_ax from C_dv_n = 0; what slides in the flank is what the kernel has, to the square of the lean."""
    b = belt(pulleys=(jd.library.variator.parts.Pulley(play=0.0),) * 2)
    rng = np.random.default_rng(4)
    b.q[:] = rng.standard_normal(b.size) * 2e-5
    b.rate[:] = rng.standard_normal(b.size) * 0.02
    b.layers.deviation[0] = rng.standard_normal(b.path.stations) * 1e-3
    find_all(b)
    for p in (b.driving, b.driven):
        delta, c, s = p.wedge, math.cos(p.wedge), math.sin(p.wedge)
        flank = np.array([[1, 0, 0], [0, c, s], [0, -s, c]])  # about e_t; e_r inwards
        for i in range(0, p.contacts, 3):
            j, surface = p.station[i], p.omega * p.lever[i]
            a = math.atan(b.path.w1[j] + p.lean[i])
            turned = np.array(
                [[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]]
            )  # from the pulley's to the belt's tangent
            speed = b.layers.speed[0] * (1 + b.layers.strain[0, j]) / (1 + b.layers.mean[0])
            element = np.array([speed, -b.path.wdot[j], 0.0])
            relative = flank @ (element - turned @ np.array([surface, 0.0, 0.0]))
            v_ax = -relative[2] / c
            relative += flank @ np.array([0.0, 0.0, v_ax])
            assert abs(relative[2]) < 1e-14 * surface
            assert abs(v_ax - math.tan(delta) * p.dv_r[i] * c) < 2e-9 + surface * a * a
            assert_allclose(relative[:2], [p.dv_t[i], p.dv_r[i]], atol=2 * surface * a * a + 1e-12)


def test_T18_pack_that_lifts_off_its_saddle() -> None:
    """So fast that rings fly outwards: the saddle carries nothing, the ears what the recursion (48) leaves (44)."""
    b = belt()
    lay, path = b.layers, b.path
    b.q[:] = 0.0
    lay.speed[1:] = 260.0
    find_all(b)
    arc = b.driving.station[20:60]
    v = lay.speed[1:, None] * (1 + lay.strain[1:]) / (1 + lay.mean[1:, None])
    T = lay.stiffness[1:, None] * np.maximum(lay.strain[1:], 0)
    steps = ((lay.mass[1:, None] * v**2 - T) * path.angle * path.pressed)[:, arc]
    assert steps.sum(axis=0).min() > 0.0
    assert_allclose(lay.normal[1, arc], 0.0, atol=1e-12 * steps.sum(axis=0).max())
    assert_allclose(np.diff(lay.normal[1:, arc], axis=0), steps, rtol=1e-9, atol=1e-9)
    dv = lay.inner[0, arc] * lay.speed[0] * (1 + lay.strain[0, arc]) / (1 + lay.mean[0]) - lay.outer[10, arc] * v[9, arc]
    assert (dv < 0).all() and (lay.friction[11, arc] < 0).all()  # fast rings drag the ears forwards


def test_T18_normal_forces_and_surface_speeds_of_rings() -> None:
    b = belt()
    b.q[:] = 0.0
    find_all(b)
    lay, path = b.layers, b.path
    arc = b.driving.station[20:60]
    assert (path.pressed[arc] == 1.0).all()
    v = lay.speed[1:, None] * (1 + lay.strain[1:]) / (1 + lay.mean[1:, None])
    T = lay.stiffness[1:, None] * np.maximum(lay.strain[1:], 0)
    expected = ((T - lay.mass[1:, None] * v**2) * path.angle).sum(axis=0)
    assert_allclose(lay.normal[1, arc], expected[arc], rtol=1e-12)
    lay.speed[:] = 11.0
    lay.deviation[:] = 0.0
    find_all(b)
    kap0 = path.angle[arc] / path.share[arc]
    kap = [kap0 / (1 + (lay.saddle + (k - 0.5) * lay.thickness) * kap0) for k in range(1, 11)]
    for k in range(2, 11):
        dv = lay.inner[k, arc] * 11.0 - lay.outer[k - 1, arc] * 11.0
        assert_allclose(dv, -0.5 * lay.thickness * 11.0 * (kap[k - 1] + kap[k - 2]), rtol=1e-9)
    span = np.flatnonzero(path.turning == 0.0)[20:60]
    assert_allclose(lay.inner[:, span], 1.0, atol=1e-12)
    assert_allclose(lay.outer[:, span], 1.0, atol=1e-12)  # dv_k = v_k − v_(k−1)


def test_T19_ring_dragged_over_elements_that_stand() -> None:
    """Euler's rope with a moving mass: (T₁ − m̄v²)/(T₂ − m̄v²) = e^(μα)."""
    friction = jd.library.variator.parts.Friction(ring_mu_c=0.05, ring_mu_s=0.05)
    rings = jd.library.variator.parts.Rings(count=1, EA=6.6e6, mass_per_length=0.245, EI=0.0)
    b = belt(friction=friction, rings=rings)
    b.q[:] = 0.0
    lay, path = b.layers, b.path
    lay.length[1] *= 0.9995
    lay.relaxation = 1e-3
    for _ in range(400):
        lay.speed[0], lay.speed[1] = 0.01, 11.0
        find_all(b)
        path.pressed[b.driven.station] = 0.0  # the ring is held on the other side by nothing but the closed form's tension
        layers.find_friction(path, lay)
        lay.drive[:] = 0.0
        layers.add_drive(path, lay)
        lay.drive[0] = 0.0
        lay.drive[1, 241:260] -= lay.drive[1].sum() * path.share[241:260] / path.share[241:260].sum()
        layers.step_strains(path, lay, b.driving, b.driven, 1e-3)
    T = lay.stiffness[1] * lay.strain[1]
    inertia = lay.mass[1] * 11.0**2
    before, after = T[300] - inertia, T[120] - inertia
    alpha = path.angle[b.driving.station][path.pressed[b.driving.station] > 0].sum()
    assert abs(after / before / math.exp(0.05 * alpha) - 1) < 5e-3


def test_T20_first_order_of_sheave_and_tilt() -> None:
    b = belt()
    p = b.driven
    p.held, p.axial, p.thrust = 0, 12000.0, 10000.0
    p.moment_x, p.moment_y, p.tilt_gain, p.tilt_x, p.tilt_y, p.bend_moment = 30.0, -60.0, 0.0, 0.0, 0.0, 0.0
    z, n = p.z, 2000
    h = p.delay / n
    gone = 2000.0 / p.axial_stiffness
    for _ in range(n):  # a spring of the stiffness of the contacts takes the place of the belt
        p.axial = 12000.0 - p.axial_stiffness * (p.z - z)
        flanks.step_pulley(p, h, 0.0)
    assert abs((p.z - z) / gone - (1 - math.exp(-1))) < 1e-3
    assert_allclose([p.tilt_x, p.tilt_y], (1 - math.exp(-1)) * np.array([30.0, -60.0]) / p.tilt_stiffness, rtol=1e-3)
    for _ in range(20 * n):
        flanks.step_pulley(p, h, 0.0)
    assert_allclose([p.tilt_x, p.tilt_y], np.array([30.0, -60.0]) / p.tilt_stiffness, rtol=1e-6)


@pytest.mark.parametrize("what", ["tilt", "bend"])
def test_T17_a_load_opens_the_groove_where_it_acts(what: str) -> None:
    b = belt(pulleys=(jd.library.variator.parts.Pulley(play=0.0),) * 2)
    p = b.driving
    find_all(b)
    closed = p.problem.q.copy()
    i = 70
    p.pull_x = p.pull_y = 0.0
    p.moment_x, p.moment_y = -p.lever[i] * p.sine[i] * 1000.0, p.lever[i] * p.cosine[i] * 1000.0
    p.held = 1
    if what == "tilt":
        p.bend_moment = 0.0
    else:
        p.tilt_stiffness = 1e15
    for _ in range(50):
        flanks.step_pulley(p, 1e-3, 0.0)
    flanks.find_axial_forces(p, b.path)
    opened = p.problem.q - closed
    assert opened[i] > 1e-7 and opened[i] == pytest.approx(opened.max(), rel=1e-3)


def test_T22_frequency_of_a_chain_of_elements() -> None:
    """Why elements are no degrees of freedom: their chain vibrates with hundreds of kilohertz."""
    sound, b = math.sqrt(2.1e11 / 7800), 1.8e-3
    assert abs(sound - 5189) < 1
    for part, expected in ((1.0, 918e3), (0.3, 503e3)):
        n = 60
        k = (part * sound**2 / b**2) * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
        k[0, 0] = k[-1, -1] = part * sound**2 / b**2
        f = math.sqrt(np.linalg.eigvalsh(k)[-1]) / (2 * math.pi)
        assert abs(f / expected - 1) < 2e-3
