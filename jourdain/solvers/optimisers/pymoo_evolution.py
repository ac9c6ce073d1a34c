"""NSGA-II (Deb, Pratap, Agarwal, Meyarivan 2002), by pymoo (extra ``optimise``): crowds of designs that approach a front, without gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import library

#: What a design without values is worth; it is infeasible as well.
WORST = 1e30

#: Designs (a row each) -> their objectives and violations (positive where a constraint is missed), a row a design.
Judge = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Breeding:
    """How designs are crossed and changed: (probability, index of the distribution) of simulated binary crossover and of polynomial mutation.

    The probability of mutation is that of a variable (None: 1/n); one at least is changed, so that no child is its parent.  With ``bits`` a design is a row of bits, so many a variable, crossed at one point; mutation turns single bits
    over, and there are no indices.
    """

    crossover: tuple[float, float] = (0.9, 15.0)
    mutation: tuple[float | None, float] = (None, 20.0)
    bits: int | None = None


def coded(X: np.ndarray, lower: np.ndarray, upper: np.ndarray, bits: int) -> np.ndarray:
    """Designs as rows of bits: the first bit of a variable counts most.

    >>> coded(np.array([[8.0, 10.0]]), np.zeros(2), np.full(2, 31.0), 5).astype(int).tolist()
    [[0, 1, 0, 0, 0, 0, 1, 0, 1, 0]]
    """
    number = np.rint((X - lower) / (upper - lower) * (2**bits - 1)).astype(np.int64)
    rows = (number[:, :, None] >> np.arange(bits - 1, -1, -1)) & 1
    return np.asarray(rows.reshape(len(X), -1).astype(bool))


def decoded(rows: np.ndarray, lower: np.ndarray, upper: np.ndarray, bits: int) -> np.ndarray:
    """Designs from rows of bits."""
    number = np.asarray(rows, dtype=float).reshape(len(rows), -1, bits) @ 2.0 ** np.arange(bits - 1, -1, -1)
    return np.asarray(lower + (upper - lower) * number / (2**bits - 1))


def evolve(
    judge: Judge, lower: np.ndarray, upper: np.ndarray, objectives: int, constraints: int, population: int, generations: int, seed: int,
    first: np.ndarray | None = None, breeding: Breeding | None = None, each: Callable[[np.ndarray, np.ndarray], None] | None = None,
) -> np.ndarray:  # fmt: skip
    """The designs of the last generation that no other dominates; a whole generation is judged at once.

    Each design takes part in two tournaments a generation, and parents and children are sorted together; feasible designs rank before others.  ``each`` hears of the
    undominated designs of every generation, and of their objectives.
    """
    library("pymoo", "nsga2")
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.problems.static import StaticProblem

    how = breeding or Breeding()
    wide = len(lower) * (how.bits or 1)
    ends = (np.zeros(wide), np.ones(wide)) if how.bits else (lower, upper)
    problem = Problem(n_var=wide, n_obj=objectives, n_ieq_constr=max(1, constraints), xl=ends[0], xu=ends[1])
    algorithm = _nsga2(population, how)
    algorithm.setup(problem, termination=("n_gen", generations), seed=seed, verbose=False)
    real = lambda X: decoded(X, lower, upper, how.bits) if how.bits else np.asarray(X, dtype=float)
    while algorithm.has_next():
        crowd = algorithm.ask()
        X = crowd.get("X")
        if first is not None:  # the design that is known to run takes part
            X[0], first = coded(first[None], lower, upper, how.bits)[0] if how.bits else first, None
            crowd.set("X", X)
        F, G = judge(real(X))
        G = G if G.shape[1] else np.where(np.isfinite(F).all(axis=1), -1.0, 1.0)[:, None]
        Evaluator().eval(StaticProblem(problem, F=np.where(np.isfinite(F), F, WORST), G=np.where(np.isfinite(G), G, WORST)), crowd)
        algorithm.tell(infills=crowd)
        if each is not None:
            each(*_undominated(algorithm.opt, real, (len(lower), objectives)))
    return _undominated(algorithm.result().opt, real, (len(lower), objectives))[0]


def _nsga2(population: int, how: Breeding) -> Any:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.operators.crossover.pntx import SinglePointCrossover
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.bitflip import BitflipMutation
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.sampling.lhs import LHS
    from pymoo.operators.sampling.rnd import BinaryRandomSampling

    (often, near), (changed, close) = how.crossover, how.mutation
    sampling, crossover, mutation = (
        (BinaryRandomSampling(), SinglePointCrossover(prob=often), BitflipMutation(prob_var=changed))
        if how.bits
        else (LHS(), SBX(prob=often, eta=near), PM(prob=1.0, prob_var=changed, eta=close, at_least_once=True))
    )
    # equal designs may be: to draw others in their place would be further tournaments
    return NSGA2(pop_size=population, sampling=sampling, crossover=crossover, mutation=mutation, eliminate_duplicates=False)


def _undominated(best: Any, real: Callable[[Any], np.ndarray], shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Different designs that keep the constraints, and their objectives."""
    if best is None or not len(best):
        return np.zeros((0, shape[0])), np.zeros((0, shape[1]))
    kept = np.array([float(np.ravel(missed)[0]) <= 0.0 for missed in best.get("CV")])
    X, F = real(best.get("X"))[kept], np.asarray(best.get("F"), dtype=float)[kept]
    places = np.sort(np.unique(X, axis=0, return_index=True)[1]) if len(X) else np.zeros(0, dtype=int)
    return X[places], F[places]


__all__ = ["Breeding", "Judge", "coded", "decoded", "evolve"]
