"""Beams in the plane: the same as in space, B8 with its orders in step and elements, closed forms, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

import jourdain as jd
from jourdain import elements as el
from jourdain.elements.element import Element, Servo, Symbols
from jourdain.elements.rigid import PlanarBody
from jourdain.errors import ModelError
from jourdain.symbolic.functions import cos, sin

W = 2 * np.pi / 15


def angle(t: jd.Expr) -> jd.Expr:
    """How B8's hub turns, until 15 s."""
    return 0.4 * (0.5 * t * t + (cos(W * t) - 1.0) / W**2)


class Turned(Element):
    """The direction of a planar body follows B8's angle."""

    blocks = {"body": 6}

    def servo(self, s: Symbols) -> Sequence[Servo]:
        b, end, middle = s.at1.body, angle(s.t1), angle(s.t)
        return [Servo("torque", b[3] * cos(end) - b[2] * sin(end), {("body", 2): -sin(middle), ("body", 3): cos(middle)})]


def spun_up(nodes: int, order: int, h: float) -> np.ndarray:
    """Tip of B8's beam in the frame of its hub at 7.4 s: along, across, turn."""
    s = jd.AssembledSystem("spin-up")
    hub = s.coordinates("hub", 6, PlanarBody.coordinates_of())
    s.add(PlanarBody(), "hub.body", {"body": hub}, PlanarBody.numbers(1.0, 1.0))
    s.add(el.PlanarRevolute(el.Ground(2), el.PlanarDirectors()), "pin", {"b": hub}, {"point_a": (0, 0), "point_b": (0, 0)})
    s.add(Turned(), "drive", {"body": hub})
    line = np.linspace((0, 0), (10, 0), nodes)
    s.planar_beam("beam", line, stiffness=(2.8e7, 1e7, 1.4e4), inertia=(1.2, 6e-4), order=order, start=hub)
    sol = s.simulate(7.4, h, reduction="bodies")
    x, turn = sol[f"beam.{nodes - 1}.position"][-1], sol[f"beam.{nodes - 1}.angle"][-1]
    psi = 0.4 * (0.5 * 7.4**2 + (np.cos(W * 7.4) - 1.0) / W**2)
    c, sn = np.cos(psi), np.sin(psi)
    return np.array([c * x[0] + sn * x[1] - 10.0, -sn * x[0] + c * x[1], turn - psi])


#: Converged spectral elements, certain to 1e-10.
B8 = np.array([-0.01792039143, -0.56159730579, -0.07518837458])


def extrapolated(nodes: int, order: int, steps: Sequence[float] = (0.04, 0.02, 0.01)) -> np.ndarray:
    """Steps to zero: the error of a symmetric rule has even powers only."""
    rows, power = [spun_up(nodes, order, h) for h in steps], 4
    while len(rows) > 1:
        rows, power = [(power * b - a) / (power - 1) for a, b in pairwise(rows)], 4 * power
    return rows[0]


def test_spin_up_with_its_orders() -> None:
    """B8 at its largest deflections: order 2 in the step; in elements 2 and 4 for those of two and four nodes; extrapolated steps within 3e-7."""
    errors = [np.abs(spun_up(25, 3, h) - B8)[1] for h in (0.04, 0.02)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)
    fine = extrapolated(49, 3)
    assert np.abs(fine - B8).max() < 4e-7
    for order, nodes, expected in ((1, (13, 25), 2.0), (3, (13, 25), 4.0)):
        coarse = [np.abs(extrapolated(n, order) - fine)[1] for n in nodes]
        assert np.log2(coarse[0] / coarse[1]) == pytest.approx(expected, abs=0.5)


@pytest.mark.slow
def test_spin_up_to_its_certain_digits() -> None:
    """B8 to 1e-10 (1e-11 along the beam), as far as it is known: steps and meshes extrapolated, order 4 in elements of four nodes."""
    rows = [extrapolated(n, 3, (0.01, 0.005, 0.0025, 0.00125)) for n in (25, 49, 97)]
    orders = np.log2(np.abs(rows[1] - rows[0]) / np.abs(rows[2] - rows[1]))
    np.testing.assert_allclose(orders, 4.0, atol=0.02)
    error = np.abs((16 * rows[2] - rows[1]) / 15 - B8)
    assert error[0] < 1e-11 and error[1:].max() < 1e-10


@pytest.mark.parametrize("order", [1, 2, 3])
def test_planar_beams_are_spatial_ones(order: int) -> None:
    """A curved cantilever that swings, in the plane and in space."""
    s = np.linspace(0.0, 1.2, 13)
    line = np.column_stack([np.sin(s), 1.0 - np.cos(s)])
    flat, deep = jd.AssembledSystem("plane"), jd.AssembledSystem("space")
    flat.planar_beam("rod", line, stiffness=(1e4, 4e3, 2.0), inertia=(0.5, 1e-4), order=order, start="clamped", gravity=(0, -9.81))
    stiffness, inertia = np.diag([1e4, 4e3, 4e3, 1.0, 2.0, 2.0]), np.diag([0.5, 0.0, 1e-4, 1e-4])
    deep.beam(
        "rod",
        np.column_stack([line, np.zeros(13)]),
        stiffness=stiffness,
        inertia=inertia,
        order=order,
        start="clamped",
        gravity=(0, -9.81, 0),
    )
    expected = deep.simulate(0.6, 0.01, reduction="bodies")
    for reduction in ("none", "bodies"):
        sol = flat.simulate(0.6, 0.01, reduction=reduction)
        assert sol["rod.12.position"] == pytest.approx(expected["rod.12.position"][:, :2], abs=1e-9)
        assert np.ptp(sol["energy.total"]) < 1e-12 and np.ptp(sol["rod.12.position"][:, 1]) > 0.2
        assert sol["momentum.angular"][:, 2] == pytest.approx(expected["momentum.angular"][:, 2], abs=1e-9)
    name, other = ("rod.e0.M", "rod.e0.Mz") if order == 1 else ("rod.e0.M1", "rod.e0.Mz1")
    assert sol[name] == pytest.approx(expected[other], abs=1e-7)


@pytest.mark.parametrize("order", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["kelvin-voigt", "standard"])
def test_viscous_sections_are_those_of_space(kind: str, order: int) -> None:
    """The same motion, the same loss, and a balance that is exact in every step; free flight keeps its momenta."""
    line, D = np.linspace((0, 0), (1, 0.3), 7), np.array([[3.0, 0.2, 0.0], [0.2, 2.0, 0.0], [0.0, 0.0, 0.05]])
    viscous = {"damping": D} if kind == "kelvin-voigt" else {"branch": 40.0 * D, "relaxation": 0.03}
    wide = np.zeros((6, 6))
    wide[np.ix_([0, 1, 5], [0, 1, 5])] = D
    deeper = {"damping": wide} if kind == "kelvin-voigt" else {"branch": 40.0 * wide, "relaxation": 0.03}
    for start, gravity in (("clamped", -9.81), (None, 0.0)):
        flat, deep = jd.AssembledSystem("plane"), jd.AssembledSystem("space")
        turning = {"velocities": line * 3.0, "omegas": 2.0} if start is None else {}
        flat.planar_beam(
            "rod",
            line,
            stiffness=(1e3, 4e2, 2.0),
            inertia=(0.5, 1e-3),
            order=order,
            start=start,
            gravity=(0, gravity),
            **turning,
            **viscous,
        )
        stiffness, inertia = np.diag([1e3, 4e2, 4e2, 1.0, 2.0, 2.0]), np.diag([0.5, 0.0, 1e-3, 1e-3])
        turning = {"velocities": np.column_stack([line * 3.0, np.zeros(7)]), "omegas": (0, 0, 2.0)} if start is None else {}
        deep.beam(
            "rod",
            np.column_stack([line, np.zeros(7)]),
            stiffness=stiffness,
            inertia=inertia,
            order=order,
            start=start,
            gravity=(0, gravity, 0),
            **turning,
            **deeper,
        )
        expected = deep.simulate(0.5, 0.01, reduction="bodies")
        for reduction in ("none", "bodies"):
            sol = flat.simulate(0.5, 0.01, reduction=reduction)
            assert sol["rod.6.position"] == pytest.approx(expected["rod.6.position"][:, :2], abs=1e-9)
            assert sol["energy.dissipated"] == pytest.approx(expected["energy.dissipated"], abs=1e-9)
            assert np.diff(sol["energy.dissipated"]).min() >= 0.0 and sol["energy.dissipated"][-1] > 1e-3
            assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-12
            if start is None:
                assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-12 and np.ptp(sol["momentum.linear"], axis=0).max() < 1e-12


def test_viscous_constants_of_the_plane_are_checked() -> None:
    s, line = jd.AssembledSystem("s"), np.linspace((0, 0), (1, 0), 3)
    section = {"stiffness": (1.0, 1.0, 1.0), "inertia": (1.0, 1.0)}
    with pytest.raises(ModelError, match=r"viscous constants \['relaxation'\] are given"):
        s.planar_beam("b", line, relaxation=1.0, **section)
    with pytest.raises(ModelError, match="damping must be EA, κGA, EI or a symmetric"):
        s.planar_beam("b", line, damping=(1.0, -1.0, 1.0), **section)
    with pytest.raises(ModelError, match="relaxation time 0 s must be positive"):
        s.planar_beam("b", line, branch=(1.0, 1.0, 1.0), relaxation=0.0, **section)


def test_free_flight_keeps_momenta() -> None:
    s = jd.AssembledSystem("free")
    line = np.linspace((0, 0), (1, 0), 9)
    v = np.column_stack([np.full(9, 0.3), 4.0 * line[:, 0] - 1.0 + 3.0 * line[:, 0] ** 2])
    s.planar_beam("rod", line, stiffness=(1e3, 4e2, 0.3), inertia=(0.5, 1e-4), velocities=v)
    sol = s.simulate(1.0, 0.02, reduction="bodies")
    assert np.ptp(sol["momentum.linear"], axis=0).max() < 1e-12 and np.ptp(sol["momentum.angular"], axis=0).max() < 1e-12
    assert np.ptp(sol["energy.total"]) < 1e-12 and np.ptp(sol["energy.potential"]) > 1e-2


def test_refusals() -> None:
    s = jd.AssembledSystem("s")
    line, about = np.linspace((0, 0), (1, 0), 5), {"stiffness": (1e3, 4e2, 0.3), "inertia": (0.5, 1e-4)}
    with pytest.raises(ModelError, match="beam 'a': order 4 is none of 1, 2 and 3"):
        s.planar_beam("a", line, **about, order=4)
    with pytest.raises(ModelError, match=r"beam 'a': places of shape \(5, 3\)"):
        s.planar_beam("a", np.zeros((5, 3)), **about)
    with pytest.raises(ModelError, match="beam 'a': stiffness must be EA, κGA, EI"):
        s.planar_beam("a", line, stiffness=(1.0, 2.0), inertia=(1, 0))
    with pytest.raises(ModelError, match="beam 'a': inertia"):
        s.planar_beam("a", line, stiffness=(1e3, 4e2, 0.3), inertia=(0.0, 1e-4))
    hub = s.coordinates("hub", 6, PlanarBody.coordinates_of((0.5, 0.0)))
    with pytest.raises(ModelError, match="'hub' is no planar body whose frame is the section"):
        s.planar_beam("a", line, **about, start=hub)
    soft = jd.AssembledSystem("soft")
    soft.planar_beam("rod", line, stiffness=(1e4, 4e3, 1e-3), inertia=(0.5, 1e-5), order=1, start="clamped", gravity=(0, -9.81))
    with pytest.raises(jd.SimulationError, match=r"rod\.e"):
        soft.simulate(1.0, 0.01, reduction="bodies")


def test_a_stiff_pendulum_is_a_rigid_one_as_one_over_its_stiffness() -> None:
    """E up to 10⁴ E: the tip's largest distance from that of a rigid rod in the same steps falls by ten in each decade.

    A start at rest without sag excites vibrations as large as the sag itself: both are ∝ 1/E, but the phase at a given instant, ∝ √E t, is anybody's; so
    instants do not show the law, and the largest distance on the way does.  The same steps on both sides leave out what steps do to either.
    """
    h, pin = 0.01, el.PlanarRevolute(el.Ground(2), el.PlanarDirectors())
    s = jd.AssembledSystem("rod")
    rod = s.coordinates("rod", 6, PlanarBody.coordinates_of(position=(0.5, 0.0)))
    s.add(PlanarBody(), "rod.body", {"body": rod}, PlanarBody.numbers(1.0, 1.0 / 12.0 + 1e-4, gravity=(0, -9.81)))
    s.add(pin, "pin", {"b": rod}, {"point_a": (0, 0), "point_b": (-0.5, 0)})
    rigid = s.simulate(1.0, h, reduction="bodies")
    tip = rigid["rod.position"] + 0.5 * np.stack([np.cos(rigid["rod.angle"]), np.sin(rigid["rod.angle"])], -1)
    errors = []
    for scale in 10.0 ** np.arange(5):
        s = jd.AssembledSystem("beam")
        stiffness = (1e5 * scale, 4e4 * scale, 10.0 * scale)
        nodes = s.planar_beam("beam", np.linspace((0, 0), (1, 0), 5), stiffness=stiffness, inertia=(1.0, 1e-4), order=1, gravity=(0, -9.81))
        s.add(pin, "pin", {"b": nodes[0]}, {"point_a": (0, 0), "point_b": (0, 0)})
        errors.append(float(np.abs(s.simulate(1.0, h, reduction="bodies")["beam.4.position"] - tip).max()))
    assert np.abs(tip[-1] - tip[0]).max() > 1.0
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 10.0, rtol=0.05)
    assert errors[0] / errors[-1] == pytest.approx(1e4, rel=0.01)
