"""First-order states of the user in the energy-consistent engine: order of every scheme, reductions, the tree engine, books of energy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jourdain as jd
from jourdain.elements.discrete.schemes import NAMES
from jourdain.elements.element import Element
from jourdain.elements.potentials import PointMass
from jourdain.errors import ModelError
from jourdain.model.tyres import linear_tyre, tyre
from jourdain.symbolic import exp, sin, sqrt
from jourdain.systems.assembled.system import AssembledSystem
from jourdain.systems.formulations import formulate


class Volterra(Element):
    """Prey and predators, with seasons."""

    def __init__(self, rated: bool = True) -> None:
        self.blocks, self.first_order, self.rated = {"z": 2}, ("z",), rated

    def rates(self, s: Any) -> Any:
        x, y = s.mid.z
        return {("z", 0): x * (1.0 - y) + 0.1 * sin(s.t), ("z", 1): y * (x - 1.0)} if self.rated else {}


def volterra(t: float, z: np.ndarray) -> list[float]:
    return [z[0] * (1 - z[1]) + 0.1 * np.sin(t), z[1] * (z[0] - 1)]


@pytest.mark.parametrize("method", NAMES)
def test_every_scheme_integrates_a_plain_differential_equation_with_its_order(method: str) -> None:
    reference = solve_ivp(volterra, (0, 2), [1.5, 0.7], rtol=1e-12, atol=1e-13).y[:, -1]
    s = AssembledSystem("Volterra")
    s.add(Volterra(), "populations", {"z": s.coordinates("z", 2, [1.5, 0.7])})
    errors = [np.abs(s.simulate(2.0, h, method)["z"][-1] - reference).max() for h in (0.04, 0.02)]
    assert errors[0] / errors[1] == pytest.approx(2.0 if method == "backward-euler" else 4.0, rel=0.05)


def test_the_middle_of_the_step_is_the_implicit_mid_point_rule() -> None:
    s = AssembledSystem("Volterra")
    s.add(Volterra(), "populations", {"z": s.coordinates("z", 2, [1.5, 0.7])})
    sol = s.simulate(1.0, 0.1)
    for k in range(10):
        a, b = sol["z"][k : k + 2]
        assert np.allclose(b - a, 0.1 * np.array(volterra(sol.t[k] + 0.05, 0.5 * (a + b))), atol=1e-13)


def lugre() -> jd.Model:
    """A block on a rough track with the bristle model of friction, driven by a spring and a periodic force."""
    m = jd.Model("LuGre slider")
    slide = m.prismatic("slide", m.ground, m.body("block", mass=1.0, inertia=(0.1, 0.1, 0.1)), axis="x")
    z, v = m.state("bristle", 0.0, unit="m"), slide.velocity
    speed = sqrt(v * v + 1e-4)
    rate = v - 200.0 * speed * z / (1.0 + 0.5 * exp(-((v / 0.3) ** 2)))
    m.rate(z, rate)
    m.force(slide, lambda x, v, t: -(200.0 * z + 5.0 * rate + 0.4 * v) - 20.0 * x + 4.0 * sin(3.0 * t))
    return m


def pi_pendulum() -> jd.Model:
    """A pendulum held by a controller with an integral part."""
    m = jd.Model("PI-controlled pendulum")
    hinge = m.revolute("hinge", m.ground, m.body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)), axis="y")
    z, error = m.state("integral", 0.0), 0.4 - hinge.position
    m.rate(z, error)
    m.force(hinge, lambda x, v, t: 30.0 * error + 20.0 * z - 3.0 * v)
    return m


def cylinder() -> jd.Model:
    """An arm lifted by a hydraulic cylinder: pressures of 10⁵ Pa beside angles."""
    m = jd.Model("hydraulic cylinder")
    arm = m.body("arm", mass=2.0, com=(0.4, 0, 0), inertia=(0.01, 0.2, 0.2))
    m.revolute("hinge", m.ground, arm, axis="y")
    p, area = m.state("pressure", 1e5, unit="Pa"), 2e-4
    foot, eye = m.ground.at(0.3, 0, -0.6), arm.at(0.5, 0, 0)
    link = m.link("cylinder", foot, eye, law=-area * p)
    m.rate(p, 1e7 / 1e-4 * (1e-5 * sin(5.0 * m.time) - area * link.rate - 1e-11 * p))
    return m


def wheel() -> jd.Model:
    """A braked wheel on a tyre with relaxation lengths."""
    m = jd.Model("wheel")
    hub = m.body("wheel", mass=40.0, inertia=(0.5, 1.0, 0.5))
    j = m.sequence("hub", m.ground, hub, ["Tx", "Ty", "Tz", "Ry"])
    tyre(m, "tyre", hub, radius=0.3, stiffness=5e4, damping=200.0, law=linear_tyre(m, 2e4, 1.5e4), relaxation=(0.2, 0.4))
    m.force(j, lambda x, v, t: -8.0 * (1.0 - exp(-10.0 * t)), coordinate="ry")
    return m


#: Model, start, duration, step.
MODELS: dict[str, tuple[Callable[[], jd.Model], dict[str, float], float, float]] = {
    "LuGre": (lugre, {"slide.displacement": 0.1}, 1.0, 0.01),
    "PI": (pi_pendulum, {"hinge.angle": -0.5}, 1.0, 0.01),
    "hydraulics": (cylinder, {"hinge.angle": 0.1}, 0.5, 0.005),
    "tyre": (wheel, {"hub.z": 0.29, "hub.x_rate": 10.0, "hub.y_rate": 0.2, "hub.ry_rate": 33.0}, 0.2, 0.001),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_with_states_agree_with_the_tree_engine_to_second_order(name: str) -> None:
    make, start, duration, step = MODELS[name]
    system = make().compile()
    state = system.state(start)
    reference = system.simulate(state, duration, rtol=1e-11, atol=1e-13)
    directors = formulate(system, "directors")
    names = [*system.coordinate_names, *system.model.states]
    size = {n: max(np.ptp(reference[n]), 1e-9) for n in names}
    errors = []
    for h in (step, step / 2):
        sol = directors.simulate(state, duration, step=h)
        errors.append(max(abs(sol[n][-1] - reference[n][-1]) / size[n] for n in names))
        books = sol["step.energy.total"] + sol["step.energy.dissipated"] - sol["step.energy.supplied"]
        assert np.ptp(books) < 1e-11 * max(1.0, np.abs(sol["step.energy.kinetic"]).max())
        assert sol.assembled.statistics["halvings"] == 0
    assert errors[0] < 0.02
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.6), errors


@pytest.mark.parametrize("reduction", ["bodies", "joints"])
@pytest.mark.parametrize("name", ["PI", "hydraulics"])
def test_reductions_leave_the_states_alone(name: str, reduction: str) -> None:
    make, start, duration, step = MODELS[name]
    system = make().compile()
    directors = formulate(system, "directors")
    full, reduced = (directors.simulate(system.state(start), duration, step=step, reduction=r) for r in ("none", reduction))
    for n in (*system.coordinate_names, *system.model.states):
        assert np.allclose(full[n], reduced[n], atol=1e-9 * max(1.0, np.abs(full[n]).max())), n


@pytest.mark.parametrize("method", NAMES)
def test_all_schemes_with_motion_and_states_together(method: str) -> None:
    make, start, duration, step = MODELS["PI"]
    system = make().compile()
    reference = system.simulate(start, duration, rtol=1e-11, atol=1e-13)
    directors = formulate(system, "directors")
    errors = []
    for h in (step / 2, step / 4):
        sol = directors.simulate(start, duration, step=h, method=method)
        errors.append(abs(sol["integral"][-1] - reference["integral"][-1]))
    assert errors[0] / errors[1] == pytest.approx(2.0 if method == "backward-euler" else 4.0, rel=0.1)


def test_the_step_follows_the_error_of_states() -> None:
    """Adaptive steps: states of one time constant in a hundred ask for smaller steps at first only."""
    m = jd.Model("decay")
    x, y = m.state("fast", 1.0), m.state("slow", 1.0)
    m.rate(x, -50.0 * x)
    m.rate(y, -0.5 * y)
    sol = m.compile(formulation="directors").simulate({}, 2.0, step=0.2, adaptive=True, rtol=1e-5, atol=1e-7)
    assert np.allclose(sol["slow"], np.exp(-0.5 * sol.t), atol=2e-4) and np.allclose(sol["fast"], np.exp(-50.0 * sol.t), atol=2e-4)
    steps = np.diff(sol.t)
    assert steps[:5].max() < 0.01 and steps.max() > 0.05


def test_a_model_without_bodies_is_a_differential_equation() -> None:
    m = jd.Model("Volterra")
    x, y = m.state("prey", 1.5), m.state("predators", 0.7)
    m.rate(x, x * (1.0 - y))
    m.rate(y, y * (x - 1.0))
    sol = m.compile(formulation="directors").simulate({}, 3.0, step=0.01)
    kept = sol["prey"] - np.log(sol["prey"]) + sol["predators"] - np.log(sol["predators"])
    assert np.ptp(kept) < 2e-5 and np.ptp(sol["prey"]) > 0.5


def test_what_states_cannot_be_is_said() -> None:
    s = AssembledSystem("wrong")
    z = s.coordinates("z", 2, [1.0, 1.0])
    s.add(Volterra(rated=False), "reader", {"z": z})
    with pytest.raises(ModelError, match="no element gives the rates of 'z'"):
        s.simulate(1.0, 0.1)
    s.add(Volterra(), "rates", {"z": z})
    s.add(Volterra(), "again", {"z": z})
    with pytest.raises(ModelError, match="'again': coordinates 'z' already have their rates from 'rates'"):
        s.simulate(1.0, 0.1)
    s = AssembledSystem("massive")
    z = s.coordinates("z", 2, [1.0, 1.0])
    s.add(Volterra(), "rates", {"z": z})
    s.add(PointMass(2), "mass", {"x": z}, {"mass": 1.0})
    with pytest.raises(ModelError, match="'mass': coordinates 'z' are of first order"):
        s.simulate(1.0, 0.1)

    class Potential(Volterra):
        def potential(self, s: Any) -> Any:
            return (s.z[0] * s.z[0],)

    s = AssembledSystem("energy")
    s.add(Potential(), "store", {"z": s.coordinates("z", 2, (1.0, 1.0))})
    with pytest.raises(ModelError, match="stands in a potential"):
        s.simulate(1.0, 0.1)
