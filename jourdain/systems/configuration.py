"""The configuration space: q̇ = N(q) v, integration, differences, interpolation, random and normalised configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError, nearest
from ..model.joints import Coordinate, Joint
from ..model.values import number
from ..reals import reals


class Configuration:
    """Layout of q and v for a list of coordinates (numbers and unit quaternions, scalar first)."""

    def __init__(self, coordinates: Sequence[Coordinate], joints: Sequence[Joint] = ()) -> None:
        self.coordinates = tuple(coordinates)
        #: Joints of the model, some of which have no coordinate of their own.
        self._joints = tuple(joints)
        self.position_names = [n for c in coordinates for n in c.names]
        self.velocity_names = [n for c in coordinates for n in c.velocity_names]
        self._position_place = {n: i for i, n in enumerate(self.position_names)}
        #: Coordinates that were asked for by the names of their joints.
        self._by_joint: dict[str, int] = {}
        #: Where each velocity is.
        self.velocity_place = {n: i for i, n in enumerate(self.velocity_names)}
        self.units = [c.unit for c in coordinates for _ in c.names]
        self.nq, self.nv = len(self.position_names), len(self.velocity_names)
        self.quaternions: list[tuple[int, int]] = []
        iq = iv = 0
        scalar_q: list[int] = []
        scalar_v: list[int] = []
        for c in coordinates:
            if c.is_quaternion:
                self.quaternions.append((iq, iv))
            else:
                scalar_q.append(iq)
                scalar_v.append(iv)
            iq, iv = iq + len(c.q), iv + len(c.v)
        self._scalar_q, self._scalar_v = np.array(scalar_q, dtype=int), np.array(scalar_v, dtype=int)

    @property
    def displacement_names(self) -> list[str]:
        """Small changes of positions by name, one for each velocity; those of a quaternion are turns about the axes of its angular velocity."""
        turns = {v for _, j in self.quaternions for v in (j, j + 1, j + 2)}
        return [n.replace(".omega_", ".turn_") if j in turns else n.removesuffix("_rate") for j, n in enumerate(self.velocity_names)]

    def neutral(self) -> np.ndarray:
        """Zero positions and unit quaternions."""
        q = np.zeros(self.nq)
        for i, _ in self.quaternions:
            q[i] = 1.0
        return q

    def pack(self, values: Mapping[str, Any], base: np.ndarray | None = None) -> np.ndarray:
        """q from named values (with units if written as text); names not given keep the base's value.

        A quaternion is one value: where an entry of it is given, the others are those of no rotation.
        """
        q = self.neutral() if base is None else self.array(base, self.nq, "q").copy()
        if not values and base is None:
            return q
        named, turned = dict[int, tuple[str, Any]](), base is not None
        for name, value in values.items():
            if (i := self.index(name)) in named:
                raise InputError(f"coordinate '{self.position_names[i]}' is given twice, as '{named[i][0]}' and as '{name}'; leave one out")
            named[i] = name, value
        for i, _ in self.quaternions:
            if any(k in named for k in range(i, i + 4)):
                q[i : i + 4], turned = (1.0, 0.0, 0.0, 0.0), True
        for i, (name, value) in named.items():
            q[i] = number(value, f"coordinate '{name}'", self.units[i] or None)
        return self.normalise(q) if self.quaternions and turned else q

    def pack_velocities(self, values: Mapping[str, Any], base: np.ndarray | None = None) -> np.ndarray:
        """v from named values; a coordinate's own name is accepted for its rate."""
        v = np.zeros(self.nv) if base is None else self.array(base, self.nv, "v").copy()
        if not values:
            return v
        own, units = self._rates
        for name, value in values.items():
            i = self.index(own.get(name, name), self.velocity_names, "velocity")
            v[i] = number(value, f"velocity '{name}'", units[i])
        return v

    @cached_property
    def _rates(self) -> tuple[dict[str, str], list[str]]:
        """The rates of coordinates of one number by the names of these, and the units of all velocities."""
        own = {c.names[0]: c.velocity_names[0] for c in self.coordinates if not c.is_quaternion}
        return own, [f"{c.unit or 'rad'}/s" for c in self.coordinates for _ in c.velocity_names]

    @staticmethod
    def array(given: Any, size: int, name: str) -> np.ndarray:
        """Numbers with so many entries in the last dimension."""
        array = reals(given, f"{name} must hold {size} numbers: {name}")
        if array.ndim == 0 or array.shape[-1] != size:
            raise InputError(f"{name} must have {size} entries in its last dimension, got shape {array.shape}")
        return array

    def index(self, name: str, names: list[str] | None = None, what: str = "coordinate") -> int:
        """Index of a coordinate by name; a joint's name is enough where it has one coordinate."""
        if not isinstance(name, str):
            raise InputError(f"{name!r} is not the name of a {what}")
        names = self.position_names if names is None else names
        place = self._position_place if names is self.position_names else self.velocity_place if names is self.velocity_names else None
        if place is not None and name in place:
            return place[name]
        if place is self._position_place and name in self._by_joint:
            return self._by_joint[name]
        if place is None and name in names:
            return names.index(name)
        candidates = [i for i, n in enumerate(names) if n.startswith(name + ".")]
        own = [i for i in candidates if "." not in names[i][len(name) + 1 :]] if len(candidates) > 1 else candidates
        if len(own) == 1:  # of joints 'arm' and 'arm.rotor' the name 'arm' is the first one's
            if place is self._position_place:
                self._by_joint[name] = own[0]
            return own[0]
        if reason := self.why_absent(name):
            raise InputError(reason)
        if names is self.position_names and name in self.velocity_place:
            raise InputError(f"'{name}' is a velocity, and a position is asked for here; give it among velocities={{'{name}': …}}")
        known = [*names, *self.velocity_names] if names is self.position_names else names
        joint = name.rpartition(".")[0] + "."
        of_joint = [n for n in known if n.startswith(joint)]
        near = [names[i] for i in candidates] or nearest(name, known, 3) or of_joint[:6] or names[:6]
        raise InputError(f"there is no {what} '{name}'; " + (f"did you mean {', '.join(near)}?" if near else "there is none at all"))

    def why_absent(self, name: str) -> str:
        """Why a coordinate of the model is none of the system (its joint is prescribed, or closes a loop); "" for other names."""
        for joint in self._joints:
            if not joint.coordinates and (name == joint.name or name.startswith(joint.name + ".")):
                robot = joint.parent.body.is_ground and joint.name.startswith("root")
                free = '; a robot from a file moves freely by jd.read_urdf(path, base="free")' if robot else ""
                return f"'{name}': the joint '{joint.name}' is {joint.kind} and has no coordinates{free}"
            for c in joint.coordinates:
                known = name in (*c.names, *c.velocity_names, *(e.name for e in c.a)) or name == joint.name
                if known and c not in self.coordinates:
                    closes = "closes a loop and follows from the others (unless it is given cut=False)"
                    return f"'{name}' has no value of its own: the joint '{joint.name}' {f'is {c.nature}' if c.motion is not None else closes}; leave it out"
        return ""

    @property
    def rates_are_velocities(self) -> bool:
        """Whether q̇ = v, entry by entry."""
        return self.nq == self.nv == self._scalar_q.size and np.array_equal(self._scalar_q, self._scalar_v)

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ = N(q) v."""
        q, v = self.array(q, self.nq, "q"), self.array(v, self.nv, "v")
        out = np.zeros(np.broadcast_shapes(q.shape[:-1], v.shape[:-1]) + (self.nq,))
        out[..., self._scalar_q] = v[..., self._scalar_v]
        for i, j in self.quaternions:
            e, w = q[..., i : i + 4], v[..., j : j + 3]
            out[..., i] = -0.5 * np.sum(e[..., 1:] * w, axis=-1)
            out[..., i + 1 : i + 4] = 0.5 * (e[..., :1] * w + np.cross(e[..., 1:], w))
        return out

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """The configuration reached from q by the displacement dv (rotation vectors for quaternions)."""
        q, dv = self.array(q, self.nq, "q"), self.array(dv, self.nv, "dv")
        out = np.array(np.broadcast_to(q, np.broadcast_shapes(q.shape[:-1], dv.shape[:-1]) + (self.nq,)))
        out[..., self._scalar_q] += dv[..., self._scalar_v]
        for i, j in self.quaternions:
            out[..., i : i + 4] = quaternion_product(out[..., i : i + 4], quaternion_exponential(dv[..., j : j + 3]))
        return out

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The displacement from q0 to q1: integrate(q0, difference(q0, q1)) = q1."""
        q0, q1 = self.array(q0, self.nq, "q0"), self.array(q1, self.nq, "q1")
        out = np.zeros(np.broadcast_shapes(q0.shape[:-1], q1.shape[:-1]) + (self.nv,))
        out[..., self._scalar_v] = q1[..., self._scalar_q] - q0[..., self._scalar_q]
        for i, j in self.quaternions:
            conjugate = q0[..., i : i + 4] * np.array([1.0, -1.0, -1.0, -1.0])
            out[..., j : j + 3] = quaternion_logarithm(quaternion_product(conjugate, q1[..., i : i + 4]))
        return out

    def interpolate(self, q0: np.ndarray, q1: np.ndarray, s: float) -> np.ndarray:
        """The configuration at the fraction s of the way (geodesic for rotations)."""
        return self.integrate(q0, s * self.difference(q0, q1))

    def normalise(self, q: np.ndarray) -> np.ndarray:
        """q with quaternions of unit length."""
        q = self.array(q, self.nq, "q").copy()
        if not self.quaternions:
            return q
        at = np.array([i for i, _ in self.quaternions])[:, None] + np.arange(4)
        turns = q[..., at]
        length = np.linalg.norm(turns, axis=-1, keepdims=True)
        for k in np.flatnonzero(~(length > 1e-12).reshape(-1, len(at)).all(axis=0))[:1]:
            raise InputError(
                f"the quaternion '{self.position_names[at[k, 0]]}' … has no direction (zero or not finite); give (1, 0, 0, 0) for no rotation"
            )
        q[..., at] = turns / length
        return q

    def random(self, rng: np.random.Generator | None = None, size: int | None = None) -> np.ndarray:
        """Random configuration(s): angles in (−π, π), displacements in (−1, 1), rotations uniform."""
        rng = np.random.default_rng() if rng is None else rng
        lead = () if size is None else (size,)
        q = rng.uniform(-1.0, 1.0, (*lead, self.nq))
        angle = np.array([u == "rad" for u in self.units], dtype=bool)
        q[..., angle] *= np.pi
        for i, _ in self.quaternions:
            q[..., i : i + 4] = rng.normal(size=(*lead, 4))
        return self.normalise(q)


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a ∘ b, scalar first."""
    a0, a1, b0, b1 = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    scalar = a0 * b0 - np.sum(a1 * b1, axis=-1, keepdims=True)
    return np.concatenate([scalar, a0 * b1 + b0 * a1 + np.cross(a1, b1)], axis=-1)


def quaternion_exponential(w: np.ndarray) -> np.ndarray:
    """Unit quaternion of a rotation vector."""
    half = 0.5 * np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * w * np.sinc(half / np.pi)], axis=-1)


def quaternion_logarithm(e: np.ndarray) -> np.ndarray:
    """Rotation vector (shortest) of a unit quaternion."""
    e = np.where(e[..., :1] < 0, -e, e)
    sine = np.linalg.norm(e[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, e[..., :1])
    safe = np.where(sine < 1e-12, 1.0, sine)
    factor = np.where(sine < 1e-12, 2.0, angle / safe)
    return factor * e[..., 1:]
