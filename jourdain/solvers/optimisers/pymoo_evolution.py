"""NSGA-II (Deb, Pratap, Agarwal, Meyarivan 2002), by pymoo (extra ``optimise``): crowds of designs that approach a front, without gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import library

#: What a design without values is worth; it is infeasible as well.
WORST = 1e30

#: Designs (a row each) -> their objectives and violations (positive where a constraint is missed), a row a design.
Judge = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def evolve(
    judge: Judge, lower: np.ndarray, upper: np.ndarray, objectives: int, constraints: int, population: int, generations: int, seed: int,
    first: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """The designs of the last generation that no other dominates; a whole generation is judged at once.

    Simulated binary crossover (probability 0.9, η = 15) and polynomial mutation (1/n, η = 20); feasible designs rank before others.
    """
    library("pymoo", "nsga2")
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.sampling.lhs import LHS
    from pymoo.problems.static import StaticProblem

    problem = Problem(n_var=len(lower), n_obj=objectives, n_ieq_constr=max(1, constraints), xl=lower, xu=upper)
    algorithm = NSGA2(pop_size=population, sampling=LHS(), crossover=SBX(prob=0.9, eta=15), mutation=PM(eta=20), eliminate_duplicates=True)
    algorithm.setup(problem, termination=("n_gen", generations), seed=seed, verbose=False)
    while algorithm.has_next():
        crowd = algorithm.ask()
        X = crowd.get("X")
        if first is not None:  # the design that is known to run takes part
            X[0], first = first, None
            crowd.set("X", X)
        F, G = judge(X)
        G = G if G.shape[1] else np.where(np.isfinite(F).all(axis=1), -1.0, 1.0)[:, None]
        Evaluator().eval(StaticProblem(problem, F=np.where(np.isfinite(F), F, WORST), G=np.where(np.isfinite(G), G, WORST)), crowd)
        algorithm.tell(infills=crowd)
    best = algorithm.result().opt
    kept = [] if best is None else [x for x, missed in zip(best.get("X"), best.get("CV"), strict=True) if float(np.ravel(missed)[0]) <= 0.0]
    return np.array(kept).reshape(-1, len(lower))


__all__ = ["Judge", "evolve"]
