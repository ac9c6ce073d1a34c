"""Random structures in random trees and loops: every formulation, the derivatives, the energy balance and the C export agree."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as hs

import jourdain as jd
from jourdain.io.export import export_source, exported_function

st = jd.structures
FRAMES = ("mean axes", "tangent", "pinned", "nodal-fixed")
JOINTS = ("revolute", "spherical", "universal", "prismatic", "fixed", "cylindrical")
#: Each example compiles systems: few of them, and none again to find a smaller one.
LIGHT = settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))


def structure(rng: np.random.Generator, name: str) -> st.Structure:
    """A crooked framework of a soft material with an interface of two nodes and named ends."""
    n = int(rng.integers(4, 7))
    nodes = np.column_stack([np.linspace(0.0, 1.0, n), 0.2 * rng.normal(size=(n, 2))])
    members = [(i, i + 1) for i in range(n - 1)] + [(0, n - 2)]
    part = st.framework(nodes, members, st.rectangle(0.02, 0.03), st.Material(1e9, 0.3, 1000.0), name=name)
    part.names.update(start=0, end=n - 1)
    part.interface("pair", [1, 2], kind=("rigid", "average")[rng.integers(2)])
    return part


def reduced(rng: np.random.Generator, name: str) -> st.ReducedStructure:
    frame, part = FRAMES[rng.integers(len(FRAMES))], structure(rng, name)
    modes, damping = int(rng.integers(1, 3)), (None, 0.02, {"mass": 0.3, "stiffness": 1e-4})[rng.integers(3)]
    kind = {"kind": "attachment", "interfaces": ["end"], "modes": 0} if frame == "mean axes" and rng.integers(2) else {"modes": modes}
    body = part.reduce(frame=frame, damping=damping, **kind)  # type: ignore[arg-type]
    return body.stiffened() if rng.integers(2) else body


def tree(seed: int, loop: bool = False) -> jd.Model:
    """Flexible and rigid bodies one on another or side by side; a loop is closed where the undeformed bodies stand."""
    rng = np.random.default_rng(seed)
    m = jd.Model("random", gravity=rng.normal(size=3))
    grown: list[tuple[Any, np.ndarray]] = [(m.ground, np.zeros(3))]
    flexible = rng.permutation([True, False, *(rng.integers(2, size=1) > 0)])
    for i, bends in enumerate(flexible):
        body: Any = m.flexible_body(f"b{i}", reduced(rng, f"part{i}")) if bends else m.body(f"b{i}", mass=1.0, inertia=(0.1, 0.2, 0.15))
        parent, origin = grown[int(rng.integers(max(0, len(grown) - 2), len(grown)))]
        at, held = (frame_of(b, rng) for b in (parent, body))
        joint = JOINTS[int(rng.integers(len(JOINTS)))] if i or loop else "revolute"
        options = {"orientation": "xyz"} if joint == "spherical" else {}
        m.joint("spherical" if loop and i == 0 else joint, f"j{i}", at, held, **({"orientation": "xyz"} if loop and i == 0 else options))
        grown.append((body, origin + place(at) - place(held)))
    body, origin = next((b, o) for b, o in reversed(grown) if b.name != "ground")
    tip = frame_of(body, rng)
    if loop:
        far = origin + place(tip) + np.array([0.0, 0.4, 0.3])
        m.close("tie", m.ground.at(*far), tip, "rod", length=0.5)
    else:
        m.spring("tie", m.ground.at(0.3, 0.5, 0.4), tip, stiffness=20.0, length=0.3, damping=0.2)
    return m


def frame_of(body: Any, rng: np.random.Generator) -> Any:
    """A random node, one without a name among them; a random place of a rigid body or the ground."""
    if not hasattr(body, "part"):
        return body.at(*(0.3 * rng.normal(size=3)))
    return body.node(("start", "end", "pair", 2)[int(rng.integers(4))])


def place(frame: Any) -> np.ndarray:
    return np.array([float(x) for x in frame.position])


def start(s: jd.System, rng: np.random.Generator, loop: bool) -> jd.State:
    c = s.reference.configuration
    v = dict(zip(c.velocity_names, 0.5 * rng.normal(size=len(c.velocity_names)), strict=True))
    if loop:
        return s.assemble(velocities={n: v[n] for n in [c.velocity_names[0]]})
    e = {n: (0.02 if ".mode" in n else 0.5) * rng.normal() for n in c.position_names}
    return s.state(e, v)


def near(found: Any, expected: Any, tolerance: float) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))


@LIGHT
@given(hs.integers(0, 10**6), hs.booleans())
def test_formulations_agree(seed: int, loop: bool) -> None:
    rng = np.random.default_rng(seed)
    systems = [tree(seed, loop).compile(formulation=f) for f in ("recursive", "semi-recursive", "cartesian")]
    x = start(systems[0], rng, loop)
    q, v = (dict(zip(n, y, strict=True)) for n, y in zip(_names(systems[0]), (x.q, x.v), strict=True))
    accelerations = [s.accelerations(s.state(q, v)) for s in systems]
    reactions = [s.reactions(s.state(q, v)) for s in systems]
    for a, r in zip(accelerations[1:], reactions[1:], strict=True):
        near(a, accelerations[0], 1e-9)
        for name, wrench in r.items():
            near(wrench, reactions[0][name], 1e-8)


def _names(s: jd.System) -> tuple[Any, Any]:
    return s.reference.configuration.position_names, s.reference.configuration.velocity_names


@LIGHT
@given(hs.integers(0, 10**6))
def test_masses_derivatives_and_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = tree(seed).compile()
    x, a = start(s, rng, False), rng.normal(size=s.nv)
    M = s.mass_matrix(x.q)
    assert np.array_equal(M, M.T) and np.linalg.eigvalsh(M).min() > 0
    near(s.energy(x.q, x.v)[0], 0.5 * x.v @ M @ x.v, 1e-12)
    near(s.inverse_dynamics(x.q, x.v, a) - s.inverse_dynamics(x.q, x.v, 0 * a), M @ a, 1e-11)
    dq, dv, by_a = s.function("inverse_dynamics_derivatives")(x.q, x.v, a)
    near(by_a, M, 1e-13)
    h = 1e-6
    rounding = (
        4e-15 * float(np.abs(s.inverse_dynamics(x.q, x.v, a)).max()) / h
    )  # of differences of forces, which may be large beside their derivatives
    for i, e in enumerate(np.eye(s.nv) * h):
        for found, above, below in (
            (dq[:, i], s.inverse_dynamics(x.q + e, x.v, a), s.inverse_dynamics(x.q - e, x.v, a)),
            (dv[:, i], s.inverse_dynamics(x.q, x.v + e, a), s.inverse_dynamics(x.q, x.v - e, a)),
        ):
            allowed = 1e-6 * max(1.0, float(np.abs(found).max())) + rounding
            np.testing.assert_allclose(found, (above - below) / (2 * h), rtol=0, atol=allowed)


@pytest.mark.filterwarnings("ignore:.*a linear body is wrong there")
@LIGHT
@given(hs.integers(0, 10**6), hs.booleans())
def test_energy_is_balanced(seed: int, loop: bool) -> None:
    s = tree(seed, loop).compile()
    run = s.simulate(start(s, np.random.default_rng(seed), loop), t=0.02, rtol=1e-12, atol=1e-14)
    assert run.metadata["status"] == "finished"
    size = max(np.abs(run[c]).max() for c in ("energy.kinetic", "energy.potential"))
    assert np.ptp(run["energy.error"]) < 1e-9 * size


@LIGHT
@given(hs.integers(0, 10**6))
def test_exported_c_is_native(tool: Callable[[str], str], seed: int) -> None:
    s = tree(seed).compile()
    rng, names = np.random.default_rng(seed), ["mass_matrix", "bias", "inverse_dynamics"]
    with tempfile.TemporaryDirectory() as folder:
        sources = [str(p) for p in export_source(s, "c", names, Path(folder)) if p.suffix == ".c"]
        library = str(Path(folder) / "lib.so")
        subprocess.run([tool("gcc"), "-std=c99", "-O0", "-shared", "-fPIC", *sources, "-o", library, "-lm"], check=True, timeout=240)
        compiled = ctypes.CDLL(library)
        values = {"q": 0.3 * rng.normal(size=s.nq), "v": rng.normal(size=s.nv), "a": rng.normal(size=s.nv)}
        values["p"] = np.array(list(s.parameters.values()))
        for name in names:
            f = exported_function(s, name)
            x = [values[a.name] for a in f.inputs]
            y = [np.full(len(r.expressions), np.nan) for r in f.outputs]
            compiled[f.name](*(z.ctypes.data_as(ctypes.c_void_p) for z in (*x, *y)))
            near(y[0], np.ravel(s.function(name)(*(values[a.name] for a in f.inputs if a.name != "p"))), 1e-13)
