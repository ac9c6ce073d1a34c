"""Contact problems for the tests: random ones, boxes on a plane, chains and piles of spheres."""

from __future__ import annotations

from typing import Any

import numpy as np

from jourdain.solvers.complementarity.build import block_sparse_problem, body_problem, dense_problem, rows_by_law
from jourdain.solvers.complementarity.problem import Problem


def positive(rng: np.random.Generator, n: int, condition: float = 1e2) -> np.ndarray:
    """A random symmetric positive definite matrix of a given condition."""
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (Q * np.geomspace(1.0, condition, n)) @ Q.T


def cross(r: np.ndarray) -> np.ndarray:
    """r × as a matrix."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def frame(normal: np.ndarray, turn: float = 0.0) -> np.ndarray:
    """Rows: the normal and two tangents, turned about it."""
    n = normal / np.linalg.norm(normal)
    t = np.cross(n, [1.0, 0.0, 0.0] if abs(n[0]) < 0.6 else [0.0, 1.0, 0.0])
    t /= np.linalg.norm(t)
    b = np.cross(n, t)
    return np.array([n, np.cos(turn) * t + np.sin(turn) * b, np.cos(turn) * b - np.sin(turn) * t])


def contact_rows(A: np.ndarray, first: np.ndarray | None, second: np.ndarray) -> np.ndarray:
    """Rows of J of a contact with axes A (rows) and arms of the contact point on both bodies; no first body: the ground."""
    J = np.zeros((3, 12))
    if first is not None:
        J[:, :3], J[:, 3:6] = -A, A @ cross(first)
    J[:, 6:9], J[:, 9:] = A, -A @ cross(second)
    return J


class Scene:
    """Rows over bodies, from which every form of the same problem is made."""

    def __init__(self, masses: list[np.ndarray], v: np.ndarray) -> None:
        self.inverse, self.v = np.array([np.linalg.inv(M) for M in masses]), np.asarray(v, float)
        self.rows: list[np.ndarray] = []
        self.pairs: list[tuple[int, int]] = []
        self.laws: list[str] = []
        self.coefficients: list[Any] = []
        self.add_w: list[np.ndarray] = []

    def add(self, law: str, pair: tuple[int, int], J: np.ndarray, coefficient: Any = 0.0, w: Any = 0.0) -> None:
        self.rows.append(np.atleast_2d(J))
        self.pairs.append(pair)
        self.laws.append(law)
        self.coefficients.append(coefficient if np.ndim(coefficient) else (coefficient, coefficient))
        self.add_w.append(np.broadcast_to(w, len(self.rows[-1])))

    @property
    def J(self) -> np.ndarray:
        """Over the velocities of all bodies."""
        J = np.zeros((sum(map(len, self.rows)), 6 * len(self.inverse)))
        at = 0
        for rows, pair in zip(self.rows, self.pairs):
            for side, body in enumerate(pair):
                if body >= 0:
                    J[at : at + len(rows), 6 * body : 6 * body + 6] += rows[:, 6 * side : 6 * side + 6]
            at += len(rows)
        return J

    @property
    def w(self) -> np.ndarray:
        return self.J @ self.v.ravel() + np.concatenate(self.add_w)

    @property
    def W(self) -> np.ndarray:
        J, n = self.J, len(self.inverse)
        Minv = np.zeros((6 * n, 6 * n))
        for k, inverse in enumerate(self.inverse):
            Minv[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = inverse
        return J @ Minv @ J.T

    def problem(self, form: str = "bodies", scale: float = 1.0, **options: Any) -> Problem:
        w = scale * self.w
        if form == "dense":
            return dense_problem(self.W, w, self.laws, self.coefficients, **options)
        if form == "bodies":
            return body_problem(np.vstack(self.rows), self.pairs, self.inverse, w, self.laws, self.coefficients, **options)
        return sparse(self.W, w, self.laws, self.coefficients, **options)


def sparse(W: np.ndarray, w: np.ndarray, laws: list[str], coefficients: Any, **options: Any) -> Problem:
    """By blocks that are not zero."""
    row = rows_by_law(laws)
    first, column, place, values = [0], [], [], []
    for i in range(len(laws)):
        for j in range(len(laws)):
            block = W[row[i] : row[i + 1], row[j] : row[j + 1]]
            if i == j or np.any(block):
                column.append(j)
                place.append(sum(map(len, values)))
                values.append(block.ravel())
        first.append(len(column))
    return block_sparse_problem(first, column, place, np.concatenate(values), w, laws, coefficients, **options)


def rigid(mass: float, size: float) -> np.ndarray:
    """The mass matrix of a ball."""
    return np.diag([mass] * 3 + [0.4 * mass * size * size] * 3)


def box_on_plane(v: Any, mu: float = 0.5, mass: float = 1.0, turn: float = 0.0) -> Scene:
    """A box that touches the plane by the four corners of its bottom: 12 rows, 6 velocities."""
    a, b, c = 0.5, 0.3, 0.2
    inertia = mass / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    scene = Scene([np.diag([mass] * 3 + [*inertia])], np.atleast_2d(v))
    for x, y in ((a, b), (-a, b), (-a, -b), (a, -b)):
        scene.add("contact", (-1, 0), contact_rows(frame(np.array([0.0, 0.0, 1.0]), turn), None, np.array([x, y, -c])), mu)
    return scene


def row_of_boxes(n: int, seed: int, mu: float) -> Scene:
    """Boxes side by side on the ground, pressed down and pushed at random: four corners of each on the ground and four in touch with the next, 24 n − 12 rows over 6 n velocities."""
    rng, (a, b, c) = np.random.default_rng(seed), (0.1, 0.2, 0.3)
    v = rng.normal(size=(n, 6)) * [0.3, 0.3, 0.3, 1.0, 1.0, 1.0] - [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    scene = Scene([np.diag([1.0] * 3 + [b * b + c * c, a * a + c * c, a * a + b * b]) for _ in range(n)], v)
    for i in range(n):
        for x, y in ((a, b), (-a, b), (-a, -b), (a, -b)):
            scene.add("contact", (-1, i), contact_rows(frame(np.array([0.0, 0.0, 1.0])), None, np.array([x, y, -c])), mu)
    for i in range(n - 1):
        for y, z in ((b, c), (-b, c), (-b, -c), (b, -c)):
            J = contact_rows(frame(np.array([1.0, 0.0, 0.0])), np.array([a, y, z]), np.array([-a, y, z]))
            scene.add("contact", (i, i + 1), J, mu)
    return scene


def column_of_spheres(masses: list[float], speed: float = -0.1, mu: float = 0.5, spin: Any = (0.0, 0.0, 0.0)) -> Scene:
    """Spheres upon each other on the ground, all with the same speed, the last one turning."""
    up, R = np.array([0.0, 0.0, 1.0]), 0.1
    v = np.zeros((len(masses), 6))
    v[:, 2] = speed
    v[-1, 3:] = spin
    scene = Scene([rigid(m, R) for m in masses], v)
    for k in range(len(masses)):
        scene.add("contact", (k - 1, k), contact_rows(frame(up, 0.3 * k), R * up if k else None, -R * up), mu)
    return scene


def random_scene(seed: int, bodies: int, blocks: int, mu: float = 0.6, others: bool = True, ratio: float = 10.0) -> Scene:
    """Contacts at random points in random directions that push outwards, with joints, stops and dry friction among them."""
    rng = np.random.default_rng(seed)
    masses = []
    for _ in range(bodies):
        mass = ratio ** rng.uniform(-0.5, 0.5)
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = mass * np.eye(3), mass * positive(rng, 3, 3.0)
        masses.append(M)
    scene = Scene(masses, rng.normal(size=(bodies, 6)))
    for _ in range(blocks):
        first, second = (int(k) for k in rng.permutation(np.arange(-1, bodies))[:2])
        if second < 0:
            first, second = second, first
        law = str(rng.choice(["contact", "contact", "unilateral", "bilateral", "friction"])) if others else "contact"
        A, arm = frame(rng.normal(size=3), rng.uniform(0, 6)), rng.normal(size=3)
        J = contact_rows(A, rng.normal(size=3) if first >= 0 else None, arm)
        if law == "contact":
            J[0, 3:6] = J[0, 9:] = 0.0  # normals through the centres, so that every contact can open alone
        scene.add(law, (first, second), J if law == "contact" else J[:1], rng.uniform(0.0, mu) if law == "contact" else rng.uniform(0, 0.5))
    return scene
