"""The swing-up of a pole by Hermite–Simpson collocation beside CasADi with IPOPT: the same program, mesh, first guess and settings.

python -m benchmarks.swing_up
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import jourdain as jd

INTERVALS, DURATION = 60, 2.0
END = {"x": 1.0, "x.displacement_rate": 0.0, "pole": np.pi, "pole.angle_rate": 0.0}


def cart() -> jd.System:
    """A cart of 1 kg with a bob of 0.3 kg half a metre below."""
    m = jd.Model("cart")
    body, rod = m.body("cart", mass=1.0), m.body("rod", mass=0.3, com=(0, 0, -0.5))
    x = m.prismatic("x", m.ground, body, axis="x")
    m.revolute("pole", body, rod, axis="y")
    m.force(x, m.input("force", 0.0))
    return m.compile()


def here(s: jd.System) -> float:
    """The cost of the best motion by this package."""
    effort, limits = jd.criteria.integral("force^2"), {"x": (-2, 2)}
    return s.optimal_control({}, END, DURATION, {"force": (-20, 20)}, effort, bounds=limits, intervals=INTERVALS, refinements=0).cost


def there() -> tuple[float, float]:
    """The same by CasADi, with the processor time of its solver alone."""
    import casadi as ca

    x, u, points, h = ca.SX.sym("x", 4), ca.SX.sym("u"), 2 * INTERVALS + 1, DURATION / INTERVALS
    M, m, length, g = 1.0, 0.3, 0.5, 9.81
    mass = ca.vertcat(ca.horzcat(M + m, -m * length * ca.cos(x[1])), ca.horzcat(-m * length * ca.cos(x[1]), m * length**2))
    force = ca.vertcat(u - m * length * x[3] ** 2 * ca.sin(x[1]), -m * g * length * ca.sin(x[1]))
    rate = ca.Function("rate", [x, u], [ca.vertcat(x[2], x[3], ca.solve(mass, force))])
    X, U = ca.SX.sym("X", 4, points), ca.SX.sym("U", 1, points)
    f = [rate(X[:, k], U[k]) for k in range(points)]
    rows, cost = [], 0
    for a in range(0, points - 1, 2):
        c, b = a + 1, a + 2
        rows += [X[:, b] - X[:, a] - h / 6 * (f[a] + 4 * f[c] + f[b]), X[:, c] - (X[:, a] + X[:, b]) / 2 - h / 8 * (f[a] - f[b])]
        cost += h / 6 * (U[a] ** 2 + 4 * U[c] ** 2 + U[b] ** 2)
    last = np.array([1.0, np.pi, 0.0, 0.0])
    low = np.concatenate([np.tile([-2, -np.inf, -np.inf, -np.inf], points), np.full(points, -20.0)])
    high = -low
    low[:4] = high[:4] = 0.0
    low[4 * points - 4 : 4 * points] = high[4 * points - 4 : 4 * points] = last
    guess = np.concatenate([np.outer(np.linspace(0, 1, points), last).ravel(), np.zeros(points)])
    options = {"ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-9, "ipopt.mu_strategy": "adaptive"}
    solver = ca.nlpsol("solver", "ipopt", {"x": ca.vertcat(ca.vec(X), ca.vec(U)), "f": cost, "g": ca.vertcat(*rows)}, options)
    begun = time.process_time()
    found = solver(x0=guess, lbx=low, ubx=high, lbg=0, ubg=0)
    return float(found["f"]), time.process_time() - begun


def run(quick: bool = False) -> dict[str, Any]:
    """Smallest processor times (ms) of some rounds in turns."""
    s, ours, theirs, inner = cart(), [], [], []
    cost, other = here(s), there()[0]
    for _ in range(2 if quick else 6):
        begun = time.process_time()
        here(s)
        ours.append(time.process_time() - begun)
        begun = time.process_time()
        inner.append(there()[1])
        theirs.append(time.process_time() - begun)
    found = {"ours": min(ours), "casadi": min(theirs), "casadi solver alone": min(inner)}
    return {"cost": cost, "difference of costs": abs(cost - other), **{n: 1e3 * x for n, x in found.items()}}


if __name__ == "__main__":
    print(run())
