"""One kernel under construction: what its lowering passes around."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from math import prod

from tcc.affine import Affine, const, var
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.context import Context
from tcc.kernel.digits import frame
from tcc.kernel.points import Points
from tcc.kernel.promote import promotions
from tcc.kernel.prove import Scope
from tcc.kernel.vector import widths
from tcc.scalar import ScalarType
from tcc.sched.nest import Instance, KernelNest, instances
from tcc.sched.plan import AXES, KernelPlan, RowPlan
from tcc.sched.private import in_plain_loops, loops_outside


class State:
    """Digits, points, register arrays and buffers of one kernel.

    `loops_outside` are the loops inside of the parallel ones around the copies of results to
    registers; the results `in_memory` are in no registers at all.
    """

    def __init__(
        self,
        context: Context,
        nest: KernelNest,
        plan: KernelPlan,
        users: Mapping[str, frozenset[str]],
    ) -> None:
        self.context = context
        self.nest = nest
        self.plan = plan
        self.names = context.names()
        dims = tuple(
            replace(d, low=context.size(d.low), high=context.size(d.high)) for d in nest.parallel
        )
        self.frame = frame(dims, plan, self.names)
        self.points = Points(context, self.frame, self.names)
        keep = plan.row is not None or any(d.inner > 1 for d in plan.dims)
        self._users = users
        self._extra_aliases: list[tuple[str, str]] = []
        self.slice = self._slice()
        self.loops_outside = loops_outside(nest, context.program, plan)
        self.in_memory = (
            in_plain_loops(nest, context.program, plan) if self.loops_outside else frozenset()
        )
        found = promotions(context, nest, users, keep_stored=keep)
        self.promotions = tuple(p for p in found if p.tensor not in self.in_memory)
        self.registers = {p.tensor: self.register(p.tensor) for p in self.promotions}
        self._written = {
            context.statements[i.statement].statement.target for i in instances(nest.body)
        }
        self._touched: dict[str, ir.Buffer] = {}

    @property
    def buffers(self) -> tuple[ir.Buffer, ...]:
        """The global buffers used so far, in the program's order."""
        order = [t for t in self.context.program.tensors if t in self._touched]
        return tuple(self._touched[t] for t in order)

    def register(self, tensor: str, *, scalar: bool = False, prefix: str = "private") -> ir.Buffer:
        """A new register array for an element of a tensor at every point, or at one."""
        name = self.names.fresh(f"{prefix}_{tensor}")
        type = self.context.tensor(tensor).type.compute
        shape = () if scalar else self.points.register_shape
        return ir.Buffer(name, ir.Space.PRIVATE, type, shape)

    def widths(self, type: ScalarType) -> tuple[int, ...]:
        """The vector widths of an element type that the plan allows, widest first."""
        return tuple(w for w in widths(type) if w <= (self.plan.vector or w))

    def buffer(self, tensor: str) -> ir.Buffer:
        """The global buffer of a tensor."""
        if tensor not in self._touched:
            readonly = tensor not in self._written
            buffer = self.context.buffer(tensor, readonly=readonly)
            cached = self.plan.readonly_cache and readonly and self._is_input(tensor)
            self._touched[tensor] = replace(buffer, cached=cached)
        return self._touched[tensor]

    def stored(self, tensor: tir.Tensor, logical: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Storage subscripts of logical ones."""
        origin = [self.context.size(o) for o in tensor.origin]
        return tuple(a - o for a, o in zip(logical, origin, strict=True))

    def written_at(self, instance: Instance, tensor: tir.Tensor) -> tuple[Affine, ...]:
        """Storage subscripts of the element that an instance writes."""
        indices = self.context.statements[instance.statement].statement.indices
        logical = self.points.iterators(instance, indices)
        return self.stored(tensor, tuple(logical[i] for i in indices))

    @cached_property
    def round(self) -> str:
        """The variable of every loop over the rounds of a copy: none stands inside of another."""
        return self.names.fresh("r")

    @property
    def aliases(self) -> tuple[tuple[str, str], ...]:
        """The names of the used components of blockIdx and threadIdx."""
        return (*self._extra_aliases, *self.frame.aliases)

    def thread_alias(self, axis: int, extent: int) -> str:
        """A name for a thread number that no parallel dimension uses."""
        name = self.names.fresh(f"t{axis}")
        self._extra_aliases.append((name, f"threadIdx.{AXES[axis]}"))
        self.points.always(Scope(name, const(0), const(extent)))
        return name

    def _slice(self) -> Affine:
        """The number of this thread among those that share the points of a k-tile."""
        shared = self.plan.sliced
        if shared is None or shared.thread_axis is None:
            return const(0)
        return var(self.thread_alias(shared.thread_axis, shared.threads))

    def thread_number(self, axes: Iterable[int]) -> Affine:
        """The number of a thread among those along some axes, from the parallel dimensions."""
        total, below = const(0), 1
        for axis in axes:
            source = f"threadIdx.{AXES[axis]}"
            alias = next((n for n, s in self.aliases if s == source), None)
            if alias is not None:
                total = total + var(alias) * below
            below *= self.plan.block[axis]
        return total

    def rows_of_block(self, plan: RowPlan) -> tuple[Affine, int]:
        """The number of this thread's row in its block, and how many rows the block has."""
        others = [axis for axis in range(len(AXES)) if axis != plan.axis]
        return self.thread_number(others), prod(self.plan.block[axis] for axis in others)

    def _is_input(self, tensor: str) -> bool:
        return self.context.tensor(tensor).role is tir.Role.INPUT

    def is_written(self, tensor: str) -> bool:
        """Whether the kernel writes the tensor."""
        return tensor in self._written

    def is_stored(self, tensor: str) -> bool:
        """Whether the tensor's values are needed in memory after the kernel."""
        temporary = self.context.tensor(tensor).role is tir.Role.TEMPORARY
        return not temporary or self._users[tensor] != frozenset((self.nest.name,))
