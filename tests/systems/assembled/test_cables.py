"""Cables by places and slopes, and points that slide on them: energy, momenta, catenary, exact beams, friction, ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import jourdain as jd
from jourdain import elements as el
from jourdain.errors import ModelError
from jourdain.systems.assembled.march import March


def test_energy_and_momenta_are_exact() -> None:
    """A cable in free flight with large deformation, in the plane and in space, by both reductions."""
    rng = np.random.default_rng(3)
    for d in (2, 3):
        s = jd.AssembledSystem("free")
        line = np.linspace(np.zeros(d), np.eye(d)[0], 7)
        s.cable("rope", line, axial=500.0, bending=0.02, mass_per_length=0.3, velocities=rng.uniform(-3, 3, line.shape))
        sol = s.simulate(0.5, 0.01)
        assert np.ptp(sol["energy.total"]) < 1e-11 and np.ptp(sol["energy.potential"]) > 0.1
        for name in ("momentum.linear", "momentum.angular"):
            assert np.ptp(sol[name], axis=0).max() < 1e-11


def test_it_is_the_exact_beam_without_shear() -> None:
    """A cantilever that swings through a third of its length: that of directors with stiff shear, differences of second order in the pieces."""
    errors = []
    for n in (5, 9):
        s = jd.AssembledSystem("cantilever")
        s.cable("rod", np.linspace((0, 0), (1, 0), n), axial=1e4, bending=2.0, mass_per_length=0.5, gravity=(0, -9.81), start="clamped")
        sol = s.simulate(0.5, 2e-3)
        beam = jd.AssembledSystem("beam")
        line = np.linspace((0, 0), (1, 0), 31)
        beam.planar_beam("rod", line, stiffness=(1e4, 1e5, 2.0), inertia=(0.5, 0.0), order=3, start="clamped", gravity=(0, -9.81))
        expected = beam.simulate(0.5, 2e-3, reduction="bodies")["rod.30.position"]
        errors.append(np.abs(sol[f"rod.{n - 1}"][:, :2] - expected).max())
        assert np.ptp(expected[:, 1]) > 0.3
    assert errors[1] < 5e-3 and errors[1] < 0.5 * errors[0]


def test_it_hangs_as_a_catenary() -> None:
    """Without bending stiffness: sag of a rope of given length between two points; tension at the lowest point is w·a."""
    length, w = 2.4, 0.5 * 9.81
    a = brentq(lambda a: 2 * a * np.sinh(1.0 / a) - length, 0.2, 10.0)
    arc = np.linspace(-length / 2, length / 2, 17)
    X = np.column_stack([a * np.arcsinh(arc / a), np.hypot(a, arc)])
    steps = np.diff(X, axis=0)  # chords of equal length, a little wider than the catenary
    X[1:] = X[0] + np.cumsum(steps / np.linalg.norm(steps, axis=1)[:, None] * length / 16, axis=0)
    s = jd.AssembledSystem("rope")
    s.cable("rope", X, axial=1e5, bending=1e-6, mass_per_length=0.5, length=length, gravity=(0, -9.81), start="pinned")
    s.add(Held(), "hook", {"node": s.handles[16]}, {"place": X[16]})
    found = s.equilibrium()
    half = 0.5 * (X[16, 0] - X[0, 0])
    a = brentq(lambda a: 2 * a * np.sinh(half / a) - length, 0.2, 10.0)
    place = found.q[s.handles[8].offset : s.handles[8].offset + 2]
    assert X[0, 1] - place[1] == pytest.approx(a * (np.cosh(half / a) - 1.0), rel=1e-3)
    assert abs(found.multipliers["hook.x"]) == pytest.approx(w * a, rel=2e-3)


class Held(el.Element):
    """A node of a cable stays at a place."""

    def __init__(self) -> None:
        self.blocks, self.constants = {"node": 4}, {"place": 2}

    def constraints(self, s: el.Symbols) -> list[tuple[str, list[jd.Expr]]]:
        return [("x", [s.node[0] - s.place[0]]), ("y", [s.node[1] - s.place[1]])]


def ring(
    friction: object = None, at: float = 0.6, speed: float = 0.0, tight: float = 1.0, coefficient: float = 0.0, creep: float = 1e-3
) -> jd.AssembledSystem:
    s = jd.AssembledSystem("ring")
    line = s.cable(
        "line", np.linspace((0, 0, 0), (2, 0, 0), 5), axial=1e4, bending=1e-2, mass_per_length=0.2, length=2.0 / tight, gravity=(0, 0, -9.81),
        start="pinned", end="pinned",
    )  # fmt: skip
    body = s.coordinates("ring", 12, el.DirectorBody.coordinates_of((at, 0, 0)), np.array([speed] + 11 * [0.0]))
    s.add(el.DirectorBody(), "ring.body", {"body": body}, el.DirectorBody.numbers(0.3, (1e-3,) * 3, gravity=(0, 0, -9.81)))
    s.slide("along", line, body, at / tight, friction=friction, coefficient=coefficient, speed=creep)
    return s


def test_a_ring_slides_over_pieces_with_exact_energy() -> None:
    """Over the bounds of pieces both ways; with viscous and with dry friction the balance is exact, too."""
    for friction in (None, (el.Viscous(), {"damping": 0.05}), (el.Plastic(), {"stiffness": 1e3, "limit": 0.1})):
        s = ring(friction, speed=1.5, at=0.8)
        sol = s.simulate(0.8, 0.01, reduction="bodies")
        assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-10
        assert any(e.name.startswith("along.up") for e in sol.events) and np.ptp(sol["along"]) > 0.3
        if friction is not None:
            assert sol["energy.dissipated"][-1] > 1e-3 and np.diff(sol["energy.dissipated"]).min() > -1e-12


def test_on_a_tight_wire_it_is_a_bead() -> None:
    """A wire with a large tension is nearly straight: with dry friction F the bead stops after m v²/2F."""
    s = ring((el.Plastic(), {"stiffness": 1e4, "limit": 0.5}), at=0.4, speed=0.8, tight=1.05)
    for i in s.instances:
        if i.name == "ring.body":
            i.numbers[-3:] = 0.0
        if i.name.startswith("line.e"):
            i.numbers[-3:] = 0.0
    sol = s.simulate(0.8, 0.01, reduction="bodies")
    assert sol["along"][-1] - sol["along"][0] == pytest.approx(0.3 * 0.8**2 / 2 / 0.5, rel=0.05)


@pytest.mark.parametrize("mu", [0.1, 0.3])
def test_friction_follows_the_normal_force(mu: float) -> None:
    """On a tight wire a heavy bead stops after v²/2μg, whatever its mass; steps halved give the same."""
    ways = []
    for h in (0.005, 0.0025):
        s = ring(at=0.4, speed=0.8, tight=1.3, coefficient=mu, creep=1e-4)
        sol = s.simulate(0.8**2 / (2 * mu * 9.81) / 0.4 + 0.05, h, reduction="bodies")
        assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-10
        assert np.diff(sol["energy.dissipated"]).min() > -1e-13
        ways.append(1.3 * (sol["along"][-1] - sol["along"][0]))
    assert ways[1] == pytest.approx(0.8**2 / (2 * mu * 9.81), rel=0.05)
    assert ways[0] == pytest.approx(ways[1], rel=0.01)


def test_friction_by_normal_force_has_no_accelerations() -> None:
    with pytest.raises(jd.InputError, match="friction follows the normal force of a step.*'energy-momentum'"):
        ring(coefficient=0.2).simulate(0.1, 0.01, method="generalized-alpha")


@pytest.mark.parametrize("dimension", [2, 3])
def test_viscous_cables_dissipate_what_they_lose(dimension: int) -> None:
    """Along a bar with one end fixed the first mode decays by η/EA · ω/2; work and dissipation balance in large motions as well."""
    line = np.linspace((0,) * dimension, (1,) + (0,) * (dimension - 1), 9)
    s = jd.AssembledSystem("bar")
    s.cable("rope", line, axial=100.0, mass_per_length=1.0, start="pinned", viscosity=0.5, velocities=1e-4 * np.sin(0.5 * np.pi * line))
    omega = 0.5 * np.pi * 10.0
    sol = s.simulate(2.0, 1e-3)
    x = sol["rope.8"][:, 0] - 1.0
    top = [k for k in range(1, len(x) - 1) if x[k] >= x[k - 1] and x[k] > x[k + 1]]
    decay = np.log(x[top[2]] / x[top[-1]]) / (sol.t[top[-1]] - sol.t[top[2]])
    assert decay == pytest.approx(0.5 * 0.5 / 100.0 * omega**2, rel=5e-3)
    s = jd.AssembledSystem("whip")
    fall = (0,) * (dimension - 1) + (-9.81,)
    s.cable("rope", line, axial=1e3, bending=1e-2, mass_per_length=0.5, start="pinned", viscosity=5.0, gravity=fall)
    sol = s.simulate(1.0, 0.01)
    assert np.ptp(sol["energy.total"] + sol["energy.dissipated"]) < 1e-11 < 1e-3 < sol["energy.dissipated"][-1]
    assert np.diff(sol["energy.dissipated"]).min() > -1e-13


def test_slack_and_tight_starts() -> None:
    """A slack cable starts on its catenary, near rest; one that is shorter than its span under EA (L/ℓ − 1)."""
    places, slopes = el.catenary((0, 0, 0), (1, 0.5, 0.3), 1.6, 24)
    a, b = places[0], places[-1]
    np.testing.assert_allclose([a, b], [[0, 0, 0], [1, 0.5, 0.3]], atol=1e-12)
    s = jd.AssembledSystem("slack")
    s.cable(
        "rope",
        places,
        slopes=slopes,
        length=1.6,
        axial=1e6,
        bending=1e-6,
        mass_per_length=0.3,
        gravity=(0, 0, -9.81),
        start="pinned",
        end="pinned",
    )
    sol = s.simulate(0.2, 0.005)
    moved = max(np.abs(sol[f"rope.{k}"][:, :3] - sol[f"rope.{k}"][0, :3]).max() for k in range(25))
    assert moved < 2e-3 and np.ptp(sol["energy.total"]) < 1e-10
    s = jd.AssembledSystem("tight")
    s.cable("rope", np.linspace((0, 0), (1, 0), 9), length=0.98, axial=1e3, mass_per_length=0.3, start="pinned", end="pinned")
    sol = s.simulate(0.05, 0.005)
    assert sol["rope.e3.N"] == pytest.approx(1e3 * (1 / 0.98 - 1), rel=1e-9)
    with pytest.raises(jd.ModelError, match=r"a catenary of 0.9 m in 4 pieces between points 1 m apart does not hang"):
        el.catenary((0, 0, 0), (1, 0, 0), 0.9, 4)


def test_refusals() -> None:
    s = jd.AssembledSystem("s")
    line = np.linspace((0, 0), (1, 0), 5)
    with pytest.raises(ModelError, match="cable 'c': places of shape"):
        s.cable("c", line[:1], axial=1.0, mass_per_length=1.0)
    with pytest.raises(ModelError, match="cable 'c': axial = -1 N"):
        s.cable("c", line, axial=-1.0, mass_per_length=1.0)
    with pytest.raises(ModelError, match="put them at even distances"):
        s.cable("c", [(0, 0), (1, 0), (3, 0)], axial=1.0, mass_per_length=1.0)
    with pytest.raises(ModelError, match="its end 'glued' is neither"):
        s.cable("c", line, axial=1.0, mass_per_length=1.0, start="glued")
    c = s.cable("rope", line, axial=100.0, mass_per_length=1.0)
    bead = s.coordinates("bead", 2, (0.5, 0.1))
    with pytest.raises(ModelError, match=r"at = 1.5 m is not on the cable 'rope' of 1 m"):
        s.slide("bead.along", c, bead, 1.5)
    with pytest.raises(ModelError, match="the point of 'bead' is 0.1 m away from the cable at 0.5 m"):
        s.slide("bead.on", c, bead, 0.5)
    leaving = ring(at=1.7, speed=3.0)
    with pytest.raises(jd.SimulationError, match="sliding joint 'along' leaves the cable 'line' at its end at t = 0.1"):
        leaving.simulate(1.0, 0.01, reduction="bodies")


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("pieces", [1, 2, 3, 4, 5, 9])
def test_pieces_side_by_side_are_pieces_one_by_one(dimension: int, pieces: int) -> None:
    """Native loops take some pieces at a time; residual and matrix are those of single ones, also of the last that do not fill a register."""
    rng = np.random.default_rng(pieces)
    s = jd.AssembledSystem("rope")
    line = np.linspace(np.zeros(dimension), np.eye(dimension)[0], pieces + 1)
    s.cable("rope", line, axial=1e3, bending=2.0, mass_per_length=0.5, gravity=-9.81 * np.eye(dimension)[1], start="clamped")
    run = March(s, 1.0, 0.01).run
    run.vec.v0 = rng.normal(size=run.vec.v0.size)

    def evaluated() -> tuple[np.ndarray, np.ndarray]:
        values = run.matrix().copy()
        return values, run.r.copy()

    wide = evaluated()
    table = run.plan.kernels.array
    assert (table["wide"][:2] != 0).all() == (pieces > 1)
    kept = table["wide"].copy()
    table["wide"] = 0
    single = evaluated()
    table["wide"] = kept
    for a, b in zip(wide, single, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * np.abs(b).max())
