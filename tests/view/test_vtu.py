"""VTU series of flexible bodies, read back by a reader of the format."""

from __future__ import annotations

import base64
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from jourdain.errors import InputError
from tests.io.flexible_models import arm, framed

TYPES = {"Float64": "<f8", "Int64": "<i8", "UInt8": "u1"}


def arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a file by name, as VTK reads them."""
    piece = ET.parse(path).getroot().find("UnstructuredGrid/Piece")
    assert piece is not None
    found = {}
    for item in piece.iter("DataArray"):
        raw = base64.b64decode(item.text or "")
        (size,) = struct.unpack("<Q", raw[:8])
        assert size == len(raw) - 8
        values = np.frombuffer(raw[8:], TYPES[item.attrib["type"]])
        width = int(item.attrib.get("NumberOfComponents", 1))
        found[item.attrib["Name"]] = values.reshape(-1, width) if width > 1 else values
    assert len(found["points"]) == int(piece.attrib["NumberOfPoints"]) and len(found["types"]) == int(piece.attrib["NumberOfCells"])
    return found


def test_a_series_holds_the_motion(tmp_path: Path) -> None:
    s = arm().compile()
    sol = s.simulate({"hinge": 0.3, "link.mode1": 0.01}, t=0.05, rtol=1e-9)
    series = sol.save_vtu(tmp_path / "link", body="link", times=5)
    assert series == tmp_path / "link.pvd"
    sets = ET.parse(series).getroot().findall("Collection/DataSet")
    np.testing.assert_allclose([float(d.attrib["timestep"]) for d in sets], np.linspace(0, 0.05, 6))
    part = s.model.bodies["link"].part  # type: ignore[attr-defined]
    recovered = s.recover(sol.resample(np.linspace(0, 0.05, 6)), "link")  # with the static share of loads
    for k, d in enumerate(sets):
        data = arrays(tmp_path / d.attrib["file"])
        x = sol.at([float(d.attrib["timestep"])])
        e = np.array([float(np.ravel(x[f"link.mode{i + 1}"])[0]) for i in range(part.modes)])
        p, R = s.function("poses")(np.zeros(1), np.array([float(np.ravel(x[n])[0]) for n in s.coordinate_names]))
        np.testing.assert_allclose(data["points"], part.node_positions(e) @ R[0].T + p[0], atol=1e-13)
        np.testing.assert_allclose(data["displacement"], (part.node_positions(e) - part.part.nodes) @ R[0].T, atol=1e-13)
        np.testing.assert_allclose(data["Mz@start"], recovered["Mz@start"][k], rtol=1e-12, atol=1e-9)
        assert data["types"].tolist() == [3] * 6 and data["connectivity"].tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]


def test_nodes_of_the_series_are_where_the_equations_put_them(tmp_path: Path, rng: np.random.Generator) -> None:
    """The frame at a node by the compiled kinematics, and the point of the file."""
    s = arm().compile()
    sol = s.simulate({"hinge": 0.3, "link.mode1": 0.02, "link.mode2": -0.01}, t=0.02, rtol=1e-9)
    series = sol.save_vtu(tmp_path / "link", "link")
    sets = ET.parse(series).getroot().findall("Collection/DataSet")
    assert len(sets) == len(sol.t)
    for i in (0, len(sol.t) // 2, len(sol.t) - 1):
        data = arrays(tmp_path / sets[i].attrib["file"])
        for name, node in (("start", 0), ("middle", 3), ("end", 6)):
            np.testing.assert_allclose(data["points"][node], sol.frame(f"link.{name}").position[i], atol=1e-12)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    s = framed().compile()
    sol = s.simulate(None, t=0.001)
    with pytest.raises(InputError, match="'ground' is no flexible body of 'frames'; there is one, two"):
        sol.save_vtu(tmp_path / "x", "ground")
    with pytest.raises(InputError, match="0 steps; at least one"):
        sol.save_vtu(tmp_path / "x", "one", times=0)
    sol.save_vtu(tmp_path / "one", "one", times=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.pvd", "one_0000.vtu", "one_0001.vtu"]
