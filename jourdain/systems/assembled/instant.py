"""The equations of an assembled system at an instant: mass, constraints, forces, accelerations, stiffness.

They are evaluated without compiling, for all instances of a type at a time; what every run needs is native, see :mod:`.start`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import bmat, coo_matrix, csc_matrix, csr_matrix, identity

from ...elements.discrete.stepping import ElementStep
from ...elements.instant import at_instant
from ...elements.vectors import VectorElement
from ...errors import InputError
from ...symbolic.graph import evaluate
from .massless import accelerations as massless_accelerations
from .massless import undetermined
from .program import Handle, Instance, first_order_handles, initial_history, keys_of

if TYPE_CHECKING:
    from .at_rest import AtRest
    from .contacts import ContactForces

#: Length (s) of the step by which forces at an instant are evaluated, and of one about it for those that span a step (dampers, rolling).
MOMENT, CENTRED = 1e-7, 1e-5


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
        keys = keys_of(instances)
        for k, instance in enumerate(instances):
            groups.setdefault(keys[id(instance.element)], []).append(k)
        vectors = [groups.pop(key) for key in [k for k, m in groups.items() if isinstance(instances[m[0]].element, VectorElement)]]
        #: Solids and beams, which have no rows and are evaluated natively.
        self.native = _at_rest([[instances[i] for i in m] for m in vectors])
        self.groups = [(at_instant(instances[m[0]].element), [instances[i] for i in m]) for m in groups.values()]
        self.row_names = [(i.name, row) for step, members in self.groups for i in members for row in step.row_names]
        self.owner = np.array([h.number for h in handles for _ in range(h.size)], int)
        owners = (
            (_owner_of(instances[k], len(handles) + k), len(step.row_names))
            for (step, _), m in zip(self.groups, groups.values(), strict=True)
            for k in m
        )
        self.row_owner = np.array([owner for owner, count in owners for _ in range(count)], int)
        #: Rows that hold a body together.
        self.inside_bodies = np.array([r is not None and row in r.rows for step, members in self.groups for r in (step.element.reduction,)
                                   for _ in members for row in step.row_names], bool)  # fmt: skip

        self.has_servo = any(step.servo for step, _ in self.groups)

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
            if step.spans:
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
        for part in self.native:
            np.add.at(force, part.index, part.forces(q, v)[0])
            _append(mass, *native_entries(part.masses, part.index))
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
        known |= constants_of(step, members)
        return known

    def tangent(self, q: np.ndarray, v: np.ndarray, t: float, lam: np.ndarray) -> tuple[csr_matrix, csr_matrix]:
        """K = ∂(∇V + F − Q + Ḡᵀλ)/∂q and C = ∂(F − Q)/∂q̇ at a state, with λ in the order of ``row_names``."""
        parts: list[list[Any]] = [[[np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)]] for _ in range(2)]
        first = 0
        for step, members in self.groups:
            index = self.local_coordinates(step, members)
            known = self.packed_values(step, members, index, q, v, t, centred=step.spans)
            known |= {s: q[index[:, k]] for k, s in enumerate(step.packing.q1)}
            m, count = len(step.row_names), len(members)
            local = lam[first : first + m * count].reshape(count, m)
            first += m * count
            known |= {s: local[:, j] for j, s in enumerate(step.packing.multipliers)}
            known |= {s: 0.0 for s in step.packing.excess}
            for part, entries in zip(parts, step.stiffness_and_damping, strict=True):
                for (i, j), x in zip(entries, evaluate(list(entries.values()), known), strict=True):
                    _append(part, np.broadcast_to(x, (count,)), index[:, i], index[:, j])
        for group in self.native:
            _append(parts[0], *native_entries(group.forces(q)[1], group.index))
        shape = (self.nq, self.nq)
        return _sparse(parts[0], shape), _sparse(parts[1], shape)

    def accelerations(
        self, q: np.ndarray, v: np.ndarray, t: float, history: Mapping[str, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """a and λ of M a + force + Ḡᵀλ = 0, G a + bias = 0 (least squares where constraints are redundant)."""
        from scipy.sparse.linalg import spsolve

        self._check_forces()
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

    def _check_forces(self) -> None:
        """Refuses forces that follow those of constraints: they are known of a step."""
        for step, members in self.groups:
            if step.internal is not None and step.internal.reactions:
                raise InputError(
                    f"element '{members[0].name}': its friction follows the normal force of a step, so that there are no accelerations at an instant; "
                    "use method 'energy-momentum', 'midpoint' or 'backward-euler', and leave out what asks for accelerations"
                )


def _at_rest(groups: list[list[Instance]]) -> list[AtRest | ContactForces]:
    if not groups:
        return []
    from .at_rest import AtRest
    from .contacts import ContactForces, Contacts

    return [(ContactForces if isinstance(members[0].element, Contacts) else AtRest)(members) for members in groups]


def native_entries(blocks: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries, rows and columns of the matrices of elements."""
    rows = np.broadcast_to(index[:, :, None], blocks.shape)
    return blocks.ravel(), rows.ravel(), np.swapaxes(rows, 1, 2).ravel()


def constants_of(step: ElementStep, members: Sequence[Instance]) -> dict[Any, np.ndarray]:
    """Numbers of all instances of a type by symbol."""
    numbers = np.array([m.numbers for m in members]).reshape(len(members), -1)
    symbols: list[Any] = []
    for c in step.element.constants:
        entries = getattr(step.s, c)
        symbols += entries if isinstance(entries, tuple) else (entries,)
    return {e: numbers[:, k] for k, e in enumerate(symbols)}


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
