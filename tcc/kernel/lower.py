"""Nest and plan to kernel IR: digits, guards, registers, values."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.affines import affines
from tcc.kernel.context import Context
from tcc.kernel.digits import frame
from tcc.kernel.points import Points, parallel_iterators
from tcc.kernel.promote import Promotion, promotions, reads
from tcc.kernel.values import Values, combine, identity
from tcc.scalar import ScalarType
from tcc.sched.nest import Instance, KernelNest, Loop, Nest, Node, instances
from tcc.sched.plan import KernelPlan, Plan
from tcc.sched.scop import Part
from tcc.sched.structure import Unstructured


def lower(context: Context, nest: Nest, plan: Plan) -> tuple[ir.Kernel, ...]:
    """One kernel IR for every kernel of the nest.

    Requires: the nest is legal and its sizes are those of the context's program.
    Establishes: every statement instance runs in exactly one thread; every access is inside its
    tensor wherever the program's own accesses are.
    """
    users = kernel_users(context, nest)
    plans = {p.kernel: p for p in plan.kernels}
    return tuple(_Kernel(context, k, plans[k.name], users).lower() for k in nest.kernels)


def kernel_users(context: Context, nest: Nest) -> dict[str, frozenset[str]]:
    """For every tensor, the kernels that touch it."""
    users: dict[str, set[str]] = {t: set() for t in context.program.tensors}
    for kernel in nest.kernels:
        for instance in instances(kernel.body):
            lowered = context.statements[instance.statement]
            users[lowered.statement.target].add(kernel.name)
            for read in reads(lowered):
                users[read.tensor].add(kernel.name)
    return {t: frozenset(k) for t, k in users.items()}


class _Kernel:
    def __init__(
        self,
        context: Context,
        nest: KernelNest,
        plan: KernelPlan,
        users: Mapping[str, frozenset[str]],
    ) -> None:
        names = context.names()
        self._context = context
        self._nest = nest
        self._plan = plan
        self._names = names
        self._frame = frame(nest.parallel, plan, names)
        self._points = Points(context, self._frame, names)
        self._promotions = promotions(context, nest, users)
        self._registers = {p.tensor: self._register(p.tensor) for p in self._promotions}
        self._written = {
            context.statements[i.statement].statement.target for i in instances(nest.body)
        }
        self._touched: dict[str, ir.Buffer] = {}

    # -- the whole kernel ------------------------------------------------------------------

    def lower(self) -> ir.Kernel:
        """The kernel."""
        body = self._frame.wrap(tuple(self._thread_body()))
        order = [t for t in self._context.program.tensors if t in self._touched]
        buffers = tuple(self._touched[t] for t in order)
        used = affines(body) + [s for b in buffers for s in b.shape]
        return ir.Kernel(
            self._nest.name,
            buffers,
            self._context.open_sizes(used),
            self._frame.grid,
            self._plan.block,
            self._frame.aliases,
            body,
        )

    def _register(self, tensor: str, *, scalar: bool = False) -> ir.Buffer:
        name = self._names.fresh(f"private_{tensor}")
        type = self._context.tensor(tensor).type.compute
        shape = () if scalar else self._points.register_shape
        return ir.Buffer(name, ir.Space.PRIVATE, type, shape)

    def _thread_body(self) -> list[ir.Statement]:
        if self._points.count > 1:
            return self._thread_nodes()
        lets = self._points.bind()
        return [*lets, *self._points.inside(self._common_guards(), self._thread_nodes)]

    def _common_guards(self) -> list[Affine]:
        """The conditions on the parallel dimensions that all instances share."""
        shared: list[Affine] | None = None
        for instance in instances(self._nest.body):
            wanted = parallel_iterators(instance, self._nest.parallel)
            own = [*self._points.tile_guards(), *self._points.guards(instance, wanted)]
            shared = own if shared is None else [c for c in shared if c in own]
        return shared or []

    def _thread_nodes(self) -> list[ir.Statement]:
        result: list[ir.Statement] = [ir.Declare(b) for b in self._registers.values()]
        for promotion in self._promotions:
            if promotion.load:
                result += self._transfer(promotion, load=True)
        result += self._nodes(self._nest.body)
        for promotion in self._promotions:
            if promotion.store:
                result += self._transfer(promotion, load=False)
        return result

    # -- nodes -----------------------------------------------------------------------------

    def _nodes(self, nodes: tuple[Node, ...]) -> list[ir.Statement]:
        """The nodes in order, each new statement under its source text."""
        result: list[ir.Statement] = []
        said = ""
        for node in nodes:
            first = next(instances((node,)))
            text = self._context.statements[first.statement].statement.text
            if text != said:
                result.append(ir.Comment(text))
                said = text
            result += self._node(node)
        return result

    def _node(self, node: Node) -> list[ir.Statement]:
        if isinstance(node, Instance):
            return self._everywhere(node, node.iterators, lambda: [self._store(node)])
        chain = _reduction_chain(self._context, node)
        if chain is not None and self._target(chain[1]) not in self._registers:
            return self._accumulate(*chain)
        for instance in instances((node,)):
            self._check_half(instance)
        return [self._points.loop(node, lambda: [s for n in node.body for s in self._node(n)])]

    def _everywhere(
        self, instance: Instance, wanted: Mapping[str, Affine], make
    ) -> list[ir.Statement]:  # type: ignore[no-untyped-def]
        """Run `make` at every register point at which the instance exists."""

        def point() -> list[ir.Statement]:
            conditions = [
                *self._points.tile_guards(),
                *self._points.guards(instance, list(wanted)),
            ]
            return self._points.inside(conditions, make)

        return self._points.everywhere(point)

    def _target(self, instance: Instance) -> str:
        return self._context.statements[instance.statement].statement.target

    def _check_half(self, instance: Instance) -> None:
        lowered = self._context.statements[instance.statement]
        half = self._context.tensor(lowered.statement.target).type.is_half
        stays = lowered.statement.target in self._registers
        if half and lowered.statement.reductions and not stays:
            raise Unstructured("a half-precision sum would be rounded at every step")

    def _accumulate(self, loops: tuple[Loop, ...], instance: Instance) -> list[ir.Statement]:
        """A reduction whose element stays in a register for the length of its loops."""
        lowered = self._context.statements[instance.statement]
        tensor = self._context.tensor(lowered.statement.target)
        register = self._register(tensor.name, scalar=True)
        left = {i: instance.iterators[i] for i in lowered.statement.indices}

        def make() -> list[ir.Statement]:
            buffer, index = self._buffer(tensor.name), self._storage(instance, tensor)
            return [
                ir.Declare(register),
                ir.Store(register, (), _cast(ir.Load(buffer, index), register.type)),
                *self._nested(loops, instance, register),
                ir.Store(buffer, index, _cast(ir.Load(register, ()), tensor.type)),
            ]

        return self._everywhere(instance, left, make)

    def _nested(
        self, loops: tuple[Loop, ...], instance: Instance, register: ir.Buffer
    ) -> list[ir.Statement]:
        if loops:
            make = lambda: self._nested(loops[1:], instance, register)  # noqa: E731
            return [self._points.loop(loops[0], make)]
        statement = self._context.statements[instance.statement].statement

        def make() -> list[ir.Statement]:
            value = self._values(instance).value(statement.value)
            total = combine(statement.operator, ir.Load(register, ()), value)
            return [ir.Store(register, (), total)]

        return self._points.inside(self._points.guards(instance, instance.iterators), make)

    def _store(self, instance: Instance) -> ir.Statement:
        lowered = self._context.statements[instance.statement]
        statement = lowered.statement
        tensor = self._context.tensor(statement.target)
        buffer, index = self._element(instance, tensor)
        if lowered.part is Part.INIT:
            value: ir.Expression = identity(statement.operator, tensor.type.compute)
        else:
            value = self._values(instance).value(statement.value)
        if lowered.part is Part.UPDATE:
            old = _cast(ir.Load(buffer, index), value.type)
            value = combine(statement.operator, old, value)
        return ir.Store(buffer, index, _cast(value, buffer.type))

    def _values(self, instance: Instance) -> Values:
        lowered = self._context.statements[instance.statement]
        point = self._points.iterators(instance, lowered.iterators)
        return Values(self._context, point, self._read)

    # -- memory ----------------------------------------------------------------------------

    def _element(
        self, instance: Instance, tensor: tir.Tensor
    ) -> tuple[ir.Buffer, tuple[Affine, ...]]:
        """Where the element that an instance writes lives."""
        if tensor.name in self._registers:
            return self._registers[tensor.name], self._points.register_index
        return self._buffer(tensor.name), self._storage(instance, tensor)

    def _storage(self, instance: Instance, tensor: tir.Tensor) -> tuple[Affine, ...]:
        """Storage subscripts of the element that an instance writes."""
        indices = self._context.statements[instance.statement].statement.indices
        logical = self._points.iterators(instance, indices)
        return self._stored(tensor, tuple(logical[i] for i in indices))

    def _stored(self, tensor: tir.Tensor, logical: tuple[Affine, ...]) -> tuple[Affine, ...]:
        origin = [self._context.size(o) for o in tensor.origin]
        return tuple(a - o for a, o in zip(logical, origin, strict=True))

    def _read(self, read: tir.Read, index: tuple[Affine | ir.Expression, ...]) -> ir.Expression:
        if read.tensor in self._registers:
            load = ir.Load(self._registers[read.tensor], self._points.register_index)
            return _cast(load, read.type)
        return ir.Load(self._buffer(read.tensor), index)

    def _buffer(self, tensor: str) -> ir.Buffer:
        if tensor not in self._touched:
            readonly = tensor not in self._written
            self._touched[tensor] = self._context.buffer(tensor, readonly=readonly)
        return self._touched[tensor]

    def _transfer(self, promotion: Promotion, *, load: bool) -> list[ir.Statement]:
        """Registers from or to memory, at every point where the tensor is written."""
        tensor = self._context.tensor(promotion.tensor)
        register = self._registers[promotion.tensor]
        writer = promotion.writer
        indices = self._context.statements[writer.statement].statement.indices

        def make() -> list[ir.Statement]:
            index = self._stored(tensor, tuple(self._points.at(s) for s in promotion.subscripts))
            buffer, here = self._buffer(tensor.name), self._points.register_index
            if load:
                return [ir.Store(register, here, _cast(ir.Load(buffer, index), register.type))]
            return [ir.Store(buffer, index, _cast(ir.Load(register, here), buffer.type))]

        return self._everywhere(writer, {i: writer.iterators[i] for i in indices}, make)


def _reduction_chain(context: Context, loop: Loop) -> tuple[tuple[Loop, ...], Instance] | None:
    """Loops around a single update whose element none of them moves."""
    loops: list[Loop] = []
    node: Node = loop
    while isinstance(node, Loop):
        loops.append(node)
        if len(node.body) != 1:
            return None
        node = node.body[0]
    lowered = context.statements[node.statement]
    if lowered.part is not Part.UPDATE or node.conditions:
        return None
    moved = {lp.dim.name for lp in loops}
    if any(node.iterators[i].variables & moved for i in lowered.statement.indices):
        return None
    if any(r.tensor == lowered.statement.target for r in reads(lowered)):
        return None
    return tuple(loops), node


def _cast(value: ir.Expression, type: ScalarType) -> ir.Expression:
    return value if value.type is type else ir.Cast(value, type)
