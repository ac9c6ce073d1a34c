"""Classics of friction and impact: billiards, tops that turn over, stones that turn back, and the limits at which things no longer stand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jourdain as jd
from jourdain.model.contact.laws import rigid

G = 9.81
R = 0.0305  # m, a billiard ball


def on_table(law: Any, balls: int = 1, gravity: Any = (0.0, 0.0, -G)) -> jd.System:
    m = jd.Model("table", gravity=gravity)
    m.ground.shapes.append(jd.plane())
    for k in range(balls):
        m.free(f"f{k}", m.ground, m.body(f"ball{k}", shape=jd.sphere(R, density=1700.0)))
    m.contact("touch", law=law)
    return m.compile()


def spins(joint: str, omega: Any) -> dict[str, float]:
    """Angular velocity of a start, in the axes of the body."""
    return {f"{joint}.orientation.omega_{c}": float(w) for c, w in zip("xyz", omega, strict=True)}


def rotations(sol: jd.Solution, joint: str) -> np.ndarray:
    """From the axes of the body to those of the world, at all times."""
    w, x, y, z = (sol[f"{joint}.orientation.e{k}"] for k in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def turning(sol: jd.Solution, joint: str) -> np.ndarray:
    """Angular velocity in the axes of the world, at all times."""
    return np.einsum("tij,tj->ti", rotations(sol, joint), np.stack([sol[f"{joint}.orientation.omega_{c}"] for c in "xyz"], 1))


# -- billiards ----------------------------------------------------------------------------------------------------


def masse(mu: float, **way: Any) -> tuple[jd.Solution, np.ndarray, np.ndarray]:
    """A ball with side spin; the exact path and the velocity at the end.

    The sliding velocity u = v + ω × (−R n) keeps its direction, u̇ = −7/2 μ g û: v = v₀ − μ g û t until 2‖u₀‖/7 μ g, then v₀ − 2/7 u₀ for good.
    """
    v0, spin = np.array([1.2, 0.0]), np.array([-60.0, -40.0, 25.0])
    sol = on_table(rigid(friction=mu)).simulate({"f0.z": R, "f0.x_rate": v0[0], **spins("f0", spin)}, 1.0, **way)
    u0 = v0 + R * np.array([-spin[1], spin[0]])
    end, along = 2.0 * np.linalg.norm(u0) / (7.0 * mu * G), u0 / np.linalg.norm(u0)
    slid, t = np.minimum(sol.t, end)[:, None], sol.t[:, None]
    last = v0 - 2.0 / 7.0 * u0
    return sol, v0 * slid - 0.5 * mu * G * along * slid**2 + last * (t - slid), last


def test_masse_a_ball_with_side_spin_runs_on_a_parabola() -> None:
    sol, path, last = masse(0.2, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(np.c_[sol["f0.x"], sol["f0.y"]], path, atol=1e-9)
    np.testing.assert_allclose([sol["f0.x_rate"][-1], sol["f0.y_rate"][-1]], last, atol=1e-10)
    np.testing.assert_allclose(turning(sol, "f0")[:, 2], 25.0, atol=1e-8)  # a point of contact does not brake the spin about the normal
    assert np.abs(sol["f0.z"] - R).max() < 1e-12


def test_masse_by_moreaus_steps_has_order_two() -> None:
    errors = []
    for step in (1e-3, 5e-4):
        sol, path, _ = masse(0.2, method="moreau", step=step)
        errors.append(float(np.abs(np.c_[sol["f0.x"], sol["f0.y"]] - path).max()))
        assert np.abs(sol["f0.z"] - R).max() < 1e-9
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] > 3.5


@pytest.mark.parametrize("law", ["newton", "poisson", "stronge"])
@pytest.mark.parametrize(("mu", "sticks"), [(0.05, False), (0.5, True)])
def test_two_balls_meet_obliquely(mu: float, sticks: bool, law: str) -> None:
    """p_N = (1 + e) m u_N/2; along the tangent μ p_N, or m u_T/7 where that is less and the surfaces come to roll on each other."""
    e, angle, speed = 0.9, 0.6, 2.0
    s = on_table(rigid(friction=mu, restitution=e, law=law), 2, (0, 0, 0))
    un, ut = speed * math.cos(angle), speed * math.sin(angle)
    start = {"f0.x": -2.0 * R - 0.9e-3 * un, "f0.z": 1.0, "f1.z": 1.0, "f0.x_rate": un, "f0.y_rate": ut, "f0.y": -0.9e-3 * ut}
    ways = [{"method": "moreau", "step": 2e-5}, {"rtol": 1e-11, "atol": 1e-13}]
    for way in ways if law == "newton" else ways[:1]:
        sol = s.simulate(start, 2e-3, **way)
        assert (mu * (1.0 + e) / 2.0 * un > ut / 7.0) == sticks
        pn, pt = 0.5 * (1.0 + e) * un, min(mu * 0.5 * (1.0 + e) * un, ut / 7.0)
        near = 5e-4 if "method" in way else 1e-9  # Moreau's normal is that of the step in which they meet
        np.testing.assert_allclose([sol["f1.x_rate"][-1], sol["f1.y_rate"][-1]], [pn, pt], atol=near)
        np.testing.assert_allclose([sol["f0.x_rate"][-1], sol["f0.y_rate"][-1]], [un - pn, ut - pt], atol=near)
        np.testing.assert_allclose([turning(sol, f)[-1, 2] for f in ("f0", "f1")], -2.5 * pt / R, atol=near / R)  # both turn alike


# -- tops and stones ----------------------------------------------------------------------------------------------


def test_a_tippe_top_turns_over_and_keeps_jelletts_constant() -> None:
    """A sphere whose mass lies below its centre: L·(from the centre of mass to the contact) is constant whatever the friction (Jellett 1872)."""
    r, a, mass = 0.02, 0.004, 0.02
    inertia = np.array([4e-6, 4e-6, 4.2e-6]) * 0.8
    m = jd.Model("tippe top")
    m.ground.shapes.append(jd.plane())
    top = m.body("top", mass=mass, inertia=tuple(inertia))
    top.shapes.append(jd.sphere(r).at(0, 0, a))  # the origin is the centre of mass
    m.free("f", m.ground, top)
    m.contact("floor", law=rigid(friction=0.1))
    s = m.compile()
    tilt = 0.1
    start = {
        "f.z": r - a * math.cos(tilt), "f.orientation.e0": math.cos(tilt / 2), "f.orientation.e1": math.sin(tilt / 2),
        **spins("f", (0.0, 180.0 * math.sin(tilt), 180.0 * math.cos(tilt))),
    }  # fmt: skip
    sol = s.simulate(start, 5.0, "moreau", step=1e-4)
    turn, rows = rotations(sol, "f"), np.arange(0, len(sol.t), 50)
    lean = np.degrees(np.arccos(np.clip(turn[:, 2, 2], -1, 1)))
    assert lean[0] < 6.0
    assert lean[-1] > 170.0  # it stands on its stem
    momentum = inertia * np.stack([sol[f"f.orientation.omega_{c}"] for c in "xyz"], 1)  # in the axes of the body
    arm = a * np.array([0, 0, 1.0]) - r * turn[:, 2, :]
    jellett = (momentum * arm).sum(1)[rows]
    assert np.ptp(jellett) < 5e-4 * abs(jellett[0])
    assert np.all(np.diff(sol["energy.total"][rows]) < 1e-9)
    # from event to event the constant is one
    exact = s.simulate(start, 0.3, rtol=1e-9, atol=1e-11)
    momentum = inertia * np.stack([exact[f"f.orientation.omega_{c}"] for c in "xyz"], 1)
    jellett = (momentum * (a * np.array([0, 0, 1.0]) - r * rotations(exact, "f")[:, 2, :])).sum(1)
    assert np.ptp(jellett) < 1e-9 * abs(jellett[0])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same as NumPy's, for two vectors, in a tenth of its time."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def rolling_ellipsoid(
    mass: float, inertia: np.ndarray, axes: np.ndarray, centre: np.ndarray, omega: np.ndarray, t: np.ndarray
) -> np.ndarray:
    """ω (in the axes of the body) of an ellipsoid that rolls on a plane without sliding, by Newton's and Euler's equations of its own.

    ρ from the centre of mass to the contact is −D²u/√(u D² u) + centre with the vertical u; v = −ω × ρ.
    """
    D2 = np.diag(axes**2)

    def arm(u: np.ndarray) -> np.ndarray:
        return centre - D2 @ u / math.sqrt(u @ D2 @ u)

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        u, w = y[:3], y[3:]
        turned, root = -cross(w, u), math.sqrt(u @ D2 @ u)
        rho, drho = arm(u), -D2 @ turned / root + D2 @ u * (u @ D2 @ turned) / root**3
        v = -cross(w, rho)
        bias = -cross(w, drho) + cross(w, v) + G * u  # acceleration without ω̇, and weight
        tilde = np.array([[0, -rho[2], rho[1]], [rho[2], 0, -rho[0]], [-rho[1], rho[0], 0]])
        # I ω̇ + ω × I ω = ρ × m (−ω̇ × ρ + bias) = m ρ̃ (ρ̃ ω̇ + bias)
        return np.r_[turned, np.linalg.solve(inertia - mass * tilde @ tilde, mass * cross(rho, bias) - cross(w, inertia @ w))]

    found = solve_ivp(rate, (0.0, t[-1]), np.r_[0, 0, 1, omega], "DOP853", t_eval=t, rtol=1e-11, atol=1e-12)
    return np.asarray(found.y[3:].T)


def test_a_rattleback_turns_back() -> None:
    """Axes of inertia that are skew to those of curvature: the stone spins, rattles, and spins the other way, with all of its energy."""
    axes, centre, mass, skew = np.array([0.10, 0.03, 0.02]), np.array([0.0, 0.0, 0.01]), 0.2, 0.2
    c, s_ = math.cos(skew), math.sin(skew)
    turn = np.array([[c, -s_, 0], [s_, c, 0], [0, 0, 1]])
    inertia = turn @ np.diag([4e-5, 3e-4, 3.1e-4]) @ turn.T
    m = jd.Model("rattleback")
    m.ground.shapes.append(jd.plane())
    stone = m.body("stone", mass=mass, inertia=tuple(map(tuple, inertia)))
    stone.shapes.append(jd.ellipsoid(*axes).at(*centre))
    m.free("f", m.ground, stone)
    m.contact("floor", law=rigid(friction=2.0))
    s = m.compile()
    omega = np.array([0.01, -0.02, -5.0])
    # the contact is at rest: v = −ω × ρ with ρ = (0, 0, 0.01 − 0.02)
    v = -np.cross(omega, centre - np.array([0, 0, axes[2]]))
    start = {"f.z": axes[2] - centre[2], **{f"f.{n}_rate": float(x) for n, x in zip("xyz", v, strict=True)}, **spins("f", omega)}
    sol = s.simulate(start, 4.0, rtol=1e-9, atol=1e-11)
    spin = sol["f.orientation.omega_z"]
    assert spin[0] == -5.0
    assert spin.max() > 4.7
    assert np.ptp(sol["energy.total"]) < 2e-8 * np.ptp(sol["energy.kinetic"])
    exact = rolling_ellipsoid(mass, inertia, axes, centre, omega, sol.t)
    np.testing.assert_allclose(np.stack([sol[f"f.orientation.omega_{n}"] for n in "xyz"], 1), exact, atol=3e-6)


# -- friction -----------------------------------------------------------------------------------------------------


def block(angle: float, law: Any) -> jd.System:
    m = jd.Model("slope", gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("block", shape=jd.box(0.2, 0.1, 0.1, density=1000.0)))
    m.contact("touch", law=law)
    return m.compile()


@pytest.mark.parametrize("angle", [0.1, 0.45, math.atan(0.5) - 1e-6])
def test_a_block_stands_on_a_slope_for_a_hundred_seconds(angle: float) -> None:
    sol = block(angle, rigid(friction=0.5)).simulate({"f.z": 0.05}, 100.0, "moreau", step=5e-3)
    assert np.abs(sol["f.x_rate"]).max() < 1e-12
    assert np.abs(sol["f.x"]).max() < 1e-12


def test_a_block_just_above_the_angle_of_friction_slides() -> None:
    angle = math.atan(0.5) + 1e-6
    sol = block(angle, rigid(friction=0.5)).simulate({"f.z": 0.05}, 1.0, "moreau", step=5e-3)
    np.testing.assert_allclose(sol["f.x_rate"][-1], G * (math.sin(angle) - 0.5 * math.cos(angle)), rtol=1e-6)


def test_fast_sliding_does_not_lift() -> None:
    """At 100 m/s the exact cone lifts nothing; the convex one lifts by u_N = μ u_T = μ 100/(1 + μ²) at once, and says so."""
    start = {"f.z": 0.05, "f.x_rate": 100.0}
    exact = block(0.0, rigid(friction=0.5)).simulate(start, 1.0, "moreau", step=1e-3)
    assert np.abs(exact["f.z"] - 0.05).max() < 1e-9
    np.testing.assert_allclose(exact["f.x_rate"][-1], 100.0 - 0.5 * G, rtol=1e-9)
    convex = block(0.0, rigid(friction=0.5, cone="convex")).simulate(start, 0.1, "moreau", step=1e-3)
    assert (convex["f.z"] - 0.05).max() > 1e-2
    np.testing.assert_allclose(convex["contacts.opening"][1], 50.0 / 1.25, rtol=1e-4)


def test_the_period_of_stick_and_slip() -> None:
    """μ₀ > μ on a belt of speed V: slides (2π − 2 arctan(Δω/V))/ω, sticks 2Δ/V with Δ = (μ₀ − μ) m g/k."""
    v, mu, held, k = 0.1, 0.2, 0.3, 50.0
    m = jd.Model("belt")
    belt = m.body("belt", mass=1.0, inertia=(1, 1, 1))
    belt.shapes.append(jd.plane())
    m.drive(m.prismatic("roll", m.ground, belt, axis="x"), lambda t: v * t)
    mass = m.body("mass", shape=jd.box(0.1, 0.1, 0.1, density=1000.0))
    m.free("f", m.ground, mass)
    m.spring("spring", m.ground.at(-1.0, 0, 0.05), mass, stiffness=k, length=1.0)
    m.contact("grip", belt, mass, law=rigid(friction=mu, static=held))
    delta, omega = (held - mu) * G / k, math.sqrt(k)
    period = (2.0 * math.pi - 2.0 * math.atan(delta * omega / v)) / omega + 2.0 * delta / v
    found = []
    for step in (2e-3, 1e-3, 5e-4):
        sol = m.compile().simulate({"f.z": 0.05, "f.x": 0.0, "f.x_rate": v}, 6.0, "moreau", step=step)
        tops = [i for i in range(1, len(sol.t) - 1) if sol["f.x"][i - 1] < sol["f.x"][i] >= sol["f.x"][i + 1]]
        found.append(float(np.diff(sol.t[tops]).mean()))
    errors = np.abs(np.array(found) - period)
    assert errors[-1] < 2e-3
    assert errors[-1] < 0.6 * errors[0]


# -- what stands, and what does not -------------------------------------------------------------------------------


def stands(model: jd.Model, start: dict[str, float], least: float) -> bool:
    """Whether nothing moves at once; what falls must do so faster than ``least`` (m/s after 10 ms)."""
    sol = model.compile().simulate(start, 0.01, rtol=1e-6, atol=1e-14)
    speed = max(float(np.abs(sol[n][-1]).max()) for n in sol.names if n.endswith("_rate") or ".omega_" in n)
    assert speed < 1e-3 * least or speed > least, speed
    return speed < least


def ladder(mu: float) -> tuple[jd.Model, dict[str, float]]:
    """A ladder of 2 m at 60° with round ends of 1 cm, on a rough floor and a smooth wall."""
    length, r, lean = 2.0, 0.01, math.radians(60.0)
    x, z = 0.5 * length * math.cos(lean), 0.5 * length * math.sin(lean) + r
    m = jd.Model("ladder")
    m.ground.shapes += [jd.plane(), jd.box(1.0, 1.0, 10.0).at(2.0 * x + r + 0.5, 0, 5.0)]
    body = m.body("ladder", mass=10.0, inertia=(3.0, 3.0, 0.1))
    body.shapes += [jd.sphere(r).at(0, 0, 0.5 * length), jd.sphere(r).at(0, 0, -0.5 * length)]
    m.sequence("j", m.ground, body, ["Tx", "Tz", "Ry"])
    floor, wall = m.shapes("ground")
    m.contact("floor", body, [floor], law=rigid(friction=mu))
    m.contact("wall", body, [wall], law=rigid())
    names = m.joints["j"].coordinates
    return m, dict(zip([c.names[0] for c in names], (x, z, 0.5 * math.pi - lean), strict=True))


def test_a_ladder_slides_below_its_limit_of_friction() -> None:
    """Moments about the foot: H (L sin α + r) = ½ W L cos α, and H ≤ μ W."""
    lean = math.radians(60.0)
    limit = math.cos(lean) / (2.0 * math.sin(lean) + 0.01)
    assert stands(*ladder(limit * (1.0 + 1e-9)), 1e-12)
    assert not stands(*ladder(limit * (1.0 - 1e-9)), 1e-12)


def books(count: int, shift: float) -> tuple[jd.Model, dict[str, float]]:
    """A stack of books over the edge of a table, each by L/2k over the one below; the whole stack ``shift`` further out."""
    length, thick = 0.2, 0.03
    m = jd.Model("books")
    m.ground.shapes.append(jd.box(1.0, 1.0, 0.1).at(-0.5, 0, -0.05))  # its edge at x = 0
    start, end = {}, shift + 0.5 * length * sum(1.0 / k for k in range(1, count + 1))
    for k in range(1, count + 1):  # from the top
        b = m.body(f"b{k}", shape=jd.box(length, 0.15, thick, density=600.0))
        m.free(f"f{k}", m.ground, b)
        start |= {f"f{k}.x": end - 0.5 * length, f"f{k}.z": (count - k + 0.5) * thick}
        end -= 0.5 * length / k
    m.contact("touch", law=rigid(friction=0.6))
    return m, start


@pytest.mark.parametrize("count", [1, 2, 4])
def test_books_hang_over_by_half_the_harmonic_sum(count: int) -> None:
    assert stands(*books(count, -1e-9), 1e-10)
    assert not stands(*books(count, 1e-9), 1e-10)


def voussoir(k: int, count: int, thick: float) -> np.ndarray:
    """Corners (x, z) of stone k of half an arch of mean radius 1, from the crown on."""
    inner, outer = 1.0 - 0.5 * thick, 1.0 + 0.5 * thick
    a, b = (0.5 * math.pi * j / count for j in (k, k + 1))
    return np.array([(r * math.sin(x), r * math.cos(x)) for r, x in ((inner, a), (outer, a), (outer, b), (inner, b))])


def centroid(polygon: np.ndarray) -> tuple[float, float]:
    """Area and x of its centroid."""
    x, z = polygon.T
    share = x * np.roll(z, -1) - z * np.roll(x, -1)
    return abs(0.5 * share.sum()), float(((x + np.roll(x, -1)) * share).sum() / (3.0 * share.sum()))


def least_thickness(count: int) -> float:
    """Heyman's five hinges: thrust through the crown's back, the belly at a joint, and the back at the springing (half an arch of ``count`` stones)."""

    def miss(thick: float, joint: int) -> float:
        inner, outer = 1.0 - 0.5 * thick, 1.0 + 0.5 * thick
        stones = [centroid(voussoir(k, count, thick)) for k in range(count)]
        b = 0.5 * math.pi * joint / count
        at_joint = sum(w * (inner * math.sin(b) - x) for w, x in stones[:joint]) / (outer - inner * math.cos(b))
        return float(sum(w * (outer - x) for w, x in stones) / outer - at_joint)

    return max(brentq(miss, 0.02, 0.3, args=(j,), xtol=1e-15) for j in range(1, count) if miss(0.02, j) * miss(0.3, j) < 0.0)


def arch(count: int, thick: float) -> tuple[jd.Model, dict[str, float]]:
    m = jd.Model("arch")
    m.ground.shapes.append(jd.plane())
    for k in range(count):
        for side, sign in (("l", -1.0), ("r", 1.0)):
            corners = voussoir(k, count, thick) * [sign, 1.0]
            stone = m.body(f"{side}{k}", shape=jd.prism([(z, x) for x, z in corners], 0.3, density=2000.0, axis="y"))
            m.free(f"f{side}{k}", m.ground, stone)
    m.contact("touch", law=rigid(friction=1.0))
    return m, {}


def test_an_arch_stands_down_to_its_least_thickness() -> None:
    limit = least_thickness(4)
    assert 0.08 < limit < 0.12  # 0.1075 of the radius for ever more stones (Milankovitch)
    assert stands(*arch(4, limit * (1.0 + 1e-9)), 2e-11)
    assert not stands(*arch(4, limit * (1.0 - 1e-9)), 2e-11)
