"""The canonical text of a program: equal for programs that differ in names and layout only."""

from __future__ import annotations

from typing import assert_never

from tcc.frontend.ast import (
    Assign,
    CallStatement,
    Definition,
    Module,
    Statement,
)
from tcc.frontend.builtins import BUILTINS
from tcc.frontend.sexpr import Spelling, sexpr


def canonical(program: Module | Definition, entry: str | None = None) -> str:
    """The text that identifies a program, for use as a cache key.

    Definitions are called f0, f1, ..., other names i0, i1, ... within each, by first visit;
    builtin functions keep their names. Numbers are written by value, integers and floats apart.
    With `entry`, only that definition of the module and what it calls, directly or not; a
    definition alone stands for a module of its own. KeyError when there is no such definition.
    """
    definitions = program.definitions if isinstance(program, Module) else (program,)
    by_name = {d.name.text: d for d in reversed(definitions)}
    numbers: dict[str, str] = {}
    if entry is None:
        for definition in definitions:
            _number(numbers, "f", definition.name.text)
        return "\n".join(_text(d, by_name, numbers, {}) for d in definitions)
    _number(numbers, "f", entry)
    texts: list[str] = []
    while len(texts) < len(numbers):
        texts.append(_text(by_name[list(numbers)[len(texts)]], by_name, numbers, {}))
    return "\n".join(texts)


def canonical_names(module: Module, entry: str) -> dict[str, str]:
    """How a definition spells the names of its canonical text: `f0` is the definition itself.

    KeyError when there is no such definition.
    """
    by_name = {d.name.text: d for d in reversed(module.definitions)}
    own: dict[str, str] = {}
    _text(by_name[entry], by_name, {}, own)
    return {"f0": entry, **{short: spelled for spelled, short in own.items()}}


def _text(
    definition: Definition,
    by_name: dict[str, Definition],
    numbers: dict[str, str],
    own: dict[str, str],
) -> str:
    """One definition; its names are added to `own`, the definitions it calls to the numbers."""
    tensors = _tensors(definition)

    def name(text: str) -> str:
        return _number(own, "i", text)

    def function(text: str) -> str:
        return _number(numbers, "f", text)

    def callee(text: str) -> str:
        if text in by_name and text not in tensors:
            return function(text)
        return text if text in BUILTINS or text in ("min", "max") else name(text)

    return sexpr(definition, Spelling(name, callee, function, _value, empty_lists=False))


def _tensors(definition: Definition) -> frozenset[str]:
    """The names that a read can have."""
    inputs = (p.name.text for p in definition.parameters)
    outputs = (o.name.text for o in definition.outputs)
    targets = (t for s in definition.statements for t in _targets(s))
    return frozenset((*inputs, *outputs, *targets))


def _targets(statement: Statement) -> tuple[str, ...]:
    match statement:
        case Assign():
            return (statement.target.text,)
        case CallStatement():
            return tuple(t.text for t in statement.targets)
        case _:
            assert_never(statement)


def _number(numbers: dict[str, str], prefix: str, text: str) -> str:
    """The number of a name; a new name gets the next one."""
    return numbers.setdefault(text, f"{prefix}{len(numbers)}")


def _value(text: str) -> str:
    """A number by its value: an integer plain, a float as an integer times a power of ten."""
    if text.isdigit():
        return str(int(text))
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return "0e0"
    power = int(exponent or 0) - len(fraction) + len(digits) - len(significant)
    return f"{significant}e{power}"
