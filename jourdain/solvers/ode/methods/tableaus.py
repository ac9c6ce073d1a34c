"""Butcher tableaus of explicit Runge-Kutta methods with error weights and continuous extensions.

Sources: Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, tables II.1.2, II.5.2, II.6 and the
appendix coefficients of the method of order 8; Bogacki & Shampine, Appl. Math. Lett. 2 (1989) 321.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jourdain.errors import InputError

Row = Sequence[float]


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method: k_i = f(t + c_i h, x + h sum_j a_ij k_j), x_new = x + h sum_i b_i k_i.

    `a` lists the rows below the first. `error` weighs the stages, optionally with one weight more for f at the new
    point; a second row `error_low` sharpens it as in the method of order 8. `dense` has a row for each stage, for f at
    the new point and for each extra stage (`dense_a`, `dense_c`): x(t + s h) = x + h sum_j k_j sum_m dense[j, m]
    s^(m+1). Without `dense` a cubic through both ends is used; without `error` the step is fixed.

    >>> Tableau("heun", 2, c=(0, 1), a=((1,),), b=(0.5, 0.5)).stages
    2
    """

    name: str
    order: int
    c: Row
    a: Sequence[Row]
    b: Row
    error: Row = ()
    error_low: Row = ()
    error_order: int = 0
    dense: NDArray[np.float64] | None = None
    dense_a: Sequence[Row] = ()
    dense_c: Row = ()
    damping: float = 0.0
    stiff_limit: float = 0.0

    def __post_init__(self) -> None:
        s = len(self.b)
        if len(self.c) != s or [len(row) for row in self.a] != list(range(1, s)):
            raise InputError(f"tableau '{self.name}': c needs {s} entries and a the rows of 1 to {s - 1} entries")
        gap = max((abs(sum(row) - ci) for row, ci in zip(self.a, self.c[1:], strict=True)), default=0.0)
        if gap > 1e-12 or abs(sum(self.b) - 1) > 1e-12:
            raise InputError(f"tableau '{self.name}': rows of a must add up to c (off by {gap:.2g}) and b to 1")

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.b)

    @property
    def adaptive(self) -> bool:
        """Whether the tableau estimates its error."""
        return len(self.error) > 0

    def pack(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the constants and sizes in the layout that the Runge-Kutta kernels read."""
        s = self.stages
        rows = [np.zeros(s + 1), np.zeros(s + 1)]
        for target, row in zip(rows, (self.error, self.error_low), strict=True):
            target[: len(row)] = row
        closing = int(rows[0][s] != 0 or rows[1][s] != 0)
        dense = np.zeros((0, 0)) if self.dense is None else self.dense
        head = [self.error_order or self.order, self.damping, self.stiff_limit]
        parts = [head, self.c, *self.a, self.b, *rows, self.dense_c, *self.dense_a, dense.ravel()]
        sizes = np.array([s, closing, dense.shape[1], len(self.dense_c)], dtype=np.int64)
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts]), sizes


EULER = Tableau("euler", 1, c=(0,), a=(), b=(1,))
HEUN = Tableau("heun", 2, c=(0, 1), a=((1,),), b=(1 / 2, 1 / 2))
RK4 = Tableau("rk4", 4, c=(0, 1 / 2, 1 / 2, 1), a=((1 / 2,), (0, 1 / 2), (0, 0, 1)), b=(1 / 6, 1 / 3, 1 / 3, 1 / 6))

BOGACKI_SHAMPINE = Tableau(
    "bs32",
    3,
    c=(0, 1 / 2, 3 / 4),
    a=((1 / 2,), (0, 3 / 4)),
    b=(2 / 9, 1 / 3, 4 / 9),
    error=(5 / 72, -1 / 12, -1 / 9, 1 / 8),
    error_order=3,
)

DORMAND_PRINCE = Tableau(
    "dopri5",
    5,
    c=(0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
    a=(
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    b=(35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    error=(71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
    error_order=5,
    dense=np.array(
        [
            [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0, 0, 0, 0],
            [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
    damping=0.04,
    stiff_limit=3.25,
)

_A853 = (
    (0.05260015195876773,),
    (0.0197250569845379, 0.0591751709536137),
    (0.02958758547680685, 0.0, 0.08876275643042054),
    (0.2413651341592667, 0.0, -0.8845494793282861, 0.924834003261792),
    (0.037037037037037035, 0.0, 0.0, 0.17082860872947386, 0.12546768756682242),
    (0.037109375, 0.0, 0.0, 0.17025221101954405, 0.06021653898045596, -0.017578125),
    (0.03709200011850479, 0.0, 0.0, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402, 0.008273789163814023),
    (0.6241109587160757, 0.0, 0.0, -3.3608926294469414, -0.868219346841726, 27.59209969944671, 20.154067550477894, -43.48988418106996),
    (
        0.47766253643826434,
        0.0,
        0.0,
        -2.4881146199716677,
        -0.590290826836843,
        21.230051448181193,
        15.279233632882423,
        -33.28821096898486,
        -0.020331201708508627,
    ),
    (
        -0.9371424300859873,
        0.0,
        0.0,
        5.186372428844064,
        1.0914373489967295,
        -8.149787010746927,
        -18.52006565999696,
        22.739487099350505,
        2.4936055526796523,
        -3.0467644718982196,
    ),
    (
        2.273310147516538,
        0.0,
        0.0,
        -10.53449546673725,
        -2.0008720582248625,
        -17.9589318631188,
        27.94888452941996,
        -2.8589982771350235,
        -8.87285693353063,
        12.360567175794303,
        0.6433927460157636,
    ),
)

_B853 = (
    0.054293734116568765,
    0.0,
    0.0,
    0.0,
    0.0,
    4.450312892752409,
    1.8915178993145003,
    -5.801203960010585,
    0.3111643669578199,
    -0.1521609496625161,
    0.20136540080403034,
    0.04471061572777259,
)

_C853 = (
    0.0,
    0.05260015195876773,
    0.0789002279381516,
    0.1183503419072274,
    0.2816496580927726,
    0.3333333333333333,
    0.25,
    0.3076923076923077,
    0.6512820512820513,
    0.6,
    0.8571428571428571,
    1.0,
)

_ERROR3_853 = (
    -0.18980075407240762,
    0.0,
    0.0,
    0.0,
    0.0,
    4.450312892752409,
    1.8915178993145003,
    -5.801203960010585,
    -0.4226823213237919,
    -0.1521609496625161,
    0.20136540080403034,
    0.02265179219836082,
)

_ERROR5_853 = (
    0.01312004499419488,
    0.0,
    0.0,
    0.0,
    0.0,
    -1.2251564463762044,
    -0.4957589496572502,
    1.6643771824549864,
    -0.35032884874997366,
    0.3341791187130175,
    0.08192320648511571,
    -0.022355307863886294,
)

_A853_DENSE = (
    (
        0.056167502283047954,
        0.0,
        0.0,
        0.0,
        0.0,
        0.0,
        0.25350021021662483,
        -0.2462390374708025,
        -0.12419142326381637,
        0.15329179827876568,
        0.00820105229563469,
        0.007567897660545699,
        -0.008298,
    ),
    (
        0.03183464816350214,
        0.0,
        0.0,
        0.0,
        0.0,
        0.028300909672366776,
        0.053541988307438566,
        -0.05492374857139099,
        0.0,
        0.0,
        -0.00010834732869724932,
        0.0003825710908356584,
        -0.00034046500868740456,
        0.1413124436746325,
    ),
    (
        -0.42889630158379194,
        0.0,
        0.0,
        0.0,
        0.0,
        -4.697621415361164,
        7.683421196062599,
        4.06898981839711,
        0.3567271874552811,
        0.0,
        0.0,
        0.0,
        -0.0013990241651590145,
        2.9475147891527724,
        -9.15095847217987,
    ),
)

_C853_DENSE = (0.1, 0.2, 0.7777777777777778)

_D853 = (
    (
        -8.428938276109013,
        0.0,
        0.0,
        0.0,
        0.0,
        0.5667149535193777,
        -3.0689499459498917,
        2.38466765651207,
        2.117034582445028,
        -0.871391583777973,
        2.2404374302607883,
        0.6315787787694688,
        -0.08899033645133331,
        18.148505520854727,
        -9.194632392478356,
        -4.436036387594894,
    ),
    (
        10.427508642579134,
        0.0,
        0.0,
        0.0,
        0.0,
        242.28349177525817,
        165.20045171727028,
        -374.5467547226902,
        -22.113666853125306,
        7.733432668472264,
        -30.674084731089398,
        -9.332130526430229,
        15.697238121770845,
        -31.139403219565178,
        -9.35292435884448,
        35.81684148639408,
    ),
    (
        19.985053242002433,
        0.0,
        0.0,
        0.0,
        0.0,
        -387.0373087493518,
        -189.17813819516758,
        527.8081592054236,
        -11.57390253995963,
        6.8812326946963,
        -1.0006050966910838,
        0.7777137798053443,
        -2.778205752353508,
        -60.19669523126412,
        84.32040550667716,
        11.99229113618279,
    ),
    (
        -25.69393346270375,
        0.0,
        0.0,
        0.0,
        0.0,
        -154.18974869023643,
        -231.5293791760455,
        357.6391179106141,
        93.40532418362432,
        -37.45832313645163,
        104.0996495089623,
        29.8402934266605,
        -43.53345659001114,
        96.32455395918828,
        -39.17726167561544,
        -149.72683625798564,
    ),
)


def _dense853() -> NDArray[np.float64]:
    """Expand F0 s + F1 s(1-s) + F2 s^2(1-s) + ... of the continuous extension into powers of s, for each stage."""
    d = np.array(_D853)
    stages = d.shape[1]
    b = np.zeros(stages)
    b[: len(_B853)] = _B853
    first, last = np.eye(stages)[0], np.eye(stages)[len(_B853)]
    weights = [b, first - b, 2 * b - first - last, *d]
    basis, columns = np.array([1.0]), np.zeros((stages, len(weights)))
    for k, weight in enumerate(weights):
        basis = np.convolve(basis, [0.0, 1.0] if k % 2 == 0 else [1.0, -1.0])
        columns[:, : len(basis) - 1] += np.outer(weight, basis[1:])
    return columns


DOP853 = Tableau(
    "dop853",
    8,
    c=_C853,
    a=_A853,
    b=_B853,
    error=_ERROR5_853,
    error_low=_ERROR3_853,
    error_order=8,
    dense=_dense853(),
    dense_a=_A853_DENSE,
    dense_c=_C853_DENSE,
    stiff_limit=6.1,
)
