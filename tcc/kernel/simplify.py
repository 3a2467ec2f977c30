"""Drop what a kernel body does not use: names nobody reads, branches without content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tcc.affine import Affine, Var
from tcc.kernel import ir
from tcc.kernel.affines import affines
from tcc.kernel.substitute import substitute


def simplify(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without unused `Let`s, aliases, empty loops and branches, loops of one iteration.

    An alias that only gives its value to another name gets that name.
    Establishes: every `Let` and alias is read.
    """
    body, renamed = _without_copies(_block(kernel.body), dict(kernel.aliases))
    used = _used(body)
    named = ((renamed.get(n, n), s) for n, s in kernel.aliases)
    return replace(kernel, body=body, aliases=tuple((n, s) for n, s in named if n in used))


def _without_copies(
    body: tuple[ir.Statement, ...], aliases: Mapping[str, str]
) -> tuple[tuple[ir.Statement, ...], dict[str, str]]:
    """The body without `Let`s that only name an alias again; the new names of those aliases."""
    renamed: dict[str, str] = {}
    for statement in body:
        match statement:
            case ir.Let(name, Affine(((Var(alias), 1),), 0)) if alias in aliases:
                rest = tuple(s for s in body if s is not statement)
                if alias not in _used(rest):
                    renamed[alias], body = name, rest
            case _:
                pass
    return body, renamed


def _block(statements: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    kept: list[ir.Statement] = []
    for statement in reversed(statements):
        match statement:
            case ir.Let(name, _) if name not in _used(tuple(kept)):
                continue
            case ir.For():
                statement = replace(statement, body=_block(statement.body))  # noqa: PLW2901
                if not _has_content(statement.body):
                    continue
                if _is_single(statement):
                    kept[:0] = substitute(statement.body, {statement.var: statement.low})
                    continue
            case ir.If():
                body, otherwise = _block(statement.body), _block(statement.otherwise)
                if not _has_content(body) and not _has_content(otherwise):
                    continue
                statement = ir.If(_open(statement.conditions), body, otherwise)  # noqa: PLW2901
                if not statement.conditions and not _declares(body):
                    kept[:0] = body
                    continue
            case _:
                pass
        kept.insert(0, statement)
    return tuple(kept)


def _is_single(loop: ir.For) -> bool:
    """Whether the body runs once and can stand among the statements around the loop."""
    length = loop.high - loop.low
    once = length.is_constant and 1 <= length.value <= loop.step
    return once and not _declares(loop.body)


def _declares(body: tuple[ir.Statement, ...]) -> bool:
    return any(isinstance(s, ir.Let | ir.Declare) for s in body)


def _open(conditions: tuple[Affine | ir.Expression, ...]) -> tuple[Affine | ir.Expression, ...]:
    """The conditions that are not certain, each once."""
    return tuple(
        c
        for c in dict.fromkeys(conditions)
        if not (isinstance(c, Affine) and c.is_constant and c.value >= 0)
    )


def _has_content(statements: tuple[ir.Statement, ...]) -> bool:
    return any(not isinstance(s, ir.Comment | ir.Let | ir.Declare) for s in statements)


def _used(statements: tuple[ir.Statement, ...]) -> frozenset[str]:
    return frozenset().union(*(a.variables for a in affines(statements)))
