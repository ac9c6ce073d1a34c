"""One cantilever three ways: hexahedra, beam by directors, Timoshenko's closed form."""

from __future__ import annotations

import pytest

import jourdain as jd
from jourdain.structures import Material, beam, block, rectangle


def cantilever(kind: str, side: float, cells: int, force: float = 1e-4) -> float:
    """Deflection (m) of the end of a rod of a metre without Poisson's effect under a small force, over that of Timoshenko's beam."""
    section, material = rectangle(side, side), Material(5e6, 0.0, 1000.0)
    m = jd.Model("cantilever", gravity=(0, 0, 0))
    post = m.body("post", 1.0, inertia=(1, 1, 1))
    m.fixed("ground", m.ground, post)
    if kind == "hexahedra":
        part = block((1.0, side, side), (cells, 2, 2), material, origin=(0, -side / 2, -side / 2))
        part.interface("start", "x-")
        part.interface("end", "x+")
    else:
        part = beam((0, 0, 0), (1, 0, 0), section, material, elements=cells, theory="timoshenko")
    rod = m.flexible_body("rod", part, attach={"start": post}, modes=2)
    m.load("push", rod.node("end"), (0, 0, force * (side / 0.05) ** 4))
    s = m.compile(formulation="directors").assembled()
    found = s.equilibrium("bodies").q
    h = next(h for h in s.handles if h.name == "rod.end")
    expected = force * (side / 0.05) ** 4 * (1.0 / (3 * 5e6 * section.Iy) + 1.0 / (section.shear_z * 2.5e6 * section.area))
    return float(found[h.offset + 2] / expected)


def test_beams_and_hexahedra_are_timoshenkos_beam_when_slender() -> None:
    assert cantilever("beam", 0.05, 8) == pytest.approx(1.0, abs=1e-5)
    errors = [abs(cantilever("hexahedra", side, cells) - 1.0) for side, cells in ((0.1, 10), (0.05, 20))]
    assert errors[1] < 1e-3 and errors[1] < 0.5 * errors[0]
