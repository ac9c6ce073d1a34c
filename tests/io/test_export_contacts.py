"""Contacts in exported source: compiled C against runs and accelerations of the package; what source cannot find is refused by name."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.io.contact_source import with_contact_loads
from jourdain.io.export import export_source, export_standalone

STEEL = jd.structures.Material(210e9, 0.3, 7800.0)
LAWS = {
    "kelvin-voigt": lambda: jd.contact.kelvin_voigt(stiffness=1e5, damping=100.0, friction=0.4, rolling=0.01, spinning=0.005),
    "hertz": lambda: jd.contact.hertz(material=STEEL, radius=0.1, friction=0.3),
    "hunt-crossley": lambda: jd.contact.hunt_crossley(stiffness=1e6, damping=0.3, friction=0.3),
}


def pile(law: Any, shapes: str = "sphere sphere box capsule") -> jd.Model:
    m = jd.Model("pile")
    m.ground.shapes.append(jd.plane().at(0, 0, 0.01))
    made = {
        "sphere": jd.sphere(0.1, density=1000.0).at(0.01, 0, 0.02), "box": jd.box(0.2, 0.3, 0.1, density=500.0),
        "capsule": jd.capsule(0.05, 0.2, axis="x", density=500.0),
    }  # fmt: skip
    for k, word in enumerate(shapes.split()):
        m.free(f"f{k}", m.ground, m.body(f"{word}{k}", shape=made[word]))
    balls = [b for n, b in m.bodies.items() if n.startswith("sphere")]
    if len(balls) > 1:
        m.contact("balls", balls, law=law)
    m.contact("floor", list(m.bodies.values()), m.ground, law=law)
    return m


def scattered(s: jd.System, rng: np.random.Generator) -> jd.State:
    q = np.concatenate([np.r_[rng.uniform(-0.1, 0.1, 3), e / np.linalg.norm(e)] for e in rng.normal(size=(s.nv // 6, 4))])
    return s.state({}).with_values(q=q, v=rng.normal(size=s.nv))


@pytest.mark.parametrize("law", LAWS)
def test_exported_c_gives_the_accelerations_of_contacts(
    law: str, tmp_path: Path, tool: Callable[[str], str], rng: np.random.Generator
) -> None:
    s = pile(LAWS[law]()).compile()
    written = export_source(s, "c", ["state_derivative"], tmp_path)
    sources = [str(p) for p in written if p.suffix == ".c"]
    flags = ["-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([tool("gcc"), *flags, *sources, "-o", str(tmp_path / "lib.so"), "-lm"], check=True, timeout=240)
    library, f = ctypes.CDLL(str(tmp_path / "lib.so")), with_contact_loads(s, "source").symbolic("state_derivative")
    own = np.array(list(s.parameters.values()))
    for _ in range(20):
        state = scattered(s, rng)
        given = {"t": np.zeros(1), "q": state.q, "v": state.v, "x": state.x, "z": np.zeros(0), "u": np.zeros(0), "p": own}
        out = [np.full(len(r.expressions), np.nan) for r in f.outputs]
        library[f.name](*(a.ctypes.data_as(ctypes.c_void_p) for a in (*(given[a.name] for a in f.inputs), *out)))
        expected, found = s.accelerations(state), out[0][s.nq : s.nq + s.nv]
        assert np.abs(expected).max() > 20.0  # they touch
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def test_a_standalone_program_runs_as_the_solver_does(tmp_path: Path, tool: Callable[[str], str]) -> None:
    law = jd.contact.kelvin_voigt(stiffness=1e5, damping=100.0, friction=jd.contact.regularised(0.4, speed=0.1), rolling=0.01)
    s = pile(law, "sphere box").compile()
    start = s.state({"f0.z": 0.13, "f1.x": 0.5, "f1.z": 0.1, "f1.x_rate": 0.5, "f0.orientation.omega_x": 3.0})
    source = export_standalone(s, tmp_path / "program.c", start, t=0.1, step=1e-4)
    subprocess.run([tool("gcc"), "-O1", str(source), "-o", str(tmp_path / "program"), "-lm"], check=True, timeout=240)
    printed = subprocess.run([str(tmp_path / "program")], capture_output=True, text=True, timeout=240, check=True).stdout
    heading, *rows = printed.splitlines()
    names, found = heading.split(","), np.loadtxt(rows, delimiter=",")
    sol = s.simulate(start, 0.1, method="rk4", step=1e-4)
    for k, name in enumerate(names[1:-1], start=1):
        assert np.abs(found[:, k] - sol[name]).max() <= 1e-9 * max(1.0, np.abs(sol[name]).max()), name


@pytest.mark.parametrize(
    ("law", "shapes", "told"),
    [
        (jd.contact.rigid(), "sphere", "knows no rigid contacts, but 'pile' has 'floor'"),
        (jd.contact.flores(stiffness=1e5, restitution=0.5), "sphere", "contact 'floor' of 'pile' remembers"),
        (jd.contact.linear(stiffness=1e5, friction=jd.contact.bristle(0.3, 1e4)), "sphere", "contact 'floor' of 'pile' remembers"),
    ],
)
def test_what_source_cannot_do_is_refused(law: Any, shapes: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        export_source(pile(law, shapes), "c", ["state_derivative"], tmp_path)
    with pytest.raises(InputError, match=told):
        export_standalone(pile(law, shapes), tmp_path / "program.c")


def test_pairs_that_need_a_search_are_named(tmp_path: Path) -> None:
    m = pile(LAWS["kelvin-voigt"](), "sphere box")
    m.contact("all", list(m.bodies.values()), law=LAWS["kelvin-voigt"]())
    with pytest.raises(InputError, match=r"contact 'all' of 'pile': '.*' \(.*\) and '.*' \(.*\) touch by a search"):
        export_source(m, "c", ["state_derivative"], tmp_path)
