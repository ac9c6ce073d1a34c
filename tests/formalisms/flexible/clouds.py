"""Flexible bodies made of point masses that move by given modes: every integral is a sum, so that there is a second way to every number."""

from __future__ import annotations

import numpy as np

import jourdain as jd
from jourdain.structures import Point, ReducedStructure, Structure
from jourdain.structures.second_order import integrals


def cloud(points: int, modes: int, rng: np.random.Generator, order: int = 1, size: float = 0.1) -> tuple[ReducedStructure, np.ndarray]:
    """A reduced structure of random points and modes, and the masses of the points."""
    x, w = rng.normal(size=(points, 3)), rng.uniform(0.5, 1.5, points)
    phi, turn = size * rng.normal(size=(points, 3, modes)), size * rng.normal(size=(points, 3, modes))
    psi = size * rng.normal(size=(points, 3, modes, modes)) if order == 2 else None
    bend = size * rng.normal(size=(points, 3, modes, modes)) if order == 2 else None
    if psi is not None and bend is not None:
        psi, bend = psi + np.swapaxes(psi, 2, 3), bend + np.swapaxes(bend, 2, 3)
    A = rng.normal(size=(modes, modes))
    second = [(None, None) if psi is None or bend is None else (psi[k], bend[k]) for k in range(points)]
    frames = {f"n{k}": Point(f"n{k}", x[k], np.eye(3), phi[k], turn[k], True, *second[k]) for k in range(points)}
    moved = np.concatenate([phi, turn], axis=1).reshape(6 * points, modes)
    inertia = np.diag(np.concatenate([w.repeat(3).reshape(points, 3), np.zeros((points, 3))], axis=1).ravel())
    whole = Structure(x, inertia, np.eye(6 * points), names={f"n{k}": k for k in range(points)}, name="cloud")
    part = ReducedStructure(
        name="cloud", frame="none", kind="given", names=[f"mode{i + 1}" for i in range(modes)], stiffness=50.0 * A @ A.T, damping=0.1 * A @ A.T,
        points=frames, part=whole, shapes=moved, conditions=np.zeros((0, 6 * points)), **integrals(x, w, phi, psi),
    )  # fmt: skip
    return part, w


def chain(seed: int = 1, order: int = 1) -> tuple[jd.Model, dict[str, np.ndarray]]:
    """Two clouds and a rigid body one behind the other, a third cloud beside them, with a spring between nodes; the masses by body."""
    rng = np.random.default_rng(seed)
    m = jd.Model("clouds")
    parts = {name: cloud(*size, rng, order) for name, size in {"a": (5, 3), "b": (4, 2), "c": (3, 1)}.items()}
    a, b, c = (m.flexible_body(name, part) for name, (part, _) in parts.items())
    r = m.body("r", mass=1.3, com=(0.1, 0.2, 0.3), inertia=(0.4, 0.5, 0.6))
    for body, (part, _) in zip((a, b, c), parts.values(), strict=True):
        for name in part.points:
            body.node(name)
    m.spherical("j1", m.ground, a.node("n0"), orientation="xyz")
    m.universal("j2", a.node("n1"), b.node("n2"))
    m.revolute("j3", b.node("n0"), r.at(0.1, 0.1, 0), axis=(1, 1, 0), damping=0.1)
    m.prismatic("j4", c.node("n1"), a.node("n0").at(0.1, 0.2, 0.3, rotation=("x", 0.4)), axis="y")
    m.spring("tie", c.node("n2").at(0.1, 0, 0), r.at(0.3, 0, 0), stiffness=20.0, length=0.5, damping=0.3)
    return m, {name: w for name, (_, w) in parts.items()}
