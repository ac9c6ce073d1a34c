"""The recursions cut into steps over one link: small symbolic functions that native loops call link after link.

A step is derived once for each *sort* of link (rotation about x, translation along a turned axis, …) and serves every
model.  It reads the numbers of the link (`link_arrays`), its own row of memory and its parent's row; what it hands on
is added to the parent's row in place, which is safe because each such entry depends on itself alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...symbolic.expr import ONE, ZERO, Expr, add, mul, sub, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.vectors import AXES, NO_INERTIA, NULL, Inertia, Matrix, MatrixTurn, Turn, Vector
from .articulated_body import Articulated, carry, eliminate, own_body
from .composite_body import shifted
from .link_arrays import LINK, Sort, word
from .links import Link, LinkMotion

#: Entries of a row of memory: how the link stands in its parent (cosine and sine, displacement, or matrix) ...
TURN = 0
#: ... then for Newton–Euler: angular velocity, its derivative, acceleration of the origin, force and moment;
OMEGA, OMEGA2, ACCELERATION, FORCE, NEWTON_ROW = 9, 12, 15, 18, 24
#: for composite bodies: mass, first moment and inertia, for each freedom the force and moment of its column as they reach the parent, and
#: behind those of the last one their shares in the link's own freedoms;
COMPOSITE, COLUMN, COMPOSITE_ROW = 9, 19, 46
#: for articulated bodies: bias accelerations, the body (A, B, C, force, moment), for each freedom U (6), 1/D and u,
#: and the accelerations of the origin and of rotation;
BIAS, BODY, STEP, STEP_SIZE, MOVE, ARTICULATED_ROW = 12, 18, 45, 8, 69, 76
#: for poses: rotation to the ground's axes and position.
POSE_ROW = 12


class _Inputs:
    """Symbols of everything a step may read."""

    def __init__(self, sort: Sort, row: int) -> None:
        size = sort.link.velocities
        self.record = _symbols("c", LINK.itemsize // 8 - word(LINK, "rotation"))
        self.q = _symbols("q", sort.link.positions)
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
    turn = MatrixTurn(_matrix(x.field("rotation", 9))) if sort.turned else None
    link = sort.link(0, "link", -1, sort.axis, turn, _vector(x.field("position", 3), 0) if sort.placed else NULL)
    link.mass, link.moment, link.inertia = ZERO, NULL, NO_INERTIA
    if sort.massive:
        link.mass, link.moment = x.field("mass", 1)[0], _vector(x.field("moment", 3), 0)
        link.inertia = Inertia(*x.field("inertia", 6))
    offset = x.field("offset", 1)[0] if sort.geared else ZERO
    link.move(x.q, x.v, x.u, _ratio(sort, x), offset, 0 if sort.free else None)
    return link


def _ratio(sort: Sort, x: _Inputs) -> Expr:
    return x.field("ratio", 1)[0] if sort.geared else ONE


def _rotor(sort: Sort, x: _Inputs) -> Expr:
    return x.field("rotor", 1)[0] if sort.geared else ZERO


def _matrix(entries: Sequence[Expr]) -> Matrix:
    return Matrix((_vector(entries, 0), _vector(entries, 3), _vector(entries, 6)))


def _place(link: Link) -> list[Expr]:
    """Turns and displaces the link by its coordinate; the nine entries of the row that remember it."""
    _turn(link, link.own_turn())
    numbers = link.remembered()
    return numbers + [ZERO] * (OMEGA - TURN - len(numbers))


def _placed(link: Link, x: _Inputs) -> None:
    """Turns and displaces the link as its row remembers."""
    _turn(link, link.recalled(x.own[TURN:OMEGA]))


def _turn(link: Link, turn: Turn | None) -> None:
    if turn is not None:
        link.turns = [*link.turns, turn]


def _added(x: _Inputs, at: int, *vectors: Vector) -> list[Expr]:
    """Entries of the parent's row with vectors added."""
    values = [e for v in vectors for e in v]
    return [add(x.parent[at + i], e) for i, e in enumerate(values)]


# --- Newton–Euler ------------------------------------------------------------------------------------------------


def newton_outwards(sort: Sort) -> SymbolicFunction:
    """Motion of a link from its parent's, and the force and moment it needs."""
    x = _Inputs(sort, NEWTON_ROW)
    link = _link(sort, x)
    turn = _place(link)
    before = LinkMotion(_vector(x.parent, OMEGA), _vector(x.parent, OMEGA2), _vector(x.parent, ACCELERATION))
    motion = link.motion(before)
    force, moment = link.inertial_wrench(motion)
    needed = (*(force - _vector(x.wrench, 0)), *(moment - _vector(x.wrench, 3)))
    own = [*turn, *motion.omega, *motion.omega_dot, *motion.acceleration, *needed]
    return x.function(f"newton_outwards_{sort.label}", own, (), ())


def newton_inwards(sort: Sort) -> SymbolicFunction:
    """Joint force of a link, and its force and moment handed to the parent."""
    x = _Inputs(sort, NEWTON_ROW)
    link = _link(sort, x)
    _placed(link, x)
    force, moment = _vector(x.own, FORCE), _vector(x.own, FORCE + 3)
    new = []
    for j, freedom in enumerate(link.freedoms):
        projected = mul(freedom.ratio, freedom.project(force, moment))
        new.append(add(x.old[j], add(projected, mul(_rotor(sort, x), x.u[j]))))
    return x.function(f"newton_inwards_{sort.label}", (), _added(x, FORCE, *link.inwards(force, moment)), new)


# --- composite bodies --------------------------------------------------------------------------------------------


def composite_outwards(sort: Sort) -> SymbolicFunction:
    """Place of a link, and its own mass, first moment and inertia."""
    x = _Inputs(sort, COMPOSITE_ROW)
    link = _link(sort, x)
    own = [*_place(link), link.mass, *link.moment, *link.inertia.entries]
    return x.function(f"composite_outwards_{sort.label}", own, (), ())


def composite_inwards(sort: Sort) -> SymbolicFunction:
    """What a unit acceleration of each freedom asks of all that the link carries, at the parent and of the link's own freedoms; all that is
    carried, added to the parent."""
    x = _Inputs(sort, COMPOSITE_ROW)
    link = _link(sort, x)
    _placed(link, x)
    m, s, I = x.own[COMPOSITE], _vector(x.own, COMPOSITE + 1), Inertia(*x.own[COMPOSITE + 4 : COMPOSITE + 10])
    columns: list[Expr] = []
    shares: list[Expr] = []
    for freedom in link.freedoms:
        force, moment = (part * freedom.ratio for part in freedom.asked(m, s, I))
        columns += [e for v in link.inwards(force, moment) for e in v]
        shares += _shares(link, force, moment)
    s, I = shifted(m, s, I, link.slide)
    s, I = shifted(m, link.out(s), link.out_inertia(I), link.d)
    parent = [add(x.parent[COMPOSITE + i], e) for i, e in enumerate((m, *s, *I.entries))]
    return x.function(f"composite_inwards_{sort.label}", [*columns, *shares], parent, ())


def _shares(link: Link, force: Vector, moment: Vector) -> list[Expr]:
    """The share of a force and moment in each freedom of a link."""
    return [mul(f.ratio, f.project(force, moment)) for f in link.freedoms]


def composite_spread(sort: Sort) -> SymbolicFunction:
    """The share of a force and moment (given as ``wrench``) in each freedom of a link, and both carried to its parent."""
    x = _Inputs(sort, COMPOSITE_ROW)
    link = _link(sort, x)
    _placed(link, x)
    force, moment = _vector(x.wrench, 0), _vector(x.wrench, 3)
    carried = [e for v in link.inwards(force, moment) for e in v]
    return x.function(f"composite_spread_{sort.label}", (), carried, _shares(link, force, moment))


# --- articulated bodies ------------------------------------------------------------------------------------------


def _body(values: Sequence[Expr]) -> Articulated:
    """The articulated body held in a row."""
    A, C = Inertia(*values[BODY : BODY + 6]), Inertia(*values[BODY + 15 : BODY + 21])
    B = _matrix(values[BODY + 6 : BODY + 15])
    return Articulated(A, B, C, _vector(values, BODY + 21), _vector(values, BODY + 24))


def _entries(body: Articulated) -> list[Expr]:
    return [*body.A.entries, *body.B.entries, *body.C.entries, *body.force, *body.moment]


def articulated_outwards(sort: Sort) -> SymbolicFunction:
    """Angular velocity, bias accelerations, and the inertia and bias force of the link alone."""
    x = _Inputs(sort, ARTICULATED_ROW)
    link = _link(sort, x)
    turn = _place(link)
    omega_p = _vector(x.parent, OMEGA)
    omega = link.into(omega_p) + link.relative().omega
    bias, bias2 = link.bias(omega_p)
    body = own_body(link, omega, (_vector(x.wrench, 0), _vector(x.wrench, 3)))
    return x.function(f"articulated_outwards_{sort.label}", [*turn, *omega, *bias, *bias2, *_entries(body)], (), ())


def articulated_inwards(sort: Sort) -> SymbolicFunction:
    """The joint eliminated from the link's articulated body; what is left of it, to the parent."""
    x = _Inputs(sort, ARTICULATED_ROW)
    link = _link(sort, x)
    _placed(link, x)
    body, parent = _body(x.own), _body(x.parent)
    steps: list[Expr] = []
    for freedom in link.freedoms:
        U, U2, inverse, u = eliminate(freedom, body, x.u, dict.fromkeys(range(len(link.freedoms)), _rotor(sort, x)))
        steps += [*U, *U2, inverse, u]
    bias, bias2 = _vector(x.own, BIAS), _vector(x.own, BIAS + 3)
    body.force = body.force + (body.A @ bias) + (body.B @ bias2)
    body.moment = body.moment + (body.B.T @ bias) + (body.C @ bias2)
    carry(link, body, parent)
    return x.function(f"articulated_inwards_{sort.label}", steps, _entries(parent), ())


def articulated_accelerations(sort: Sort) -> SymbolicFunction:
    """Accelerations of a link and of its freedoms from those of its parent."""
    x = _Inputs(sort, ARTICULATED_ROW)
    link = _link(sort, x)
    _placed(link, x)
    a, alpha = link.carried(_vector(x.parent, MOVE), _vector(x.parent, MOVE + 3))
    a, alpha = a + _vector(x.own, BIAS), alpha + _vector(x.own, BIAS + 3)
    new = [ZERO] * sort.freedoms
    for j in reversed(range(sort.freedoms)):
        at, freedom = STEP + STEP_SIZE * j, link.freedoms[j]
        U, U2, inverse, u = _vector(x.own, at), _vector(x.own, at + 3), x.own[at + 6], x.own[at + 7]
        new[j] = mul(sub(u, add(U.dot(a), U2.dot(alpha))), inverse)
        a, alpha = freedom.moved(a, alpha, mul(freedom.ratio, new[j]))
    return x.function(f"articulated_accelerations_{sort.label}", [*a, *alpha], (), new)


def articulated_response(sort: Sort) -> SymbolicFunction:
    """Forces alone through an articulated body that is reduced already."""
    x = _Inputs(sort, ARTICULATED_ROW)
    link = _link(sort, x)
    _placed(link, x)
    force, moment = _vector(x.own, BODY + 21), _vector(x.own, BODY + 24)
    steps: list[Expr] = []
    for j, freedom in enumerate(link.freedoms):
        at = STEP + STEP_SIZE * j
        u = sub(x.u[j], mul(freedom.ratio, freedom.project(force, moment)))
        U, U2, scaled = _vector(x.own, at), _vector(x.own, at + 3), mul(u, x.own[at + 6])
        steps += [*U, *U2, x.own[at + 6], u]
        force, moment = force + U * scaled, moment + U2 * scaled
    parent = _added(x, BODY + 21, *link.inwards(force, moment))
    return x.function(f"articulated_response_{sort.label}", steps, parent, ())


# --- kinematics --------------------------------------------------------------------------------------------------


def pose_outwards(sort: Sort) -> SymbolicFunction:
    """Rotation to the ground's axes and position of a link from those of its parent."""
    x = _Inputs(sort, POSE_ROW)
    link = _link(sort, x)
    _place(link)
    R, p = _matrix(x.parent), _vector(x.parent, 9)
    position = link.d + link.out(link.slide)
    columns = [R @ link.out(e) for e in AXES]
    own = [*Matrix.from_columns(*columns).entries, *(p + R @ position)]
    return x.function(f"pose_outwards_{sort.label}", own, (), ())


#: Every step by its name.
STEPS: dict[str, Callable[[Sort], SymbolicFunction]] = {
    f.__name__: f
    for f in (
        newton_outwards, newton_inwards, composite_outwards, composite_inwards, composite_spread, articulated_outwards,
        articulated_inwards, articulated_accelerations, articulated_response, pose_outwards,
    )
}  # fmt: skip
