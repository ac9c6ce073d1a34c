"""The mechanism on which the course shows every formulation: a slider-crank with published numbers to check against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..model.model import Model

if TYPE_CHECKING:
    from ..analysis.assemble import AssembledState

#: Crank and coupler in m, masses in kg, inertias about the centres of mass (at mid-length) in kg m².
CRANK, COUPLER = 0.152, 0.305
MASSES = (0.0378, 0.0756, 0.0626)
INERTIAS = (7.324e-5, 5.8533e-4, 4.18e-6)


def course_slider_crank(gravity: float = 9.81, crank: float = CRANK, coupler: float = COUPLER) -> Model:
    """Crank about the origin, coupler, slider along x; the pin between coupler and slider closes the loop; y is up.

    ``crank.angle`` from x, ``coupler.angle`` from the crank, ``slider.displacement`` from the crank's bearing.
    """
    m = Model("slider-crank", gravity=(0, -gravity, 0))
    a1, a2 = m.parameters("m", a1=crank, a2=coupler)
    bodies = []
    for name, length, mass, inertia in zip(("crank", "coupler"), (a1, a2), MASSES, INERTIAS, strict=False):
        bodies.append(m.body(name, mass=mass, com=(length / 2, 0, 0), inertia=(inertia / 2, inertia / 2, inertia)))
    slider = m.body("slider", mass=MASSES[2], inertia=(INERTIAS[2] / 2, INERTIAS[2] / 2, INERTIAS[2]))
    m.revolute("crank", m.ground, bodies[0], axis="z")
    m.revolute("coupler", bodies[0].at(a1, 0, 0), bodies[1], axis="z")
    m.prismatic("slider", m.ground, slider, axis="x")
    m.close("pin", bodies[1].at(a2, 0, 0), slider, "ball")
    return m


def crank_at(system: Any, angle: float, rate: float = 0.0) -> AssembledState:
    """The closed state at a crank angle (rad) and speed (rad/s) with the slider in front of the crank.

    >>> s = course_slider_crank().compile()
    >>> round(float(crank_at(s, 0.0)["slider.displacement"]), 12)
    0.457
    """
    guess = {"coupler": -angle, "slider": CRANK + COUPLER}
    state: AssembledState = system.assemble({"crank": angle}, guess=guess, velocities={"crank.angle_rate": rate})
    return state


__all__ = ["COUPLER", "CRANK", "INERTIAS", "MASSES", "course_slider_crank", "crank_at"]
