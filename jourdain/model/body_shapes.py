"""The shapes of a body: a list that takes shapes alone, so that whatever reads it later finds what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex

from ..errors import ModelError, short

if TYPE_CHECKING:
    from .shapes.base import Shape


class Shapes(list[Any]):
    """Shapes of the body of that name."""

    def __init__(self, body: str, shapes: Any = ()) -> None:
        self.body = body
        super().__init__(() if isinstance(shapes, tuple) and not shapes else self._all(shapes))

    def append(self, shape: Any) -> None:
        super().append(self._one(shape))

    def extend(self, shapes: Iterable[Any]) -> None:
        super().extend(self._all(shapes))

    def insert(self, index: SupportsIndex, shape: Any) -> None:
        super().insert(index, self._one(shape))

    def __setitem__(self, index: Any, given: Any) -> None:
        super().__setitem__(index, self._all(given) if isinstance(index, slice) else self._one(given))

    def __iadd__(self, shapes: Any) -> Shapes:  # type: ignore[misc,override]
        self.extend(shapes)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Shapes, (self.body, list(self))

    def _one(self, shape: Any) -> Shape:
        return shape_of(self.body, shape)

    def _all(self, shapes: Any) -> list[Shape]:
        from .shapes.base import Shape

        if isinstance(shapes, (Shape, str)) or not isinstance(shapes, Iterable):
            raise ModelError(f"body '{self.body}': shapes = {short(shapes)} is no list of shapes; write [jd.box(...)], or append one")
        return [self._one(s) for s in shapes]


def shape_of(body: str, shape: Any) -> Shape:
    """The shape, if it is one that can be drawn."""
    from .shapes.base import Shape

    if not isinstance(shape, Shape):
        raise ModelError(f"body '{body}': shape {short(shape)} is not a solid; use jd.box(...), jd.cylinder(...) and the like")
    return shape


__all__ = ["Shapes", "shape_of"]
