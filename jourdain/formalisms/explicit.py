"""Equations of motion written out: closed form, expanded and readable, for small systems.

    M(q) v̇ + h(q, v) + g(q) = Q + Jᵀλ

with the mass matrix M, Coriolis and centrifugal forces h = C(q, v) v, gravity g, the model's loads Q and constraint
forces.  Large systems are not readable in this form; recursive equations are printed by ``jourdain equations`` and
exported as programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import InputError
from ..model.model import Model
from ..model.values import value
from ..symbolic.derivatives import jacobian
from ..symbolic.expr import HALF, ZERO, Expr, add, mul, neg, sub, symbol
from ..symbolic.graph import operations, substitute
from ..symbolic.normal import expand, readable
from ..symbolic.printers.latex import symbol_latex, to_latex
from ..symbolic.printers.text import to_text
from ..symbolic.vectors import Vector
from .composite_body import mass_matrix
from .equations import Equations, project_wrenches
from .newton_euler import inverse_dynamics, link_motions, link_wrenches
from .tree import Tree

#: Beyond so many additions and multiplications in the recursive form the expanded one fills pages.
LARGEST = 700

Table = list[list[Expr]]


@dataclass(frozen=True)
class Symbols:
    """How coordinates are written: q1, q1', q1'' (or the user's names), and g for gravity along one axis."""

    model: Model
    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    a: tuple[Expr, ...]
    names: tuple[str, ...]
    rates: tuple[str, ...]
    quaternion: tuple[bool, ...]
    replaced: Mapping[Expr, Expr] = field(default_factory=dict)

    @staticmethod
    def of(tree: Tree, names: Mapping[str, str] | None) -> Symbols:
        """Names for the coordinates of a tree."""
        given = dict(names or {})
        short: list[str] = []
        rates: list[str] = []
        quaternion: list[bool] = []
        for number, c in enumerate(tree.coordinates, 1):
            if c.is_quaternion:
                short += [given.pop(n, f"e{number}_{i}") for i, n in enumerate(c.names)]
                rates += [given.pop(n, f"omega{number}_{x}") for n, x in zip(c.velocity_names, "xyz", strict=True)]
                quaternion += [True] * 3
            else:
                short.append(given.pop(c.names[0], f"q{number}"))
                rates.append(short[-1])
                quaternion.append(False)
        if given:
            known = ", ".join(n for c in tree.coordinates for n in c.names)
            raise InputError(f"names: there is no coordinate '{next(iter(given))}'; there are {known}")
        gravity = _short_gravity(tree.model)
        return Symbols(tree.model, tree.q, tree.v, tree.a, tuple(short), tuple(rates), tuple(quaternion), gravity)

    @cached_property
    def text_names(self) -> dict[int, str]:
        """Texts of the symbols by their number."""
        found = dict(zip((s.id for s in self.q), self.names, strict=True))
        for v, a, n, turning in zip(self.v, self.a, self.rates, self.quaternion, strict=True):
            found[v.id], found[a.id] = (n, n + "'") if turning else (n + "'", n + "''")
        return found

    @cached_property
    def latex_names(self) -> dict[int, str]:
        """LaTeX of the symbols by their number."""
        found = dict(zip((s.id for s in self.q), map(symbol_latex, self.names), strict=True))
        for v, a, n, turning in zip(self.v, self.a, self.rates, self.quaternion, strict=True):
            first, second = (n, n + "_dot") if turning else (n + "_dot", n + "_ddot")
            found[v.id], found[a.id] = symbol_latex(first), symbol_latex(second)
        return found

    def text(self, e: Expr) -> str:
        """An expression as text."""
        e = self._shown(e)
        return self.text_names.get(e.id) or to_text(e, named=self.text_names)

    def latex(self, e: Expr) -> str:
        """An expression in LaTeX."""
        e = self._shown(e)
        return self.latex_names.get(e.id) or to_latex(e, named=self.latex_names)

    def _shown(self, e: Expr) -> Expr:
        return readable(substitute([e], self.replaced)[0]) if self.replaced and e.deps else e

    def legend(self) -> list[str]:
        """What the short names stand for."""
        long = [n for c in Tree(self.model).coordinates for n in c.names]
        lines = [f"{short} = {name}" for short, name in zip(self.names, long, strict=True) if short != name]
        lines += [f"{to_text(new if new.op == 'symbol' else neg(new))} = {'-' if new.op == 'neg' else ''}{old.name}" for old, new in self.replaced.items()]
        return lines


def _short_gravity(model: Model) -> dict[Expr, Expr]:
    """The one gravity parameter the model made itself as ±g, so that g is positive."""
    named = [p for p in model.parameter_set if p.name.startswith("gravity_") and p.symbol in tuple(model.gravity)]
    if len(named) != 1 or "g" in model.parameter_set.names:
        return {}
    g = symbol("g")
    return {named[0].symbol: neg(g) if named[0].value < 0 else g}


# --- the equations -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExplicitEquations:
    """The terms of M v̇ + h + g = Q + Jᵀλ in closed form; ``print`` shows them, :meth:`latex` typesets them."""

    model: Model
    symbols: Symbols
    #: M(q)
    mass: Table
    #: h(q, v): Coriolis, centrifugal and (with prescribed motion) inertial forces of what is prescribed
    coriolis: list[Expr]
    #: g(q): what holds the weight
    gravity: list[Expr]
    #: Q: the model's loads
    loads: list[Expr]
    #: h(q, t) = 0 and w(q, v, t) = 0, and the rows of J
    constraints: list[Expr]
    jacobian: Table
    #: λ
    multipliers: list[Expr]
    simplify: bool = True

    @cached_property
    def left(self) -> list[Expr]:
        """M v̇ + h + g, one expression for each coordinate, in readable form."""
        form = readable if self.simplify else expand
        rows = []
        for row, h, g in zip(self.mass, self.coriolis, self.gravity, strict=True):
            total = add(h, g)
            for m, a in zip(row, self.symbols.a, strict=True):
                total = add(total, mul(m, a))
            rows.append(form(total))
        return rows

    @cached_property
    def right(self) -> list[Expr]:
        """Q + Jᵀλ."""
        found = []
        for i, q in enumerate(self.loads):
            for row, multiplier in zip(self.jacobian, self.multipliers, strict=True):
                q = add(q, mul(row[i], multiplier))
            found.append(q)
        return found

    @cached_property
    def coriolis_matrix(self) -> Table:
        """C(q, v) with h = C v, by Christoffel's symbols ½(∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i): Ṁ − 2C is skew."""
        if any(self.symbols.quaternion):
            raise InputError(f"model '{self.model.name}': Christoffel's symbols need q' = v; choose an orientation sequence such as 'zxz'")
        n = len(self.symbols.v)
        slopes = jacobian([e for row in self.mass for e in row], self.symbols.q)

        def entry(i: int, j: int) -> Expr:
            total = ZERO
            for k, rate in enumerate(self.symbols.v):
                part = sub(add(slopes[i * n + j][k], slopes[i * n + k][j]), slopes[j * n + k][i])
                total = add(total, mul(part, rate))
            return _form(self.simplify)(mul(HALF, total))

        return [[entry(i, j) for j in range(n)] for i in range(n)]

    def text(self) -> str:
        """The equations of motion as text, one for each coordinate, with what the names stand for."""
        write = self.symbols.text
        lines = [f"{write(l)} = {write(r)}" for l, r in zip(self.left, self.right, strict=True)]
        lines += [f"{write(h)} = 0" for h in self.constraints]
        legend = self.symbols.legend()
        return "\n".join([*lines, *(["where " + ", ".join(legend)] if legend else [])])

    def matrices(self) -> str:
        """M, h and g apart, entry by entry."""
        write = self.symbols.text
        n = len(self.mass)
        lines = [f"M[{i + 1},{j + 1}] = {write(self.mass[i][j])}" for i in range(n) for j in range(i, n)]
        for name, entries in (("h", self.coriolis), ("g", self.gravity), ("Q", self.loads)):
            lines += [f"{name}[{i + 1}] = {write(e)}" for i, e in enumerate(entries) if name != "Q" or e is not ZERO]
        return "\n".join(lines)

    def latex(self) -> str:
        """The equations of motion as an ``align*`` environment."""
        write = self.symbols.latex
        rows = [f"{write(l)} &= {write(r)}" for l, r in zip(self.left, self.right, strict=True)]
        rows += [f"{write(h)} &= 0" for h in self.constraints]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"

    def latex_matrices(self) -> str:
        """M, h and g as matrices in LaTeX."""
        write = self.symbols.latex
        columns = [[[e] for e in part] for part in (self.coriolis, self.gravity)]
        rows = [f"{name} &= {_matrix_latex(table, write)}" for name, table in zip("Mhg", (self.mass, *columns), strict=True)]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"

    def __str__(self) -> str:
        return self.text()


def _form(simplify: bool) -> Any:
    return readable if simplify else expand


def _matrix_latex(table: Sequence[Sequence[Expr]], write: Any) -> str:
    rows = r" \\ ".join(" & ".join(write(e) for e in row) for row in table)
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"


def explicit_equations(
    model: Model, simplify: bool = True, names: Mapping[str, str] | None = None, largest: int = LARGEST
) -> ExplicitEquations:
    """The equations of motion in closed form; ``names`` gives coordinates short names, as {"hinge.angle": "theta"}.

    ``simplify=False`` leaves sums of products; ``largest`` is the size of the recursive form (additions and
    multiplications) above which the closed form is refused.

    >>> m = Model("pendulum", gravity=(0, 0, -9.81))
    >>> mass, l = m.parameters(m=1.0, l=0.5)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=mass, com=(0, 0, -l)), axis="y")
    >>> print(explicit_equations(m, names={"hinge.angle": "theta"}))
    m*l^2*theta'' + m*g*l*sin(theta) = 0
    where theta = hinge.angle, g = -gravity_z
    """
    eq = Equations(model)
    tree = Tree(model, regroup=False)
    if tree.nv == 0:
        raise InputError(f"model '{model.name}' has no free coordinate, hence no equation of motion")
    _check_size(model, tree, largest)
    form = _form(simplify)
    M = [[ZERO] * tree.nv for _ in range(tree.nv)]
    raw = mass_matrix(tree)
    for i in range(tree.nv):
        for j in range(i, tree.nv):
            M[i][j] = M[j][i] = form(raw[i][j])
    J = [[ZERO] * tree.nv for _ in eq.rows]
    for (i, j), e in eq.constraint_jacobian.items():
        J[i][j] = form(e)
    return ExplicitEquations(
        model, Symbols.of(tree, names), M, [form(e) for e in _inertial_forces(tree)], [form(e) for e in gravity_forces(tree)],
        [form(e) for e in eq.generalised_forces], [form(r.expression) for r in eq.rows], J,
        [symbol(f"lambda_{i + 1}", "input") for i in range(len(eq.rows))], simplify,
    )  # fmt: skip


def _check_size(model: Model, tree: Tree, largest: int) -> None:
    size = operations(inverse_dynamics(tree)).flops
    if size > largest:
        raise InputError(
            f"model '{model.name}' with {tree.nv} velocities needs {size} additions and multiplications in recursive form; "
            f"closed forms above {largest} fill pages. Use the recursive equations (jourdain equations, jourdain export), "
            "or raise largest= and wait"
        )


def _inertial_forces(tree: Tree) -> list[Expr]:
    """c(q, v) without gravity."""
    wrenches = link_wrenches(tree, link_motions(tree, gravity=False, acceleration=False))
    forces = [ZERO] * tree.nv
    for link in tree.links:
        force, moment = wrenches[link.index]
        for freedom in link.freedoms:
            part = mul(freedom.ratio, (force if link.kind == "T" else moment)[freedom.axis])
            forces[freedom.index] = add(forces[freedom.index], part)
    return forces


def gravity_forces(tree: Tree) -> list[Expr]:
    """g(q) = −Σ Jᵀ m g: the generalised forces that hold the weight of all bodies."""
    field_in: list[Vector] = []
    weights = {}
    for link in tree.links:
        g = link.into(field_in[link.parent] if link.parent >= 0 else tree.model.gravity)
        field_in.append(g)
        weights[link.index] = (g * link.mass, link.moment.cross(g))
    return [neg(e) for e in project_wrenches(tree, weights)]
