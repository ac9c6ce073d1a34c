"""``jourdain model``: list, show, create, modify and delete the objects of a model file."""

from __future__ import annotations

import argparse
import tomllib
from typing import Any

from ..errors import InputError


def add_parser(verbs: Any) -> argparse.ArgumentParser:
    """Adds the verb ``model`` with its operations to the subparsers of the command."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "model", help="the objects of a model file: list, show, create, modify, delete",
        description="Works on the objects of a model file; every reference between them is kept whole.",
        epilog="CLASS is body, frame, joint, load, constraint, sensor, parameter, input, state, output, event, table, expression, drive, "
        "lock, analysis, initial or include. VALUE is written as in the file: 2.5, \"5 mm\", [0, 0, 1], 'k*x'; bare text is taken as text.",
    )  # fmt: skip
    parser.add_argument("--debug", action="store_true", help="show where an error happened")
    parser.set_defaults(run=lambda options: parser.print_help())
    operations = parser.add_subparsers(title="operations", metavar="OPERATION")
    p = _operation(operations, "list", list_objects, "list the objects of a file")
    p.add_argument("kind", metavar="CLASS", nargs="?", help="class of the objects (default: all)")
    _object(_operation(operations, "show", show, "show what a file says about an object"))
    _values(_object(_operation(operations, "create", create, "create an object")))
    _values(_object(_operation(operations, "modify", modify, "give keys of an object new values; KEY= takes a key away")))
    p = _object(_operation(operations, "delete", delete, "delete an object"))
    p.add_argument("--cascade", action="store_true", help="with everything that needs it")
    _operation(operations, "check", check, "read a file with all its variants")
    p = operations.add_parser("schema", help="print the JSON schema of model files", description="Prints the JSON schema of model files.")
    p.set_defaults(run=print_schema)
    return parser


def _operation(operations: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    p: argparse.ArgumentParser = operations.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    p.add_argument("file", metavar="FILE", help="model file")
    p.set_defaults(run=run)
    return p


def _object(p: argparse.ArgumentParser) -> argparse.ArgumentParser:
    p.add_argument("kind", metavar="CLASS", help="class of the object")
    p.add_argument("name", metavar="NAME", help="name of the object")
    return p


def _values(p: argparse.ArgumentParser) -> None:
    p.add_argument("values", metavar="KEY=VALUE", nargs="+", help="key and value, as in the file")


def parse_values(texts: list[str]) -> dict[str, Any]:
    """Keys and values from "key=value"; an empty value is None.

    >>> parse_values(["mass=2.5", "com=[0, 0, '-l']", "kind=revolute", "limits="])
    {'mass': 2.5, 'com': [0, 0, '-l'], 'kind': 'revolute', 'limits': None}
    """
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"'{text}' is not KEY=VALUE, such as mass=2.5")
        found[key.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    if not text:
        return None
    try:
        data = tomllib.loads(f"v = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return data["v"] if set(data) == {"v"} else text


def list_objects(options: argparse.Namespace) -> None:
    """``jourdain model list``."""
    from ..io.model_files.operations import ModelDocument

    for o in ModelDocument.read(options.file).list(options.kind):
        print(o.name if options.kind else f"{o.kind:<11}{o.name}")


def show(options: argparse.Namespace) -> None:
    """``jourdain model show``."""
    from ..io.model_files.operations import ModelDocument
    from ..io.model_files.toml_writer import pair_text, value_text

    document = ModelDocument.read(options.file)
    item = document.show(options.kind, options.name)
    print("".join(pair_text(k, v) for k, v in item.items()) if isinstance(item, dict) else value_text(item) + "\n", end="")
    users = document.references(options.kind, options.name)
    if users:
        print(f"# needed by {', '.join(map(str, users))}")


def create(options: argparse.Namespace) -> None:
    """``jourdain model create``."""
    from ..io.model_files.operations import ModelDocument

    document = ModelDocument.read(options.file)
    given = parse_values(options.values)
    document.create(options.kind, options.name, {k: v for k, v in given.items() if v is not None})
    document.save(options.file)


def modify(options: argparse.Namespace) -> None:
    """``jourdain model modify``."""
    from ..io.model_files.operations import ModelDocument

    document = ModelDocument.read(options.file)
    document.modify(options.kind, options.name, parse_values(options.values))
    document.save(options.file)


def delete(options: argparse.Namespace) -> None:
    """``jourdain model delete``."""
    from ..io.model_files.operations import ModelDocument

    document = ModelDocument.read(options.file)
    for o in document.delete(options.kind, options.name, options.cascade):
        print(f"deleted {o}")
    document.save(options.file)


def check(options: argparse.Namespace) -> None:
    """``jourdain model check``."""
    from ..io.model_files.operations import ModelDocument

    document = ModelDocument.read(options.file)
    variants = list(document.variants)
    for variant in variants:
        document.model(variant)
    print(f"{options.file}: {document.model()!r}" + (f", variants {', '.join(variants)}" if variants else ""))


def print_schema(options: argparse.Namespace) -> None:
    """``jourdain model schema``."""
    from ..io.model_files.json_schema import schema_text

    print(schema_text(), end="")


__all__ = ["add_parser", "parse_values"]
