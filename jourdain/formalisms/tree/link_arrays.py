"""The tree as plain numbers: one record for each elementary link, for recursions that run as loops over arrays.

Every quantity is written in the link's own axes about its own origin.  Numbers stand in the records once and for all;
what depends on parameters is evaluated again when they change.  The recursions read the records as one block of 8-byte
words (see :data:`HEADER` and :data:`LINK`), so that machine code needs a single pointer for the whole model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...model.joints import Coordinate
from ...symbolic.expr import ONE, ZERO, Expr
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import evaluate
from .links import SORTS, Link
from .newton_euler import reflected_inertias
from .tree import Tree

#: Sizes of the model and the gravity vector (m/s²), at the beginning of the block.
HEADER = np.dtype([
    ("links", "i8"), ("nq", "i8"), ("nv", "i8"), ("motions", "i8"), ("followers", "i8"), ("prescribed", "i8"),
    ("gravity", "f8", 3), ("spare", "i8", 7),
])  # fmt: skip

#: One link.  ``positions`` and ``velocities`` count its coordinates.  ``q`` and ``v`` are the places of its coordinate in the vectors q and v (a prescribed link has v = −1 and
#: q its place among the prescribed ones), ``motion`` the number of its own first freedom when every link is counted
#: apart, ``leader`` that of the link which carries the coordinate if several share it.  The displacement is
#: ratio·q + offset; ``rotation`` (link at zero displacement to parent) and ``position`` (of the joint in the parent's
#: axes) place the joint; ``moment`` is the first moment, ``inertia`` xx, yy, zz, xy, xz, yz about the link's origin;
#: ``rotor`` is the inertia of drives reflected to the coordinate.
LINK = np.dtype([
    ("parent", "i8"), ("positions", "i8"), ("velocities", "i8"), ("q", "i8"), ("v", "i8"), ("motion", "i8"), ("leader", "i8"),
    ("rotation", "f8", 9), ("position", "f8", 3), ("mass", "f8"), ("moment", "f8", 3), ("inertia", "f8", 6),
    ("ratio", "f8"), ("offset", "f8"), ("rotor", "f8"),
])  # fmt: skip


def word(dtype: np.dtype, field: str) -> int:
    """Place of a field in its record, in words of 8 bytes."""
    assert dtype.fields is not None
    return int(dtype.fields[field][1]) // 8


@dataclass(frozen=True)
class Sort:
    """What steps know of a link before any number: its sort by letter, its axis, and what is absent altogether."""

    letter: str
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
        return f"{self.letter}{self.axis}" + "".join(letter for letter, present in flags if present)

    @property
    def link(self) -> type[Link]:
        """The class of the link."""
        return SORTS[self.letter]

    @property
    def freedoms(self) -> int:
        """Number of freedoms of the joint."""
        return self.link.velocities if self.free else 0


#: Sorts of the links of a body that moves freely from the ground's frame.
SLIDES = [Sort("T", k, True, False, False, False, False) for k in range(3)]
BALL = Sort("S", 2, True, False, False, True, False)


class LinkArrays:
    """Numbers of all links of a tree, from the values of its parameters.

    ``tree`` must keep every link in its own axes: ``Tree(model, regroup=False, share=False)``.

    >>> from jourdain.model import Model
    >>> m = Model("pendulum")
    >>> l = m.parameter("l", 0.5)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -l)), axis="y")
    >>> arrays = LinkArrays(Tree(m, regroup=False, share=False))
    >>> arrays.links["inertia"][0]
    array([0.5, 0.5, 0. , 0. , 0. , 0. ])
    >>> arrays.set_parameters({"l": 1.0})
    >>> arrays.links["moment"][0]
    array([ 0.,  0., -2.])
    """

    def __init__(self, tree: Tree) -> None:
        n = len(tree.links)
        header, link = HEADER.itemsize // 8, LINK.itemsize // 8
        #: Header and links as one block of 8-byte words; its address never changes.
        self.block = np.zeros(header + link * n)
        self.header = self.block[:header].view(HEADER)
        self.links = self.block[header:].view(LINK)
        self.names = [link.name for link in tree.links]
        self.sorts: list[Sort] = []
        #: Every sort once, and its number by link.
        self.kinds: list[Sort] = []
        self.kind_of = np.zeros(n, np.int64)
        self.coordinates = list(tree.coordinates)
        self.parameter_names = tree.model.parameter_set.names
        self._symbols = tree.model.parameter_set.symbols
        self._given = tree.model.parameter_set.values
        self._time = tree.model.time
        #: θ, θ̇, θ̈ of every prescribed link, in rad or m, as expressions of time and parameters.
        self.prescribed: list[Expr] = []
        self._unknown: list[tuple[int, Expr]] = []
        self._write_structure(tree)
        self._write_constants(tree)
        #: The last link of every body that nothing holds.
        self.loose = self._loose_bodies()
        self.set_parameters({})

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return int(self.header["nq"][0])

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return int(self.header["nv"][0])

    # -- structure ------------------------------------------------------------------------------------------------

    def _write_structure(self, tree: Tree) -> None:
        places = _places(tree.coordinates)
        leaders: dict[int, int] = {}
        rows, motion = [], 0
        for link in tree.links:
            if link.freedoms:
                v = link.freedoms[0].index
                q = places[v]
                leader = leaders.setdefault(v, motion)
            else:
                v, q, leader = -1, len(self.prescribed) // 3, motion
                self.prescribed += link.prescribed
            rows.append((link.parent, link.positions, link.velocities, q, v, motion, leader))
            motion += link.velocities
        for i, name in enumerate(("parent", "positions", "velocities", "q", "v", "motion", "leader")):
            self.links[name] = [row[i] for row in rows]
        head = self.header[0]
        head["links"], head["nq"], head["nv"] = len(rows), sum(len(c.q) for c in tree.coordinates), tree.nv
        head["motions"], head["prescribed"] = motion, len(self.prescribed) // 3
        head["followers"] = int((self.links["motion"] != self.links["leader"]).sum())

    def _loose_bodies(self) -> list[int]:
        """Bodies that move freely from the ground's frame: three slides along its axes and a ball, with nothing behind and nothing shared."""
        links, sorts = self.links, self.sorts
        parents, q, v, motions, leaders = (links[name].tolist() for name in ("parent", "q", "v", "motion", "leader"))
        behind, shared = set(parents), {leader for leader, motion in zip(leaders, motions, strict=True) if leader != motion}
        found = []
        for k in range(3, len(sorts)):
            chain = range(k - 3, k + 1)
            if (
                sorts[k] != BALL
                or k in behind
                or [sorts[i] for i in chain[:3]] != SLIDES
                or [parents[i] for i in chain] != [-1, *chain[:3]]
            ):
                continue
            own = slice(k - 3, k + 1)
            in_row = all(x[own] == [x[k - 3] + i for i in range(4)] for x in (v, q))
            if in_row and leaders[own] == motions[own] and shared.isdisjoint(motions[own]):
                found.append(k)
        carried = np.bincount(links["parent"] + 1, minlength=len(sorts) + 1)[1:]
        return [k for k in found if (carried[k - 3 : k] == 1).all()]

    # -- numbers --------------------------------------------------------------------------------------------------

    def _write_constants(self, tree: Tree) -> None:
        """Writes what is a number already, and remembers the place of every other expression."""
        rotors, known = dict(reflected_inertias(tree)), dict[tuple[Any, ...], Sort]()
        start, size = HEADER.itemsize // 8, LINK.itemsize // 8
        first = word(LINK, "rotation")
        entries = [(word(HEADER, "gravity") + i, e) for i, e in enumerate(tree.model.gravity)]
        for link in tree.links:
            turn = link.constant_turn
            rotation = _UNTURNED if turn is None else turn.matrix().entries
            ratio, offset = link.transmission if link.freedoms else (ONE, ZERO)
            # the rotor's inertia stands on the first link that its coordinate moves, and is the same for all freedoms of a ball
            rotor = rotors.pop(link.freedoms[0].index, ZERO) if link.freedoms else ZERO
            massive = link.mass is not ZERO or not link.own_inertia.is_zero
            geared = ratio is not ONE or offset is not ZERO or rotor is not ZERO
            free, placed = bool(link.freedoms), not link.d.is_zero
            about = link.letter, link.axis, free, turn is not None, placed, massive, geared
            self.sorts.append(known[about] if about in known else known.setdefault(about, Sort(*about)))
            values = (
                *rotation, *link.d, link.mass, *link.own_moment, *link.own_inertia.entries, ratio, offset, rotor,
            )  # fmt: skip
            place = start + size * link.index + first
            entries += [(place + i, e) for i, e in enumerate(values) if e is not ZERO]
        numbers = [(at, e.data) for at, e in entries if e.is_number]
        self.block[[at for at, _ in numbers]] = [x for _, x in numbers]
        self._unknown = [(at, e) for at, e in entries if not e.is_number]
        self.kinds = list(known.values())
        number = {id(sort): k for k, sort in enumerate(self.kinds)}
        self.kind_of = np.array([number[id(sort)] for sort in self.sorts], np.int64)

    def set_parameters(self, values: Mapping[str, Any] | Sequence[float] | np.ndarray) -> None:
        """Gives parameters new values: all in order, or some by name (the others take the model's values)."""
        if isinstance(values, Mapping):
            p = self._given(values)
        else:
            p = np.asarray(values, dtype=float)
            if p.shape != (len(self.parameter_names),):
                n = len(self.parameter_names)
                raise InputError(f"the model has {n} parameters, got an array of shape {p.shape}")
        bad = np.flatnonzero(~np.isfinite(p))
        if len(bad):
            raise InputError(f"parameter '{self.parameter_names[bad[0]]}' = {p[bad[0]]} is not finite")
        self.parameters = p
        if self._unknown:
            found = evaluate([e for _, e in self._unknown], dict(zip(self._symbols, p, strict=True)))
            self.block[[at for at, _ in self._unknown]] = found

    def prescribed_function(self, name: str = "prescribed") -> SymbolicFunction:
        """θ, θ̇, θ̈ of every prescribed link as a function of time."""
        own = (Argument("p", self._symbols, "parameters"),) if self._symbols else ()
        inputs = (Argument("t", (self._time,), "time, s"), *own)
        return SymbolicFunction(name, inputs, (Result("motion", tuple(self.prescribed), (len(self.prescribed),)),))


_UNTURNED = (ONE, ZERO, ZERO, ZERO, ONE, ZERO, ZERO, ZERO, ONE)


def _places(coordinates: Sequence[Coordinate]) -> dict[int, int]:
    """For the first velocity of each coordinate: its place in q."""
    found, q, v = {}, 0, 0
    for c in coordinates:
        found[v] = q
        q, v = q + len(c.q), v + len(c.v)
    return found


__all__ = ["HEADER", "LINK", "LinkArrays", "Sort", "word"]
