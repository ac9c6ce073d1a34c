"""Natural coordinates and directors: textbook counts, constant masses, accelerations of the recursive formalism."""

import numpy as np
import pytest
from scipy.linalg import null_space

import jourdain as jd
from jourdain import library
from jourdain.formalisms.coordinates.directors import directors
from jourdain.formalisms.coordinates.natural import natural
from jourdain.symbolic import free_symbols
from jourdain.systems.constraints import jacobian
from jourdain.systems.formulations import formulate
from jourdain.systems.state import State


def spatial_mix() -> jd.Model:
    """Every kind of joint that shares points, vectors or an orientation, with springs, a gear and parameters."""
    m = jd.Model("mix")
    length = m.parameter("length", 0.4, unit="m")
    names = ("base", "slide", "arm", "fork", "disc", "ball", "weld", "cylinder")
    b = {n: m.body(n, mass=1 + 0.1 * i, com=(0.02, 0.03 * i, -0.01), inertia=(0.02, 0.03 + 0.001 * i, 0.025)) for i, n in enumerate(names)}
    m.revolute("base", m.ground, b["base"], axis="z")
    m.prismatic("slide", b["base"].at(0.1, 0, length), b["slide"].at(0, 0.02, 0, rotation=("x", 0.3)), axis="x")
    m.revolute("arm", b["slide"].at(0, 0.1, 0), b["arm"], axis="y")
    m.universal("fork", b["arm"].at(length, 0, 0), b["fork"], axes=("x", "z"))
    m.revolute("disc", b["fork"].at(0, 0, 0.2), b["disc"].at(0, 0.1, 0), axis=(0, 0.6, 0.8))
    m.spherical("ball", b["disc"].at(0, 0.2, 0.1), b["ball"])
    m.fixed("weld", b["ball"].at(0.1, 0, 0, rotation=("y", 0.4)), b["weld"])
    m.cylindrical("cylinder", b["arm"].at(0, 0, 0.3), b["cylinder"], axis="y")
    m.spring("spring", b["weld"].at(0.1, 0, 0), m.ground.at(0, 0, 2), stiffness=50.0, damping=2.0, length=0.3)
    return m


CASES = {
    "slider-crank": (lambda: library.slider_crank(gravity=9.81), {"crank.angle": 0.7}),
    "four-bar": (library.four_bar, {"crank.angle": 0.9}),
    "RSSR": (library.rssr, {"crank.angle": 0.3}),
    "Bricard": (library.bricard, {"P1.angle": 0.2}),
    "Bennett": (library.bennett, {"P1.angle": 0.3}),
    "governor": (library.flyball_governor, {"shaft.angle": 0.2, "left.angle": 0.5, "right.angle": 0.6}),
    "five-link": (library.five_link_suspension, {"frame.displacement": 0.01, "rear.float.z": 0.02, "rear.spin.angle": 0.3}),
    "mix": (spatial_mix, {}),
}


def random_state(system: jd.System, fixed: dict) -> State:
    rng = np.random.default_rng(7)
    if not system.equations_of_motion.rows:
        q = system.configuration.random(rng)
        return State(system, q, rng.normal(size=system.nv), np.zeros(system.nz), 0.0)
    start = system.assemble(fixed)
    allowed = null_space(jacobian(system, start.q, 0.0), rcond=1e-9)
    return State(system, start.q, allowed @ rng.normal(size=allowed.shape[1]), start.z, 0.0)


@pytest.mark.parametrize("formulation", ["natural", "directors"])
@pytest.mark.parametrize("case", CASES)
def test_accelerations_are_those_of_the_recursive_formalism(case, formulation):
    make, fixed = CASES[case]
    system = make().compile()
    state = random_state(system, fixed)
    mine, theirs = (formulate(system, f).accelerations(state) for f in (formulation, "recursive"))
    assert np.allclose(mine, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize(
    ("model", "coordinates", "constraints"),
    [(library.slider_crank(), 4, 3), (library.four_bar(), 4, 3), (library.bricard(), 24, 24), (library.pendulum(), 2, 1)],
)
def test_textbook_counts(model, coordinates, constraints):
    d = natural(model)
    assert (len(d.labels), len(d.constraints)) == (coordinates, constraints)


@pytest.mark.parametrize("form", [natural, directors])
def test_mass_is_constant_and_constraints_are_quadratic(form):
    d = form(spatial_mix())
    moving = {s.id for s in (*d.x, *d.xd)}
    assert not any(s.id in moving for s in free_symbols(list(d.mass.values())))
    rows = [r.expression for r in d.constraints]
    from jourdain.symbolic import sparse_jacobian

    first = sparse_jacobian(rows, d.x)
    second = sparse_jacobian(list(first.values()), d.x)
    assert not any(s.id in moving for s in free_symbols(list(second.values())))


def turned(rng: np.random.Generator) -> np.ndarray:
    """A random rotation."""
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return R * np.sign(np.linalg.det(R))


def in_a_plane(rng: np.random.Generator) -> jd.Model:
    """Hinges, sliders, welds and planar joints that keep bodies in a coordinate plane, of which the axes of bodies and joints are turned out in any way."""
    m = jd.Model("plane", gravity=tuple(rng.normal(size=3)))
    normal = np.eye(3)[rng.integers(3)]
    R: dict[str, np.ndarray] = {"ground": np.eye(3)}
    for i in range(4):
        wide = rng.normal(size=(3, 3))
        body = m.body(f"b{i}", 1.0 + i, rng.normal(size=3).tolist(), (np.sum(wide**2) * np.eye(3) - wide @ wide.T).tolist())
        parent = [m.ground, *m.bodies.values()][rng.integers(i + 1)]
        axes, R[body.name] = turned(rng), turned(rng)
        a = parent.frame(f"a{i}", rng.normal(size=3).tolist(), (R[parent.name].T @ axes).tolist())
        b = body.frame(f"b{i}", rng.normal(size=3).tolist(), (R[body.name].T @ axes).tolist())
        way = np.cross(normal, rng.normal(size=3))
        kind = rng.choice(["revolute", "revolute", "prismatic", "fixed", "planar"])
        along = {"revolute": normal * rng.choice([-1.0, 1.0]), "prismatic": way}.get(kind)
        if kind == "planar" and parent.is_ground:
            plane = "".join("xyz"[k] for k in range(3) if normal[k] == 0.0)
            m.planar(f"j{i}", parent.at(0.1, 0.2, 0.3), body.frame(f"p{i}", (0.3, 0.2, 0.1), R[body.name].T.tolist()), plane=plane)
        else:
            m.joint("fixed" if along is None else kind, f"j{i}", a, b, **({} if along is None else {"axis": (axes.T @ along).tolist()}))
    m.load("push", body.at(0.1, 0.2, 0.3), force=(1.0, 2.0, 3.0), torque=(0.3, 0.2, 0.1))
    return m


@pytest.mark.parametrize("formulation", ["natural", "cartesian"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5])
def test_bodies_in_a_plane_whose_axes_are_turned_out_of_it(seed, formulation):
    rng = np.random.default_rng(seed)
    m = in_a_plane(rng)
    s, other = m.compile(), m.compile(formulation=formulation)
    state = State(s, rng.normal(size=s.nq), rng.normal(size=s.nv), np.zeros(0), 0.0)
    np.testing.assert_allclose(other.accelerations(state), s.accelerations(state), rtol=1e-9, atol=1e-9)
    wanted, found = s.reactions(state), other.reactions(state)
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9, atol=1e-8)
