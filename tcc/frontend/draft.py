"""A program under construction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tcc.frontend import tir
from tcc.frontend.scope import Scope, Symbol


@dataclass
class Draft:
    """What the statements so far add up to. `is_sound` turns False with the first error."""

    statements: list[tir.Statement] = field(default_factory=list)
    temporaries: list[str] = field(default_factory=list)
    preconditions: list[tir.Precondition] = field(default_factory=list)
    is_sound: bool = True

    def finish(self, scope: Scope) -> tir.Program:
        """The program; statements get their names in order."""
        signature = scope.signature
        order = (*signature.inputs, *signature.outputs, *self.temporaries)
        return tir.Program(
            scope.definition.name.text,
            tuple(signature.sizes),
            {name: _tensor(scope.tensors[name]) for name in order},
            tuple(signature.inputs),
            tuple(signature.outputs),
            tuple(self.temporaries),
            tuple(replace(s, name=f"S{k}") for k, s in enumerate(self.statements)),
            tuple(self.preconditions),
            scope.definition.span,
        )


def _tensor(symbol: Symbol) -> tir.Tensor:
    if symbol.type is None or symbol.shape is None:
        raise AssertionError(f"`{symbol.name}` is not fully known")
    return tir.Tensor(
        symbol.name, symbol.type, symbol.shape, symbol.origin, symbol.role, symbol.span
    )
