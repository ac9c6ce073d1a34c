"""Random chains of rigid bodies, beams and solids on hinges, with a spring: every reduction, exact energy, runs that go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.structures import Material, beam, block, rectangle


def hybrid(rng: np.random.Generator) -> jd.Model:
    """A hub on an axis of any direction, one to three links of any kind, a body at the end and perhaps a spring to it."""
    m = jd.Model("chain")
    hub = m.body("hub", mass=rng.uniform(1, 5), inertia=tuple(rng.uniform(0.05, 0.1, 3)))
    m.revolute("mast", m.ground, hub, axis=str(rng.choice(["x", "y", "z"])))
    end: Any = hub.at(0.2, 0, 0)
    for k in range(rng.integers(1, 4)):
        kind = rng.choice(["beam", "solid", "rigid"]) if k else rng.choice(["beam", "solid"])
        if kind == "beam":
            part: Any = beam(
                (0, 0, 0),
                (0.6, 0, 0),
                rectangle(0.03, 0.03),
                Material(10 ** rng.uniform(6, 9), 0.3, 1000.0),
                elements=int(rng.integers(2, 4)),
            )
            link, first, last, options = part, "start", "end", {"modes": 2}
        elif kind == "solid":
            part = block((0.5, 0.08, 0.08), (3, 1, 1), Material(10 ** rng.uniform(5.5, 8), 0.3, 900.0), origin=(0, -0.04, -0.04))
            part.interface("root", "x-")
            part.interface("tip", "x+")
            link, first, last, options = part.craig_bampton(2), "root", "tip", {}
        else:
            body = m.body(f"link{k}", mass=rng.uniform(0.2, 1), com=(0.2, 0, 0), inertia=tuple(rng.uniform(0.01, 0.02, 3)))
            m.revolute(f"hinge{k}", end, body, axis=str(rng.choice(["y", "z"])))
            end = body.at(0.4, 0, 0)
            continue
        flexible = m.flexible_body(f"link{k}", link, **options)
        m.revolute(f"hinge{k}", end, flexible.node(first), axis=str(rng.choice(["y", "z"])))
        end = flexible.node(last)
    tip = m.body("tip", 0.3, inertia=(1e-3,) * 3)
    m.fixed("hand", end, tip)
    if rng.random() < 0.5:
        m.spring("spring", m.ground.at(0.5, 0.3, 0.2), tip, stiffness=rng.uniform(5, 50), length=0.3)
    return m


@pytest.mark.parametrize("seed", [3, 8, 10, 21, pytest.param(30, marks=pytest.mark.slow), pytest.param(38, marks=pytest.mark.slow)])
def test_random_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, h = hybrid(rng), float(rng.choice([0.005, 0.02]))
    expected = None
    for reduction in ("none", "projection", "bodies", "joints"):
        s = m.compile(formulation="directors", reduction=reduction)
        sol = s.simulate({"mast": 0.3}, t=10 * h, step=h)
        assert np.ptp(sol["energy.total"]) < 1e-11 * max(1.0, sol["energy.kinetic"].max())
        expected = sol if expected is None else expected
        assert sol["tip.position"] == pytest.approx(expected["tip.position"], abs=1e-9)
        on = s.simulate(s.simulate({"mast": 0.3}, t=5 * h, step=h), t=5 * h, step=h)
        assert on["tip.position"][-1] == pytest.approx(sol["tip.position"][-1], abs=1e-10)
