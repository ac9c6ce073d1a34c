"""Every method: order by step halving, order of its interpolant, proportionality to the tolerance, peers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jourdain.errors import InputError
from jourdain.solvers import METHODS, STIFF, Tableau, integrate
from tests.solvers.native import native

ADAPTIVE = ("bs32", "dopri5", "dop853", "adams", "rosenbrock", "radau")
# Order of the method, order of its interpolant, and the first number of steps, large enough to be asymptotic.
ORDERS = {
    "euler": (1, 1, 200),
    "heun": (2, 2, 100),
    "rk4": (4, 4, 40),
    "bs32": (3, 3, 80),
    "dopri5": (5, 5, 40),
    "dop853": (8, 8, 10),
    "rosenbrock": (4, 4, 80),
    "radau": (5, 4, 20),
    "semi-implicit-euler": (1, 1, 400),
    "velocity-verlet": (2, 2, 100),
    "rosenbrock2": (2, 2, 100),
    "linearly-implicit-euler": (1, 1, 400),
}
CONSTANT_COST = {"rosenbrock2": 2, "linearly-implicit-euler": 1}  # with their evaluations of f in a step


class Driven:
    """x'' = -4 x - 0.6 x' + sin 3t, whose closed form is known: linear, damped, and not autonomous."""

    rhs = native("f[0]=x[1]\nf[1]=-4*x[0]-0.6*x[1]+np.sin(3*t)")
    jacobian = native("f[0]=0\nf[1]=1\nf[2]=-4\nf[3]=-0.6")
    time_derivative = native("f[0]=0\nf[1]=3*np.cos(3*t)")

    @staticmethod
    def exact(t):
        steady = 1 / (4 - 9 + 0.6j * 3)
        roots = np.roots([1, 0.6, 4])
        start = np.array([1.0, 0.0]) - [(steady * 1).imag, (steady * 3j).imag]
        free = np.linalg.solve(np.array([[1, 1], roots]), start)
        t = np.asarray(t)[..., None]
        q = (free * np.exp(roots * t)).sum(-1).real + (steady * np.exp(3j * t[..., 0])).imag
        v = (free * roots * np.exp(roots * t)).sum(-1).real + (3j * steady * np.exp(3j * t[..., 0])).imag
        return np.stack([q, v], -1)


def solve(method, span, x0, rhs=None, **options):
    if method in STIFF:
        options.setdefault("jacobian", Driven.jacobian)
    if method in STIFF and method != "radau":
        options.setdefault("time_derivative", Driven.time_derivative)
    return integrate(rhs or Driven.rhs, span, x0, method, **options).check()


def fixed(method, steps, end=4.0):
    """March with equal steps; loose tolerances let every step of an adaptive method pass."""
    h = end / steps
    return solve(method, (0, end), [1.0, 0.0], step=h, max_step=h, rtol=0.5, atol=1e3)


@pytest.mark.parametrize("method", ORDERS)
def test_order_by_step_halving(method):
    order, dense_order, steps = ORDERS[method]
    fine = np.linspace(0, 4, 997)
    error, dense = [], []
    for n in (steps, 2 * steps, 4 * steps):
        trajectory = fixed(method, n)
        assert trajectory.stats.steps == n
        error.append(abs(trajectory.x - Driven.exact(trajectory.t)).max())
        dense.append(abs(trajectory.at(fine) - Driven.exact(fine)).max())
    assert np.log2(error[1] / error[2]) == pytest.approx(order, abs=0.2)
    assert np.log2(dense[1] / dense[2]) == pytest.approx(dense_order, abs=0.2)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_error_follows_tolerance(method):
    powers = np.arange(-9.0, -3.0) if method in ("bs32", "rosenbrock", "radau") else np.arange(-12.0, -3.0)
    errors = []
    for tolerance in 10.0**powers:
        trajectory = solve(method, (0, 10), [1.0, 0.0], rtol=tolerance, atol=tolerance)
        errors.append(abs(trajectory.x - Driven.exact(trajectory.t)).max())
    slope = np.polyfit(powers, np.log10(errors), 1)[0]
    # Radau controls an estimate of order 4 in h, while its error is of order 5.
    assert slope == pytest.approx(1.25 if method == "radau" else 1.0, abs=0.2)
    assert max(errors / 10.0**powers) < 50


def test_order_on_a_nonlinear_problem():
    """x' = -2 t x^2 has the solution 1 / (1 + t^2): all order conditions count, not only the linear ones."""
    rhs = native("f[0]=-2*t*x[0]**2")
    jacobian, rate = native("f[0]=-4*t*x[0]"), native("f[0]=-2*x[0]**2")
    for method, (order, _, _) in ORDERS.items():
        if method in ("semi-implicit-euler", "velocity-verlet", "radau"):
            continue
        errors = []
        for n in (160, 320) if order < 8 else (30, 60):
            h = 3 / n
            trajectory = solve(method, (0, 3), [1.0], rhs, step=h, max_step=h, rtol=0.5, atol=1e3, jacobian=jacobian, time_derivative=rate)
            errors.append(abs(trajectory.x[:, 0] - 1 / (1 + trajectory.t**2)).max())
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4), method


def test_adams_integrates_polynomials_exactly_once_its_order_is_high():
    rhs = native("f[0]=5*t**4-8*t**3+1")
    first = integrate(rhs, (0, 3), [0.0], "adams", rtol=1e-9, atol=1e-9)
    rest = integrate(rhs, (3, 6), first.restart, "adams", rtol=1e-9, atol=1e-9)
    antiderivative = np.polynomial.Polynomial([0, 1, 0, 0, -2, 1])
    start = first.restart.x[0] - antiderivative(3)
    tail = slice(12, None)
    assert rest.x[tail, 0] - start == pytest.approx(antiderivative(rest.t[tail]), rel=1e-9)
    assert first.restart.part("ints")[0] >= 4


def test_adams_needs_few_evaluations():
    orbit = native("r=(x[0]**2+x[1]**2)**1.5\nf[0]=x[2]\nf[1]=x[3]\nf[2]=-x[0]/r\nf[3]=-x[1]/r")
    start = np.array([0.7, 0.0, 0.0, np.sqrt(1.3 / 0.7)])
    work = {}
    for method in ("adams", "dopri5", "dop853"):
        trajectory = integrate(orbit, (0, 4 * np.pi), start, method, rtol=1e-10, atol=1e-10, dense=False)
        assert trajectory.x[-1] == pytest.approx(start, abs=3e-7)
        work[method] = trajectory.stats.rhs
    assert work["adams"] < 0.5 * work["dopri5"]
    assert work["dop853"] < 0.5 * work["dopri5"]


def test_arenstorf_orbit_closes():
    """The periodic orbit of Hairer, Norsett & Wanner I, section II.0."""
    rhs = native("""
m=0.012277471
d=((x[0]+m)**2+x[1]**2)**1.5
e=((x[0]-1+m)**2+x[1]**2)**1.5
f[0]=x[2]
f[1]=x[3]
f[2]=x[0]+2*x[3]-(1-m)*(x[0]+m)/d-m*(x[0]-1+m)/e
f[3]=x[1]-2*x[2]-(1-m)*x[1]/d-m*x[1]/e""")
    start, period = np.array([0.994, 0, 0, -2.00158510637908252240537862224]), 17.0652165601579625588917206249
    for method in ("dopri5", "dop853", "adams"):
        end = integrate(rhs, (0, period), start, method, rtol=1e-12, atol=1e-12).check().x[-1]
        assert end[:2] == pytest.approx(start[:2], abs=3e-5)


VAN_DER_POL = (
    native("f[0]=x[1]\nf[1]=1e6*((1-x[0]**2)*x[1]-x[0])"),
    native("f[0]=0\nf[1]=1\nf[2]=1e6*(-2*x[0]*x[1]-1)\nf[3]=1e6*(1-x[0]**2)"),
)
ROBERTSON = (
    native("f[0]=-0.04*x[0]+1e4*x[1]*x[2]\nf[2]=3e7*x[1]**2\nf[1]=-f[0]-f[2]"),
    native(
        """
f[0]=-0.04
f[1]=1e4*x[2]
f[2]=1e4*x[1]
f[6]=0
f[7]=6e7*x[1]
f[8]=0
f[3]=-f[0]
f[4]=-f[1]-f[7]
f[5]=-f[2]""",
        sizes=(3, 9),
    ),
)


def peer(problem, span, x0, rtol=1e-9):
    n = len(x0)

    def call(function, t, x, size):
        out = np.zeros(16)
        function(t, np.append(x, np.zeros(8)), out)
        return out[:size]

    return solve_ivp(
        lambda t, x: call(problem[0], t, x, n),
        span,
        x0,
        method="Radau",
        rtol=rtol,
        atol=1e-13,
        jac=lambda t, x: call(problem[1], t, x, n * n).reshape(n, n),
    ).y[:, -1]


@pytest.mark.parametrize("method", ["rosenbrock", "radau"])
@pytest.mark.parametrize(
    "problem, span, x0",
    [
        (VAN_DER_POL, (0, 2), (2.0, 0.0)),
        (ROBERTSON, (0, 1e4), (1.0, 0.0, 0.0)),
    ],
    ids=["van_der_pol", "robertson"],
)
def test_stiff_problems_against_scipy(method, problem, span, x0):
    reference = peer(problem, span, x0, 1e-7)
    trajectory = integrate(problem[0], span, x0, method, rtol=1e-7, atol=1e-12, jacobian=problem[1]).check()
    assert trajectory.x[-1] == pytest.approx(reference, rel=2e-6)
    assert trajectory.stats.steps < 3500


def test_explicit_method_says_that_a_problem_is_stiff():
    trajectory = integrate(VAN_DER_POL[0], (0, 2), [2.0, 0.0], max_steps=3000)
    assert trajectory.status == "max_steps"
    assert "stiff" in trajectory.message and "radau" in trajectory.message


def test_stiff_decay_takes_large_steps():
    rhs, jacobian = native("f[0]=-1e6*(x[0]-np.cos(t))"), native("f[0]=-1e6")
    rate = native("f[0]=-1e6*np.sin(t)")
    for method in ("rosenbrock", "radau"):
        trajectory = integrate(rhs, (0, 10), [0.0], method, jacobian=jacobian, time_derivative=rate)
        assert trajectory.x[-1, 0] == pytest.approx(np.cos(10), abs=3e-6)
        assert trajectory.stats.steps < 200


def test_rosenbrock_refuses_a_hidden_dependence_on_time():
    with pytest.raises(InputError, match="time_derivative"):
        integrate(Driven.rhs, (0, 1), [1.0, 0.0], "rosenbrock", jacobian=Driven.jacobian)


@pytest.mark.parametrize("method, evaluations", CONSTANT_COST.items())
def test_constant_cost_and_damping_at_infinity(method, evaluations):
    """A rate of 1e9 / s at steps of 0.1 s: one Jacobian and one factorisation a step, and the transient is gone after the second one."""
    rhs, jacobian = native("f[0]=-1e9*(x[0]-np.cos(t))-np.sin(t)"), native("f[0]=-1e9")
    rate = native("f[0]=-1e9*np.sin(t)-np.cos(t)")
    found = integrate(rhs, (0, 5), [3.0], method, step=0.1, jacobian=jacobian, time_derivative=rate).check()
    assert abs(found.x[2:, 0] - np.cos(found.t[2:])).max() < 0.011
    s = found.stats
    assert (s.steps, s.rhs, s.jacobians, s.factorizations, s.rejected) == (50, 50 * evaluations, 50, 50, 0)
    inside = np.linspace(0.2, 5, 400)
    assert abs(found.at(inside)[:, 0] - np.cos(inside)).max() < 0.013  # the interpolant is as well damped


def test_constant_cost_methods_are_what_their_formulas_say():
    """One step of both in NumPy."""
    h, x, J, g = 0.3, np.array([1.0, 0.5]), np.array([[0, 1], [-4, -0.6]]), 1.0 - np.sqrt(0.5)
    f = lambda t, x: np.array([x[1], -4 * x[0] - 0.6 * x[1] + np.sin(3 * t)])
    ft = np.array([0.0, 3 * np.cos(3 * 0.2)])
    euler = x + h * np.linalg.solve(np.eye(2) - h * J, f(0.2, x) + h * ft)
    W = np.eye(2) - g * h * J
    k1 = np.linalg.solve(W, f(0.2, x) + g * h * ft)
    k2 = np.linalg.solve(W, f(0.2 + h, x + h * k1) - 2 * k1 - g * h * ft)
    for method, expected in (("linearly-implicit-euler", euler), ("rosenbrock2", x + h * (1.5 * k1 + 0.5 * k2))):
        assert solve(method, (0.2, 0.5), x, step=h).x[-1] == pytest.approx(expected, rel=1e-14)


def test_own_tableau():
    ralston = Tableau("ralston", 2, c=(0, 2 / 3), a=((2 / 3,),), b=(1 / 4, 3 / 4))
    errors = []
    for n in (100, 200):
        end = integrate(Driven.rhs, (0, 4), [1.0, 0.0], ralston, step=4 / n).x[-1]
        errors.append(abs(end - Driven.exact(4.0)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.2)
    with pytest.raises(InputError, match="add up"):
        Tableau("wrong", 2, c=(0, 0.5), a=((0.4,),), b=(0.5, 0.5))


def test_symplectic_methods_keep_the_energy():
    pendulum = native("f[0]=x[1]\nf[1]=-np.sin(x[0])")
    for method, bound in (("semi-implicit-euler", 2e-2), ("velocity-verlet", 2e-4)):
        x = integrate(pendulum, (0, 1000), [1.5, 0.0], method, step=0.02, dense=False).x
        energy = 0.5 * x[:, 1] ** 2 - np.cos(x[:, 0])
        assert abs(energy - energy[0]).max() < bound
        assert abs(energy[-200:].mean() - energy[:200].mean()) < 0.3 * bound


def test_verlet_with_positions_that_are_not_integrals_of_velocity():
    """A point on a circle as (cos a, sin a, da/dt): q has two components, v one."""
    rhs = native("f[0]=-x[1]*x[2]\nf[1]=x[0]*x[2]\nf[2]=-x[1]")
    pendulum = native("f[0]=x[1]\nf[1]=-np.sin(x[0])")
    exact = integrate(pendulum, (0, 5), [1.0, 0.3], "dop853", rtol=1e-12, atol=1e-12).x[-1]
    for method, order in (("semi-implicit-euler", 1), ("velocity-verlet", 2)):
        errors = []
        for n in (800, 1600):
            x = integrate(rhs, (0, 5), [np.cos(1), np.sin(1), 0.3], method, step=5 / n, positions=2).x[-1]
            errors.append(max(abs(x[1] - np.sin(exact[0])), abs(x[2] - exact[1])))
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_backwards_returns_to_the_start():
    for method in ADAPTIVE:
        end = solve(method, (0, 3), [1.0, 0.0], rtol=1e-8, atol=1e-8).x[-1]
        back = solve(method, (3, 0), end, rtol=1e-8, atol=1e-8, t_eval=[2.0, 1.0, 0.0])
        assert back.x == pytest.approx(Driven.exact(np.array([2.0, 1.0, 0.0])), abs=2e-6)


def test_registry_is_complete():
    assert set(ORDERS) | {"adams"} == set(METHODS)
    with pytest.raises(InputError, match="dopri5"):
        integrate(Driven.rhs, (0, 1), [1.0, 0.0], "rk45")
