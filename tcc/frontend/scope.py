"""What is known of one def while its statements are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tcc.affine import Affine
from tcc.diagnostics import Report
from tcc.frontend import ast, tir
from tcc.frontend.builtins import BUILTINS
from tcc.scalar import ScalarType
from tcc.source import Span

OPERATORS = frozenset({"min", "max"})
"""Written like calls, typed like `+`."""


@dataclass(frozen=True)
class Symbol:
    """A tensor that can be read. Rank, type and shape are None where an error hides them."""

    name: str
    rank: int | None
    type: ScalarType | None
    shape: tuple[Affine, ...] | None
    origin: tuple[Affine, ...]
    role: tir.Role
    span: Span


@dataclass(frozen=True)
class Signature:
    """The first lines of a def: sizes in order of first appearance, inputs, declared outputs."""

    sizes: Mapping[str, Span]
    inputs: Mapping[str, Symbol]
    outputs: Mapping[str, ast.Output]


@dataclass
class Scope:
    """The names of one def. `tensors` grows as statements define them; the rest is fixed.

    `targets` are all names that statements write, `read` all names that their right sides use.
    `known` sizes are put in where a form is affine only with them; `given` sizes decide what the
    program demands (none in a def that is called: its caller decides). `indices` are the index
    variables seen so far, `unclear` the names with two meanings, whose uses are not looked at,
    `writing` the target of the current statement.
    """

    definition: ast.Definition
    signature: Signature
    defs: Mapping[str, ast.Definition]
    known: Mapping[str, int]
    given: Mapping[str, int]
    report: Report
    targets: frozenset[str]
    read: frozenset[str]
    tensors: dict[str, Symbol] = field(default_factory=dict)
    indices: dict[str, Span] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    writing: str | None = None
    wrong_targets: bool = False

    def is_tensor(self, name: str) -> bool:
        """True for inputs, outputs and every name that some statement writes."""
        return (
            name in self.signature.inputs or name in self.signature.outputs or name in self.targets
        )

    def meaning(self, name: str) -> str | None:
        """What a name that is no index and no `where` name stands for, in words."""
        if name in self.signature.sizes:
            return "a size"
        if name in self.signature.inputs:
            return "an input tensor"
        if name in self.signature.outputs:
            return "an output tensor"
        if name in BUILTINS or name in OPERATORS:
            return "a builtin function"
        if name in self.tensors or name == self.writing:
            return "a tensor"
        return None

    def readable(self) -> Iterator[str]:
        """Names a misspelt name may have meant: tensors, sizes, functions."""
        yield from self.signature.inputs
        yield from self.signature.outputs
        yield from (t for t in self.tensors if t not in self.signature.inputs)
        yield from self.signature.sizes
        yield from BUILTINS
        yield from self.defs  # there may be thousands, and only the first names are compared
