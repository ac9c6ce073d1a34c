"""Parameters of compiled functions: unset, set by name and by array, prepared for a caller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.native import Function
from jourdain.native.code import cached_code, generate
from tests.native.builder import chain, compiled, positions, symbolic

X = positions(2)
P = S.symbols("mass length stiffness", "parameter")


def make() -> Function:
    """A function with work in the prepare stage: of parameters alone, and an output that is one."""
    m, l, k = P
    return compiled({"q": X}, {"y": [S.sqrt(k / m) * X[0], m * l * l * X[1] + l, k]}, "spring", P)


def reference(p: Any, q: Any) -> list[float]:
    m, l, k = p
    return [np.sqrt(k / m) * q[0], m * l * l * q[1] + l, k]


def test_calls_before_parameters_are_set() -> None:
    f = make()
    assert np.isnan(f.parameters).all()
    assert np.isnan(f.constants).all()
    q = np.ones(2)
    for call in (lambda: f(q), lambda: f(q, out=np.empty(3)), lambda: f.into(q, np.empty(3)), lambda: f(np.ones((4, 2)))):
        with pytest.raises(InputError, match=r"function 'spring': set its parameters first with set_parameters"):
            call()
    f.set_parameters([2.0, 0.5, 8.0])
    np.testing.assert_allclose(f(q), reference((2.0, 0.5, 8.0), q), rtol=4e-15, atol=1e-15)


number = st.floats(0.1, 10.0)


@given(st.lists(st.tuples(number, number, number), min_size=1, max_size=4))
def test_by_name_and_by_array(changes: list[tuple[float, float, float]]) -> None:
    f = _shared()
    q = np.array([0.3, -0.7])
    for p in changes:
        expected = reference(p, q)
        f.set_parameters(dict(zip(("stiffness", "mass", "length"), (p[2], p[0], p[1]), strict=True)))
        np.testing.assert_allclose(f(q), expected, rtol=4e-15, atol=1e-15)
        f.set_parameters([1.0, 1.0, 1.0])
        f.set_parameters(np.array(p))
        np.testing.assert_allclose(f(q), expected, rtol=4e-15, atol=1e-15)
        np.testing.assert_array_equal(f(np.tile(q, (5, 1))), np.tile(f(q), (5, 1)))
        np.testing.assert_array_equal(f.parameters, p)


def _shared(cache: list[Function] = []) -> Function:  # noqa: B006
    if not cache:
        cache.append(make())
    return cache[0]


ERRORS: dict[str, tuple[Any, str]] = {
    "missing": ({"mass": 1.0, "length": 1.0}, r"no value for the parameter\(s\) stiffness"),
    "several missing": ({}, r"no value for the parameter\(s\) mass, length, stiffness"),
    "short": ([1.0, 2.0], r"function 'spring' has 3 parameters, got an array of shape \(2,\)"),
    "matrix": (np.ones((1, 3)), r"has 3 parameters, got an array of shape \(1, 3\)"),
    "number": (1.0, r"has 3 parameters, got an array of shape \(\)"),
    "nan": ([1.0, np.nan, 1.0], r"parameter 'length' = nan is not finite"),
    "inf": ({"mass": np.inf, "length": 1.0, "stiffness": 1.0}, r"parameter 'mass' = inf is not finite"),
    "text": (["1", "2", "3"], r"the parameters = .* are no real numbers \(it is a text\)"),
    "unit": ({"mass": "2 kg", "length": 1.0, "stiffness": 1.0}, r"the parameters = .*2 kg.* are no real numbers"),
    "complex": ([1j, 1.0, 1.0], r"the parameters = .* are no real numbers \(it is complex\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_wrong_parameters_leave_the_old_ones(case: str) -> None:
    f = make()
    f.set_parameters([2.0, 0.5, 8.0])
    values, message = ERRORS[case]
    with pytest.raises(InputError, match=message):
        f.set_parameters(values)
    np.testing.assert_array_equal(f.parameters, [2.0, 0.5, 8.0])
    np.testing.assert_allclose(f(np.ones(2)), reference((2.0, 0.5, 8.0), (1.0, 1.0)), rtol=4e-15, atol=1e-15)


def test_the_callers_array_stays_the_callers() -> None:
    f = make()
    p = np.array([2.0, 0.5, 8.0])
    f.set_parameters(p)
    p[:] = 1.0
    np.testing.assert_array_equal(f.parameters, [2.0, 0.5, 8.0])


def test_prepare_into_the_callers_memory() -> None:
    f = make()
    f.set_parameters([1.0, 1.0, 1.0])
    constants, work = np.full_like(f.constants, 9.0), np.empty(max(1, f.signature.workspace))
    own = f.constants.copy()
    f.prepare_into(np.array([2.0, 0.5, 8.0]), constants, work)
    np.testing.assert_array_equal(f.constants, own)
    f.set_parameters([2.0, 0.5, 8.0])
    np.testing.assert_array_equal(f.constants, constants)


@pytest.mark.parametrize(
    ("p", "constants", "name"),
    [
        (np.ones(2), np.empty(9), "p"), (np.ones(3, int), np.empty(9), "p"), (np.ones(6)[::2], np.empty(9), "p"),
        ([1.0, 1.0, 1.0], np.empty(9), "p"), (np.ones(3), np.empty(1), "constants"), (np.ones(3), np.empty(9, np.float32), "constants"),
    ],
)  # fmt: skip
def test_prepare_into_wrong_memory(p: Any, constants: np.ndarray, name: str) -> None:
    with pytest.raises(InputError, match=rf"function 'spring': {name} must be a contiguous float64 array of at least"):
        make().prepare_into(p, constants, np.empty(100))


def test_a_prepare_stage_of_several_chunks() -> None:
    p = S.symbols("a b c", "parameter")
    nodes = chain(p, 1200)
    f = compiled({"q": X}, {"y": [X[0] * nodes[-1] + nodes[40], X[1] + nodes[700]]}, "long", p)
    values = np.array([0.4, 0.7, 0.3])
    f.set_parameters(values)
    q = np.array([0.5, 2.0])
    a, b, c = S.evaluate([nodes[-1], nodes[40], nodes[700]], dict(zip(p, values, strict=True)))
    np.testing.assert_allclose(f(q), [q[0] * a + b, q[1] + c], rtol=1e-12)
    assert f.operations.flops == 3


def test_a_function_of_parameters_alone() -> None:
    f = compiled({}, {"y": [P[0] * P[1]]}, "constant", P)
    f.set_parameters([2.0, 3.0, 4.0])
    assert f() == 6.0
    f.set_parameters([2.0, 5.0, 4.0])
    assert f() == 10.0


def test_batches_of_code_found_in_the_cache():
    """Equations derived anew may hoist their constants in another order than the code that was kept: batches must not mix them up."""
    m, l, k = P
    terms = S.sqrt(k / m) * X[0], S.sin(m * l) * X[1]
    kept, anew = (compiled({"q": X}, {"y": list(order)}, "swing", P).symbolic for order in (terms, terms[::-1]))
    f = Function(generate(kept), [2.0, 0.3, 8.0], lambda: anew)
    q = np.array([[0.3, 1.1], [2.0, -0.4], [0.1, 0.9]])
    for p in ([2.0, 0.3, 8.0], [1.0, 0.7, 5.0]):
        f.set_parameters(p)
        expected = np.column_stack([np.sin(p[0] * p[1]) * q[:, 1], np.sqrt(p[2] / p[0]) * q[:, 0]])
        assert np.allclose(f(q), expected, rtol=1e-14)


def test_quick_code_is_kept_apart_and_gives_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """JOURDAIN_QUICK=1: other machine code under another name in the cache, of the same numbers but for roundings, one state or many."""
    monkeypatch.setenv("JOURDAIN_CACHE", str(tmp_path))
    x = positions(3)
    f = symbolic({"q": x}, {"y": chain(x, 400)[-3:]}, "quickly")
    code = {}
    for quick in ("0", "1", "0", "1"):
        monkeypatch.setenv("JOURDAIN_QUICK", quick)
        found = cached_code(("quick or not",), lambda: f)
        assert code.setdefault(quick, found) == found
    assert code["0"].object_code != code["1"].object_code
    q = np.linspace(-1.0, 1.0, 3 * 37).reshape(37, 3)
    for y in (Function(c, None, lambda: f)(q) for c in code.values()):
        for row, at in zip(y, q, strict=True):
            np.testing.assert_allclose(row, Function(code["0"], None, lambda: f)(at), rtol=1e-13, atol=1e-15)
