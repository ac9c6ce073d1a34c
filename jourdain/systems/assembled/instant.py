"""The equations of an assembled system at an instant: mass, constraints, forces; consistent positions, rates and accelerations.

They are needed once for a run and are evaluated without compiling, for all instances of a type at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import bmat, coo_matrix, csc_matrix, csr_matrix, diags, identity

from ...elements.element import Element
from ...elements.stepping import ElementStep
from ...errors import InputError
from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import HALF, ZERO, Expr, add, mul, sub
from ...symbolic.graph import evaluate, substitute
from .massless import accelerations as massless_accelerations
from .massless import balanced, undetermined
from .program import Handle, Instance, first_order_handles, initial_history

#: Violations of the initial state below this part of the coordinates are removed, larger ones refused.
TOLERATED = 1e-6
#: Length (s) of the step by which forces at an instant are evaluated, and of one about it for those that span a step (dampers, rolling).
MOMENT, CENTRED = 1e-7, 1e-5
_STEPS: dict[Any, ElementStep] = {}
_SLOPES: dict[Any, tuple[dict[tuple[int, int], Expr], dict[tuple[int, int], Expr]]] = {}


class InconsistentState(InputError):
    """A state that is too far from the constraints to start from."""


@dataclass
class Instant:
    """M, rows G (rates: G v + rate = 0) and the rows Ḡ through which multipliers act, Φ, force ∇V + F − Q, and G a + bias = 0."""

    mass: csr_matrix
    rows: csr_matrix
    acting: csr_matrix
    value: np.ndarray
    rate: np.ndarray
    force: np.ndarray
    bias: np.ndarray


class Equations:
    """Evaluates :class:`Instant` for the instances of an assembled system."""

    def __init__(self, handles: Sequence[Handle], instances: Sequence[Instance]) -> None:
        self.nq = sum(h.size for h in handles)
        self.free = np.concatenate([np.full(h.size, not h.fixed) for h in handles]) if handles else np.zeros(0, bool)
        first = first_order_handles(instances)
        self.first = np.concatenate([np.full(h.size, h.number in first) for h in handles]) if handles else np.zeros(0, bool)
        self.coordinate_names = [f"{h.name}[{i}]" for h in handles for i in range(h.size)]
        groups: dict[Any, list[int]] = {}
        for k, instance in enumerate(instances):
            groups.setdefault(instance.element.key, []).append(k)
        self.groups = [(_step(instances[m[0]].element), [instances[i] for i in m]) for m in groups.values()]
        self.row_names = [(i.name, row) for step, members in self.groups for i in members for row in step.row_names]
        self._owner = np.array([h.number for h in handles for _ in range(h.size)], int)
        owners = (
            (_owner_of(instances[k], len(handles) + k), len(step.row_names))
            for (step, _), m in zip(self.groups, groups.values(), strict=True)
            for k in m
        )
        self._row_owner = np.array([owner for owner, count in owners for _ in range(count)], int)
        #: Rows that hold a body together.
        self.inside_bodies = np.array([r is not None and row in r.rows for step, members in self.groups for r in (step.element.reduction,)
                                   for _ in members for row in step.row_names], bool)  # fmt: skip

    def at(self, q: np.ndarray, v: np.ndarray, t: float, history: Mapping[str, np.ndarray] | None = None) -> Instant:
        """The equations at a state; ``history`` gives internal variables by instance (default: as at the start of a run)."""
        nothing: list[Any] = [[np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)]]
        mass, rows, acting = ([list(x) for x in nothing] for _ in range(3))
        force = np.zeros(self.nq)
        values: list[np.ndarray] = [np.zeros(0)]
        rates, biases = [np.zeros(0)], [np.zeros(0)]
        first = 0
        for step, members in self.groups:
            index = self.local_coordinates(step, members)
            known = self.packed_values(step, members, index, q, v, t, history=history)
            n, m, count = step.element.size, len(step.row_names), len(members)
            local = first + np.arange(count)[:, None] * m + np.arange(m)
            first += count * m
            residual, entries = step.acceleration
            computed = evaluate([*residual, *entries.values(), *step.row_residuals, *(rest for _, rest in step.rate_rows)], known)
            if _spans(step):
                kept = [*range(n), *(n + m + k for k, (i, j) in enumerate(entries) if i < n <= j)]
                listed = [*residual, *entries.values()]
                middle = evaluate([listed[k] for k in kept], self.packed_values(step, members, index, q, v, t, True, history))
                for k, x in zip(kept, middle, strict=True):
                    computed[k] = x
            out = [np.broadcast_to(x, (count,)) for x in computed]
            for i in range(n):
                np.add.at(force, index[:, i], out[i])
            biases.append(np.column_stack(out[n : n + m]).ravel() if m else np.zeros(0))
            at = n + m
            for (i, j), x in zip(entries, out[at : at + len(entries)], strict=True):
                if i < n and j < n:
                    _append(mass, x, index[:, i], index[:, j])
                elif i < n:
                    _append(acting, x, local[:, j - n], index[:, i])
                else:
                    _append(rows, x, local[:, i - n], index[:, j])
            at += len(entries)
            values.append(np.column_stack(out[at : at + m]).ravel() if m else np.zeros(0))
            rates.append(np.column_stack(out[at + m :]).ravel() if m else np.zeros(0))
        shape = (first, self.nq)
        return Instant(
            _sparse(mass, (self.nq, self.nq)), _sparse(rows, shape), _sparse(acting, shape), np.concatenate(values),
            np.concatenate(rates), force, np.concatenate(biases),
        )  # fmt: skip

    def local_coordinates(self, step: ElementStep, members: Sequence[Instance]) -> np.ndarray:
        """Coordinates of every instance of a type, one row each."""
        return np.array([[h.offset + i for b in step.element.blocks for h in (m.blocks[b],) for i in range(h.size)] for m in members])

    def packed_values(
        self, step: ElementStep, members: Sequence[Instance], index: np.ndarray, q: np.ndarray, v: np.ndarray, t: float,
        centred: bool = False, history: Mapping[str, np.ndarray] | None = None,
    ) -> dict[Any, Any]:  # fmt: skip
        """Numbers for the packed input; the start of the step is a moment ago, along the motion, or half of one (``centred``)."""
        p, moment = step.packing, CENTRED if centred else MOMENT
        back, ahead, theta = (0.5 * moment, 0.5 * moment, 0.5) if centred else (moment, 0.0, 1.0)
        known: dict[Any, Any] = dict(zip(p.scalars, (moment, t - back, 1.0, theta, 0.0), strict=True))
        for k in range(step.element.size):
            qk, vk = q[index[:, k]], v[index[:, k]]
            known |= {p.q0[k]: qk - back * vk, p.q1[k]: qk + ahead * vk, p.excess[k]: vk, p.offset[k]: vk}
        known |= {s: 0.0 for s in p.multipliers}
        if p.history:
            z = [(history or {}).get(m.name, initial_history(m, q)) for m in members]
            known |= {s: np.array([part[k] for part in z]) for k, s in enumerate(p.history)}
        numbers = np.array([m.numbers for m in members]).reshape(len(members), -1)
        at = 0
        for c in step.element.constants:
            entries = getattr(step.s, c)
            for e in entries if isinstance(entries, tuple) else (entries,):
                known[e] = numbers[:, at]
                at += 1
        return known

    def tangent(self, q: np.ndarray, v: np.ndarray, t: float, lam: np.ndarray) -> tuple[csr_matrix, csr_matrix]:
        """K = ∂(∇V + F − Q + Ḡᵀλ)/∂q and C = ∂(F − Q)/∂q̇ at a state, with λ in the order of ``row_names``."""
        parts: list[list[Any]] = [[[np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)]] for _ in range(2)]
        first = 0
        for step, members in self.groups:
            index = self.local_coordinates(step, members)
            known = self.packed_values(step, members, index, q, v, t, centred=_spans(step))
            known |= {s: q[index[:, k]] for k, s in enumerate(step.packing.q1)}
            m, count = len(step.row_names), len(members)
            local = lam[first : first + m * count].reshape(count, m)
            first += m * count
            known |= {s: local[:, j] for j, s in enumerate(step.packing.multipliers)}
            known |= {s: 0.0 for s in step.packing.excess}
            for part, entries in zip(parts, _slopes(step), strict=True):
                for (i, j), x in zip(entries, evaluate(list(entries.values()), known), strict=True):
                    _append(part, np.broadcast_to(x, (count,)), index[:, i], index[:, j])
        shape = (self.nq, self.nq)
        return _sparse(parts[0], shape), _sparse(parts[1], shape)

    # -- consistent states ----------------------------------------------------------------------------------------------

    def consistent(self, q: np.ndarray, v: np.ndarray, t: float, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates that meet the constraints to rounding; refuses those that are far from it.

        Coordinates without mass that no constraint determines are put into their balance.
        """
        span = max(1.0, float(np.abs(q).max(initial=0.0)))
        for k in range(6):
            now = self.at(q, v, t)
            if k == 0:
                self._refuse(now.value, TOLERATED * span, "position", name)
            if np.abs(now.value).max(initial=0.0) <= 4e-16 * span:
                break
            q = q + self._least(now.rows, -now.value)
        now = self.at(q, v, t)
        v = self._complete(now, v)
        defect = now.rows @ v + now.rate
        self._refuse(defect, 10.0 * TOLERATED * max(1.0, float(np.abs(v).max(initial=0.0))), "velocity", name)
        for _ in range(2):
            v = v + self._least(now.rows, -(now.rows @ v + now.rate))
        q, v = balanced(self, q, v, t, name, now=now)
        if self.first.any():
            v = np.where(self.first, -self.at(q, v, t).force, v)
        return q, v

    def after_impact(
        self, v0: np.ndarray, q: np.ndarray, v: np.ndarray, t: float, old: set[tuple[str, str]], name: str
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """State after an impact at which rates were to jump from v₀ to v: the nearest ones, in the metric of the masses, that constraints admit.

        M (v₁ − v) + Ḡᵀι = 0 with G v₁ + rate = 0 for new rows; rows that were there (``old``) keep what the scheme left of them.
        """
        from scipy.sparse.linalg import splu

        span, now = max(1.0, float(np.abs(q).max(initial=0.0))), self.at(q, v, t)
        self._refuse(now.value, TOLERATED * span, "position after an event", name)
        for _ in range(4):
            if np.abs(now.value).max(initial=0.0) <= 1e-14 * span:
                break
            q = q + self._least(now.rows, -now.value)
            now = self.at(q, v, t)
        kept = np.where([r in old for r in self.row_names], now.rows @ v0 + now.rate, 0.0) if self.row_names else np.zeros(0)
        defect = now.rows @ v + now.rate - kept
        if np.abs(defect).max(initial=0.0) > 1e-13 * max(1.0, float(np.abs(v).max(initial=0.0))):
            f, m = np.flatnonzero(self.free), len(defect)
            mass, scale = now.mass[f][:, f], max(1e-300, float(abs(now.mass).max()))
            K = csc_matrix(bmat([[mass, now.acting[:, f].T], [now.rows[:, f], -1e-13 / scale * identity(m)]]))
            v = v.copy()
            v[f] += splu(K).solve(np.concatenate([np.zeros(f.size), -defect]))[: f.size]
        if self.first.any():
            v = np.where(self.first, -self.at(q, v, t).force, v)
        return q, v

    def _complete(self, now: Instant, v: np.ndarray) -> np.ndarray:
        """Rates of massless coordinates (angles, lengths) from those of the bodies."""
        massless = self.free & (np.asarray(abs(now.mass).sum(axis=1)).ravel() == 0.0)
        if not massless.any() or now.rows.shape[0] == 0:
            return v
        only = diags(massless.astype(float)).tocsr()
        correction = self._least(csr_matrix(now.rows @ only), -(now.rows @ v + now.rate))
        return v + np.where(massless, correction, 0.0)

    def _refuse(self, defect: np.ndarray, limit: float, what: str, name: str) -> None:
        if defect.size and np.abs(defect).max() > limit:
            k = int(np.argmax(np.abs(defect)))
            instance, row = self.row_names[k]
            raise InconsistentState(
                f"system '{name}': the initial {what} violates '{row}' of element '{instance}' by {abs(defect[k]):.3g}; "
                "give coordinates and rates that meet the constraints"
            )

    def _least(self, rows: csr_matrix, target: np.ndarray) -> np.ndarray:
        """The smallest change of the free coordinates that meets rows · x = target."""
        from scipy.sparse.linalg import splu

        m = rows.shape[0]
        if m == 0:
            return np.zeros(self.nq)
        G = csr_matrix(rows @ diags(self.free.astype(float)))
        n = self.nq
        K = csc_matrix(bmat([[identity(n), G.T], [G, -1e-12 * identity(m)]]))
        x = splu(K).solve(np.concatenate([np.zeros(n), target]))[:n]
        return np.where(self.free, x, 0.0)

    def accelerations(
        self, q: np.ndarray, v: np.ndarray, t: float, history: Mapping[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """a and λ of M a + force + Ḡᵀλ = 0, G a + bias = 0 (least squares where constraints are redundant)."""
        from scipy.sparse.linalg import spsolve

        now = self.at(q, v, t, history)
        f, m, massless = np.flatnonzero(self.free), now.rows.shape[0], undetermined(self, now)
        mass = now.mass + csr_matrix(massless @ massless.T) if massless.size else now.mass
        mass, acting, rows = mass[f][:, f], now.acting[:, f], now.rows[:, f]
        scale = max(1e-300, float(abs(mass).max()) if mass.nnz else 1.0)
        K = csc_matrix(bmat([[mass, acting.T], [rows, -1e-13 / scale * identity(m)]])) if m else csc_matrix(mass)
        x = spsolve(K, -np.concatenate([now.force[f], now.bias]))
        a = np.zeros(self.nq)
        a[f] = x[: f.size]
        if massless.size:
            a = massless_accelerations(self, massless, q, v, a, t, history)
        return a, x[f.size :]

    def redundant(self, q: np.ndarray, v: np.ndarray, t: float, preferred: Callable[[], set[str]] = set) -> frozenset[tuple[str, str]]:
        """Rows that depend on others at a state; those inside a body are kept first, then those of preferred instances."""
        from .rank import dependent_rows

        free = np.flatnonzero(self.free)
        rows = csr_matrix(self.at(q, v, t).rows[:, free])
        if rows.nnz == 0:
            return frozenset()
        names = preferred()
        rank = np.where(self.inside_bodies, 2, [instance in names for instance, _ in self.row_names])
        return frozenset(self.row_names[i] for i in dependent_rows(rows, rank, self._owner[free], self._row_owner))


def _step(element: Element) -> ElementStep:
    """The equations of an element type at an instant, derived once in a process."""
    if element.key not in _STEPS:
        _STEPS[element.key] = ElementStep(element, "end")
    return _STEPS[element.key]


def _slopes(step: ElementStep) -> tuple[dict[tuple[int, int], Expr], dict[tuple[int, int], Expr]]:
    """Derivatives of an element's forces by its coordinates and by their rates, the start of the step moving with its end."""
    key = step.element.key
    if key not in _SLOPES:
        p = step.packing
        half = mul(HALF, p.scalars[0])
        ends: dict[Expr, Expr] = {}
        for a, b, r in zip(p.q0, p.q1, p.offset, strict=True):
            ends |= {a: sub(b, mul(half, r)), b: add(b, mul(half, r))} if _spans(step) else {a: sub(b, mul(p.scalars[0], r))}
        residual = list(step.residual_expressions[: step.element.size])
        for i, f in step.first_order_rates.items():
            residual[i] = sub(ZERO, f)
        forces = substitute(residual, ends)
        _SLOPES[key] = sparse_jacobian(forces, p.q1), sparse_jacobian(forces, p.offset)
    return _SLOPES[key]


def _spans(step: ElementStep) -> bool:
    """Whether forces or rows of an element belong to the middle of a step."""
    return step.internal is not None or bool(step.rolling) or bool(step.servo)


def _owner_of(instance: Instance, own: int) -> int:
    """The number of the only moving block that an instance acts on, else one of its own."""
    moving = {h.number for h in instance.blocks.values() if not h.fixed}
    return moving.pop() if len(moving) == 1 else own


def _append(target: list[Any], x: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
    for part, new in zip(target, (x, i, j), strict=True):
        part.append(new)


def _sparse(parts: list[Any], shape: tuple[int, int]) -> csr_matrix:
    x, i, j = (np.concatenate(p) for p in parts)
    return csr_matrix(coo_matrix((x, (i, j)), shape=shape))
