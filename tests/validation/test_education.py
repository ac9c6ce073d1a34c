"""The slider-crank of the textbooks: every number of the reference calculation again, by several formulations."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jourdain as jd
from jourdain.formalisms.principles import PRINCIPLES, derive
from jourdain.library.course import COUPLER, CRANK, course_slider_crank, crank_at
from jourdain.solvers.constraints.reductions import BASES, REDUCTIONS, null_space
from jourdain.systems.formulations import formulate

#: t, θ, θ̇ from rest at 60° under gravity.
FREE_MOTION = (
    (0.1, 0.9918184730, -1.1351425005),
    (0.25, 0.6360982183, -4.1989491984),
    (0.5, -1.6319986072, -9.7514747827),
    (1.0, -3.9450325580, 4.0884333033),
    (2.0, 0.4907069617, -5.7608223022),
)
ACCELERATION = 66.4787803652
FORMULATIONS = ("recursive", "cartesian", "natural", "semi-recursive")


@pytest.fixture(scope="module")
def systems():
    reference = course_slider_crank().compile()
    return {name: formulate(reference, name) for name in FORMULATIONS}


# --- S1: kinematics --------------------------------------------------------------------------------------------------


def test_kinematics():
    """θ = 60°, θ̇ = 10 rad/s, θ̈ = 0: angle of the coupler and position of the slider with two derivatives."""
    s = course_slider_crank().compile()
    theta = math.radians(60)
    motion = s.kinematics([0.0], {"crank": lambda t: theta + 10.0 * t}, x0=crank_at(s, theta))
    relative = {"": theta, "_rate": 10.0, "_acc": 0.0}
    found = [motion[f"coupler.angle{suffix}"][0] + add for suffix, add in relative.items()]
    assert found == pytest.approx([-0.446257960658, -2.762321720014, 44.194054661390], abs=1e-11)
    assert [motion[f"slider.displacement{x}"][0] for x in relative] == pytest.approx(
        [0.351130877947, -1.679979212762, -3.881842054194], abs=1e-11
    )
    phi = found[0]
    assert motion["slider.displacement_rate"][0] == pytest.approx(-CRANK * 10.0 * math.sin(theta - phi) / math.cos(phi), abs=1e-12)


def test_newton_converges_quadratically():
    """Each step squares the error of the position."""
    s = course_slider_crank().compile()
    exact = crank_at(s, math.radians(60))
    q = exact.q + np.array([0.0, 0.05, -0.02])
    errors = []
    for _ in range(4):
        h, J = s.function("constraints")([0.0], q)
        q = q.copy()
        q[1:] -= np.linalg.solve(J[:, 1:], h)
        errors.append(np.abs(q - exact.q).max())
    assert errors[1] < 2.0 * errors[0] ** 2
    assert errors[2] < 2.0 * errors[1] ** 2


# --- S2: accelerations and multipliers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("principle", list(PRINCIPLES))
def test_acceleration_by_principle(principle):
    m = course_slider_crank()
    x = crank_at(m.compile(), math.radians(200), 7.0)
    assert derive(m, principle).accelerations(x.q, x.v)[0] == pytest.approx(ACCELERATION, rel=1e-11)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_acceleration_by_formulation(systems, formulation):
    f = systems[formulation]
    assert f.accelerations(crank_at(f.reference, math.radians(200), 7.0))[0] == pytest.approx(ACCELERATION, rel=1e-11)


@pytest.mark.parametrize("reduction", [name for name in REDUCTIONS if name != "penalty"])
def test_acceleration_by_reduction(systems, reduction):
    c = formulate(systems["cartesian"].reference, "cartesian", reduction=reduction)
    assert c.accelerations(crank_at(c.reference, math.radians(200), 7.0))[0] == pytest.approx(ACCELERATION, rel=1e-10)


def test_multipliers_and_reactions(systems):
    """The forces in the pins and on the slide, with Newton's third law between the formulations' signs."""
    c = systems["cartesian"]
    x = crank_at(c.reference, math.radians(200), 7.0)
    found = c.multipliers(x)
    expected = {
        "crank": (1.177841, 0.546578), "coupler": (0.980244, 0.307077), "pin": (0.364782, -0.171924),
    }  # fmt: skip
    for joint, (fx, fy) in expected.items():
        assert (abs(found[f"{joint}[1]"]), abs(found[f"{joint}[2]"])) == pytest.approx((abs(fx), abs(fy)), abs=6e-7)
    assert abs(found["slider[1]"]) == pytest.approx(0.786030, abs=6e-7)
    assert found["slider[3]"] == pytest.approx(0.0, abs=1e-14)
    free = derive(c.model, "newton-euler").solve(x.q, x.v)
    wrenches = c.reactions(x)
    for joint in ("crank", "coupler", "slider"):
        force = [free[f"F_{joint}_{axis}"] for axis in "xy"]
        assert wrenches[joint][0][:2] == pytest.approx(force, abs=1e-12), joint


def test_printed_sign_of_the_velocity_transformation_is_wrong(systems):
    """VᵀMV v̈ = Vᵀ(Q − M V̇v̇) gives θ̈ in any basis; with + as it is sometimes printed 101.2 rad/s² comes out in an orthonormal one."""
    c = systems["cartesian"]
    M, J, f, g = c.own.terms(c.own.state_of(crank_at(c.reference, math.radians(200), 7.0)))
    theta = c.unknowns.index("crank.theta")
    V, bias = np.linalg.svd(J)[2][-1], np.linalg.pinv(J) @ g
    assert np.abs(J @ V).max() < 1e-13
    right, wrong = (V[theta] * (V @ f + sign * V @ M @ bias) / (V @ M @ V) + bias[theta] for sign in (-1.0, 1.0))
    assert right == pytest.approx(ACCELERATION, rel=1e-11)
    assert wrong == pytest.approx(101.2, abs=0.05)


def test_reduced_inertia_does_not_depend_on_the_basis(systems):
    """The eigenvalues of VᵀMV with respect to VᵀV are the same for all bases of the null space."""
    c = systems["cartesian"]
    own = c.own.state_of(crank_at(c.reference, math.radians(60)))
    M, J, f, g = c.own.terms(own)
    ratios = []
    for make in BASES.values():
        V = make(J, g)[0]
        assert np.abs(J @ V).max() < 1e-12
        ratios.append(((V.T @ M @ V) / (V.T @ V)).item())
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-12)
    accelerations = [null_space(M, J, f, g, basis).a for basis in BASES]
    assert np.abs(np.array(accelerations) - accelerations[0]).max() < 1e-10


# --- S3: free motion ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_free_motion(systems, formulation):
    f = systems[formulation]
    start = crank_at(f.reference, math.radians(60))
    sol = f.simulate(start, 2.0, method="dop853", rtol=1e-12, atol=1e-13, times=[t for t, *_ in FREE_MOTION])
    assert sol["crank.angle"] == pytest.approx([theta for _, theta, _ in FREE_MOTION], abs=2e-8)
    assert sol["crank.angle_rate"] == pytest.approx([rate for *_, rate in FREE_MOTION], abs=2e-7)


def test_energy_inertia_and_period():
    s = course_slider_crank().compile()
    start = crank_at(s, math.radians(60))
    assert s.energy(start.q, start.v).sum() == pytest.approx(0.073219420265, abs=1e-12)
    moving = crank_at(s, math.radians(60), 1.0)
    assert 2.0 * s.energy(moving.q, moving.v)[0] == pytest.approx(3.909030652175e-3, rel=1e-11)
    half, period = 0.860186232503, 1.720372465006
    sol = s.simulate(start, period, method="dop853", rtol=1e-13, atol=1e-13, times=[half, period])
    assert sol["crank.angle"] == pytest.approx([math.radians(-240), math.radians(60)], abs=1e-9)
    assert sol["crank.angle_rate"] == pytest.approx([0.0, 0.0], abs=1e-8)


def terms_of(c):
    """M, f, J, g of a formulation as functions of t and y = (x, ẋ)."""
    function = c.own.function("descriptor")

    def terms(t, y):
        M, f, J, g, _ = function(np.array([t]), y, np.zeros(0))
        return M, J, f, g

    return terms


@pytest.mark.parametrize("reduction", ["kkt", "partition", "qr", "svd"])
def test_reductions_to_ordinary_equations(systems, reduction):
    """Integrated by a program of our own without stabilisation, each reduction gives θ(2 s) to 1e-6."""
    c = systems["cartesian"]
    terms, reduce = terms_of(c), REDUCTIONS[reduction]
    y0 = c.own.state_of(crank_at(c.reference, math.radians(60))).x
    n = len(c.unknowns)
    sol = solve_ivp(lambda t, y: np.concatenate([y[n:], reduce(*terms(t, y)).a]), (0.0, 2.0), y0, method="DOP853", rtol=1e-10, atol=1e-12)
    assert sol.y[c.unknowns.index("crank.theta"), -1] == pytest.approx(0.4907069617, abs=1e-6)


# --- S3b: drift ----------------------------------------------------------------------------------------------------------


def test_drift_and_its_cures(systems):
    """Without stabilisation constraints are off by 1e-6 …; α = β = 5 helps, 50 helps more and costs steps; projection cures."""
    c = systems["cartesian"]
    start = crank_at(c.reference, math.radians(60))
    runs = {}
    for name, options in {
        "none": {"stabilisation": "none"}, "5": {"stabilisation": "baumgarte", "alpha": 5.0},
        "50": {"stabilisation": "baumgarte", "alpha": 50.0}, "projection": {"stabilisation": "projection"},
    }.items():  # fmt: skip
        sol = c.simulate(start, 2.0, rtol=1e-6, atol=1e-8, **options)
        runs[name] = (*c.drift(sol), len(sol.t))
    assert 1e-6 < runs["none"][0] < 3e-5
    assert runs["5"][0] < 0.1 * runs["none"][0]
    assert runs["50"][0] < 0.5 * runs["5"][0]
    assert runs["50"][2] > 1.8 * runs["none"][2]
    assert runs["projection"][0] < 1e-12


def test_drift_grows_with_the_square_of_time():
    """A mechanism that turns steadily errs the same way in every turn: |h| ~ t², |ḣ| ~ t with a constant step."""
    c = course_slider_crank(gravity=0.0).compile(formulation="cartesian")
    start = crank_at(c.reference, 0.3, 10.0)
    grown = []
    for end in (10.0, 20.0, 40.0):
        sol = c.simulate(start, end, method="rk4", step=0.01, stabilisation="none")
        grown.append(c.drift(sol))
    positions, velocities = (np.log2([b[k] / a[k] for a, b in itertools.pairwise(grown)]) for k in (0, 1))
    assert positions == pytest.approx([2.0, 2.0], abs=0.1)
    assert velocities == pytest.approx([1.0, 1.0], abs=0.1)
    stable = [c.drift(c.simulate(start, end, method="rk4", step=0.01, stabilisation="baumgarte", alpha=10.0))[0] for end in (10.0, 40.0)]
    assert stable[1] < 1.5 * stable[0] < 1e-2 * grown[-1][0]


@pytest.mark.parametrize(("formulation", "options"), [
    ("recursive", {}), ("cartesian", {"stabilisation": "projection"}), ("cartesian", {"stabilisation": "baumgarte", "alpha": 5.0}),
    ("natural", {"stabilisation": "projection"}),
])  # fmt: skip
def test_order_of_convergence(systems, formulation, options):
    """The classical Runge–Kutta method keeps its order 4 in all formulations."""
    f = systems[formulation]
    start = crank_at(f.reference, math.radians(60))
    errors = [abs(f.simulate(start, 0.5, method="rk4", step=h, **options)["crank.angle"][-1] + 1.6319986072) for h in (0.004, 0.002, 0.001)]
    orders = np.log2([a / b for a, b in itertools.pairwise(errors)])
    assert orders.mean() == pytest.approx(4.0, abs=0.5)


# --- redundant constraints, inverse dynamics ----------------------------------------------------------------------------


def test_a_second_pin_changes_nothing(systems):
    """The same pin twice: the augmented matrix is singular, the motion is not; equal pins share the load."""
    m = course_slider_crank()
    m.close("again", m.bodies["coupler"].at(COUPLER, 0, 0), m.bodies["slider"], "ball")
    c = m.compile(formulation="cartesian")
    x = crank_at(c.reference, math.radians(200), 7.0)
    M, J, f, g = c.own.terms(c.own.state_of(x))
    n = len(f)
    augmented = np.block([[M, J.T], [J, np.zeros((len(g), len(g)))]])
    assert np.linalg.matrix_rank(augmented, tol=1e-9) == n + len(g) - 2
    assert c.dof(x) == 1
    assert c.accelerations(x)[0] == pytest.approx(ACCELERATION, rel=1e-10)
    shared, single = c.multipliers(x), systems["cartesian"].multipliers(crank_at(systems["cartesian"].reference, math.radians(200), 7.0))
    assert shared["pin[1]"] + shared["again[1]"] == pytest.approx(single["pin[1]"], rel=1e-9)
    assert shared["pin[1]"] == pytest.approx(shared["again[1]"], rel=1e-8)


def test_inverse_dynamics_balances_power():
    """The torque of a drive at constant speed gives the energy its rate; the same torque as a load gives the motion back."""
    m = course_slider_crank()
    torque = m.input("torque", 0.0, unit="N m")
    m.force(m.joints["crank"], torque, name="drive")
    s = m.compile()
    theta = math.radians(60)
    times = np.linspace(0.0, 0.3, 301)
    motion = s.kinematics(times, {"crank": lambda t: theta + 10.0 * t}, x0=crank_at(s, theta))
    needed = s.inverse_dynamics_along(motion, actuators=["torque"])
    energy = np.array([s.energy(q, v).sum() for q, v in zip(motion.q, motion.v, strict=True)])
    power = np.gradient(energy, times, edge_order=2)
    values = np.asarray(needed["torque"])
    assert values[5:-5] * 10.0 == pytest.approx(power[5:-5], abs=2e-3 * np.abs(power).max())
    law = jd.table(times, values)
    again = s.simulate(crank_at(s, theta, 10.0), 0.3, rtol=1e-10, atol=1e-12, inputs={"torque": lambda t: law(t)})
    assert again["crank.angle"][-1] == pytest.approx(theta + 3.0, abs=1e-6)


def test_hookes_joint():
    """A universal joint between shafts at an angle β: ω₂/ω₁ = cos β/(1 − sin²β cos²θ)."""
    beta = 0.6
    m = jd.Model("shafts", gravity=(0, 0, 0))
    first, second = m.body("first", mass=1.0, inertia=(1, 1, 1)), m.body("second", mass=1.0, inertia=(1, 1, 1))
    m.revolute("first", m.ground, first, axis="x")
    m.revolute("second", m.ground.at(rotation=("z", beta)), second, axis="x")
    m.close("hooke", first, second, "universal", axes=("y", "z"))
    s = m.compile()
    start = s.assemble({"first": 0.0})
    times = np.linspace(0.0, 2.0 * np.pi, 37)
    motion = s.kinematics(times, {"first": lambda t: t}, x0=start)
    ratio = motion["second.angle_rate"]
    expected = math.cos(beta) / (1.0 - math.sin(beta) ** 2 * np.sin(times) ** 2)
    shifted = math.cos(beta) / (1.0 - math.sin(beta) ** 2 * np.cos(times) ** 2)
    assert min(np.abs(ratio - expected).max(), np.abs(ratio - shifted).max()) < 1e-11
