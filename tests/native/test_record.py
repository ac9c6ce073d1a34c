"""Records: kernels and Python see the same memory under the same names, and a name that is wrong is refused."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jourdain.native.call import address, call
from jourdain.native.kernel import hot, jit, kernel
from jourdain.native.kernel_types import KernelError
from jourdain.native.record import Address, Floats, Integers, Integers32, Record, Rows, Table


class Clock(Record):
    t: float
    h: float
    steps: int


class Span(Record):
    first: int
    count: int


class Vectors(Rows):
    q: Floats
    v: Floats


class Frame(Record):
    n: int
    clock: Clock
    vec: Vectors
    spans: Table[Span]
    order: Integers
    short: Integers32
    out: Floats
    double: Address


@hot
def _moved(clock: Clock, h: float) -> float:
    clock.t += h
    clock.steps += 1
    return clock.t


@jit
def march(frame, h):
    clock, q, v = frame.clock, frame.vec.q, frame.vec.v
    total = 0.0
    for s in range(len(frame.spans)):
        span = frame.spans[s]
        part = frame.out[span.first : span.first + span.count]
        for i in range(part.size):
            part[i] = q[frame.order[i]] + h * v[i] * frame.short[s]
            total += part[i]
        span.count = span.count - 1
        clock.h, frame.n = h / (s + 1), frame.n + s
    return total, _moved(clock, h), frame.n, frame.order.size


@jit
def exchange(frame, other):
    frame.out = other.out
    frame.clock = other.clock
    frame.clock.h = 3.0
    frame.out[0] = 7.0


@kernel
def double(at: int) -> int:
    clock = Clock.at(at)
    clock.t *= 2.0
    return clock.steps


@jit
def call_double(frame):
    return call(frame.double, frame.clock) + call(frame.double, address(frame.clock))


@jit
def misspelt(frame):
    return frame.clock.hh


@jit
def written(frame):
    frame.clock.hh = 1.0


@jit
def whole_for_float(frame):
    frame.n = 0.5


@jit
def record_for_number(frame):
    frame.clock = 1.0


@jit
def on_a_number(frame):
    n = frame.n
    n.t = 1


def frame_of(q, v, h=0.5):
    frame = Frame(n=3, clock=Clock(t=1.0, h=h), vec=Vectors(len(q)), spans=Span.table([(0, 2), (1, 2)]), out=np.zeros(4))
    frame.vec.q, frame.vec.v = q, v
    frame.order, frame.short = np.arange(len(q))[::-1].copy(), np.array([2, -3], np.int32)
    frame.double = double.address
    return frame


number = st.floats(-1e3, 1e3)


@given(q=st.lists(number, min_size=3, max_size=3), v=st.lists(number, min_size=3, max_size=3), h=number)
def test_the_interpreter_and_the_compiled_kernel_do_the_same(q, v, h):
    results = []
    for f in (march, march.python):
        frame = frame_of(q, v)
        results.append(
            (f(frame, h), frame.clock.t, frame.clock.h, frame.clock.steps, frame.n, frame.out.tolist(), frame.spans.array.tolist())
        )
    assert results[0] == results[1]


def test_fields_of_python_are_those_of_kernels():
    clock = Clock(t=0.25, steps=4)
    assert (clock.t, clock.h, clock.steps) == (0.25, 0.0, 4)
    assert double.call(clock.address) == 4 and clock.t == 0.5
    frame = frame_of([1.0], [2.0])
    frame.clock = clock
    clock.steps = 21
    assert call_double(frame) == 42 and clock.t == 2.0


def test_a_kernel_can_point_a_field_elsewhere():
    a, b = frame_of([1.0], [2.0]), frame_of([1.0], [2.0])
    clock, out = a.clock, a.out
    exchange(a, b)
    assert b.clock.h == 3.0 and b.out[0] == 7.0 and clock.h == 0.5 and out[0] == 0.0
    assert a.clock.address == b.clock.address and a.out.tolist() == [7.0, 0.0, 0.0, 0.0]


def test_a_record_keeps_alive_what_it_refers_to():
    frame = frame_of([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    gc.collect()
    junk = [np.full(4, np.nan) for _ in range(100)]
    assert march(frame, 1.0)[0] == 3.0 + 2.0 + 3.0 + 2.0 and len(junk) == 100


def test_a_frame_is_found_by_its_address():
    frame = frame_of([1.0, 2.0, 3.0], [0.5, 0.0, 0.0])
    same = Frame.at(frame.address)
    assert same.clock.t == 1.0 and same.vec.q.tolist() == [1.0, 2.0, 3.0] and same.spans[1].first == 1
    assert same.short.tolist() == [2, -3] and same.order.tolist() == [2, 1, 0]
    assert march.python(same, 2.0) == march(frame_of([1.0, 2.0, 3.0], [0.5, 0.0, 0.0]), 2.0)
    assert frame.clock.steps == 1


def test_named_rows_copy_what_they_are_given():
    vec, q = Vectors(3), np.array([1.0, 2.0, 3.0])
    vec.q = vec.v = q
    q[0] = 9.0
    assert vec.array.tolist() == [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    kept = vec.copy()
    vec.v = 0.0
    vec.restore(kept)
    assert vec.v.tolist() == [1.0, 2.0, 3.0]


def test_copies_are_restored_with_what_they_refer_to():
    frame = frame_of([1.0], [2.0])
    out, kept = frame.out, frame.copy()
    frame.out, frame.n = np.ones(7), 8
    frame.restore(kept)
    assert frame.out is out and frame.n == 3 and frame.address != kept.address


def test_tables_are_built_and_read_by_name():
    table = Span.table([(5, 1), (2, 8)])
    assert table.array["count"].tolist() == [1, 8] and table[1].first == 2 and [s.count for s in table] == [1, 8]
    table[0].count = 6
    assert table.array["count"].tolist() == [6, 8] and len(Span.table([])) == 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (misspelt, "the record Clock has no field hh; it has t, h, steps"), (written, "the record Clock has no field hh; it has t, h, steps"),
        (whole_for_float, "where"), (record_for_number, "where"), (on_a_number, "n is not a record"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_when_a_kernel_is_compiled(function, message):
    with pytest.raises(KernelError, match=message) as error:
        function(frame_of([1.0], [2.0]))
    assert "test_record.py:" in str(error.value) and f"kernel {function.name}" in str(error.value)


def test_what_does_not_fit_is_refused_in_python():
    frame = Frame()
    with pytest.raises(AttributeError, match="no attribute 'hh'"):
        frame.hh = 1.0
    with pytest.raises(AttributeError, match="field out of the record Frame refers to nothing yet"):
        frame.out  # noqa: B018
    with pytest.raises(KernelError, match="field out of the record Frame is"):
        frame.out = np.zeros(3, np.int64)
    with pytest.raises(KernelError, match="strides"):
        frame.out = np.zeros(6)[::2]
    with pytest.raises(KernelError, match="can be called address"):
        type("Wrong", (Record,), {"__annotations__": {"address": int}, "__module__": __name__})
    with pytest.raises(KernelError, match="cannot be derived from another record"):
        type("Wrong", (Clock,), {"__annotations__": {"more": int}, "__module__": __name__})
    with pytest.raises(KernelError, match="only records of numbers stand in tables"):
        Frame.table([])
    with pytest.raises(KernelError, match="no fields of type"):
        type("Wrong", (Record,), {"__annotations__": {"name": str}, "__module__": __name__})
