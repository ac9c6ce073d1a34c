"""Where rigid contacts of a run touch, as expressions: which point, ball or face of which body; what has no closed form is refused by name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....formalisms.closed_contacts import Ball, ContactRows, Face, Touching
from ....model.contact.laws import SPEED, Rigid
from ....symbolic.expr import ZERO, Expr, as_expr, neg
from ....symbolic.graph import evaluate, substitute
from ....symbolic.vectors import Matrix, Vector
from ....systems.tree.contact.rows import ROPES, STOPS
from ..runs import NotCarried

if TYPE_CHECKING:
    from ....model.contact.contacts import BodyShape
    from ....systems.tree.contact.contacts import TreeContacts

#: What identifies a contact: a stop, or shapes with the places on them.
Place = tuple[Any, ...]
#: How much directions of faces and normals may differ.
ALIKE = 1e-6


class Places:
    """Contacts of a system by what touches, made when they are met."""

    def __init__(self, system: Any, redundant: Sequence[int] = ()) -> None:
        """``redundant`` are the constraints of loops that follow from others."""
        self.system, self.eq = system, system.equations_of_motion
        self.rows = ContactRows(self.eq, [i for i in range(len(self.eq.rows)) if i not in redundant])
        self._numbers: dict[Place, int] = {}
        #: Names of contacts; −1 where the first body of a contact here is the second of the run.
        self.names: list[str] = []
        self.turned: list[float] = []
        #: Rows (number of the contact in the list, row) that contacts in their states hold, and in impacts.
        self.selected: dict[tuple[Any, bool], list[tuple[int, int]]] = {}

    def number(
        self, contacts: TreeContacts, key: np.ndarray, point: np.ndarray, normal: np.ndarray, at: Mapping[Expr, float], gap: float = 0.0
    ) -> int:
        """The number of the contact with a key that touches at a point, the middle of its gap."""
        way = 0.5 * gap * normal
        place = self._place(contacts, [int(k) for k in key], (point + way, point - way), normal, at)
        if place not in self._numbers:
            self._numbers[place] = len(self.rows.contacts)
            self.rows.contacts.append(self._made(contacts, place))
            self.names.append(str(place[0]))
            self.turned.append(-1.0 if len(place) > 3 and place[5][0] == "face" and place[6] == -1 else 1.0)
        return self._numbers[place]

    def _refused(self, name: str, what: str, remedy: str = "use method='differences'") -> NotCarried:
        return NotCarried(f"gradient of '{self.system.model.name}': {name} {what}; {remedy}")

    # -- which ----------------------------------------------------------------------------------------------------

    def _place(
        self, contacts: TreeContacts, key: list[int], points: tuple[np.ndarray, np.ndarray], normal: np.ndarray, at: Mapping[Expr, float]
    ) -> Place:
        if key[0] >= ROPES:
            raise self._refused(f"'{contacts.name_of(key[0])}'", "is a rope, dry joint or couple against rolling, which is not carried yet")
        if key[0] >= STOPS:
            name, _, _, sign, _, law = contacts.stops[key[0] - STOPS]
            self._law(contacts, law)
            return (name, sign, law)
        a, b = (contacts.pairs.shapes[int(contacts.scene.source[k])] for k in key[:2])
        law = int(
            contacts.pairs.law[
                contacts.pairs.group[int(contacts.scene.source[key[0]])], contacts.pairs.group[int(contacts.scene.source[key[1]])]
            ]
        )
        self._law(contacts, law)
        name = contacts.contacts[law].name
        for s in (a, b):
            if not s.carrier.body.is_ground and getattr(s.body, "modes", None):
                raise self._refused(f"contact '{name}'", f"touches '{s.body.name}', which bends; that is not carried yet")
        ends = self._balled(a, points[0], at), self._balled(b, points[1], at)
        faces = self._faced(a, normal, at), self._faced(b, normal, at)
        if ends[0] is not None and faces[1] is not None:
            return (name, law, a, ends[0], b, faces[1], 1)
        if ends[1] is not None and faces[0] is not None:
            return (name, law, b, ends[1], a, faces[0], -1)
        if ends[0] is not None and ends[1] is not None and {a.shape.kind, b.shape.kind} == {"sphere"}:
            return (name, law, a, ends[0], b, ends[1], int(np.argmin(np.abs(normal))))
        raise self._refused(
            f"contact '{name}'", f"has a {a.shape.kind} on a {b.shape.kind}, which is not carried yet (balls, capsules and corners of boxes on planes and faces, balls on balls are)"
        )  # fmt: skip

    def _law(self, contacts: TreeContacts, law: int) -> Rigid:
        rigid = [*(c.law for c in contacts.contacts), *self.system.model.rigid_stops.values()][law]
        told = contacts.law_names[law]
        if not isinstance(rigid, Rigid):
            raise self._refused(told, "gives way among rigid ones, which is not carried")
        if rigid.across is not None or rigid.resists:
            raise self._refused(told, "has friction by direction or couples against rolling, which is not carried yet")
        return rigid

    def _pose(self, s: BodyShape, at: Mapping[Expr, float]) -> tuple[np.ndarray, np.ndarray]:
        """Rotation and origin of what carries a shape, in numbers."""
        k = self.eq.kinematics
        found = np.array([float(x) for x in evaluate([*k.rotation(s.carrier).entries, *k.position(s.carrier)], dict(at))])
        return found[:9].reshape(3, 3), found[9:]

    def _balled(self, s: BodyShape, point: np.ndarray, at: Mapping[Expr, float]) -> Place | None:
        """The ball or corner of a shape that is at a point; None where it has none."""
        if s.shape.kind == "sphere":
            return ("centre",)
        corners: dict[Place, Any] = {}
        if s.shape.kind == "box":
            corners = {("corner", *signs): None for signs in itertools.product((-1.0, 1.0), repeat=3)}
        elif s.shape.kind == "capsule":
            corners = {("end", sign): None for sign in (-1.0, 1.0)}
        if not corners:
            return None
        R, origin = self._pose(s, at)
        own = R.T @ (point - origin)
        centres = {}
        for c in corners:
            ball = self._ball(s, c)
            *centre, radius = (float(x) for x in evaluate([*ball.centre, ball.radius], dict(at)))
            centres[c] = abs(float(np.linalg.norm(np.array(centre) - own)) - radius)
        nearest = min(centres, key=lambda c: centres[c])
        return nearest if centres[nearest] < ALIKE * max(1.0, float(np.abs(own).max())) else None

    def _faced(self, s: BodyShape, normal: np.ndarray, at: Mapping[Expr, float]) -> Place | None:
        """The face of a shape across a normal; None where it has none."""
        if s.shape.kind == "plane":
            return ("face", 2, 1.0)
        if s.shape.kind != "box":
            return None
        R, _ = self._pose(s, at)
        axes = np.array([float(x) for x in evaluate(list(Matrix.of(self._own(s)[1]).entries), dict(at))]).reshape(3, 3)
        across = (R @ axes).T @ normal
        k = int(np.argmax(np.abs(across)))
        return ("face", k, float(np.sign(across[k]))) if abs(abs(across[k]) - 1.0) < ALIKE else None

    # -- expressions ----------------------------------------------------------------------------------------------

    @staticmethod
    def _own(s: BodyShape) -> tuple[Any, Any]:
        """Position and rotation of the symmetric form of a shape on its carrier."""
        placement = s.shape.placement @ s.shape._symmetric_form()
        return placement.position, placement.rotation

    def _ball(self, s: BodyShape, place: Place) -> Ball:
        position, rotation = self._own(s)
        centre, shape = Vector.of(position), s.shape
        if place[0] == "corner":
            half = Vector.of([sign * as_expr(x) / 2 for sign, x in zip(place[1:], (shape.lx, shape.ly, shape.lz), strict=True)])
            return Ball(s.carrier, centre + Matrix.of(rotation) @ half, ZERO)
        if place[0] == "end":
            centre = centre + Matrix.of(rotation).column(2) * (place[1] * as_expr(shape.length) / 2)
        return Ball(s.carrier, centre, as_expr(shape.radius))

    def _face(self, s: BodyShape, place: Place, turned: int) -> Face:
        """A face whose normal points outwards, whichever body comes first."""
        position, rotation = self._own(s)
        R, k, sign = Matrix.of(rotation), int(place[1]), float(place[2]) * turned
        normal = R.column(k) * sign
        first = R.column((k + 1) % 3)
        point = Vector.of(position)
        if s.shape.kind == "box":
            point = point + normal * (as_expr((s.shape.lx, s.shape.ly, s.shape.lz)[k]) / 2)
        return Face(s.carrier, point, Matrix.from_columns(first, normal.cross(first), normal))

    def _made(self, contacts: TreeContacts, place: Place) -> Touching:
        if len(place) == 3:
            return self._stop(contacts, place)
        _, law, s, on_s, other, on_other, more = place
        ball, rows = self._ball(s, on_s), self.rows
        if on_other[0] == "face":
            face = self._face(other, on_other, 1 if other.shape.kind == "plane" else more)
            gap, point, axes = rows.on_face(ball, face)
        else:
            gap, point, axes = rows.on_ball(ball, self._ball(other, on_other), more)
        u = rows.velocities(ball.frame, other.carrier, point, axes)
        _, first, second = axes
        return self._with_law(self._law(contacts, law), gap, u, (first, second))

    def _stop(self, contacts: TreeContacts, place: Place) -> Touching:
        name, sign, law = place
        joint, s = self.system.model.joints[name], self.system
        label = joint.coordinates[0].names[0]
        stop = next(x for x in contacts.stops if x[0] == name and x[3] == sign)
        end = as_expr(joint.limits[0 if sign > 0 else 1])
        q, v = self.eq.q[s.configuration.position_names.index(label)], self.eq.v[stop[2]]
        gap, u = (q - end, v) if sign > 0 else (end - q, neg(v))
        none = Vector.of((0.0, 0.0, 0.0))
        return self._with_law(self._law(contacts, law), gap, (u, ZERO, ZERO), (none, none))

    @staticmethod
    def _with_law(law: Rigid, gap: Expr, u: tuple[Expr, Expr, Expr], tangents: tuple[Vector, Vector]) -> Touching:
        e = substitute([law.restitution], {SPEED: neg(u[0])})[0] if law.by_speed else law.restitution
        return Touching(gap, u, tangents, law.friction, law.friction if law.static is None else law.static, e)


__all__ = ["Places"]
