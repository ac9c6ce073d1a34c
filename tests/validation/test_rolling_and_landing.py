"""Rims that roll, cones that roll on their side, bodies that come to lie: closed forms, and Moreau's steps against runs from event to event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial import ConvexHull

import jourdain as jd
from jourdain.contact import rigid

G = 9.81


def thrown(shape: Any, law: Any, gravity: tuple[float, float, float] = (0.0, 0.0, -G), floor: Any = None) -> jd.System:
    """A body on a floor."""
    m = jd.Model("thrown", gravity=gravity)
    m.ground.shapes.append(floor or jd.plane())
    m.free("f", m.ground, m.body("b", shape=shape))
    m.contact("floor", law=law)
    return m.compile()


def turned(axis: str, angle: float) -> dict[str, float]:
    """Euler parameters of a turn about an axis."""
    e = dict.fromkeys((f"f.orientation.e{i}" for i in range(4)), 0.0)
    return e | {"f.orientation.e0": math.cos(0.5 * angle), f"f.orientation.e{'_xyz'.index(axis)}": math.sin(0.5 * angle)}


def cone_on_a_slope(slope: float, start: float) -> tuple[jd.System, dict[str, float], Any]:
    """A cone that lies on its side and rolls about its tip on a slope, and the angle of its line of contact by T and V of Landau and Lifshitz (Mechanics, § 32, problem 7):

    T = 3 m h² θ̇² (1 + 5 cos² α)/40,  V = −¾ m g h cos α sin β cos θ.
    """
    h, r = 0.2, 0.08
    alpha = math.atan2(r, h)
    s = thrown(jd.cone(r, 0.0, h, density=800.0), rigid(friction=2.0), (G * math.sin(slope), 0.0, -G * math.cos(slope)))
    down = -(0.5 * math.pi + alpha)  # the tip (top of the cone) to the origin, the line of contact along x
    tilt, about = (
        np.array([math.cos(0.5 * down), 0.0, math.sin(0.5 * down), 0.0]),
        np.array([math.cos(0.5 * start), 0.0, 0.0, math.sin(0.5 * start)]),
    )
    e = [
        about[0] * tilt[0] - about[3] * tilt[3],
        about[0] * tilt[1] - about[3] * tilt[2],
        about[0] * tilt[2] + about[3] * tilt[1],
        about[0] * tilt[3] + about[3] * tilt[0],
    ]
    centre = 0.5 * h * math.cos(alpha) * np.array([math.cos(start), math.sin(start)])
    at = {"f.x": centre[0], "f.y": centre[1], "f.z": 0.5 * h * math.sin(alpha)} | {f"f.orientation.e{i}": float(x) for i, x in enumerate(e)}
    rate = 5.0 * G * math.cos(alpha) * math.sin(slope) / (h * (1.0 + 5.0 * math.cos(alpha) ** 2))
    exact = solve_ivp(
        lambda t, y: [y[1], -rate * math.sin(y[0])], (0.0, 1.0), [start, 0.0], "DOP853", rtol=1e-12, atol=1e-13, dense_output=True
    )
    return s, at, exact.sol


@pytest.mark.parametrize(
    ("way", "near"), [({"rtol": 1e-9, "atol": 1e-11}, 1e-8), ({"rtol": 1e-6}, 1e-5), ({"method": "moreau", "step": 1e-3}, 5e-5)]
)
def test_a_cone_rolls_about_its_tip(way: dict[str, Any], near: float) -> None:
    """Along the line of contact its two ends stick redundantly: within steps rows contradicted each other by their error, which ended the run."""
    s, at, exact = cone_on_a_slope(0.4, 1.2)
    sol = s.simulate(at, 1.0, **way)
    assert len(sol.contacts.at(1.0)) == 2
    found = np.unwrap(np.arctan2(sol["f.y"], sol["f.x"]))
    assert np.abs(found - exact(sol.t)[0]).max() < near
    assert np.abs(sol["energy.error"]).max() < 1e-4 * sol["energy.kinetic"].max()


def test_moreaus_steps_of_a_cone_that_rolls_have_order_two() -> None:
    """What lasts is closed at the end of a step; its gap there is that of the middle."""
    s, at, exact = cone_on_a_slope(0.4, 1.2)
    errors = []
    for h in (4e-3, 1e-3):
        sol = s.simulate(at, 1.0, "moreau", step=h)
        errors.append(np.abs(np.unwrap(np.arctan2(sol["f.y"], sol["f.x"])) - exact(sol.t)[0]).max())
    assert errors[0] / errors[1] > 10.0


@pytest.mark.parametrize("floor", ["plane", "box"])
@pytest.mark.parametrize("e", [0.0, 0.3])
def test_a_wheel_rolls_without_loss(floor: str, e: float) -> None:
    """The places that carry a ring which lies flat are no corners over which a wheel stumbles; it lost 2 % of its energy in these steps."""
    s = thrown(
        jd.torus(0.3, 0.05, density=500.0),
        rigid(friction=0.8, restitution=e),
        floor=jd.box(20, 20, 0.4).at(0, 0, -0.2) if floor == "box" else None,
    )
    start = {"f.z": 0.35, "f.x_rate": 16.0 * 0.35, "f.orientation.omega_z": -16.0} | turned("x", 0.5 * math.pi)
    sol = s.simulate(start, 0.6, "moreau", step=2e-3)
    assert sol["f.x"][-1] == pytest.approx(0.6 * 16.0 * 0.35, rel=1e-9)
    assert abs(sol["contacts.dissipated"][-1]) < 1e-9 * sol["energy.kinetic"][0]


@pytest.mark.parametrize(
    "shape", [jd.cylinder(0.1, 0.01, density=2000.0), jd.torus(0.1, 0.01, density=2000.0), jd.cone(0.1, 0.09, 0.01, density=2000.0)]
)
def test_a_disc_that_rolls_on_its_rim_keeps_its_energy(shape: Any) -> None:
    """Euler's disc; three quarters of its energy were lost at the corners of its rim."""
    lean = 0.1
    s = thrown(shape, rigid(friction=0.8))
    height = 0.1 * math.sin(lean) + (0.01 if isinstance(shape, type(jd.torus(0.1, 0.01))) else 0.005 * math.cos(lean))
    start = {"f.z": height, "f.orientation.omega_y": math.sqrt(4.0 * G * math.sin(lean) / 0.1)} | turned("x", lean)
    exact = s.simulate(start, 0.3, rtol=1e-7)["contacts.dissipated"][-1]
    steps = [s.simulate(start, 0.3, "moreau", step=h) for h in (1e-3, 2.5e-4)]
    errors = [abs(sol["contacts.dissipated"][-1] - exact) for sol in steps]
    assert errors[0] < 1e-2 * steps[0]["energy.kinetic"][0] and errors[1] < 0.1 * errors[0], errors  # order two


def test_a_polyhedron_comes_to_lie_on_its_third_corner() -> None:
    """The corner that strikes while two others slide takes one impulse: shared by two steps it met two directions of friction, which tended to nothing."""
    rng = np.random.default_rng(8)
    rng.integers(10)
    p = rng.normal(size=(10, 3))
    p *= 0.08 * rng.uniform(0.7, 1.2, (10, 1)) / np.linalg.norm(p, axis=1)[:, None]
    hull = ConvexHull(p)
    faces = [
        f if np.cross(p[f[1]] - p[f[0]], p[f[2]] - p[f[0]]) @ e[:3] > 0 else f[[0, 2, 1]]
        for f, e in zip(hull.simplices, hull.equations, strict=True)
    ]
    s = thrown(jd.mesh((p, np.array(faces)), density=900.0), rigid(friction=rng.uniform(0, 0.8)))
    rng.uniform(0, 0.9), rng.integers(2)
    e = rng.normal(size=4)
    start = {"f.z": rng.uniform(0.2, 0.3)} | {f"f.orientation.e{i}": x for i, x in enumerate(e / np.linalg.norm(e))}
    start |= {f"f.{c}_rate": x for c, x in zip("xyz", rng.normal(size=3), strict=True)}
    start |= {f"f.orientation.omega_{c}": x for c, x in zip("xyz", 5.0 * rng.normal(size=3), strict=True)}
    exact = s.simulate(start, 0.35, rtol=1e-9, atol=1e-11)
    last = [i for i in exact.contacts.impacts if i.t == exact.contacts.impacts[-1].t]
    assert len(last) == 3 and min(i.before for i in last) < -0.5 < sorted(i.before for i in last)[1]
    errors = []
    for h in (1e-4, 2e-5):
        sol = s.simulate(start, 0.35, "moreau", step=h)
        errors.append(max(abs(float(sol[n][-1] - exact[n][-1])) for n in s.coordinate_names))
    assert errors[1] < 0.5 * errors[0], errors


def test_a_wheel_stands_at_every_angle() -> None:
    """Where its distance is least exactly at one of the sections that are looked at, too."""
    s = thrown(jd.torus(0.3, 0.1, density=500.0), rigid(friction=0.8), floor=jd.box(3, 3, 0.4).at(0, 0, -0.2))
    half = turned("x", 0.5 * math.pi)
    for angle in np.radians([0.0, 15.0, 30.0, 45.0, 7.0]):
        a, b = half["f.orientation.e0"], half["f.orientation.e1"]
        c, d = math.cos(0.5 * angle), math.sin(0.5 * angle)
        spun = {"f.orientation.e0": a * c, "f.orientation.e1": b * c, "f.orientation.e2": -b * d, "f.orientation.e3": a * d}
        found = s.static_forces({"f.z": 0.4} | spun).contact_forces["floor.b.force"]
        assert found[2] == pytest.approx(G * float(s.model.bodies["b"].mass), rel=1e-9)
