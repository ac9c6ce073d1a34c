"""Masses, centres and moments of inertia from forces along a motion: equation error with the regressor, and motions that tell them apart.

Y(q, v, v̇) π = τ + Q is linear in the ten parameters of each body (Khalil and Dombre, ch. 12).  What forces cannot tell apart is named.  Physically consistent parameters are those whose
pseudo-inertias P = [[Σ, h], [hᵀ, m]], Σ = ½ tr(I) 1 − I, are positive (Wensing, Kim and Slotine 2018); they are sought as P = L Lᵀ, so that no step leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.tree.regressor import UNITS, standard_parameters
from ...model.values import number
from ...reals import reals
from ...shown import Shown
from ...symbolic.functions import cos, sin
from ..inverse_dynamics import ActuatorForces, as_motion

if TYPE_CHECKING:
    from ...systems.system import System

#: Singular values below this part of the largest are none.
RANK = 1e-9
#: How little the present values count where forces say nothing.
PRIOR = 1e-7
_LOWER = np.tril_indices(4)


@dataclass(frozen=True, eq=False)
class InertiaFit(Shown):
    """Inertial parameters π by name ("rod.m", "rod.mcx", …, "rod.Iyz"), about the origins of bodies, as forces tell them."""

    system: System = field(repr=False)
    values: Mapping[str, float]
    units: Mapping[str, str]
    #: Root of the mean square of what is left of the forces (N, N m), and the number of combinations that forces tell.
    left: float
    rank: int
    #: Combinations (parameter → weight) that forces do not tell; those of present values are kept there.
    unknown: Sequence[Mapping[str, float]]
    #: Covariance of π within what is told.
    covariance: np.ndarray = field(repr=False)
    consistent: bool = True

    @property
    def bodies(self) -> dict[str, tuple[float, np.ndarray, np.ndarray]]:
        """Mass, centre of mass and matrix of inertia about it, by body."""
        found = {}
        for name in self.system.model.bodies:
            m, *rest = (self.values[f"{name}.{e}"] for e in ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"))
            h, (xx, yy, zz, xy, xz, yz) = np.array(rest[:3]), rest[3:]
            c = h / m if m else np.full(3, np.nan)
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            found[name] = (m, c, inertia - m * (c @ c * np.eye(3) - np.outer(c, c)))
        return found

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors; infinite for what has a part in a combination that forces do not tell."""
        lost = {n for combination in self.unknown for n in combination}
        found = zip(self.values, np.sqrt(np.diag(self.covariance)).tolist(), strict=True)
        return {n: np.inf if n in lost else e for n, e in found}

    def __str__(self) -> str:
        head = f"inertia of {self.system.model.name}: {self.rank} of {len(self.values)} combinations are told, forces are met to {self.left:.3g}"
        width = max(map(len, self.values))
        lines = [
            f"  {n:<{width}} {x: .6g} {self.units[n]}".rstrip() + (f" ± {e:.2g}" if np.isfinite(e) else ", in combinations only")
            for (n, x), e in zip(self.values.items(), self.errors.values(), strict=True)
        ]
        return "\n".join([head + (", physically consistent" if self.consistent else ""), *lines])


def identify_inertia(system: System, motion: Any, forces: Any, consistent: bool = True, times: Any = None) -> InertiaFit:
    """Inertial parameters of all bodies from forces along a motion.

    motion: a :class:`~jourdain.analysis.kinematics.Motion`, a solution, arrays (t, q, v, a), or drivers by coordinate with ``times``.
    forces: what acted in the joints besides the loads of the model: rows (times × velocities), samples by joint, or the result of ``inverse_dynamics_along``.
    consistent: only parameters that a body can have (positive masses, inertias that a distribution of mass gives).
    """
    model = system.model
    if system.equations_of_motion.rows:
        raise InputError(f"identify_inertia '{model.name}': loops are not carried; cut them, or fit parameters with identify()")
    path = as_motion(system, motion, times)
    tau = _forces(system, forces, len(path.t))
    names, present = _parameters(system)
    Y = _regressor(system, path.t, path.q, path.v, path.a)
    f = system.function("loads")
    u, z = system.input_values(None), path.z
    known = {"t": path.t[:, None], "q": path.q, "v": path.v, "z": np.tile(z, (len(path.t), 1)), "u": np.tile(u, (len(path.t), 1))}
    loads = np.asarray(f(*(np.ascontiguousarray(known[n]) for n in f.inputs))).reshape(len(path.t), -1)
    b = (tau + loads).ravel()
    W = Y.reshape(len(b), -1)
    W[:, np.linalg.norm(W, axis=0) <= RANK * np.linalg.norm(W)] = 0.0
    sizes = np.linalg.norm(W, axis=0)
    sizes[sizes <= RANK * sizes.max()] = 1.0
    rows = max(0, W.shape[1] - len(W))  # fewer equations than parameters leave combinations untold, too
    U, s, Vt = np.linalg.svd(np.pad(W / sizes, ((0, rows), (0, 0))), full_matrices=False)
    U = U[: len(b)]
    rank = int(np.count_nonzero(s > RANK * s[0]))
    told = Vt[:rank] / sizes
    pi = present + told.T @ ((U[:, :rank].T @ (b - W @ present)) / s[:rank])
    if consistent:
        pi = _consistent(W, b, present, len(model.bodies))
    rest = b - W @ pi
    variance = float(rest @ rest) / max(1, len(b) - rank)
    covariance = variance * (told.T / s[:rank] ** 2) @ told
    unknown = [_combination(names, row / sizes) for row in Vt[rank:]]
    units = dict(zip(names, [*UNITS] * len(model.bodies) + ["kg m²"] * len(names), strict=False))
    return InertiaFit(
        system, dict(zip(names, pi.tolist(), strict=True)), units, float(np.sqrt(np.mean(rest**2))), rank, unknown, covariance, consistent
    )


def _parameters(system: System) -> tuple[list[str], np.ndarray]:
    standard = standard_parameters(system.model)
    bodies = 10 * len(system.model.bodies)
    if len(standard) > bodies:
        raise InputError(
            f"identify_inertia '{system.model.name}': rotors ('{list(standard)[bodies]}') are not carried; give their inertia as a parameter to identify()"
        )
    values = system.model.parameter_set.evaluate(list(standard.values()), system.parameters)
    return list(standard), np.array([float(x) for x in values])


def _regressor(system: System, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Y at all instants (times, velocities, parameters)."""
    f = system.function("regressor")
    known = {"t": t[:, None], "q": q, "v": v, "a": a}
    return np.asarray(f(*(np.ascontiguousarray(known[n]) for n in f.inputs))).reshape(len(t), system.nv, -1)


def _forces(system: System, given: Any, count: int) -> np.ndarray:
    found = np.zeros((count, system.nv))
    if isinstance(given, ActuatorForces):
        for k, x in enumerate(given.actuators):
            if x.is_input:
                raise InputError(f"identify_inertia: actuator '{x.name}' is an input; give forces of joints")
            found[:, x.index] = given.forces[:, k]
        return found
    if isinstance(given, Mapping):
        names = [n.removesuffix("_rate") for n in system.velocity_names]
        for name, samples in given.items():
            found[:, names.index(name) if name in names else system.configuration.index(name)] = reals(
                samples, f"identify_inertia: forces of '{name}'"
            )
        return found
    rows = reals(given, "identify_inertia: forces")
    if rows.shape != found.shape:
        raise InputError(f"identify_inertia: forces must have the shape {found.shape} (times, velocities), got {rows.shape}")
    return rows


def _combination(names: Sequence[str], weights: np.ndarray) -> dict[str, float]:
    weights = weights / np.abs(weights).max()
    return {n: float(w) for n, w in zip(names, weights, strict=True) if abs(w) > 1e-3}


# -- physically consistent ones ---------------------------------------------------------------------------------------


def _pseudo_inertia(pi: np.ndarray) -> np.ndarray:
    """P of the ten parameters of a body."""
    m, h, (xx, yy, zz, xy, xz, yz) = pi[0], pi[1:4], pi[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    P[:3, 3] = P[3, :3] = h
    P[3, 3] = m
    return P


def _of_pseudo_inertia(P: np.ndarray) -> np.ndarray:
    """The ten parameters of P."""
    S = P[:3, :3]
    inertia = np.trace(S) * np.eye(3) - S
    return np.array([P[3, 3], *P[:3, 3], inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]])


def _consistent(W: np.ndarray, b: np.ndarray, present: np.ndarray, bodies: int) -> np.ndarray:
    """The best π whose pseudo-inertias are L Lᵀ, from the present ones."""
    from scipy.optimize import least_squares

    size = float(np.sqrt(np.mean(b**2))) or 1.0
    weights = PRIOR * size * np.sqrt(len(b)) / np.maximum(np.abs(present), 1e-3 * np.abs(present).max() + 1e-300)
    first = []
    for k in range(bodies):
        P = _pseudo_inertia(present[10 * k : 10 * k + 10])
        sizes, V = np.linalg.eigh(P)
        P = (V * np.maximum(sizes, 1e-6 * max(sizes.max(), 1e-9))) @ V.T
        first.append(np.linalg.cholesky(P)[_LOWER])

    def factors(x: np.ndarray) -> list[np.ndarray]:
        found = []
        for k in range(bodies):
            L = np.zeros((4, 4))
            L[_LOWER] = x[10 * k : 10 * k + 10]
            found.append(L)
        return found

    def parameters(x: np.ndarray) -> np.ndarray:
        return np.concatenate([_of_pseudo_inertia(L @ L.T) for L in factors(x)])

    def residual(x: np.ndarray) -> np.ndarray:
        pi = parameters(x)
        return np.concatenate([(W @ pi - b), weights * (pi - present)])

    def slopes(x: np.ndarray) -> np.ndarray:
        J = np.zeros((len(present), len(x)))
        for k, L in enumerate(factors(x)):
            for i, (r, c) in enumerate(zip(*_LOWER, strict=True)):
                dL = np.zeros((4, 4))
                dL[r, c] = 1.0
                J[10 * k : 10 * k + 10, 10 * k + i] = _of_pseudo_inertia(dL @ L.T + L @ dL.T)
        return np.vstack([W @ J, weights[:, None] * J])

    found = least_squares(residual, np.concatenate(first), slopes, x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=400)
    return parameters(found.x)


# -- excitation -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Excitation(Shown):
    """A periodic motion that tells inertial parameters apart: drivers by coordinate for ``kinematics`` and ``inverse_dynamics_along``."""

    motion: Mapping[str, Callable[[Any], Any]] = field(repr=False)
    period: float
    #: Condition numbers of what forces tell, of the first guess and of this motion.
    first: float
    condition: float

    def times(self, count: int = 200) -> np.ndarray:
        """Instants of one period."""
        return np.linspace(0.0, self.period, count, endpoint=False)

    def __str__(self) -> str:
        return f"excitation of {', '.join(self.motion)} over {self.period:g} s: condition {self.first:.3g} → {self.condition:.3g}"


def excitation(
    system: System,
    limits: Mapping[str, Any],
    period: float | str = 4.0,
    harmonics: int = 3,
    samples: int = 48,
    seed: int = 1,
    limit: int = 60,
) -> Excitation:
    """Finite Fourier series of the coordinates (Swevers 1997) with amplitudes within ``limits`` (m, rad) whose regressor has the least condition number."""
    from scipy.optimize import minimize

    names = [n.removesuffix("_rate") for n in system.velocity_names]
    columns = [names.index(n) if n in names else system.configuration.index(n) for n in limits]
    if len(set(columns)) != system.nv:
        raise InputError(f"excitation '{system.model.name}': limits must be given for every coordinate: {', '.join(names)}")
    most = np.array([number(x, f"excitation: limit of '{n}'") for n, x in limits.items()])
    T = number(period, "excitation: period", "s")
    if not T > 0.0 or not (most > 0.0).all():
        word = f"period = {T:g} s" if not T > 0.0 else f"the limit of '{list(limits)[int(np.argmin(most))]}' = {most.min():g}"
        raise InputError(f"excitation '{system.model.name}': {word} must be positive")
    if harmonics < 1 or samples <= 2 * harmonics:
        raise InputError(
            f"excitation '{system.model.name}': harmonics = {harmonics}, samples = {samples}; take at least one harmonic, and more than two samples for each of them"
        )
    t, w = np.linspace(0.0, T, samples, endpoint=False), 2.0 * np.pi / T * np.arange(1, harmonics + 1)
    S, C = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    rank = np.linalg.matrix_rank(_scaled(system, *_random_states(system, seed)))

    def series(x: np.ndarray) -> np.ndarray:
        """Coefficients (coordinates, sine and cosine, harmonics) whose sum stays within the limits."""
        raw = x.reshape(len(most), 2, harmonics)
        return raw * (most / np.maximum(1.0, np.sqrt((raw**2).sum(axis=1)).sum(axis=1)))[:, None, None]

    def condition(x: np.ndarray) -> float:
        c = series(x)
        q, v, a = (np.zeros((samples, system.nv)) for _ in range(3))
        q[:, columns] = S @ c[:, 0].T + C @ c[:, 1].T
        v[:, columns] = (C * w) @ c[:, 0].T - (S * w) @ c[:, 1].T
        a[:, columns] = -(S * w**2) @ c[:, 0].T - (C * w**2) @ c[:, 1].T
        s = np.linalg.svd(_scaled(system, t, q, v, a), compute_uv=False)
        return float(np.log10(s[0] / max(s[rank - 1], 1e-300)))

    start = np.random.default_rng(seed).normal(0.0, 0.3, len(most) * 2 * harmonics)
    best = minimize(condition, start, method="L-BFGS-B", options={"maxiter": limit})
    c = series(best.x)

    def driver(row: np.ndarray) -> Callable[[Any], Any]:
        return lambda time: sum(
            float(row[0, k]) * sin(float(w[k]) * time) + float(row[1, k]) * cos(float(w[k]) * time) for k in range(harmonics)
        )

    return Excitation({n: driver(row) for n, row in zip(limits, c, strict=True)}, T, 10.0 ** condition(start), 10.0 ** float(best.fun))


def _scaled(system: System, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The regressor with columns of length one."""
    W = _regressor(system, t, q, v, a).reshape(len(t) * system.nv, -1)
    return W / np.maximum(np.linalg.norm(W, axis=0), 1e-9 * np.abs(W).max())


def _random_states(system: System, seed: int) -> tuple[np.ndarray, ...]:
    random, count = np.random.default_rng(seed), 20 * len(system.model.bodies) + 20
    return np.zeros(count), *(random.normal(size=(count, system.nv)) for _ in range(3))


__all__ = ["Excitation", "InertiaFit", "excitation", "identify_inertia"]
