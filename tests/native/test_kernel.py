"""The kernel language: compiled functions do what the interpreter does, and what it lacks is refused by name and line."""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jourdain.native.call import call, doubles, integers, words
from jourdain.native.kernel import hot, jit, kernel
from jourdain.native.kernel_types import KernelError
from jourdain.solvers.linear.dense import cholesky, cholesky_solve, lu_factor, lu_solve

TABLE = ((1.0, -2.0, 3.0), (0.5, 4.0, -6.0))
STEPS = (3, 1, 2)
whole = st.integers(-50, 50)
number = st.floats(-1e3, 1e3)


@hot
def sum_and_product(a, b):
    return a + b, a * b


@jit
def branches(n, x):
    result = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if result > 40:
            break
        result += i if x > 0 else 2 * i
    else:
        result -= 1
    while True:
        result += 1
        if result % 7 == 0 or result > 100:
            break
    return result


@jit
def division(a, b):
    return a // b, a % b, a / b, -a // b, a % -b


@jit
def mixed(n, x):
    total = 0  # becomes a float
    for i in range(n, -2, -1):
        total += i * x
    flag = x > 1.0 and not total < 0
    s, p = sum_and_product(total, n)
    return s, p, flag, max(n, x, 2), min(x, n), abs(n), abs(x), x**3, x**-2, -n, (1 if flag else 2.5), 1 < n <= 5


@jit
def tables(i, j):
    total = 0.0
    for row in (0, 1):
        total += TABLE[row][j] * STEPS[i]
    return total + TABLE[1][2], STEPS[j], TABLE[i % 2][i]


@jit
def functions(x):
    return (
        math.sqrt(abs(x)),
        math.sin(x),
        np.cos(x),
        math.exp(x / 1e3),
        math.copysign(2.0, x),
        math.atan2(x, 3.0),
        math.isfinite(x / (x - x)),
        abs(x) ** 0.3,
    )


@jit
def walk(a, k, grid):
    b = a[1:]
    for i in range(b.size):
        b[i], k[i] = b[i] + a[i], k[i] | 4
    grid[1, 2] = grid[0, 0] + a[-1]
    c = grid[1]
    c[0] = len(a) + grid.shape[1]
    return b[0], c[1]


@jit
def quotient(z, w):
    z[0] = (z[0] * w - 2.0) / (w + 1j)
    return z[0].real, z[0].imag, abs(w), z[0] != w


def same(found, wanted):
    assert type(found) is type(wanted) or {type(found), type(wanted)} <= {int, float, bool, np.float64, np.int64, np.bool_}
    np.testing.assert_allclose(np.array(found, dtype=complex), np.array(wanted, dtype=complex), rtol=1e-14, atol=1e-14)


@given(n=st.integers(0, 30), x=number)
def test_branches_and_loops(n, x):
    assert branches(n, x) == branches.python(n, x)


@given(a=whole, b=whole.filter(bool))
def test_whole_numbers_divide_as_in_python(a, b):
    same(division(a, b), division.python(a, b))


@given(n=whole, x=number.filter(lambda x: abs(x) > 1e-3))
def test_mixed_numbers(n, x):
    same(mixed(n, x), mixed.python(n, x))


@given(i=st.integers(0, 2), j=st.integers(0, 2))
def test_constant_tables_are_indexed_by_variables(i, j):
    same(tables(i, j), tables.python(i, j))


@given(x=number.filter(lambda x: abs(x) > 1e-3))
def test_functions(x):
    with np.errstate(all="ignore"):
        same(functions(x), functions.python(np.float64(x)))


@given(values=st.lists(number, min_size=3, max_size=8))
def test_views(values):
    results = []
    for f in (walk, walk.python):
        a, k, grid = np.array(values), np.arange(len(values)), np.arange(6.0).reshape(2, 3)
        results.append((f(a, k, grid), a, k, grid))
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


@given(z=st.complex_numbers(min_magnitude=1e-3, max_magnitude=1e3), w=st.complex_numbers(min_magnitude=1e-3, max_magnitude=1e3))
def test_complex_numbers(z, w):
    if abs(w + 1j) < 1e-3:
        return
    results = []
    for f in (quotient, quotient.python):
        array = np.array([z])
        results.append((*f(array, w), array[0]))
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-12)


@given(seed=st.integers(0, 1000), n=st.integers(1, 6))
def test_the_interpreter_and_machine_code_factorise_alike(seed, n):
    a, b = np.random.default_rng(seed).normal(size=(n, n)), np.random.default_rng(seed + 1).normal(size=n)
    results = []
    for factor, solve in ((lu_factor, lu_solve), (lu_factor.python, lu_solve.python)):
        lu, x, pivots = a.flatten(), b.copy(), np.zeros(n, dtype=np.int64)
        assert factor(lu, n, pivots) == 0
        solve(lu, n, pivots, x)
        results.append(x)
    np.testing.assert_allclose(*results, rtol=1e-9)
    spd = a @ a.T + np.eye(n)
    flat, x = spd.flatten(), b.copy()
    assert cholesky(flat, n) == 0
    cholesky_solve(flat, n, x)
    np.testing.assert_allclose(spd @ x, b, atol=1e-9)


@kernel
def add_up(address):
    args = words(address, 3)
    x, out = doubles(args[0], 4), integers(args[1], 1)
    for i in range(4):
        x[3] += x[i]
    out[0] += 1
    if args[2] != 0 and out[0] < 3:
        return call(args[2], address)
    return out[0]


def test_kernels_are_called_by_address_from_python_and_from_kernels():
    x, out = np.array([1.0, 2.0, 3.0, 0.0]), np.zeros(1, dtype=np.int64)
    args = np.array([x.ctypes.data, out.ctypes.data, add_up.address], dtype=np.uintp)
    assert add_up.call(args.ctypes.data) == 3
    wanted = [1.0, 2.0, 3.0, 0.0]
    for i in 3 * [0, 1, 2, 3]:
        wanted[3] += wanted[i]
    assert x.tolist() == wanted
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(add_up.address)(args.ctypes.data) == 4


@jit
def lacks_return(x):
    if x > 0:
        return 1.0


@jit
def uses_text(x):
    return f"{x}"


@jit
def assigns_row(x):
    x[0:2] = 1.0


@jit
def calls_itself(x):
    return calls_itself(x - 1) if x > 0 else 0


@jit
def unknown_function(x):
    return math.gamma(x)


@jit
def takes_every_second(x):
    return x[::2].size


@jit
def counts_from_the_end(x):
    return x[:-1].size


@jit
def names_an_argument(x):
    return max(x, default=1.0)


@jit
def ends_a_loop_otherwise(x):
    while x > 0.0:
        x -= 1.0
    else:
        x = 5.0
    return x


@pytest.mark.parametrize(
    ("f", "argument", "message"),
    [
        (lacks_return, 1.0, "not every path"),
        (uses_text, 1.0, "JoinedStr"),
        (assigns_row, np.zeros(3), "Slice|slice"),
        (calls_itself, 3, "calls itself"),
        (unknown_function, 1.0, "math.gamma is no function"),
        (takes_every_second, np.zeros(3), "has a step"),
        (counts_from_the_end, np.zeros(3), "count from the start"),
        (names_an_argument, 1.0, "named arguments"),
        (ends_a_loop_otherwise, 1.0, "else of a while"),
    ],
)
def test_what_the_language_lacks_is_refused_with_its_place(f, argument, message):
    with pytest.raises(KernelError, match=message) as caught:
        f(argument)
    assert f.name in str(caught.value) or "itself" in message


def test_arrays_that_are_not_plain_are_refused():
    with pytest.raises(KernelError, match="strides"):
        walk(np.zeros(8)[::2], np.zeros(4, dtype=np.int64), np.zeros((2, 3)))
    with pytest.raises(KernelError, match="float32"):
        walk(np.zeros(4, dtype=np.float32), np.zeros(4, dtype=np.int64), np.zeros((2, 3)))
    with pytest.raises(KernelError, match="str cannot be passed"):
        branches(3, "x")


def increment_by_one():
    @jit
    def increment(x):
        return x + 1.0

    return increment


def increment_by_two():
    @jit
    def increment(x):
        return x + 2.0

    return increment


def test_functions_of_one_name_in_one_file_are_kept_apart():
    assert (increment_by_one()(0.5), increment_by_two()(0.5)) == (1.5, 2.5)


def test_importing_solvers_compiles_nothing():
    code = "import jourdain.solvers.ode.drive, jourdain.native.engine as e; assert not e._machine.cache_info().currsize"
    subprocess.run([sys.executable, "-c", code], check=True)
