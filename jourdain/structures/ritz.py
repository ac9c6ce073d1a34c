"""Slender beams by Ritz functions in a frame tangent at the base: bending in two planes, torsion and shear, to first or second order or exactly.

Sections stay plane and turn by R_e with R_e′ = R_e κ̃; strains are the curvatures κ = (α′, −v₃″, v₂″) and shear angles γ₂′, γ₃′, which are linear in
the amplitudes, while places follow from them to second order (Martins, Sá da Costa and Ayala Botto, eqs. 17–33): a beam bends without growing
longer, and a rotating one stiffens.  With exact kinematics (:mod:`.exact`) it may turn as far as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Legendre
from numpy.typing import ArrayLike

from ..errors import InputError
from .exact import ExactFields, exact_fields, rotation_vector
from .frames import conditions
from .parts.beams import beam, beam_motion
from .parts.dofs import Array
from .parts.points import Motion
from .parts.sections import Material, Section
from .reduced import Point, ReducedStructure, modal_damping
from .reduction import record
from .second_order import fields_of_points, integrals

#: Roots of cos βL cosh βL = −1, the clamped-free beam; beyond them (k − ½)π.
CLAMPED_FREE = (1.8751040687119611, 4.694091132974175, 7.854757438237613, 10.995540734875467, 14.13716839104647)
#: Degree of the polynomials that stand for functions which are none: the error is that of rounding.
DEGREE = 40
FAMILIES = ("clamped-free", "polynomials")
ORDERS = (1, 2, "exact")

#: Of a function of each sort the component of its curvature, the sign and the derivative.
CURVATURES = {"v2": (2, 1.0, "dd"), "v3": (1, -1.0, "dd"), "alpha": (0, 1.0, "d")}
#: Components of k − e_x.
STRAINS = {"epsilon": 0, "gamma2": 1, "gamma3": 2}

Function = Any  # a numpy polynomial on [0, length]


@dataclass(frozen=True)
class Shape:
    """One amplitude: what it moves ("v2", "v3", "alpha", "gamma2", "gamma3", "epsilon": bending along y, z, torsion, shear, stretch) and its function."""

    what: str
    f: Function

    @cached_property
    def d(self) -> Function:
        return self.f.deriv()

    @cached_property
    def dd(self) -> Function:
        return self.f.deriv(2)


@dataclass(frozen=True, eq=False)
class RitzBeam:
    """The displacement field of a beam: place and turn of sections, first and second derivatives by the amplitudes at zero."""

    length: float
    shapes: tuple[Shape, ...]

    def _integral(self, f: Function) -> Function:
        return f.integ(lbnd=0.0)

    def linear(self, s: Shape) -> tuple[dict[int, Function], dict[int, Function]]:
        """Displacement u and small turn a = (α, −v₃′, v₂′), by components."""
        if s.what == "v2":
            return {1: s.f}, {2: s.d}
        if s.what == "v3":
            return {2: s.f}, {1: -s.d}
        if s.what == "alpha":
            return {}, {0: s.f}
        return {STRAINS[s.what]: s.f}, {}

    def quadratic(self, s: Shape, t: Shape) -> tuple[dict[int, Function], dict[tuple[int, int], Function]]:
        """∂²u/∂e_s∂e_t and ∂²R_e/∂e_s∂e_t, by components (R₂ = ∫ R₁ κ̃ and u = ∫ R_e k − X to second order)."""
        if s.what > t.what:
            s, t = t, s
        integral, pair = self._integral, (s.what, t.what)
        if pair == ("v2", "v2"):
            return {0: -integral(s.d * t.d)}, {(0, 0): -s.d * t.d, (1, 1): -s.d * t.d}
        if pair == ("v3", "v3"):
            return {0: -integral(s.d * t.d)}, {(0, 0): -s.d * t.d, (2, 2): -s.d * t.d}
        if pair == ("alpha", "alpha"):
            return {}, {(1, 1): -s.f * t.f, (2, 2): -s.f * t.f}
        if pair == ("v2", "v3"):
            return {}, {(1, 2): -integral(s.d * t.dd), (2, 1): -integral(t.d * s.dd)}
        if pair == ("alpha", "v2"):
            return {2: integral(integral(s.f * t.dd))}, {(0, 2): integral(t.d * s.d), (2, 0): integral(s.f * t.dd)}
        if pair == ("alpha", "v3"):
            return {1: -integral(integral(s.f * t.dd))}, {(0, 1): -integral(t.d * s.d), (1, 0): -integral(s.f * t.dd)}
        if s.what == "epsilon" and t.what in ("v2", "v3"):
            return {1 if t.what == "v2" else 2: integral(s.d * t.d)}, {}
        if pair in (("gamma2", "v2"), ("gamma3", "v3")):
            return {0: -integral(s.d * t.d)}, {}
        if pair == ("alpha", "gamma3"):
            return {1: -integral(s.f * t.d)}, {}
        if pair == ("alpha", "gamma2"):
            return {2: integral(s.f * t.d)}, {}
        return {}, {}

    # -- values ---------------------------------------------------------------------------------------------------

    def first(self, X: Array) -> tuple[Array, Array]:
        """u (p, 3, m) and the small turns a (p, 3, m) of the sections at X."""
        u, a = (np.zeros((len(X), 3, len(self.shapes))) for _ in range(2))
        for i, s in enumerate(self.shapes):
            for table, parts in zip((u, a), self.linear(s), strict=True):
                for k, f in parts.items():
                    table[:, k, i] = f(X)
        return u, a

    def second(self, X: Array) -> tuple[Array, Array]:
        """∂²u (p, 3, m, m) and ∂²R_e (p, 3, 3, m, m) of the sections at X."""
        m = len(self.shapes)
        u, R = np.zeros((len(X), 3, m, m)), np.zeros((len(X), 3, 3, m, m))
        for i, s in enumerate(self.shapes):
            for j in range(i + 1):
                moved, turned = self.quadratic(s, self.shapes[j])
                for k, f in moved.items():
                    u[:, k, i, j] = u[:, k, j, i] = f(X)
                for (k, n), f in turned.items():
                    R[:, k, n, i, j] = R[:, k, n, j, i] = f(X)
        return u, R

    def angles(self, X: Array) -> tuple[Array, Array]:
        """Cardan angles of the sections about x, y, z: first (p, 3, m) and second (p, 3, m, m) derivatives by the amplitudes.

        R_x(a) R_y(b) R_z(c) is exp of (a + ½bc, b − ½ac, c + ½ab) to second order, R_e that of its skew part.
        """
        a = self.first(X)[1]
        R = self.second(X)[1]
        r = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
        for k, sign in ((0, 1.0), (1, -1.0), (2, 1.0)):
            b, c = a[:, (k + 1) % 3], a[:, (k + 2) % 3]
            r[:, k] -= 0.5 * sign * (b[:, :, None] * c[:, None, :] + c[:, :, None] * b[:, None, :])
        return a, r

    def cloud(self, section: Section, material: Material, order: int | str, rotary: bool) -> tuple[Array, Array, Array, Array | None]:
        """Points of mass whose sums are the integrals of the beam: Gauss points along it, four to a section where it has rotary inertia."""
        nodes, weights = np.polynomial.legendre.leggauss(2 * DEGREE)
        X, dX = 0.5 * self.length * (nodes + 1.0), 0.5 * self.length * weights
        mu = material.density * section.area
        ys, zs = ([0.0], [0.0])
        if rotary:
            y, z = np.sqrt(section.Iz / section.area), np.sqrt(section.Iy / section.area)
            ys, zs = [y, y, -y, -y], [z, -z, z, -z]
        u, a = self.first(X)
        bent, turned = self.second(X) if order != 1 else (None, None)
        x, w, phi, psi = [], [], [], []
        for y, z in zip(ys, zs, strict=True):
            x.append(np.column_stack([X, np.full_like(X, y), np.full_like(X, z)]))
            w.append(mu * dX / len(ys))
            Y = np.array([0.0, y, z])
            phi.append(u + np.cross(a, Y[None, :, None], axisa=1, axisb=1, axisc=1))
            if bent is not None and turned is not None:
                psi.append(bent + np.einsum("pabij,b->paij", turned, Y))
        return np.concatenate(x), np.concatenate(w), np.concatenate(phi), np.concatenate(psi) if psi else None

    def curvatures(self, X: Array) -> Array:
        """κ = (α′, −v₃″, v₂″), (p, 3, m)."""
        found = np.zeros((len(X), 3, len(self.shapes)))
        for i, s in enumerate(self.shapes):
            if s.what in CURVATURES:
                k, sign, derivative = CURVATURES[s.what]
                found[:, k, i] = sign * getattr(s, derivative)(X)
        return found

    def shears(self, X: Array) -> Array:
        """k − e_x = (ε′, γ₂′, γ₃′), (p, 3, m)."""
        found = np.zeros((len(X), 3, len(self.shapes)))
        for i, s in enumerate(self.shapes):
            if s.what not in CURVATURES:
                found[:, STRAINS[s.what], i] = s.d(X)
        return found

    def exact(self, section: Section, material: Material, rotary: bool, stations: int | None) -> ExactFields:
        """The field of exact kinematics with the beam's mass."""
        moments = (material.density * section.Iz, material.density * section.Iy) if rotary else (0.0, 0.0)
        return exact_fields(self, material.density * section.area, moments, stations)

    def stiffness(self, section: Section, material: Material) -> Array:
        """∫ of EI v″ v″, GJ α′ α′, κGA γ′ γ′ and EA ε′ ε′."""
        factors = {
            "v2": material.E * section.Iz, "v3": material.E * section.Iy, "alpha": material.G * section.torsion,
            "gamma2": section.shear_y * material.G * section.area, "gamma3": section.shear_z * material.G * section.area,
            "epsilon": material.E * section.area,
        }  # fmt: skip
        m = len(self.shapes)
        K = np.zeros((m, m))
        for i, s in enumerate(self.shapes):
            for j, t in enumerate(self.shapes):
                if s.what == t.what:
                    f = s.dd * t.dd if s.what in ("v2", "v3") else s.d * t.d
                    K[i, j] = factors[s.what] * self._integral(f)(self.length)
        return 0.5 * (K + K.T)


def ritz_beam(
    length: float, section: Section, material: Material, bending: int | tuple[int, int] = (3, 0), torsion: int = 0,
    shear: int | tuple[int, int] = (0, 0), extension: int = 0, order: int | str = 2, functions: str = "clamped-free", rotary: bool = True, softening: bool = True,
    damping: Any = None, elements: int = 16, stations: int | None = None, name: str = "beam",
) -> ReducedStructure:  # fmt: skip
    """A straight beam along x from the origin by Ritz functions, its frame that of the section at x = 0.

    Args:
        bending: numbers of functions for bending along y and along z (one number: for each). torsion, shear, extension: likewise;
            without functions of extension the axis keeps its length.
        order: 2 keeps places to second order in the amplitudes (foreshortening, centrifugal stiffening); "exact" integrates R′ = R κ̃ and x′ = R k, for
            turns of any size; 1 is the linear theory, in which a rotating beam grows softer, and with softening=False keeps its frequencies.
        functions: of bending: "clamped-free", the natural modes of a clamped beam, or "polynomials" x² P_i(x).
        rotary: whether sections have rotary inertia.
        elements: of the finite-element beam that shows the shape and gives section forces.
        stations: of order "exact": places along the beam at which rotations are found; as many as it takes, unless given.

    The amplitudes are ``y1`` … (bending along y), ``z1`` …, ``twist1`` …, ``shear_y1`` …, ``shear_z1`` …, ``stretch1`` …; a bending amplitude is the displacement of the
    tip in m.  Its points are "start", "end" and any place along the beam: ``beam.point((0.3, 0, 0))``.
    """
    if order not in ORDERS:
        raise InputError(f"{name}: order {order!r} is unknown; 1, 2 and 'exact' are there")
    if order != 1 and not softening:
        raise InputError(f"{name}: softening=False is of order 1; order {order} has both softening and stiffening")
    if stations is not None and (order != "exact" or not isinstance(stations, int | np.integer) or not 2 <= stations <= 200):
        raise InputError(f"{name}: stations = {stations!r}; order='exact' takes a whole number from 2 to 200, other orders none")
    if not length > 0:
        raise InputError(f"{name}: length {length!r} m must be positive")
    shapes = _shapes(length, bending, torsion, shear, extension, functions, name)
    if not shapes:
        raise InputError(f"{name}: no functions are asked for; give bending=, torsion=, shear= or extension=")
    field = RitzBeam(length, tuple(shape for _, shape in shapes))
    part = beam((0, 0, 0), (length, 0, 0), section, material, elements=elements, theory="timoshenko", name=name)
    drawn = _nodal_shapes(field, part)
    found = record(part, "tangent", "ritz", conditions(part, "tangent", "start"), drawn, None)
    x, w, phi, psi = field.cloud(section, material, order, rotary)
    sums = integrals(x, w, phi, psi)
    kinds = {shape.what for shape in field.shapes}
    if (
        psi is not None and "alpha" in kinds and len(kinds) > 1
    ):  # bending and torsion: their product moves the beam more than torsion alone does
        sums["fields"] = fields_of_points(x, w, phi, psi)
    exact = field.exact(section, material, rotary, stations) if order == "exact" else None
    if exact is not None:
        sums["fields"] = exact
    if not softening:
        sums["J2"] = np.zeros_like(sums["J2"])
    K = field.stiffness(section, material)
    body = replace(
        found, names=[n for n, _ in shapes], stiffness=K, damping=modal_damping(K, sums["M_ee"], damping, part, drawn), **sums,
        points={n: _point(field, n, x, order, exact) for n, x in (("start", 0.0), ("end", length))},
    )  # fmt: skip
    given = {"length": length, "section": section, "material": material, "bending": tuple(_pair(bending)), "torsion": torsion}
    given |= {"shear": tuple(_pair(shear)), "order": order, "functions": functions, "rotary": rotary, "softening": softening}
    recipe = {"kind": "ritz_beam", **given, "damping": damping, "elements": elements} | ({"extension": extension} if extension else {})
    recipe |= {} if stations is None else {"stations": stations}
    return RitzBody(**{f.name: getattr(body, f.name) for f in fields(body)}, field=field, order=order, recipe=recipe)


@dataclass(frozen=True, eq=False, kw_only=True)
class RitzBody(ReducedStructure):
    """A Ritz beam, whose points are anywhere along it."""

    field: RitzBeam
    order: int | str
    #: How it was made, for model files: arguments of :func:`ritz_beam`, and patches.
    recipe: Mapping[str, Any] | None = None

    def with_damping(self, damping: Any) -> ReducedStructure:
        """The same beam with other damping."""
        damped = super().with_damping(damping)
        assert isinstance(damped, RitzBody)
        return replace(damped, recipe=None if self.recipe is None else {**self.recipe, "later_damping": damping})

    def save(self, path: str | Path) -> None:
        """Writes the body as ``.npz``; one of order "exact" is kept in model files, by how it was made."""
        if isinstance(self.fields, ExactFields):
            raise InputError(
                f"{self.name}: a beam of order 'exact' is no set of matrices; keep it in a model file (m.save) or make it again"
            )
        super().save(path)

    def point(self, which: Any) -> Point:
        """A point by its name, the number of a node, or its place (x, 0, 0) on the axis."""
        name, x = self._on_axis(which)
        return self.points[name] if name in self.points else _point(self.field, name, x, self.order, self.fields)

    def displacement(self, e: ArrayLike) -> Array:
        """Displacements and turns (rotation vectors) of the nodes of its picture; of order "exact" as they are, else to their order."""
        amplitudes, nodes = np.asarray(e, float), self.part.nodes
        if not isinstance(self.fields, ExactFields):
            found = super().displacement(amplitudes)
            if self.order == 1:
                return found
            u, R = (0.5 * np.einsum("...ij,i,j->...", x, amplitudes, amplitudes) for x in self.field.second(nodes[:, 0]))
            turn = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
            return found + np.hstack([u, turn])[self.part.dofs.nodes, self.part.dofs.components]
        stations = self.fields.turned(amplitudes)
        poses = [self.fields.place(self.fields.line.reach(float(x)), amplitudes, stations)[:2] for x in nodes[:, 0]]
        moved = np.array([np.concatenate([x - node, rotation_vector(R)]) for (x, R), node in zip(poses, nodes, strict=True)])
        return np.asarray(moved[self.part.dofs.nodes, self.part.dofs.components])

    def motion(self, which: Any) -> Motion:
        """How a point follows the degrees of freedom of the finite-element beam, between its nodes by its shape functions."""
        name, x = self._on_axis(which)
        return replace(beam_motion(self.part, x), name=name)

    def _on_axis(self, which: Any) -> tuple[str, float]:
        """Name and place of a point; equal to 12 digits is equal."""
        length = self.field.length
        if isinstance(which, str) and which.startswith("x="):
            place = np.array([float(which.removeprefix("x=")), 0.0, 0.0])
        elif isinstance(which, str) or np.ndim(which) == 0:
            place = self.part.nodes[self.part.node(self._place(which))]
        else:
            place = np.asarray(which, float)
        if place.shape != (3,) or np.abs(place[1:]).max() > 1e-9 * length or not -1e-9 <= place[0] / length <= 1 + 1e-9:
            raise InputError(f"{self.name}: {which!r} is not on its axis from (0, 0, 0) to ({length:g}, 0, 0)")
        name = next((n for n, p in self.points.items() if abs(p.position[0] - place[0]) < 1e-12 * length), f"x={place[0]:.12g}")
        return name, float(name.removeprefix("x=")) if name not in self.points else float(self.points[name].position[0])

    def curvature(self, x: float, axis: str = "z") -> Array:
        """The curvature κ about an axis ("x": twist) at a place, for a unit of each amplitude, 1/m."""
        if axis not in ("x", "y", "z"):
            raise InputError(f"{self.name}: curvature about '{axis}' is unknown; use x, y or z")
        return np.asarray(self.field.curvatures(np.array([x]))[0, "xyz".index(axis)])

    def stiffened(self, points: Iterable[Any] | None = None) -> ReducedStructure:
        """Refused: the functions say themselves how places follow them."""
        raise InputError(
            f"{self.name}: its places are those of a beam by Ritz functions; orders 2 and 'exact' have stiffening, without stiffened()"
        )

    def seen_from(self, frame: str, at: Any = None) -> tuple[ReducedStructure, Array]:
        """Refused: the functions are those of one frame."""
        raise InputError(
            f"{self.name}: a beam by Ritz functions has a frame tangent at its start, not '{frame}'; hang it by any of its points in that one"
        )


def _point(field: RitzBeam, name: str, x: float, order: int | str, fields: Any) -> Point:
    X = np.array([x])
    u, _ = field.first(X)
    a, bent = field.angles(X)
    second: tuple[Array | None, Array | None] = (field.second(X)[0][0], bent[0]) if order != 1 else (None, None)
    reach = fields.line.reach(x) if isinstance(fields, ExactFields) else None
    return Point(name, np.array([x, 0.0, 0.0]), np.eye(3), u[0], a[0], True, *second, reach=reach)


def _nodal_shapes(field: RitzBeam, part: Any) -> Array:
    """Displacements and turns of the nodes of a finite-element beam for a unit of each amplitude."""
    u, a = field.first(part.nodes[:, 0])
    shapes = np.zeros((len(part.dofs), len(field.shapes)))
    for row, (node, component) in enumerate(zip(part.dofs.nodes, part.dofs.components, strict=True)):
        shapes[row] = u[node, component] if component < 3 else a[node, component - 3]
    return shapes


# --- functions ---------------------------------------------------------------------------------------------------


def _shapes(length: float, bending: Any, torsion: int, shear: Any, extension: int, functions: str, name: str) -> list[tuple[str, Shape]]:
    if functions not in FAMILIES:
        raise InputError(f"{name}: functions '{functions}' are unknown; there are {', '.join(FAMILIES)}")
    family = _clamped_free if functions == "clamped-free" else _polynomial
    asked: list[tuple[str, str, int, Callable[[float, int], Function]]] = []
    for what, label, count in (("v2", "y", _pair(bending)[0]), ("v3", "z", _pair(bending)[1])):
        asked.append((what, label, count, family))
    asked.append(("alpha", "twist", torsion, _sine))
    for what, label, count in (("gamma2", "shear_y", _pair(shear)[0]), ("gamma3", "shear_z", _pair(shear)[1])):
        asked.append((what, label, count, _power))
    asked.append(("epsilon", "stretch", extension, _power))
    wrong = [label for _, label, count, _ in asked if not isinstance(count, int | np.integer) or count < 0]
    if wrong:
        raise InputError(f"{name}: the number of functions of '{wrong[0]}' must be a whole number that is not negative")
    return [(f"{label}{i + 1}", Shape(what, make(length, i))) for what, label, count, make in asked for i in range(count)]


def _pair(given: Any) -> Sequence[int]:
    return given if isinstance(given, tuple | list) else (given, given)


def _fitted(f: Callable[[Array], Array], length: float) -> Function:
    return Chebyshev.interpolate(f, DEGREE, domain=[0.0, length])


def _clamped_free(length: float, i: int) -> Function:
    """cosh βx − cos βx − σ(sinh βx − sin βx), one at the tip; written with falling exponentials so that no digits are lost."""
    bL = CLAMPED_FREE[i] if i < len(CLAMPED_FREE) else (i + 0.5) * np.pi
    sigma = (np.cosh(bL) + np.cos(bL)) / (np.sinh(bL) + np.sin(bL))

    def f(x: Array) -> Array:
        b = bL * x / length
        # cosh b − σ sinh b = e⁻ᵇ + (1 − σ) sinh b
        return np.exp(-b) + (1.0 - sigma) * np.sinh(b) - np.cos(b) + sigma * np.sin(b)

    return _fitted(lambda x: f(x) / f(np.array([length]))[0], length)


def _polynomial(length: float, i: int) -> Function:
    """(x/L)² P_i(2x/L − 1), one at the tip."""
    P = Legendre.basis(i)
    return Chebyshev.interpolate(lambda x: (x / length) ** 2 * P(2.0 * x / length - 1.0), i + 2, domain=[0.0, length])


def _sine(length: float, i: int) -> Function:
    """sin((2i + 1)πx/2L)."""
    return _fitted(lambda x: np.sin((2 * i + 1) * np.pi * x / (2.0 * length)), length)


def _power(length: float, i: int) -> Function:
    """(x/L)^(i + 1)."""
    return Chebyshev.interpolate(lambda x: (x / length) ** (i + 1), i + 1, domain=[0.0, length])


__all__ = ["RitzBeam", "RitzBody", "Shape", "ritz_beam"]
