"""A human body as a tree of 42 bodies and 41 revolute joints on a floating pelvis.

Masses, lengths, centres of mass and radii of gyration are the fractions of body mass and height customary in biomechanics
(D. A. Winter, *Biomechanics and Motor Control of Human Movement*).  Axes in the standing position: x forward, y left, z up.
A joint of several freedoms is a row of revolute joints with massless bodies between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..model.bodies import Body, Frame
from ..model.model import Model

#: Segment: fraction of the body's mass, length as a fraction of the height, centre of mass and transverse radius of gyration as
#: fractions of the length.
SEGMENTS = {
    "pelvis": (0.142, 0.095, 0.40, 0.40),
    "abdomen": (0.139, 0.082, 0.50, 0.40),
    "thorax": (0.208, 0.170, 0.50, 0.35),
    "head": (0.081, 0.182, 0.55, 0.36),
    "clavicle": (0.004, 0.110, 0.50, 0.29),
    "upper_arm": (0.028, 0.186, 0.436, 0.322),
    "forearm": (0.016, 0.146, 0.430, 0.303),
    "hand": (0.0042, 0.058, 0.50, 0.30),
    "fingers": (0.0018, 0.050, 0.45, 0.30),
    "thigh": (0.100, 0.245, 0.433, 0.323),
    "shank": (0.0465, 0.246, 0.433, 0.302),
    "foot": (0.0125, 0.110, 0.45, 0.40),
    "toes": (0.002, 0.042, 0.45, 0.30),
}

#: Transverse thickness of a segment: its radius of gyration about the long axis as a fraction of the transverse one.
SLENDERNESS = 0.35


class _Builder:
    """Adds segments and rows of joints to a model."""

    def __init__(self, model: Model, mass: Any, height: Any) -> None:
        self.model, self.mass, self.height = model, mass, height

    def length(self, segment: str) -> Any:
        return SEGMENTS[segment][1] * self.height

    def segment(self, name: str, kind: str, along: Sequence[float]) -> Body:
        """A slender body from its origin along a direction (a signed coordinate axis)."""
        fraction, _, com, gyration = SEGMENTS[kind]
        m, l = fraction * self.mass, self.length(kind)
        across = m * (gyration * l) ** 2
        inertia = [across * SLENDERNESS**2 if e else across for e in along]
        return self.model.body(name, mass=m, com=[e * com * l for e in along], inertia=inertia)

    def joints(self, name: str, parent: Any, child: Body | Frame, axes: Sequence[str], words: Sequence[str]) -> None:
        """A row of revolute joints, massless bodies between them."""
        for axis, word in zip(axes[:-1], words[:-1], strict=True):
            between = self.model.body(f"{name}_{word}")
            self.model.revolute(f"{name}_{word}", parent, between, axis=axis)
            parent = between
        self.model.revolute(f"{name}_{words[-1]}" if len(words) > 1 else name, parent, child, axis=axes[-1])


def human(mass: float = 75.0, height: float = 1.75, gravity: float = 9.81) -> Model:
    """The tree of 42 bodies: ``pelvis`` floats (joint ``pelvis``), 41 revolute joints carry trunk, head, arms and legs.

    All joint angles are zero when standing with hanging arms.  Parameters ``mass`` (kg) and ``height`` (m).

    >>> s = human().compile()
    >>> s.nv, len(s.model.bodies)
    (47, 42)
    """
    m = Model("human", gravity=(0, 0, -gravity))
    M, H = m.parameter("mass", mass, unit="kg"), m.parameter("height", height, unit="m")
    b = _Builder(m, M, H)
    up, down = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
    pelvis = b.segment("pelvis", "pelvis", up)
    m.free("pelvis", m.ground, pelvis)
    abdomen, thorax, head = (b.segment(n, n, up) for n in ("abdomen", "thorax", "head"))
    b.joints("lumbar", pelvis.at(0, 0, b.length("pelvis")), abdomen, "yxz", ("flexion", "bending", "twist"))
    b.joints("thoracic", abdomen.at(0, 0, b.length("abdomen")), thorax, "y", ("flexion",))
    b.joints("neck", thorax.at(0, 0, b.length("thorax")), head, "yxz", ("flexion", "bending", "twist"))
    for side, s in (("left", 1.0), ("right", -1.0)):
        _arm(b, side, s, thorax)
        _leg(b, side, s, pelvis, down)
    return m


def _arm(b: _Builder, side: str, s: float, thorax: Body) -> None:
    outward, down = (0.0, s, 0.0), (0.0, 0.0, -1.0)
    clavicle = b.segment(f"{side}_clavicle", "clavicle", outward)
    upper, fore, hand, fingers = (b.segment(f"{side}_{n}", n, down) for n in ("upper_arm", "forearm", "hand", "fingers"))
    root = thorax.at(0, s * 0.02 * b.height, 0.9 * b.length("thorax"))
    b.joints(f"{side}_clavicle", root, clavicle, "xz", ("elevation", "protraction"))
    b.joints(f"{side}_shoulder", clavicle.at(0, s * b.length("clavicle"), 0), upper, "yxz", ("flexion", "abduction", "rotation"))
    b.joints(f"{side}_elbow", upper.at(0, 0, -b.length("upper_arm")), fore, "yz", ("flexion", "pronation"))
    b.joints(f"{side}_wrist", fore.at(0, 0, -b.length("forearm")), hand, "yx", ("flexion", "deviation"))
    b.joints(f"{side}_fingers", hand.at(0, 0, -b.length("hand")), fingers, "y", ("flexion",))


def _leg(b: _Builder, side: str, s: float, pelvis: Body, down: Sequence[float]) -> None:
    forward = (1.0, 0.0, 0.0)
    thigh, shank = (b.segment(f"{side}_{n}", n, down) for n in ("thigh", "shank"))
    foot, toes = (b.segment(f"{side}_{n}", n, forward) for n in ("foot", "toes"))
    b.joints(f"{side}_hip", pelvis.at(0, s * 0.0955 * b.height, 0), thigh, "yxz", ("flexion", "abduction", "rotation"))
    b.joints(f"{side}_knee", thigh.at(0, 0, -b.length("thigh")), shank, "y", ("flexion",))
    heel = foot.at(0.25 * b.length("foot"), 0, 0.039 * b.height)
    b.joints(f"{side}_ankle", shank.at(0, 0, -b.length("shank")), heel, "yx", ("flexion", "inversion"))
    b.joints(f"{side}_toes", foot.at(b.length("foot"), 0, 0), toes, "y", ("flexion",))


__all__ = ["human"]
