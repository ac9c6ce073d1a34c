"""Attacks: each makes cases from a seed, one after the other, and says what came of them.

A case is *refused* (an error of the package, in words), *unharmed* (the right result), or a fault: anything else.  A case has its own
random numbers, so that it can be repeated alone.
"""

from __future__ import annotations

import functools
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np

from jourdain.errors import JourdainError
from tests.attack.calls import calls
from tests.attack.forged import forged_results, mesh_paths, no_numbers
from tests.attack.walks import walks
from tests.conftest import ROOT

#: Seconds that a case may take, and how many times as long where other programs have the processor meanwhile.
CASE_TIME, BUSY = 20, 10
#: Attacks whose first case compiles, or whose cases start programs, which takes its time on a busy machine.
PATIENT = ("threads", "forks", "numbers", "calls", "walks", "kills", "full disks")
REFUSED, UNHARMED = "refused", "unharmed"
SUFFIXES = (".npz", ".parquet", ".h5", ".csv", ".mat")
Case = Callable[[random.Random], str]


class Fault(Exception):
    """Something that must not happen."""


@contextmanager
def limited(seconds: int = CASE_TIME) -> Iterator[None]:
    """What takes longer is a hang, unless it had no half of that time of the processor."""
    begun, used = time.monotonic(), time.process_time()

    def late(number: int, where: Any) -> None:
        took = time.monotonic() - begun
        if time.process_time() - used > seconds / 2 or took > BUSY * seconds:
            raise Fault(f"no end within {took:.0f} s")
        signal.alarm(seconds)

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def harmed(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut out, doubled or overwritten."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, n = rng.randrange(len(found)), rng.choice([1, 1, 1, 4, 64, 1000])
        how = rng.randrange(6)
        if how < 3:
            found[at] ^= 1 << rng.randrange(8)
        elif how == 3:
            found[at : at + n] = rng.randbytes(len(found[at : at + n]))
        elif how == 4 and len(found) > 2 * n:
            del found[at : at + n]
        else:
            found[at:at] = found[at : at + n]
    return bytes(found)


# -- files ---------------------------------------------------------------------------------------------------------------


@functools.cache
def model_texts() -> list[tuple[Callable[[str], Any], str]]:
    from jourdain.io.model_files.model_file import loads_model
    from tests.io.test_model_file_errors import SAMPLES
    from tests.io.test_xml_reader import SEEDS

    return [*SEEDS, *((loads_model, text) for text in SAMPLES)]


def model_files(rng: random.Random) -> str:
    """Mutated texts of every reader of models: TOML, URDF, MJCF, ROBOTRAN."""
    from tests.io.test_xml_reader import mutated

    reader, text = rng.choice(model_texts())
    broken = mutated(text, rng) if rng.random() < 0.8 else harmed(text.encode(), rng).decode(errors="replace")
    if reader.__name__ != "loads_model" and not broken.lstrip("\ufeff \t\r\n").startswith("<"):
        return REFUSED
    try:
        model = reader(broken)
        model.check()
    except JourdainError:
        return REFUSED
    return UNHARMED


@functools.cache
def solution() -> Any:
    from jourdain.results import Channel, Solution

    rng, t = np.random.default_rng(0), np.linspace(0.0, 1.0, 25)
    channels = {
        "angle": Channel(np.sin(t), "rad"), "force": Channel(rng.normal(size=(25, 3)), "N"), "touch": Channel(t > 0.5),
        "count": Channel(np.arange(25)),
    }  # fmt: skip
    return Solution(t, channels, {"model": "x", "limit": float("inf")}, {"steps": 25}, derivatives={})


def same(a: Any, b: Any) -> bool:
    def all_of(s: Any) -> tuple[Any, ...]:
        return [(n, s[n].tobytes(), str(s[n].dtype), s.channel(n).unit) for n in s.names], s.t.tobytes(), s.metadata, s.statistics

    return all_of(a) == all_of(b)


@functools.cache
def saved(suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{suffix}"
        solution().save(path)
        return path.read_bytes()


def results(rng: random.Random) -> str:
    """Damaged result files of every format: an error, or the very same numbers."""
    from jourdain.results import load_solution

    suffix = rng.choice(SUFFIXES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{suffix}"
        path.write_bytes(harmed(saved(suffix), rng))
        try:
            found = load_solution(path)
        except JourdainError:
            return REFUSED
        if not same(found, solution()):
            raise Fault(f"{suffix}: other numbers without a word")
        return UNHARMED


@functools.cache
def whole_store() -> tuple[bytes, dict[str, Any]]:
    from tests.results.test_store_damage import VERBS, filled

    with tempfile.TemporaryDirectory() as folder:
        store = filled(Path(folder) / "s.db")
        found = {verb: do(store) for verb, do in VERBS.items()}
        store.close()
        return (Path(folder) / "s.db").read_bytes(), found


def stores(rng: random.Random) -> str:
    """Damaged stores: every verb gives an error, or what it gave before; lost rows are told by `check`."""
    from jourdain.results import Store
    from tests.results.test_store_damage import VERBS

    data, whole = whole_store()
    verb = rng.choice(list(VERBS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        path.write_bytes(harmed(data, rng))
        try:
            with Store(path) as store:
                found = VERBS[verb](store)
                if found != whole[verb] and not store.check():
                    raise Fault(f"{verb}: other data without a word")
        except JourdainError:
            return REFUSED
        return UNHARMED if found == whole[verb] else REFUSED


# -- kills and full disks ------------------------------------------------------------------------------------------------

WRITER = """
import sys
import numpy as np
from pathlib import Path
from tests.attack.attacks import solution
from jourdain.results import Store
kind, path = sys.argv[1:]
if kind == "store":
    store = Store(path)
    run = store.start_run(store.add_design(store.add_model("m", "x"), {"a": 1.0}))
    print("ready", flush=True)
    for k in range(10**9):
        run.append(np.arange(50.0) + 50 * k, {"q": np.full((50, 20), float(k))})
        print(k, flush=True)
else:
    solution().save(path)
    print("ready", flush=True)
    for k in range(10**9):
        solution().save(path)
"""


def kills(rng: random.Random) -> str:
    """Programs killed while they write: a file is the old or the new one, a store has all it had committed."""
    from jourdain.results import Store, load_solution

    kind = rng.choice(["store", *SUFFIXES])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("s.db" if kind == "store" else f"run{kind}")
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        writer = subprocess.Popen([sys.executable, "-c", WRITER, kind, str(path)], stdout=subprocess.PIPE, text=True, env=environment)
        assert writer.stdout is not None
        if writer.stdout.readline() != "ready\n":
            raise Fault("the writer did not begin")
        time.sleep(rng.random() * 0.2)
        writer.kill()
        said = writer.stdout.read().split("\n")
        writer.wait()
        if kind != "store":
            if not same(load_solution(path), solution()):
                raise Fault(f"{kind}: other numbers after a kill")
            return UNHARMED
        with Store(path) as store:
            done = len([word for word in said[:-1] if word])
            if store.check() or len(store.load(1)) < 50 * done:
                raise Fault(f"{len(store.load(1))} of {50 * done} rows are left, {store.check()}")
        return UNHARMED


FULL = """
import resource, signal, sys
from jourdain.errors import JourdainError
from jourdain.results import Store
from jourdain.library.mechanisms import four_bar
from jourdain.io.model_files.model_file import save_model
from tests.attack.attacks import solution
kind, path, limit = sys.argv[1:]
wide = solution().resample(2000)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # Python takes a translated source that was cut off for whole
store = Store(path) if kind == "store" else None
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    if store is not None:
        with store.start_run(store.add_design(store.add_model("m", "x"), {"a": 1.0})) as run:
            for k in range(20):
                run.append(wide.t + k, {n: wide[n] for n in wide.names})
    elif kind == ".toml":
        save_model(four_bar(), path)
    else:
        wide.save(path)
except JourdainError as error:
    print("refused", error)
else:
    print("unharmed")
"""


def full_disks(rng: random.Random) -> str:
    """Disks with room for a part: an error in words, and what was there before is whole."""
    from jourdain.results import Store, load_solution

    kind = rng.choice(["store", ".toml", *SUFFIXES])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("s.db" if kind == "store" else f"run{kind}")
        before = f"old{kind}".encode()
        if kind in SUFFIXES:
            solution().save(path)
        elif kind == ".toml":
            path.write_bytes(before)
        limit = str(rng.choice([0, 100, 1000, 5000, 50_000, 200_000, 10**9]))
        if kind == "store":
            limit = str(max(int(limit), 100_000))
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", FULL, kind, str(path), limit], capture_output=True, text=True, env=environment)
        if done.returncode:
            raise Fault(f"{kind}, {limit} bytes: {done.returncode} {done.stderr[-300:]}")
        if done.stdout.startswith("unharmed"):
            return UNHARMED
        left = {p.name for p in Path(folder).iterdir()} - {path.name, f"{path.name}-wal", f"{path.name}-shm"}
        if left:
            raise Fault(f"{kind}, {limit} bytes: {sorted(left)} stay behind")
        if kind in SUFFIXES and not same(load_solution(path), solution()):
            raise Fault(f"{kind}, {limit} bytes: the older file is gone")
        if kind == ".toml" and path.read_bytes() != before:
            raise Fault(f"{kind}, {limit} bytes: the older file is gone")
        if kind == "store" and Store(path).check():
            raise Fault(f"store, {limit} bytes: damaged")
        return REFUSED


# -- machine code --------------------------------------------------------------------------------------------------------


def cache_entries(rng: random.Random) -> str:
    """Damaged, exchanged and foreign entries of the cache of machine code: made again, with the right numbers."""
    from jourdain.native.code import cached_code
    from jourdain.native.function import Function
    from tests.native.builder import positions, symbolic

    def value(factor: float) -> float:
        (x,) = positions(1)
        code = cached_code(("attack", str(factor)), lambda: symbolic({"q": [x]}, {"y": [x * factor]}))
        return float(Function(code)(np.array([1.0]))[0])

    kept = os.environ.get("JOURDAIN_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["JOURDAIN_CACHE"] = folder
        try:
            value(2.0), value(3.0)
            entries = sorted(p for p in Path(folder).rglob("*") if p.is_file())
            contents = {p: p.read_bytes() for p in entries}
            for p in entries:
                how = rng.randrange(4)
                if how == 0:
                    p.write_bytes(harmed(contents[p], rng))
                elif how == 1:
                    p.write_bytes(contents[rng.choice([q for q in entries if q.suffix == p.suffix])])
                elif how == 2:
                    p.unlink()
                    os.mkfifo(p)
            if (value(2.0), value(3.0)) != (2.0, 3.0):
                raise Fault("another function is called")
        finally:
            if kept is None:
                del os.environ["JOURDAIN_CACHE"]
            else:
                os.environ["JOURDAIN_CACHE"] = kept
    return UNHARMED


def threads(rng: random.Random) -> str:
    """Threads that compile, call and simulate at once: each has its own numbers."""
    from jourdain.library.mechanisms import double_pendulum, slider_crank
    from tests.native.builder import compiled, positions

    systems = [double_pendulum().compile(), slider_crank().compile()]
    starts = [systems[0].state({"shoulder.angle": 1.0}), systems[1].assemble({}, velocities={"crank.angle_rate": 3.0})]
    expected = [s.simulate(x, 0.2).final for s, x in zip(systems, starts, strict=True)]
    wrong: list[str] = []

    def work(seed: int) -> None:
        own = random.Random(seed)
        try:
            for _ in range(4):
                k = own.randrange(3)
                if k < 2:
                    found = systems[k].copy().simulate(starts[k], 0.2).final
                    if any(not np.array_equal(found[n], expected[k][n]) for n in systems[k].coordinate_names):
                        wrong.append("another motion")
                else:
                    (x,) = positions(1)
                    f = own.random()
                    if compiled({"q": [x]}, {"y": [x * f]}, f"t{own.randrange(10**6)}")(np.array([2.0]))[0] != 2.0 * f:
                        wrong.append("another function")
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")

    crew = [threading.Thread(target=work, args=(rng.randrange(2**32),)) for _ in range(4)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    if wrong:
        raise Fault(wrong[0])
    return UNHARMED


def forks(rng: random.Random) -> str:
    """Children that are forked while a thread compiles can compile themselves."""
    from tests.native.builder import chain, compiled, positions

    x = positions(3)
    going = [True]

    def compile_on() -> None:
        k = 0
        while going[0]:
            k += 1
            compiled({"q": x}, {"y": [chain(x, 1500 + k)[-1]]}, f"p{os.getpid()}_{k}_{rng.random()}")
            time.sleep(0.005)  # a thread that takes a lock again at once lets nobody else have it

    thread = threading.Thread(target=compile_on, daemon=True)
    thread.start()
    try:
        time.sleep(rng.random() * 0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            signal.alarm(BUSY * CASE_TIME)
            compiled({"q": x}, {"y": [chain(x, 15)[-1]]}, "child")(np.ones(3))
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        going[0] = False
    thread.join()
    if ended:
        raise Fault(f"the child ended with {ended}")
    return UNHARMED


# -- the viewer ----------------------------------------------------------------------------------------------------------


@functools.cache
def viewer() -> Any:
    from jourdain.view import Body, Scene
    from jourdain.view.server import serve

    return serve(Scene("x", [Body("b")]), open_browser=False, live=True)


def requests(rng: random.Random) -> str:
    """Broken requests to the viewer: refused without a traceback, and it goes on serving."""
    server = viewer()
    host, port = server.url.split("/")[2].split(":")
    good = f"GET /{server.token}/ HTTP/1.0\r\nHost: {host}:{port}\r\nLast-Event-ID: 0\r\n\r\n".encode()
    printed = io.StringIO()
    with redirect_stderr(printed):
        replies = []
        for request in (harmed(good, rng), good):
            with socket.create_connection((host, int(port)), timeout=CASE_TIME) as line:
                line.sendall(request)
                line.shutdown(socket.SHUT_WR)
                replies.append(line.recv(1 << 16))
    if "Traceback" in printed.getvalue():
        raise Fault(printed.getvalue().strip().splitlines()[-1])
    if not replies[1].startswith(b"HTTP/1.0 200"):
        raise Fault("it serves no more")
    return UNHARMED if replies[0].startswith(b"HTTP/1.0 200") else REFUSED


CASES: dict[str, Case] = {
    "model files": model_files, "result files": results, "stores": stores, "kills": kills, "full disks": full_disks,
    "forged results": forged_results, "mesh paths": mesh_paths, "numbers": no_numbers, "cache entries": cache_entries, "threads": threads,
    "forks": forks, "requests": requests, "calls": calls, "walks": walks,
}  # fmt: skip


def attacked(name: str, seed: int, seconds: float, first: int = 0, most: int = 10**9) -> dict[str, Any]:
    """What came of as many cases as the time allows: counts, and faults with their numbers."""
    found: dict[str, Any] = {"cases": 0, REFUSED: 0, UNHARMED: 0, "faults": []}
    begun = time.monotonic()
    number = first
    while found["cases"] < most and (time.monotonic() - begun < seconds or not found["cases"]):
        found["cases"] += 1
        try:
            with limited(3 * CASE_TIME if name in PATIENT else CASE_TIME), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[CASES[name](random.Random(f"{seed} {name} {number}"))] += 1
        except Exception as error:
            found["faults"].append(f"case {number}: {type(error).__name__}: {str(error)[:200]}")
        number += 1
    return found


# -- whole suites --------------------------------------------------------------------------------------------------------

#: Tests that run between guard pages and with bounds checks.
SUITES = ("tests/systems/test_every_way.py", "tests/systems/tree", "tests/solvers", "tests/native/test_calls.py", "tests/native/test_record.py",
          "tests/native/test_kernel.py", "tests/analysis/test_simulate.py", "tests/systems/test_stepper.py", "tests/systems/test_unknowns.py",
          "tests/systems/test_memories.py", "tests/systems/test_touching.py", "tests/systems/assembled", "tests/analysis/gradients", "tests/contact")  # fmt: skip


def suite(environment: dict[str, str], plugin: str | None, seconds: float, tests: Sequence[str] = SUITES, seed: int = 1) -> dict[str, Any]:
    """Tests under other conditions, as many files as the time allows, in an order by the seed: how many tests passed, and faults."""
    found = (p for name in tests for p in (sorted((ROOT / name).rglob("test_*.py")) if (ROOT / name).is_dir() else [ROOT / name]))
    tests = list(dict.fromkeys(str(p.relative_to(ROOT)) for p in found))
    random.Random(seed).shuffle(tests)
    more = ["-p", plugin] if plugin else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", *more, *tests]
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        told, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        told, _ = process.communicate()
        process.returncode = 0
    passed = sum(line.count(".") for line in told.splitlines() if re.fullmatch(r"[.sxFE]+(\s+\[\s*\d+%\])?", line.strip()))
    faults = [line for line in told.splitlines() if line.startswith(("FAILED", "ERROR", "Fatal"))]
    if process.returncode not in (0, 1):
        faults.append(f"ended with {process.returncode}: {told[-200:]}")
    if not passed and not faults:
        faults.append(f"no test ended within {seconds:g} s: give it more time (SECONDS=)")
    return {"cases": passed + len(faults), REFUSED: 0, UNHARMED: passed, "faults": faults}


SUITE_ATTACKS: dict[str, tuple[dict[str, str], str | None]] = {
    "guard pages, end": ({"JOURDAIN_GUARD": "end"}, "tests.native.guard_pages"),
    "guard pages, begin": ({"JOURDAIN_GUARD": "begin"}, "tests.native.guard_pages"),
    "bounds checks": ({"JOURDAIN_BOUNDS": "1"}, None),
}


def in_own_process(name: str, seed: int, seconds: float, first: int = 0, most: int = 10**9) -> dict[str, Any]:
    """An attack in a process of its own, so that a crash is a fault of the case and not the end."""
    words = [sys.executable, "-m", "tests.attack", "--inner", name, "--seed", str(seed), "--seconds", str(seconds)]
    words += ["--case", str(first), "--most", str(most)]
    environment = os.environ | {"PYTHONFAULTHANDLER": "1"}
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=seconds + 300.0)
    except subprocess.TimeoutExpired:
        return {"cases": 1, REFUSED: 0, UNHARMED: 0, "faults": ["no end"]}
    try:
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        found = {"cases": 1, REFUSED: 0, UNHARMED: 0, "faults": [f"the process ended with {done.returncode}: {done.stderr[-300:]}"]}
    return found


def clean() -> None:
    """Stops what was started."""
    if viewer.cache_info().currsize:
        viewer().close()
