"""Flexible bodies of a model and what acts inside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...symbolic.expr import mul
from ...symbolic.vectors import Vector
from ..bodies import Body, Frame
from ..load_sorts import FrameLoad, Load
from ..values import colour_of, number, value

if TYPE_CHECKING:
    from ...structures import ReducedStructure, Structure
    from ..model import Model
    from .flexible import PartBody


class FlexibleMethods:
    """The part of a model that declares flexible bodies."""

    bodies: dict[str, Body]
    loads: dict[str, Load]
    initial: dict[str, Any]

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None: ...

    def flexible_body(
        self, name: str, part: Structure | ReducedStructure, frame: str | None = None, modes: int | None = None, damping: Any = None,
        rigid: bool = False, stiffening: bool = False, colour: str | None = None, color: str | None = None,
        attach: Mapping[str, Body | Frame] | None = None, **options: Any,
    ) -> PartBody:  # fmt: skip
        """A body that bends by the modes of a structure (see :mod:`jourdain.structures`), its points the structure's nodes.

        part: a structure, which is then reduced, or a reduced one (``part.craig_bampton(12)`` …).
        frame: the floating frame, as for ``part.reduce``: "mean axes" (the default), "pinned", "tangent" …; ``modes`` and further options
            are those of ``part.reduce`` too.
        damping: ratio of critical damping, one for all modes or one for each, or {"mass": α, "stiffness": β}; None for the structure's own.
        stiffening: True adds what axial and other stresses of inertia and of forces at nodes do to the stiffness (a rotating blade grows stiffer,
            a pushed column buckles); the linear theory leaves it out.
        rigid: True leaves the modes out, with the same nodes and names.
        attach: interfaces (or nodes) of the structure by name and the bodies or frames that hold them, as by ``m.fixed``.

        The formulation "directors" makes nonlinear elements of a solid that is held by rigid bodies alone, for deformations of any size.
        """
        from .flexible import Elasticity, FlexibleBody, flexible_body, reduced

        self._unlocked(f"body '{name}'")
        self._new_name(name, "body", self.bodies)
        what = f"flexible body '{name}'"
        body = flexible_body(_model(self), name, reduced(part, frame, modes, damping, stiffening, what, options), rigid)
        body.colour = colour_of(colour, color, what)
        self.bodies[name] = body
        if isinstance(body, FlexibleBody):
            load = f"{name}.elasticity"
            self.loads[load] = Elasticity(load, body)
            self.loads = dict(sorted(self.loads.items(), key=lambda item: not item[1].of_body))  # as when they are read from a file
            for c in body.modes:  # loops are closed by the joints, with the body undeformed where that is possible
                self.initial |= {c.names[0]: 0.0, c.velocity_names[0]: 0.0}
        for point, holder in (attach or {}).items():
            _model(self).fixed(f"{name}.{point}", holder, body.node(point))
        return body

    def piezo_patch(
        self, name: str, body: Body, span: tuple[Any, Any], voltage: Any, d31: Any, face: str = "y", thickness: Any = 0.5e-3, width: Any = None,
        E: Any = 6.3e10, nu: float = 0.3, pair: bool = False,
    ) -> FrameLoad:  # fmt: skip
        """A piezoelectric patch on a beam that bends it by a voltage (V).

        span: from where to where along the beam (m). face: "y", "-y", "z" or "-z", where it is glued. pair: with a second one of opposite
            voltage on the other side.
        d31: charge constant (m/V); thickness, width (m; that of the face unless given), E (Pa), nu: of the patch, in plane stress.

        The stress E d31 V/(1 − ν)/t acts at the distance of the patch from the axis, as opposite torques at the two ends of the patch: the
        same as a curvature that it wants along its length (Martins et al., eq. 59).  A patch that expands bends the beam away from its face.
        Its mass and stiffness are those of the part, or neglected.
        """
        from ...structures.gauges import end_section
        from .flexible import PartBody

        self._unlocked(f"patch '{name}'")
        self._new_name(name, "load", self.loads)
        what = f"patch '{name}'"
        if not isinstance(body, PartBody):
            raise ModelError(f"{what}: body '{body.name}' is rigid; a patch bends a flexible one (m.flexible_body(...))")
        if face not in ("y", "-y", "z", "-z"):
            raise ModelError(f"{what}: face '{face}' is unknown; use 'y', '-y', 'z' or '-z'")
        a, b = (number(x, f"{what}: span", "m") for x in span)
        length = float(np.ptp(body.part.part.nodes[:, 0]))
        if not 0.0 <= a < b <= length * (1 + 1e-12):
            raise ModelError(
                f"{what}: its span ({a:g}, {b:g}) m is not within the beam '{body.name}' of {length:g} m; give 0 ≤ from < to ≤ {length:g}"
            )
        section = end_section(body.part.part)
        across = "y" in face
        half, wide = (section.half_y, section.half_z) if across else (section.half_z, section.half_y)
        t, d, modulus = (
            number(x, f"{what}: {n}", unit) for x, n, unit in ((thickness, "thickness", "m"), (d31, "d31", None), (E, "E", "Pa"))
        )
        w = 2.0 * wide if width is None else number(width, f"{what}: width", "m")
        sign = (-1.0 if face.startswith("-") else 1.0) * (-1.0 if across else 1.0) * (2.0 if pair else 1.0)
        moment = mul(value(voltage, f"{what}: voltage", "V"), value(sign * (half + 0.5 * t) * w * modulus * d / (1.0 - nu), what))
        zero = value(0.0, what)
        torque = Vector(zero, zero, moment) if across else Vector(zero, moment, zero)
        first, last = (body.node((x, 0.0, 0.0)) for x in (a, b))
        load = FrameLoad(name, last, Vector(zero, zero, zero), torque, first, first, kind="piezo patch")
        self.loads[name] = load
        return load


def _model(methods: FlexibleMethods) -> Model:
    return methods  # type: ignore[return-value]


__all__ = ["FlexibleMethods"]
