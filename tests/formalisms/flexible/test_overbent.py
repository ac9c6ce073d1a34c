"""Bodies of second order that are bent too far: told where they lose their inertia, and not where others hold them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd

st = jd.structures


def flying(order: int | str, base: float = 0.0) -> jd.System:
    """A beam free in space, alone or on a base that is heavy."""
    m = jd.Model("flying", gravity=(0, 0, 0))
    beam = m.flexible_body("beam", st.ritz_beam(1.0, st.rectangle(0.02, 0.03), st.Material(1e9, 0.3, 1000.0), bending=(1, 1), order=order))
    if base:
        hub = m.body("hub", mass=base, inertia=(base,) * 3)
        m.revolute("joint", m.ground, hub)
        m.fixed("clamp", hub, beam.node("start"))
    else:
        m.free("joint", m.ground, beam)
    return m.compile()


def test_a_free_body_is_told_to_be_bent_too_far() -> None:
    s = flying(2)
    with pytest.warns(
        RuntimeWarning, match=r"at t = 0 s the mass matrix is not positive: body 'beam' is bent so far \('beam.y1' = 0.3\).*order='exact'"
    ):
        s.simulate(s.state({"beam.y1": 0.3, "beam.z1": 0.1}), t=1e-4)
    small = s.state({"beam.y1": 0.02})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.simulate(small, t=1e-4)
    assert np.linalg.eigvalsh(s.mass_matrix(small.q)).min() > 0.0


@pytest.mark.parametrize(("order", "base"), [("exact", 0.0), (2, 100.0)])
def test_exact_beams_and_those_that_a_base_holds_have_inertia(order: int | str, base: float) -> None:
    s = flying(order, base)
    x = s.state({"beam.y1": 0.3, "beam.z1": 0.1})
    assert np.linalg.eigvalsh(s.mass_matrix(x.q)).min() > 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.simulate(x, t=1e-4)
