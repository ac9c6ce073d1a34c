"""Walks along whole runs, in native code: from piece to piece over the events between them.

An event ends a piece at an instant τ with g(τ, x(τ)) = 0.  Since the last step of a piece and the first of the next have τ as an end,
dτ = −(g_x δx + g_p δp)/(g_t + g_x ∂x/∂τ) is all that is needed: saltation, also where nothing jumps but the rates.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Matrix, Record
from .field import Map
from .put_back import project, pull_projection, push_projection
from .walk import AT_END, Leg, walk_back, walk_forwards

#: A guard that crosses zero slower than this part of what its terms could do does not cross it; what is returned then.
RESTS, AT_REST = 1e-13, 91


class Transition(Record):
    """A guard or a jump with its derivatives: slots as those of a rate; its constants stand behind ``first`` others of all transitions."""

    nc: int
    first: int
    value: Map
    push: Map
    pull: Map
    bar: Floats
    cbar: Floats


class Path(Record):
    """The pieces of a run from ``begin`` to ``end``; ``guard`` and ``jump`` are addresses of transitions at their ends, 0 where there is none."""

    leg: Leg
    #: The last step of a piece, whose end alone moves, or a whole piece that is stretched by its end.
    tip: Leg
    #: The kernel of walks forwards, where ends move: it walks along the tip ``alone``, so that walks back have no other in them.
    forwards: Address
    alone: int
    begin: int
    end: int
    #: Steps and points of the pieces.
    first: Integers
    last: Integers
    points: Integers
    margin: Floats
    nudge: Floats
    renews: Integers
    stretched: Integers
    mode: Integers
    guard: Integers
    jump: Integers
    #: Whether a jump happens at a given instant: then states behind it are found anew, too.
    timed: Integers
    #: What impulses behind jumps, which close the constraints again, change velocities by.
    impulses: Matrix
    #: Changes of the instants at the ends of pieces, direction by direction; their weights, criterion by criterion.
    dtimes: Matrix
    time_weights: Matrix
    #: How fast guards moved, and what their terms could do.
    speed: Floats
    scale: Floats
    #: Constants of all transitions: changes, a row a direction, and weights, a row a criterion.
    de: Matrix
    ebar: Matrix
    #: Weights of the end of a piece in time.
    tau: Floats
    one: Floats
    # of one direction
    change: Floats
    after: Floats


@jit
def enter(path: Path, i: int) -> None:
    """Lets the leg be piece i."""
    leg = path.leg
    leg.first, leg.last, leg.point_first, leg.point_last = path.first[i], path.last[i], path.points[i], path.points[i + 1]
    leg.margin, leg.renews, leg.nudge = path.margin[i], path.renews[i], path.nudge[i]
    leg.origin, leg.stretched = path.first[i], path.stretched[i]
    leg.field.mode[0] = path.mode[i]


@jit
def _at_end(leg: Leg, p: int) -> bool:
    """Whether a value is read at the end of the leg."""
    return leg.point_kind[p] == AT_END and leg.point_step[p] == leg.last - leg.first - 1


@jit
def _slopes(path: Path) -> int:
    """How state, integrals and values at the end of the leg change with its last instant, in the tip."""
    leg, tip = path.leg, path.tip
    tip.first, tip.last, tip.margin, tip.renews, tip.groups = leg.last - 1, leg.last, leg.margin, leg.renews, 1
    tip.origin, tip.stretched = leg.first, leg.stretched
    tip.point_first, tip.point_last = leg.point_last, leg.point_last
    if leg.stretched == 1:
        tip.first, tip.point_first = leg.first, leg.point_first
    else:
        while tip.point_first > leg.point_first and _at_end(leg, tip.point_first - 1):
            tip.point_first -= 1
    tip.nudge = leg.nudge if tip.first == leg.first else 0.0
    for i in range(tip.field.n):
        tip.dx[0][i] = 0.0
    for j in range(tip.integrands.count):
        tip.dtotal[0][j] = 0.0
    path.alone = 1
    status = call(path.forwards, path)
    path.alone = 0
    return status


@jit
def _guard(path: Path, i: int) -> Any:
    """Derivatives of a guard in its row: the status, and how fast it moves with the last instant, with which the tip has moved the state."""
    g, leg = Transition.at(path.guard[i]), path.leg
    status = _slopes(path)
    if status != 0:
        return status, 0.0
    args, rate = g.pull.args, path.tip.dx[0]
    args[0], args[1], args[3], args[4], args[5] = at(leg.t[leg.last :]), at(leg.x[leg.last]), at(path.one), at(g.bar), at(g.cbar)
    status = call(g.pull.function, args)
    speed, scale = g.bar[0], abs(g.bar[0])
    for q in range(leg.field.n):
        speed += g.bar[1 + q] * rate[q]
        scale += abs(g.bar[1 + q]) * abs(rate[q])
    path.speed[i], path.scale[i] = speed, scale
    if status == 0 and not abs(speed) > RESTS * scale:
        status = AT_REST
    return status, speed


@jit
def _push_event(path: Path, i: int) -> int:
    """Changes at the end of a piece with those of its last instant, in all directions."""
    leg, tip, g = path.leg, path.tip, Transition.at(path.guard[i])
    status, speed = _guard(path, i)
    if status != 0:
        return status
    n, lanes, count = leg.field.n, leg.field.lanes, leg.values.count
    for d in range(leg.groups * lanes):
        group, k = d // lanes, d % lanes
        dx, total = leg.dx[group], leg.dtotal[group]
        moved = 0.0
        for q in range(n):
            moved += g.bar[1 + q] * dx[q * lanes + k]
        for c in range(g.nc):
            moved += g.cbar[c] * path.de[d][g.first + c]
        dt = -moved / speed
        path.dtimes[i][d] = dt
        for q in range(n):
            dx[q * lanes + k] += dt * tip.dx[0][q]
        for j in range(leg.integrands.count):
            total[j * lanes + k] += dt * tip.dtotal[0][j]
        for p in range(tip.point_first, tip.point_last):
            for j in range(count):
                leg.point_dy[p][(group * count + j) * lanes + k] += dt * tip.point_dy[p][j]
    return 0


@jit
def _strike(path: Path, i: int, part: float) -> None:
    """Lets the next projections be that behind the jump of piece i, onto the constraints of the next, or one without an impulse again."""
    for j in range(path.leg.field.nv):
        path.leg.field.impulse[j] = part * path.impulses[i][j]


@jit
def _push_jump(path: Path, i: int) -> int:
    """Changes after a jump."""
    leg, f = path.leg, Transition.at(path.jump[i])
    n, lanes, args = leg.field.n, leg.field.lanes, f.push.args
    for d in range(leg.groups * lanes):
        dx, k = leg.dx[d // lanes], d % lanes
        path.change[0] = path.dtimes[i][d]
        for q in range(n):
            path.change[1 + q] = dx[q * lanes + k]
        args[0], args[1], args[3] = at(leg.t[leg.last :]), at(leg.x[leg.last]), at(path.change)
        args[4], args[5] = at(path.de[d][f.first :]), at(path.after)
        status = call(f.push.function, args)
        if status != 0:
            return status
        for q in range(n):
            dx[q * lanes + k] = path.after[q]
    _strike(path, i, 1.0)
    leg.field.mode[0] = path.mode[i + 1]
    status = 0
    for d in range(leg.groups):
        if status == 0:
            status = push_projection(
                leg.field, leg.t[leg.last + 1 :], leg.x[leg.last + 1], path.dtimes[i][d * lanes :], leg.dx[d], leg.dc[d]
            )
    _strike(path, i, 0.0)
    leg.field.mode[0] = path.mode[i]
    return status


@jit
def _jump(path: Path, i: int) -> int:
    """The state behind the event of piece i, from that before it: as it jumps, and with constraints closed again by an impulse M Δv = JᵀΛ."""
    leg, field = path.leg, path.leg.field
    x, after = leg.x[leg.last], leg.x[leg.last + 1]
    if path.jump[i] == 0:
        for q in range(field.n):
            after[q] = x[q]
        return 0
    f = Transition.at(path.jump[i])
    args = f.value.args
    args[0], args[1], args[3] = at(leg.t[leg.last :]), at(x), at(after)
    status = call(f.value.function, args)
    if status != 0 or path.guard[i] == 0:
        return status
    for j in range(field.nv):
        path.impulses[i][j] = after[field.first + j]
    field.mode[0] = path.mode[i + 1]
    status = project(field, leg.t[leg.last + 1 :], after)
    field.mode[0] = path.mode[i]
    for j in range(field.nv):
        path.impulses[i][j] = after[field.first + j] - path.impulses[i][j]
    return status


@kernel
def forwards(address: int) -> int:
    """Values of all integrals and instants of a run, and their changes in all directions."""
    path = Path.at(address)
    leg = path.leg
    if path.alone == 1:
        return walk_forwards(path.tip)
    for i in range(path.begin, path.end):
        enter(path, i)
        status = walk_forwards(leg)
        if status != 0:
            return status
        if leg.anew == 1 and path.timed[i] == 1:
            status = _jump(path, i)
            if status != 0:
                return status
        directions = leg.groups * leg.field.lanes
        for d in range(directions):
            path.dtimes[i][d] = 0.0
        if leg.groups > 0 and path.guard[i] != 0:
            status = _push_event(path, i)
        if status == 0 and leg.groups > 0 and path.jump[i] != 0:
            status = _push_jump(path, i)
        if status != 0:
            path.begin = i
            return status
        for d in range(directions):
            leg.dta[d] = path.dtimes[i][d]
    return 0


@jit
def _pull_jump(path: Path, i: int) -> int:
    """Weights before a jump of state, time and constants from those after it."""
    leg, f = path.leg, Transition.at(path.jump[i])
    args, n = f.pull.args, leg.field.n
    for r in range(leg.criteria):
        xbar = leg.xbar[r]
        _strike(path, i, 1.0)
        leg.field.mode[0] = path.mode[i + 1]
        status, time = pull_projection(leg.field, leg.t[leg.last + 1 :], leg.x[leg.last + 1], xbar, leg.cbar[r])
        _strike(path, i, 0.0)
        leg.field.mode[0] = path.mode[i]
        if status != 0:
            return status
        args[0], args[1], args[3], args[4], args[5] = at(leg.t[leg.last :]), at(leg.x[leg.last]), at(xbar), at(f.bar), at(f.cbar)
        status = call(f.pull.function, args)
        if status != 0:
            return status
        path.tau[r] += time + f.bar[0]
        for q in range(n):
            xbar[q] = f.bar[1 + q]
        for c in range(f.nc):
            path.ebar[r][f.first + c] += f.cbar[c]
    return 0


@jit
def _pull_event(path: Path, i: int) -> int:
    """Weights of the end of a piece without those of its last instant, which the guard takes."""
    leg, tip, g = path.leg, path.tip, Transition.at(path.guard[i])
    status, speed = _guard(path, i)
    if status != 0:
        return status
    count = leg.values.count
    for r in range(leg.criteria):
        xbar = leg.xbar[r]
        direct = path.tau[r] + path.time_weights[i][r]
        for q in range(leg.field.n):
            direct += xbar[q] * tip.dx[0][q]
        for j in range(leg.integrands.count):
            direct += leg.weights[r][j] * tip.dtotal[0][j]
        for p in range(tip.point_first, tip.point_last):
            for j in range(count):
                direct += leg.point_weights[p][r * count + j] * tip.point_dy[p][j]
        rho = direct / speed
        for q in range(leg.field.n):
            xbar[q] -= rho * g.bar[1 + q]
        for c in range(g.nc):
            path.ebar[r][g.first + c] -= rho * g.cbar[c]
    return 0


@kernel
def backwards(address: int) -> int:
    """Weights of the end of a run, of its integrals and of its instants walked back to its beginning; values of both on the way."""
    path = Path.at(address)
    leg, status = path.leg, 0
    for i in range(path.end - 1, path.begin - 1, -1):
        enter(path, i)
        if path.jump[i] != 0:
            status = _pull_jump(path, i)
        if status == 0 and path.guard[i] != 0:
            status = _pull_event(path, i)
        if status == 0:
            for r in range(leg.criteria):
                leg.tabar[r] = 0.0
            status = walk_back(leg)
        if status != 0:
            path.begin = i
            return status
        for r in range(leg.criteria):
            path.tau[r] = leg.tabar[r]
    return 0


__all__ = ["AT_REST", "Path", "Transition", "backwards", "enter", "forwards"]
