"""Drop what a kernel body does not use: names nobody reads, branches without content."""

from __future__ import annotations

from dataclasses import replace

from tcc.kernel import ir
from tcc.kernel.affines import affines


def simplify(kernel: ir.Kernel) -> ir.Kernel:
    """The kernel without unused `Let`s, aliases, empty loops and empty branches.

    Establishes: every name that the body declares is read.
    """
    body = _block(kernel.body)
    used = _used(body)
    aliases = tuple((n, s) for n, s in kernel.aliases if n in used)
    return replace(kernel, body=body, aliases=aliases)


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
            case ir.If():
                body, otherwise = _block(statement.body), _block(statement.otherwise)
                statement = replace(statement, body=body, otherwise=otherwise)  # noqa: PLW2901
                if not _has_content(body) and not _has_content(otherwise):
                    continue
            case _:
                pass
        kept.insert(0, statement)
    return tuple(kept)


def _has_content(statements: tuple[ir.Statement, ...]) -> bool:
    return any(not isinstance(s, ir.Comment | ir.Let | ir.Declare) for s in statements)


def _used(statements: tuple[ir.Statement, ...]) -> frozenset[str]:
    return frozenset().union(*(a.variables for a in affines(statements)))
