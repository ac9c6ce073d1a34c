"""Files: every format gives back exactly what was saved; damaged, foreign and newer files give clear errors."""

import builtins
import io
import json
import os
import pickle
import string
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from jourdain.errors import InputError
from jourdain.results import Channel, MissingExtraError, ResultFileError, Solution, from_pandas, load_solution
from jourdain.results import files as files_module
from jourdain.results import metadata as metadata_module
from jourdain.results.events import EventTable, Occurrence

SUFFIXES = (".npz", ".parquet", ".h5", ".csv", ".mat")

part = st.text(string.ascii_letters + string.digits + "_-,;:'#%é °", min_size=1, max_size=8).filter(lambda s: s == s.strip())
names = st.lists(part, min_size=1, max_size=3).map(".".join).filter(lambda s: s != "t")
text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
numbers = st.floats(width=64)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | numbers | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def solutions(draw: st.DrawFn) -> Solution:
    n = draw(st.integers(0, 6))
    t = np.cumsum(draw(hnp.arrays(float, n, elements=st.floats(0, 10))))
    channels = {}
    for name in draw(st.lists(names, max_size=4, unique=True)):
        shape = (n, *draw(st.sampled_from([(), (3,), (3, 3), (1,), (0,)])))
        kind = draw(st.sampled_from(["float", "int", "bool"]))
        elements = {
            "float": hnp.arrays(np.float64, shape, elements=numbers),
            "int": hnp.arrays(np.int64, shape, elements=st.integers(-(2**63), 2**63 - 1)),
            "bool": hnp.arrays(np.bool_, shape),
        }[kind]
        unit = draw(st.sampled_from(["", "rad", "N m", "m/s²", "µm"]))
        channels[name] = Channel(draw(elements), unit, draw(text))
    happened = [
        Occurrence(draw(text), draw(st.floats(0, 10)), {"q": draw(numbers)}, {"q": draw(numbers)}, draw(text)) for _ in range(n % 3)
    ]
    return Solution(t, channels, draw(st.dictionaries(text, plain, max_size=3)), {"steps": n}, events=EventTable(happened, ["never"]))


def same(a: object, b: object) -> bool:
    """Equal plain data, NaN equal to NaN, and int not equal to float."""
    return repr(a) == repr(b)


def assert_same(a: Solution, b: Solution) -> None:
    np.testing.assert_array_equal(a.t, b.t)
    assert a.names == b.names
    for name in a.names:
        x, y = a.channel(name), b.channel(name)
        assert x.values.dtype == y.values.dtype and x.values.shape == y.values.shape
        np.testing.assert_array_equal(x.values, y.values)
        if x.values.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(x.values[~np.isnan(x.values)]), np.signbit(y.values[~np.isnan(x.values)]))
        assert (x.unit, x.description) == (y.unit, y.description)
    assert same(a.metadata, b.metadata) and same(a.statistics, b.statistics) and a.derivatives == b.derivatives
    assert same(a.events.plain(), b.events.plain())


def example(n: int = 40) -> Solution:
    t = np.linspace(0, 1, n)
    channels = {
        "crank.angle": Channel(np.sin(t), "rad", "crank angle"),
        "crank.speed": Channel(np.cos(t), "rad/s"),
        "rod.R": Channel(np.random.default_rng(0).normal(size=(n, 3, 3))),
        "force": Channel(np.random.default_rng(1).normal(size=(n, 3)), "N"),
        "contact": Channel(t > 0.5),
    }
    about = {"model": "engine", "parameters": {"mass": 1.5, "limit": float("inf")}, "tolerances": [1e-6, 1e-9]}
    events = EventTable([Occurrence("hit", 0.5, {"crank.angle": 0.1}, {"crank.angle": -0.1}, "jump")])
    return Solution(t, channels, about, {"steps": n}, derivatives={"crank.angle": "crank.speed"}, events=events)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    example(300).save(path)
    assert_same(example(300), load_solution(path))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(sol=solutions())
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip_of_any_solution(tmp_path: Path, suffix: str, sol: Solution) -> None:
    path = tmp_path / f"any{suffix}"
    sol.save(path)
    assert_same(sol, load_solution(str(path)))


@given(plain)
@settings(deadline=None, max_examples=200)
def test_metadata_is_strict_json_and_comes_back(value: object) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    written = metadata_module.dumps(value)
    json.loads(written, parse_constant=refuse)
    assert written.isascii() and same(metadata_module.loads(written), value)


def test_other_programs_can_read_the_files(tmp_path: Path) -> None:
    import h5py
    import pandas as pd
    import pyarrow.parquet as pq
    from scipy.io import loadmat

    sol = example()
    for suffix in SUFFIXES:
        sol.save(tmp_path / f"run{suffix}")
    with np.load(tmp_path / "run.npz") as archive:
        np.testing.assert_array_equal(archive["crank.angle"], sol["crank.angle"])
    table = pq.read_table(tmp_path / "run.parquet")
    np.testing.assert_array_equal(table["force[2]"].to_numpy(), sol["force"][:, 2])
    assert table.schema.field("crank.angle").metadata[b"unit"] == b"rad"
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["channels/crank.angle"].attrs["unit"] == "rad"
    frame = pd.read_csv(tmp_path / "run.csv", comment="#")
    np.testing.assert_allclose(frame["rod.R[1,2]"], sol["rod.R"][:, 1, 2], rtol=1e-15)
    np.testing.assert_array_equal(loadmat(tmp_path / "run.mat")["crank_angle"][:, 0], sol["crank.angle"])


def test_matlab_names_are_unique_and_valid() -> None:
    given = ["a.b", "a_b", "a b", "1x", "_x", "T", "é.x", "x" * 120, "x" * 121, "jourdain_header"]
    short = files_module._matlab_names(given)
    assert len(set(short.values())) == len(given)
    assert all(name.isidentifier() and name.isascii() and name[0].isalpha() and len(name) <= 63 for name in short.values())
    assert "t" not in short.values()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_cut_files_are_refused(tmp_path: Path, suffix: str) -> None:
    whole, cut = tmp_path / f"whole{suffix}", tmp_path / f"cut{suffix}"
    example().save(whole)
    data = whole.read_bytes()
    for fraction in (0.0, 0.1, 0.5, 0.9, 0.999):
        cut.write_bytes(data[: int(fraction * len(data))])
        with pytest.raises(ResultFileError, match=r"cut\..*write it again"):
            load_solution(cut)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_give_our_error_or_the_very_same(tmp_path: Path, suffix: str, rng: np.random.Generator) -> None:
    path = tmp_path / f"damaged{suffix}"
    whole = example(5)
    whole.save(path)
    content = path.read_bytes()
    refused = 0
    for _ in range(150):
        harmed = bytearray(content)
        for at in rng.integers(len(content), size=rng.integers(1, 4)):
            harmed[at] ^= 1 << rng.integers(8)
        path.write_bytes(harmed)
        try:
            assert_same(whole, load_solution(path))
        except InputError as error:
            refused += 1
            assert path.name in str(error)
    assert refused > 50


def test_a_damaged_mat_file_is_never_given_to_scipy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose reader ends the program on some of them; every byte but the digest itself is looked at."""
    path = tmp_path / "run.mat"
    example(5).save(path)
    content = path.read_bytes()
    monkeypatch.setattr("scipy.io.loadmat", lambda *given: pytest.fail("SciPy was asked"))
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 64]) + content[at + 1 :])
        with pytest.raises(ResultFileError, match="changed since it was written"):
            load_solution(path)


def test_older_files_without_a_digest_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.csv"
    usual = files_module.header

    def older(sol: Solution) -> dict[str, object]:
        head = usual(sol) | {"version": 1}
        del head["digest"]
        return head

    with monkeypatch.context() as patch:
        patch.setattr(files_module, "header", older)
        example().save(path)
    assert_same(example(), load_solution(path))


def test_a_file_larger_than_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    example(4).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["t.npy"] = members["t.npy"].replace(b"(4,), }" + b" " * 12, b"(4000000000000,), }")
    assert b"(4000000000000,)" in members["t.npy"]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ResultFileError, match=r"bomb\.npz.*do not fit into memory"):
        load_solution(path)


@pytest.mark.parametrize("member", ["t", "jourdain_header"])
def test_members_larger_than_the_header_says_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: str) -> None:
    path = tmp_path / "bomb.npz"
    example(4).save(path)
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members have the name: the last one counts
        archive.writestr(f"{member}.npy", bytes(10_000_000), zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(files_module, "_MOST_HEADER", 1_000_000)
    unpacked: list[str] = []
    monkeypatch.setattr(files_module, "build", lambda *args: unpacked.append("all"))
    with pytest.raises(ResultFileError, match=r"bomb\.npz.*10000000 bytes"):
        load_solution(path)
    assert not unpacked


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_members_larger_than_memory_are_not_even_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    example(40).save(tmp_path / f"large{suffix}")
    monkeypatch.setattr(files_module.os, "sysconf", lambda name: 10)
    monkeypatch.setattr(files_module, "build", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ResultFileError, match="more than the .* GB of memory"):
        load_solution(tmp_path / f"large{suffix}")


@pytest.mark.parametrize("place", ["channels/force", "t"])
def test_hdf5_arrays_that_are_larger_than_their_header_says_are_not_unpacked(tmp_path: Path, place: str) -> None:
    example().save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        del file[place]
        file.create_dataset(place, (10**9,), "f8", chunks=(10**6,), compression="gzip", fillvalue=1.0)
    resealed(tmp_path / "run.h5")
    with pytest.raises(ResultFileError, match="has 1000000000 entries instead of"):
        load_solution(tmp_path / "run.h5")


@pytest.mark.parametrize("values", [["1.0"] * 40, np.ones(40) * (1 + 2j), np.zeros(40, "(3,)f8")], ids=["texts", "complex", "rows"])
@pytest.mark.parametrize("place", ["channels/crank.angle", "t"])
def test_what_is_no_real_number_in_a_forged_file_is_none(tmp_path: Path, place: str, values: Any) -> None:
    example().save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        assert file[place].shape == (40,)
        del file[place]
        file.create_dataset(place, data=values, dtype=getattr(values, "dtype", None))
    resealed(tmp_path / "run.h5")
    with pytest.raises(ResultFileError, match=r"holds no real numbers|entries instead of"):
        load_solution(tmp_path / "run.h5")


def test_arrays_of_hdf5_files_that_were_never_written_are_none(tmp_path: Path) -> None:
    example().save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        del file["t"]
        file.create_dataset("t", (40,), "f8", chunks=(10,))
    resealed(tmp_path / "run.h5")
    with pytest.raises(ResultFileError, match="has a size and no numbers"):
        load_solution(tmp_path / "run.h5")


def test_texts_in_a_forged_table_are_not_unpacked(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    example().save(tmp_path / "run.parquet")
    table = pq.read_table(tmp_path / "run.parquet")
    long = pa.array(["1" * 10_000] * len(table))
    at = table.schema.get_field_index("crank.angle")
    pq.write_table(table.set_column(at, "crank.angle", long), tmp_path / "run.parquet")
    with pytest.raises(ResultFileError, match="'crank.angle' holds no numbers but string"):
        load_solution(tmp_path / "run.parquet")


def test_cells_in_a_forged_mat_file_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = np.empty(40, object)
    cell[:] = [np.zeros(1000)] * 40
    image = io.BytesIO()
    scipy.io.savemat(image, {"t": cell})
    monkeypatch.setattr("scipy.io.loadmat", lambda *_: pytest.fail("it was read"))
    (tmp_path / "run.mat").write_bytes(files_module._mat_text(image.getvalue()) + image.getvalue()[files_module._MAT_TEXT :])
    with pytest.raises(ResultFileError, match="'t' holds no numbers but cell"):
        load_solution(tmp_path / "run.mat")


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> Any:  # tests may run as one who may read everything
        raise PermissionError(13, "Permission denied", str(path))

    example(4).save(tmp_path / "run.npz")
    monkeypatch.setitem(files_module._FORMATS, ".npz", (lambda *_: None, refused))
    with pytest.raises(ResultFileError, match=r"run\.npz' cannot be read \(Permission denied\); check the rights"):
        load_solution(tmp_path / "run.npz")


def test_what_killed_programs_left_is_removed(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from jourdain.results.whole_file import whole_file
with whole_file(Path(sys.argv[1])) as part:
    part.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "run.npz"
    example(4).save(path)
    subprocess.run([sys.executable, "-c", program, str(path)], timeout=60)
    (left,) = set(tmp_path.iterdir()) - {path}
    example(5).save(path)
    assert left.exists(), "another program may be writing it"
    os.utime(left, (0, 0))
    example(6).save(path)
    assert not left.exists() and len(load_solution(path)) == 6


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_newer_version_asks_for_an_upgrade(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"new{suffix}"
    with monkeypatch.context() as patch:
        patch.setattr(files_module, "VERSION", 99)
        example().save(path)
    with pytest.raises(ResultFileError, match=r"version 99.*--upgrade"):
        load_solution(path)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (builtins.exec, ("raise SystemExit('code ran')",))

    path = tmp_path / "trap.npz"
    example(4).save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = members["contact.npy"].replace(b"'|b1'", b"'|O' ")[: members["contact.npy"].index(b"\n") + 1]
    members["contact.npy"] = header + pickle.dumps([Trap()] * 4)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ResultFileError, match="allow_pickle"):
        load_solution(path)


def resealed(path: Path) -> None:
    """As one who knows the digest would leave it."""
    with open(path, "r+b") as file:
        file.write((files_module._HDF5_MARK + files_module._digest(file)).ljust(files_module._HDF5_BLOCK, b"\0"))


def soft_link(file: Any, place: str) -> None:
    file["door"] = h5py.ExternalLink("secret.h5", place)
    del file[place]
    file[place] = h5py.SoftLink("/door")


def external_link(file: Any, place: str) -> None:
    del file[place]
    file[place] = h5py.ExternalLink("secret.h5", place)


def external_storage(file: Any, place: str) -> None:
    kind, shape = file[place].dtype, file[place].shape
    del file[place]
    file.create_dataset(place, shape or (1,), "f8" if kind.kind == "O" else kind, external=[("secret.h5", 0, 8 * 120)])


def virtual(file: Any, place: str) -> None:
    kind, shape = file[place].dtype, file[place].shape
    del file[place]
    layout = h5py.VirtualLayout(shape or (1,), kind)
    layout[...] = h5py.VirtualSource("secret.h5", place, shape or (1,))
    file.create_virtual_dataset(place, layout)


ELSEWHERE = [
    (how, place) for how in (external_link, soft_link, external_storage, virtual) for place in ("channels/force", "t", "jourdain_header")
]


@pytest.mark.parametrize(("how", "place"), [*ELSEWHERE, (external_link, "channels")])
def test_hdf5_files_read_nothing_of_other_files(tmp_path: Path, how: Callable[..., None], place: str) -> None:
    example().save(tmp_path / "secret.h5")
    example().save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5", "a") as file:
        how(file, place)
    with pytest.raises(ResultFileError, match="changed since it was written"):
        load_solution(tmp_path / "run.h5")
    resealed(tmp_path / "run.h5")
    with pytest.raises(ResultFileError, match="another file"):
        load_solution(tmp_path / "run.h5")


def test_errors_name_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"'\.xls'.*\.parquet"):
        example().save(tmp_path / "run.xls")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_solution(tmp_path / "none.npz")
    with pytest.raises(InputError, match="create it first"):
        example().save(tmp_path / "no" / "run.npz")
    for suffix in SUFFIXES:
        (tmp_path / f"foreign{suffix}").write_text("t,x\n0,1\n")
        with pytest.raises(ResultFileError, match="another kind of file"):
            load_solution(tmp_path / f"foreign{suffix}")
    np.savez(tmp_path / "bare.npz", t=[0.0])
    with pytest.raises(ResultFileError):
        load_solution(tmp_path / "bare.npz")

    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr("jourdain.results.exchange.importlib.import_module", missing)
    for suffix in (".parquet", ".h5"):
        with pytest.raises(MissingExtraError, match=r'pip install "jourdain\[files\]"'):
            example().save(tmp_path / f"x{suffix}")
    assert not list(tmp_path.glob(".x*"))


def test_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    example(4).save(path)

    def fail() -> np.ndarray:
        raise RuntimeError("no reactions")

    with pytest.raises(RuntimeError, match="no reactions"):
        Solution([0.0], {"x": fail}).save(path)
    assert len(load_solution(path)) == 4 and len(list(tmp_path.iterdir())) == 1


# -- tables of other libraries -----------------------------------------------------------------------------------------


def test_to_numpy() -> None:
    arrays = example().to_numpy("crank.*")
    assert list(arrays) == ["t", "crank.angle", "crank.speed"]


def test_pandas_round_trip() -> None:
    sol = example()
    frame = sol.to_pandas()
    assert frame.index.name == "t" and frame.attrs["units"]["force[1]"] == "N"
    np.testing.assert_array_equal(frame["force[1]"], sol["force"][:, 1])
    again = from_pandas(frame)
    assert again.names == sol.names and again.metadata == sol.metadata
    for name in sol.names:
        np.testing.assert_array_equal(again[name], sol[name])
        assert again.channel(name).unit == sol.channel(name).unit
    assert list(sol.to_pandas("crank.*").columns) == ["crank.angle", "crank.speed"]


def test_plain_table_becomes_a_solution() -> None:
    import pandas as pd

    sol = from_pandas(pd.DataFrame({"t": [0.0, 1.0], "x": [1.0, 2.0]}), units={"x": "mm"})
    np.testing.assert_allclose(sol["x", "m"], [1e-3, 2e-3])


@pytest.mark.parametrize("given", [None, {"t": [0.0]}, np.zeros(3)], ids=["nothing", "dict", "array"])
def test_what_is_no_table_is_told(given: Any) -> None:
    with pytest.raises(InputError, match="is no table; give a pandas.DataFrame"):
        from_pandas(given)


def test_to_xarray() -> None:
    data = example().to_xarray()
    assert data["rod.R"].dims == ("t", "rod.R_0", "rod.R_1") and data["force"].attrs["units"] == "N"
    assert data.attrs["model"] == "engine"
    np.testing.assert_array_equal(data["crank.angle"].sel(t=0.0), 0.0)
