"""Constraints as native code looks at them where a run starts, and reactions of plane mechanisms, against the functions themselves."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.systems.constraints import check_closed, look_at_start
from jourdain.systems.tree import self_stress
from jourdain.systems.tree.branches import SINGULAR, loses_rank
from jourdain.systems.tree.redundancy import redundant_rows
from tests.systems.zoo import ZOO, assembled


@pytest.mark.parametrize("name", ZOO)
def test_the_look_at_a_start_is_that_of_the_functions(name):
    s, state = ZOO[name]()
    if not s.equations_of_motion.rows:
        return
    regular, found = look_at_start(s, state)
    f = s.function("constraint_velocities")
    extra = {"z": state.z, "u": s.input_values()}
    w, J = f(np.array([state.t]), state.q, state.v, *(extra[n] for n in list(f.inputs)[3:]))
    h = s.function("constraints")(np.array([state.t]), state.q)[0] if s.equations_of_motion.holonomic else np.zeros(0)
    np.testing.assert_array_equal(found, [np.abs(a).max(initial=0.0) for a in (h, w, state.v)])
    assert not (regular and loses_rank(J, SINGULAR))
    check_closed(s, state)


def test_redundant_and_singular_starts_are_looked_at_closely():
    s, state = assembled(library.bricard())
    assert not look_at_start(s, state)[0]
    assert redundant_rows(s, state)


@pytest.mark.parametrize(("change", "told"), [({"q": 1e-4}, "does not meet"), ({"v": 1e-3}, "velocities break")])
def test_open_starts_are_refused(change, told):
    s, state = ZOO["four-bar"]()
    wrong = state.with_values(**{name: getattr(state, name) + by * np.arange(3) for name, by in change.items()})
    with pytest.raises(jd.InputError, match=told):
        s.simulate(wrong, 0.1)


def test_parameters_changed_since_the_first_look_count():
    s, state = ZOO["four-bar"]()
    check_closed(s, state)
    s.set_parameters(crank=1.01 * s.parameters["crank"])
    with pytest.raises(jd.InputError, match="does not meet"):
        check_closed(s, state)


def test_threads_look_at_their_own_states():
    s, state = ZOO["four-bar"]()
    states = [state.with_values(q=state.q + 1e-3 * k) for k in range(8)]
    alone = [look_at_start(s, x) for x in states]
    assert len({found[0] for _, found in alone}) == len(states)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda x: look_at_start(s, x), states * 100)) == alone * 100
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("name", ["four-bar", "slider-crank"])
def test_plane_mechanisms_have_nothing_to_share(name, monkeypatch):
    """The short way, by components that cannot meet, gives what the share of least norm gives."""
    s, start = ZOO[name]()
    assert s.equations_of_motion.idle_rows
    sol = s.simulate(start, 0.5)
    short = {n: sol[n].copy() for n in sol.names("*.reaction*", "*.multiplier")}
    assert sum(np.abs(x).max() for x in short.values()) > 1.0
    found = self_stress._idle_components
    assert not found(s, "world").all()
    monkeypatch.setattr(self_stress, "_idle_components", lambda system, axes: np.ones_like(found(system, axes)))
    long = s.simulate(start, 0.5)
    for n, values in short.items():
        np.testing.assert_allclose(long[n], values, atol=1e-12 * max(1.0, np.abs(values).max()), err_msg=n)


@pytest.mark.filterwarnings("ignore::jourdain.systems.outputs.reactions.IndeterminateReaction")
def test_loads_across_the_plane_are_shared():
    """A four-bar pushed across its plane at the rocker's end: the row that holds by itself carries its part there."""
    m = library.four_bar()
    m.load("push", m.bodies["rocker"].at(0.7, 0, 0), force=(0, 0, 5.0))
    s, start = assembled(m, **{"crank.angle": 1.0, "coupler.angle": -0.9, "rocker.angle": 1.6})
    across = {n: s.simulate(start, 0.2)[f"{n}.reaction"][:, 2] for n in ("crank", "rocker", "loop")}
    assert np.abs(across["loop"]).min() > 0.1
    np.testing.assert_allclose(across["crank"] + across["rocker"], -5.0, atol=1e-9)
    assert s.indeterminate(start)
