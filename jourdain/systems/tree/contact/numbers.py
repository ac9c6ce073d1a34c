"""Numbers of the contacts of a tree: coefficients of all laws, directions and couples of friction, ropes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError
from ....formalisms.functions.touching import restitution_function
from ....model.contact.laws import IMPACTS, Rigid, check_coefficient
from ....native.function import compile_function
from ....solvers.collision.records import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, PLANE, SPHERE, TORUS
from ....solvers.nonsmooth.impacts import Impacts
from ....symbolic.expr import ZERO

if TYPE_CHECKING:
    from .contacts import TreeContacts


def impacts_of(contacts: TreeContacts) -> Impacts:
    """Friction and restitution of all laws; those of surfaces that give way have none."""
    dry = list(contacts.model.dry_friction.values())
    rigid = [
        *(c.law if isinstance(c.law, Rigid) else None for c in contacts.contacts), *contacts.model.rigid_stops.values(), *(r.law for r in contacts.ropes),
        *(Rigid(sliding, ZERO, static=resting) for sliding, resting in dry),
    ]  # fmt: skip

    phased = next((what for what, law in zip(contacts.law_names, rigid, strict=True) if law is not None and law.law != "newton"), None)
    if phased and any(law is not None and law.resists for law in rigid):
        raise InputError(
            f"{phased}: laws of impact other than Newton's do not go with rolling= or spinning= of other contacts; use law='newton'"
        )

    def coefficients(word: str, *others: str) -> np.ndarray:
        """A coefficient of all laws; where one has none it is that of the first other word that it has."""
        given = [next((e for w in (word, *others) if (e := getattr(law, w, None)) is not None), ZERO) for law in rigid]
        found = contacts._numbers(given)
        for what, x in zip(contacts.law_names, found, strict=True):
            check_coefficient(word, x, 1.0 if word == "restitution" else np.inf, what)
        return found

    rigid_by_number = [None if law is None or not law.by_speed else law for law in rigid]
    restitution = contacts._numbers(ZERO if law is None or law.by_speed else law.restitution for law in rigid)
    for what, x in zip(contacts.law_names, restitution, strict=True):
        check_coefficient("restitution", x, 1.0, what)
    speed, found = np.ones(1), np.zeros(1)
    function, args = np.zeros(len(rigid), np.int64), np.zeros(4 * max(1, len(rigid)), np.int64)
    for k, law in enumerate(rigid_by_number):
        if law is not None:
            f = compile_function(restitution_function(law, contacts.model.parameter_set.symbols), contacts.parameters)
            function[k], args[4 * k : 4 * k + 4] = f.address, f.arguments(speed, found).view(np.int64)
            contacts.by_speed[k] = f
    return Impacts(
        friction=coefficients("friction"), across=coefficients("across", "friction"), static=coefficients("static", "friction"),
        static_across=coefficients("static_across", "static", "across", "friction"), rolling=coefficients("rolling"),
        spinning=coefficients("spinning"), restitution=restitution, function=function, args=args, speed=speed, found=found,
        law=np.array([0 if law is None else IMPACTS.index(law.law) for law in rigid], np.int64), before=np.zeros(contacts.room),
        gained=np.zeros(contacts.room), after=np.zeros(contacts.room), compression=np.zeros(contacts.room), free=np.zeros(3 * contacts.room),
        wanted=np.zeros(contacts.room), missing=np.zeros(3 * contacts.room), earlier=np.zeros(contacts.room), missed=np.zeros(contacts.room), pace=np.zeros(contacts.room),
    )  # fmt: skip


def rope_rows(contacts: TreeContacts) -> dict[str, np.ndarray]:
    """Ends, lengths and laws of ropes."""
    number, n = {name: i for i, name in enumerate(contacts.movers)}, len(contacts.ropes)
    body, point = np.full(2 * n, -1, np.int64), np.zeros((2 * n, 3))
    for i, end in enumerate(p for r in contacts.ropes for p in (r.a, r.b)):
        body[i], point[i] = number.get(end.body.name, -1), contacts._numbers(end.position)
        if body[i] < 0 and not end.body.is_ground:
            at = contacts._poses_on_links([end.body])[0]
            point[i] = at[9:] + at[:9].reshape(3, 3) @ point[i]
    return {
        "rope_body": body, "rope_point": point.ravel(), "rope_length": contacts._numbers(r.length for r in contacts.ropes),
        "rope_law": np.arange(contacts.first_rope, contacts.first_dry), "rope_place": np.array(contacts.rope_places, np.int64),
    }  # fmt: skip


def too_long(contacts: TreeContacts, poses: np.ndarray) -> list[tuple[float, str, str]]:
    """Ropes whose ends are farther apart than they are long."""
    given, found = rope_rows(contacts), []
    for i, rope in enumerate(contacts.ropes):
        ends = []
        for b, local in zip(given["rope_body"][2 * i : 2 * i + 2], given["rope_point"][6 * i : 6 * i + 6].reshape(2, 3), strict=True):
            ends.append(local if b < 0 else poses[b, 9:] + poses[b, :9].reshape(3, 3) @ local)
        over = float(np.linalg.norm(ends[1] - ends[0])) - float(given["rope_length"][i])
        if over > 1e-3 * contacts.slack:
            found.append((over, f"rope '{rope.name}'", ""))
    return found


def directions_of(contacts: TreeContacts) -> dict[str, np.ndarray]:
    """Where friction differs by direction, and which contacts resist rolling and spinning."""
    laws = [c.law for c in contacts.contacts]
    axes = [getattr(law, "along", None) or (0.0, 0.0, 0.0) for law in laws] or [(0.0, 0.0, 0.0)]
    return {
        "grain": contacts.pairs.grain.ravel().copy(), "grain_axis": np.array(axes).ravel(),
        **{name: np.array([_has(law, word) for law in laws] or [0], np.int64) for name, word in (("rolls", "rolling"), ("spins", "spinning"))},
    }  # fmt: skip


def _has(law: Any, word: str) -> int:
    return int(isinstance(law, Rigid) and getattr(law, word) is not ZERO)


def passable(solids: np.ndarray) -> float:
    """How far bodies may move from one look to the next without passing through each other unseen.

    Overlaps of solids are seen while they last; surfaces of triangles only from the side on which the middle of a shape is.
    """
    x, y, z, size = (solids[name] for name in ("x", "y", "z", "size"))
    least = np.minimum(np.minimum(x, y), z)
    half = {SPHERE: x, CAPSULE: x, TORUS: y, BOX: least, ELLIPSOID: least, CYLINDER: np.minimum(x, y)}
    thin = [float(half.get(int(k), 0.2 * size)[i]) for i, k in enumerate(solids["kind"]) if k not in (PLANE, MESH)]
    return (0.5 if (solids["kind"] == MESH).any() else 1.8) * min(thin, default=math.inf)


__all__ = ["directions_of", "impacts_of", "passable", "rope_rows", "too_long"]
