"""Relative coordinates of spatial chains by Denavit and Hartenberg's four numbers a link, composed with dual angles.

Link i turns by θ about and slides by s along its joint axis z, then turns by α about and slides by a along the common normal x:
T̂ = R_z(θ + ε s) R_x(α + ε a).  The product around a closed loop is the identity, whose real part closes the rotations and whose
dual part the translations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..model.model import Model
from ..symbolic.dual import Dual, DualMatrix, turn_x, turn_z
from ..symbolic.expr import Expr, as_expr
from ..symbolic.graph import evaluate
from ..symbolic.vectors import IDENTITY, NULL

if TYPE_CHECKING:
    from ..model.bodies import Body


@dataclass(frozen=True)
class DHLink:
    """Length a (m) and twist α (rad) of a link, angle θ (rad) and offset s (m) of the joint before it."""

    a: Any
    alpha: Any
    theta: Any
    s: Any
    #: Which of θ and s moves: "revolute" or "prismatic".
    kind: str = "revolute"

    def __post_init__(self) -> None:
        if self.kind not in ("revolute", "prismatic"):
            raise InputError(f"a Denavit–Hartenberg link turns or slides; kind '{self.kind}' is not 'revolute' or 'prismatic'")

    @property
    def transform(self) -> DualMatrix:
        """T̂ = R_z(θ̂) R_x(α̂)."""
        return turn_z(Dual.of(as_expr(self.theta), as_expr(self.s))) @ turn_x(Dual.of(as_expr(self.alpha), as_expr(self.a)))


def chain_transform(links: Sequence[DHLink]) -> DualMatrix:
    """Product of the links' transforms: pose of the last link's frame in the first one's."""
    total = DualMatrix.displacement(IDENTITY, NULL)
    for link in links:
        total = total @ link.transform
    return total


def closure_equations(links: Sequence[DHLink]) -> list[Expr]:
    """The six scalar equations that close a loop: three of rotation (real part) and the translation (dual part).

    >>> from jourdain import symbols
    >>> t1, t3, s4, a1, a2 = symbols("t1 t3 s4 a1 a2")
    >>> q = 3.141592653589793 / 2
    >>> loop = [DHLink(a1, 0, t1, 0), DHLink(a2, 0, -t1 - t3, 0), DHLink(0, q, t3, 0), DHLink(0, -q, 0, s4, "prismatic")]
    >>> len(closure_equations(loop))
    6
    """
    total = chain_transform(links)
    A = total.real
    return [A[0, 1], A[1, 2], A[2, 0], *total.translation]


def homogeneous(transform: DualMatrix, values: Any = None) -> np.ndarray:
    """The 4×4 matrix of a displacement with numbers for its symbols."""
    entries = evaluate([*transform.real.entries, *transform.translation], values or {})
    found = np.eye(4)
    found[:3, :3] = np.array(entries[:9], dtype=float).reshape(3, 3)
    found[:3, 3] = np.array(entries[9:], dtype=float)
    return found


def dh_model(
    links: Sequence[DHLink], name: str = "chain", gravity: Any = (0, 0, -9.81), bodies: Sequence[dict[str, Any]] | None = None
) -> Model:
    """A model of the open chain: one body a link, its frame at the link's end as Denavit and Hartenberg place it.

    ``bodies`` holds the arguments of :meth:`Model.body` for each link (mass, com, inertia in the link's frame).
    Coordinates are counted from the table's θ and s.
    """
    m = Model(name, gravity=gravity)
    given = list(bodies) if bodies is not None else [{"mass": 1.0, "inertia": (1e-2, 1e-2, 1e-2)} for _ in links]
    if len(given) != len(links):
        raise InputError(f"chain '{name}': {len(links)} links but mass properties for {len(given)}")
    parent: Body | Any = m.ground
    for i, (link, properties) in enumerate(zip(links, given, strict=True), 1):
        body = m.body(f"link{i}", **properties)
        joint = m.revolute if link.kind == "revolute" else m.prismatic
        before = parent.at(0, 0, link.s, rotation=("z", link.theta))
        # the joint's frame on the child: back along the common normal from the link's end
        end = homogeneous(turn_x(Dual.of(float(link.alpha), float(link.a))))
        back = np.linalg.inv(end)
        x, y, z = back[:3, 3]
        joint(f"joint{i}", before, body.at(x, y, z, rotation=back[:3, :3]), axis="z")
        parent = body
    return m


class Screw(NamedTuple):
    """A displacement as a turn about and a slide along one axis (Chasles)."""

    axis: np.ndarray
    point: np.ndarray
    angle: float
    slide: float

    def displacement(self) -> tuple[np.ndarray, np.ndarray]:
        """Rotation R and translation d of x′ = R x + d (Rodrigues' formula)."""
        u = self.axis
        K = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
        R = np.eye(3) + np.sin(self.angle) * K + (1 - np.cos(self.angle)) * K @ K
        return R, self.point - R @ self.point + self.slide * u


def screw(rotation: Any, translation: Any) -> Screw:
    """The screw of x′ = R x + d: axis, its point nearest to the origin, angle in [0, π] and slide.

    >>> s = screw([[0, -1, 0], [1, 0, 0], [0, 0, 1]], [1, 0, 2])
    >>> s.point.round(12).tolist(), round(s.slide, 12)
    ([0.5, 0.5, 0.0], 2.0)
    """
    from scipy.spatial.transform import Rotation

    R, d = np.asarray(rotation, dtype=float), np.asarray(translation, dtype=float)
    if R.shape != (3, 3) or np.abs(R @ R.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0:
        raise InputError(f"screw: {R.tolist()} is not a rotation matrix (orthogonal with determinant +1)")
    turn = Rotation.from_matrix(R).as_rotvec()
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        length = float(np.linalg.norm(d))
        return Screw(d / length if length > 0 else np.array([0.0, 0.0, 1.0]), np.zeros(3), 0.0, length)
    u = turn / angle
    slide = float(u @ d)
    across = d - slide * u
    return Screw(u, 0.5 * (across + np.cross(u, across) / np.tan(0.5 * angle)), angle, slide)


__all__ = ["DHLink", "Screw", "chain_transform", "closure_equations", "dh_model", "homogeneous", "screw"]
