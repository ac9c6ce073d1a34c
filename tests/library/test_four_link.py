"""The four-link axle: published counts, kinematic curves, and rods removed against rods kept as bodies."""

import numpy as np
import pytest

from jourdain import library


@pytest.fixture(scope="module")
def removed():
    return library.four_link_axle().compile()


def wheel(system, fixed, guess=None):
    state = system.assemble(fixed, guess=guess)
    values = system.function("outputs")(np.zeros(1), state.x, system.input_values())
    return dict(zip(system.model.outputs, values, strict=True)), state


def test_published_counts():
    system = library.four_link_axle("bodies").compile()
    m = system.model
    joints = [j.kind for j in m.joints.values()] + ["spherical" for c in m.constraints.values() if c.kind == "ball"]
    freedoms = {"universal": 2, "spherical": 3, "prismatic": 1}
    assert len(m.bodies) == 7
    assert len(joints) == 11
    assert sum(freedoms[k] for k in joints) == 27
    assert len(joints) - len(m.bodies) == 4  # loops
    from jourdain.systems.constraints import jacobian

    state = system.assemble()
    rank = np.linalg.matrix_rank(jacobian(system, state.q, 0.0), tol=1e-9)
    assert system.nv - rank == 2 + 1  # travel and rack, and the steering link's spin


@pytest.mark.parametrize(
    ("dz", "camber", "heading", "dx", "dy"),
    [
        (-60, 1.205, 0.652, -7.35, -7.31),
        (-30, 0.735, 0.391, -3.55, -2.17),
        (30, -1.006, -0.507, 3.28, -0.67),
        (60, -2.316, -1.133, 6.28, -4.15),
    ],
)
def test_travel(removed, dz, camber, heading, dx, dy):
    out, _ = wheel(removed, {"rack.displacement": 0.0, "carrier.z": dz * 1e-3})
    assert np.rad2deg([out["camber"], out["heading"]]) == pytest.approx([camber, heading], abs=6e-4)
    assert [1e3 * out["centre.x"], 1e3 * (out["centre.y"] - 0.795)] == pytest.approx([dx, dy], abs=6e-3)


def test_steering(removed):
    guess = None
    for rack, heading in ((-20, 7.45), (-40, 15.09), (-60, 23.23)):
        out, guess = wheel(removed, {"rack.displacement": rack * 1e-3, "carrier.z": 0.0}, guess)
        assert np.rad2deg(out["heading"]) == pytest.approx(heading, abs=6e-3)
    guess = None
    for rack, heading in ((20, -7.50), (40, -15.30), (60, -23.70)):
        out, guess = wheel(removed, {"rack.displacement": rack * 1e-3, "carrier.z": 0.0}, guess)
        assert np.rad2deg(out["heading"]) == pytest.approx(heading, abs=6e-3)
