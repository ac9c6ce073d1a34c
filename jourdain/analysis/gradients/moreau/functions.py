"""What derivatives of Moreau's steps are made of: contacts as steps have noted them, and rate, momentum and contacts of a tree with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....solvers.nonsmooth.notes import FRICTION, HEAD, IMPULSE, KEY, ROUND, STEP, STRIKES
from ....symbolic.expr import ZERO, Expr, add, mul, symbol
from ....systems.sensitivity import Derived, derived
from ..contact.places import Places

#: Singular values below this part of the largest belong to contacts that others leave undetermined.
DEPENDENT = 1e-10
#: Velocities are undetermined where they are more than this part of what such contacts leave open.
LOOSE = 1e-6


@dataclass(eq=False)
class Taken:
    """Contacts of one round, or those by which positions were corrected (PUSHED): a row each, in the order of the steps."""

    step: np.ndarray
    place: np.ndarray
    friction: np.ndarray
    strikes: np.ndarray
    impulse: np.ndarray
    key: np.ndarray

    def __len__(self) -> int:
        return len(self.step)

    def only(self, which: np.ndarray) -> Taken:
        """Some of them."""
        return Taken(*(x[which] for x in (self.step, self.place, self.friction, self.strikes, self.impulse, self.key)))


def taken(rows: np.ndarray, round_: int, numbers: np.ndarray) -> Taken:
    """The contacts of a round from the rows that steps have noted, with their numbers among the places."""
    own = (rows[:, ROUND] == round_) & (rows[:, KEY] != HEAD)
    r = rows[own]
    return Taken(
        r[:, STEP].astype(int), numbers[own], r[:, FRICTION], r[:, STRIKES] == 1.0, r[:, IMPULSE : IMPULSE + 3], r[:, KEY : KEY + 3]
    )


def numbered(rows: np.ndarray, number: Callable[[int, np.ndarray], int]) -> np.ndarray:
    """The number of the place of every row; ``number`` finds it from the step and the row where it is met for the first time."""
    known: dict[tuple[int, ...], int] = {}
    found = np.full(len(rows), -1)
    for i, row in enumerate(rows):
        if row[KEY] == HEAD:
            continue
        key = tuple(row[KEY : KEY + 3].astype(int).tolist())
        if key not in known:
            known[key] = number(int(row[STEP]), row)
        found[i] = known[key]
    return found


class Functions:
    """Rate, momentum and contacts of a tree with their derivatives by positions, velocities and variables."""

    def __init__(
        self, eq: Any, rates: Sequence[Expr], mass: Sequence[Sequence[Expr]], places: Places, symbols: Sequence[Expr], p: np.ndarray
    ) -> None:
        self.eq, self.places, self.symbols, self.p = eq, places, list(symbols), p
        self.arrays: dict[str, tuple[Expr, ...]] = {"t": (eq.t,), "q": tuple(eq.q), "v": tuple(eq.v), "z": tuple(eq.z), "u": tuple(eq.u)}
        w = self._given("w", len(eq.v))
        momentum = []
        for row in mass:
            total = ZERO
            for e, x in zip(row, w, strict=True):
                total = add(total, mul(e, x))
            momentum.append(total)
        self.rate = self._derived("rates", rates, ("q", "v", "z"))
        self.momentum = self._derived("momentum", momentum, ("q",), {"w": w})
        self._contacts: dict[int, Derived] = {}
        self._axes: dict[int, Derived] = {}

    @staticmethod
    def _given(word: str, n: int) -> tuple[Expr, ...]:
        return tuple(symbol(f"{word}_{i}", "input") for i in range(n))

    def _derived(
        self, name: str, outputs: Sequence[Expr], active: Sequence[str], more: Mapping[str, tuple[Expr, ...]] | None = None
    ) -> Derived:
        known = {s.id for s in self.eq.p}
        own = [s for s in self.symbols if s.id in known]
        return derived(name, {**self.arrays, **(more or {})}, list(outputs), active, self.eq.p, self.p, own)

    def contact(self, place: int) -> Derived:
        """Gap, velocities, Jᵀπ, both coefficients of friction and restitution of a contact."""
        if place not in self._contacts:
            c, pi, nv = self.places.rows.contacts[place], self._given("pi", 3), len(self.eq.v)
            force = [ZERO] * nv
            for r, x in enumerate(pi):
                force = [add(f, mul(x, e)) for f, e in zip(force, self.places.rows.row(place, r), strict=True)]
            outputs = [c.gap, *c.velocity, *force, c.friction, c.static, c.restitution]
            self._contacts[place] = self._derived("contact", outputs, ("q", "v"), {"pi": pi})
        return self._contacts[place]

    def axes(self, place: int) -> Derived:
        """The tangents of a contact."""
        if place not in self._axes:
            first, second = self.places.rows.contacts[place].tangents
            self._axes[place] = self._derived("tangents", [*first, *second], ())
        return self._axes[place]

    def set_parameters(self, p: np.ndarray) -> None:
        """Other values of the parameters."""
        self.p = p
        for f in (self.rate, self.momentum, *self._contacts.values(), *self._axes.values()):
            f.set_parameters(p)

    def tangent(self, f: Derived, given: Sequence[np.ndarray], active: int) -> tuple[np.ndarray, np.ndarray]:
        """Values in rows, and their derivatives by the active arrays and then by the symbols (rows × outputs × both)."""
        count = len(self.symbols)
        d, dc = np.zeros((active + count, active)), np.zeros((active + count, f.nc))
        d[:active] = np.eye(active)
        if f.nc and f.linear.wrt:
            places = {s.id: j for j, s in enumerate(self.symbols)}
            dc[[active + places[s.id] for s in f.linear.wrt]] = f.slopes.T
        n, outputs = len(given[0]), len(f.linear.outputs)
        values = np.asarray(f.value(*given)).reshape(n, outputs)
        slopes = np.asarray(f.push(*(np.ascontiguousarray(a[:, None, :]) for a in given), d, dc)).reshape(n, active + count, outputs)
        return values, slopes.transpose(0, 2, 1)


def least_changes(K: np.ndarray, b: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n unknowns of K x = b, of the least changes where equations depend on each other; and where this leaves some of these n undetermined."""
    try:
        inverse = np.linalg.inv(K)
        regular = np.abs(inverse).sum(axis=2).max(axis=1) * np.abs(K).sum(axis=2).max(axis=1) < 1.0 / DEPENDENT
    except np.linalg.LinAlgError:
        inverse, regular = K, np.zeros(len(K), bool)
    found, loose = np.zeros((len(K), n, b.shape[2])), np.zeros(len(K), bool)
    found[regular] = inverse[regular, :n] @ b[regular]
    rest = np.flatnonzero(~regular)
    if len(rest):
        U, sizes, Vh = np.linalg.svd(K[rest])
        none = sizes <= DEPENDENT * sizes[:, :1]
        weights = np.where(none, 0.0, 1.0 / np.where(none, 1.0, sizes))
        found[rest] = Vh.transpose(0, 2, 1)[:, :n] @ (weights[:, :, None] * (U.transpose(0, 2, 1) @ b[rest]))
        loose[rest] = (none & (np.linalg.norm(Vh[:, :, :n], axis=2) > LOOSE)).any(axis=1)
    return found, loose


__all__ = ["Functions", "Taken", "least_changes", "numbered", "taken"]
