"""Contacts by penalty in a run: forces found before each evaluation, memories of points, and what is told afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SolverError
from ..formalisms.functions.touching import law_function, touching_frames
from ..model.contact.loads import LONG, SHORT, slot_count, wrench_names
from ..model.contact.penalty_laws import Penalty, check_constant
from ..native.function import Function, compile_function
from ..native.record import Table
from ..results.channel import Channel
from ..solvers.adapter import with_inputs
from ..solvers.collision.records import Contact as Found
from ..solvers.native_function import NativeFunction, address
from ..solvers.penalty import before as by
from ..solvers.penalty.gaps import PairGap, pair_gap, touching_rows
from ..solvers.penalty.touch import GIVEN, NO_ROOM, NO_SLOTS, PASSED, READ, WRENCH, Law, Touch, renew, touch_rows
from ..symbolic.graph import evaluate
from .outputs.contact_pairs import Pairs, pairs_of, placed_shapes, shape_numbers

if TYPE_CHECKING:
    from ..model.contact.contacts import Contact
    from ..model.model import Model
    from .dynamics import Dynamics
    from .state import State
    from .tree.system import TreeSystem

#: What is told of all contacts beside forces: name, unit, meaning.
BOOKS = (
    ("acting", "", "contacts that act"), ("depth", "m", "deepest penetration"), ("stored", "J", "elastic energy of contacts"),
)  # fmt: skip
#: Steps of differences in parts of the deepest penetration.
SLOPE = 1e-3
#: Gaps up to this part of the smallest shape are looked at to know how fast bodies come.
NEAR = 0.1
#: Pairs whose gaps are watched, at most.
MOST_PAIRS = 64


@dataclass(frozen=True)
class Among:
    """Some of the carriers of a model's contacts (``nodes`` are those of parts): shapes of theirs and of the ground, and pairs of carriers by number that do not touch."""

    model: Model
    carriers: tuple[str, ...]
    nodes: tuple[str, ...]
    pairs: Pairs
    apart: tuple[tuple[int, int], ...]
    #: added to the numbers of pairs in memories of points, which carriers share
    base: int = 0
    #: slots of each contact that rigid bodies have
    taken: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class PairOfShapes:
    """Two shapes of the scene by number, whose gap can be watched."""

    a: int
    b: int

    @property
    def id(self) -> tuple[str, int, int]:
        """What it is known by."""
        return "pair", self.a, self.b


class Touching:
    """The contacts by penalty of one native system: ``record`` is what native code reads; ``motion`` gives the bodies' motion at (t, x)."""

    def __init__(
        self,
        system: Dynamics,
        motion: NativeFunction,
        u: np.ndarray,
        n: int,
        constants: Callable[[Function], np.ndarray],
        parameters: np.ndarray,
        among: Among | None = None,
    ) -> None:
        self.system, self.model, self.parameters = system, system.model if among is None else among.model, parameters
        self._keep: list[Any] = [motion]
        self.bodies = list(touching_frames(self.model) if among is None else among.carriers)
        self.pairs = pairs_of(self.model, Penalty) if among is None else among.pairs
        self._taken: Mapping[str, int] = {} if among is None else among.taken
        numeric = partial(shape_numbers, symbols=self.model.parameter_set.symbols, parameters=parameters)
        number = {name: i for i, name in enumerate(self.bodies)}
        apart = () if among is None else among.apart
        self.scene = placed_shapes(self.pairs, number, numeric, lambda s: np.r_[np.eye(3).ravel(), np.zeros(3)], apart)
        read, given = np.zeros(READ), np.zeros(GIVEN)
        wrench = self._wrenches()
        size, count = self.scene.native.solids.array["size"], WRENCH * int((wrench >= 0).sum())
        finite = size[size > 0]
        saved, one, change = np.zeros((3, count))
        moved = np.zeros(max(1, 18 * len(self.bodies)))
        reach, sizes = self._sizes()
        room = 64 + 16 * len(self.pairs.shapes)
        self.record = Touch(
            watch=1, t_last=np.inf, last=np.zeros((len(self.bodies), 12)), pairs=np.zeros(room, np.int64), reach=reach, size=sizes,
            between=Table(Found, np.zeros(room, Found.dtype())),
            motion=motion.address, motion_args=motion.own_arguments(), moved=moved, poses=np.zeros((len(self.bodies), 12)), scene=self.scene.native,
            found=Table(Found, np.zeros(room, Found.dtype())), source=self.scene.source, group=self.pairs.group,
            groups=len(self.pairs.law), law_of=self.pairs.law.ravel().copy(), laws=self._laws(read, given, constants), read=read, given=given, u=u,
            wrench=wrench.ravel(), shapes=len(self.scene.kinds), base=0 if among is None else among.base,
            used=np.zeros(len(self.model.contacts), np.int64), near=NEAR * float(finite.min()) if finite.size else 1e-2, axes=np.zeros(9),
            n=n, nq=system.nq, saved=saved, one=one, change=change, state=np.zeros(max(1, n)), work=np.zeros(3 * max(1, n)), clock=np.zeros(1),
        )  # fmt: skip

    def _sizes(self) -> tuple[float, np.ndarray]:
        """Half the smallest half-thickness of a shape, and how far the shapes of each body reach."""
        solids, local = self.scene.native.solids.array, self.scene.native.local
        thin = [min(x for x in (s["x"], s["y"], s["z"]) if x > 0.0) for s in solids if s["size"] > 0.0]
        reach = np.zeros(max(1, len(self.bodies)))
        for s, place in zip(solids, local, strict=False):
            if s["body"] >= 0:
                reach[s["body"]] = max(reach[s["body"]], s["size"] + float(np.linalg.norm(place[9:])))
        return 0.5 * float(min(thin, default=1.0)), reach

    def _wrenches(self) -> np.ndarray:
        """Where the wrench of each contact on each body begins among the inputs."""
        names = {n: i for i, n in enumerate(self.model.inputs)}
        found = np.full((len(self.model.contacts), max(1, len(self.bodies))), -1, np.int64)
        for k, contact in enumerate(self.model.contacts.values()):
            own = contact.carriers if contact.gives_way else {}
            for j, mover in enumerate(self.bodies):
                if mover in own:
                    found[k, j] = names[wrench_names(contact, mover)[0]]
        return found

    def _laws(self, read: np.ndarray, given: np.ndarray, constants: Callable[[Function], np.ndarray]) -> Table[Law]:
        inputs, memories = ({n: i for i, n in enumerate(x)} for x in (self.model.inputs, self.model.memories))
        rows = []
        for contact in self.model.contacts.values():
            if not isinstance(contact.law, Penalty):
                rows.append((0,) * 7)
                continue
            self._check(contact.law, f"contact '{contact.name}'")
            f = self._law(contact.name, contact.law)
            k, work = constants(f), np.zeros(max(1, f.signature.workspace))
            args = np.array([address(read), address(given), *(address(a) if a.size else 0 for a in (k, work))], np.uintp)
            self._keep += [f, k, work, args, read, given]
            taken, width = self._taken.get(contact.name, 0), len(LONG if contact.law.bristles else SHORT)
            slots = slot_count(contact) - taken
            first = contact.memory_names[taken * width] if slots > 0 else ""
            rows.append(
                (f.address, address(args), inputs.get(first, 0), memories.get(first, 0), slots, width, int(contact.law.normal.by_shape))
            )
        return Table(Law, np.array(rows, Law.dtype()))

    def _law(self, name: str, law: Penalty) -> Function:
        """The compiled law, kept with the functions of the system."""
        key = ("contact law", name)
        known = self.system._functions
        if key not in known:
            symbolic = law_function(law, self.model.parameter_set.symbols)
            known[key] = compile_function(symbolic, self.system.parameter_vector if symbolic.has_parameters else ())
        return known[key]

    def _check(self, law: Penalty, what: str) -> None:
        known = dict(zip(self.model.parameter_set.symbols, self.parameters, strict=True))
        for word, e in law.constants().items():
            check_constant(word, float(evaluate([e], known)[0]), what)

    def lost(self) -> str:
        """Why contact forces could not be found, in words."""
        if self.record.bad == NO_ROOM:
            return f"more than {len(self.record.found)} points touch at once"
        if self.record.bad == NO_SLOTS:
            return "more points touch at once than have a memory; name fewer pairs of bodies in the contact"
        if self.record.bad == PASSED and self.record.bad_a < 0:
            return "bodies move by more than a thousand times their size within a step; take a smaller step"
        if self.record.bad == PASSED:
            a, b = (self.name_of(k) for k in (self.record.bad_a, self.record.bad_b))
            return f"'{a}' and '{b}' go through each other within a step; take a smaller step"
        if self.record.odd:
            r, (a, b) = self.record, (self.name_of(k) for k in (self.record.odd_a, self.record.odd_b))
            return (
                f"the law between '{a}' and '{b}' gives no finite force at t = {r.odd_t:.9g} s (depth {r.odd_depth:.3g} m, rate {r.odd_rate:.3g} m/s); "
                "check its expression there"
            )
        return "the motion of its bodies is not finite" if self.record.bad else ""

    def name_of(self, shape: int) -> str:
        """The name of a shape of the scene."""
        return self.pairs.shapes[int(self.scene.source[shape])].name

    def body_of(self, shape: int) -> str:
        """The name of the body of a shape of the scene."""
        return self.pairs.shapes[int(self.scene.source[shape])].body.name

    # -- around native functions ----------------------------------------------------------------------------------

    def before(self, f: NativeFunction) -> NativeFunction:
        """A function of (t, x) that finds contact forces first."""
        return by.before(self.record, f, self)

    def headed(self, function: int, pointers: np.ndarray) -> tuple[int, np.ndarray]:
        """The same for a function with pointers (t, x, …)."""
        return by.headed(self.record, function, pointers)

    def along(self, function: int, pointers: np.ndarray) -> tuple[int, np.ndarray]:
        """A derivative in a direction with the change of contact forces along it."""
        self._keep.append(pointers)
        return by.directed(self.record, function, pointers)

    def derivatives(self, found: Mapping[str, NativeFunction], rates: NativeFunction) -> dict[str, NativeFunction]:
        """∂ẋ/∂x and ∂ẋ/∂t from those at constant forces and from ẋ as it is without looking."""
        kernels = {"jacobian": by.state_jacobian.address, "time_derivative": by.state_time_derivative.address}

        def with_forces(name: str, f: NativeFunction) -> NativeFunction:
            args = by.Before(
                touch=self.record, function=f.address, args=f.own_arguments(), rates=rates.address, rates_args=rates.own_arguments()
            )
            return NativeFunction.of(kernels[name], args, f, rates, self)

        return {name: with_forces(name, f) for name, f in found.items()}

    def gap(self, pair: PairOfShapes) -> NativeFunction:
        """The gap of a pair of shapes."""
        args = PairGap(touch=self.record, shape_a=pair.a, shape_b=pair.b, near=self.record.near)
        return NativeFunction.of(pair_gap.address, args, self)

    def pairs_that_touch(self, t: np.ndarray, x: np.ndarray) -> dict[PairOfShapes, np.ndarray]:
        """Which pairs touch, and at which states in rows."""
        pairs, found = np.zeros(MOST_PAIRS, np.int64), np.zeros((len(t), MOST_PAIRS), np.int64)
        known = touching_rows(self.record, np.ascontiguousarray(t), np.ascontiguousarray(x), pairs, found)
        shapes = self.record.shapes
        return {PairOfShapes(int(p) // shapes, int(p) % shapes): found[:, j] > 0 for j, p in enumerate(pairs[: max(0, known)])}

    def renewal(self, f: NativeFunction, memories: int) -> NativeFunction:
        """New memories after a step, the slots of contacts among them."""
        args = by.Before(touch=self.record, function=f.address, args=f.own_arguments(), memories=memories)
        return NativeFunction.of(by.renew_then.address, args, f, self)


def touching_at(system: TreeSystem, u: np.ndarray, n: int) -> Touching:
    """The contacts of a tree at states of n numbers, apart from a run: they read and write the inputs ``u``."""
    f = system.function("touching_motion")
    work = np.zeros(max(1, f.signature.workspace))
    inner = np.array([0, 0, address(u), 0, *(address(a) if a.size else 0 for a in (f.constants, work))], np.uintp)
    motion = NativeFunction(with_inputs.address, np.array([0, 0, 0, f.address, address(inner)], np.uintp), (inner, u, work, f))
    found = Touching(system, motion, u, n, lambda g: g.constants, system.parameter_vector)
    found.record.watch = 0
    return found


def find_forces(system: TreeSystem, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Writes contact forces at times and states (in rows) into rows of inputs; contacts that act, deepest penetration and elastic energy of each row."""
    found = touching_at(system, np.zeros(max(1, u.shape[1])), x.shape[1])
    books = np.zeros((len(t), 3))
    rows, states = np.ascontiguousarray(u), np.ascontiguousarray(x, dtype=float)
    bad = touch_rows(found.record, np.ascontiguousarray(t, dtype=float), states, rows, books)
    if bad:
        raise SolverError(f"'{system.model.name}': contact forces cannot be found at t = {t[bad - 1]:.9g} s: {found.lost()}")
    u[:] = rows
    return books


def renewed_memories(system: TreeSystem, state: State, u: np.ndarray) -> np.ndarray:
    """The inputs with memories of points as after a step that ended at a state."""
    known = list(system.model.inputs)
    points = [n for n in system.model.memories if n in system.model.point_memories]
    if not points:
        return u
    found = touching_at(system, u.copy(), len(state.x))
    clock, x = np.array([state.t]), np.array(state.x, dtype=float)
    new = np.array([u[known.index(n)] for n in system.model.memories])
    if renew(found.record, address(clock), address(x), new) != 0:
        raise SolverError(f"'{system.model.name}': {found.lost()}")
    out = u.copy()
    for i, n in enumerate(system.model.memories):
        if n in points:
            out[known.index(n)] = new[i]
    return out


def wrench_slopes(system: TreeSystem, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
    """Which inputs are wrenches of contacts, and their derivatives along the velocities by positions and by velocities (differences of order four)."""
    nv, names = system.nv, list(system.model.inputs)
    places = np.array([names.index(n) for c in system.model.contacts.values() for n in c.input_names], dtype=int)
    here = np.concatenate([q, v, z])
    depth = float(find_forces(system, np.array([t]), here[None], u[None].copy())[0, 1])
    step = min(max(SLOPE * depth, 1e-9), 1e-4)
    rows, weights = [], []
    for kind in "qv":
        for j in range(nv):
            for side, weight in ((-2, 1.0 / 12.0), (-1, -8.0 / 12.0), (1, 8.0 / 12.0), (2, -1.0 / 12.0)):
                d = np.zeros(nv)
                d[j] = side * step
                moved = (system.configuration.integrate(q, d), v) if kind == "q" else (q, v + d)
                rows.append(np.concatenate([*moved, z]))
                weights.append(weight / step)
    wrenches = np.tile(u, (len(rows), 1))
    find_forces(system, np.full(len(rows), t), np.array(rows), wrenches)
    slopes = (np.array(weights)[:, None] * wrenches[:, places]).reshape(2, nv, 4, -1).sum(axis=2)
    return places, slopes[0].T, slopes[1].T


def net_forces(contact: Contact, known: Mapping[str, Channel]) -> dict[str, Channel]:
    """Forces of a contact on bodies that bend: the sums of those on their nodes."""
    totals: dict[str, Channel] = {}
    for mover, frame in contact.carriers.items():
        if frame.body.modes and (own := known.get(f"{contact.name}.{mover}.force")) is not None:
            name = f"{contact.name}.{frame.body.name}.force"
            before = totals[name].values if name in totals else 0.0
            totals[name] = Channel(before + own.values, "N", "contact force, all nodes")
    return totals


def touching_channels(system: TreeSystem, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> dict[str, Channel]:
    """Forces on bodies by contact, and what all contacts hold; the energy that they took is told by the books."""
    model, place = system.model, {n: i for i, n in enumerate(system.model.inputs)}
    found: dict[str, Channel] = {}
    for contact in model.contacts.values():
        carriers = contact.carriers if contact.gives_way else {}
        firsts = {mover: place[wrench_names(contact, mover)[0]] for mover in carriers}
        for mover, first in firsts.items():
            found[f"{contact.name}.{mover}.force"] = Channel(u[:, first : first + 3], "N", "contact force")
            found[f"{contact.name}.{mover}.torque"] = Channel(
                u[:, first + 3 : first + 6], "N m", "torque of contact forces about the body's origin"
            )
        found |= net_forces(contact, found)
    kept: list[np.ndarray] = []

    def column(k: int) -> Callable[[], np.ndarray]:
        def read() -> np.ndarray:
            if not kept:
                kept.append(find_forces(system, t, x, u.copy()))
            return kept[0][:, k]

        return read

    for k, (name, unit, told) in enumerate(BOOKS):
        found[f"contacts.{name}"] = Channel(column(k), unit, told)
    return found


__all__ = ["Among", "PairOfShapes", "Touching", "find_forces", "renewed_memories", "touching_at", "touching_channels", "wrench_slopes"]
