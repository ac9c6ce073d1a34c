"""Inputs for outputs whose internal motion runs away: bounded solutions, least squares, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import jourdain as jd
from jourdain.elements.servo import point_to_point
from jourdain.errors import InputError
from tests.analysis.test_servo_tracking import DURATION, FIRST, INPUTS, LAST, START, arm, crane, outputs
from tests.systems.assembled.flat_cranes import T, function, line, rate, rotary


def angles(m: jd.Model) -> list[jd.Expr]:
    return [m.joints[n].coordinates[0].q[0] for n in ("shoulder", "elbow")]


def tip_of_the_arm() -> tuple[jd.Model, jd.Expr]:
    m = arm()
    return m, sum(angles(m)) - point_to_point(m.time, 0.0, 1.5)


def by_two_angles(t: np.ndarray, before: float, after: float) -> np.ndarray:
    """Motor torque and elbow by SciPy's collocation on the zero dynamics of two uniform links, derived by hand.

    With e the elbow and y = q₁ + e prescribed: M₂₁ q̈₁ + M₂₂ ë + h q̇₁² + c ė + k e = 0, q₁ = y − e, h = m l a sin e.
    """
    mass, a, J, k, c = 2.0, 0.5, 1.0 / 6.0, 50.0, 0.25
    course = point_to_point(T, 0.0, 1.5)
    y, yd, ydd = (function(rate(course, n)) for n in range(3))
    M22 = J + mass * a * a
    both = lambda e: M22 + mass * a * np.cos(e)  # M₂₁, links of length 1

    def acceleration(t, e, ed):
        # M₂₁ (ÿ − ë) + M₂₂ ë + m a sin(e) (ẏ − ė)² + c ė + k e = 0
        return -(both(e) * ydd(t) + mass * a * np.sin(e) * (yd(t) - ed) ** 2 + c * ed + k * e) / (M22 - both(e))

    s = np.roots([M22 - both(0.0), c, k])  # about e = 0
    down, up = sorted(s.real)
    found = solve_bvp(
        lambda t, z: np.array([z[1], acceleration(t, z[0], z[1])]), lambda l, r: np.array([l[1] - up * l[0], r[1] - down * r[0]]),
        np.linspace(-before, 1.5 + after, 2001), np.zeros((2, 2001)), tol=1e-10, max_nodes=200000,
    )  # fmt: skip
    assert found.success
    e, ed = found.sol(t)
    edd = acceleration(t, e, ed)
    q1dd, q1d = ydd(t) - edd, yd(t) - ed
    M11 = 2.0 * J + mass * a * a + mass * (1.0 + a * a + 2.0 * a * np.cos(e))
    torque = M11 * q1dd + both(e) * edd - mass * a * np.sin(e) * (2.0 * q1d * ed + ed**2)
    return np.array([torque, e])


def test_stable_inversion_of_an_arm() -> None:
    """The tip of an arm with an elastic elbow: the same as the zero dynamics in two angles, of fourth order; forward runs of second."""
    m, error = tip_of_the_arm()
    directors = m.compile(formulation="directors")
    errors, missed = [], []
    for h in (0.05, 0.025):
        sol = directors.track({"motor": error}, None, 1.5, step=h, inversion="stable")
        told = sol.metadata["inversion"]
        torque, elbow = by_two_angles(sol.t, told["before"], told["after"])
        errors.append([np.abs(sol["motor"] - torque).max(), np.abs(sol["elbow.angle"] - elbow).max()])
        missed.append(told["output_error"])
        course = function(point_to_point(T, 0.0, 1.5))(sol.t)
        np.testing.assert_allclose(sol["shoulder.angle"] + sol["elbow.angle"], course, atol=1e-10)
    assert errors[1][0] < 1e-3 and errors[1][1] < 1e-5
    # the course has four continuous derivatives: differences of its second are of third order where the fifth jumps
    assert np.log2(np.divide(errors[0], errors[1])) == pytest.approx([2.9, 3.98], abs=0.1)
    assert missed[1] < 3e-4 and np.log2(missed[0] / missed[1]) == pytest.approx(2.0, abs=0.2)
    # it acts before the tip moves, and rests at both ends
    early = sol.t < -1e-9
    assert np.abs(sol["motor"][early]).max() > 1.0
    assert told["from_rest"] < 1e-4 and told["to_rest"] < 1e-4
    # of uniform links y = q₁ + s q₂ is followed forwards up to s = M₂₂/M₂₁ = 2/5
    assert told["minimum_phase"] == pytest.approx(0.4, abs=1e-4)
    assert told["internal"][1][0] == pytest.approx(7.197, abs=1e-3)


def carts() -> tuple[jd.Model, jd.Expr]:
    """Two carts with a spring; where 2 x₂ − x₁ is prescribed, the internal motion runs away (b₁ k₂ …)."""
    m = jd.Model("carts", gravity=(0, 0, 0))
    place: jd.Body | jd.Frame = m.ground
    for k in (1, 2):
        cart = m.body(f"cart{k}", float(k))
        m.prismatic(f"x{k}", m.ground, cart, axis="x")
    x = [m.joints[f"x{k}"].coordinates[0].q[0] for k in (1, 2)]
    m.force(m.joints["x1"], m.input("push", unit="N"))
    m.force(m.joints["x1"], 30.0 * (x[1] - x[0]), name="spring1")
    m.force(m.joints["x2"], 30.0 * (x[0] - x[1]), name="spring2")
    m.force(m.joints["x1"], -50.0 * x[0], name="wall")
    del place
    return m, 2.0 * x[1] - x[0]


def test_linear_system_in_closed_form() -> None:
    """Against integrals of exponentials in both directions of time."""
    m, output = carts()
    course = lambda t: point_to_point(t, 0.0, 1.2, 0.0, 0.3)
    linear = m.compile().linearise(None, inputs=["push"], outputs={"y": output})
    exact = {h: linear.invert({"y": course}, 1.2, before=2.4, after=2.4, step=h) for h in (0.04, 0.02)}
    assert (exact[0.02].internal.real > 1.0).sum() == 1
    errors = []
    for h, found in exact.items():
        np.testing.assert_allclose(found.x @ linear.C[0], function(course(T))(found.t), atol=1e-12)
        sol = m.compile(formulation="directors").track(
            {"push": output - course(m.time)}, None, 1.2, step=h, inversion="stable", before=2.4, after=2.4
        )
        np.testing.assert_allclose(sol.t, found.t, atol=1e-12)
        errors.append(np.abs(sol["push"] - found.u[:, 0]).max() / np.abs(found.u).max())
    assert errors[1] < 2e-4 and np.log2(errors[0] / errors[1]) > 2.6  # as above
    np.testing.assert_allclose(exact[0.04].u[:, 0], exact[0.02].u[::2, 0], atol=1e-8)


def test_flat_crane_needs_no_time_before() -> None:
    """A crane has no internal motion: the boundary-value problem finds what flatness says, without a start of its own."""
    m = crane()
    sol = m.compile(formulation="directors").track(outputs(m), START, DURATION, step=0.08, inversion="stable")
    _, exact = rotary(line(FIRST, LAST, DURATION), bridge=305.0 + 200.0 * 4.0 + 1.0, winch=0.0)
    exact[2] = -exact[2]
    inside = slice(3, -3)
    for name, e in zip(INPUTS, exact, strict=True):
        wanted = function(e)(sol.t[inside])
        assert np.abs(sol[name][inside] - wanted).max() < 3e-4 * np.abs(wanted).max()
    told = sol.metadata["inversion"]
    assert told["index"] == 5 and not told["internal"] and told["minimum_phase"] == 1.0


def test_optimal_inversion() -> None:
    """Without limits nearly the bounded solution; within limits better than the same inputs cut off, and never above them."""
    m, error = tip_of_the_arm()
    directors = m.compile(formulation="directors")
    stable = directors.track({"motor": error}, None, 1.5, step=0.025, inversion="stable", before=1.0, after=1.0)
    free = directors.track({"motor": error}, None, 1.5, step=0.025, inversion="optimal", before=1.0, after=1.0)
    assert np.abs(free["motor"] - stable["motor"])[4:-4].max() < 0.05 * np.abs(stable["motor"]).max()
    tight = directors.track({"motor": error}, None, 1.5, step=0.025, inversion="optimal", before=1.0, after=1.0, limits={"motor": 10.0})
    assert np.abs(tight["motor"]).max() <= 10.0 and (np.abs(tight["motor"]) > 9.999).sum() > 5

    def missed(u: np.ndarray) -> float:
        run = m.compile().simulate({}, (-1.0, 2.5), inputs={"motor": (stable.t, u)}, rtol=1e-8, times=stable.t)
        course = function(point_to_point(T, 0.0, 1.5))(run.t)
        return float(np.sqrt(np.mean((run["shoulder.angle"] + run["elbow.angle"] - course) ** 2)))

    cut = missed(np.clip(stable["motor"], -10.0, 10.0))
    assert missed(tight["motor"]) < 0.5 * cut
    # changed a little in any direction within the limits the inputs found miss more
    rng = np.random.default_rng(1)
    best = missed(tight["motor"])
    bump = np.exp(-(((tight.t - 0.7) / 0.2) ** 2))
    for factor in (-0.3, 0.3):
        assert missed(np.clip(tight["motor"] + factor * bump * rng.uniform(0.8, 1.2), -10.0, 10.0)) > best


def test_refusals() -> None:
    m, error = tip_of_the_arm()
    directors = m.compile(formulation="directors")
    shoulder, elbow = angles(m)
    with pytest.raises(
        InputError, match=r"before = 0.2 s is too short for the slowest internal motion \(7.2 1/s\).*take before = 0.416 s at least"
    ):
        directors.track({"motor": error}, None, 1.5, inversion="stable", before=0.2)
    with pytest.raises(
        InputError, match="has a derivative of order 1 that jumps at t = 0.5 s; equations of index 3 need courses with 1 continuous"
    ):
        corner = jd.where(m.time < 0.5, 0.0, jd.where(m.time < 1.0, m.time - 0.5, 0.5))
        directors.track({"motor": shoulder + elbow - corner}, None, 1.5, inversion="stable")
    with pytest.raises(InputError, match="a course ends in motion at t = .* s; it has to be at rest there"):
        directors.track({"motor": shoulder + elbow - jd.where(m.time < 0.0, 0.0, m.time**4)}, None, 1.0, inversion="stable")
    with pytest.raises(InputError, match="inversion 'fast' is unknown; choose one of causal, stable, optimal"):
        directors.track({"motor": error}, None, 1.5, inversion="fast")
    with pytest.raises(InputError, match="'limits' belongs to inversion='optimal'"):
        directors.track({"motor": error}, None, 1.5, inversion="stable", limits={"motor": 1.0})
    with pytest.raises(InputError, match="'before' belongs to inversion='stable'"):
        directors.track({"motor": error}, None, 1.5, before=1.0)
    with pytest.raises(InputError, match="limit -1.0 of 'motor' must be a positive number"):
        directors.track({"motor": error}, None, 1.5, inversion="optimal", limits={"motor": -1.0})
    lonely = arm()
    block = lonely.body("block", 1.0)
    slide = lonely.prismatic("slide", lonely.ground, block, axis="x")
    with pytest.raises(InputError, match="cannot steer the outputs"):
        lonely.compile(formulation="directors").track({"motor": slide.coordinates[0].q[0] - lonely.time}, None, 1.0, inversion="stable")


def test_the_angle_to_the_tip_of_a_forearm_with_times_given() -> None:
    """Rests along a fast course are found over instants half-way; the torque acts before 0 and after the course."""
    m = jd.Model("elastic arm", gravity=(0, 0, 0))
    upper = m.body("upper", 0.5, inertia=(0.02, 0.02, 0.02))
    m.force(m.revolute("motor", m.ground, upper, axis="z"), m.input("torque", unit="N*m"))
    section, plastic = jd.structures.rectangle(0.007, 0.05), jd.structures.Material(2e9, 0.3, 1200.0)
    strip = jd.structures.beam((0, 0, 0), (1, 0, 0), section, plastic, elements=4)
    forearm = m.flexible_body("forearm", strip, attach={"start": upper}, modes=3)
    tip = m.sensor("tip", forearm.node("end"))
    tip_angle = jd.atan2(tip.position.y, tip.position.x)
    course = point_to_point(m.time, 0.0, 1.0, 0.0, 0.8)
    start: dict[str, float] = {}
    sol = m.compile(formulation="directors").track(
        {"torque": tip_angle - course}, start, t=1.0, step=0.02, inversion="stable", before=0.5, after=0.5
    )
    assert sol.t[0] == pytest.approx(-0.5) and sol.t[-1] == pytest.approx(1.5)
    x, y = sol.assembled["forearm.end.position"][:, :2].T
    wanted = function(point_to_point(T, 0.0, 1.0, 0.0, 0.8))(np.clip(sol.t, 0.0, 1.0))
    np.testing.assert_allclose(np.arctan2(y, x), wanted, atol=1e-9)
    early = np.abs(sol["torque"][(sol.t > -0.1) & (sol.t < -0.01)]).max()
    assert early > 0.02 * np.abs(sol["torque"]).max()
