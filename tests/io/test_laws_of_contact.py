"""Every law of contact comes back from a file as it was, and acts as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.io.model_files.model_file import dumps_model, loads_model
from jourdain.model.contact.laws import Rigid

C = jd.contact
RUBBER, WOOD = jd.structures.Material(2e6, 0.3, 1000.0), jd.structures.Material(3e6, 0.2, 900.0)
LAWS: dict[str, Any] = {
    "rigid": C.rigid(friction=0.3, restitution=0.4), "static": C.rigid(friction=0.3, static=0.5),
    "poisson": C.rigid(friction=0.3, restitution=0.4, law="poisson"), "stronge": C.rigid(friction=0.3, restitution=0.4, law="stronge"),
    "convex": C.rigid(friction=0.3, cone="convex"), "along": C.rigid(friction=(0.2, 0.6), static=(0.3, 0.7), along="y", of="a"),
    "rolling": C.rigid(friction=0.3, rolling=1e-3, spinning=2e-3), "linear": C.linear(1e4, friction=0.3, rolling=1e-3, spinning=2e-3, turning=0.5),
    "kelvin-voigt": C.kelvin_voigt(1e4, 20.0, friction=0.3), "a material without a name": C.hertz(RUBBER, radius=0.05),
    "two materials": C.hertz([RUBBER, WOOD], radius=0.05), "stribeck": C.hertz(stiffness=1e6, friction=C.regularised(0.3, 1e-2, static=0.5, stribeck=0.02)),
    "hunt-crossley": C.hunt_crossley(stiffness=1e5, restitution=0.5, exponent=1.2), "lankarani": C.lankarani_nikravesh(0.7, stiffness=1e5),
    "bristles": C.flores(0.5, stiffness=1e5, friction=C.bristle(0.3, 1e4, 10.0, static=0.4, stribeck=0.03)),
    "own": C.own(lambda depth, rate, approach: 1e4 * depth * (1.0 + 0.2 * rate) + 0.1 * approach * depth),
}  # fmt: skip


@pytest.mark.parametrize("word", LAWS)
def test_laws_come_back(word: str) -> None:
    m = jd.Model("m", gravity=(0.5, 0.2, -9.81))
    m.free("f", m.ground, m.body("b", shape=jd.box(0.1, 0.08, 0.06, density=1000.0)))
    m.contact("floor", m.bodies["b"], m.ground, law=LAWS[word])
    text = dumps_model(m)
    again = loads_model(text)
    assert repr(again.contacts["floor"].law) == repr(LAWS[word])
    assert dumps_model(again) == text
    run: dict[str, Any] = {"step": 1e-3}
    run["method"] = "moreau" if isinstance(LAWS[word], Rigid) else "rk4"
    start = {"f.z": 0.04, "f.x_rate": 0.5, "f.orientation.omega_z": 2.0}
    first, second = (x.compile().simulate(start, 0.08, **run) for x in (m, again))
    assert first["contacts.acting"].max() > 0
    np.testing.assert_array_equal(first["floor.b.force"], second["floor.b.force"])
