"""The ways in which a program can be cut into kernels: fusion and splitting of reductions.

They are decided before there is a plan. Each way that gives other kernels is one structure; the
compiler's front half runs once for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tcc.driver import Compilation, Request, prepare
from tcc.errors import CompileError, InternalError
from tcc.frontend import tir
from tcc.options import STRATEGIES, MappingOptions, Options, given, resolved, spell
from tcc.sched.nest import Nest
from tcc.sched.plan import Plan
from tcc.sched.wishes import wanted_parts

STRUCTURAL = (
    "outer_schedule_fusion_strategy",
    "outer_schedule_allow_skewing",
    "outer_schedule_positive_orthant",
    "intra_tile_schedule_fusion_strategy",
    "intra_tile_schedule_allow_skewing",
    "intra_tile_schedule_positive_orthant",
    "fix_parameters_before_scheduling",
    "split",
    "kernels",
)
"""The mapping options that change which loops and kernels there are."""
KEPT = ("max_shared_memory", "tensor_cores", "check_bounds", "deterministic")
"""What a user demands of every plan."""
SPLITS = (1, 4, 16, 64)


@dataclass(frozen=True, eq=False)
class Structure:
    """One way to cut a program into kernels; `mapping` are the options that ask for it.

    `default` is the derived plan, `compile` maps the program by options with a `plan`.
    """

    mapping: MappingOptions
    nest: Nest
    program: tir.Program
    default: Plan
    compile: Callable[[Options], Compilation]

    def text(self, plan: Plan) -> str:
        """The options file that makes a plan of this structure again."""
        lines = [f"  {name}: {spell(value)}" for name, value in given(self.mapping).items()]
        lines += (f"  {line}" for line in plan.text().splitlines())
        return "\n".join(["mapping:", *lines, ""])


def structural(options: Options) -> MappingOptions:
    """What given options say about the structure, and what they demand of every plan."""
    mapping = resolved(options)
    found = {n: getattr(mapping, n) for n in (*STRUCTURAL, *KEPT)}
    return replace(MappingOptions(), **{**found, "split": wanted_parts(mapping)})


def kept(options: Options) -> MappingOptions:
    """What given options demand of every plan."""
    return demanded(MappingOptions(), options)


def demanded(mapping: MappingOptions, options: Options) -> MappingOptions:
    """The mapping that somebody else found, with what given options demand of every plan.

    A given number of parts is a demand, too: the launcher has a workspace for them.
    """
    own = options.mapping
    split = mapping.split if own.split is None else own.split
    return replace(mapping, split=split, **{n: getattr(own, n) for n in KEPT})


def find_structure(request: Request, mapping: MappingOptions) -> Structure:
    """The structure that some options give. CompileError when the program is rejected."""
    options = replace(request.options, preset=None, mapping=mapping)
    compiled = prepare(replace(request, options=options))
    found = compiled(options)
    if found.lowering is None or found.plan is None:
        raise InternalError("the compilation stopped before it was complete")
    return Structure(mapping, found.lowering.nest, found.lowering.program, found.plan, compiled)


class Structures:
    """The different structures of a program; those that start from options are found once."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._found: list[Structure] = []
        self._by_mapping: dict[str, int] = {}

    def add(self, mapping: MappingOptions) -> int:
        """The index of the structure that some options give, which is added when it is new."""
        key = spell(given(mapping))
        if key not in self._by_mapping:
            self._by_mapping[key] = self._index(find_structure(self._request, mapping))
        return self._by_mapping[key]

    def _index(self, new: Structure) -> int:
        for index, old in enumerate(self._found):
            if old.nest == new.nest and old.program == new.program:
                return index
        self._found.append(new)
        return len(self._found) - 1

    @property
    def all(self) -> tuple[Structure, ...]:
        """All that were found, in the order in which they were."""
        return tuple(self._found)

    def explore(self) -> None:
        """Add the structures that fusion strategies and splits make of the first one."""
        base = self._found[0].mapping
        for mapping in variants(base, self._found[0].program):
            try:
                self.add(mapping)
            except CompileError:
                continue  # this way of fusing or splitting is not open to the program


def variants(base: MappingOptions, program: tir.Program) -> Iterator[MappingOptions]:
    """Other options of fusion and splitting, where they may matter."""
    if base.outer_schedule_fusion_strategy is None and len(program.statements) > 1:
        for strategy in STRATEGIES:
            yield replace(base, outer_schedule_fusion_strategy=strategy)
    if base.split is None and any(s.reductions for s in program.statements):
        for parts in SPLITS:
            yield replace(base, split=parts)
