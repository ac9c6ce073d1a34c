"""Structures from files: round trips, CalculiX against its own answers, bad and hostile files."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.calculix import TYPES
from jourdain.structures.files import matrix_market
from jourdain.structures.parts.solids import KINDS, elasticity, stiffness_of

S = jd.structures
with_ccx = pytest.mark.skipif(shutil.which("ccx") is None, reason="CalculiX (calculix-ccx) is not installed")
BLOCKS = {"C3D4": "tet4", "C3D8": "hex8", "C3D10": "tet10", "C3D20": "hex20"}


def write_deck(
    path: Path, part, kind: str, *, storage: bool = True, density: float = 7850.0, E: float = 2.1e11, scale: float = 1.0
) -> Path:
    """A deck of a block with one set; long element rows go on in the next line, as ccx wants."""
    lines = ["*HEADING", "a bar", "** a comment", "*NODE, NSET=ALL"]
    lines += [f"{i + 1}, " + ", ".join(f"{scale * x:.15g}" for x in p) for i, p in enumerate(part.nodes)]
    lines.append(f"*ELEMENT, TYPE={kind}, ELSET=EALL")
    for i, nodes in enumerate(part.elements[0].nodes):
        row = [str(i + 1), *(str(n + 1) for n in nodes)]
        lines += [", ".join(row[:12]) + ("," if len(row) > 12 else ""), *([", ".join(row[12:])] if len(row) > 12 else [])]
    lines += [
        "*NSET, NSET=big",
        *(f"{n + 1}," for n in part.sets["x-"]),
        "*NSET, NSET=two, GENERATE",
        "1, 3, 2",
        "*NSET, NSET=both",
        "big, 2",
    ]
    lines += ["*MATERIAL, NAME=STEEL", "*ELASTIC", f"{E}, 0.3", "*DENSITY", f"{density}", "*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL"]
    lines += ["*STEP", "*FREQUENCY, SOLVER=MATRIXSTORAGE" if storage else "*FREQUENCY", "16", "*END STEP"]
    path.write_text("\n".join(lines) + "\n")
    return path


def bar(kind: str = "hex8"):
    return S.block((0.2, 0.03, 0.02), (5, 2, 1), S.STEEL, kind=kind)


def fake_run(folder: Path, part, kind: str = "C3D8") -> Path:
    """What ccx writes, written by hand, so that reading is tested without it."""
    deck = write_deck(folder / "bar.inp", part, kind)
    (folder / "bar.dof").write_text("".join(f"{n + 1}.{c + 1}\n" for n, c in zip(part.dofs.nodes, part.dofs.components)))
    for suffix, matrix in ((".sti", part.K), (".mas", part.M)):
        full = matrix.toarray()
        with (folder / f"bar{suffix}").open("w") as file:
            for j in range(len(full)):
                for i in range(j + 1):
                    if full[i, j] or i == j:
                        file.write(f"{i + 1} {j + 1}  {full[i, j]:.13e}\n")
    return deck


# NPZ and Matrix Market


def test_npz_round_trip(tmp_path: Path) -> None:
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), S.STEEL, elements=4)
    part.sets["half"] = np.array([0, 1, 2])
    part.interface("grip", [3, 4], kind="average")
    part.save(tmp_path / "beam.npz")
    again = S.read(tmp_path / "beam.npz")
    assert again.name == "beam" and again.names == part.names and list(again.sets["half"]) == [0, 1, 2]
    assert_allclose(again.K.toarray(), part.K.toarray(), rtol=0)
    a, b = part.reduce(5), again.reduce(5)
    e = 0.01 * np.random.default_rng(0).standard_normal(5)
    assert_allclose(b.mass_matrix(e), a.mass_matrix(e), atol=1e-14)
    assert_allclose(b.points["grip"].phi_r, a.points["grip"].phi_r, atol=1e-12)


def test_reduced_round_trip(tmp_path: Path) -> None:
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), S.STEEL, elements=4)
    body = part.reduce(3, frame="tangent", damping=0.01)
    body.save(tmp_path / "body.npz")
    again = S.read_reduced(tmp_path / "body.npz")
    e = np.array([0.01, -0.02, 0.005])
    assert_allclose(again.mass_matrix(e), body.mass_matrix(e), rtol=0)
    assert_allclose(again.damping, body.damping, rtol=0)
    assert again.names == body.names and again.frame == "tangent" and again.points["end"].turns
    assert_allclose(again.point(2).phi_t, body.point(2).phi_t, rtol=0)
    assert_allclose(S.read(tmp_path / "body.npz").K.toarray(), part.K.toarray(), rtol=0)
    with pytest.raises(jd.InputError, match="it has matrices and no elements"):
        again.recovery()
    part.save(tmp_path / "part.npz")
    with pytest.raises(jd.InputError, match="it is a structure that is not reduced"):
        S.read_reduced(tmp_path / "part.npz")


def test_a_guessed_field_is_not_kept(tmp_path: Path) -> None:
    """A matrix with rotations, saved and read, is the same body: its field of mass is found again, not taken for given."""
    part = S.beam((0, 0, 0), (1, 0, 0), S.circle(0.02), S.STEEL, elements=3)
    plain = S.Structure(part.nodes, part.M, part.K)
    plain.save(tmp_path / "plain.npz")
    a, b = plain.reduce(3), S.read(tmp_path / "plain.npz").reduce(3)
    e = 0.01 * np.ones(3)
    assert_allclose(b.mass_matrix(e), a.mass_matrix(e), atol=1e-14)


def test_plain_arrays_in_npz(tmp_path: Path) -> None:
    part = S.truss_box()
    np.savez(tmp_path / "box.npz", nodes=part.nodes, M=part.M.toarray(), K=part.K.toarray())
    assert_allclose(S.read(tmp_path / "box.npz").frequencies(3), part.frequencies(3), rtol=1e-12)


def test_matrix_market(tmp_path: Path) -> None:
    part = S.truss_box()
    scipy.io.mmwrite(tmp_path / "K.mtx", part.K.tocoo(), symmetry="symmetric")
    scipy.io.mmwrite(tmp_path / "M.mtx", part.M.tocoo())
    np.savetxt(tmp_path / "nodes.csv", part.nodes, delimiter=",")
    again = S.read(tmp_path / "K.mtx", matrices=tmp_path / "M.mtx", nodes=tmp_path / "nodes.csv")
    assert_allclose(again.frequencies(3), part.frequencies(3), rtol=1e-9)
    scipy.io.mmwrite(tmp_path / "dense.mtx", part.K.toarray())
    assert_allclose(matrix_market(tmp_path / "dense.mtx").toarray(), part.K.toarray(), rtol=1e-12)
    with pytest.raises(jd.InputError, match="a stiffness matrix alone is no structure"):
        S.read(tmp_path / "K.mtx")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 9\n1 1 5\n")
    with pytest.raises(jd.InputError, match=r"bad.mtx: it has 1 entries, but its head says 9"):
        S.read(tmp_path / "bad.mtx", matrices=tmp_path / "M.mtx", nodes=part.nodes)


# CalculiX


def test_deck_with_matrices(tmp_path: Path) -> None:
    part = bar()
    found = S.read(fake_run(tmp_path, part), matrices="bar")
    assert_allclose(found.K.toarray(), part.K.toarray(), atol=1e-12 * abs(part.K).max())
    assert_allclose(found.frequencies(4), part.frequencies(4), rtol=1e-9)
    assert list(found.sets["BIG"]) == list(part.sets["x-"])
    assert list(found.sets["TWO"]) == [0, 2]
    assert list(found.sets["BOTH"]) == sorted({*part.sets["x-"].tolist(), 1})
    assert found.elements[0].channels[0] == "sxx"


def test_deck_as_a_mesh(tmp_path: Path) -> None:
    for kind, ours in (("C3D8I", "hex8"), ("C3D10", "tet10"), ("C3D20", "hex20"), ("C3D4", "tet4")):
        part = bar(ours)
        found = S.read(write_deck(tmp_path / "mesh.inp", part, kind))
        assert_allclose(found.frequencies(3), part.frequencies(3), rtol=1e-7)


def test_millimetres_are_asked_for(tmp_path: Path) -> None:
    part = bar()
    deck = write_deck(tmp_path / "mm.inp", part, "C3D8I", density=7.85e-9, E=2.1e5, scale=1e3)
    with pytest.raises(jd.InputError, match=r"density 7.85e-09 looks like tonnes and millimetres; say units='mm'"):
        S.read(deck)
    found = S.read(deck, units="mm")
    assert found.mass == pytest.approx(part.mass, rel=1e-10)
    assert_allclose(found.frequencies(3), part.frequencies(3), rtol=1e-8)
    with pytest.raises(jd.InputError, match="units = 'inch' are unknown"):
        S.read(deck, units="inch")


@with_ccx
@pytest.mark.parametrize("kind", sorted(BLOCKS))
def test_calculix_agrees(tmp_path: Path, kind: str) -> None:
    """Its matrices are ours to rounding; its own frequencies, which it iterates to some 1e-6, are those of the part."""
    part = bar(BLOCKS[kind])
    deck = write_deck(tmp_path / "bar.inp", part, kind)
    write_deck(tmp_path / "own.inp", part, kind, storage=False)
    for job in ("bar", "own"):
        subprocess.run(["ccx", job], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    found = S.read(deck, matrices="bar")
    count, _ = TYPES[kind]
    plain = replace(KINDS[count, 3], bubbles=0)
    _, K = stiffness_of(part.nodes, part.elements[0].nodes, plain, part.dofs, elasticity(S.STEEL, 3), 1.0, "bar")
    table = found.dofs.table
    order = table[part.dofs.nodes, part.dofs.components]
    assert_allclose(found.K.toarray()[np.ix_(order, order)], K.toarray(), atol=1e-9 * abs(K).max())
    if kind in ("C3D8", "C3D20"):  # it integrates the mass of tetrahedra with fewer points
        assert_allclose(found.M.toarray()[np.ix_(order, order)], part.M.toarray(), atol=1e-9 * abs(part.M).max())
    printed = [line.split() for line in (tmp_path / "own.dat").read_text().splitlines() if len(line.split()) == 5]
    squares = np.array([float(row[1]) for row in printed if row[0].isdigit()][6:14])
    assert_allclose(found.frequencies(8), np.sqrt(squares), rtol=2e-6)


@with_ccx
def test_inner_nodes_of_calculix_are_condensed(tmp_path: Path) -> None:
    """C3D8I: its incompatible modes are nodes of their own in the matrices; without them the stiffness is ours, and frequencies are its own."""
    part = bar("hex8")
    for job, storage in (("bar", True), ("own", False)):
        deck = write_deck(tmp_path / f"{job}.inp", part, "C3D8I", storage=storage)
        subprocess.run(["ccx", job], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    found = S.read(deck.with_name("bar.inp"), matrices="bar")
    order = found.dofs.table[part.dofs.nodes, part.dofs.components]
    assert found.mass == pytest.approx(part.mass, rel=1e-9) and len(found.dofs) == len(part.dofs)
    assert_allclose(found.K.toarray()[np.ix_(order, order)], part.K.toarray(), atol=1e-6 * abs(part.K).max())
    printed = [line.split() for line in (tmp_path / "own.dat").read_text().splitlines() if len(line.split()) == 5]
    squares = np.array([float(row[1]) for row in printed if row[0].isdigit()][6:10])
    assert_allclose(
        found.frequencies(1), np.sqrt(squares[:1]), rtol=2e-3
    )  # their own inertia, which goes with static shapes, is what is left
    assert_allclose(found.frequencies(4), np.sqrt(squares), rtol=1.2e-2)


@pytest.mark.parametrize("kind, cells", [("tet4", "tetra"), ("hex8", "hexahedron"), ("tet10", "tetra10"), ("hex20", "hexahedron20")])
def test_meshes(tmp_path: Path, kind: str, cells: str) -> None:
    meshio = pytest.importorskip("meshio")
    part = bar(kind)
    lone = np.vstack([part.nodes, [[9.0, 9.0, 9.0]]])  # a node that no cell uses is left out
    meshio.Mesh(1e3 * lone, [(cells, part.elements[0].nodes)]).write(tmp_path / "bar.vtu")
    found = S.read(tmp_path / "bar.vtu", material=S.STEEL, units="mm")
    assert_allclose(found.frequencies(3), part.frequencies(3), rtol=1e-6)
    with pytest.raises(jd.InputError, match="a mesh has no material"):
        S.read(tmp_path / "bar.vtu")
    (tmp_path / "bad.vtu").write_text("<VTKFile")
    with pytest.raises(jd.InputError, match="bad.vtu: meshio cannot read it"):
        S.read(tmp_path / "bad.vtu", material=S.STEEL)


# bad and hostile files


def test_files_that_are_not_there_or_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(jd.InputError, match="there is no such file"):
        S.read(tmp_path / "none.npz")
    (tmp_path / "part.stl").write_text("solid")
    with pytest.raises(jd.InputError, match=r"read from .npz, .inp or .mtx; for meshes|a mesh has no material"):
        S.read(tmp_path / "part.stl")


def test_truncated_and_foreign_files(tmp_path: Path) -> None:
    part = bar()
    deck = fake_run(tmp_path, part)
    text = (tmp_path / "bar.sti").read_text()
    (tmp_path / "bar.sti").write_text(text[: len(text) // 2])
    with pytest.raises(jd.InputError, match="was the file cut off"):
        S.read(deck, matrices="bar")
    (tmp_path / "bar.sti").write_text("9999 9999 1.0\n")
    with pytest.raises(jd.InputError, match=r"entries outside its 108 rows"):
        S.read(deck, matrices="bar")
    (tmp_path / "bar.dof").write_text("1.1\n1.7\n")
    with pytest.raises(jd.InputError, match=r"bar.dof, line 2: '1.7' is no degree of freedom"):
        S.read(deck, matrices="bar")
    deck.write_text("*INCLUDE, INPUT=/etc/passwd\n")
    with pytest.raises(jd.InputError, match=r"line 1: \*INCLUDE is not followed"):
        S.read(deck)
    deck.write_text("*NODE\n1, a, b\n")
    with pytest.raises(jd.InputError, match="line 2: 'a, b' are no numbers"):
        S.read(deck)
    deck.write_text("*NODE\n1, 0, 0, 0\n*NSET, NSET=a, GENERATE\n1, 1000000000000\n")
    with pytest.raises(jd.InputError, match="has more nodes than there are"):
        S.read(deck)
    deck.write_text("*NODE\n1, 0, 0, 0\n*ELEMENT, TYPE=C3D4\n1, 1, 1\n")
    with pytest.raises(jd.InputError, match="was the file cut off"):
        S.read(deck)
    deck.write_text("*NODE\nnan, 0, 0, 0\n")
    with pytest.raises(jd.InputError, match="'nan' are no numbers of nodes"):
        S.read(deck)
    deck.write_text("*NODE\n1, 0, 0, 0\n*NSET, NSET=a\n²\n")
    with pytest.raises(jd.InputError, match="line 4: '²' is neither a node nor a set"):
        S.read(deck)
    deck.write_text("*NODE\n1, 0, 0, 0\n*ELEMENT, TYPE=C3D4\n*MATERIAL\n*ELASTIC\n1, 0\n*DENSITY\n1\n")
    with pytest.raises(jd.InputError, match="at least one row"):
        S.read(deck)
    deck.write_text("*HEADING\n")
    with pytest.raises(jd.InputError, match=r"it has no \*NODE"):
        S.read(deck)


def test_pickles_in_npz_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "evil.npz", nodes=np.array([{"a": 1}], dtype=object), M=np.eye(3), K=np.eye(3))
    with pytest.raises(jd.InputError, match="evil.npz: it is no file of a structure"):
        S.read(tmp_path / "evil.npz")
    np.savez(tmp_path / "few.npz", nodes=np.zeros((2, 3)))
    with pytest.raises(jd.InputError, match="few.npz: it is no file of a structure .M is not a file"):
        S.read(tmp_path / "few.npz")


@given(cut=st.floats(0, 1), flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_broken_files_raise_one_line(tmp_path: Path, cut: float, flips: list[tuple[int, int]]) -> None:
    """Whatever is done to a file, it is read or refused by name; nothing else is raised."""
    part = S.truss([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], 1.0, masses=1.0)
    part.reduce(2).save(tmp_path / "t.npz")
    write_deck(tmp_path / "t.inp", S.block((1, 1, 1), (1, 1, 1), S.STEEL), "C3D8")
    scipy.io.mmwrite(tmp_path / "t.mtx", part.K.tocoo())
    for name, options in (("t.npz", {}), ("t.inp", {}), ("t.mtx", {"matrices": tmp_path / "t.mtx", "nodes": part.nodes})):
        data = bytearray((tmp_path / name).read_bytes())
        data = data[: max(1, int(cut * len(data)))]
        for place, byte in flips:
            data[place % len(data)] = byte
        (tmp_path / name).write_bytes(bytes(data))
        for reader in (S.read, S.read_reduced) if name == "t.npz" else (S.read,):
            try:
                reader(tmp_path / name, **options)
            except jd.JourdainError as error:
                assert "\n" not in str(error)
