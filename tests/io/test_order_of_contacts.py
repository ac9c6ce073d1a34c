"""Models are saved whatever is declared after a contact, and run as before."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import jourdain as jd
from jourdain.io.model_files.model_file import dumps_model, loads_model


def force(m: jd.Model, s: jd.Expr) -> None:
    m.force(m.joints["slide"], -100.0 * s)


def pushed(m: jd.Model, s: jd.Expr) -> None:
    m.load("push", m.bodies["ball"], force=(m.input("F", 0.3), 0, 0))


def remembered(m: jd.Model, s: jd.Expr) -> None:
    m.force(m.joints["slide"], 100.0 * m.memory("crush", 0.0, lambda deepest: jd.maximum(deepest, -s), unit="m"))


def state(m: jd.Model, s: jd.Expr) -> None:
    z = m.state("z")
    m.rate(z, -z + s)
    m.force(m.joints["slide"], 3.0 * z)


def parameter(m: jd.Model, s: jd.Expr) -> None:
    m.force(m.joints["slide"], m.parameter("k", 3.0) * s)


def second_contact(m: jd.Model, s: jd.Expr) -> None:
    m.force(m.joints["slide"], m.input("F", 0.3))
    m.contact("again", m.bodies["ball"], m.ground, law=jd.contact.lankarani_nikravesh(0.5, stiffness=1e5))
    m.load("wind", m.bodies["ball"], force=(0.1, 0, 0))


@pytest.mark.parametrize("more", [force, pushed, remembered, state, parameter, second_contact])
def test_a_model_is_saved_whatever_follows_a_contact(more: Callable[[jd.Model, jd.Expr], None]) -> None:
    m = jd.Model("order")
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.free("free", m.ground, ball)
    slide = m.prismatic("slide", m.ground, m.body("sled", mass=1.0, inertia=(1, 1, 1)), axis="z")
    friction = jd.contact.bristle(0.5, stiffness=2e4, damping=40.0)
    m.contact("floor", ball, m.ground, law=jd.contact.linear(1e5, friction=friction))
    more(m, slide.position)
    text = dumps_model(m)
    again = loads_model(text)
    assert dumps_model(again) == text
    start = {"free.z": 0.05, "free.x_rate": 0.2, "slide": -0.01}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a law with restitution starts in touch
        runs = [x.compile().simulate(start, t=0.02, method="rk4", step=2e-4) for x in (m, again)]
    assert runs[0].names == runs[1].names
    for name in ("free.x", "free.z", "slide.displacement"):
        np.testing.assert_array_equal(runs[0][name], runs[1][name])
