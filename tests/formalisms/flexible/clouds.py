"""Flexible bodies made of point masses that move by given modes: every integral is a sum, so that there is a second way to every number."""

from __future__ import annotations

import numpy as np

import jourdain as jd
from jourdain.structures import Point, ReducedStructure

LEVI = np.zeros((3, 3, 3))
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI[i, j, k], LEVI[i, k, j] = 1.0, -1.0



def cloud(points: int, modes: int, rng: np.random.Generator, size: float = 0.1) -> tuple[ReducedStructure, np.ndarray]:
    """A reduced structure of random points and modes, and the masses of the points."""
    x, w = rng.normal(size=(points, 3)), rng.uniform(0.5, 1.5, points)
    phi, turn = size * rng.normal(size=(points, 3, modes)), size * rng.normal(size=(points, 3, modes))
    x_phi = np.einsum("p,pa,pbi->iab", w, x, phi)
    phi_phi = np.einsum("p,pai,pbj->ijab", w, phi, phi)
    eye = np.eye(3)
    J1 = np.einsum("iaa->i", x_phi)[:, None, None] * eye - np.swapaxes(x_phi, 1, 2)
    J2 = np.einsum("ijaa->ij", phi_phi)[:, :, None, None] * eye - np.swapaxes(phi_phi, 2, 3)
    A = rng.normal(size=(modes, modes))
    frames = {f"n{k}": Point(f"n{k}", x[k], eye, phi[k], turn[k], True) for k in range(points)}
    part = ReducedStructure(
        name="cloud", frame="none", kind="given", names=[f"mode{i + 1}" for i in range(modes)], mass=float(w.sum()), s0=w @ x,
        s1=np.einsum("p,pai->ai", w, phi), J0=sum(m * (p @ p * eye - np.outer(p, p)) for m, p in zip(w, x, strict=True)), J1=J1, J2=J2,
        D0=np.einsum("abc,ibc->ai", LEVI, x_phi), D1=np.einsum("abc,jkbc->jak", LEVI, phi_phi),
        M_ee=np.einsum("p,pai,paj->ij", w, phi, phi), stiffness=50.0 * A @ A.T, damping=0.1 * A @ A.T, points=frames, part=None,  # type: ignore[arg-type]
        shapes=np.zeros((0, modes)), conditions=np.zeros((0, 0)),
    )  # fmt: skip
    return part, w


def chain(seed: int = 1) -> tuple[jd.Model, dict[str, np.ndarray]]:
    """Two clouds and a rigid body one behind the other, a third cloud beside them, with a spring between nodes; the masses by body."""
    rng = np.random.default_rng(seed)
    m = jd.Model("clouds")
    parts = {name: cloud(*size, rng) for name, size in {"a": (5, 3), "b": (4, 2), "c": (3, 1)}.items()}
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
