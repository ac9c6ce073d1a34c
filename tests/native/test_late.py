"""Kernels that are compiled when native code first calls them: runs that do not need them do not wait for them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.native.call import call, doubles
from jourdain.native.kernel import NOT_COMPILED, Kernel, jit, kernel
from jourdain.solvers.constraints.accelerations import constrained_state_derivative
from jourdain.solvers.constraints.projection import project


@jit
def call_twice(place: Any, x: Any) -> int:
    return call(place[0], x) + call(place[0], x)


def doubling() -> Kernel:
    """A new kernel, not yet compiled."""

    @kernel
    def doubled(args: int) -> int:
        x = doubles(args, 1)
        x[0] = 2.0 * x[0]
        return 0

    return doubled  # type: ignore[no-any-return]


def fresh(monkeypatch: pytest.MonkeyPatch) -> tuple[Kernel, Kernel]:
    """The kernels of general elimination as if nothing had compiled them."""
    for k in (constrained_state_derivative, project):
        for name in ("address", "late", "call"):
            monkeypatch.setitem(k.__dict__, name, None)  # noted, so that what is made meanwhile goes with the library that it leads into
            del k.__dict__[name]
        for name in ("_library", "_late", "_first"):
            monkeypatch.setattr(k, name, None, raising=False)
    return constrained_state_derivative, project


def test_the_first_call_compiles() -> None:
    k, x = doubling(), np.ones(1)
    first = k.late[0]
    assert k._library is None
    assert call_twice(k.late, x) == 0
    assert x[0] == 4.0
    assert k.late[0] == k.address != first


def test_threads_share_one_compilation() -> None:
    k, x = doubling(), np.ones((8, 1))
    threads = [threading.Thread(target=call_twice, args=(k.late, row)) for row in x]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60.0)
    assert (x == 4.0).all()


def test_what_cannot_be_compiled_is_told_by_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    k = doubling()
    monkeypatch.setattr(type(k), "address", property(lambda self: 1 / 0))
    assert call_twice(k.late, np.ones(1)) == 2 * NOT_COMPILED
    assert isinstance(k.error, ZeroDivisionError)


def test_a_run_that_does_not_need_them_leaves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    general = fresh(monkeypatch)
    s = library.four_bar().compile()
    s.simulate(s.assemble({"crank.angle": 1.0}), 1.0)
    assert all(k._library is None for k in general)


def straight_bars() -> tuple[Any, jd.State]:
    """Two four-bars on their way to the position in which all bars lie in one line."""
    s = library.n_four_bar().compile()
    uprights = dict.fromkeys((n for n in s.model.joints if n.startswith("A")), 0.0)
    return s, s.assemble(uprights, velocities=dict.fromkeys(uprights, -1.0))


def test_a_run_that_needs_them_compiles_them_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    s, start = straight_bars()
    expected = s.simulate(start, 3.0)["A1.angle"]
    general = fresh(monkeypatch)
    s._idle.clear()
    found = s.simulate(start, 3.0)["A1.angle"]
    assert any(k._library is not None for k in general)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("error", [MemoryError("no room"), KeyboardInterrupt()])
def test_a_run_in_which_they_cannot_be_compiled_keeps_what_was_done(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    s, start = straight_bars()
    general, compiled = fresh(monkeypatch), Kernel.__dict__["address"]

    def address(k: Kernel) -> int:
        if k in general:
            raise error
        return int(compiled.__get__(k))

    monkeypatch.setattr(Kernel, "address", property(address))
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else jd.SolverError) as told:
        s.simulate(start, 3.0)
    assert 0.0 < told.value.solution.t[-1] < 3.0  # type: ignore[union-attr]
    assert all(k.error is None for k in general)
