"""Contacts of a tree: the scene of its shapes, laws by groups of shapes, and all memory that steps need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....collector import no_collection
from ....errors import InputError
from ....model.bodies import Body
from ....model.contact.laws import Rigid
from ....model.contact.loads import dry_name, tension_name
from ....native.record import Table
from ....results.channel import Channel
from ....solvers.collision import Scene
from ....solvers.collision.records import PLANE
from ....solvers.collision.records import Contact as Found
from ....solvers.native_function import NativeFunction
from ....solvers.nonsmooth import moreau
from ....solvers.nonsmooth.contact_set import Closures, Parts, make_closures, make_contact_set
from ....solvers.nonsmooth.notes import NOTED
from ....solvers.nonsmooth.records import BOOKS, Asked, Last, Moreau, Noted, Worst
from ....solvers.nonsmooth.tasks import BODY, make_tasks
from ....solvers.ode.events import Switch
from ....solvers.penalty.touch import WRENCH
from ....symbolic.graph import evaluate
from ...outputs.contact_pairs import pairs_of, placed_shapes, shape_numbers
from ...touching import net_forces
from ..link_sweeps import Hook
from ..looped import RECIPES, LoopedTree, link_step, make_program
from .numbers import directions_of, impacts_of, rope_rows, too_long
from .passing import GRAZING
from .rows import COUPLES, DRY_JOINTS, ROPES, STOPS, Framed, contact_rows
from .rows import TreeContacts as NativeRows

if TYPE_CHECKING:
    from ....model.joints import Joint
    from ...state import State
    from ..projected import NativeSystem
    from ..system import TreeSystem

#: Gaps up to this part of the smallest shape's size are looked at even where nothing moves.
SLACK = 0.01
#: Part of the largest velocity to which laws are met, and most sweeps over all contacts.
TOLERANCE, SWEEPS = 1e-7, 1000


class TreeContacts:
    """The contacts of one run: what native code reads and writes, with room for a number of contacts that can be raised."""

    #: Whether nodes of bodies that bend may carry shapes.
    bend = False
    #: K and C of forces that steps take implicitly, over all velocities.
    stiffness = damping = np.zeros(0)

    def __init__(self, system: TreeSystem, parameters: np.ndarray, room: int | None = None) -> None:
        model = system.model
        self.system, self.model, self.parameters = system, model, parameters
        self.contacts = list(model.contacts.values())
        self.pairs = pairs_of(model, Rigid)
        self._keep: list[Any] = []
        #: Restitution as a function of the speed, by the number of the law.
        self.by_speed: dict[int, Any] = {}
        self._closing: list[Any] = []
        self._take_tree()
        #: What moves with shapes, by name: bodies, or nodes of those that bend.
        self.movers = self._moving()
        self.scene = self._scene()
        self.parts = self._parts()
        self.stops, self.dry, self.ropes = self._stops(), self._dry(), list(model.ropes.values())
        self.places = self._places()
        self.raise_room(room or 8 * len(self.pairs.shapes) + 64 + len(self.stops) + len(self.dry) + len(self.ropes))

    def _take_tree(self) -> None:
        """What rows are made of: loops over the links."""
        s = self.system
        self._tree = s.bare_tree
        self.looped = s.looped if self.parameters is s.parameter_vector else LoopedTree(self._tree, self.parameters)

    @staticmethod
    def made(system: TreeSystem) -> TreeContacts:
        """New ones, by loops over links where these are of rigid bodies alone, else by compiled functions."""
        from .framed import FramedContacts, needs_frames

        with no_collection():
            return (FramedContacts if needs_frames(system) else TreeContacts)(system, system.parameter_vector)

    @classmethod
    def of(cls, system: Any) -> TreeContacts:
        """Those of an ended run where there are any, else new ones."""
        idle: list[TreeContacts] = system._idle.setdefault("contacts", [])
        while True:
            try:  # another thread may have taken the last one
                found = idle.pop()
            except IndexError:
                return cls.made(system)
            if found.parameters is system.parameter_vector:
                return found

    def release(self) -> None:
        """Keeps the object for another run; nothing may run with it any more."""
        self.system._idle["contacts"].append(self)

    def begin(self, tolerance: float, limit: int) -> None:
        """Forgets what was before, for a run of its own."""
        self.record.tolerance, self.record.limit = tolerance, limit
        self.record.worst = Worst()
        self.rows.contacts.old_count, self.record.last = 0, Last(pushed=np.zeros(self.system.nv))
        self.record.noted = Noted(rows=np.zeros((0, NOTED)))

    def raise_room(self, room: int) -> None:
        """Makes room for so many contacts."""
        worst, self.room = getattr(self, "record", None), room
        self.rows = self._rows()
        #: Gaps up to this are looked at even where nothing moves.
        self.slack, self.level = self.rows.slack, self.rows.level
        self.record = self._record()
        if worst is not None:  # what was missed so far is told at the end
            self.record.worst, self.record.tolerance, self.record.limit = worst.worst, worst.tolerance, worst.limit

    def _stops(self) -> list[tuple[str, int, int, float, float, int]]:
        """Ends of joints that act: joint, position, velocity, the open direction, where, and the number of the law."""
        c, found = self.system.configuration, []
        for k, name in enumerate(self.model.rigid_stops):
            joint = self.model.joints[name]
            label = joint.coordinates[0].names[0]
            if label not in c.position_names:
                raise InputError(f"stops: joint '{name}' has no coordinate of its own here: it is driven, locked or cut")
            q, v = c.position_names.index(label), self._velocity_of(joint)
            for end, sign in zip(joint.limits, (1.0, -1.0), strict=True):
                if end is not None:
                    found.append((name, q, v, sign, float(self._numbers([end])[0]), len(self.contacts) + k))
        return found

    def _dry(self) -> list[tuple[str, int]]:
        """Joints with dry friction, and their velocities."""
        c, found = self.system.configuration, []
        for name in self.model.dry_friction:
            joint = self.model.joints[name]
            if joint.coordinates[0].names[0] not in c.position_names:
                raise InputError(f"friction: joint '{name}' has no coordinate of its own here: it is driven, locked or cut")
            found.append((name, self._velocity_of(joint)))
        return found

    def _velocity_of(self, joint: Joint) -> int:
        """The number of a joint's only velocity."""
        return self.system.configuration.velocity_names.index(joint.coordinates[0].velocity_names[0])

    @property
    def first_rope(self) -> int:
        """The number of the first law of ropes."""
        return len(self.contacts) + len(self.model.rigid_stops)

    @property
    def first_dry(self) -> int:
        """The number of the first law of dry friction in joints."""
        return self.first_rope + len(self.ropes)

    # -- bodies and shapes ----------------------------------------------------------------------------------------

    def _numbers(self, expressions: Iterable[Any]) -> np.ndarray:
        symbols = self.model.parameter_set.symbols
        return np.array(evaluate(list(expressions), dict(zip(symbols, self.parameters, strict=True))), dtype=float)

    def _moving(self) -> dict[str, Body]:
        """Bodies with shapes or ropes, except those that stand on the ground for good."""
        found = {id(s.body): s.body for s in self.pairs.shapes} | {
            id(p.body): p.body for r in self.model.ropes.values() for p in (r.a, r.b)
        }
        return {b.name: b for b in found.values() if not b.is_ground and self._tree.places[b.name].link >= 0}

    def _poses_on_links(self, bodies: Iterable[Body]) -> np.ndarray:
        places = [self._tree.places[body.name] for body in bodies]
        return self._numbers([e for place in places for e in (*place.rotation.entries, *place.position)]).reshape(-1, 12)

    def poses_at(self, q: np.ndarray, t: float) -> np.ndarray:
        """Rotations and origins of all that moves with shapes, twelve numbers a row."""
        R, p = (x[self.rows.body_link] for x in self.looped.poses(q, t))
        place = self.rows.body_place
        return np.concatenate([(R @ place[:, :9].reshape(-1, 3, 3)).reshape(-1, 9), p + np.einsum("bij,bj->bi", R, place[:, 9:])], axis=1)

    def _scene(self) -> Scene:
        number = {name: i for i, name in enumerate(self.movers)}
        numeric = partial(shape_numbers, symbols=self.model.parameter_set.symbols, parameters=self.parameters)
        return placed_shapes(self.pairs, number, numeric, lambda s: self._poses_on_links([s.body])[0])

    @property
    def _loose(self) -> list[int]:
        """Last links of bodies that nothing holds; where there are constraints, none is looked at as such."""
        return [] if self.system.equations_of_motion.rows else self.looped.arrays.loose

    # -- parts of the velocities ----------------------------------------------------------------------------------

    def _parts(self) -> Parts:
        """Velocities that links or shared coordinates connect."""
        nv = self.system.nv
        group = list(range(nv))

        def root(i: int) -> int:
            while group[i] != i:
                group[i] = group[group[i]]
                i = group[i]
            return i

        for members_of_one in self._connected():
            for v in members_of_one[1:]:
                group[root(v)] = root(members_of_one[0])
        for columns in self._coupled.values():  # a constraint couples all that it moves
            for v in columns[1:]:
                group[root(v)] = root(columns[0])
        roots = [root(i) for i in range(nv)]
        number = {r: i for i, r in enumerate(dict.fromkeys(roots))}
        members: list[list[int]] = [[] for _ in number]
        for v, r in enumerate(roots):
            members[number[r]].append(v)
        sizes = np.array([len(m) for m in members], np.int64)
        place_of = np.zeros(nv, np.int64)
        for m in members:
            place_of[m] = np.arange(len(m))
        free = np.zeros(len(members), np.int64)
        for v in self._free_velocities():
            free[number[roots[v]]] = 1
        return Parts(
            inverse=free, first=np.r_[0, np.cumsum(sizes)].astype(np.int64), member=np.array([v for m in members for v in m], np.int64),
            part_of=np.array([number[r] for r in roots], np.int64), place_of=place_of, masses=np.r_[0, np.cumsum(sizes**2)].astype(np.int64),
            M=np.zeros(int((sizes**2).sum())), stride=int(sizes.max(initial=BODY)),
        )  # fmt: skip

    def _connected(self) -> Iterator[list[int]]:
        """Velocities that move one link, with one of those before it."""
        links = self.looped.arrays.links
        behind: list[int] = []
        for parent, v, count in zip(*(links[name].tolist() for name in ("parent", "v", "velocities")), strict=True):
            inner = behind[parent] if parent >= 0 else -1
            behind.append(inner if v < 0 else v)
            if v >= 0:
                yield [*range(v, v + count), *([inner] if inner >= 0 else [])]

    def _free_velocities(self) -> list[int]:
        """A velocity of each body that nothing holds."""
        return [int(self.looped.arrays.links["v"][link]) for link in self._loose]

    # -- what is booked -------------------------------------------------------------------------------------------

    def _places(self) -> dict[tuple[int, int], int]:
        """Where the wrench of a contact (by number) on a body (by number) stands in the state."""
        number = {name: i for i, name in enumerate(self.movers)}
        pairs = [(k, number[x]) for k, c in enumerate(self.contacts) if not c.gives_way for x in c.carriers if x in number]
        return {pair: self.first_place + WRENCH * i for i, pair in enumerate(pairs)}

    @property
    def stop_places(self) -> list[int]:
        """Where the forces of stops stand in the state."""
        return [self.first_place + WRENCH * (len(self.places) + i) for i in range(len(self.stops))]

    @property
    def rope_places(self) -> list[int]:
        """Where the tensions of ropes stand in the state."""
        first = self.first_place + WRENCH * (len(self.places) + len(self.stops))
        return [first + WRENCH * i for i in range(len(self.ropes))]

    @property
    def dry_places(self) -> list[int]:
        """Where the forces of dry friction in joints stand in the state."""
        first = self.first_place + WRENCH * (len(self.places) + len(self.stops) + len(self.ropes))
        return [first + WRENCH * i for i in range(len(self.dry))]

    @property
    def first_place(self) -> int:
        """Where wrenches begin in the state."""
        s = self.system
        return s.nq + s.nv + s.nz

    @property
    def books(self) -> int:
        """Where the books begin in the state."""
        return self.first_place + self.booked

    @property
    def booked(self) -> int:
        """Numbers of all wrenches, forces of stops, ropes and dry friction."""
        return WRENCH * (len(self.places) + len(self.stops) + len(self.ropes) + len(self.dry))

    @property
    def size(self) -> int:
        """Numbers of the state with all that is booked."""
        return self.books + BOOKS

    # -- native ---------------------------------------------------------------------------------------------------

    def _record(self) -> Moreau:
        rows = self.rows
        s, tasks = self.system, make_tasks(rows.contacts, self.parts)
        tasks["laws"].problem.relaxed = self._convex()
        return Moreau(
            rows=contact_rows.address, rows_args=Asked.at(rows.words), nq=s.nq, nv=s.nv, nz=s.nz,
            turns=np.array([i for pair in s.configuration.quaternions for i in pair], np.int64), contacts=rows.contacts, parts=self.parts, closures=rows.closures,
            impacts=impacts_of(self), **tasks, slack=rows.slack, tolerance=TOLERANCE, limit=SWEEPS, books=self.books,
            worst=Worst(), last=Last(pushed=np.zeros(s.nv)), couples=int(any(isinstance(c.law, Rigid) and c.law.resists for c in self.contacts)), stiffness=self.stiffness,
            damping=self.damping, noted=Noted(rows=np.zeros((0, NOTED))),
        )  # fmt: skip

    @property
    def law_names(self) -> list[str]:
        """What the laws by number belong to, for messages."""
        joints = ((self.model.rigid_stops, "stop of joint"), (self.model.ropes, "rope"), (self.model.dry_friction, "dry friction of joint"))
        return [*(f"contact '{c.name}'" for c in self.contacts), *(f"{what} '{name}'" for names, what in joints for name in names)]

    def _convex(self) -> int:
        """Whether cones of friction are taken as convex: all or none."""
        cones = {c.name: c.law.cone for c in self.contacts if isinstance(c.law, Rigid)}
        if len(set(cones.values())) > 1:
            odd = next(name for name, cone in cones.items() if cone == "convex")
            raise InputError(
                f"contact '{odd}': cone = 'convex' must be that of all rigid contacts or of none, since they are solved together"
            )
        return int("convex" in cones.values())

    def _rows(self) -> NativeRows:
        """The arguments of the search for contacts and their rows."""
        tree = self.looped
        prescribed = np.zeros(max(1, len(tree.arrays.prescribed)))
        poses, mass = tree.function("poses"), tree.function("mass_matrix")
        # bodies that nothing holds have inverse masses in closed form
        spreading = mass.arguments({"prescribed": prescribed}, None, mass.workspace())
        spreading.program = make_program(RECIPES["mass_matrix"], tree.arrays, apart=bool(self._loose))
        link_poses = np.zeros((len(tree.links), 12))
        motion = Hook()
        if tree.prescribed is not None:
            scratch = np.zeros_like(tree.prescribed._workspace)
            motion = Hook(function=tree.prescribed.address, args=tree.prescribed.arguments(prescribed, prescribed, workspace=scratch))
            self._keep.append(scratch)
        sorts, bodies, loose = tree.arrays.kinds, list(self.movers.values()), set(self._loose)
        links = [self._tree.places[b.name].link for b in bodies]
        return NativeRows(
            motion=motion, prescribed=prescribed, poses=poses.arguments({"prescribed": prescribed}, link_poses, poses.workspace()),
            poses_function=poses.address, link_poses=link_poses, mass=spreading,
            spread=np.array([link_step("composite_spread", replace(sort, free=True)).address for sort in sorts], np.int64),
            loose=np.array([link in loose for link in links], np.int64), body_link=np.array(links, np.int64),
            body_place=self._poses_on_links(bodies), framed=Framed(poses=Hook(), motion=Hook()),
            **self._common_rows(),
        )  # fmt: skip

    def _common_rows(self) -> dict[str, Any]:
        """What the search for contacts needs whatever their rows are made of."""
        n = len(self.movers)
        booked = np.full((len(self.contacts), max(n, 1)), -1, np.int64)
        for (k, b), place in self.places.items():
            booked[k, b] = place
        size = self.scene.native.solids.array["size"]
        reach = np.zeros(max(n, 1))
        for b, extent in zip(self.scene.native.solids.array["body"], self.reaches, strict=True):
            if b >= 0:
                reach[b] = max(reach[b], extent)
        finite = size[size > 0]
        slack = SLACK * float(finite.min()) if finite.size else 1e-3
        return dict(
            scene=self.scene.native, body_poses=np.zeros((n, 12)),
            body_before=np.zeros((n, 12)), body_size=reach, slack=slack, level=GRAZING * slack,
            found=Table(Found, np.zeros(self.room, Found.dtype())), early=Table(Found, np.zeros(self.room, Found.dtype())), thin=self._thin(),
            between=np.zeros((n, 12)), carried=np.zeros(self.room, np.int64), order=np.zeros(self.room, np.int64), source=self.scene.source, group=self.pairs.group, groups=len(self.pairs.law),
            stop_q=np.array([x[1] for x in self.stops], np.int64), stop_v=np.array([x[2] for x in self.stops], np.int64),
            stop_sign=np.array([x[3] for x in self.stops], float), stop_bound=np.array([x[4] for x in self.stops], float),
            stop_law=np.array([x[5] for x in self.stops], np.int64), stop_place=np.array(self.stop_places, np.int64),
            dry_v=np.array([v for _, v in self.dry], np.int64), dry_law=np.array([self.first_dry + i for i in range(len(self.dry))], np.int64),
            dry_place=np.array(self.dry_places, np.int64),
            **rope_rows(self), **directions_of(self),
            law_of=self.pairs.law.ravel().copy(), booked=booked.ravel(), parts=self.parts, contacts=make_contact_set(self.room, self.parts),
            wrench=np.zeros(9), ends=np.zeros(6), descriptor=Hook(), constraint_jacobian=np.zeros(0), holding=np.zeros(0, np.int64), closures=Closures(),
        )  # fmt: skip

    def _thin(self) -> float:
        """Half the smallest half-thickness of what moves."""
        solids = self.scene.native.solids.array
        half = [min(x for x in (s["x"], s["y"], s["z"]) if x > 0.0) for s in solids if s["body"] >= 0 and s["size"] > 0.0]
        return 0.5 * float(min(half, default=np.inf))

    @cached_property
    def _coupled(self) -> dict[int, list[int]]:
        """Velocities that each constraint moves."""
        eq = self.system.equations_of_motion
        found: dict[int, list[int]] = {}
        for row, v in sorted(eq.constraint_jacobian) if eq.rows else ():
            found.setdefault(row, []).append(v)
        return found

    def close(self, native: NativeSystem) -> None:
        """Takes the constraints of a run over; redundant rows are left out as its right-hand side leaves them out."""
        count = len(self.system.equations_of_motion.rows)
        if not count:
            return
        self._closing = []
        found = native.compiled(native._function("descriptor"), 2, self._closing)
        part = {i: int(self.parts.part_of[columns[0]]) for i, columns in self._coupled.items() if i not in native._redundant}
        holding = np.array(sorted(part, key=lambda i: (part[i], i)), np.int64)
        self.rows.closures = self.record.closures = make_closures(self.parts, np.array([part[i] for i in holding.tolist()], np.int64))
        self._closing.append(found)
        self.rows.descriptor = Hook(function=found.function, args=found.args)
        self.rows.constraint_jacobian, self.rows.holding = found.J, holding

    @property
    def only_planes(self) -> bool:
        """Whether a single body may touch half-spaces and nothing else, through which nothing passes unseen."""
        kinds, bodies = self._kinds
        return len({b for b in bodies.tolist() if b >= 0}) <= 1 and all(k == PLANE for k, b in zip(kinds, bodies, strict=True) if b < 0)

    @property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray]:
        solids = self.scene.native.solids.array
        return solids["kind"], solids["body"]

    @property
    def reaches(self) -> np.ndarray:
        """How far each shape reaches from the origin of its body."""
        world = self.scene.native
        return world.solids.array["size"] + np.linalg.norm(world.local[:, 9:], axis=1)[: len(world.solids.array)]

    def law_name(self, number: int) -> str:
        """The name of a contact, "stop", that of a rope, or "friction"."""
        if number < len(self.contacts):
            return self.contacts[number].name
        if number < self.first_rope:
            return "stop"
        return self.ropes[number - self.first_rope].name if number < self.first_dry else "friction"

    def name_of(self, shape: int) -> str:
        """The name of a shape of the scene, of a rope, or of a joint that stands at its end."""
        if shape >= COUPLES:
            return self.name_of(shape - COUPLES)
        if shape >= DRY_JOINTS:
            return self.dry[shape - DRY_JOINTS][0]
        if shape >= ROPES:
            return self.ropes[(shape - ROPES) // 2].name
        if shape >= STOPS:
            return f"{self.stops[shape - STOPS][0]}"
        return self.pairs.shapes[int(self.scene.source[shape])].name

    def body_of(self, shape: int) -> str:
        """The name of the body of a shape of the scene, of that at an end of a rope, or of a joint that stands at its end."""
        if shape >= COUPLES:
            return self.body_of(shape - COUPLES)
        if DRY_JOINTS > shape >= ROPES:
            rope = self.ropes[(shape - ROPES) // 2]
            return (rope.b if shape % 2 else rope.a).body.name
        if shape >= STOPS:
            return self.name_of(shape)
        return self.pairs.shapes[int(self.scene.source[shape])].body.name

    def mover_of(self, shape: int) -> str:
        """The name of what moves a shape of the scene."""
        return self.name_of(shape) if shape >= STOPS else self.pairs.shapes[int(self.scene.source[shape])].mover

    def overlaps(self, q: np.ndarray, t: float) -> list[tuple[float, str, str]]:
        """Pairs of shapes that penetrate in a position, the deepest first."""
        poses = self.poses_at(q, t)
        group, law = self.pairs.group, self.pairs.law
        deepest: dict[tuple[int, int], float] = {}
        for c in self.scene.contacts(poses, 0.0):
            a, b = int(c["shape_a"]), int(c["shape_b"])
            if law[group[self.scene.source[a]], group[self.scene.source[b]]] >= 0:
                deepest[a, b] = max(deepest.get((a, b), 0.0), -float(c["gap"]))
        found = [(d, self.name_of(a), self.name_of(b)) for (a, b), d in deepest.items() if d > 1e-3 * self.slack]
        return sorted([*found, *too_long(self, poses)], reverse=True)

    def refuse_overlaps(self, start: State, more: str = "") -> None:
        """Refuses a start in which bodies penetrate, with the worst pairs, or in which a joint is beyond a rigid stop."""
        for joint, place, _, sign, end, _ in self._stops():
            beyond = sign * (end - float(start.q[place]))
            if beyond > 0.01 * max(abs(end), 0.1):
                raise InputError(
                    f"simulate '{self.model.name}': joint '{joint}' begins {beyond:.3g} {self.model.joints[joint].coordinates[0].unit} beyond its limit {end:g}, where a rigid stop "
                    f"holds it; begin within its limits{more}"
                )
        found = self.overlaps(start.q, start.t)
        if found:
            ropes = [(d, a) for d, a, b in found if not b]
            if ropes and len(ropes) == len(found):
                d, rope = ropes[0]
                raise InputError(
                    f"simulate '{self.model.name}': {rope} is too short at the start by {d:.3g} m; move its ends together, or make it longer"
                )
            pairs = ", ".join(f"'{a}' and '{b}' by {d:.3g} m" if b else f"{a} is too short by {d:.3g} m" for d, a, b in found[:3])
            others = f" and {len(found) - 3} pairs more" if len(found) > 3 else ""
            raise InputError(f"simulate '{self.model.name}': bodies overlap at the start: {pairs}{others}; move them{more}")

    def wrench_channels(self, x: np.ndarray, first: int) -> dict[str, Channel]:
        """Net forces and torques of each contact on its bodies, and forces of stops, from rows in which they begin at ``first``."""
        found: dict[str, Channel] = {}
        names = list(self.movers)
        for (k, b), place in self.places.items():
            at, name = place - self.first_place + first, f"{self.contacts[k].name}.{names[b]}"
            found[f"{name}.force"] = Channel(x[:, at : at + 3].copy(), "N", "contact force")
            found[f"{name}.torque"] = Channel(x[:, at + 3 : at + 6].copy(), "N m", "torque of contact forces about the body's origin")
        for contact in self.contacts if self.bend else ():
            found |= net_forces(contact, found)
        for (name, _, _, sign, *_), place in zip(self.stops, self.stop_places, strict=True):
            at, unit = place - self.first_place + first, "N" if self.model.joints[name].coordinates[0].unit == "m" else "N m"
            before = found.get(f"{name}.stop")
            total = sign * x[:, at] + (0.0 if before is None else before.values)
            found[f"{name}.stop"] = Channel(total, unit, "force of the rigid stop")
        for rope, place in zip(self.ropes, self.rope_places, strict=True):
            found[tension_name(rope.name)] = Channel(x[:, place - self.first_place + first].copy(), "N", "tension of the rope")
        for (name, _), place in zip(self.dry, self.dry_places, strict=True):
            at, unit = place - self.first_place + first, "N" if self.model.joints[name].coordinates[0].unit == "m" else "N m"
            found[dry_name(name)] = Channel(x[:, at].copy(), unit, "dry friction in the joint")
        return found

    def projection(self, onto: NativeFunction | None) -> NativeFunction | None:
        """A projection after steps."""
        return None if onto is None else self._after_steps(onto)

    def switch(self, to: Switch | None) -> Switch | None:
        """A change of coordinates after steps."""
        return None if to is None else Switch(to.decide, self._after_steps(to.remap, in_place=1))

    def _after_steps(self, function: NativeFunction, in_place: int = 0) -> NativeFunction:
        """What changes velocities after a step, and lets the next one know them as its own."""
        args = moreau.Correction(function=function.address, args=function.own_arguments(), in_place=in_place, moreau=self.record)
        return NativeFunction.of(moreau.correct_after.address, args, function, self)

    def native(self) -> NativeFunction:
        """The contacts as the method takes them."""
        return NativeFunction.of(moreau.step.address, self.record, self)


__all__ = ["TreeContacts"]
