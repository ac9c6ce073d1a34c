"""Solvers of contact problems: spheres that fall into a box, and a linear complementarity problem from a near one.

``python -m benchmarks.contact_solvers [spheres] [steps] [sweeps]``.  Steps are Moreau's with naive geometry in NumPy; only the solver is timed, by the
processor time of its thread.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.spatial import cKDTree

import jourdain as jd
from jourdain.solvers.complementarity.build import body_problem
from jourdain.solvers.complementarity.gauss_seidel import gauss_seidel

RADIUS, STEP, GRAVITY, MU, DENSITY = 0.05, 2e-3, 9.81, 0.5, 1000.0
#: Contacts are taken when gaps are below this, and penetrations recover by this part in a step.
MARGIN, RECOVERY = 1e-4, 0.2
TOLERANCE = 1e-5


class Pile:
    """Spheres in a box, their velocities and the impulses of the last step by pair."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(3)
        self.half = 1.2 * RADIUS * np.ceil((count / 2.0) ** (1.0 / 3.0)) + 0.2 * RADIUS
        side = int((2.0 * self.half - 0.2 * RADIUS) // (2.1 * RADIUS))
        k = np.arange(count)
        grid = np.column_stack([k % side, k // side % side]) * (2.0 * self.half / side) + self.half / side - self.half
        self.x = np.column_stack([grid, 1.02 * RADIUS + k // side**2 * 2.1 * RADIUS]) + rng.uniform(-0.02, 0.02, (count, 3)) * RADIUS
        self.v = np.zeros((count, 6))
        mass = DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3
        self.inverse = np.tile(np.diag([1.0 / mass] * 3 + [2.5 / (mass * RADIUS**2)] * 3), (count, 1, 1))
        self.known: dict[tuple[int, int], np.ndarray] = {}

    def contacts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bodies (those below 0 are floor and walls), normals towards the second, gaps."""
        pairs = np.array(sorted(cKDTree(self.x).query_pairs(2.0 * RADIUS + MARGIN)), int).reshape(-1, 2)
        away = self.x[pairs[:, 1]] - self.x[pairs[:, 0]]
        far = np.linalg.norm(away, axis=1)
        found, normals, gaps = [pairs], [away / far[:, None]], [far - 2.0 * RADIUS]
        for k, (n, at) in enumerate((((0, 0, 1), 0.0), *((n, self.half) for n in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0))))):
            gap = self.x @ np.array(n, float) + at - RADIUS
            near = np.flatnonzero(gap < MARGIN)
            found.append(np.column_stack([np.full(near.size, -1 - k), near]))
            normals.append(np.tile(np.array(n, float), (near.size, 1)))
            gaps.append(gap[near])
        return np.vstack(found), np.vstack(normals), np.concatenate(gaps)

    def step(self, sweeps: int) -> tuple[int, int, float, float, float]:
        """One step: contacts, sweeps, residual, seconds of the solver, deepest penetration."""
        pairs, n, gap = self.contacts()
        t = np.cross(n, np.where(np.abs(n[:, :1]) < 0.6, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]))
        t /= np.linalg.norm(t, axis=1)[:, None]
        J = np.zeros((len(pairs), 3, 12))
        for k, axis in enumerate((n, t, np.cross(n, t))):
            turning = -RADIUS * np.cross(n, axis)
            J[:, k] = np.hstack([-axis, turning, axis, turning])
        J[pairs[:, 0] < 0, :, :6] = 0.0
        free = self.v.copy()
        free[:, 2] -= GRAVITY * STEP
        w = np.einsum("cij,cj->ci", J, np.hstack([free[pairs[:, 0]], free[pairs[:, 1]]]))
        w[:, 0] += np.where(gap > 0.0, gap, RECOVERY * gap) / STEP
        keys = [tuple(pair) for pair in pairs.tolist()]
        p = np.array([self.known.get(key, np.zeros(3)) for key in keys]).ravel()
        problem = body_problem(
            J.reshape(-1, 12), np.maximum(pairs, -1), self.inverse, w.ravel(), ["contact"] * len(pairs), np.full(len(pairs), MU)
        )
        start = time.thread_time()
        done, found, _ = gauss_seidel(problem, p, TOLERANCE, sweeps)
        spent = time.thread_time() - start
        self.known = dict(zip(keys, p.reshape(-1, 3)))
        self.v = free + problem.bodies.v.reshape(-1, 6)
        self.x = self.x + STEP * self.v[:, :3]
        return len(pairs), done, found, spent, float(-gap.min(initial=0.0))


def pile(count: int, steps: int, sweeps: int) -> None:
    """Prints every hundred steps what they took."""
    scene, rows = Pile(count), []
    print(f"{count} spheres, {sweeps} sweeps at most, tolerance {TOLERANCE:g} m/s")
    for k in range(1, steps + 1):
        rows.append(scene.step(sweeps))
        if k % 100 == 0:
            contacts, done, found, spent, depth = np.array(rows[-100:]).T
            print(
                f"step {k:5d}: {contacts[-1]:.0f} contacts, {done.mean():5.1f} sweeps, residual {np.median(found):.1e} m/s (most {found.max():.1e}), "
                f"{1e3 * np.median(spent):6.2f} ms, {1e9 * spent.sum() / (contacts * done).sum():.0f} ns a contact and sweep, depth {depth.max():.1e} m"
            )


def linear(n: int = 150) -> None:
    """A linear complementarity problem from the solution of a near one."""
    rng = np.random.default_rng(0)
    G = rng.normal(size=(n, n))
    A, q = G @ G.T / n + 0.1 * np.eye(n), rng.normal(size=n)
    known = jd.complementarity(A, q).z
    times = []
    for _ in range(200):
        start = time.perf_counter()
        jd.complementarity(A, q + 1e-9, start=known)
        times.append(time.perf_counter() - start)
    print(
        f"linear complementarity problem, n = {n}, from a near one: {1e3 * min(times):.3f} ms (best of 200, with checks and copies in Python)"
    )


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    linear()
    pile(*(given + [300, 800, 100][len(given) :]))
