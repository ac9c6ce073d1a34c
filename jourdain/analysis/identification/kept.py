"""Runs of an identification kept in a store: the same call goes on where it was cut short."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from hashlib import sha256

import numpy as np

from ...results.identity import UnidentifiedError
from ...results.store import Store
from ..design.kept import study_of
from .runs import Answer, Piece


class KeptRuns:
    """Answers of pieces, each by what it is (model, settings, data) and the values of its variables."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._studies: dict[Piece, tuple[str, dict[str, str]] | None] = {}

    def find(self, piece: Piece, values: Mapping[str, float]) -> Answer | None:
        """The answer of a piece at values, if it is kept."""
        study = self._study(piece)
        data = None if study is None else study[1].get(_key(study[0], piece, values))
        if data is None:
            return None
        found = json.loads(data)
        return Answer([np.array(y) for y in found["values"]], [np.array(y) for y in found["slopes"]], found["notes"])

    def save(self, piece: Piece, values: Mapping[str, float], answer: Answer) -> None:
        """Commits an answer."""
        study = self._study(piece)
        if study is None:
            return
        lists = {n: [y.tolist() for y in getattr(answer, n)] for n in ("values", "slopes")}
        key, name = _key(study[0], piece, values), f"{piece.analysis.system.model.name}: identification by {', '.join(piece.criteria)}"
        study[1][key] = json.dumps({**lists, "notes": answer.notes})
        self.store.keep_answers(study[0], name, {key: study[1][key]})

    def _study(self, piece: Piece) -> tuple[str, dict[str, str]] | None:
        """What a piece is, with all of its answers."""
        if piece not in self._studies:
            try:
                study = study_of(piece.analysis, [], piece.criteria)
                self._studies[piece] = study, self.store.answers(study)
            except UnidentifiedError as error:
                warnings.warn(f"identify '{piece.analysis.system.model.name}': its runs are not kept ({error})", stacklevel=6)
                self._studies[piece] = None
        return self._studies[piece]


def _key(study: str, piece: Piece, values: Mapping[str, float]) -> str:
    own = [(v, float(values[name]).hex()) for v, name in piece.variables.items()]
    return sha256(f"{study} {own}".encode()).hexdigest()


__all__ = ["KeptRuns"]
