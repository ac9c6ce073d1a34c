"""Elements read between two random configurations, without an engine: discrete gradients and forces as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jourdain.elements.discrete.discrete_gradient import discrete_gradient, term_value
from jourdain.elements.element import Element, symbols_of
from jourdain.symbolic import evaluate
from jourdain.symbolic.graph import substitute


class Reading:
    """An element between q0 and q1 (local coordinates in order; further axes are samples)."""

    def __init__(
        self, element: Element, q0: Any, q1: Any, constants: Mapping[str, Any] | None = None, history: Mapping[str, Any] | None = None,
        h: float = 0.1, t0: float = 0.0,
    ) -> None:  # fmt: skip
        self.element, self.s = element, symbols_of(element)
        s = self.s
        self.q0, self.q1 = np.asarray(q0), np.asarray(q1)
        self.x, self.x0, self.x1 = self.flat(s), self.flat(s.at0), self.flat(s.at1)
        self.values: dict[Any, Any] = {}
        mid = 0.5 * (self.q0 + self.q1)
        for names, q in ((s.at0, self.q0), (s.at1, self.q1), (s.mid, mid), (s.rate, (self.q1 - self.q0) / h)):
            self.values |= dict(zip(self.flat(names), q, strict=True))
        for name, size in element.constants.items():
            value = getattr(s, name)
            given = np.atleast_1d((constants or {})[name])
            self.values |= dict(zip((value,) if size == 1 else value, given, strict=True))
        for name in element.history:
            self.values |= dict(zip(getattr(s.history, name), np.atleast_1d((history or {}).get(name, 0.0)), strict=True))
        self.values |= {s.h: h, s.t0: t0, s.t1: t0 + h, s.t: t0 + 0.5 * h}

    def flat(self, names: Any) -> list[Any]:
        """Coordinates of a namespace in order."""
        return [e for b in self.element.blocks for e in getattr(names, b)]

    def numbers(self, expressions: Any, at: Any = None) -> np.ndarray:
        """Values, with the plain coordinates at a point (the end by default)."""
        q = self.q1 if at is None else at
        found = evaluate(list(expressions), self.values | dict(zip(self.x, q, strict=True)))
        return np.array(np.broadcast_arrays(*found, self.q1[0] * 0.0)[:-1])

    def constraint_rows(self) -> np.ndarray:
        """Ḡ: rows by coordinates."""
        rows = []
        for _, terms in self.element.constraints(self.s):
            rows.append(self.numbers(self.discrete(terms)))
        return np.array(rows)

    def discrete(self, terms: Any) -> list[Any]:
        """∇̄ of a sum of terms."""
        total = [0.0 * self.x0[0]] * len(self.x)
        for term in terms:
            total = [a + b for a, b in zip(total, discrete_gradient(term, self.x, self.x0, self.x1), strict=True)]
        return total

    def constraint_values(self, at: Any = None) -> np.ndarray:
        """Φ at the end (or elsewhere)."""
        return self.numbers([self.total(terms) for _, terms in self.element.constraints(self.s)], at)

    @staticmethod
    def total(terms: Any) -> Any:
        """The sum of terms as one expression."""
        return sum((term_value(t) for t in terms[1:]), term_value(terms[0]))

    def potential(self, at: Any = None) -> np.ndarray:
        """V."""
        return self.numbers([self.total(list(self.element.potential(self.s)))], at)[0]

    def potential_gradient(self) -> np.ndarray:
        """∇̄V by coordinate."""
        return self.numbers(self.discrete(self.element.potential(self.s)))

    def potential_expressions(self) -> list[Any]:
        """∇̄V as expressions of the ends, with constants as numbers."""
        fixed = {k: float(v) for k, v in self.values.items() if k not in {*self.x0, *self.x1} and np.ndim(v) == 0}
        return substitute(self.discrete(self.element.potential(self.s)), fixed)

    def forces(self, mapping: Mapping[Any, Any]) -> np.ndarray:
        """Forces by coordinate as an array."""
        zero = 0.0 * self.x0[0]
        return self.numbers([mapping.get(c, zero) for c in self.element.coordinates])


def rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    """Random rotation matrices."""
    w = rng.normal(size=(n, 4))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    a, b, c, d = w.T
    return np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
    ]).transpose(2, 0, 1)  # fmt: skip


def turn(axis: int, angle: Any) -> np.ndarray:
    """Rotation about a coordinate axis."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R


def director_coordinates(x: np.ndarray, R: np.ndarray) -> np.ndarray:
    """q = (φ, d₁, d₂, d₃)."""
    return np.concatenate([x, R.T.ravel()])


def cubic_beta(a2: Any, a3: Any) -> Any:
    """β of Φ = a₀ + a₁s + a₂s² + a₃s³: root of 3a₃β² + 2a₂β − (a₂ + a₃) = 0 nearest ½ (¼a₃ = 3a₃y² + (2a₂ + 3a₃)y with β = ½ + y)."""
    b = 2.0 * a2 + 3.0 * a3
    return 0.5 + 0.5 * a3 / (b + np.where(b < 0, -1.0, 1.0) * np.sqrt(b**2 + 3.0 * a3**2))
