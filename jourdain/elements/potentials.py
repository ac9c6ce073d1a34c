"""Conservative loads in conserving form: gravity, springs between points and on coordinates, penalty constraints.

A potential V(r) of the distance of two points is a function of the invariant r², so its force is
−(V₁ − V₀)/(½(r₁² − r₀²)) r_{n+½} (García Orden & Goicolea, eqs. 23–26): it conserves energy and angular momentum, and needs
no limit form, as quotients are built by the rules of :mod:`.divided_difference`.  A penalty ½αΦ² of a quadratic
constraint has the force −α Φ̄ DΦ(q_{n+½}) (eqs. 30–33 with β = ½).  Loads given from outside (a force law of time) stand here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import ModelError
from ..symbolic.derivatives import gradient
from ..symbolic.expr import HALF, ZERO, Expr, as_expr
from ..symbolic.functions import sqrt
from ..symbolic.graph import substitute
from ..symbolic.vectors import Vector
from .augmentation import of_one
from .carriers import Carrier, Directors
from .discrete.divided_difference import discrete_gradient_by_rules
from .discrete.mean_value import mean_value_gradient
from .element import Composite, Coordinate, Element, Internal, Names, Symbols, Term, symbols_of
from .pairs import Pair, numbers

Law = Callable[..., Expr]


class Gravity(Element):
    """Weight as the potential −m g·x of the centre of mass (J); ``gravity`` is the field vector (m/s²)."""

    def __init__(self, body: Carrier | None = None) -> None:
        self.body = body or Directors()
        self.blocks = self.body.blocks("a")
        self.constants = {"mass": 1, "gravity": self.body.dimension}
        if type(self.body) is not Directors and self.body.local:
            self.constants["centre"] = self.body.local

    def potential(self, s: Symbols) -> Sequence[Term]:
        """−m g·x."""
        place = numbers(s, "centre") or (ZERO,) * self.body.local
        x = self.body.point(s, "a", place)
        return (-s.mass * _spatial(s.gravity).dot(x),)


def _spatial(values: Sequence[Expr]) -> Vector:
    return Vector.of([*values, ZERO][:3])


class PointForce(Element):
    """Force ``direction`` · law(t) at a material point; its work is booked as supplied."""

    def __init__(self, body: Carrier | None = None, law: Law | None = None) -> None:
        self.body = body or Directors()
        self.law = law
        self.blocks = self.body.blocks("a")
        self.constants = {"point": self.body.local, "force": self.body.dimension}
        if not self.body.local:
            del self.constants["point"]

    def external(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """The force times the weights of the point."""
        size = as_expr(1.0 if self.law is None else self.law(s.t))
        forces: dict[Coordinate, Expr] = {}
        for k, w in enumerate(self.body.point_weights(numbers(s, "point"))):
            for entry, f in zip(self.body.entries("a", k), s.force, strict=True):
                forces[entry] = w * f * size
        return forces


class CoordinateForce(Element):
    """Force (or torque, on an angle) law(t, x, ẋ) on one coordinate, with the constants of the law by name.

    >>> from jourdain.elements.servo import hat
    >>> motor = CoordinateForce(lambda t, x, v, c: c.peak * hat(t, 0.25, 0.5), {"peak": 1})
    >>> motor.blocks
    {'x': 1}
    """

    def __init__(self, law: Law, constants: Mapping[str, int] | None = None) -> None:
        self.law = law
        self.blocks = {"x": 1}
        self.constants = dict(constants or {})

    def external(self, s: Symbols) -> Mapping[Coordinate, Expr]:
        """The law at the middle of the step."""
        return {("x", 0): as_expr(self.law(s.t, s.mid.x[0], s.rate.x[0], s))}


class CoordinatePotential(Element):
    """Potential V(x) of one coordinate (torsion spring, spring on a displacement), in Greenspan's quotient.

    ``law(x, c)`` returns V in J, with c the constants by name; by default ½ stiffness (x − rest)².
    """

    def __init__(self, law: Law | None = None, constants: Mapping[str, int] | None = None) -> None:
        self.law = law
        self.blocks = {"x": 1}
        self.constants = {"stiffness": 1, "rest": 1} if law is None else dict(constants or {})

    def potential(self, s: Symbols) -> Sequence[Term]:
        """V(x)."""
        if self.law is None:
            return (HALF * s.stiffness * (s.x[0] - s.rest) ** 2,)
        law = self.law
        return (of_one(lambda x: as_expr(law(x, s)), s.x[0]),)


class PointMass(Element):
    """A mass of any coordinates of its own: ½ m |ẋ|² (a particle, or a coordinate with inertia)."""

    not_negative = ("mass",)

    def __init__(self, dimension: int = 3) -> None:
        self.dimension = dimension
        self.blocks = {"x": dimension}
        self.constants = {"mass": 1}

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """m on the diagonal."""
        return {("x", i, "x", i): s.mass for i in range(self.dimension)}

    def momenta(self, s: Symbols) -> tuple[Vector, Vector] | None:
        """m v and x × m v (a single coordinate has none)."""
        if self.dimension == 1:
            return None
        x, v = _spatial(s.x), _spatial(s.velocity.x)
        return v * s.mass, x.cross(v) * s.mass


class PointPotential(Pair):
    """Potential V(r) of the distance r of two material points, conserving energy and momenta.

    ``law(r, c)`` returns V in J, with c the constants by name; by default the spring ½ stiffness (r − length)².
    """

    framed = False

    def __init__(
        self, a: Carrier | None = None, b: Carrier | None = None, law: Law | None = None, constants: Mapping[str, int] | None = None,
        dimension: int = 3,
    ) -> None:  # fmt: skip
        self.dimension = dimension
        super().__init__(a, b)
        self.law = law
        self.constants |= {"stiffness": 1, "length": 1} if law is None else dict(constants or {})

    def potential(self, s: Symbols) -> Sequence[Term]:
        """V as a function of r²."""
        gap = self.vectors(s, s).gap
        return (of_one(lambda x: self.energy(sqrt(x), s), gap.dot(gap)),)

    def energy(self, r: Expr, s: Symbols) -> Expr:
        """V(r)."""
        if self.law is None:
            return HALF * s.stiffness * (r - s.length) ** 2
        return as_expr(self.law(r, s))


class DistancePenalty(PointPotential):
    """Constant distance by a penalty: ½α(r − ℓ)² ("linear") or ½α(r² − ℓ²)² ("quadratic").

    The stiffness along the line is α in the first form and 4ℓ²α in the second (García Orden & Goicolea, Secs. 3 and 5.1.1).
    """

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None, form: str = "linear", dimension: int = 3) -> None:
        if form not in ("linear", "quadratic"):
            raise ModelError(f"DistancePenalty: form '{form}' is unknown; choose 'linear' or 'quadratic'")
        super().__init__(a, b, _linear_penalty if form == "linear" else _quadratic_penalty, {"alpha": 1, "length": 1}, dimension)
        self.form = form


def _linear_penalty(r: Expr, c: Symbols) -> Expr:
    return HALF * c.alpha * (r - c.length) ** 2


def _quadratic_penalty(r: Expr, c: Symbols) -> Expr:
    return HALF * c.alpha * (r * r - c.length * c.length) ** 2


class Penalty(Element):
    """Another element with its constraints replaced by the potentials ½αΦ² of each row; ``alpha`` in J by the square of Φ's unit.

    Rows that are quadratic in the coordinates conserve angular momentum as well (force −αΦ̄ DΦ at the mean coordinates).

    >>> from jourdain.elements.pairs import Spherical
    >>> soft = Penalty(Spherical())
    >>> soft.rows(), "alpha" in soft.constants
    ([], True)
    """

    def __init__(self, element: Element) -> None:
        s = symbols_of(element)
        if element.internal(s) or element.external(s) or element.rolling(s) or element.servo(s):
            raise ModelError(
                f"{type(self).__name__}: {element.name} has more than mass, potential and constraints; attach its other forces by an element of their own"
            )
        self.element = element.key
        self._element = element
        self.blocks = dict(element.blocks)
        self.constants = {**element.constants, "alpha": 1}
        self.history = dict(element.history)

    @property
    def name(self) -> str:
        """Name of the type, for messages."""
        return f"penalty {self._element.name}"

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """As the element's."""
        return self._element.mass(s)

    def momenta(self, s: Symbols) -> tuple[Vector, Vector] | None:
        """As the element's."""
        return self._element.momenta(s)

    def potential(self, s: Symbols) -> Sequence[Term]:
        """The element's potential and ½αΦ² for each constraint."""
        terms = list(self._element.potential(s))
        for name, parts in self._element.constraints(s):
            terms.append(of_one(lambda x: HALF * s.alpha * x * x, self._quadratic(name, parts)))
        return terms

    def _quadratic(self, name: str, parts: Sequence[Term]) -> Expr:
        """A row as one expression."""
        total = ZERO
        for part in parts:
            if isinstance(part, Composite):
                raise ModelError(f"{self.name}: its row '{name}' is not quadratic; give it as a potential of its own")
            total = total + part
        return total


class AugmentedLagrangian(Penalty):
    """Another element with its constraints held by penalty and multiplier: force −(λ* + αΦ̄) DΦ, λ* ← λ* + ½αΦ₁ (eq. 8).

    The ½ belongs to the mean Φ̄ = ½(Φ₀ + Φ₁): with it sweeps converge the faster the larger α is, without it they alternate.  λ* are internal variables.  A moderate α is enough when every step is repeated until Φ vanishes, see
    :func:`jourdain.systems.assembled.augmented_lagrangian.simulate_augmented`; the limit is the solution with multipliers.
    """

    def __init__(self, element: Element) -> None:
        super().__init__(element)
        self.history = {**self.history, "multiplier": len(element.rows())}

    @property
    def name(self) -> str:
        """Name of the type, for messages."""
        return f"augmented Lagrangian {self._element.name}"

    def potential(self, s: Symbols) -> Sequence[Term]:
        """The element's own potential."""
        return self._element.potential(s)

    def internal(self, s: Symbols) -> Internal:
        """Force, multipliers for the next sweep or step, and the energy λ*·Φ + ½αΦ²."""
        x, ends = self._flat(s), (self._flat(s.at0), self._flat(s.at1))
        forces: dict[Coordinate, Expr] = {}
        new: list[Expr] = []
        stored = ZERO
        for (name, parts), held in zip(self._element.constraints(s), s.history.multiplier, strict=True):
            phi = self._quadratic(name, parts)
            before, after = (substitute([phi], dict(zip(x, p, strict=True)))[0] for p in ends)
            slope = substitute(gradient(phi, x), dict(zip(x, self._flat(s.mid), strict=True)))
            size = held + HALF * s.alpha * (before + after)
            for c, g in zip(self.coordinates, slope, strict=True):
                if g is not ZERO:
                    forces[c] = forces.get(c, ZERO) + size * g
            new.append(held + HALF * s.alpha * after)
            stored = stored + (held + HALF * s.alpha * after) * after
        return Internal(forces, {"multiplier": new}, stored=stored)

    def _flat(self, p: Names) -> list[Expr]:
        return [getattr(p, b)[i] for b, i in self.coordinates]


class VectorPenalty(Element):
    """Penalty ½αΦ² of any constraint Φ(q) of the coordinates of its blocks (García Orden & Goicolea, Sec. 5.1.2).

    ``law(p, c)`` returns Φ from the coordinates p (by block) and constants c.  ``form``:

    * "gonzalez": discrete gradient of V in the coordinates (default; no root to find; of the invariants of a free system it keeps the energy alone),
    * "rules": −αΦ̄ ∇̄Φ with ∇̄Φ by the rules of :mod:`.divided_difference` (smooth Φ only),
    * "beta": −αΦ̄ DΦ(q_n + βΔq) with β from (DΦ)_{n+β}·Δq = ΔΦ, found by bisection and Newton (eqs. 30–33).
    """

    def __init__(self, blocks: Mapping[str, int], law: Law, constants: Mapping[str, int] | None = None, form: str = "gonzalez") -> None:
        if form not in ("gonzalez", "rules", "beta"):
            raise ModelError(f"VectorPenalty: form '{form}' is unknown; choose 'gonzalez', 'rules' or 'beta'")
        self.form = form
        self.law = law
        self.blocks = dict(blocks)
        self.constants = {**(constants or {}), "alpha": 1}

    def value(self, p: Names, s: Symbols) -> Expr:
        """Φ."""
        return as_expr(self.law(p, s))

    def potential(self, s: Symbols) -> Sequence[Term]:
        """½αΦ² (not in the form "beta", whose force is an internal one)."""
        if self.form == "beta":
            return ()
        x = tuple(getattr(s, b)[i] for b, i in self.coordinates)
        phi = self.value(s, s)

        def energy(*point: Expr) -> Expr:
            f = substitute([phi], dict(zip(x, point, strict=True)))[0]
            return HALF * s.alpha * f * f

        def by_rules(before: Sequence[Expr], after: Sequence[Expr]) -> Sequence[Expr]:
            (f0,), (f1,) = (substitute([phi], dict(zip(x, point, strict=True))) for point in (before, after))
            mean = HALF * (f0 + f1) * s.alpha
            return [mean * g for g in discrete_gradient_by_rules(phi, x, before, after)]

        return (Composite(energy, x, gradient=by_rules if self.form == "rules" else None),)

    def internal(self, s: Symbols) -> Internal | None:
        """αΦ̄ DΦ(q_n + βΔq)."""
        if self.form != "beta":
            return None
        x = [getattr(s, b)[i] for b, i in self.coordinates]
        start = [getattr(s.at0, b)[i] for b, i in self.coordinates]
        end = [getattr(s.at1, b)[i] for b, i in self.coordinates]
        phi = self.value(s, s)
        slope = mean_value_gradient(phi, x, start, end)
        (f0,), (f1,) = (substitute([phi], dict(zip(x, p, strict=True))) for p in (start, end))
        mean = HALF * s.alpha * (f0 + f1)
        forces = {c: mean * g for c, g in zip(self.coordinates, slope, strict=True)}
        return Internal(forces, stored=HALF * s.alpha * f1 * f1)


__all__ = [
    "AugmentedLagrangian", "CoordinateForce", "CoordinatePotential", "DistancePenalty", "Gravity", "Penalty", "PointForce", "PointMass", "PointPotential",
    "VectorPenalty",
]  # fmt: skip
