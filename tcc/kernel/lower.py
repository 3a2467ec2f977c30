"""Nest and plan to kernel IR: digits, guards, registers, values."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.affine import Affine
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.affines import affines
from tcc.kernel.context import Context
from tcc.kernel.contract import contract
from tcc.kernel.fetch import fetch
from tcc.kernel.lane_vectors import LaneVectors
from tcc.kernel.points import Make, parallel_iterators
from tcc.kernel.promote import reads
from tcc.kernel.row_window import RowWindows
from tcc.kernel.rows import rows_body
from tcc.kernel.slices import sliced_node
from tcc.kernel.state import State
from tcc.kernel.values import Values, cast, combine, start
from tcc.kernel.window import Windows
from tcc.kernel.write_back import write_back
from tcc.sched.nest import Instance, KernelNest, Loop, Nest, Node, instances
from tcc.sched.plan import KernelPlan, Plan
from tcc.sched.reuse import chain
from tcc.sched.rows import row_form
from tcc.sched.scop import Part
from tcc.sched.structure import Unstructured


def lower(context: Context, nest: Nest, plan: Plan) -> tuple[ir.Kernel, ...]:
    """One kernel IR for every kernel of the nest.

    Requires: the nest is legal and its sizes are those of the context's program.
    Establishes: every statement instance runs in exactly one thread; every access is inside its
    tensor wherever the program's own accesses are.
    """
    plans = {p.kernel: p for p in plan.kernels}
    users = kernel_users(context, nest)
    states = (State(context, k, plans[k.name], users) for k in nest.kernels)
    return tuple(_Kernel(s).lower() for s in states)


def lower_kernel(context: Context, nest: Nest, kernel: KernelNest, plan: KernelPlan) -> ir.Kernel:
    """The IR of one of the kernels of a nest."""
    return _Kernel(State(context, kernel, plan, kernel_users(context, nest))).lower()


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
    def __init__(self, state: State) -> None:
        self._state = state
        self._context = state.context
        self._nest = state.nest
        self._points = state.points
        self._registers = state.registers
        self._placed = state.registers.keys() | state.in_memory
        self._unguarded = {p.tensor for p in state.promotions if p.same}
        self._sliced = sliced_node(state)
        shared = state.plan.sliced is not None and self._sliced is None
        self._tiled = frozenset() if shared else frozenset(p.dim for p in state.plan.loops)
        self._windows = Windows(state)
        self._rows = RowWindows(state)
        self._vectors = LaneVectors(state)

    # -- the whole kernel ------------------------------------------------------------------

    def lower(self) -> ir.Kernel:
        """The kernel."""
        body = self._state.frame.wrap(tuple(self._thread_body()))
        buffers = self._state.buffers
        used = affines(body) + [s for b in buffers for s in b.shape]
        return ir.Kernel(
            self._nest.name,
            buffers,
            self._context.open_sizes(used),
            self._state.frame.grid,
            self._state.plan.block,
            self._state.aliases,
            body,
            aligned=tuple(b.name for b in buffers) if self._in_vectors() else (),
        )

    def _in_vectors(self) -> bool:
        """Whether a thread takes neighbouring points, which the compiler can load as vectors."""
        return any(d.inner > 1 for d in self._state.plan.dims)

    def _thread_body(self) -> list[ir.Statement]:
        """Guards around the whole thread where no barrier can be inside."""
        row = self._state.plan.row
        if row is not None:
            form = row_form(self._nest, self._context.program)
            if form is None:
                raise Unstructured("the kernel does not work row by row")
            return rows_body(self._state, form, row)
        copies = self._windows.copies()
        if self._sliced is not None:
            return [*copies, *self._sliced_nodes(self._sliced)]
        if self._points.count > 1 or self._tiled:
            return [*copies, *self._by_first(self._thread_nodes())]
        lets = self._points.bind()
        inside = self._points.inside(self._common_guards(), self._thread_nodes)
        return [*copies, *lets, *self._by_first(inside)]

    def _sliced_nodes(self, position: int) -> list[ir.Statement]:
        """The first of the threads that share k-tiles goes on alone after them."""
        body = self._nest.body
        start = [*self._declared(), *self._nodes(body[: position + 1])]
        self._tiled = frozenset()  # copies have barriers, and here only some threads arrive
        return start + self._by_first([*self._nodes(body[position + 1 :]), *self._written_back()])

    def _by_first(self, body: list[ir.Statement]) -> list[ir.Statement]:
        """For the first of the threads that share k-tiles only; for all where none do."""
        if self._state.plan.sliced is None or not body:
            return body
        return [ir.If((-self._state.slice,), tuple(body))]

    def _common_guards(self) -> list[Affine]:
        """The conditions on the parallel dimensions that all instances share."""
        shared: list[Affine] | None = None
        for instance in instances(self._nest.body):
            wanted = parallel_iterators(instance, self._nest.parallel)
            own = [*self._points.tile_guards(), *self._points.guards(instance, wanted)]
            shared = own if shared is None else [c for c in shared if c in own]
        return shared or []

    def _thread_nodes(self) -> list[ir.Statement]:
        return [*self._declared(), *self._nodes(self._nest.body), *self._written_back()]

    def _declared(self) -> list[ir.Statement]:
        result: list[ir.Statement] = [ir.Declare(b) for b in self._registers.values()]
        for promotion in self._state.promotions:
            if promotion.load:
                result += fetch(self._state, promotion)
        return [*result, *self._rows.fetch()]

    def _written_back(self) -> list[ir.Statement]:
        stored = (p for p in self._state.promotions if p.store)
        return [each for promotion in stored for each in write_back(self._state, promotion)]

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
            return self._instance(node)
        if node.dim.name in self._tiled:
            tiled = chain(self._nest, self._context.program, node)
            if tiled is not None and all(self._target(u) in self._registers for u in tiled.updates):
                return contract(self._state, tiled)
        single = _single_update(self._context, node)
        if single is not None and self._target(single[1]) not in self._placed:
            return self._accumulate(*single)

        def loop() -> list[ir.Statement]:
            return [self._loop(node, lambda: [s for n in node.body for s in self._node(n)])]

        return self._points.everywhere(loop) if self._points.differs(node.dim) else loop()

    def _loop(self, node: Loop, make: Make) -> ir.Statement:
        """A loop, unrolled where the plan allows so many instances."""
        limit = self._state.plan.unroll or 1
        count = _instance_count((node,))
        unroll = count is not None and 1 < count * self._points.count <= limit
        return self._points.loop(node, make, unroll=unroll)

    def _instance(self, instance: Instance) -> list[ir.Statement]:
        """One statement at every point; registers are initialised without asking for a guard."""
        self._check_half(instance)
        lowered = self._context.statements[instance.statement]
        if lowered.part is Part.INIT and lowered.statement.target in self._unguarded:
            return self._points.everywhere(lambda: [self._store(instance)])
        store: Make = lambda: [self._store(instance)]  # noqa: E731 - used twice
        vectors = self._vectors.at_points(instance, lambda: self._values(instance), store)
        return vectors or self._everywhere(instance, instance.iterators, store)

    def _everywhere(
        self, instance: Instance, wanted: Mapping[str, Affine], make: Make
    ) -> list[ir.Statement]:
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

    def _check_half(self, instance: Instance, loops: tuple[Loop, ...] = ()) -> None:
        """A half-precision sum is rounded once: all loops are inside, or it is in a register."""
        lowered = self._context.statements[instance.statement]
        half = self._context.tensor(lowered.statement.target).type.is_half
        stays = lowered.statement.target in self._registers
        inside = {loop.dim.name for loop in loops} | set(self._context.program.sizes)
        moves = (instance.iterators[r].variables for r in lowered.statement.reductions)
        outside = lowered.part is Part.UPDATE and not all(names <= inside for names in moves)
        if half and outside and not stays:
            raise Unstructured("a half-precision sum would be rounded at every step")

    def _accumulate(self, loops: tuple[Loop, ...], instance: Instance) -> list[ir.Statement]:
        """A reduction whose element stays in a register for the length of its loops."""
        self._check_half(instance, loops)
        lowered = self._context.statements[instance.statement]
        tensor = self._context.tensor(lowered.statement.target)
        register = self._state.register(tensor.name, scalar=True)
        left = {i: instance.iterators[i] for i in lowered.statement.indices}

        def make() -> list[ir.Statement]:
            buffer = self._state.buffer(tensor.name)
            index = self._state.written_at(instance, tensor)
            return [
                ir.Declare(register),
                ir.Store(register, (), cast(ir.Load(buffer, index), register.type)),
                *self._nested(loops, instance, register),
                ir.Store(buffer, index, cast(ir.Load(register, ()), tensor.type)),
            ]

        return self._everywhere(instance, left, make)

    def _nested(
        self, loops: tuple[Loop, ...], instance: Instance, register: ir.Buffer
    ) -> list[ir.Statement]:
        if loops:
            inner = loops[1:]
            return [self._loop(loops[0], lambda: self._nested(inner, instance, register))]
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
            value: ir.Expression = start(statement, tensor.type.compute)
        else:
            value = self._values(instance).value(statement.value)
        if statement.atomic:
            return ir.Atomic(buffer, index, statement.operator, value)
        if lowered.part is Part.UPDATE:
            old = cast(ir.Load(buffer, index), value.type)
            value = combine(statement.operator, old, value)
        return ir.Store(buffer, index, cast(value, buffer.type))

    def _values(self, instance: Instance) -> Values:
        lowered = self._context.statements[instance.statement]
        point = self._points.iterators(instance, lowered.iterators)

        def read(node: tir.Read, index: tuple[Affine | ir.Expression, ...]) -> ir.Expression:
            kept = self._windows.load(node, instance) or self._rows.load(node, instance)
            return kept or self._vectors.load(node) or self._read(node, index)

        return Values(self._context, point, read)

    # -- memory ----------------------------------------------------------------------------

    def _element(
        self, instance: Instance, tensor: tir.Tensor
    ) -> tuple[ir.Buffer, tuple[Affine, ...]]:
        """Where the element that an instance writes lives."""
        if tensor.name in self._registers:
            return self._registers[tensor.name], self._points.register_index
        return self._state.buffer(tensor.name), self._state.written_at(instance, tensor)

    def _read(self, read: tir.Read, index: tuple[Affine | ir.Expression, ...]) -> ir.Expression:
        if read.tensor in self._registers:
            load = ir.Load(self._registers[read.tensor], self._points.register_index)
            return cast(load, read.type)
        return ir.Load(self._state.buffer(read.tensor), index)


def _instance_count(nodes: tuple[Node, ...]) -> int | None:
    """How many instances run below; None where a loop's extent is not known."""
    total = 0
    for node in nodes:
        if isinstance(node, Instance):
            total += 1
            continue
        inside = _instance_count(node.body)
        if inside is None or not node.dim.extent.is_constant:
            return None
        total += node.dim.extent.value * inside
    return total


def _single_update(context: Context, loop: Loop) -> tuple[tuple[Loop, ...], Instance] | None:
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
