"""Compiled functions in other processes and threads, and the cache on disk under every kind of mishap."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.native import Function, disk_cache, engine
from jourdain.native.code import Code, cached_array, cached_code
from jourdain.native.ir import CHUNK
from tests.conftest import ROOT
from tests.native.builder import chain, compiled, positions, symbolic

X = positions(3)
P = S.symbols("a b", "parameter")


def make(name: str = "sent") -> Function:
    """A function whose values pass through the workspace, with parameters."""
    nodes = chain(X, 2 * CHUNK + 50)
    f = compiled({"q": X}, {"y": [nodes[-1] * P[0] + nodes[30], nodes[CHUNK] - S.sin(P[1])]}, name, P)
    f.set_parameters([1.5, 0.25])
    return f


@pytest.fixture(scope="module")
def function() -> Function:
    return make()


def points(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(0.2, 1.0, (n, 3))


def call(f: Function, q: np.ndarray) -> np.ndarray:
    """Single calls and a batch must agree; run in a worker."""
    single = np.array([f(row.copy()) for row in q])
    np.testing.assert_array_equal(f(q), single)
    return single


def test_pickle_keeps_everything(function: Function) -> None:
    again = pickle.loads(pickle.dumps(function))
    q = points(11)
    np.testing.assert_array_equal(call(again, q), call(function, q))
    assert again.signature == function.signature
    np.testing.assert_array_equal(again.parameters, function.parameters)
    assert again.ir == function.ir
    assert again.source("c") == function.source("c")
    assert pickle.loads(pickle.dumps(again)).ir == function.ir
    again.set_parameters([3.0, 0.1])
    assert not np.array_equal(again(q), function(q))


def test_pickle_without_parameter_values() -> None:
    f = compiled({"q": X}, {"y": [X[0] * P[0]]}, "unset", P)
    again = pickle.loads(pickle.dumps(f))
    with pytest.raises(InputError, match="set its parameters first"):
        again(np.ones(3))
    again.set_parameters({"a": 2.0, "b": 0.0})
    assert again(np.ones(3)) == 2.0


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_other_processes(function: Function, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform cannot {method}")
    q = points(17)
    expected = call(function, q)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        for got in pool.map(call, [function] * 3, [q] * 3):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_child_uses_what_it_inherits(function: Function) -> None:
    q = points(9)
    expected = call(function, q)
    child = os.fork()
    if child == 0:  # pragma: no cover
        good = np.array_equal(call(function, q), expected) and np.array_equal(make("new_in_child")(q), expected)
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("style", ["arrays", "lists", "batch", "mixed"])
def test_threads_share_one_function(function: Function, style: str) -> None:
    q = points(8)
    expected = call(function, q)
    start = threading.Barrier(8)

    def work(i: int) -> bool:
        row = q[i].copy()
        out = np.empty(2)
        listed, many = row.tolist(), np.tile(row, (9, 1))
        start.wait()
        for k in range(60):
            kind = style if style != "mixed" else ("arrays", "lists", "batch")[(i + k) % 3]
            if kind == "arrays":
                function(row, out=out)
            elif kind == "lists":
                out = function(listed)
            else:
                out = function(many)[k % 9]
            if not np.array_equal(out, expected[i]):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_threads_compile_at_once() -> None:
    def work(i: int) -> float:
        (x,) = positions(1)
        f = compiled({"q": [x]}, {"y": [S.sin(x) * (i // 2 + 0.5)]}, f"thread{i // 2}")
        return float(f(np.array([[0.5], [0.6]]))[0, 0] - np.sin(0.5) * (i // 2 + 0.5))

    with ThreadPoolExecutor(6) as pool:
        assert max(map(abs, pool.map(work, range(12)))) < 1e-15


# --- cache -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("JOURDAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def use() -> None:
    """Compiles, calls and checks a small function."""
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"y": [S.exp(S.sin(x))]}, "kept")
    np.testing.assert_allclose(f(np.array([0.5])), np.exp(np.sin(0.5)), rtol=1e-15)


def test_the_cache_is_where_the_environment_says(folder: Path) -> None:
    assert disk_cache.cache_folder() == folder
    use()
    kept = entries(folder)
    assert {p.suffix for p in kept} == {".o"}
    times = [p.stat().st_mtime_ns for p in kept]
    use()
    assert [p.stat().st_mtime_ns for p in entries(folder)] == times


def test_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JOURDAIN_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert disk_cache.cache_folder() == tmp_path / "jourdain"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert disk_cache.cache_folder() == tmp_path / ".cache" / "jourdain"


def test_no_home_folder_means_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("JOURDAIN_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", nowhere)
    use()


DAMAGE = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "one byte more": lambda data: data + b"\0",
    "one bit flipped": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "head alone": lambda data: data[:32],
    "digest lost": lambda data: data[32:],
    "zeros": lambda data: bytes(len(data)),
    "noise": lambda data: np.random.default_rng(0).bytes(len(data)),
    "text": lambda data: b"not an object file",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entries_are_made_again(folder: Path, damage: str) -> None:
    use()
    good = {p: p.read_bytes() for p in entries(folder)}
    for p, data in good.items():
        p.write_bytes(DAMAGE[damage](data))
    use()
    assert {p: p.read_bytes() for p in entries(folder)} == good


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_functions_are_derived_again(folder: Path, damage: str) -> None:
    derived = []

    def derive() -> Any:
        derived.append(1)
        (x,) = positions(1)
        return symbolic({"q": [x]}, {"y": [x + 1.0]})

    code = cached_code(("key", "name"), derive)
    assert cached_code(("key", "name"), derive) == code
    assert cached_code(("key", "other"), derive) == code
    assert len(derived) == 2
    for p in folder.rglob("*.jdf"):
        p.write_bytes(DAMAGE[damage](p.read_bytes()))
    assert cached_code(("key", "name"), derive) == code
    assert len(derived) == 3


@pytest.mark.parametrize("cut", [0.0, 0.05, 0.5, 0.99])
def test_cut_entries_under_a_right_digest_are_made_again(folder: Path, cut: float) -> None:
    """As by a program that keeps digests but not what they are of: LLVM crashes on half an object file."""

    def derive() -> Any:
        (x,) = positions(1)
        return symbolic({"q": [x]}, {"y": [x + 1.0]})

    code = cached_code(("key", "name"), derive)
    use()
    good = {p: p.read_bytes() for p in entries(folder)}
    for p, data in good.items():
        disk_cache.write_cache(p.stem, p.suffix, data[32 : 32 + int(cut * (len(data) - 32))])
    use()
    assert cached_code(("key", "name"), derive) == code
    assert {p: p.read_bytes() for p in entries(folder)} == good


@pytest.mark.parametrize("cut", [0, 8, 16, 7])
def test_cut_arrays_under_a_right_digest_are_derived_again(folder: Path, cut: int) -> None:
    """Places of entries: a shorter row of them would be taken for another pattern."""
    places = np.array([3, 1, 4])
    assert cached_array(("key", "places"), lambda: places).tolist() == [3, 1, 4]
    (kept,) = folder.rglob("*.jda")
    good = kept.read_bytes()
    disk_cache.write_cache(kept.stem, ".jda", good[32 : 32 + cut])
    assert cached_array(("key", "places"), lambda: places).tolist() == [3, 1, 4]
    assert kept.read_bytes() == good
    assert cached_array(("key", "places"), lambda: pytest.fail("derived again")).tolist() == [3, 1, 4]


def test_functions_whose_signature_is_none_are_derived_again(folder: Path) -> None:
    def derive() -> Any:
        (x,) = positions(1)
        return symbolic({"q": [x]}, {"y": [x + 1.0]})

    code = cached_code(("key", "name"), derive)
    (kept,) = folder.rglob("*.jdf")
    content = kept.read_bytes()[32:]
    rest = content[8 + int.from_bytes(content[:8], "little") :]
    for text in (b"{}", b"null", b"[" * 200_000, b"\xff", b'{"name": 3, "inputs": 5}'):
        disk_cache.write_cache(kept.stem, ".jdf", len(text).to_bytes(8, "little") + text + rest)
        assert cached_code(("key", "name"), derive) == code


@pytest.mark.skipif(sys.platform != "linux", reason="files with holes")
def test_entries_larger_than_any_count_as_absent(folder: Path) -> None:
    use()
    kept = entries(folder)[0]
    with open(kept, "r+b") as file:
        file.truncate(2 * disk_cache.LARGEST)
    assert engine.read_cache(kept.stem, kept.suffix) is None
    use()


def test_exchanged_entries_are_made_again(folder: Path) -> None:
    def value(factor: float) -> float:
        (x,) = positions(1)
        code = cached_code(("exchanged", str(factor)), lambda: symbolic({"q": [x]}, {"y": [x * factor]}))
        return float(Function(code)(np.array([1.0]))[0])

    assert [value(2.0), value(3.0)] == [2.0, 3.0]
    for suffix in (".o", ".jdf"):
        some = [p for p in entries(folder) if p.suffix == suffix]
        contents = [p.read_bytes() for p in some]
        for p, data in zip(some, [*contents[1:], contents[0]], strict=True):
            p.write_bytes(data)
    assert [value(2.0), value(3.0)] == [2.0, 3.0]


@pytest.mark.skipif(os.name != "posix", reason="rights of users")
def test_the_cache_is_closed_to_others(folder: Path) -> None:
    use()
    assert {oct(p.stat().st_mode & 0o777) for p in folder.rglob("*") if p.is_dir()} | {oct(folder.stat().st_mode & 0o777)} == {"0o700"}
    assert {oct(p.stat().st_mode & 0o777) for p in entries(folder)} == {"0o600"}
    folder.chmod(0o777)  # an older cache, or one that was opened: closed again
    for p in entries(folder):
        p.chmod(0o666)
        assert engine.read_cache(p.stem, p.suffix) is None, "others may have written it"
    assert folder.stat().st_mode & 0o022 == 0


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whose", ["files", "folder"])
def test_entries_of_another_user_are_not_run(folder: Path, whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use()
    kept = entries(folder)
    for p in kept if whose == "files" else [folder]:
        os.chown(p, 12345, 12345)
    disk_cache._warn.cache_clear()
    told = pytest.warns(UserWarning, match="belongs to another user") if whose == "folder" else nullcontext()
    with told:
        assert all(engine.read_cache(p.stem, p.suffix) is None for p in kept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no pipes with names")
def test_pipes_and_links_in_the_cache_are_not_waited_for(folder: Path, tmp_path: Path) -> None:
    use()
    for k, p in enumerate(entries(folder)):
        data = p.read_bytes()
        p.unlink()
        if k % 2:
            (tmp_path / p.name).write_bytes(data)
            p.symlink_to(tmp_path / p.name)
        else:
            os.mkfifo(p)
        assert engine.read_cache(p.stem, p.suffix) is None
    use()


def test_parts_left_by_killed_programs_are_removed(folder: Path) -> None:
    use()
    place = entries(folder)[0].parent
    old, new = place / "part-old", place / "part-new"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (0, 0))
    disk_cache.write_cache(entries(folder)[0].stem[:2] + "0" * 62, ".o", b"content")
    assert not old.exists() and new.exists()


FORKS = """
import os, signal, sys, threading, time
import numpy as np
import jourdain.symbolic as S
from tests.native.builder import chain, compiled, positions
x = positions(3)
def make(name, n):
    return compiled({"q": x}, {"y": [chain(x, n)[-1] + float(len(name))]}, name)
make("warm", 10)
going = True
def compile_on():
    k = 0
    while going:
        k += 1
        make(f"parent{os.getpid()}_{k}", 3000 + k)
thread = threading.Thread(target=compile_on)
thread.start()
time.sleep(0.3)
children = []
for i in range(6):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        make(f"child{i}", 20)(np.ones(3))
        os._exit(0)
    children.append(child)
    time.sleep(0.15)
ends = [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children]
going = False
thread.join()
print(ends)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_children_forked_while_a_thread_compiles_can_compile(tmp_path: Path) -> None:
    environment = os.environ | {"JOURDAIN_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], env=environment, capture_output=True, text=True, timeout=250)
    assert done.stdout.strip() == "[0, 0, 0, 0, 0, 0]", done.stderr[-800:]


IMPORTS = """
import os, signal, sys, threading, time
import jourdain
sys.path.insert(0, sys.argv[1])
def importing():
    import slow_one
ends = []
for i in range(3):
    sys.modules.pop("slow_one", None)
    thread = threading.Thread(target=importing)
    thread.start()
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        import slow_one
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    thread.join()
print(ends)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_children_forked_while_a_thread_imports_can_import(tmp_path: Path) -> None:
    (tmp_path / "slow_one.py").write_text("import time\ntime.sleep(0.4)\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORTS, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.stdout.strip() == "[0, 0, 0]", done.stderr[-800:]


PROPERTIES = """
import os, signal, threading, time
import jourdain
from jourdain.forking import lock
from jourdain.systems.inputs import Inputs
class Slow:
    @property
    def model(self):
        begun.set()
        time.sleep(1.0)
        return self
    inputs = ["a"]
class Quick:
    inputs = ["a"]
    model = property(lambda self: self)
def places(system):
    held = object.__new__(Inputs)
    held.system, held.memories = system(), ["a"]
    return held.memory_places.tolist()
own = lock()
def hold():
    with own:
        places(Slow)
begun = threading.Event()
thread = threading.Thread(target=hold)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(10)
    with own:
        os._exit(places(Quick)[0])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_children_find_the_locks_of_the_package_free() -> None:
    """Python 3.11 computes cached properties of a class under one lock: a child would wait for a thread that it does not have."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROPERTIES], env=environment, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "0", done.stderr[-800:]


def test_code_as_bytes() -> None:
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"y": [[x, 2.0]], "z": x * x})
    assert Code.from_bytes(f._code.to_bytes()) == f._code


def test_a_folder_in_the_place_of_an_entry(folder: Path) -> None:
    use()
    for p in entries(folder):
        p.unlink()
        p.mkdir()
    use()
    assert not entries(folder)  # nothing half-written stays behind


def test_a_file_in_the_place_of_the_cache(folder: Path) -> None:
    folder.write_text("in the way")
    use()
    assert folder.read_text() == "in the way"


def test_a_cache_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    use()
    monkeypatch.undo()
    monkeypatch.setenv("JOURDAIN_CACHE", str(folder))
    monkeypatch.setattr(os, "replace", full)
    use()
    assert not entries(folder)


def test_processes_that_write_the_same_entries_at_once(folder: Path) -> None:
    script = textwrap.dedent("""
        import sys, time
        import numpy as np
        from tests.native.test_processes import make, points
        q = points(5)
        time.sleep(max(0.0, float(sys.argv[1]) - time.time()))
        f = make("raced")
        single = np.array([f(row.copy()) for row in q])
        assert np.array_equal(f(q), single)
        print(single.tobytes().hex())
    """)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JOURDAIN_CACHE": str(folder)}
    begin = str(time.time() + 1.5)
    command = [sys.executable, "-c", script, begin]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) for _ in range(3)]
    outputs = [run.communicate(timeout=120)[0] for run in runs]
    assert all(run.returncode == 0 for run in runs)
    assert len(set(outputs)) == 1
    assert len(outputs[0]) > 100
    assert {p.suffix for p in entries(folder)} == {".o"}
    for p in entries(folder):
        assert engine.read_cache(p.stem, ".o") is not None


def test_exit_with_live_functions(folder: Path) -> None:
    """Interpreter shutdown with functions held in globals, cycles and threads' results."""
    script = textwrap.dedent("""
        import numpy as np
        from tests.native.test_processes import make
        f = make("last")
        holder = {"f": f, "call": f.__call__, "into": f.into}
        holder["self"] = holder
        f.batch
        class Late:
            def __init__(self, f): self.f, self.q = f, np.full(3, 0.5)
            def __del__(self): self.f(self.q)
        late = Late(f)
        print("done")
    """)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JOURDAIN_CACHE": str(folder)}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, text=True, timeout=120)
    assert run.stdout.strip() == "done"
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_a_fork_that_waits_for_the_first_import_says_nothing() -> None:
    # the hooks of a module that is imported meanwhile are called after the fork, though not before it
    program = """
import os, threading, time, warnings
import jourdain.forking as forking
warnings.simplefilter("ignore")
def later(wait=forking._wait_for_imports):
    import jourdain.native.engine
    wait()
os.register_at_fork(before=later)
pid = os.fork()
if pid == 0:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (done.stdout, done.stderr) == ("0\n", "")
