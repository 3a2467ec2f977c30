"""The schema of options files in the JSON Schema language (draft 2020-12), for YAML editors.

It says what an editor can check: names, kinds, bounds, words. What depends on the program or the
target, keys that come twice, and the parts of YAML that options files do without, only tcc checks.
"""

from __future__ import annotations

import json
from typing import Any, assert_never

from tcc.option_values import NAME
from tcc.options import Options
from tcc.schema import (
    Choice,
    Flag,
    Integer,
    Items,
    Kind,
    Number,
    Section,
    Table,
    Text,
    describe,
    options_of,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema as plain data; the same text for the same version of tcc."""
    return {"$schema": DIALECT, "title": "Options of tcc", **_section(Options)}


def json_schema_text() -> str:
    """The schema as JSON."""
    return json.dumps(json_schema(), indent=2) + "\n"


def _section(of: type) -> dict[str, Any]:
    properties = {
        name: {"description": _description(name, field.metadata), **_value(field.metadata["kind"])}
        for name, field in options_of(of).items()
    }
    return {"type": _or_null("object"), "properties": properties, "additionalProperties": False}


def _description(name: str, metadata: Any) -> str:  # noqa: ANN401 - of a field
    return f"{name}: {metadata['doc']}; {describe(metadata['kind'])}"


def _value(kind: Kind) -> dict[str, Any]:
    """The schema of a value that may be left empty."""
    schema = _strict(kind)
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return {**schema, "type": _or_null(schema["type"])}


def _or_null(name: str | list[str]) -> list[str]:
    names = [name] if isinstance(name, str) else name
    return [*names, *(("null",) if "null" not in names else ())]


def _strict(kind: Kind) -> dict[str, Any]:
    match kind:
        case Flag():
            return {"type": "boolean"}
        case Integer(low, high):
            return {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high})
        case Number(low):
            return {"type": "number"} | ({} if low is None else {"minimum": low})
        case Text():
            return {"type": "string", "minLength": 1}
        case Choice(words):
            return {"enum": list(words)}
        case Items():
            return _items(kind)
        case Table(_, item):
            names = {"propertyNames": {"pattern": f"^{NAME.pattern}$"}}
            return {"type": "object", "additionalProperties": _value(item), **names}
        case Section(of):
            return _section(of)
        case _:
            assert_never(kind)


def _items(kind: Items) -> dict[str, Any]:
    """Bounds of single places come first; none of them may be empty."""
    schema: dict[str, Any] = {"type": "array", "items": _strict(kind.item)}
    if kind.each:
        schema["prefixItems"] = [_strict(place) for place in kind.each]
    if kind.shortest:
        schema["minItems"] = kind.shortest
    if kind.longest is not None:
        schema["maxItems"] = kind.longest
    return schema
