"""Contacts of a tree: the scene of its shapes, laws by groups of shapes, and all memory that steps need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.tree.tree import Tree
from ...model.bodies import Body
from ...model.contact_laws import Rigid, check_coefficient
from ...model.flexible import FlexibleBody
from ...native.record import Table
from ...solvers.collision import Scene
from ...solvers.collision.records import Contact as Found
from ...solvers.native_function import NativeFunction
from ...solvers.nonsmooth import moreau
from ...solvers.nonsmooth.contact_set import Closures, Parts, make_contact_set
from ...symbolic.graph import evaluate
from ..contact_pairs import pairs_of, placed_shapes, shape_numbers
from .contact_rows import TreeContacts as NativeRows
from .contact_rows import contact_rows
from .link_sweeps import Hook
from .looped import LoopedTree, _step

if TYPE_CHECKING:
    from .projected import NativeSystem
    from .system import TreeSystem

#: Gaps up to this part of the smallest shape's size are looked at even where nothing moves.
SLACK = 0.01
#: Part of the largest velocity to which laws are met, and most sweeps over all contacts.
TOLERANCE, SWEEPS = 1e-7, 1000
#: Most penetrations that are taken away together by pivots.
PIVOTS = 200


class TreeContacts:
    """The contacts of one run: what native code reads and writes, with room for a number of contacts that can be raised."""

    def __init__(
        self, system: TreeSystem, parameters: np.ndarray, control: tuple[float, int] = (TOLERANCE, SWEEPS), room: int | None = None
    ) -> None:
        self._control = control
        model = system.model
        self.system, self.model, self.parameters = system, model, parameters
        self._refuse()
        self.contacts = list(model.contacts.values())
        self.pairs = pairs_of(model, Rigid)
        self._tree = Tree(model, regroup=False, share=False)
        self.looped = LoopedTree(self._tree, parameters)
        self._keep: list[Any] = []
        self.bodies = self._moving_bodies()
        self.scene = self._scene()
        self.parts = self._parts()
        self.places = self._places()
        self.room = room or 8 * len(self.pairs.shapes) + 64
        self.rows = self._rows()
        self.record = self._record()

    def _refuse(self) -> None:
        """What this engine cannot do, by name."""
        name, model = self.model.name, self.model
        bending = next((b.name for b in model.bodies.values() if isinstance(b, FlexibleBody)), None)
        told = None
        if bending is not None:
            told = f"body '{bending}' bends; contacts take rigid bodies: m.flexible_body(…, rigid=True)"
        elif self._heavy_rods():
            told = "rods with mass couple bodies; give their mass to the bodies"
        if told is not None:
            raise InputError(f"simulate '{name}': method 'moreau': {told}")

    def _heavy_rods(self) -> bool:
        return any(getattr(c, "inertia", None) is not None for c in self.model.constraints.values())

    # -- bodies and shapes ----------------------------------------------------------------------------------------

    def _numbers(self, expressions: Iterable[Any]) -> np.ndarray:
        symbols = self.model.parameter_set.symbols
        return np.array(evaluate(list(expressions), dict(zip(symbols, self.parameters, strict=True))), dtype=float)

    def _moving_bodies(self) -> list[Body]:
        """Bodies with shapes, except those that stand on the ground for good."""
        found = {id(s.body): s.body for s in self.pairs.shapes}
        return [b for b in found.values() if not b.is_ground and self._tree.places[b.name].link >= 0]

    def _pose_on_link(self, body: Body) -> np.ndarray:
        place = self._tree.places[body.name]
        return self._numbers((*place.rotation.entries, *place.position))

    def _scene(self) -> Scene:
        number = {b.name: i for i, b in enumerate(self.bodies)}
        numeric = partial(shape_numbers, symbols=self.model.parameter_set.symbols, parameters=self.parameters)
        return placed_shapes(self.pairs, number, numeric, lambda s: self._pose_on_link(s.body))

    # -- parts of the velocities ----------------------------------------------------------------------------------

    def _parts(self) -> Parts:
        """Velocities that links or shared coordinates connect."""
        nv, links = self.system.nv, self.looped.arrays.links
        group = list(range(nv))

        def root(i: int) -> int:
            while group[i] != i:
                group[i] = group[group[i]]
                i = group[i]
            return i

        behind = np.full(len(links), -1)
        for i, link in enumerate(links):
            inner = behind[link["parent"]] if link["parent"] >= 0 else -1
            behind[i] = inner if link["v"] < 0 else link["v"]
            mine = [int(link["v"]) + j for j in range(int(link["velocities"]))] if link["v"] >= 0 else []
            for v in (*mine[1:], *([int(inner)] if inner >= 0 and mine else [])):
                group[root(v)] = root(mine[0])
        for _, v in self.system.equations_of_motion.constraint_jacobian:  # constraints couple all that they move
            group[root(v)] = root(self._closed)
        roots = [root(i) for i in range(nv)]
        number = {r: i for i, r in enumerate(dict.fromkeys(roots))}
        members: list[list[int]] = [[] for _ in number]
        for v, r in enumerate(roots):
            members[number[r]].append(v)
        sizes = np.array([len(m) for m in members], np.int64)
        place_of = np.zeros(nv, np.int64)
        for m in members:
            place_of[m] = np.arange(len(m))
        return Parts(
            first=np.r_[0, np.cumsum(sizes)].astype(np.int64), member=np.array([v for m in members for v in m], np.int64),
            part_of=np.array([number[r] for r in roots], np.int64), place_of=place_of, masses=np.r_[0, np.cumsum(sizes**2)].astype(np.int64),
            M=np.zeros(int((sizes**2).sum())), stride=int(sizes.max(initial=1)),
        )  # fmt: skip

    # -- what is booked -------------------------------------------------------------------------------------------

    def _places(self) -> dict[tuple[int, int], int]:
        """Where the force of a contact (by number) on a body (by number) stands in the state."""
        s, number = self.system, {b.name: i for i, b in enumerate(self.bodies)}
        pairs = [(k, number[b.name]) for k, c in enumerate(self.contacts) if not c.gives_way for b in c.bodies if b.name in number]
        return {pair: s.nq + s.nv + s.nz + 3 * i for i, pair in enumerate(pairs)}

    @property
    def books(self) -> int:
        """Where the books begin in the state."""
        s = self.system
        return s.nq + s.nv + s.nz + 3 * len(self.places)

    @property
    def size(self) -> int:
        """Numbers of the state with all that is booked."""
        return self.books + moreau.BOOKS

    # -- native ---------------------------------------------------------------------------------------------------

    def _record(self) -> moreau.Moreau:
        rows = self.rows
        s, room = self.system, self.room
        friction, restitution = (
            self._numbers(getattr(c.law, word) if isinstance(c.law, Rigid) else 0.0 for c in self.contacts)
            for word in ("friction", "restitution")
        )
        for mu, e in zip(friction, restitution, strict=True):
            check_coefficient("friction", mu, np.inf)
            check_coefficient("restitution", e, 1.0)
        blocks = moreau.make_blocks(room)
        return moreau.Moreau(
            rows=contact_rows.address, rows_args=moreau.Asked.at(rows.words), nq=s.nq, nv=s.nv, nz=s.nz,
            turns=np.array([i for pair in s.configuration.quaternions for i in pair], np.int64), contacts=rows.contacts, parts=self.parts, closures=rows.closures,
            friction=friction, restitution=restitution, problem=moreau.make_problem(room, 3, blocks), depths=moreau.make_problem(room, 1, blocks, min(room, PIVOTS)),
            p=np.zeros(3 * room), r=np.zeros(room), slack=rows.slack, tolerance=self._control[0], limit=self._control[1], books=self.books,
            worst=moreau.Worst(),
        )  # fmt: skip

    def _rows(self) -> NativeRows:
        """The arguments of the search for contacts and their rows."""
        tree, n = self.looped, len(self.bodies)
        prescribed = np.zeros(max(1, len(tree.arrays.prescribed)))
        poses, mass = tree.function("poses"), tree.function("mass_matrix")
        link_poses = np.zeros((len(tree.links), 12))
        motion = Hook()
        if tree.prescribed is not None:
            scratch = np.zeros_like(tree.prescribed._workspace)
            motion = Hook(function=tree.prescribed.address, args=tree.prescribed.arguments(prescribed, prescribed, workspace=scratch))
            self._keep.append(scratch)
        sorts = list(dict.fromkeys(tree.arrays.sorts))
        booked = np.full((len(self.contacts), max(n, 1)), -1, np.int64)
        for (k, b), place in self.places.items():
            booked[k, b] = place
        size = self.scene.native.solids.array["size"]
        reach = np.zeros(max(n, 1))
        for b, extent in zip(self.scene.native.solids.array["body"], self._reaches(), strict=True):
            if b >= 0:
                reach[b] = max(reach[b], extent)
        finite = size[size > 0]
        return NativeRows(
            motion=motion, prescribed=prescribed, poses=poses.arguments({"prescribed": prescribed}, link_poses, poses.workspace()),
            poses_function=poses.address, link_poses=link_poses, mass=mass.arguments({"prescribed": prescribed}, None, mass.workspace()),
            spread=np.array([_step("composite_spread", replace(sort, free=True)).address for sort in sorts], np.int64),
            scene=self.scene.native, body_link=np.array([self._tree.places[b.name].link for b in self.bodies], np.int64),
            body_place=np.array([self._pose_on_link(b) for b in self.bodies]).reshape(-1, 12), body_poses=np.zeros((n, 12)),
            body_before=np.zeros((n, 12)), body_size=reach, slack=SLACK * float(finite.min()) if finite.size else 1e-3,
            found=Table(Found, np.zeros(self.room, Found.dtype())), source=self.scene.source, group=self.pairs.group, groups=len(self.pairs.law),
            law_of=self.pairs.law.ravel().copy(), booked=booked.ravel(), parts=self.parts, contacts=make_contact_set(self.room, self.parts),
            wrench=np.zeros(6), descriptor=Hook(), constraint_jacobian=np.zeros(0), holding=np.zeros(0, np.int64), closures=Closures(),
        )  # fmt: skip

    @property
    def _closed(self) -> int:
        """A velocity of the part that constraints close."""
        return min((v for _, v in self.system.equations_of_motion.constraint_jacobian), default=0)

    def close(self, native: NativeSystem) -> None:
        """Takes the constraints of a run over; redundant rows are left out as its right-hand side leaves them out."""
        count = len(self.system.equations_of_motion.rows)
        if not count:
            return
        found = native.compiled(native._function("descriptor"), 2, self._keep)
        holding = np.array([i for i in range(count) if i not in native._redundant], np.int64)
        m, part = len(holding), int(self.parts.part_of[self._closed])
        n = int(self.parts.first[part + 1] - self.parts.first[part])
        closures = self.rows.closures
        closures.rows, closures.part = m, part
        closures.J, closures.Z, closures.S, closures.right = np.zeros(m * n), np.zeros(m * n), np.zeros(m * m), np.zeros(m)
        self._keep.append(found)
        self.rows.descriptor = Hook(function=found.function, args=found.args)
        self.rows.constraint_jacobian, self.rows.holding = found.J, holding

    def _reaches(self) -> np.ndarray:
        """How far each shape reaches from the origin of its body."""
        world = self.scene.native
        return world.solids.array["size"] + np.linalg.norm(world.local[:, 9:], axis=1)[: len(world.solids.array)]

    def name_of(self, shape: int) -> str:
        """The name of a shape of the scene."""
        return self.pairs.shapes[int(self.scene.source[shape])].name

    def body_of(self, shape: int) -> str:
        """The name of the body of a shape of the scene."""
        return self.pairs.shapes[int(self.scene.source[shape])].body.name

    def overlaps(self, q: np.ndarray, t: float) -> list[tuple[float, str, str]]:
        """Pairs of shapes that penetrate in a position, the deepest first."""
        R, p = self.looped.poses(q, t)
        poses = np.zeros((len(self.bodies), 12))
        for i, (link, place) in enumerate(zip(self.rows.body_link, self.rows.body_place, strict=True)):
            poses[i] = np.r_[(R[link] @ place[:9].reshape(3, 3)).ravel(), p[link] + R[link] @ place[9:]]
        group, law = self.pairs.group, self.pairs.law
        deepest: dict[tuple[int, int], float] = {}
        for c in self.scene.contacts(poses, 0.0):
            a, b = int(c["shape_a"]), int(c["shape_b"])
            if law[group[self.scene.source[a]], group[self.scene.source[b]]] >= 0:
                deepest[a, b] = max(deepest.get((a, b), 0.0), -float(c["gap"]))
        found = [(d, self.name_of(a), self.name_of(b)) for (a, b), d in deepest.items() if d > 1e-3 * self.rows.slack]
        return sorted(found, reverse=True)

    def native(self) -> NativeFunction:
        """The contacts as the method takes them."""
        return NativeFunction.of(moreau.step.address, self.record, self)


__all__ = ["TreeContacts"]
