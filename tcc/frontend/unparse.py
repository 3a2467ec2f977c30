"""Trees and files to text in the canonical layout: what `tcc fmt` writes."""

from __future__ import annotations

from typing import assert_never

from tcc.diagnostics import Report
from tcc.frontend.ast import (
    Apply,
    Assign,
    Binary,
    CallStatement,
    Cast,
    Conditional,
    Definition,
    ExistsClause,
    Extent,
    LetClause,
    Module,
    Node,
    Number,
    Output,
    Parameter,
    RangeClause,
    TensorType,
    Unary,
    Variable,
)
from tcc.frontend.layout import layout
from tcc.frontend.parser import parse
from tcc.frontend.spelling import (
    clause_text,
    expression_text,
    header_text,
    output_text,
    parameter_text,
    statement_text,
    type_text,
)
from tcc.source import Source


def unparse(node: Node) -> str:
    """The text of a node; parsing it gives the same node, up to spans.

    A statement is one line, however long; definitions and modules end in a newline. Comments are
    no part of the tree: `format_source` keeps them.
    """
    match node:
        case Module(_, definitions):
            return "\n".join(unparse(d) for d in definitions)
        case Definition(_, _, _, statements, _):
            body = "".join(f"    {statement_text(s)}\n" for s in statements)
            return f"{header_text(node)}\n{body}}}\n"
        case Parameter():
            return parameter_text(node)
        case Output():
            return output_text(node)
        case TensorType():
            return type_text(node)
        case Assign() | CallStatement():
            return statement_text(node)
        case RangeClause() | LetClause() | ExistsClause():
            return clause_text(node)
        case (
            Number() | Variable() | Apply() | Extent() | Cast() | Unary() | Binary() | Conditional()
        ):
            return expression_text(node)
        case _:
            assert_never(node)


def format_source(source: Source, report: Report) -> str | None:
    """The file in the canonical layout with its comments; None when it does not parse.

    Formatting the result again changes nothing.
    """
    found = Report()
    module = parse(source, found)
    report.add(*found.items)
    return None if found.errors else layout(module)
