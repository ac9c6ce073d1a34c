"""Models of rigid bodies and solids of large deformation: couplings and reductions, momentum, the linear limit, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.structures import Material, block

SMALL = {"blades": 2, "cells": (4, 1, 1)}


def run(
    coupling: str = "null space", reduction: str = "bodies", t: float = 0.6, step: float = 0.05, x0: Any = None, **options: Any
) -> jd.Solution:
    rotor = jd.library.helicopter_rotor(**{**SMALL, "ramp": 0.2, "stiffness": 0.1, **options})
    return rotor.compile(formulation="directors", coupling=coupling, reduction=reduction).simulate(x0 or {}, t=t, step=step)


def test_18_T13_every_coupling_and_reduction_gives_the_same_motion() -> None:
    """BHEMC and RHEMC of the thesis (T13): equal to 1e-9, and each exact in energy."""
    expected = run("constraints", "none")
    assert expected["energy.potential"].max() > 0.02 * expected["energy.total"].max()
    assert expected["constraints.violation"].max() < 1e-12
    for coupling in ("null space", "constraints"):
        for reduction in ("none", "projection", "bodies", "joints"):
            sol = run(coupling, reduction)
            assert sol["mast.angle"] == pytest.approx(expected["mast.angle"], abs=1e-9)
            assert sol["blade2.9"] == pytest.approx(expected["blade2.9"], abs=1e-9)
            assert np.ptp(sol["energy.total"] - sol["energy.supplied"]) < 1e-10 * sol["energy.total"].max()


def test_18_T13_momentum_of_the_rotor_is_the_impulse_of_its_torque() -> None:
    """L₃ = torque · ramp after the torque has ended, to second order in the step's angle; L₁ = L₂ = 0, and the energy is constant."""
    errors = []
    for step in (0.05, 0.025):
        sol = run(step=step, t=1.0)
        late = sol.t > 0.4 - 1e-9
        L, e = sol["momentum.angular"][late], sol["energy.total"][late]
        assert np.ptp(L, axis=0).max() < 1e-10 * L[-1, 2] and np.abs(L[:, :2]).max() < 1e-10 * L[-1, 2]
        assert np.ptp(e) < 1e-12 * e[-1]
        errors.append(abs(L[-1, 2] / (2e4 * 0.2) - 1.0))
    assert errors[0] < 3e-4 and errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def test_18_T13_unknowns_are_those_of_the_thesis() -> None:
    """1825 of the reduced scheme and 2041 of the basic one, with 228 hexahedra and 640 nodes (Uhlar, Sec. 6.4.1)."""
    rotor = jd.library.helicopter_rotor()
    for coupling, reduction, unknowns in (("null space", "joints", 1825), ("constraints", "none", 2041)):
        system = rotor.compile(formulation="directors", coupling=coupling).assembled()
        assert sum("blade" in i.name and "[" in i.name for i in system.instances) == 228
        assert system.report(0.02, reduction=reduction)["unknowns"] == unknowns


def test_18_T13_stiff_blades_turn_as_a_rigid_rotor() -> None:
    """With blades 1000 times stiffer: L₃ = J θ̇ with the inertia of hub and blades about the mast."""
    sol = run(stiffness=1e3, t=1.0, step=0.02)
    blade = 510.0 * 9.5 * 0.9 * 0.2
    inertia = 375.0 + 2 * blade * ((9.5**2 + 0.9**2) / 12 + (1.5 + 4.75) ** 2)
    late = sol.t > 0.4
    rate = np.diff(sol["mast.angle"])[late[1:]] / 0.02
    assert rate.mean() == pytest.approx(2e4 * 0.2 / inertia, rel=1e-3)


def one_blade(torque: float) -> jd.Model:
    m = jd.Model("one", gravity=(0, 0, 0))
    hub = m.body("hub", mass=5.0, inertia=(1.0, 1.0, 1.0))
    m.force(m.revolute("mast", m.ground, hub, axis="z"), lambda x, v, t: torque * jd.where(t < 0.3, 1.0, 0.0), name="drive")
    part = block((1.0, 0.1, 0.05), (3, 1, 1), Material(1e6, 0.3, 500.0), origin=(0.2, -0.05, -0.025))
    part.interface("root", "x-")
    m.flexible_body("blade", part.craig_bampton(30), attach={"root": hub.at(0.2, 0.0, 0.0)})
    return m


@pytest.mark.slow
def test_small_deformations_are_those_of_the_floating_frame() -> None:
    """The same model with all modes of its blade: what differs is of second order in the load."""
    errors = []
    for torque in (0.4, 0.1):
        directors = one_blade(torque).compile(formulation="directors", reduction="bodies").simulate({}, t=0.5, step=1e-3)
        floating = one_blade(torque).compile().simulate({}, t=0.5, times=np.linspace(0, 0.5, 501), rtol=1e-9, atol=1e-12)
        rigid = torque / 1.0
        errors.append(np.abs(directors["mast.angle"] - floating["mast.angle"]).max() / rigid)
    assert errors[0] < 2e-3
    assert errors[1] < 1e-4 or errors[0] / errors[1] > 3.0


def test_a_part_between_two_bodies_and_the_ground() -> None:
    """A block between two bodies, and one that is clamped to the ground, keep the energy."""
    m = jd.Model("bridge")
    a, b = m.body("a", mass=1.0, inertia=(0.1, 0.1, 0.1)), m.body("b", mass=2.0, inertia=(0.1, 0.1, 0.2))
    m.revolute("hinge", m.ground, a, axis="y")
    m.joint("free", "b_free", m.ground, b)
    part = block((1.0, 0.2, 0.2), (3, 1, 1), Material(2e5, 0.3, 100.0), origin=(0, -0.1, -0.1))
    part.interface("left", "x-")
    part.interface("right", "x+")
    m.flexible_body("bar", part, attach={"left": a, "right": b.at(-0.1, 0.0, 0.0)}, modes=3)
    post = block((0.2, 0.2, 1.0), (1, 1, 3), Material(1e5, 0.3, 100.0), origin=(-0.1, 0.9, 0.0))
    post.interface("foot", "z-")
    m.flexible_body("post", post, attach={"foot": m.ground.at(0.0, 1.0, 0.0)}, modes=3)
    system = m.compile(formulation="directors", reduction="bodies")
    start = {n: x for n, x in zip(system.coordinate_names, system.state({}).q, strict=True)}
    shifted = next(n for n in start if n.startswith("b_free") and n.endswith("x"))
    sol = system.simulate({**start, shifted: 1.1}, t=0.5, step=0.01)
    assert np.ptp(sol["energy.kinetic"]) > 1.0 and np.ptp(sol["energy.total"]) < 1e-10
    assert sol["b.position"][0] == pytest.approx((1.1, 0.0, 0.0))
    with pytest.raises(InputError, match=r"flexible body 'bar': its undeformed interface 'right' is 1 m away from 'b'"):
        system.simulate({**start, shifted: 2.1}, t=0.1, step=0.01)


def test_another_start_puts_the_parts_there() -> None:
    """Elements of an ended run serve the next one, undeformed at its start."""
    rotor = jd.library.helicopter_rotor(**SMALL, ramp=0.2)
    system = rotor.compile(formulation="directors", reduction="bodies")
    first, second = (system.simulate({"mast.angle": a, "mast.angle_rate": 0.3}, t=0.2, step=0.02) for a in (0.0, 1.0))
    assert second["mast.angle"] - 1.0 == pytest.approx(first["mast.angle"], abs=1e-10)
    assert second["energy.total"] == pytest.approx(first["energy.total"], rel=1e-10)
    c, s = np.cos(1.0), np.sin(1.0)
    assert second["blade1.9"] == pytest.approx(first["blade1.9"] @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]]), abs=1e-9)


def test_a_run_goes_on_where_another_ended() -> None:
    system = jd.library.helicopter_rotor(**SMALL, ramp=0.2, stiffness=0.1).compile(formulation="directors", reduction="bodies")
    whole = system.simulate({}, t=0.4, step=0.02)
    half = system.simulate({}, t=0.2, step=0.02)
    rest = system.simulate(half, t=(0.2, 0.4), step=0.02)
    assert rest["blade1.9"][-1] == pytest.approx(whole["blade1.9"][-1], abs=1e-12)
    few = system.simulate({}, t=0.4, step=0.02, times=[0.0, 0.1, 0.2])
    assert few["blade1.9"].shape == (3, 3) and few["blade1.9"][2] == pytest.approx(half["blade1.9"][-1], abs=1e-6)
    with pytest.raises(InputError, match="goes on by the method 'energy-momentum' with which it ended"):
        system.simulate(half, t=(0.2, 0.4), step=0.02, method="midpoint")


def test_a_copy_moves_alike() -> None:
    system = one_blade(0.4).compile(formulation="directors", reduction="bodies")
    assert system.copy().simulate({}, t=0.1, step=0.01)["mast.angle"] == pytest.approx(
        system.simulate({}, t=0.1, step=0.01)["mast.angle"], abs=1e-13
    )


def flexible(part: Any, kind: str = "fixed", **options: Any) -> jd.Model:
    m = jd.Model("bad")
    hub = m.body("hub", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.revolute("hinge", m.ground, hub)
    body = m.flexible_body("part", part, modes=2, **options)
    m.joint(kind, "hold", hub, body.node("root"))
    return m


def bar(name: str = "root") -> Any:
    part = block((1.0, 0.1, 0.1), (2, 1, 1), Material(1e6, 0.3, 100.0))
    part.interface(name, "x-")
    return part


def test_refusals_name_the_body_and_the_remedy() -> None:
    alone = jd.structures.Structure(bar().nodes, bar().M, bar().K)
    alone.interface("root", [0, 1, 2, 3])
    with pytest.raises(InputError, match="this structure has matrices alone"):
        flexible(alone).compile(formulation="directors")
    with pytest.raises(InputError, match="damping of modes has no counterpart"):
        flexible(bar(), damping=0.01).compile(formulation="directors")
    heavy = bar().with_mass(8, 1.0)
    with pytest.raises(InputError, match="its structure has masses beside those of its elements"):
        flexible(heavy).compile(formulation="directors")
    free = jd.Model("free")
    free.flexible_body("part", bar(), modes=2)
    with pytest.raises(InputError, match="flexible body 'part': nothing holds it"):
        free.compile(formulation="directors")
    loaded = flexible(bar())
    loaded.load("pull", loaded.bodies["part"].node(8), (0, 0, 1.0))  # type: ignore[attr-defined]
    with pytest.raises(jd.ModelError, match="'pull': node 8 of flexible body 'part' has no rotation"):
        loaded.compile(formulation="directors")
    floating = flexible(bar())
    floating.sensor("eye", floating.bodies["part"].origin)
    with pytest.raises(InputError, match="'eye' holds on to its floating frame"):
        floating.compile(formulation="directors")
    compiled = flexible(bar())
    system = compiled.compile(formulation="directors")
    with pytest.raises(jd.ModelError, match="is compiled"):
        compiled.body("late", mass=1.0, inertia=(1.0, 1.0, 1.0))
    for verb in ("equilibrium", "modal", "linearise", "accelerations", "reactions"):
        with pytest.raises(InputError, match=f"'{verb}' is not known of a model with parts of large deformation"):
            getattr(system, verb)()


@pytest.mark.slow
def test_18_T13_e15_of_the_thesis() -> None:
    """The whole rotor: L₃ = 30 000 N m s after t = 3 s, L₁ = L₂ = 0, and a constant energy from then on."""
    sol = jd.library.helicopter_rotor().compile(formulation="directors", reduction="bodies").simulate({}, t=4.0, step=0.02)
    late = sol.t > 3.0 - 1e-9
    L, e = sol["momentum.angular"][late], sol["energy.total"][late]
    assert np.ptp(L[:, 2]) < 1e-12 * 3e4 and np.abs(L[:, :2]).max() < 1e-12 * 3e4
    assert L[-1, 2] == pytest.approx(3e4, rel=1e-6)
    assert np.ptp(e) < 1e-12 * e[-1] and sol["energy.potential"].max() > 600.0
