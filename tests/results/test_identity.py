"""Identity of functions and data: equal exactly where the results must be equal."""

from __future__ import annotations

import functools
import operator
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jourdain.results.identity import UnidentifiedError, identity

FACTOR = 2.0


def scaled(factor: Any) -> Callable[[Any], Any]:
    return lambda x: factor * x


def helped(x: float) -> float:
    return 3.0 * x


def uses_help(x: float) -> float:
    return helped(x) + FACTOR


@dataclass
class Reader:
    gain: float

    def read(self, x: float) -> float:
        return self.gain * x

    def __call__(self, x: float) -> float:
        return self.gain + x


def defaulted(x: float, gain: float = 1.0, *, shift: float = 0.0) -> float:
    return gain * x + shift


def with_defaults(*defaults: float, **keywords: float) -> Callable[..., float]:
    f = functools.partial(defaulted).func
    copy = type(f)(f.__code__, f.__globals__, f.__name__, defaults, f.__closure__)
    copy.__kwdefaults__ = keywords
    return copy


def wearing_a_mask(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(np.max)
    def wrapper(x: Any) -> Any:
        return inner(x)

    return wrapper


#: Pairs of the same thing made twice, and a different thing.
CASES: dict[str, tuple[Any, Any, Any]] = {
    "lambda": (lambda x: x + 1, lambda x: x + 1, lambda x: x + 2),
    "attribute": (lambda x: x.mean(), lambda x: x.mean(), lambda x: x.max()),
    "closure": (scaled(2.0), scaled(2.0), scaled(3.0)),
    "closure over an array": (
        scaled(np.arange(5000.0)),
        scaled(np.arange(5000.0)),
        scaled(np.where(np.arange(5000) == 2500, 0, np.arange(5000.0))),
    ),
    "nested": (scaled(scaled(1)), scaled(scaled(1)), scaled(scaled(2))),
    "partial": (functools.partial(pow, 2), functools.partial(pow, 2), functools.partial(pow, 3)),
    "partial's keyword": (
        functools.partial(defaulted, gain=2),
        functools.partial(defaulted, gain=2),
        functools.partial(defaulted, shift=2),
    ),
    "method": (Reader(2.0).read, Reader(2.0).read, Reader(3.0).read),
    "callable object": (Reader(2.0), Reader(2.0), Reader(3.0)),
    "defaults": (with_defaults(1.0, shift=2.0), with_defaults(1.0, shift=2.0), with_defaults(1.5, shift=2.0)),
    "keyword defaults": (with_defaults(1.0, shift=2.0), with_defaults(1.0, shift=2.0), with_defaults(1.0, shift=2.5)),
    "inner constant": (lambda: lambda x: 1, lambda: lambda x: 1, lambda: lambda x: 2),
    "library function": (np.max, np.max, np.min),
    "builtin": (max, max, min),
    "bound builtin": ([1, 2].index, [1, 2].index, [1, 3].index),
    "wrapper with a borrowed name": (wearing_a_mask(len), wearing_a_mask(len), wearing_a_mask(sum)),
    "itemgetter": (operator.itemgetter("a"), operator.itemgetter("a"), operator.itemgetter("b")),
    "ufunc": (scaled(np.sin), scaled(np.sin), scaled(np.cos)),
    "vectorised": (np.vectorize(scaled(2)), np.vectorize(scaled(2)), np.vectorize(scaled(3))),
    "cached": (functools.cache(scaled(2)), functools.cache(scaled(2)), functools.cache(scaled(3))),
    "mapping": ({"a": 1, "b": [2.0]}, {"b": [2.0], "a": 1}, {"a": 1, "b": [2]}),
    "set": ({"x", "y", 3}, {3, "y", "x"}, {"x", "y"}),
    "zero": ((0.0,), (0.0,), (-0.0,)),
    "true": (True, True, 1),
    "dtype": (np.zeros(3), np.zeros(3), np.zeros(3, dtype=np.float32)),
    "shape": (np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((3, 2))),
    "random state": (np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_same_content_same_identity(name: str) -> None:
    one, again, other = CASES[name]
    assert identity(one) == identity(again) != identity(other)


def test_names_do_not_count() -> None:
    def first(x: float) -> float:
        return x + 1

    def second(x: float) -> float:
        return x + 1

    assert identity(first) == identity(second)
    assert identity(lambda x: x) != identity(lambda x: -x)


def test_globals_that_a_function_uses_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity(uses_help)
    monkeypatch.setitem(globals(), "UNRELATED", 3)
    assert identity(uses_help) == before
    monkeypatch.setitem(globals(), "FACTOR", 2.5)
    changed = identity(uses_help)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    monkeypatch.setitem(globals(), "helped", lambda x: 4.0 * x)
    assert len({before, changed, identity(uses_help)}) == 3


def test_methods_of_a_class_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity(Reader(1.0))
    monkeypatch.setattr(Reader, "__call__", lambda self, x: self.gain - x)
    assert identity(Reader(1.0)) != before


def test_recursion_and_sharing_end() -> None:
    def fact(n: int) -> int:
        return 1 if n < 2 else n * fact(n - 1)

    loop: list[Any] = [fact]
    loop.append(loop)
    assert identity(loop) == identity(loop)
    deep: list[Any] = []
    for _ in range(60):  # 2⁶⁰ ways to the bottom
        deep = [deep, deep]
    assert identity(deep)


def test_a_compiled_system_counts_by_its_equations_and_parameters() -> None:
    from jourdain.library.mechanisms import pendulum

    a, b = pendulum().compile(), pendulum().compile()
    assert identity(lambda sol: a.energy(sol.q, sol.v)) != identity(lambda sol: a.energy(sol.q, 2 * sol.v))
    assert identity(scaled(a)) == identity(scaled(b))
    b.set_parameters(length=2.0)
    assert identity(scaled(a)) != identity(scaled(b))
    assert identity(a.state({"hinge": 0.1})) != identity(a.state({"hinge": 0.2}))


@pytest.mark.parametrize(
    "make",
    [
        threading.Lock,
        lambda: (x for x in "ab"),
        Path(__file__).open,
        functools.partial(Path(__file__).open, "rb", buffering=0),
        lambda: np.frompyfunc(len, 1, 1),
    ],
    ids=["lock", "generator", "text file", "raw file", "ufunc"],
)
def test_what_cannot_be_looked_into_says_so(make: Callable[[], Any]) -> None:
    thing = make()
    with pytest.raises(UnidentifiedError, match="factor"):
        identity(scaled(thing))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_data_are_identified_by_content(value: Any) -> None:
    import copy

    assert identity(value) == identity(copy.deepcopy(value)) != identity([value])


def test_another_process_finds_the_same(tmp_path: Any) -> None:
    """Hashes of texts differ between processes, identities do not; a changed helper in a module of the user's is seen."""
    script = textwrap.dedent("""
        import helper, numpy as np
        from jourdain.results.identity import identity
        words = {"one", "two", "three", "four"}
        def reader(sol, gain=2.0):
            return helper.twice(sol) * gain * len(words) + np.pi
        print(identity(reader))
    """)
    (tmp_path / "main.py").write_text(script)

    def run(factor: int, seed: str) -> str:
        (tmp_path / "helper.py").write_text(f"def twice(x):\n    return {factor} * x\n")
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240, check=True)
        return done.stdout

    assert run(2, "1") == run(2, "2") != run(3, "1")


def test_a_module_without_a_file_is_not_identified() -> None:
    settings = types.ModuleType("settings")
    settings.gain = 2.0  # type: ignore[attr-defined]
    with pytest.raises(UnidentifiedError, match="the module 'settings' has no source to look into"):
        identity(lambda sol: settings.gain * sol)
