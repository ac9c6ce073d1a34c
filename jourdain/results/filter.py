"""Conditions on runs, e.g. "mass > 3 and status = 'done'": a small language of our own, compiled to bound SQL.

    condition  = both {"or" both}
    both       = single {"and" single}
    single     = "not" single | "(" condition ")" | comparison
    comparison = operand relation operand {relation operand} | name ["not"] "in" "(" literal {"," literal} ")"
    relation   = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" | "like"

Names are parameters of the design, or the fields run, design, model, hash, status, method, created, finished;
"parameters.x", "statistics.x" and "metadata.x" reach the values so named in each. A comparison with a value that is not
there is neither true nor false. No text of the user gets into the SQL: names and literals are bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from jourdain.errors import InputError

FIELDS = {
    "run": "runs.id", "design": "runs.design", "model": "models.name", "hash": "models.hash", "status": "runs.status",
    "method": "runs.method", "created": "runs.created", "finished": "runs.finished",
}  # fmt: skip
GROUPS = {"parameters": "designs.parameters", "statistics": "runs.statistics", "metadata": "runs.metadata"}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))"
    r"|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<relation>==|!=|<>|<=|>=|=|<|>)|(?P<open>\()|(?P<close>\))|(?P<comma>,)"
    r"|(?P<name>[^\W\d]\w*(?:\.\w+)*))"
)
_WORDS = ("and", "or", "not", "in", "like", "true", "false")
_RELATIONS = {"==": "=", "<>": "!=", "like": "LIKE"}
_MAX_LENGTH, _MAX_DEPTH = 10_000, 50


@dataclass
class Condition:
    """An SQL condition with its bound values, and the parameter names that it mentions."""

    sql: str
    values: list[Any]
    parameters: list[str] = field(default_factory=list)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._split()
        self.place = 0
        self.values: list[Any] = []
        self.parameters: list[str] = []

    def _fail(self, reason: str) -> InputError:
        return InputError(f"condition {self.text[:200]!r}: {reason}; write it like \"mass > 3 and status = 'done'\"")

    def _split(self) -> list[tuple[str, str]]:
        tokens, place, text = [], 0, self.text.rstrip()
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise self._fail(f"cannot read {text[place : place + 20]!r}")
            kind, word = match.lastgroup, match.group(match.lastgroup)
            if kind == "name" and word.lower() in _WORDS:
                kind, word = "word", word.lower()
            tokens.append(("relation", word) if word == "like" else (kind, word))
            place = match.end()
        return tokens

    def _next_is(self, kind: str, word: str | None = None) -> bool:
        if self.place >= len(self.tokens):
            return False
        found = self.tokens[self.place]
        return found[0] == kind and (word is None or found[1] == word)

    def _accept(self, kind: str, word: str | None = None) -> bool:
        found = self._next_is(kind, word)
        self.place += found
        return found

    def parse(self) -> Condition:
        sql = self._condition(0)
        if self.place < len(self.tokens):
            raise self._fail(f"{self.tokens[self.place][1]!r} is not expected there")
        return Condition(sql, self.values, self.parameters)

    def _condition(self, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise self._fail(f"nested deeper than {_MAX_DEPTH}")
        parts = [self._both(depth)]
        while self._accept("word", "or"):
            parts.append(self._both(depth))
        return f"({' OR '.join(parts)})"

    def _both(self, depth: int) -> str:
        parts = [self._single(depth)]
        while self._accept("word", "and"):
            parts.append(self._single(depth))
        return f"({' AND '.join(parts)})"

    def _single(self, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise self._fail(f"nested deeper than {_MAX_DEPTH}")
        if self._accept("word", "not"):
            return f"(NOT {self._single(depth + 1)})"
        if self._accept("open"):
            inside = self._condition(depth + 1)
            if not self._accept("close"):
                raise self._fail("a parenthesis is not closed")
            return inside
        return self._comparison()

    def _comparison(self) -> str:
        first = self._operand()
        negated = self._accept("word", "not")
        if self._accept("word", "in"):
            return self._sql(first) + (" NOT IN " if negated else " IN ") + self._literals()
        if negated or not self._next_is("relation"):
            raise self._fail("a relation such as = or > is missing")
        parts, left = [], first
        while self._next_is("relation"):
            word = self.tokens[self.place][1]
            self.place += 1
            right = self._operand()
            parts.append(f"{self._sql(left)} {_RELATIONS.get(word, word)} {self._sql(right)}")
            left = right
        return f"({' AND '.join(parts)})"

    def _literals(self) -> str:
        if not self._accept("open"):
            raise self._fail("a list in parentheses must follow 'in'")
        items: list[str] = []
        while not items or self._accept("comma"):
            operand = self._operand()
            if operand[0] == "name":
                raise self._fail(f"the name {operand[1]!r} cannot stand in a list")
            items.append(self._sql(operand))
        if not self._accept("close"):
            raise self._fail("a parenthesis is not closed")
        return f"({', '.join(items)})"

    def _operand(self) -> tuple[str, Any]:
        kind, word = self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")
        self.place += 1
        if kind == "name":
            return "name", word
        if kind == "number":
            return "value", float(word)
        if kind == "text":
            return "value", word[1:-1].replace(word[0] * 2, word[0])
        if kind == "word" and word in ("true", "false"):
            return "value", int(word == "true")
        raise self._fail(f"{word!r} is not a name, number or 'text'" if word else "a name or value is missing")

    def _sql(self, operand: tuple[str, Any]) -> str:
        """SQL for an operand; binds its value, so it is called once for each time the operand occurs in the SQL."""
        kind, word = operand
        if kind == "value":
            self.values.append(word)
            return "?"
        if word in FIELDS:
            return FIELDS[word]
        group, _, rest = word.partition(".")
        column, key = (GROUPS[group], rest) if rest and group in GROUPS else (GROUPS["parameters"], word)
        if column == GROUPS["parameters"]:
            self.parameters.append(key)
        self.values.append(f'$."{key}"')
        return f"json_extract({column}, ?)"


def parse(text: str) -> Condition:
    """The condition written as ``text``, as SQL with bound values.

    >>> parse("mass > 3").sql
    '(((json_extract(designs.parameters, ?) > ?)))'
    """
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        raise InputError(f"a condition is text of at most {_MAX_LENGTH} characters, such as \"status = 'done'\"")
    return _Parser(text).parse()
