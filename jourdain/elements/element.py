"""Declaration of an element type: its energies, constraints, internal forces and momenta, written once in symbols.

From a declaration :mod:`.stepping` derives what a time step needs (residual, tangent, history, energies) for any scheme; one
kernel is compiled for a type and run over all its instances.  The equations are those of S. Uhlar's thesis on energy-consistent
time integration (chapters 2, 3 and 5): M v̇ = Q − ∇V − F − Gᵀλ − Aᵀμ − Bᵀu with constraints Φ(q) = 0, A(q) q̇ = 0 and b(q) = γ(t), and ż = f(q, q̇, z, t) for first-order coordinates z.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import ModelError
from ..symbolic.derivatives import gradient
from ..symbolic.expr import ZERO, Expr, symbol
from ..symbolic.vectors import Vector

Coordinate = tuple[str, int]
"""A coordinate by its block and its index in the block."""


@dataclass(frozen=True)
class Composite:
    """f(π₁ … π_k) of invariants πⱼ that are at most quadratic in the coordinates.

    Its discrete gradient is Σ Dπⱼ(mid)ᵀ ∂̄ⱼf(π(q₀), π(q₁)) (Gonzalez 1996): of one invariant the difference quotient of Greenspan,
    of several Gonzalez' formula in the space of the invariants.  ``quotient(a, b)`` may give [f(b) − f(a)]/(b − a) of a single
    invariant in a form without cancellation, ``gradient(π₀, π₁)`` a discrete gradient of several.

    >>> from jourdain.symbolic import sin, symbols
    >>> x, = symbols("x", "position")
    >>> Composite(sin, (x,)).value()
    sin(x)
    """

    function: Callable[..., Expr]
    invariants: tuple[Expr, ...]
    quotient: Callable[[Expr, Expr], Expr] | None = None
    gradient: Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]] | None = None

    def value(self) -> Expr:
        """The term as an expression of the coordinates."""
        return self.function(*self.invariants)


Term = Expr | Composite
"""An expression of degree ≤ 2 in the coordinates, or a function of such invariants."""


@dataclass(frozen=True)
class Internal:
    """An algorithmic internal force between the ends of a step (Uhlar, eqs. 5.156–5.180).

    ``forces`` F resist the motion (M v̇ = … − F) and obey F·(q₁ − q₀) = Ψ₁ − Ψ₀ + ΔD; ``history`` gives the new internal variables by
    name; ``dissipated`` is ΔD of the step (an energy, J), ``stored`` is Ψ₁ (J).  All are expressions of ``s.at0``, ``s.at1``,
    ``s.history`` and ``s.h``; with q₁ = q₀ and unchanged history ``stored`` must be the energy stored at the start.
    Elements with history may give the forces ``at_ends`` of the step (start, end) for schemes that do not take means over it.  Forces that depend on those of the
    element's own constraints speak of their multipliers (means over the step) by the symbols ``reactions``, one for each row.
    """

    forces: Mapping[Coordinate, Expr]
    history: Mapping[str, Sequence[Expr]] = field(default_factory=dict)
    dissipated: Expr = ZERO
    stored: Expr = ZERO
    at_ends: tuple[Mapping[Coordinate, Expr], Mapping[Coordinate, Expr]] | None = None
    reactions: Sequence[Expr] = ()


@dataclass(frozen=True)
class Servo:
    """A control constraint b(q) = γ(t) and its actuator: generalised force −Bᵀu (Uhlar, eq. 5.127).

    ``constraint`` is b − γ written with the coordinates of ``s.at1`` and the time ``s.t1``; ``row`` holds B by coordinate, with those of
    ``s.mid``.  The input u is the multiplier of the row; it is the mean over the step.  A condition on accelerations may be written as
    well, with ``s.rate`` and ``s.acceleration``, for schemes that evaluate forces at the end of the step; ``multiplier`` is then the
    symbol by which such conditions speak of this row's u.  Inputs that are none of an actuator supply no work (``works``).
    """

    name: str
    constraint: Expr
    row: Mapping[Coordinate, Expr]
    multiplier: Expr | None = None
    works: bool = True


@dataclass(frozen=True)
class Reduction:
    """The null space of a body's internal constraints: q̇ = P(q) ν, and the multiplicative update that keeps them.

    ``basis(q)`` gives P row by row (n × size), ``retract(q, δ)`` a configuration near q + P(q) δ that meets the constraints exactly
    (written as q plus an increment, so that the increment alone can be formed without loss of digits),
    ``twist(q, v)`` the ν nearest to given rates v.  ``rows`` names the constraints of the element that become superfluous.
    """

    block: str
    size: int
    basis: Callable[[Sequence[Expr]], list[list[Expr]]]
    retract: Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]]
    twist: Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]]
    rows: tuple[str, ...]


class Names(SimpleNamespace):
    """Symbols by name: a tuple for a block, a single symbol for a constant of size 1."""

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(n for n in vars(self) if not n.startswith("_"))
        raise AttributeError(
            f"an element asks for '{name}', which is none of its blocks and constants; there are {known}", name=name, obj=self
        )

    def vector(self, name: str, k: int = 0) -> Vector:
        """The k-th triple of a block, as a vector."""
        entries = getattr(self, name)
        return Vector(*entries[3 * k : 3 * k + 3])

    def pair(self, name: str, k: int = 0) -> Vector:
        """The k-th pair of a planar block, as a vector with z = 0."""
        x, y = getattr(self, name)[2 * k : 2 * k + 2]
        return Vector(x, y, ZERO)


class Symbols(Names):
    """The symbols an element is declared with.

    Blocks are attributes: ``s.body`` (tuple of the coordinates at the point of evaluation), ``s.vector("body", k)`` its k-th
    triple; likewise constants (``s.mass``; a tuple when their size is not 1).  The same blocks at other points: ``s.at0`` (start
    of the step), ``s.at1`` (end), ``s.mid`` (mean), ``s.velocity`` (rates, for momenta) and ``s.rate`` (mean rate over the step;
    ``s.acceleration`` likewise).
    ``s.history`` holds internal variables as tuples; ``s.h`` the step, ``s.t0``, ``s.t1`` its ends, ``s.t`` the instant of a force.
    Potentials and constraints may use ``s.at0`` as numbers fixed during the step.
    """

    at0: Names
    at1: Names
    mid: Names
    velocity: Names
    rate: Names
    acceleration: Names
    history: Names
    h: Expr
    t: Expr
    t0: Expr
    t1: Expr


class Element:
    """Base of element types: override what the type has.

    An instance may carry structural options (they select equations and must appear in :attr:`key`); numbers go to ``constants``.
    """

    #: Coordinate blocks it touches, in order, with their sizes.
    blocks: dict[str, int] = {}  # noqa: RUF012
    #: Numbers of an instance, with their sizes.
    constants: dict[str, int] = {}  # noqa: RUF012
    #: Constants that may not be negative.
    not_negative: tuple[str, ...] = ()
    #: Whether many instances share their numbers (pieces of a cable): native loops then take some at a time.
    in_numbers: bool = False
    #: Internal variables with their sizes; they are committed with an accepted step.
    history: dict[str, int] = {}  # noqa: RUF012
    #: Blocks of first-order coordinates z: they have rates ż = f instead of mass and forces (:meth:`rates`), here or in another element.
    first_order: tuple[str, ...] = ()
    #: Blocks of one coordinate each that a constraint of the block's name defines (angles, displacements of joints).
    augments: tuple[str, ...] = ()
    #: Null space of the internal constraints of one block, if it has one.
    reduction: Reduction | None = None

    @property
    def name(self) -> str:
        """Name of the type, for messages."""
        return type(self).__name__

    @property
    def key(self) -> tuple[Any, ...]:
        """What distinguishes the equations of this instance from others: its type and structural options."""
        options = tuple(sorted((k, v) for k, v in vars(self).items() if not k.startswith("_")))
        return (type(self), *((k, _hashable(v)) for k, v in options))

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """Entries (block, i, block, j) of the constant symmetric mass matrix; give both halves, or the diagonal."""
        return {}

    def potential(self, s: Symbols) -> Sequence[Term]:
        """Terms of the potential V (J)."""
        return ()

    def constraints(self, s: Symbols) -> Sequence[tuple[str, Sequence[Term]]]:
        """Holonomic constraints by name: Φ = Σ terms = 0."""
        return ()

    def rolling(self, s: Symbols) -> Sequence[tuple[str, Mapping[Coordinate, Expr]]]:
        """Nonholonomic rows Ā(q₀, q₁) by name: Ā (q₁ − q₀) = 0; expressions of ``s.at0``, ``s.at1``, ``s.mid``."""
        return ()

    def internal(self, s: Symbols) -> Internal | None:
        """Algorithmic internal force with history."""
        return None

    def external(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """Other generalised forces by coordinate, of ``s.mid``, ``s.rate`` and ``s.t``; their work is booked as supplied."""
        return {}

    def rates(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """ż of first-order coordinates, of ``s.mid``, ``s.rate`` (not that of z) and ``s.t``; each coordinate has its rate from one element."""
        return {}

    def servo(self, s: Symbols) -> Sequence[Servo]:
        """Control constraints with their actuators."""
        return ()

    def momenta(self, s: Symbols) -> tuple[Vector, Vector] | None:
        """Linear and angular momentum (about the origin) of coordinates and ``s.velocity``."""
        return None

    def audit(self, s: Symbols) -> Sequence[tuple[str, Expr]]:
        """Quantities of a state by name that must vanish, though no constraint sees to it (an angle on its mirror branch)."""
        return ()

    def astray(self, q: np.ndarray, numbers: Mapping[str, np.ndarray]) -> str:
        """How an element has gone wrong at its coordinates (turned inside out, folded), in words; nothing if it has not."""
        return ""

    def measures(self, s: Symbols) -> Sequence[tuple[str, str, Expr]]:
        """Quantities of a state to be shown as channels: name, unit, value (the gaps of a joint with play, for instance)."""
        return ()

    def initial_history(self, q: Mapping[str, Any], constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """Internal variables at the start, by name (zero where not given), from coordinates and constants of an instance."""
        return {}

    # -- what follows from the declaration -----------------------------------------------------------------------------

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """All local coordinates in order."""
        return tuple((b, i) for b, n in self.blocks.items() for i in range(n))

    @property
    def size(self) -> int:
        """Number of local coordinates."""
        return sum(self.blocks.values())

    def rows(self) -> list[str]:
        """Names of the multiplier rows: constraints, then rolling rows, then servo rows."""
        s = symbols_of(self)
        names = [n for n, _ in self.constraints(s)] + [n for n, _ in self.rolling(s)] + [v.name for v in self.servo(s)]
        if len(set(names)) < len(names):
            raise ModelError(f"element {self.name}: two of its rows share a name among {', '.join(names)}; give each its own")
        return names

    @property
    def multipliers(self) -> int:
        """Number of multiplier rows."""
        return len(self.rows())


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple((k, _hashable(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(v) for v in value)
    return value.tobytes() if isinstance(value, np.ndarray) else value


def symbols_of(element: Element) -> Symbols:
    """Fresh symbols to declare an element with."""

    def names(prefix: str, kind: str, sizes: Mapping[str, int], single: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, n in sizes.items():
            entries = tuple(symbol(f"{prefix}{name}[{i}]" if n > 1 else f"{prefix}{name}", kind) for i in range(n))
            made[name] = entries[0] if single and n == 1 else entries
        return made

    shared = set(element.blocks) & set(element.constants)
    reserved = {"at0", "at1", "mid", "velocity", "rate", "acceleration", "history", "h", "t", "t0", "t1", "vector", "pair"}
    taken = shared | (reserved & {*element.blocks, *element.constants})
    if taken:
        raise ModelError(f"element {element.name}: the name '{min(taken)}' is used twice or reserved; rename the block or constant")
    s = Symbols(**names("", "position", element.blocks), **names("", "parameter", element.constants, single=True))
    for name, own in getattr(element, "parameters", {}).items():  # constants that are symbols already
        setattr(s, name, own)
    s.at0 = Names(**names("at0.", "position", element.blocks))
    s.at1 = Names(**names("at1.", "position", element.blocks))
    s.mid = Names(**names("mid.", "position", element.blocks))
    s.velocity = Names(**names("velocity.", "velocity", element.blocks))
    s.rate = Names(**names("rate.", "velocity", element.blocks))
    s.acceleration = Names(**names("acceleration.", "acceleration", element.blocks))
    s.history = Names(**names("history.", "state", element.history))
    s.h, s.t, s.t0, s.t1 = (symbol(n, "time") for n in ("h", "t", "t0", "t1"))
    return s


def forces_along(element: Element, s: Symbols, invariants: Sequence[Expr], weights: Sequence[Expr]) -> dict[Coordinate, Expr]:
    """Σ w Dπ for invariants written with the mean coordinates."""
    x = [getattr(s.mid, b)[i] for b, i in element.coordinates]
    total: dict[Coordinate, Expr] = {}
    for w, invariant in zip(weights, invariants, strict=True):
        for c, g in zip(element.coordinates, gradient(invariant, x), strict=True):
            if g is not ZERO:
                total[c] = total.get(c, ZERO) + w * g
    return total
