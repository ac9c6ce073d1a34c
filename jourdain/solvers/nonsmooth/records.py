"""What steps with contacts read and write: where rows come from, laws, memory of their problems, books."""

from __future__ import annotations

from ...native.record import Address, Floats, Integers, Matrix, Record
from ..complementarity.solve import Task
from .contact_set import Closures, ContactSet, Parts
from .impacts import Impacts

#: What a step returns where more contacts are found than there is room for.
NO_ROOM = -77
#: A coefficient of restitution is not a number; ``worst`` names the pair.
NO_NUMBER = -78
#: Books behind the forces: energy taken by contacts so far, deepest penetration, residual of the laws, contacts that act, iterations, and how fast
#: convex cones open contacts.
DISSIPATED, DEPTH, RESIDUAL, ACTING, ITERATIONS, OPENING, BOOKS = range(7)


class Asked(Record):
    """The first words of the arguments of ``rows``: time and state at the middle of a step from ``start``; how far bodies have moved by then."""

    t: Address
    x: Address
    start: Address
    moved: float
    h: float  # of the step, where masses hold the share of implicit forces


class Worst(Record):
    """The largest residual of a contact law that was left, when, and between which shapes."""

    residual: float
    t: float
    shape_a: int
    shape_b: int
    speed: float  # at which a coefficient of restitution is not a number; the residual is infinite then
    unsettled: int  # steps whose rounds, or middles, lead away from each other: what follows velocities is too strong for them
    streak: int  # the last steps whose middles did, one after the other


class Last(Record):
    """The last step, by which a step knows whether it follows that one: its end, its length, a sum over the velocities it left, and by how much contacts changed velocities.

    Sessions copy what they are handed over; what a run, its projections and Python share is a record of its own.
    """

    t: float
    h: float
    sum: float
    pushed: Floats


class Noted(Record):
    """What contacts did in every step, for those who look at it afterwards: ``count`` rows have been wanted, as many written as there is room."""

    rows: Matrix
    count: int
    steps: int


class Moreau(Record):
    """Arguments as a session hands them over, then contacts and laws."""

    t: Address
    x: Address
    out: Address
    rows: Address  # writes the contacts at (t, q) to ``contacts``
    rows_args: Asked
    nq: int
    nv: int
    nz: int
    turns: Integers  # first position and first velocity of each quaternion
    contacts: ContactSet
    parts: Parts
    closures: Closures
    impacts: Impacts
    solver: Address
    laws: Task
    depths: Task
    slack: float
    tolerance: float
    limit: int
    books: int  # where the books begin in the state
    worst: Worst
    couples: int  # whether some contact resists rolling or spinning
    halfway: int  # whether all parts are bodies that nothing holds: one array is then J and M⁻¹Jᵀ of the problems
    last: Last
    moved: float  # work of forces along the way by which positions were corrected in the step
    stiffness: Floats  # K and C of implicit forces, nv × nv each; empty where there are none
    damping: Floats
    noted: Noted
