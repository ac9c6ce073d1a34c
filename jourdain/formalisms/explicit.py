"""Equations of motion written out: closed form, expanded and readable, for small systems.

    M(q) v̇ + h(q, v) + g(q) = Q + Jᵀλ

with the mass matrix M, Coriolis and centrifugal forces h = C(q, v) v, gravity g, the model's loads Q and constraint
forces.  Large systems are not readable in this form; recursive equations are printed by ``jourdain equations`` and
exported as programs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import InputError
from ..model.joints import Coordinate
from ..model.model import Model
from ..model.values import value
from ..shown import Typeset
from ..symbolic.derivatives import jacobian, jvp
from ..symbolic.expr import HALF, PARAMETER, ZERO, Expr, add, as_expr, mul, neg, sub, symbol, unary
from ..symbolic.functions import cos, sin
from ..symbolic.graph import free_symbols, operations, substitute, topological
from ..symbolic.normal import expand, readable
from ..symbolic.printers.latex import symbol_latex, to_latex
from ..symbolic.printers.text import to_text
from ..symbolic.vectors import Vector
from .equations import Equations, project_wrenches
from .tree.composite_body import mass_matrix
from .tree.coriolis import coupled_weights
from .tree.energy import kinetic_energy
from .tree.kinematics import Kinematics
from .tree.newton_euler import inverse_dynamics, joint_forces, link_motions, link_wrenches
from .tree.tree import Tree

#: Beyond so many additions and multiplications in the recursive form the expanded one fills pages.
LARGEST = 250

Table = list[list[Expr]]
Form = Callable[[Expr], Expr]
Writer = Callable[[Expr], str]


class Notation:
    """How symbols are written: q1, q1', q1'' (or the user's names) for coordinates, g for gravity along one axis."""

    def __init__(self, tree: Tree, names: Mapping[str, str] | None, form: Form) -> None:
        self.form = form
        self.model = tree.model
        given = dict(names or {})
        quaternions = sum(c.is_quaternion for c in tree.coordinates)
        #: (symbol, text, LaTeX, name in the model or "" where the text needs no explanation)
        self.entries: list[tuple[Expr, str, str, str]] = []
        for number, c in enumerate(tree.coordinates, 1):
            if c.is_quaternion:
                self._quaternion(c, str(number) if quaternions > 1 else "", given)
            else:
                self._scalar(c, given.pop(c.names[0], f"q{number}"))
        if given:
            known = ", ".join(n for c in tree.coordinates for n in c.names)
            raise InputError(f"names: there is no coordinate '{next(iter(given))}'; there are {known}")
        self.replaced = _short_gravity(tree.model)

    def _scalar(self, c: Coordinate, n: str) -> None:
        self.entries.append((c.q[0], n, symbol_latex(n), c.names[0]))
        self.entries.append((c.v[0], n + "'", symbol_latex(n + "_dot"), c.velocity_names[0]))
        self.entries.append((c.a[0], n + "''", symbol_latex(n + "_ddot"), ""))

    def _quaternion(self, c: Coordinate, number: str, given: dict[str, str]) -> None:
        for i, (s, name) in enumerate(zip(c.q, c.names, strict=True)):
            n = given.pop(name, f"e{number}_{i}" if number else f"e{i}")
            self.entries.append((s, n, symbol_latex(n), name))
        for x, v, a, name in zip("xyz", c.v, c.a, c.velocity_names, strict=True):
            n = given.pop(name, f"omega{number}_{x}")
            self.entries.append((v, n, symbol_latex(n), name))
            self.entries.append((a, n + "'", symbol_latex(n + "_dot"), ""))

    @cached_property
    def _texts(self) -> dict[int, str]:
        return {s.id: text for s, text, _, _ in self.entries}

    @cached_property
    def _latexes(self) -> dict[int, str]:
        return {s.id: latex for s, _, latex, _ in self.entries}

    def text(self, e: Expr) -> str:
        """An expression as text."""
        e = self.shown(e)
        return self._texts.get(e.id) or to_text(e, named=self._texts)

    def latex(self, e: Expr) -> str:
        """An expression in LaTeX."""
        e = self.shown(e)
        return self._latexes.get(e.id) or to_latex(e, named=self._latexes)

    def shown(self, e: Expr) -> Expr:
        """The expression with g, and numbers to twelve digits."""
        present = [s for s in free_symbols([e]) if s in self.replaced]
        if present:
            e = self.form(substitute([e], self.replaced)[0])
        numbers = {x: shown_number(x.data) for x in topological([e]) if x.op == "const"}
        return substitute([e], {x: n for x, n in numbers.items() if n != x.data})[0]

    def legend(self, expressions: Sequence[Expr]) -> str:
        """What the short names in some expressions stand for."""
        used = {s.id for s in free_symbols(expressions)}
        lines = []
        for s, text, _, name in self.entries:
            rate = text.endswith("'") and text[:-1] in self._texts.values()
            if s.id in used and name and text != name and not rate:
                lines.append(f"{text} = {name}")
            elif s.id in used and text.endswith("'"):
                lines += [f"{t} = {n}" for _, t, _, n in self.entries if t == text.rstrip("'") and t != n and n]
        for old, new in self.replaced.items():
            if old.id in used:
                lines.append(f"g = {'-' if new.op == 'neg' else ''}{old.name}")
        return ", ".join(dict.fromkeys(lines))


def shown_number(x: float) -> float:
    """A number to twelve digits; thirds, twelfths and their like, which are longer, as what they are to rounding."""
    short = float(f"{x:.12g}")
    fraction = Fraction(x).limit_denominator(360)
    return float(fraction) if len(repr(short)) > 12 and abs(float(fraction) - x) <= 4e-15 * abs(x) else short


def _short_gravity(model: Model) -> dict[Expr, Expr]:
    """The one gravity parameter that the model made itself as ±g, so that g is positive."""
    named = [p for p in model.parameter_set if p.name.startswith("gravity_") and p.symbol in tuple(model.gravity)]
    if len(named) != 1 or "g" in model.parameter_set.names:
        return {}
    g = symbol("g")
    return {named[0].symbol: neg(g) if named[0].value < 0 else g}


# --- the equations -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExplicitEquations(Typeset):
    """The terms of M v̇ + h + g = Q + Jᵀλ in closed form; ``print`` shows the equations, :meth:`latex` typesets them."""

    model: Model
    notation: Notation
    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    a: tuple[Expr, ...]
    #: M(q)
    mass: Table
    #: h(q, v): Coriolis, centrifugal and (with prescribed motion) inertial forces of what is prescribed
    coriolis: list[Expr]
    #: g(q): what holds the weight
    gravity: list[Expr]
    #: Q: the model's loads
    loads: list[Expr]
    #: h(q, t) = 0 and w(q, v, t) = 0 with their names, and J
    constraints: list[Expr]
    constraint_names: list[str]
    jacobian: Table
    #: λ
    multipliers: list[Expr]

    @property
    def left(self) -> list[Expr]:
        """M v̇ + h + g, one expression for each velocity."""
        return [_sum([mul(m, a) for m, a in zip(row, self.a, strict=True)] + [h, g])
                for row, h, g in zip(self.mass, self.coriolis, self.gravity, strict=True)]  # fmt: skip

    @property
    def right(self) -> list[Expr]:
        """Q + Jᵀλ."""
        columns = zip(*self.jacobian, strict=True) if self.jacobian else [()] * len(self.loads)
        return [_sum([q, *map(mul, column, self.multipliers)]) for q, column in zip(self.loads, columns, strict=True)]

    @cached_property
    def coriolis_matrix(self) -> Table:
        """C(q, v) with h = C v, by Christoffel's symbols ½(∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i): Ṁ − 2C is skew."""
        if len(self.q) != len(self.v):
            raise InputError(f"model '{self.model.name}': Christoffel's symbols need q' = v; choose an orientation sequence such as 'zxz'")
        n = len(self.v)
        slopes = jacobian([e for row in self.mass for e in row], self.q)

        def entry(i: int, j: int) -> Expr:
            parts = [sub(add(slopes[i * n + j][k], slopes[i * n + k][j]), slopes[j * n + k][i]) for k in range(n)]
            return self.notation.form(mul(HALF, _sum([mul(p, rate) for p, rate in zip(parts, self.v, strict=True)])))

        return [[entry(i, j) for j in range(n)] for i in range(n)]

    def text(self) -> str:
        """The equations of motion as text, one for each velocity, with what the names stand for."""
        write = self.notation.text
        lines = [f"{_joined(self._terms(i, write, '*'))} = {write(r)}" for i, r in enumerate(self.right)]
        lines += [f"{write(h)} = 0" for h in self.constraints]
        legend = self.notation.legend([*self.left, *self.right, *self.constraints])
        legend += "".join(f", {m.name} of {c}" for m, c in zip(self.multipliers, self.constraint_names, strict=True))
        return "\n".join([*lines, *([f"where {legend}"] if legend else [])])

    def _terms(self, i: int, write: Writer, times: str) -> list[str]:
        """Terms of equation i: accelerations with their factors in brackets, then velocities, then the rest."""
        terms = []
        for m, a in zip(self.mass[i], self.a, strict=True):
            inner = m.args[0] if m.op == "neg" else m
            if inner.op in ("add", "sub") and inner.deps & ~PARAMETER:
                terms.append(f"{'-' if inner is not m else ''}{_bracket(write(inner))}{times}{write(a)}")
            elif m is not ZERO:
                terms.append(write(mul(m, a)))
        terms += [write(e) for e in (self.coriolis[i], self.gravity[i]) if e is not ZERO]
        return terms or ["0"]

    def matrices(self) -> str:
        """M, h, g and Q apart, entry by entry; what is not listed is zero."""
        write = self.notation.text
        n = len(self.mass)
        lines = [f"M[{i + 1},{j + 1}] = {write(e)}" for i in range(n) for j in range(i, n) if (e := self.mass[i][j]) is not ZERO]
        for name, entries in (("h", self.coriolis), ("g", self.gravity), ("Q", self.loads)):
            lines += [f"{name}[{i + 1}] = {write(e)}" for i, e in enumerate(entries) if e is not ZERO]
        return "\n".join(lines)

    def latex(self, width: int = 90) -> str:
        """The equations of motion as an ``align*`` environment, broken where longer than about ``width`` letters."""
        write = self.notation.latex
        rows = [_latex_row(self._terms(i, write, " "), write(r), width) for i, r in enumerate(self.right)]
        rows += [f"{write(h)} &= 0" for h in self.constraints]
        return _align(rows)

    def latex_matrices(self) -> str:
        """M, h and g as matrices in LaTeX."""
        tables = (self.mass, [[e] for e in self.coriolis], [[e] for e in self.gravity])
        return _align([f"{n} &= {_matrix(t, self.notation.latex)}" for n, t in zip("Mhg", tables, strict=True)])

    def __str__(self) -> str:
        return self.text()


def _sum(items: Iterable[Expr]) -> Expr:
    total = ZERO
    for e in items:
        total = add(total, e)
    return total


def _joined(terms: Sequence[str]) -> str:
    return terms[0] + "".join(f" - {t[1:]}" if t.startswith("-") else f" + {t}" for t in terms[1:])


def _bracket(text: str) -> str:
    return rf"\left({text}\right)" if r"\frac" in text else f"({text})"


def _latex_row(terms: Sequence[str], right: str, width: int) -> str:
    """One equation; a new line is begun between terms where the letters seen would exceed the width."""
    lines, line = [], ""
    for t in terms:
        longer = _joined([line, t]) if line else t
        if line and len(re.sub(r"\\d?dot|[{}_^\\\\ ]", "", longer)) > width:
            lines.append(line)
            longer = f"- {t[1:]}" if t.startswith("-") else f"+ {t}"
        line = longer
    if not lines:
        return f"{line} &= {right}"
    return "& " + " \\\\\n& \\quad ".join([*lines, line]) + f" = {right}"


def _align(rows: Sequence[str]) -> str:
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"


def _matrix(table: Sequence[Sequence[Expr]], write: Writer) -> str:
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
    form = shortened if simplify else expanded
    M = _mass_matrix(tree, form)
    J = [[ZERO] * tree.nv for _ in eq.rows]
    for (i, j), e in eq.constraint_jacobian.items():
        J[i][j] = form(e)
    return ExplicitEquations(
        model, Notation(tree, names, form), tree.q, tree.v, tree.a, M, _inertial_forces(tree, M, form),
        [form(e) for e in gravity_forces(tree)], [form(e) for e in eq.generalised_forces],
        [form(r.expression) for r in eq.rows], [r.name for r in eq.rows], J,
        [symbol(f"lambda_{i + 1}", "input") for i in range(len(eq.rows))],
    )  # fmt: skip


def expanded(e: Expr) -> Expr:
    """A sum of products of single sines and cosines."""
    return expand(e, trig=True)


def _check_size(model: Model, tree: Tree, largest: int) -> None:
    size = operations(inverse_dynamics(tree)).flops
    if size > largest:
        raise InputError(
            f"model '{model.name}' with {tree.nv} velocities needs {size} additions and multiplications in recursive "
            f"form; closed forms above {largest} fill pages. Use the recursive equations (jourdain equations, "
            "jourdain export), or raise largest= and wait"
        )


def _mass_matrix(tree: Tree, form: Form) -> Table:
    """M from composite bodies or as ∂²T/∂v², whichever reads shorter, entry by entry."""
    n = tree.nv
    composite = mass_matrix(tree)
    momenta = jacobian([kinetic_energy(Kinematics(tree))], tree.v)[0]
    M = [[ZERO] * n for _ in range(n)]
    for i, row in enumerate(jacobian(momenta, tree.v)):
        for j in range(i, n):
            M[i][j] = M[j][i] = _shortest(form, composite[i][j], row[j])
    return M


def _inertial_forces(tree: Tree, M: Table, form: Form) -> list[Expr]:
    """c(q, v) without gravity, by Newton and Euler or (where q̇ = v) by Lagrange: Ṁ v − ½ ∂(vᵀM v)/∂q."""
    motions = link_motions(tree, gravity=False, acceleration=False)
    forces = joint_forces(tree, motions, link_wrenches(tree, motions))
    if len(tree.q) != tree.nv or tree.prescribed:
        return [form(e) for e in forces]
    p = [_sum(map(mul, row, tree.v)) for row in M]
    rates = jvp(p, dict(zip(tree.q, tree.v, strict=True)) | dict.fromkeys(tree.v, ZERO))
    slopes = jacobian([mul(HALF, _sum(map(mul, p, tree.v)))], tree.q)[0]
    return [_shortest(form, f, sub(r, s)) for f, r, s in zip(forces, rates, slopes, strict=True)]


def _shortest(form: Form, *candidates: Expr) -> Expr:
    return min((form(e) for e in candidates), key=lambda e: len(to_text(e)))


def shortened(e: Expr) -> Expr:
    """The readable form, with angles that the addition theorems leave as q1 + q2 − q1 gathered."""
    for _ in range(4):
        e = readable(e)
        waves = [x for x in topological([e]) if x.op in ("sin", "cos") and x.args[0].args]
        tidy = {x: y for x in waves if (y := unary(x.op, expand(x.args[0]))) is not x}
        if not tidy:
            break
        e = substitute([e], tidy)[0]
    return e


def gravity_forces(tree: Tree) -> list[Expr]:
    """g(q) = −Σ Jᵀ m g: the generalised forces that hold the weight of all bodies."""
    field_in: list[Vector] = []
    weights = {}
    for link in tree.links:
        g = link.into(field_in[link.parent] if link.parent >= 0 else tree.model.gravity)
        field_in.append(g)
        weights[link.index] = (g * link.mass, link.moment.cross(g))
    for i, (f, n) in coupled_weights(tree, [-g for g in field_in]).items():
        weights[i] = (weights[i][0] + f, weights[i][1] + n)
    return [neg(e) for e in project_wrenches(tree, weights)]


# --- linear equations --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinearEquations(Typeset):
    """M δv̇ + (D + G) δv + (K + N) δq = δQ about a nominal motion, in closed form.

    D and K are symmetric (damping, stiffness), G and N skew (gyroscopic and circulatory forces).
    """

    notation: Notation
    mass: Table
    damping: Table
    gyroscopic: Table
    stiffness: Table
    circulatory: Table
    #: what must act from outside, beyond the loads of the model, for the nominal motion to be one
    force: list[Expr]

    def text(self) -> str:
        """The non-zero entries of all matrices."""
        lines = []
        for name, table in self._tables():
            entries = [(i, j, e) for i, row in enumerate(table, 1) for j, e in enumerate(row, 1) if e is not ZERO]
            lines += [f"{name}[{i},{j}] = {self.notation.text(e)}" for i, j, e in entries]
        lines += [f"force[{i + 1}] = {self.notation.text(e)}" for i, e in enumerate(self.force) if e is not ZERO]
        return "\n".join(lines)

    def latex(self) -> str:
        """The matrices that are not zero in LaTeX."""
        present = [(n, t) for n, t in self._tables() if any(e is not ZERO for row in t for e in row)]
        return _align([f"{n} &= {_matrix(t, self.notation.latex)}" for n, t in present])

    def _tables(self) -> list[tuple[str, Table]]:
        return [
            ("M", self.mass),
            ("D", self.damping),
            ("G", self.gyroscopic),
            ("K", self.stiffness),
            ("N", self.circulatory),
        ]

    def __str__(self) -> str:
        return self.text()


def linearised(
    model: Model, at: Mapping[str, Any] | None = None, simplify: bool = True, names: Mapping[str, str] | None = None,
    largest: int = LARGEST,
) -> LinearEquations:  # fmt: skip
    """Matrices of small motions about a nominal one; loads of the model are included.

    ``at`` gives positions, velocities and accelerations by name ("hinge.angle", "hinge.angle_rate",
    "hinge.angle_acc"), numbers or expressions of parameters; what it does not name is zero.

    >>> m = Model("pendulum", gravity=(0, 0, -9.81))
    >>> mass, l = m.parameters(m=1.0, l=0.5)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=mass, com=(0, 0, -l)), axis="y")
    >>> print(linearised(m))
    M[1,1] = m*l^2
    K[1,1] = m*g*l
    """
    eq = Equations(model)
    if len(eq.q) != len(eq.v):
        raise InputError(
            f"model '{model.name}': a quaternion has no linear neighbourhood of three numbers; choose an orientation sequence such as 'xyz'"
        )
    if eq.rows:
        raise InputError(f"model '{model.name}' has the constraint '{eq.rows[0].name}'; closed linear forms are offered for trees")
    tree = Tree(model, regroup=False)
    _check_size(model, tree, largest)
    nominal = dict.fromkeys((*eq.q, *eq.v, *eq.a), ZERO) | _nominal(eq, at or {})
    phi = [sub(f, q) for f, q in zip(inverse_dynamics(tree), eq.generalised_forces, strict=True)]
    form = shortened if simplify else expanded
    n = tree.nv

    def table(wrt: Sequence[Expr]) -> Table:
        flat = substitute([expanded(e) for row in jacobian(phi, wrt) for e in row], nominal)
        return [[form(e) for e in flat[i * n : (i + 1) * n]] for i in range(n)]

    D, K = table(eq.v), table(eq.q)
    return LinearEquations(
        Notation(tree, names, form), table(eq.a), _part(D, 1, form), _part(D, -1, form),
        _part(K, 1, form), _part(K, -1, form),
        [form(e) for e in substitute([expanded(e) for e in phi], nominal)],
    )  # fmt: skip


def _nominal(eq: Equations, at: Mapping[str, Any]) -> dict[Expr, Expr]:
    known = {s.name: s for s in (*eq.q, *eq.v, *eq.a)}
    for name in at:
        if name not in known:
            raise InputError(f"nominal motion: there is no coordinate '{name}'; there are {', '.join(known)}")
    found: dict[Expr, Expr] = {}
    for name, given in at.items():
        x = found[known[name]] = value(given, f"nominal {name}")
        quarters = float(x) / (0.5 * math.pi) if x.is_number else 0.5
        if abs(quarters - round(quarters)) < 1e-15 * max(1.0, abs(quarters)):  # right angles have exact sines
            cosine, sine = ((1, 0), (0, 1), (-1, 0), (0, -1))[round(quarters) % 4]
            found[cos(known[name])], found[sin(known[name])] = as_expr(cosine), as_expr(sine)
    return found


def _part(table: Table, sign: int, form: Form) -> Table:
    """Symmetric (+1) or skew (−1) part ½(A ± Aᵀ)."""
    n = len(table)
    combine = add if sign > 0 else sub
    return [[form(mul(HALF, combine(table[i][j], table[j][i]))) for j in range(n)] for i in range(n)]
