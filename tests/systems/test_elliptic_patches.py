"""Hertz's law where the patch of contact is an ellipse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.contact.hertz_theory import Surface, hertz_stiffness

STEEL = jd.structures.STEEL


def stiffness(shape: Any, height: float, below: Any = None, depth: float = 1e-5) -> float:
    m = jd.Model("pressed", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, inertia=(1, 1, 1))
    body.shapes.append(shape)
    m.ground.shapes.append(below if below is not None else jd.plane())
    m.free("f", m.ground, body)
    m.contact("c", body, m.ground, law=jd.contact.hertz(STEEL))
    return float(m.compile().accelerations({"f.z": height - depth})[2] / depth**1.5)


def surface(*curvatures: float) -> Surface:
    return Surface(STEEL.E, STEEL.nu, curvatures)  # type: ignore[arg-type]


@pytest.mark.parametrize("axes", [(0.1, 0.1, 0.1), (0.1, 0.07, 0.05), (0.2, 0.05, 0.06)])
def test_ellipsoids_on_a_plane(axes: tuple[float, float, float]) -> None:
    a, b, c = axes
    np.testing.assert_allclose(
        stiffness(jd.ellipsoid(*axes), c), hertz_stiffness(surface(c / a**2, c / b**2), surface(0.0, 0.0)), rtol=1e-9
    )


def test_a_wheel_on_a_plane() -> None:
    found = stiffness(jd.torus(0.3, 0.05, axis="x"), 0.35)
    np.testing.assert_allclose(found, hertz_stiffness(surface(1 / 0.35, 1 / 0.05), surface(0.0, 0.0)), rtol=1e-9)


@pytest.mark.parametrize("angle", [np.pi / 2, 1.0, 0.4])
def test_crossed_cylinders(angle: float) -> None:
    below = jd.capsule(0.04, 2.0, axis="x").rotated("z", angle).at(0, 0, -0.04)
    found = stiffness(jd.capsule(0.1, 2.0, axis="x"), 0.1, below)
    np.testing.assert_allclose(found, hertz_stiffness(surface(10.0, 0.0), surface(25.0, 0.0), angle), rtol=1e-8)


def test_the_older_name_of_the_theory() -> None:
    with pytest.warns(DeprecationWarning, match="hertz_theory"):
        from jourdain.contact.hertz import hertz_stiffness as older
    assert older is hertz_stiffness
    assert jd.contact.hertz(STEEL).normal.kind == "hertz"  # the law keeps its name
