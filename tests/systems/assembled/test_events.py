"""Events in the energy-consistent engine: releases, lift-off, landing, impacts, switches and stops, located as true states of the scheme."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.analysis.simulate import Controller, SimulationError
from jourdain.elements.augmentation import JointAngle
from jourdain.elements.carriers import Ground
from jourdain.elements.dissipation import Plastic
from jourdain.elements.element import Element
from jourdain.elements.pairs import Revolute
from jourdain.elements.potentials import CoordinatePotential, PointMass
from jourdain.elements.rigid import DirectorBody
from jourdain.errors import ModelError
from jourdain.systems.assembled.system import AssembledSystem
from jourdain.systems.formulations import formulate

G = 9.81


def thrown() -> AssembledSystem:
    """A pendulum that starts level and is let go of when it has swung down by arctan ½."""
    s = AssembledSystem("thrower")
    q = DirectorBody.coordinates_of((1.0, 0.0, 0.0))
    rod = s.coordinates("rod", 12, q)
    s.add(DirectorBody(), "inertia", {"body": rod}, DirectorBody.numbers(1.0, (0.01, 0.1, 0.1), gravity=(0, 0, -G)))
    hinge = Revolute(a=Ground())
    s.add(hinge, "pivot", {"b": rod}, hinge.place((0, 0, 0), (0, 1, 0), b=q))
    s.event("release", lambda s: s.b[2] + 0.5 * s.b[0], {"b": rod}, direction=-1, action=lambda at: at.remove("pivot"))
    return s


def release_time() -> float:
    """The instant of release by the tree engine."""
    m = jd.Model("thrower")
    rod = m.body("rod", mass=1.0, com=(1, 0, 0), inertia=(0.01, 0.1, 0.1))
    hinge = m.revolute("hinge", m.ground, rod, axis="y")
    m.event("release", hinge.position - np.arctan(0.5), terminal=True)
    return float(m.compile().simulate({}, 1.0, rtol=1e-12, atol=1e-13).t[-1])


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_a_released_pendulum_flies_on_a_parabola_with_the_same_energy(reduction: str) -> None:
    sol = thrown().simulate(1.5, 0.02, reduction=reduction)
    ((when, name),) = sol.metadata["events"]
    k = int(np.searchsorted(sol.t, when))
    p, v = sol["rod.position"][k], sol["rod.velocity"][k]
    assert name == "release" and abs(p[2] + 0.5 * p[0]) < 1e-14 and sol.t[k] == sol.t[k + 1] == when
    after = slice(k + 1, None)
    t = (sol.t[after] - when)[:, None]
    assert np.allclose(sol["rod.position"][after], p + v * t - 0.5 * G * t**2 * np.array([0, 0, 1]), atol=1e-12)
    assert np.ptp(sol["energy.total"]) < 1e-11
    turning = sol["momentum.angular"] - np.cross(sol["rod.position"], sol["rod.velocity"])
    assert np.ptp(turning[after], axis=0).max() < 1e-11
    assert np.all(sol["pivot.position.z"][after] == 0.0) and np.all(sol["pivot.position.z"][1 : k + 1] != 0.0)
    assert sol["constraints.violation"].max() < 1e-12


@pytest.mark.parametrize("method", ["energy-momentum", "variational", "generalized-alpha", "hht"])
def test_the_instant_of_release_is_of_second_order(method: str) -> None:
    exact, s = release_time(), thrown()
    errors = [abs(s.simulate(0.5, h, method).metadata["events"][0][0] - exact) for h in (0.02, 0.01)]
    assert errors[0] < 2e-4 and errors[0] / errors[1] == pytest.approx(4.0, abs=0.6)


class Hill(Element):
    """A bead on a round hill of radius 1: ½ (x² + z² − 1) = 0."""

    def __init__(self) -> None:
        self.blocks = {"x": 2}

    def constraints(self, s: Any) -> Any:
        return [("contact", (0.5 * (s.x[0] * s.x[0] + s.x[1] * s.x[1] - 1.0),))]


class Weight(Element):
    def __init__(self) -> None:
        self.blocks = {"x": 2}

    def potential(self, s: Any) -> Any:
        return (G * s.x[1],)


class Line(Element):
    """A guide x + z = 0."""

    def __init__(self) -> None:
        self.blocks = {"x": 2}

    def constraints(self, s: Any) -> Any:
        return [("contact", (s.x[0] + s.x[1],))]


def bead(q: Any, v: Any) -> tuple[AssembledSystem, Any]:
    s = AssembledSystem("bead")
    x = s.coordinates("bead", 2, q, v)
    s.add(PointMass(2), "mass", {"x": x}, {"mass": 1.0})
    s.add(Weight(), "weight", {"x": x})
    return s, x


def lift_off(h: float) -> Any:
    """A bead leaves the hill where the guide would have to pull: cos θ = (2 + v₀²/g)/3."""
    s, x = bead((0.0, 1.0), (0.5, 0.0))
    s.add(Hill(), "hill", {"x": x})
    s.event("lift-off", "hill.contact", direction=1, action=lambda at: at.remove("hill"))
    return s.simulate(1.2, h)


def test_a_unilateral_guide_lets_go_where_its_force_changes_sign() -> None:
    errors = []
    for h in (0.01, 0.005):
        sol = lift_off(h)
        ((when, _),) = sol.metadata["events"]
        k = int(np.searchsorted(sol.t, when))
        errors.append(abs(sol["bead"][k, 1] - (2.0 + 0.25 / G) / 3.0))
        assert np.ptp(sol["energy.total"]) < 1e-11
        assert np.hypot(*sol["bead"][k + 5 :].T).min() > 1.0 and np.ptp(np.diff(sol["bead.rate"][k + 1 :, 0])) < 1e-11
        assert np.all(sol["hill.contact"][2:k] < 0.0)
    assert errors[0] < 1e-2 and errors[0] / errors[1] == pytest.approx(4.0, abs=0.5), errors


def test_landing_on_a_guide_takes_the_normal_part_of_the_velocity() -> None:
    """Energy lost: half the mass times the square of the normal speed; the rest slides down the guide with g/√2."""
    s, x = bead((1.0, 0.0), (0.2, 1.0))
    s.add(Line(), "guide", {"x": x}, active=False)
    s.event("landing", lambda s: s.x[0] + s.x[1], {"x": x}, direction=-1, action=lambda at: at.insert("guide"))
    sol = s.simulate(1.5, 0.01)
    ((when, _),) = sol.metadata["events"]
    assert when == pytest.approx((1.2 + np.sqrt(1.44 + 2 * G)) / G, abs=1e-12)
    k = int(np.searchsorted(sol.t, when))
    normal = np.array([1.0, 1.0]) / np.sqrt(2)
    before, after = sol["bead.rate"][k], sol["bead.rate"][k + 1]
    assert abs(after @ normal) < 1e-12 and (after - before) @ np.array([1, -1]) == pytest.approx(0.0, abs=1e-12)
    loss = 0.5 * (before @ normal) ** 2
    assert sol["energy.dissipated"][-1] == pytest.approx(loss, abs=1e-11)
    assert sol["energy.total"][0] - sol["energy.total"][-1] == pytest.approx(loss, abs=1e-11)
    speed = (sol["bead.rate"] @ np.array([1, -1]) / np.sqrt(2))[k + 1 :]
    assert np.allclose(speed, speed[0] + G / np.sqrt(2) * (sol.t[k + 1 :] - when), atol=1e-11)
    assert np.abs(sol["bead"][k + 1 :].sum(axis=1)).max() < 1e-12


def test_landing_and_lift_off_again_and_again() -> None:
    """A bead falls onto a hill, slides over it and leaves it: the guide acts in between only, and landing is watched again afterwards."""
    s, x = bead((0.15, 1.5), (0.0, 0.0))
    s.add(Hill(), "hill", {"x": x}, active=False)
    s.event("landing", lambda s: s.x[0] * s.x[0] + s.x[1] * s.x[1] - 1.0, {"x": x}, direction=-1, action=lambda at: at.insert("hill"))
    s.event("lift-off", "hill.contact", direction=1, action=lambda at: at.remove("hill"))
    sol = s.simulate(1.5, 0.005)
    (landing, first), (leaving, second) = sol.metadata["events"]
    assert (first, second) == ("landing", "lift-off") and landing == pytest.approx(np.sqrt(2 * (1.5 - np.sqrt(1 - 0.15**2)) / G), abs=1e-12)
    touching = (sol.t > landing) & (sol.t < leaving)
    assert np.abs(np.hypot(*sol["bead"][touching].T) - 1.0).max() < 1e-12
    assert np.hypot(*sol["bead"][(sol.t < landing) | (sol.t > leaving + 0.02)].T).min() > 1.0
    books = sol["energy.total"] + sol["energy.dissipated"]
    assert np.ptp(books) < 1e-10 and sol["energy.dissipated"][-1] > 1.0


def test_constants_switched_at_events_and_internal_variables_kept() -> None:
    """A spring four times as stiff on one side: half periods π and π/2; friction beside it remembers its slip."""
    s = AssembledSystem("two springs")
    x, y = s.coordinates("x", 1, 1.0), s.coordinates("y", 1, 0.0, 1.0)
    s.add(PointMass(1), "mass", {"x": x}, {"mass": 1.0})
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 1.0, "rest": 0.0})
    s.add(PointMass(1), "slider", {"x": y}, {"mass": 1.0})
    s.add(Plastic(), "friction", {"x": y}, {"stiffness": 50.0, "limit": 2.0})
    s.event("falling", lambda s: s.x[0], {"x": x}, direction=-1, action=lambda at: at.change("spring", stiffness=4.0))
    s.event("rising", lambda s: s.x[0], {"x": x}, direction=1, action=lambda at: at.change("spring", stiffness=1.0))
    errors = []
    for h in (0.02, 0.01):
        sol = s.simulate(8.0, h)
        t, names = zip(*sol.metadata["events"], strict=True)
        assert names == ("falling", "rising", "falling", "rising")
        errors.append(np.abs(np.array(t) - np.array([0.5, 1.0, 2.0, 2.5]) * np.pi).max())
        books = sol["energy.total"] + sol["energy.dissipated"]
        assert np.ptp(books) < 1e-11
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.3)
    plain = AssembledSystem("slider")
    y = plain.coordinates("y", 1, 0.0, 1.0)
    plain.add(PointMass(1), "slider", {"x": y}, {"mass": 1.0})
    plain.add(Plastic(), "friction", {"x": y}, {"stiffness": 50.0, "limit": 2.0})
    assert sol["y"][-1] == pytest.approx(plain.simulate(8.0, 0.01)["y"][-1], abs=2e-3) and sol["energy.dissipated"][-1] > 0.1


# -- energy across many events ------------------------------------------------------------------------------------------


def double_pendulum(spring: bool) -> tuple[AssembledSystem, Any, Any]:
    """Two rods in line, hinged at the origin, and the angle between them as a coordinate."""
    s = AssembledSystem("double pendulum")
    q = [DirectorBody.coordinates_of((0.5 + k, 0.0, 0.0)) for k in range(2)]
    rods = [s.coordinates(f"rod{k}", 12, q[k]) for k in range(2)]
    for k in range(2):
        s.add(DirectorBody(), f"inertia{k}", {"body": rods[k]}, DirectorBody.numbers(1.0, (1e-3, 1 / 12, 1 / 12), gravity=(0, 0, -G)))
    shoulder, elbow, angle = Revolute(a=Ground()), Revolute(), JointAngle()
    s.add(shoulder, "shoulder", {"b": rods[0]}, shoulder.place((0, 0, 0), (0, 1, 0), b=q[0]))
    s.add(elbow, "elbow", {"a": rods[0], "b": rods[1]}, elbow.place((1, 0, 0), (0, 1, 0), a=q[0], b=q[1]))
    bend = s.coordinates("bend", 1, 0.0)
    s.add(angle, "bending", {"a": rods[0], "b": rods[1], "angle": bend}, angle.place((0, 1, 0), a=q[0], b=q[1]))
    s.add(CoordinatePotential(), "spring", {"x": bend}, {"stiffness": 5.0 if spring else 0.0, "rest": 0.0})
    return s, rods, bend


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_energy_is_exact_across_hundreds_of_events_that_come_close_together(reduction: str) -> None:
    """A spring changes where it stores nothing; other guards cross zero with it, or a picosecond later."""
    s, _, bend = double_pendulum(spring=True)
    s.event("falling", lambda s: s.x[0], {"x": bend}, direction=-1, action=lambda at: at.change("spring", stiffness=20.0))
    s.event("rising", lambda s: s.x[0], {"x": bend}, direction=1, action=lambda at: at.change("spring", stiffness=5.0))
    for i in range(3):
        s.event(f"at {i}", lambda s, i=i: s.x[0] - 0.1 * i, {"x": bend})
        s.event(f"just after {i}", lambda s, i=i: s.x[0] - 0.1 * i - 1e-12, {"x": bend})
    sol = s.simulate(10.0, 0.02, reduction=reduction)
    counts = Counter(name for _, name in sol.metadata["events"])
    assert counts["falling"] + counts["rising"] == counts["at 0"] == counts["just after 0"] == 41
    assert counts["at 1"] == counts["just after 1"] and counts["at 2"] == counts["just after 2"] > 20
    assert np.ptp(sol["energy.total"]) < 2e-12 and np.diff(sol.t)[np.diff(sol.t) > 0].min() > 1e-6


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_a_linkage_bounces_on_a_floor_without_loss(reduction: str) -> None:
    """Impulses along the floor's normal, in the metric of the constrained masses, that reverse the speed of an end and keep the energy."""
    s, rods, _ = double_pendulum(spring=False)

    def bounce(k: int) -> Any:
        def action(at: Any) -> None:
            now, place = s.equations.at(at.q, at.v, at.t), slice(rods[k].offset, rods[k].offset + 12)
            normal = np.zeros(at.q.size)
            normal[place][[2, 5]] = 1.0, 0.5
            M, A = now.mass.toarray(), now.rows.toarray()
            K = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
            pushed = np.linalg.lstsq(K, np.append(normal, np.zeros(len(A))), rcond=None)[0][: at.q.size]
            at.v -= 2.0 * (at.v @ M @ pushed) / (pushed @ M @ pushed) * pushed

        return action

    for k in range(2):
        s.event(f"end {k}", lambda s: s.b[2] + 0.5 * s.b[5] + 0.3, {"b": rods[k]}, direction=-1, action=bounce(k))
    sol = s.simulate(6.0, 0.01, reduction=reduction)
    assert len(sol.metadata["events"]) > 20
    assert np.ptp(sol["energy.total"]) < 1e-10 and sol["rod1.position"][:, 2].min() > -0.8


# -- events of models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.1, 0.01])
def test_the_bouncing_ball_of_the_tree_engine(h: float) -> None:
    """Parabolas are exact for any step, so are the impacts: tₖ = √(2H/g) (1 + 2e + 2e² …)."""
    system = library.bouncing_ball().compile()
    sol = formulate(system, "directors").simulate({"height.displacement": 1.0}, 2.0, step=h)
    first = np.sqrt(2.0 / G)
    times = first * np.array([1.0, 1.0 + 2 * 0.8, 1.0 + 2 * 0.8 + 2 * 0.64])
    assert np.allclose([t for t, _ in sol.metadata["events"]], times, atol=1e-12)
    reference = system.simulate({"height.displacement": 1.0}, 2.0, rtol=1e-11)
    assert sol["height.displacement"][-1] == pytest.approx(reference["height.displacement"][-1], abs=1e-11)
    assert sol["step.energy.dissipated"][-1] == pytest.approx(G * (1.0 - 0.64**3), abs=1e-10)


def test_output_times_do_not_smear_impacts() -> None:
    times = np.linspace(0.0, 2.0, 41)
    system = library.bouncing_ball().compile()
    sol = formulate(system, "directors").simulate({"height.displacement": 1.0}, 2.0, step=0.05, times=times)
    reference = system.simulate({"height.displacement": 1.0}, 2.0, rtol=1e-11, times=times)
    assert np.array_equal(sol.t, times)
    for n in ("height.displacement", "height.displacement_rate"):
        assert np.allclose(sol[n], reference[n], atol=1e-11), n


def test_sampled_controllers_and_impacts_in_one_run() -> None:
    m = library.pendulum()
    hinge = m.joints["hinge"]
    m.force(hinge, m.input("torque"), name="motor")
    m.event("wall", hinge.position, direction=-1, jump={hinge.velocity: -0.8 * hinge.velocity})
    system = m.compile()
    brake = {"torque": Controller(lambda state: -0.5 * state["hinge.angle_rate"], 0.05)}
    exact = system.simulate({"hinge.angle": 1.0}, 3.0, inputs=brake, rtol=1e-10)
    sol = formulate(system, "directors").simulate({"hinge.angle": 1.0}, 3.0, step=0.005, inputs=brake)
    assert len(sol.metadata["events"]) == exact.statistics["events"] > 2
    assert sol["hinge.angle"][-1] == pytest.approx(exact["hinge.angle"][-1], abs=1e-4)


@pytest.mark.parametrize("reduction", ["none", "bodies"])
def test_callbacks_and_impacts_in_one_run(reduction: str) -> None:
    """A law in Python, and the same one in symbols, between impacts."""

    def model(called: bool) -> jd.Model:
        m = library.pendulum()
        hinge = m.joints["hinge"]
        drag = m.callback("drag", lambda v: -0.5 * v, [hinge.velocity]) if called else -0.5 * hinge.velocity
        m.force(hinge, drag, name="motor")
        m.event("wall", hinge.position, direction=-1, jump={hinge.velocity: -0.8 * hinge.velocity})
        return m

    runs = [formulate(model(False).compile(), "directors").simulate({"hinge.angle": 1.0}, 3.0, step=0.02, reduction=reduction)]
    with pytest.warns(UserWarning, match="'drag' run in Python"):
        runs.append(formulate(model(True).compile(), "directors").simulate({"hinge.angle": 1.0}, 3.0, step=0.02, reduction=reduction))
    times = [np.array([t for t, _ in sol.metadata["events"]]) for sol in runs]
    assert len(times[0]) == len(times[1]) > 2 and np.allclose(*times, atol=2e-4)
    assert runs[1]["hinge.angle"].min() > -1e-9
    assert runs[0]["hinge.angle"][-1] == pytest.approx(runs[1]["hinge.angle"][-1], abs=2e-4)


def test_accumulating_impacts_come_to_rest_or_are_named() -> None:
    system = library.bouncing_ball().compile()
    sol = formulate(system, "directors").simulate({"height.displacement": 1.0}, 5.0, step=0.02)
    count = system.simulate({"height.displacement": 1.0}, 5.0, rtol=1e-11).statistics["events"]
    assert len(sol.metadata["events"]) == count and sol["resting"][-1] == 1.0 and abs(sol["height.displacement"][-1]) < 1e-9
    restless = library.bouncing_ball(rest_speed=0.0).compile()
    with pytest.raises(SimulationError, match="'impact' fires again and again"):
        formulate(restless, "directors").simulate({"height.displacement": 1.0}, 5.0, step=0.02)


def test_newtons_cradle_and_a_stop() -> None:
    system = library.ball_row(masses=(1.0, 1.0, 1.0), restitution=1.0).compile()
    sol = formulate(system, "directors").simulate({"ball1.displacement_rate": 1.0}, 0.5, step=0.05)
    assert np.allclose([t for t, _ in sol.metadata["events"]], [0.01, 0.02], atol=1e-14)
    assert np.allclose([sol[f"ball{i}.displacement_rate"][-1] for i in (1, 2, 3)], [0, 0, 1], atol=1e-13)
    assert np.ptp(sol["step.energy.total"]) < 1e-13


def test_a_terminal_event_ends_the_run_there() -> None:
    m = library.double_pendulum()
    m.event("down", m.joints["shoulder"].position, terminal=True)
    system = m.compile()
    start = {"shoulder.angle": 1.5}
    exact = system.simulate(start, 3.0, rtol=1e-12, atol=1e-13)
    errors = []
    for h in (0.01, 0.005):
        sol = formulate(system, "directors").simulate(start, 3.0, step=h, reduction="bodies")
        assert sol.metadata["status"] == "event" and abs(sol["shoulder.angle"][-1]) < 1e-12
        errors.append(abs(sol.t[-1] - exact.t[-1]))
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.5)


def test_a_stop_on_a_pendulum_hit_to_second_order_with_adaptive_steps_too() -> None:
    """Impacts of a pendulum on a wall with restitution, against the tree engine."""
    m = library.pendulum()
    hinge = m.joints["hinge"]
    m.event("wall", hinge.position + 0.3, direction=-1, jump={hinge.velocity: -0.7 * hinge.velocity})
    system = m.compile()
    start = {"hinge.angle": 1.0}
    exact = system.simulate(start, 3.0, rtol=1e-12, atol=1e-13)
    directors = formulate(system, "directors")
    errors = [abs(directors.simulate(start, 3.0, step=h)["hinge.angle"][-1] - exact["hinge.angle"][-1]) for h in (0.01, 0.005)]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.6)
    adaptive = directors.simulate(start, 3.0, step=0.05, adaptive=True, rtol=1e-7, atol=1e-9)
    assert len(adaptive.metadata["events"]) == exact.statistics["events"] >= 2
    assert adaptive["hinge.angle"][-1] == pytest.approx(exact["hinge.angle"][-1], abs=1e-4)


def test_what_events_cannot_be_is_said() -> None:
    s = thrown()
    with pytest.raises(ModelError, match="event 'release' exists already"):
        s.event("release", "pivot.axis.1")
    with pytest.raises(ModelError, match="no multiplier 'pivot.axis.9'"):
        s.event("tear", "pivot.axis.9")
    with pytest.raises(ModelError, match="direction 2 is unknown"):
        s.event("tear", "pivot.axis.1", direction=2)
    s.event("wrong", lambda s: s.t - 0.1, action=lambda at: at.remove("pivto"))
    with pytest.raises(SimulationError, match="the action of event 'wrong' raised InputError: .*no element 'pivto'.* at t = 0.1 s"):
        s.simulate(1.0, 0.05)
    far, x = bead((1.0, 1.0), (0.0, 0.0))
    far.add(Line(), "guide", {"x": x}, active=False)
    far.event("wrong", lambda s: s.t - 0.1, action=lambda at: at.insert("guide"))
    with pytest.raises(SimulationError, match="position after an event violates 'contact' of element 'guide'"):
        far.simulate(1.0, 0.05)
