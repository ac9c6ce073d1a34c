"""In which units constraints and velocities are written, as far as pivots must know.

Which constraints count is decided by sizes of pivots: small ones belong to singular positions.  But a row may be short because it is written in other units than
its neighbours (volumes in m³, or all lengths of a machine of micrometres beside directions), and a turn moves 1 m per radian only in machines of a metre.  So rows
and velocities are compared in units of their own: velocities in those of 1/√M_jj, rows in those of their largest entries around the neutral position,
wherever the mechanism is.  Powers of 1000 serve, so that ordinary machines compare what they have.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.constraints import Equation
from ..solvers.constraints.projection import NOISE
from ..solvers.linear.units import Units, units

if TYPE_CHECKING:
    from ..native.function import Function
    from .dynamics import Dynamics

#: Sizes that differ by less than this are of one unit: pivots are compared to 1e-5.
ORDINARY = 1e3
#: A unit, as a power of ten; positions that are looked at, and by how much the fastest velocity (in its unit) displaces each from the neutral one.
THOUSAND, SAMPLES, DISTANCE = 3, 4, 0.3


def units_of(system: Dynamics, descriptor: Function | None = None) -> Units:
    """The units of a system's constraints and velocities with its present parameters."""
    known = system._idle.get("units")
    if known is None or known[0] is not system.parameter_vector:
        f = system.function("descriptor") if descriptor is None else descriptor
        known = system._idle["units"] = system.parameter_vector, units(*_powers(system, f))
    return known[1]  # type: ignore[no-any-return]


def _powers(system: Dynamics, f: Function) -> tuple[np.ndarray, np.ndarray]:
    m, n = len(system.equations_of_motion.rows), system.nv
    ordinary = np.ones(m), np.ones(n)
    first = _neutral(system)
    J, mass = _sizes(system, f, first)
    if not (np.isfinite(mass).all() and mass.max(initial=0.0) > 0.0):
        return ordinary
    weight = _weights(J, _of_whole_vectors(system, mass))
    rng, steps = np.random.default_rng(0), DISTANCE * weight / weight.max()
    highest, entries = np.zeros((2, m))
    for k in range(SAMPLES + 1):
        q = system.configuration.integrate(first, steps * rng.uniform(-1.0, 1.0, n) * (k > 0))
        J, _ = _sizes(system, f, q)
        longest = J.max(axis=1, initial=0.0)
        entries = np.maximum(entries, longest)
        J[longest <= NOISE * max(1.0, longest.max(initial=0.0))] = 0.0
        highest = np.maximum(highest, (J * weight).max(axis=1, initial=0.0))
    if not np.isfinite(highest).all():
        return ordinary
    _tell_of_rounding(system, entries)
    middle = np.exp(np.log(weight).mean())
    known = highest > 0.0
    size = np.where(known, highest, highest.max(initial=1.0))
    if size.max(initial=0.0) <= ORDINARY * size.min(initial=np.inf) and weight.max() <= ORDINARY * weight.min():
        return ordinary
    return _rounded(size.max(initial=0.0) / size), _rounded(weight / middle)


def _tell_of_rounding(system: Dynamics, entries: np.ndarray) -> None:
    """Warns of constraints of the user's whose derivatives are as small as rounding everywhere."""
    own = system.model.constraints
    for row, size in zip(system.equations_of_motion.rows, entries.tolist(), strict=True):
        if 0.0 < size <= NOISE and isinstance(own.get(row.name), Equation):
            warnings.warn(
                f"'{system.model.name}': constraint '{row.name}' counts as none: its derivatives by velocities are {size:.1g} at most, as rounding is; write it in larger units",
                RuntimeWarning,
                stacklevel=2,
            )


def _neutral(system: Dynamics) -> np.ndarray:
    """The neutral position in the coordinates of a system."""
    own: Any = getattr(system, "state_of", None)
    if own is None:
        return np.asarray(system.configuration.neutral())
    return np.asarray(own(system.reference.state()).q)  # type: ignore[attr-defined]


def _sizes(system: Dynamics, f: Function, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|J| and the diagonal of M in a position at rest."""
    m, n = len(system.equations_of_motion.rows), system.nv
    given = {"x": np.concatenate([q, np.zeros(n + system.nz)]), "u": system.input_values()}
    values = [np.resize(given[name], size) if name in given and given[name].size else np.zeros(size) for name, size in f.signature.inputs]
    M, _, J, *_ = (np.asarray(a) for a in f(*values))
    if J.shape != (m, n):  # entries alone
        whole = np.zeros(m * n)
        whole[system.places("constraint_velocities", "J", packed=True)] = J.ravel()
        return np.abs(whole.reshape(m, n)), np.ones(n)
    return np.abs(J), np.diagonal(M).copy()


def _of_whole_vectors(system: Dynamics, mass: np.ndarray) -> np.ndarray:
    """Masses with the largest of a vector's, or a quaternion's, for all of its components: these mix where a body turns."""
    groups: dict[str, list[int]] = {}
    for j, name in enumerate(system.velocity_names):
        groups.setdefault(name.removesuffix("_rate").rstrip("xyz0123456789"), []).append(j)
    found = mass.copy()
    for places in groups.values() if hasattr(system, "state_of") else ():
        found[places] = mass[places].max()
    return found


def _weights(J: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """1/√M_jj; velocities without mass have the weight of what they move by constraints."""
    weight = np.where(mass > 0.0, 1.0 / np.sqrt(np.where(mass > 0.0, mass, 1.0)), 0.0)
    for row in J:
        top = float((row * weight).max(initial=0.0))
        open_ = (weight == 0.0) & (row > NOISE)
        if top > 0.0:
            weight[open_] = top / row[open_]
    return np.where(weight > 0.0, weight, np.exp(np.log(weight[weight > 0.0]).mean()))


def _rounded(size: np.ndarray) -> np.ndarray:
    """The nearest powers of 1000."""
    return np.asarray(10.0 ** (THOUSAND * np.round(np.log10(size) / THOUSAND)))


__all__ = ["units_of"]
