"""Bodies whose points move by r = s + Σ φ_i e_i + ½ Σ ψ_ij e_i e_j: foreshortening, and what follows from it.

The terms ψ of second order let a body that is linear in its strains turn with its modes: a spinning beam stiffens, a pushed one buckles.
They come from the kinematics of the beam (:mod:`.ritz`), or from geometric stiffness by the principle of virtual work: the work of a unit load
on ψ is −½ e·K_g e, so that the matrices K_g of loads, accelerations and rotations *are* the integrals that the equations of motion ask for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .field import LEVI
from .parts.dofs import Array, skew

if TYPE_CHECKING:
    from .parts.geometric import GeometricStiffness
    from .reduced import ReducedStructure


def integrals(x: Array, w: Array, phi: Array, psi: Array | None) -> dict[str, Any]:
    """The integrals of points x (p, 3) of mass w (p,) with shapes φ (p, 3, m) and ψ (p, 3, m, m), as fields of a reduced structure.

    J is complete to second order, D and M to first, in the amplitudes.
    """
    eye = np.eye(3)
    x_phi = np.einsum("p,pa,pbi->iab", w, x, phi)
    phi_phi = np.einsum("p,pai,pbj->ijab", w, phi, phi, optimize=True)
    found: dict[str, Any] = {
        "mass": float(w.sum()), "s0": w @ x, "s1": np.einsum("p,pai->ai", w, phi),
        "J0": np.einsum("p,pa,pa->", w, x, x) * eye - np.einsum("p,pa,pb->ab", w, x, x),
        "J1": np.einsum("iaa->i", x_phi)[:, None, None] * eye - np.swapaxes(x_phi, 1, 2),
        "J2": np.einsum("ijaa->ij", phi_phi)[:, :, None, None] * eye - np.swapaxes(phi_phi, 2, 3),
        "D0": np.einsum("abc,ibc->ai", LEVI, x_phi), "D1": np.einsum("abc,jkbc->jak", LEVI, phi_phi),
        "M_ee": np.einsum("ijaa->ij", phi_phi), "s2": None, "M1": None,
    }  # fmt: skip
    if psi is None:
        return found
    x_psi = np.einsum("p,pa,pbij->ijab", w, x, psi, optimize=True)
    bent = np.einsum("ijaa->ij", x_psi)[:, :, None, None] * eye - np.swapaxes(x_psi, 2, 3)
    crossed = np.einsum("p,pak,paij->kij", w, phi, psi, optimize=True)
    found["s2"] = np.einsum("p,paij->aij", w, psi)
    found["J2"] = found["J2"] + 0.5 * (bent + np.swapaxes(bent, 2, 3))
    found["D1"] = found["D1"] + np.einsum("abc,jkbc->jak", LEVI, x_psi)
    # M_ij = ∫ (φ_i + ψ_ik e_k)·(φ_j + ψ_jl e_l)
    found["M1"] = np.einsum("jik->kij", crossed) + np.einsum("ijk->kij", crossed)
    return found


@dataclass(frozen=True, eq=False)
class Fields:
    """A body's motion by few fields b_k that are orthonormal in its mass: r = Σ b_k ρ_k(e), with which ∫ |v + ω × r + ṙ|² dm is Σ |c_k v + ω × ρ_k + ρ̇_k|².

    ρ_k = ρ0 + ρ1 e + ½ e·ρ2 e.  Nothing of the kinetic energy of a field of second order is left out, so that it is positive at any
    amplitudes; integrals that end at the second order are not, where torsion has little inertia of its own.
    """

    c: Array  #: (k,)
    rho0: Array  #: (k, 3)
    rho1: Array  #: (k, 3, m)
    rho2: Array  #: (k, 3, m, m)

    def positions(self, e: Array) -> Array:
        """ρ (k, 3)."""
        return np.asarray(self.rho0 + self.rho1 @ e + 0.5 * self.rho2 @ e @ e)

    def mass_matrix(self, e: Array) -> Array:
        """M(e) of (v, ω, ė)."""
        rho, by = self.positions(e), self.rho1 + self.rho2 @ e
        rows = np.concatenate([self.c[:, None, None] * np.eye(3), -skew(rho), by], axis=2).reshape(3 * len(rho), -1)
        return np.asarray(rows.T @ rows)

    def joined(self, other: Fields) -> Fields:
        """The fields of both masses."""
        a, b = ([getattr(x, n) for n in ("c", "rho0", "rho1", "rho2")] for x in (self, other))
        return fields_of(*(np.concatenate(pair) for pair in zip(a, b, strict=True)))


#: Parts of fields that are so much smaller than the body's mass and size are rounding.
ROUNDING = 3e-7


def fields_of(c: Array, rho0: Array, rho1: Array, rho2: Array) -> Fields:
    """Few fields with the same kinetic energy, by Gram and Schmidt over points, the constant one first."""
    m = rho1.shape[2]
    pairs = [(i, j) for i in range(m) for j in range(i + 1)]
    columns = np.column_stack([c, rho0, rho1.reshape(len(c), -1), *(rho2[:, :, i, j] for i, j in pairs)])
    size = float(np.linalg.norm(rho0)) / float(np.linalg.norm(c)) or 1.0
    scale = np.concatenate([[1.0], np.full(3, 1 / size), np.ones(3 * m), np.full(3 * len(pairs), size)]) / np.linalg.norm(c)
    basis: list[Array] = []
    for column, weight in zip(columns.T, scale, strict=True):
        rest = column.copy()
        for _ in range(2):  # twice is enough
            for b in basis:
                rest -= (b @ rest) * b
        if np.linalg.norm(rest) * weight > ROUNDING:
            basis.append(rest / np.linalg.norm(rest))
    found = np.array(basis) @ columns
    k = len(basis)
    second = np.zeros((k, 3, m, m))
    for n, (i, j) in enumerate(pairs):
        second[:, :, i, j] = second[:, :, j, i] = found[:, 4 + 3 * m + 3 * n : 7 + 3 * m + 3 * n]
    return Fields(found[:, 0], found[:, 1:4], found[:, 4 : 4 + 3 * m].reshape(k, 3, m), second)


def fields_of_points(x: Array, w: Array, phi: Array, psi: Array) -> Fields:
    """The fields of points x (p, 3) of mass w (p,) with shapes φ and ψ."""
    root = np.sqrt(w)
    return fields_of(root, root[:, None] * x, root[:, None, None] * phi, root[:, None, None, None] * psi)


def stiffened(body: ReducedStructure, points: Iterable[str] | None = None) -> ReducedStructure:
    """The body with the terms of second order that its geometric stiffness stands for, of inertia and of forces at points (all, unless given)."""
    from .load_cases import PRODUCTS

    if body.s2 is not None:
        raise InputError(f"{body.name}: it has terms of second order already; stiffened() is for the linear body")
    geometric = body.geometric_stiffness(points)
    K = dict(zip(geometric.cases.names, geometric.matrices, strict=True))
    J2, D1 = body.J2.copy(), body.D1.copy()
    for a, b in PRODUCTS:
        term = K[f"omega{'xyz'[a]}{'xyz'[b]}"]
        J2[:, :, a, b] -= term if a == b else 0.5 * term
        if a != b:
            J2[:, :, b, a] -= 0.5 * term
    for a, axis in enumerate("xyz"):
        D1[:, a, :] += K[f"alpha{axis}"]
    held = {name: replace(body.points[name], psi_t=_shortening(geometric, name)) for name in geometric.cases.points}
    options = None if body.options is None else {**body.options, "stiffening": True}
    return replace(body, s2=np.array([K[f"a{axis}"] for axis in "xyz"]), J2=J2, D1=D1, points=body.points | held, options=options)


def shortening(body: ReducedStructure, point: Any) -> Array:
    """ψ (3, m, m) of any node of a stiffened body."""
    geometric = body.geometric_stiffness([point])
    return _shortening(geometric, geometric.cases.points[0])


def _shortening(geometric: GeometricStiffness, point: str) -> Array:
    return -np.array([geometric.of(f"{point}.f{axis}") for axis in "xyz"])


__all__ = ["Fields", "fields_of", "fields_of_points", "integrals", "shortening", "stiffened"]
