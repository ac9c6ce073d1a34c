"""Every verb with every sort of contact law: the numbers of another way, or a refusal by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import InputError, SolverError
from jourdain.analysis.touching.holding import Cones

G = 9.81


def block(law: Any, slope: float = 0.0, size: tuple[float, float, float] = (0.2, 0.2, 0.1)) -> Any:
    m = jd.Model("block", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    body = m.body("block", shape=jd.box(*size, density=1000.0))
    m.free("f", m.ground, body)
    m.contact("floor", body, m.ground, law=law)
    push = m.input("push", 0.0, "N")
    m.load("pushed", body, force=(push, 0.0, 0.0))
    return m.compile()


BRISTLE = jd.contact.bristle(0.6, stiffness=2e5, damping=400.0)
LAWS = {
    "rigid": jd.contact.rigid(friction=0.6),
    "poisson": jd.contact.rigid(friction=0.6, law="poisson", restitution=0.3),
    "linear": jd.contact.linear(stiffness=1e6),
    "kelvin-voigt": jd.contact.kelvin_voigt(stiffness=1e6, damping=200.0),
    "hunt-crossley": jd.contact.hunt_crossley(stiffness=1e6, exponent=1.5, damping=2.0),
    "bristle": jd.contact.hunt_crossley(stiffness=1e6, exponent=1.0, damping=2.0, friction=BRISTLE),
}
RIGID = ("rigid", "poisson")
#: Depth of each corner under a quarter of the weight of 4 kg.
DEPTH = {"linear": G / 1e6, "kelvin-voigt": G / 1e6, "hunt-crossley": (G / 1e6) ** (2 / 3), "bristle": G / 1e6}


def start(s: Any, law: str) -> Any:
    return s.equilibrium({"f.z": 0.05 - DEPTH.get(law, 0.0)})


def asked(s: Any, law: str, verb: str) -> Any:
    at = start(s, law)
    times = np.linspace(0.0, 0.1, 3)
    return {
        "equilibrium": lambda: at["f.z"] + DEPTH.get(law, 0.0) - 0.05,
        "accelerations": lambda: s.accelerations(at.state),
        "reactions": lambda: s.reactions(at.state)["f"][0],
        "static_forces": lambda: s.static_forces(at.state, actuators=["push"])["push"],
        "inverse_dynamics_along": lambda: s.inverse_dynamics_along(
            (times, np.tile(at.state.q, (3, 1)), np.zeros((3, s.nv)), np.zeros((3, s.nv))), actuators=["push"]
        )["push"] if law in RIGID else 0.0,
        "linearise": lambda: max(0.0, s.linearise(at).eigenvalues.real.max() - 1e-6),
        "modal": lambda: sum(mode.kind == "growth" for mode in s.modal(at)),
        "frequency_response": lambda: s.frequency_response("push", "f.x", [3.0], at).values - compliance(law, 6.0 * np.pi),
        "mobility": lambda: s.dof() - 6,
        "assemble": lambda: s.assemble({"f.z": 0.05}).q[2] - 0.05,
        "velocity_transformation": lambda: s.velocity_transformation(at.state).S.shape[1] - 6,
        "simulate": lambda: s.simulate(at.state, t=0.1, **way(law))["f.z"][-1] - at["f.z"],
        "restart": lambda: restarted(s, at.state, law),
        "sweep": lambda: s.sweep(at.state, t=0.05, inputs=[{"push": 0.0}, {"push": 0.0}], outputs=["f.z"], progress=False, **way(law))[
            "f.z"
        ].max() - at["f.z"],
    }[verb]()  # fmt: skip


def compliance(law: str, omega: float) -> complex:
    """Way by force of the block: none where it sticks, that of a free mass without friction, bristles and tipping on four corners."""
    if law in RIGID:
        return 0.0
    if law != "bristle":
        return -1.0 / (4.0 * omega**2)
    mass, height, arm = 4.0, 0.05, 0.1
    bristles, floor = 4 * (2e5 + 400.0j * omega), 4 * (1e6 + 2.0j * 1e6 * DEPTH[law] * omega) * arm**2
    inertia = mass / 12.0 * (0.2**2 + 0.1**2)
    # motion of the centre and tipping angle, with the corners at the height of the floor
    K = np.array(
        [
            [bristles - mass * omega**2, -bristles * height],
            [-bristles * height, bristles * height**2 + floor - inertia * omega**2 - mass * G * height],
        ]
    )
    return complex(np.linalg.solve(K, [1.0, 0.0])[0])


def way(law: str) -> dict[str, Any]:
    return {"method": "moreau", "step": 1e-3} if law in RIGID else {"method": "radau", "rtol": 1e-9, "atol": 1e-12}


def restarted(s: Any, state: Any, law: str) -> float:
    whole = s.simulate(state, t=0.04, **way(law))
    first = s.simulate(state, t=0.02, **way(law))
    return float(s.simulate(first, t=0.02, **way(law))["f.z"][-1] - whole["f.z"][-1])


VERBS = (
    "equilibrium", "accelerations", "reactions", "static_forces", "inverse_dynamics_along", "linearise", "modal", "frequency_response",
    "mobility", "assemble", "velocity_transformation", "simulate", "restart", "sweep",
)  # fmt: skip


@pytest.fixture(scope="module")
def systems() -> dict[str, Any]:
    return {law: block(given) for law, given in LAWS.items()}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_with_every_law(systems: dict[str, Any], verb: str, law: str) -> None:
    """A block at rest stays there, whoever is asked; nothing but the floor holds it."""
    np.testing.assert_allclose(asked(systems[law], law, verb), 0.0, atol=2e-9)


@pytest.mark.parametrize("law", LAWS)
def test_small_motions_are_those_of_runs(law: str) -> None:
    """Tipping and bouncing of a block on surfaces that give way, and a rocker on one that does not: modes as in a run from a small start."""
    s = block(LAWS[law])
    at = start(s, law)
    A = s.linearise(at, inputs=[], outputs=[]).A
    if law in RIGID:
        assert np.abs(np.linalg.eigvals(A)).max() < 1e-6  # a block that sticks does not move at all
        return
    h = 1e-7
    place = s.coordinate_names.index("f.z")
    rate = s.velocity_names.index("f.z_rate")
    up = at.state.with_values(q=at.state.q + h * np.eye(s.nq)[place])
    stiff = -(s.accelerations(up)[rate] - s.accelerations(at.state)[rate]) / h
    linear = s.linearise(at, inputs=[], outputs=[])
    row, column = linear.states.index("f.z_rate"), linear.states.index("f.z")
    np.testing.assert_allclose(-linear.A[row, column], stiff, rtol=1e-4)


R, D, MASS, I = 0.1, 0.03, 2.0, 0.008


def rocker(friction: float) -> Any:
    m = jd.Model("rocker")
    body = m.body("ball", mass=MASS, com=(0, 0, -D), inertia=(I, I, I))
    body.shapes.append(jd.sphere(R))
    m.free("f", m.ground, body)
    m.contact("floor", body, m.ground, law=jd.contact.rigid(friction=friction))
    return m.compile()


@pytest.mark.parametrize(("friction", "inertia"), [(0.5, I + MASS * (R - D) ** 2), (0.0, I)])
def test_modes_of_what_rolls_and_what_slides(friction: float, inertia: float) -> None:
    s = rocker(friction)
    found = [m.circular_frequency for m in s.modal(s.equilibrium({"f.z": R})) if m.kind == "oscillation"]
    np.testing.assert_allclose(found, [np.sqrt(MASS * G * D / inertia)] * 2, rtol=1e-8)
    run = s.simulate({"f.z": R, "f.orientation.omega_y": 1e-4}, t=2.0, rtol=1e-11, atol=1e-15)
    turn = run["f.orientation.e2"]
    crossings = run.t[:-1][(turn[:-1] < 0.0) & (turn[1:] >= 0.0)]
    if len(crossings) > 1:
        np.testing.assert_allclose(2.0 * np.pi / np.diff(crossings).mean(), found[0], rtol=0.2)


def test_an_active_set_may_be_given() -> None:
    s = rocker(0.5)
    at = s.equilibrium({"f.z": R})
    assert all(m.kind == "rigid" for m in s.modal(at, contacts={"floor": "open"}))
    with pytest.raises(InputError, match="rest against each other in this state"):
        s.modal(at, contacts={"floor.ball": "sliding"})
    with pytest.raises(InputError, match="is 'sticking', 'sliding' or 'open'"):
        s.modal(at, contacts={"floor": "glued"})
    with pytest.raises(InputError, match="no contact 'flor' of 'rocker' is closed in this state; did you mean floor"):
        s.linearise(at, contacts={"flor": "open"})
    with pytest.raises(InputError, match="has no rigid contacts"):
        block(LAWS["linear"]).linearise({"f.z": 0.05}, contacts={"floor": "open"})


def test_small_motions_of_what_slides_steadily() -> None:
    """A block drawn over the floor by a spring at constant speed: friction of constant size leaves k/m, normal forces that follow the spring do not."""
    k, mass, speed, mu, rise = 400.0, 2.0, 0.3, 0.4, 0.5
    m = jd.Model("drawn")
    body = m.body("ball", mass=mass, inertia=(0.01, 0.01, 0.01))
    body.shapes.append(jd.sphere(0.05))
    lift = m.prismatic("lift", m.ground, m.body("sledge"), axis="x")
    m.prismatic("up", lift.child.body, body, axis="z")
    x = lift.coordinates[0].q[0]
    m.load("spring", body, force=(-k * (x - speed * m.time), 0.0, k * rise * (x - speed * m.time)))
    m.contact("floor", body, m.ground, law=jd.contact.rigid(friction=mu))
    s = m.compile()
    # m ẍ = −k s − μ (m g − k b s): at rest in s where both sides vanish, with stiffness k (1 − μ b)
    s0 = -mu * mass * G / (k * (1.0 - mu * rise))
    state = s.state({"up.displacement": 0.05, "lift.displacement": s0, "lift.displacement_rate": speed})
    linear = s.linearise(state, inputs=[], outputs=[])
    np.testing.assert_allclose(np.sort(np.abs(linear.eigenvalues.imag))[-1], np.sqrt(k * (1.0 - mu * rise) / mass), rtol=1e-8)
    np.testing.assert_allclose(s.accelerations(state), 0.0, atol=1e-9)


# -- statics ------------------------------------------------------------------------------------------------------


def test_limits_of_standing_of_a_ladder() -> None:
    length, angle = 2.0, 1.0

    def ladder(mu: float, wall: float) -> Any:
        m = jd.Model("ladder")
        m.ground.shapes += [jd.plane(), jd.plane("-x")]
        body = m.body("ladder", shape=jd.capsule(0.01, length, density=1000.0))
        m.free("f", m.ground, body)
        m.contact("floor", body, m.shapes("ground")[0], law=jd.contact.rigid(friction=mu))
        m.contact("wall", body, m.shapes("ground")[1], law=jd.contact.rigid(friction=wall))
        return m.compile()

    c, s = np.cos(angle), np.sin(angle)
    half, r, turn = 0.5 * length, 0.01, 0.5 * (np.pi / 2 - angle)
    place = {"f.x": -half * c - r, "f.z": half * s + r, "f.orientation.e0": np.cos(turn), "f.orientation.e2": np.sin(turn)}
    for wall in (0.0, 0.3):
        press = half * c / (length * s + r + wall * (length * c + r))  # of the wall in parts of the weight, by moments about the foot
        limit = press / (1.0 - wall * press)
        ladder(limit * (1.0 + 1e-9), wall).equilibrium(place)
        with pytest.raises(SolverError, match="cannot stand: 'ladder'.*slides"):
            ladder(limit * (1.0 - 1e-9), wall).equilibrium(place)


@pytest.mark.parametrize("count", [2, 4])
def test_overhang_of_books(count: int) -> None:
    """The stack of n books reaches ½ Σ 1/k of their length over the edge, and no more."""
    long = 0.2

    def stack(factor: float) -> tuple[Any, dict[str, float]]:
        m = jd.Model("books")
        m.ground.shapes.append(jd.box(1.0, 0.4, 0.1).at(-0.5, 0, -0.05))
        place, reach = {}, 0.0
        for k in range(count, 0, -1):
            book = m.body(f"book{k}", shape=jd.box(long, 0.15, 0.02, density=800.0))
            m.free(f"f{k}", m.ground, book)
            reach += 0.5 * long / k * factor
            place |= {f"f{k}.x": reach - 0.5 * long, f"f{k}.z": 0.01 + 0.02 * (count - k)}
        m.contact("all", law=jd.contact.rigid(friction=0.5))
        return m.compile(), place

    s, place = stack(1.0 - 1e-9)
    at = s.equilibrium(place)
    weight = s.model.bodies["book1"].mass
    np.testing.assert_allclose(
        sum(c.force[2] for c in at.contacts if "ground" in (c.body_a, c.body_b)) ** 2, (count * float(weight) * G) ** 2, rtol=1e-9
    )
    s, place = stack(1.0 + 1e-9)
    with pytest.raises(SolverError, match=f"cannot stand: 'book[1-{count}]' tips over"):
        s.equilibrium(place)


@pytest.mark.parametrize(
    ("slope", "place", "told"),
    [
        (0.55, 0.05, "'block' slides on 'ground' (friction 0.6 is too little)"),
        (0.2, 0.06, "'block' falls, for nothing carries it"),
    ],
)
def test_what_cannot_stand_is_named(slope: float, place: float, told: str) -> None:
    s = block(LAWS["rigid"], slope)
    with pytest.raises(SolverError) as error:
        s.equilibrium({"f.z": place})
    assert told in str(error.value)


def test_what_tips_is_named() -> None:
    s = block(jd.contact.rigid(friction=3.0), 1.2)
    with pytest.raises(SolverError, match="'block' tips over on 'ground'"):
        s.equilibrium({"f.z": 0.05})
    s.equilibrium({"f.z": 0.05}, inputs={"push": -30.0})


@pytest.mark.parametrize("friction", [2.5, 5.0, 50.0])
@pytest.mark.parametrize("heading", [0.0, 0.3, 0.7, 1.2])
def test_what_just_tips_does_not_slide(friction: float, heading: float) -> None:
    """A box twice as wide as high tips over the edge that it leans to most, tan α max(cos, sin) = 2, with all of its weight on that edge."""
    for factor, tips in ((1.0 - 1e-9, False), (1.0 + 1e-9, True), (1.0 + 1e-7, True)):
        slope = math.atan(factor * 2.0 / max(math.cos(heading), math.sin(heading)))
        if math.tan(slope) > friction:
            continue
        down = G * math.sin(slope)
        m = jd.Model("slope", gravity=(down * math.cos(heading), down * math.sin(heading), -G * math.cos(slope)))
        m.free("f", m.ground, m.body("block", shape=jd.box(0.2, 0.2, 0.1, density=1000.0)))
        m.contact("touch", m.bodies["block"], m.ground, law=jd.contact.rigid(friction=friction))
        if not tips:
            m.compile().equilibrium({"f.z": 0.05})
            continue
        with pytest.raises(SolverError, match="'block' tips over on 'ground'$"):
            m.compile().equilibrium({"f.z": 0.05})


def test_equilibrium_of_springs_and_rigid_contacts() -> None:
    """A mass on a spring above a floor: pressed against it, or held above."""
    for lifted in (False, True):
        m = jd.Model("hanging")
        body = m.body("mass", mass=2.0)
        body.shapes.append(jd.sphere(0.05))
        slide = m.prismatic("slide", m.ground, body, axis="z")
        m.joint_spring(slide, stiffness=500.0, rest=0.1 if lifted else 0.05)
        m.contact("floor", body, m.ground, law=jd.contact.rigid())
        at = m.compile().equilibrium({"slide": 0.08 if lifted else 0.05})
        np.testing.assert_allclose(at["slide"], max(0.05, (0.1 if lifted else 0.05) - 2.0 * G / 500.0), atol=1e-9)
        if at.contacts:
            np.testing.assert_allclose(
                at.contact_force("floor", "mass")[2], 2.0 * G - 500.0 * ((0.1 if lifted else 0.05) - at["slide"]), rtol=1e-8
            )


def test_a_leg_gives_way_farther_than_its_foot_is_thick() -> None:
    """Steps are short where shapes might pass each other; a foot of 5 mm under a knee with a spring: 2 k·2(a − a₀) = (2M + 3m/2 + m/2) g l sin a."""
    m, length, trunk, link, k, a0 = jd.Model("leg"), 0.3, 10.0, 0.5, 60.0, 0.5
    m.ground.shapes.append(jd.plane())
    body = m.body("trunk", mass=trunk, inertia=(0.1, 0.1, 0.1))
    thigh, shank = (m.body(n, mass=link, com=(0, 0, -length / 2), inertia=(0.01, 0.01, 0.01)) for n in ("thigh", "shank"))
    m.prismatic("up", m.ground, body, axis="z")
    m.revolute("hip", body, thigh, axis="y")
    m.joint_spring(m.revolute("knee", thigh.at(0, 0, -length), shank, axis="y"), stiffness=k, rest=-2.0 * a0)
    shank.add_collision(jd.sphere(0.005).at(0, 0, -length), "foot")
    m.contact("foot", shank, m.ground, law=jd.contact.rigid(friction=0.6))
    found = m.compile().equilibrium({"up": 2.0 * length * math.cos(a0) + 0.005, "hip": a0, "knee": -2.0 * a0})
    a = -0.5 * found["knee.angle"]
    load = (2.0 * trunk + 2.0 * link) * G * length
    exact = a0
    for _ in range(50):
        exact = a0 + load * math.sin(exact) / (4.0 * k)
    assert a - a0 > 0.1  # more than a tenth of the foot in each of 80 steps
    assert a == pytest.approx(exact, rel=2e-4)  # the foot has rolled by its radius
    assert found.contacts[0].force[2] == pytest.approx((trunk + 2.0 * link) * G, rel=1e-6)


def test_regularised_friction_holds_nothing_at_rest() -> None:
    s = block(jd.contact.linear(stiffness=1e6, friction=0.6), slope=0.3)
    with pytest.raises(SolverError, match="regularised friction, as that of 'floor', holds nothing at rest"):
        s.equilibrium({"f.z": 0.05})


def test_forces_of_least_norm_inside_cones() -> None:
    """Against a general solver of convex programmes, at random."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    for _ in range(4):
        J, mu, M = rng.normal(size=(4, 3, 6)), rng.uniform(0.2, 0.8, 4), np.eye(6)
        inside = rng.uniform(-0.3, 0.3, (4, 3)) * mu[:, None] + np.array([1.0, 0.0, 0.0])
        b = J.reshape(12, 6).T @ inside.ravel()
        held = Cones(J, mu, np.zeros((6, 0)), M).hold(b)
        assert held.stands
        cone = [
            {"type": "ineq", "fun": lambda p, k=k: mu[k] ** 2 * p[3 * k] ** 2 - p[3 * k + 1] ** 2 - p[3 * k + 2] ** 2} for k in range(4)
        ]
        cone += [{"type": "ineq", "fun": lambda p, k=k: p[3 * k]} for k in range(4)]
        found = minimize(
            lambda p: p @ p, inside.ravel(), jac=lambda p: 2.0 * p, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
            constraints=[{"type": "eq", "fun": lambda p, b=b, J=J: J.reshape(12, 6).T @ p - b}, *cone],
        )  # fmt: skip
        assert np.linalg.norm(held.force) <= np.linalg.norm(found.x) * (1.0 + 1e-7)
        np.testing.assert_allclose(J.reshape(12, 6).T @ held.force.ravel(), b, atol=1e-9)
        assert (np.hypot(held.force[:, 1], held.force[:, 2]) <= mu * held.force[:, 0] + 1e-9).all()


# -- reactions and inverse dynamics -------------------------------------------------------------------------------


def lever(law: Any) -> Any:
    m = jd.Model("lever")
    body = m.body("lever", mass=2.0, com=(0.5, 0, 0), inertia=(0.01, 0.2, 0.2))
    body.shapes.append(jd.sphere(0.05).at(1.0, 0, 0))
    m.revolute("hinge", m.ground.frame("pin", (0, 0, 0.05)), body, axis="y")
    m.contact("floor", body, m.ground, law=law)
    return m.compile()


@pytest.mark.parametrize("way", [{"method": "moreau", "step": 1e-3}, {}])
def test_reactions_of_joints_in_runs_with_rigid_contacts(way: dict[str, Any]) -> None:
    s = lever(jd.contact.rigid())
    run = s.simulate({"hinge": 0.0}, t=0.05, **way)
    np.testing.assert_allclose(run["hinge.reaction"][1:], np.tile([0.0, 0.0, G], (len(run.t) - 1, 1)), atol=1e-9)
    np.testing.assert_allclose(run["floor.lever.torque"][-1], [0.0, -G, 0.0], atol=1e-9)
    np.testing.assert_allclose(run["hinge.angle_acc"][1:], 0.0, atol=1e-8)
    at = s.state({"hinge": 0.0})
    np.testing.assert_allclose(s.reactions(at)["hinge"][0], [0.0, 0.0, G], atol=1e-9)
    np.testing.assert_allclose(s.accelerations(at), 0.0, atol=1e-9)
    np.testing.assert_allclose(s.accelerations({"hinge": -0.2}), 2.0 * G * 0.5 * np.cos(0.2) / (0.2 + 0.5), rtol=1e-12)
    with pytest.raises(InputError, match="bodies meet in this state"):
        s.accelerations({"hinge": 0.0, "hinge_rate": 1.0} if "hinge_rate" in s.velocity_names else {"hinge": 0.0, "hinge.angle_rate": 1.0})
    np.testing.assert_allclose(run.at(0.0213)["hinge.reaction"], [0.0, 0.0, G], atol=1e-9)  # on the straight line between two steps


def test_reactions_meet_those_of_surfaces_that_hardly_give_way() -> None:
    hard, soft = lever(jd.contact.rigid()), lever(jd.contact.kelvin_voigt(stiffness=1e9, damping=1e4))
    at = soft.equilibrium({"hinge": 0.0})
    np.testing.assert_allclose(soft.reactions(at.state)["hinge"][0], hard.reactions({"hinge": 0.0})["hinge"][0], atol=1e-6)


def test_stops_from_event_to_event_and_by_steps() -> None:
    m = jd.Model("flap")
    body = m.body("flap", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.revolute("h", m.ground, body, axis="y", limits=(-1.0, 0.5))
    m.stops(law=jd.contact.rigid(restitution=0.5))
    s = m.compile()
    exact = s.simulate({"h": 0.0}, t=3.0, rtol=1e-10, atol=1e-12)
    steps = s.simulate({"h": 0.0}, t=3.0, method="moreau", step=1e-4)
    torque = -G * 0.5 * np.cos(0.5)
    for run in (exact, steps):
        np.testing.assert_allclose(run["h.stop"][-1], torque, rtol=1e-9)
        np.testing.assert_allclose(run["h.reaction"][-1], [0.0, 0.0, G], atol=1e-8)
    np.testing.assert_allclose(exact["contacts.dissipated"][-1], G * 0.5 * np.sin(0.5), rtol=1e-9)
    np.testing.assert_allclose(steps["contacts.dissipated"][-1], G * 0.5 * np.sin(0.5), rtol=1e-3)
    np.testing.assert_allclose(s.equilibrium({"h": 0.5}).contacts[0].force[0], -torque, rtol=1e-10)
    assert exact.contacts.impacts[0].body_a == "h"


def test_inverse_dynamics_of_what_stands_on_its_feet() -> None:
    m = jd.Model("stand")
    base = m.body("base", mass=10.0, com=(0.05, 0, 0), inertia=(0.3, 0.3, 0.3))
    m.free("free", m.ground, base)
    for name, x, y in (("a", 0.3, 0.2), ("b", 0.3, -0.2), ("c", -0.3, 0.2), ("d", -0.3, -0.2)):
        leg = m.body(name, mass=0.5, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.001))
        leg.shapes.append(jd.sphere(0.02).at(0, 0, -0.4))
        m.prismatic(f"leg_{name}", base.frame(f"hip_{name}", (x, y, 0)), leg, axis="z")
    m.contact("feet", m.shapes("?"), m.ground, law=jd.contact.rigid(friction=0.6))
    s = m.compile()
    state = s.state({"free.z": 0.42})
    held = s.static_forces(state)
    total = sum(held.contact_forces.values())
    np.testing.assert_allclose(total, [0.0, 0.0, 12.0 * G], atol=1e-8)
    assert not any(n.startswith("free") for n in held.actuators)
    t = np.linspace(0.0, 1.0, 9)
    q, v, a = np.tile(state.q, (9, 1)), np.zeros((9, s.nv)), np.zeros((9, s.nv))
    lift = (0.05 * np.sin(2 * t) ** 2, 0.1 * np.sin(4 * t), 0.4 * np.cos(4 * t))
    for sign, name in ((1.0, "free.z"), *((-1.0, f"leg_{n}.displacement") for n in "abcd")):
        q[:, s.coordinate_names.index(name)] += sign * lift[0]
        for table, x in ((v, lift[1]), (a, lift[2])):
            table[:, s.velocity_names.index(f"{name}_rate")] = sign * x
    found = s.inverse_dynamics_along((t, q, v, a))
    np.testing.assert_allclose(sum(found.contact_forces.values())[:, 2], 12.0 * G + 10.0 * lift[2], rtol=1e-9)
    np.testing.assert_allclose(found["leg_a"] + 0.5 * G, -found["feet.a.force"][:, 2] + G, atol=1e-8)
    a[:, s.velocity_names.index("free.x_rate")] = 8.0  # more than friction gives
    with pytest.raises(SolverError, match="no forces of contacts inside their cones"):
        s.inverse_dynamics_along((t, q, v, a))


def test_rolling_down_needs_the_friction_that_a_run_has() -> None:
    """Forces along the motion of a run are those of the run."""
    m = jd.Model("rolls", gravity=(3.0, 0.0, -9.0))
    ball = m.body("ball", shape=jd.sphere(0.1, density=1000.0))
    m.free("f", m.ground, ball)
    m.contact("floor", ball, m.ground, law=jd.contact.rigid(friction=0.5))
    s = m.compile()
    run = s.simulate({"f.z": 0.1}, t=0.3, rtol=1e-10, atol=1e-12, outputs=7)
    found = s.inverse_dynamics_along(run, actuators=[])
    np.testing.assert_allclose(found["floor.ball.force"], run["floor.ball.force"], rtol=1e-6, atol=1e-6)


def test_verbs_that_know_no_rigid_contacts() -> None:
    with pytest.raises(InputError, match="symbolic_linearisation knows no contacts"):
        block(LAWS["rigid"]).symbolic_linearisation()


def test_options_of_equilibrium_that_rigid_contacts_refuse() -> None:
    s = block(LAWS["rigid"])
    with pytest.raises(InputError, match=r"exchange= is not for rigid contacts"):
        s.equilibrium({"f.z": 0.05}, exchange={"f.z": "push"})
    with pytest.raises(InputError, match=r"is not for rigid contacts"):
        s.equilibrium({"f.z": 0.05}, kind="dynamic")
