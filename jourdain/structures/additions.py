"""Point masses and springs at the nodes of a structure."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..errors import InputError
from .field import MassField
from .parts.dofs import Array, skew
from .parts.points import motion_of
from .structure import Structure


def with_mass(part: Structure, at: Any, mass: float, inertia: ArrayLike = 0.0, com: ArrayLike = (0, 0, 0)) -> Structure:
    """The part with a rigid piece at a node or interface: mass, inertia about its centre (a number, three, or a tensor), centre off the point by `com`."""
    if mass < 0 or not np.isfinite(mass):
        raise InputError(f"{part.name}: mass = {mass:g} kg at {at!r} must not be negative")
    motion = motion_of(part, at)
    J = np.asarray(inertia, float)
    tensor = J * np.eye(3) if J.ndim == 0 else np.diag(J) if J.ndim == 1 else J
    arm = np.asarray(com, float)
    if (tensor.any() or arm.any()) and not motion.turns:
        raise InputError(
            f"{part.name}: {at!r} has no rotation, so that it cannot carry inertia or a centre of mass beside it; take an interface of several nodes"
        )
    lever = np.hstack([np.eye(3), -skew(arm)])
    moved = sp.csr_array(lever @ motion.operator)
    spin = sp.csr_array(motion.operator[3:])
    rotary = sp.csc_array(spin.T @ sp.csr_array(tensor) @ spin)
    old = part.field
    weights = sp.csc_array(sp.block_diag([old.weights, sp.csc_array([[mass]])]))
    remainder = rotary if old.remainder is None else sp.csc_array(old.remainder + rotary)
    field = MassField(
        np.vstack([old.positions, motion.position + arm]),
        sp.csr_array(sp.vstack([old.shape, moved])),
        weights,
        remainder if remainder.nnz else None,
    )
    return copied(part, part.M + mass * (moved.T @ moved) + rotary, part.K, field)


def with_spring(part: Structure, a: Any, b: Any, stiffness: ArrayLike) -> Structure:
    """The part with a spring between two points at one place: stiffness of three displacements, or of six with rotations (numbers or a matrix)."""
    first, second = motion_of(part, a), motion_of(part, b)
    k = np.asarray(stiffness, float)
    matrix: Array = np.diag(k) if k.ndim == 1 else k
    size = len(matrix)
    if matrix.shape not in ((3, 3), (6, 6)) or not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] < 0:
        raise InputError(
            f"{part.name}: a spring takes 3 or 6 stiffnesses that are not negative, or a symmetric matrix of them, not {k.tolist()}"
        )
    if np.linalg.norm(first.position - second.position) > 1e-9 * max(1.0, float(np.abs(part.nodes).max())):
        raise InputError(
            f"{part.name}: {a!r} and {b!r} are {np.linalg.norm(first.position - second.position):.4g} m apart, so that a spring of displacements would "
            "resist rotations; take a bar (jd.structures.truss) or a beam between them"
        )
    relative = sp.csr_array(second.operator - first.operator)[:size]
    return copied(part, part.M, part.K + relative.T @ sp.csr_array(matrix) @ relative, part.field)


def copied(part: Structure, M: Any, K: Any, field: MassField) -> Structure:
    new = Structure(
        part.nodes,
        M,
        K,
        part.dofs,
        damping=part.damping,
        field=field,
        elements=part.elements,
        names=part.names,
        sets=part.sets,
        name=part.name,
    )
    new.interfaces.update(part.interfaces)
    return new
