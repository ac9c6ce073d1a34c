"""The recursions cut into steps over one link: small symbolic functions that native loops call link after link.

A step is derived once for each *sort* of link (rotation about x, translation along a turned axis, …) and serves every model.
It reads the numbers of the link (`link_arrays`), its own row of memory and its parent's row; what it hands on is
added to the parent's row in place, which is safe because each such entry depends on itself alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from ..symbolic.expr import ONE, ZERO, Expr, add, div, mul, neg, sub, symbol
from ..symbolic.function import Argument, Result, SymbolicFunction
from ..symbolic.functions import cos, sin
from ..symbolic.vectors import (
    AXES,
    NO_INERTIA,
    NULL,
    AxisTurn,
    Inertia,
    Matrix,
    MatrixTurn,
    Turn,
    Vector,
    quaternion_rotation,
    steiner,
)
from .articulated_body import Articulated, carry_inertia, eliminate, rigid_body
from .link_arrays import LINK, word
from .newton_euler import LinkMotion, inertial_moment, relative_spin, sliding
from .tree import Freedom, Link

#: Entries of a row of memory: how the link stands in its parent (cosine and sine, displacement, or matrix) ...
TURN = 0
#: ... then for Newton–Euler: angular velocity, its derivative, acceleration of the origin, force and moment;
OMEGA, OMEGA2, ACCELERATION, FORCE, NEWTON_ROW = 9, 12, 15, 18, 24
#: for composite bodies: mass, first moment and inertia, and for each freedom the force and moment of its column;
COMPOSITE, COLUMN, COMPOSITE_ROW = 9, 19, 40
#: for articulated bodies: bias accelerations, the body (A, B, C, force, moment), for each freedom U (6), 1/D and u,
#: and the accelerations of the origin and of rotation;
BIAS, BODY, STEP, STEP_SIZE, MOVE, ARTICULATED_ROW = 12, 18, 45, 8, 69, 76
#: for poses: rotation to the ground's axes and position.
POSE_ROW = 12


@dataclass(frozen=True)
class Sort:
    """What steps know of a link before any number: kind, axis, and what is absent altogether."""

    kind: str
    axis: int
    #: whether its coordinate is free (not prescribed)
    free: bool
    #: whether the axes are turned and the origin is displaced from the parent's even at zero displacement
    turned: bool
    placed: bool
    massive: bool
    #: whether a ratio, an offset or a rotor is there
    geared: bool

    @property
    def label(self) -> str:
        """A short name."""
        flags = zip("ftpmg", (self.free, self.turned, self.placed, self.massive, self.geared), strict=True)
        return f"{self.kind}{self.axis}" + "".join(letter for letter, present in flags if present)

    @property
    def freedoms(self) -> int:
        """Number of freedoms of the joint."""
        return (3 if self.kind == "S" else 1) if self.free else 0


class _Inputs:
    """Symbols of everything a step may read."""

    def __init__(self, sort: Sort, row: int) -> None:
        size = 3 if sort.kind == "S" else 1
        self.record = _symbols("c", LINK.itemsize // 8 - word(LINK, "rotation"))
        self.q = _symbols("q", 4 if sort.kind == "S" else 1)
        self.v = _symbols("v", size)
        self.u = _symbols("u", size)
        self.own = _symbols("own", row)
        self.parent = _symbols("parent", row)
        self.wrench = _symbols("wrench", 6)
        self.old = _symbols("old", size)

    def field(self, name: str, size: int) -> Sequence[Expr]:
        """Numbers of the link's record."""
        first = word(LINK, name) - word(LINK, "rotation")
        return self.record[first : first + size]

    def function(self, name: str, own: Sequence[Expr], parent: Sequence[Expr], new: Sequence[Expr]) -> SymbolicFunction:
        """The step with its outputs: entries of the own row, of the parent's row, and values for the coordinate."""
        given = ("record", "q", "v", "u", "own", "parent", "wrench", "old")
        inputs = tuple(Argument(n, getattr(self, n)) for n in given)
        named = (("own_out", own), ("parent_out", parent), ("new", new))
        return SymbolicFunction(name, inputs, tuple(Result(n, tuple(es), (len(es),)) for n, es in named))


def _symbols(name: str, n: int) -> tuple[Expr, ...]:
    return tuple(symbol(f"{name}{i}", "input") for i in range(n))


def _vector(values: Sequence[Expr], at: int) -> Vector:
    return Vector(*values[at : at + 3])


def _link(sort: Sort, x: _Inputs) -> Link:
    """A link of symbols; how it is turned and displaced is set by :func:`_place` or :func:`_placed`."""
    link = Link()
    link.index, link.parent, link.children, link.name = 0, -1, [], "link"
    link.kind, link.axis, link.angle, link.total = sort.kind, sort.axis, None, ZERO
    link.turns = [MatrixTurn(_matrix(x.field("rotation", 9)))] if sort.turned else []
    link.d = _vector(x.field("position", 3), 0) if sort.placed else NULL
    link.displacement = link.rate = link.rate2 = ZERO
    link.spin = link.spin2 = NULL
    link.mass, link.moment, link.inertia = ZERO, NULL, NO_INERTIA
    if sort.massive:
        link.mass, link.moment = x.field("mass", 1)[0], _vector(x.field("moment", 3), 0)
        link.inertia = Inertia(*x.field("inertia", 6))
    ratio, link.freedoms = _ratio(sort, x), []
    if sort.free:
        link.freedoms = [Freedom(j, j if sort.kind == "S" else sort.axis, ratio) for j in range(sort.freedoms)]
    if sort.kind == "S":
        link.spin, link.spin2 = Vector(*x.v), Vector(*x.u)
    else:
        link.rate, link.rate2 = mul(ratio, x.v[0]), mul(ratio, x.u[0])
    return link


def _ratio(sort: Sort, x: _Inputs) -> Expr:
    return x.field("ratio", 1)[0] if sort.geared else ONE


def _rotor(sort: Sort, x: _Inputs) -> Expr:
    return x.field("rotor", 1)[0] if sort.geared else ZERO


def _matrix(entries: Sequence[Expr]) -> Matrix:
    return Matrix((_vector(entries, 0), _vector(entries, 3), _vector(entries, 6)))


def _place(sort: Sort, x: _Inputs, link: Link) -> list[Expr]:
    """Turns and displaces the link by its coordinate; the nine entries of the row that remember it."""
    if sort.kind == "S":
        R = quaternion_rotation(*x.q)
        link.turns = [*link.turns, MatrixTurn(R)]
        return R.entries
    theta = add(mul(_ratio(sort, x), x.q[0]), x.field("offset", 1)[0]) if sort.geared else x.q[0]
    if sort.kind == "T":
        link.displacement = theta
        return [theta] + [ZERO] * 8
    turn = AxisTurn(sort.axis, cos(theta), sin(theta))
    link.turns = [*link.turns, turn]
    return [turn.c, turn.s] + [ZERO] * 7


def _placed(sort: Sort, x: _Inputs, link: Link) -> None:
    """Turns and displaces the link as its row remembers."""
    if sort.kind == "T":
        link.displacement = x.own[TURN]
        return
    turn: Turn = MatrixTurn(_matrix(x.own[TURN : TURN + 9])) if sort.kind == "S" else AxisTurn(sort.axis, x.own[TURN], x.own[TURN + 1])
    link.turns = [*link.turns, turn]


def _carried(link: Link, force: Vector, moment: Vector) -> tuple[Vector, Vector]:
    """A force and moment about the link's origin as they act about the parent's, in its axes."""
    if link.kind == "T":
        moment = moment + link.slide.cross(force)
    f = link.out(force)
    return f, link.out(moment) + link.d.cross(f)


def _added(x: _Inputs, at: int, *vectors: Vector) -> list[Expr]:
    """Entries of the parent's row with vectors added."""
    values = [e for v in vectors for e in v]
    return [add(x.parent[at + i], e) for i, e in enumerate(values)]


# --- Newton–Euler ------------------------------------------------------------------------------------------------


def newton_outwards(sort: Sort) -> SymbolicFunction:
    """Motion of a link from its parent's, and the force and moment it needs."""
    x = _Inputs(sort, NEWTON_ROW)
    link = _link(sort, x)
    turn = _place(sort, x, link)
    before = LinkMotion(_vector(x.parent, OMEGA), _vector(x.parent, OMEGA2), _vector(x.parent, ACCELERATION))
    motion = link_motion(link, before)
    force = motion.acceleration * link.mass + motion.at(link.moment) - _vector(x.wrench, 0)
    moment = inertial_moment(link.inertia, motion) + link.moment.cross(motion.acceleration) - _vector(x.wrench, 3)
    own = [*turn, *motion.omega, *motion.omega_dot, *motion.acceleration, *force, *moment]
    return x.function(f"newton_outwards_{sort.label}", own, (), ())
