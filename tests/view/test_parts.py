"""Pictures of parts of large deformation: surfaces follow the nodes, colours are the stress of the law."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.structures import Material, beam, block, cable, circle, rectangle
from jourdain.view.povray import save_povray
from jourdain.view.scenes import from_parts
from jourdain.view.scenes.default_shapes import Numbers
from jourdain.view.scenes.from_parts import node_places, solid_stress


def model() -> jd.Model:
    m = jd.Model("parts")
    hub = m.body("hub", 1.0, inertia=(0.1, 0.1, 0.1))
    m.revolute("mast", m.ground, hub, axis="z")
    part = block((0.5, 0.1, 0.05), (3, 1, 1), Material(1e6, 0.3, 500.0), origin=(0.1, -0.05, -0.025))
    part.interface("root", "x-")
    m.flexible_body("blade", part, attach={"root": hub.at(0.1, 0, 0)}, modes=2)
    rod = m.flexible_body("rod", beam((0, 0, 0), (-0.6, 0, 0), rectangle(0.02, 0.02), Material(1e7, 0.3, 500.0), elements=4), modes=2)
    m.revolute("hinge", hub.at(-0.1, 0, 0), rod.node("start"), axis="y")
    return m


def test_a_part_on_the_ground_without_rigid_bodies(tmp_path: Path) -> None:
    m = jd.Model("bar")
    part = block((0.5, 0.1, 0.05), (3, 1, 1), Material(1e6, 0.3, 500.0))
    part.interface("root", "x-")
    m.flexible_body("bar", part, attach={"root": m.ground})
    sol = m.compile(formulation="directors").simulate({}, t=0.1, step=0.02)
    surface = sol.scene().body("bar").surface
    assert surface is not None
    tip = surface.deformed(np.asarray(sol.scene().runs[0].amplitudes["bar"])[-1])[:, 2].min()
    assert tip == pytest.approx(min(sol[f"bar.{k}"][-1, 2] for k in range(16)), abs=1e-4)
    sol.save_page(tmp_path / "bar.html")
    assert (tmp_path / "bar.html").stat().st_size > 10_000


def test_surfaces_follow_the_nodes(tmp_path: Path) -> None:
    sol = model().compile(formulation="directors", reduction="bodies").simulate({"mast.angle_rate": 3.0}, t=0.3, step=0.02)
    scene = sol.scene(stress={"blade": "von mises", "rod": "stress"})
    assert {"hub", "blade", "rod"} <= {b.name for b in scene.bodies}
    for name in ("blade", "rod"):
        body = scene.body(name)
        assert body.surface is not None
        at_end = body.surface.deformed(np.asarray(scene.runs[0].amplitudes[name])[-1])
        nodes = np.array([sol[f"{name}.{k}"][-1] for k in range(16) if f"{name}.{k}" in sol] or [sol["rod.4.position"][-1]])
        gaps = np.linalg.norm(at_end[:, None] - nodes, axis=2).min(axis=0)
        assert gaps.max() < (1e-4 if name == "blade" else 0.0145)  # sections have a width
    sol.save_picture(tmp_path / "parts.png", t=0.2, stress="displacement")
    sol.save_page(tmp_path / "parts.html")
    assert (tmp_path / "parts.png").stat().st_size > 10_000 and (tmp_path / "parts.html").stat().st_size > 10_000
    with pytest.raises(InputError, match="'blade': 'heat' is not known on this surface"):
        sol.scene(stress={"blade": "heat"})


def test_stress_is_that_of_the_law() -> None:
    """A bar stretched by 10 % along x: Cauchy's stress of St. Venant and Kirchhoff's law by hand."""
    m = model()
    system = m.compile(formulation="directors")
    sol = system.simulate({}, t=0.02, step=0.01)
    part = next(p for p in system.parts if p.name == "blade")
    x = node_places(part, sol, np.array([0]), Numbers(system.model, system.parameters))  # type: ignore[arg-type]
    assert x[0] == pytest.approx(part.body.part.part.nodes, abs=1e-12)
    law = part.material()  # type: ignore[attr-defined]
    E = 0.5 * (1.1**2 - 1.0)
    S = np.array([law["lame"] * E + 2 * law["shear"] * E, law["lame"] * E, law["lame"] * E])
    sigma = S * np.array([1.1**2, 1.0, 1.0]) / 1.1
    found = solid_stress(part, x * (1.1, 1.0, 1.0))  # type: ignore[arg-type]
    assert found == pytest.approx(np.full_like(found, sigma[0] - sigma[1]), rel=1e-9)


def test_series_for_paraview(tmp_path: Path) -> None:
    """Nodes of solids, beams and cables where they are, with stresses; of another body there is none."""
    m = model()
    m.flexible_body(
        "rope", cable((0, 0, 0), (0, 0, -1), circle(0.01), Material(1e7, 0.3, 500.0), elements=4), attach={"start": m.ground}, modes=2
    )
    sol = m.compile(formulation="directors", reduction="bodies").simulate({"mast.angle_rate": 3.0}, t=0.1, step=0.02)
    for name, cells, field in (("blade", 3, "von mises"), ("rod", 4, "stress"), ("rope", 4, "stress")):
        sol.save_vtu(tmp_path / name, name, times=2)
        assert len(list(tmp_path.glob(f"{name}_*.vtu"))) == 3
        grid = ElementTree.parse(tmp_path / f"{name}_0002.vtu").getroot()
        arrays = {a.get("Name"): a for a in grid.iter("DataArray")}
        assert next(grid.iter("Piece")).get("NumberOfCells") == str(cells)
        points = np.frombuffer(base64.b64decode(arrays["points"].text or "")[8:]).reshape(-1, 3)
        last = {
            "blade": sol["blade.15"] if "blade.15" in sol else sol["blade.14"],
            "rod": sol["rod.4.position"],
            "rope": sol["rope.4"][:, :3],
        }[name]
        assert np.linalg.norm(points - last[-1], axis=1).min() < 1e-9
        stress = np.frombuffer(base64.b64decode(arrays[field].text or "")[8:])
        assert stress.max() > 0.0
    with pytest.raises(InputError, match="save_vtu: 'hub' is no flexible body of 'parts'; there is blade, rod, rope"):
        sol.save_vtu(tmp_path / "hub", "hub")


def test_scenes_for_povray(tmp_path: Path) -> None:
    """Surfaces of parts are meshes with colours of their nodes."""
    sol = model().compile(formulation="directors", reduction="bodies").simulate({"mast.angle_rate": 3.0}, t=0.1, step=0.02)
    save_povray(sol.scene(stress={"blade": "von mises"}), tmp_path, [0.0, 0.1])
    text = "".join(f.read_text() for f in sorted(tmp_path.iterdir()) if f.suffix in (".pov", ".inc"))
    assert "mesh2" in text and "texture_list" in text


def test_stress_along_an_element_follows_a_linear_moment() -> None:
    """My(ξ) = 3 − 5 ξ from its values at the points of Gauss; a single point is constant."""
    section = SimpleNamespace(area=2.0, half_y=0.1, half_z=0.2, Iy=0.5, Iz=0.25)
    xi = np.array([-1.0, 1.0]) / np.sqrt(3.0)
    zero = np.zeros(1)
    solution = {f"r.e0.{n}{k}": zero for n in ("N", "Mz") for k in (1, 2)} | {
        f"r.e0.My{k + 1}": np.array([3.0 - 5.0 * xi[k]]) for k in range(2)
    }
    at = np.array([-1.0, 0.0, 1.0])
    assert from_parts._stress(solution, np.array([0]), "r.e0", section, at)[0] == pytest.approx(np.abs(3.0 - 5.0 * at) * 0.2 / 0.5)
    constant = {"r.e0.N": np.array([-4.0]), "r.e0.My": zero, "r.e0.Mz": zero}
    assert from_parts._stress(constant, np.array([0]), "r.e0", section, at)[0] == pytest.approx([2.0] * 3)
