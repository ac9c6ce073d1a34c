"""Every kinematic pair in motion on the energy-consistent engine: energy, momenta, and the same motion with eliminated rotations."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.elements.augmentation import JointAngle, JointDisplacement, Screw
from jourdain.elements.carriers import Ground
from jourdain.elements.dissipation import Viscous
from jourdain.elements.pairs import Cylindrical, Pair, Planar, Prismatic, Revolute, Rigid, Spherical, Universal
from jourdain.elements.potentials import CoordinatePotential
from jourdain.elements.rigid import DirectorBody
from jourdain.systems.assembled.system import AssembledSystem
from tests.elements.readings import rotations

PAIRS = [Spherical, Revolute, Prismatic, Cylindrical, Planar, Universal, Rigid, Screw]


def flying(pair: type[Pair], ground: bool = False, seed: int = 5) -> AssembledSystem:
    """A pair of random bodies with random rates, projected onto the constraints; with gravity when on the ground."""
    rng = np.random.default_rng(seed)
    s = AssembledSystem(pair.__name__)
    handles, starts = {}, {}
    for name in ("b",) if ground else ("a", "b"):
        q = DirectorBody.coordinates_of(0.5 * rng.normal(size=3), rotations(rng, 1)[0])
        body = s.coordinates(name, 12, q)
        gravity = (0.0, 0.0, -9.81) if ground else (0.0, 0.0, 0.0)
        s.add(
            DirectorBody(),
            f"inertia.{name}",
            {"body": body},
            DirectorBody.numbers(rng.uniform(1, 2), rng.uniform(0.2, 0.35, 3), gravity=gravity),
        )
        handles[name], starts[name] = body, q
    element = pair(a=Ground()) if ground else pair()
    options = {"pitch_per_radian": 0.2} if pair is Screw else {}
    constants = element.place(0.5 * rng.normal(size=3), rng.normal(size=3), starts.get("a"), starts["b"], **options)
    blocks = dict(handles)
    for name in element.blocks:
        if name not in blocks:
            blocks[name] = s.coordinates(name, 1, 0.0)
    s.add(element, "joint", blocks, constants)
    rates = np.zeros(len(s.q0))
    for name, q in starts.items():
        h = handles[name]
        rates[h.offset : h.offset + 12] = DirectorBody.rates_of(q, rng.normal(size=3), 2.0 * rng.normal(size=3))
    G = s.equations.at(s.q0, rates, 0.0).rows.toarray()
    s.set_state(s.q0, rates - np.linalg.pinv(G) @ (G @ rates))
    return s


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.__name__)
def test_free_pair(pair: type[Pair]) -> None:
    sol = flying(pair).simulate(2.0, 0.05)
    assert np.abs(sol["b.rotation"][-1] - sol["b.rotation"][0]).max() > 0.05
    assert np.ptp(sol["energy.total"]) < 1e-11
    assert np.ptp(sol["momentum.linear"], axis=0).max() < 1e-11
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11
    assert sol["constraints.violation"].max() < 1e-11
    # relative motion is not locked by mistake: freedoms of the pair move (except of the rigid connection)
    relative = np.einsum("nij,nik->njk", sol["a.rotation"], sol["b.rotation"])
    gap = np.einsum("nij,ni->nj", sol["a.rotation"], sol["b.position"] - sol["a.position"])
    moved = max(np.ptp(relative, axis=0).max(), np.ptp(gap, axis=0).max())
    assert (moved < 1e-10) == (pair is Rigid)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.__name__)
def test_eliminated_rotations_move_alike(pair: type[Pair]) -> None:
    full, reduced = (flying(pair).simulate(1.0, 0.05, reduction=r) for r in ("none", "bodies"))
    for name in ("a.position", "b.position", "b.rotation"):
        assert np.abs(full[name] - reduced[name]).max() < 1e-10


@pytest.mark.parametrize("pair", [p for p in PAIRS if p is not Rigid], ids=lambda p: p.__name__)
def test_pair_on_the_ground_under_gravity(pair: type[Pair]) -> None:
    sol = flying(pair, ground=True).simulate(1.0, 0.02)
    assert np.ptp(sol["energy.kinetic"]) > 1e-3
    assert np.ptp(sol["energy.total"]) < 1e-11


def test_spring_and_damper_on_the_coordinates_of_a_cylindrical_joint() -> None:
    """A torsion spring and a damper on the angle, a spring on the displacement: momenta stay, the energy balance closes."""
    s = flying(Cylindrical)
    a, b = (h for h in s.handles if h.name in "ab")
    joint = next(i for i in s.instances if i.name == "joint")
    angle, u = s.coordinates("angle", 1, 0.0, unit="rad"), s.coordinates("u", 1, 0.0, unit="m")
    frames = {"frame_a": joint.numbers[6:15], "frame_b": joint.numbers[15:24]}
    points = {"point_a": joint.numbers[:3], "point_b": joint.numbers[3:6]}
    assert list(joint.element.constants) == ["point_a", "point_b", "frame_a", "frame_b"]
    s.add(JointAngle(), "turn", {"a": a, "b": b, "angle": angle}, frames)
    s.add(JointDisplacement(), "slide", {"a": a, "b": b, "displacement": u}, {**points, **frames})
    s.add(CoordinatePotential(), "torsion", {"x": angle}, {"stiffness": 3.0, "rest": 0.5})
    s.add(CoordinatePotential(), "spring", {"x": u}, {"stiffness": 40.0, "rest": 0.1})
    s.add(Viscous(), "damper", {"x": angle}, {"damping": 0.2})
    G = s.equations.at(s.q0, s.v0, 0.0).rows.toarray()
    s.set_state(s.q0, s.v0 - np.linalg.pinv(G) @ (G @ s.v0))
    sol = s.simulate(3.0, 0.02)
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-11
    assert sol["energy.dissipated"][-1] > 1e-3
    balance = sol["energy.total"] + sol["energy.dissipated"]
    assert np.ptp(balance) < 1e-11
    assert np.abs(sol["turn.angle error"]).max() < 1e-11
