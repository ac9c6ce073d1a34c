"""Sorts of elementary links: one file each, which answers for the sort; see :mod:`.link` for the questions.

Those of bodies that bend (:mod:`.flexible`, :mod:`.node`) are loaded when a model has such bodies.
"""

from .axis_link import AxisLink
from .ball import Ball
from .freedom import AxisFreedom, Freedom, Map
from .link import Link
from .motion import STILL, Field, LinkMotion, MassMoments, Relative, Wrench, inertial_moment
from .rotation import Rotation, RotationFreedom
from .translation import Translation, TranslationFreedom

#: The sorts that elementary motions of joints ask for, by letter.
SORTS: dict[str, type[Link]] = {sort.letter: sort for sort in (Rotation, Translation, Ball)}

__all__ = [
    "SORTS", "STILL", "AxisFreedom", "AxisLink", "Ball", "Field", "Freedom", "Link", "LinkMotion", "Map", "MassMoments", "Relative", "Rotation", "RotationFreedom",
    "Translation", "TranslationFreedom", "Wrench", "inertial_moment",
]  # fmt: skip
