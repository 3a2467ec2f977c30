"""What the lowering of every kernel of one program shares: names, buffers, statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tcc.affine import Affine, Interval, Product, Var, const, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.names import Names, spell
from tcc.sched.scop import Part, Scop

NARROW = 2**31 - 1


@dataclass(frozen=True)
class Lowered:
    """One SCoP statement with its typed statement, sizes substituted."""

    name: str
    part: Part
    statement: tir.Statement

    @property
    def iterators(self) -> tuple[str, ...]:
        """Left-hand indices, then (not for an initialisation) reduction indices."""
        own = self.statement.indices
        return own if self.part is Part.INIT else own + self.statement.reductions


class Context:
    """Names, buffers and statements of one program. Sizes that stay open keep a C++ spelling."""

    def __init__(self, scop: Scop, program: tir.Program) -> None:
        self.program = program
        taken: list[str] = []
        for name in (*program.tensors, *program.sizes):
            taken.append(spell(name, taken))
        self.spelling: Mapping[str, str] = dict(
            zip((*program.tensors, *program.sizes), taken, strict=True)
        )
        self._renamed = {
            s: var(self.spelling[s]) for s in program.sizes if self.spelling[s] != s
        }
        self._taken = tuple(taken)
        by_name = {s.name: s for s in program.statements}
        self.statements: Mapping[str, Lowered] = {
            s.name: Lowered(s.name, s.part, by_name[s.source.name]) for s in scop.statements
        }
        self.size_ranges: Mapping[str, Interval] = {
            self.spelling[s]: (1, NARROW) for s in program.sizes
        }

    def names(self) -> Names:
        """Fresh names for one kernel, distinct from every tensor and size."""
        return Names(self._taken)

    def size(self, value: Affine) -> Affine:
        """An expression over sizes with the sizes spelled for C++."""
        return value.substitute(self._renamed) if self._renamed else value

    def tensor(self, name: str) -> tir.Tensor:
        """The tensor of that name."""
        return self.program.tensors[name]

    def buffer(self, name: str, *, readonly: bool) -> ir.Buffer:
        """The global buffer of a tensor."""
        tensor = self.tensor(name)
        shape = tuple(self.size(s) for s in tensor.shape)
        return ir.Buffer(
            self.spelling[name], ir.Space.GLOBAL, tensor.type, shape, readonly, _is_wide(shape)
        )

    def open_sizes(self, expressions: list[Affine]) -> tuple[str, ...]:
        """The spelled sizes that occur, in the program's order."""
        used = frozenset().union(*(e.variables for e in expressions))
        return tuple(
            self.spelling[s] for s in self.program.sizes if self.spelling[s] in used
        )


def _is_wide(shape: tuple[Affine, ...]) -> bool:
    """Whether an offset can exceed int: known and large, or a product of open sizes."""
    total = const(1)
    for extent in shape:
        total = total * extent
    if total.is_constant:
        return total.value > NARROW
    linear = len(total.terms) == 1 and isinstance(total.terms[0][0], Var)
    product = any(isinstance(a, Product) for a, _ in total.terms)
    return product or not (linear and total.terms[0][1] == 1)
