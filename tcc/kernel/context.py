"""What the lowering of every kernel of one program shares: names, buffers, statements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tcc.affine import Affine, Interval, Product, Var, const, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.names import Names, spell
from tcc.sched.scop import Part, Scop

NARROW = 2**31 - 1
VECTOR = 4


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
    """Names, buffers and statements of one program. Sizes that stay open keep a C++ spelling.

    `quarters` are open sizes that are multiples of VECTOR here: they appear as VECTOR times a
    kernel parameter of their own, so that alignment shows in every form. With `narrow`, all
    offsets fit an int. With `check_bounds`, kernels check subscripts that come from data.
    """

    def __init__(
        self,
        scop: Scop,
        program: tir.Program,
        *,
        quarters: frozenset[str] = frozenset(),
        narrow: bool = False,
        check_bounds: bool = False,
    ) -> None:
        self.program = program
        self.check_bounds = check_bounds
        self._narrow = narrow
        self.spelling = _spelling(program)
        taken = tuple(self.spelling.values())
        self.parameters: Mapping[str, str] = {
            s: spell(f"{s}_{VECTOR}", taken) if s in quarters else self.spelling[s]
            for s in program.sizes
        }
        self._renamed = {
            s: var(p) * (VECTOR if s in quarters else 1)
            for s, p in self.parameters.items()
            if p != s
        }
        self._taken = (*taken, *self.parameters.values())
        by_name = {s.name: s for s in program.statements}
        self.statements: Mapping[str, Lowered] = {
            s.name: Lowered(s.name, s.part, by_name[s.source.name]) for s in scop.statements
        }
        self.size_ranges: Mapping[str, Interval] = dict.fromkeys(
            self.parameters.values(), (1, NARROW)
        )

    def names(self) -> Names:
        """Fresh names for one kernel, distinct from every tensor and size."""
        return Names(self._taken)

    def size(self, value: Affine) -> Affine:
        """An expression over sizes with the sizes spelled for C++."""
        return value.substitute(self._renamed) if self._renamed else value

    @property
    def unspelled(self) -> Mapping[str, Affine]:
        """What each kernel parameter is in the program's own sizes."""
        return {
            p: var(s) // VECTOR if p != self.spelling[s] else var(s)
            for s, p in self.parameters.items()
        }

    def tensor(self, name: str) -> tir.Tensor:
        """The tensor of that name."""
        return self.program.tensors[name]

    def buffer(self, name: str, *, readonly: bool) -> ir.Buffer:
        """The global buffer of a tensor."""
        tensor = self.tensor(name)
        shape = tuple(self.size(s) for s in tensor.shape)
        wide = not self._narrow and is_wide(shape)
        return ir.Buffer(self.spelling[name], ir.Space.GLOBAL, tensor.type, shape, readonly, wide)

    def open_sizes(self, expressions: list[Affine]) -> tuple[str, ...]:
        """The kernel parameters for sizes that occur, in the program's order."""
        used = frozenset().union(*(e.variables for e in expressions))
        return tuple(p for p in self.parameters.values() if p in used)


def _spelling(program: tir.Program) -> Mapping[str, str]:
    """C++ names of tensors and sizes: none is called like a function, or like another's own name.

    Functions may have a prefix, and stand for one architecture (`tcc.artifact.Naming`). As no name
    is another's, replacing names by their spelling twice is the same as doing it once.
    """
    own = (*program.tensors, *program.sizes)
    kernel = r"(_reference|_sm_\d+)?_kernel\d*(_aligned)?"
    launcher = r"_sm_\d+(_workspace_bytes)?"
    functions = re.compile(rf"\w*{re.escape(program.name)}({kernel}|{launcher})")
    result: dict[str, str] = {}
    for name in own:
        others = {*own, *result.values()} - {name}
        wanted = f"{name}_" if functions.fullmatch(name) else name
        result[name] = spell(wanted, others)
    return result


def is_wide(shape: tuple[Affine, ...]) -> bool:
    """Whether an offset can exceed int: known and large, or a product of open sizes."""
    total = const(1)
    for extent in shape:
        total = total * extent
    if total.is_constant:
        return total.value > NARROW
    linear = len(total.terms) == 1 and isinstance(total.terms[0][0], Var)
    product = any(isinstance(a, Product) for a, _ in total.terms)
    return product or not (linear and total.terms[0][1] == 1)
