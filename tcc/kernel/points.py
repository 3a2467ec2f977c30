"""Where the lowering stands: the values of all loops, what is known, which guards remain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from tcc.affine import Affine, const, var
from tcc.kernel import ir
from tcc.kernel.context import Context
from tcc.kernel.digits import Frame
from tcc.kernel.names import Names
from tcc.kernel.prove import Scope, holds
from tcc.kernel.vector import divides
from tcc.sched.nest import Dim, Instance, Loop

UNROLL_LIMIT = 256
Make = Callable[[], list[ir.Statement]]


class Points:
    """The current point of one kernel: a kernel expression for every loop variable of the nest.

    Parallel dimensions stand for their digits until they are bound to a name; loops are entered
    and left; conditions that surround the point are facts.
    """

    def __init__(self, context: Context, frame: Frame, names: Names) -> None:
        self.context = context
        self.frame = frame
        self.names = names
        self._scopes = [
            Scope(s.var, context.size(s.low), context.size(s.high)) for s in frame.scopes
        ]
        self._values: dict[str, Affine] = {}
        self._sizes = frozenset(context.program.sizes)
        self._bound: dict[str, Affine] = {}
        self._facts: frozenset[Affine] = frozenset()
        self._at_one_point = False
        self.count = 1
        for digit in frame.digits:
            self._values[digit.dim.name] = context.size(digit.value)
            self.count *= digit.register_extent
            self._scopes += [Scope(n, const(0), const(e)) for n, e in digit.registers]

    def at(self, form: Affine, inner: Mapping[str, Affine] | None = None) -> Affine:
        """A form over the nest's variables, here; `inner` gives loops that are not entered.

        All variables are replaced at once: a kernel variable may be called like a nest variable.
        """
        return self.context.size(form.substitute({**self._values, **(inner or {})}))

    def iterators(self, instance: Instance, wanted: Iterable[str]) -> dict[str, Affine]:
        """The values of some iterators of an instance, here."""
        return {i: self.at(instance.iterators[i]) for i in wanted}

    @property
    def register_index(self) -> tuple[Affine, ...]:
        """Index of this point in a register array over all parallel dimensions."""
        return tuple(d.register_index for d in self.frame.digits if d.register_extent > 1)

    @property
    def register_shape(self) -> tuple[Affine, ...]:
        """Shape of a register array over all parallel dimensions."""
        return tuple(const(d.register_extent) for d in self.frame.digits if d.register_extent > 1)

    # -- guards ----------------------------------------------------------------------------

    def guards(self, instance: Instance, wanted: Iterable[str]) -> list[Affine]:
        """What must be `>= 0` for the instance to exist here, in the ranges of some iterators."""
        lowered = self.context.statements[instance.statement]
        values = self.iterators(instance, wanted)
        conditions: list[Affine] = []
        for iterator, value in values.items():
            limits = lowered.statement.ranges[iterator]
            conditions.append(value - self._limit(limits.low, values))
            conditions.append(self._limit(limits.high, values) - 1 - value)
        for zero in instance.conditions:
            if zero.variables.issubset(self._values.keys() | self._sizes):
                conditions += [self.at(zero), -self.at(zero)]
        return self.unproved(self._for_vectors(c) for c in self.unproved(conditions))

    def _for_vectors(self, condition: Affine) -> Affine:
        """An upper bound that holds for a whole vector of lanes if for the first, at the first.

        Without the lane in it, the condition does not keep the compiler from wide accesses.
        """
        lanes = self.frame.digits[-1] if self.frame.digits else None
        if lanes is None or lanes.inner is None:
            return condition
        expanded = condition.substitute(self._bound)
        rest = expanded.without((lanes.inner,))
        upper = expanded.coefficient(lanes.inner) == -1 and lanes.inner not in rest.variables
        return rest if upper and divides(lanes.plan.inner, rest + 1) else condition

    def tile_guards(self) -> list[Affine]:
        """The conditions that keep padded digits inside their tiles."""
        return self.unproved(
            [const(d.plan.tile - 1) - d.local for d in self.frame.digits if d.padded]
        )

    def unproved(self, conditions: Iterable[Affine]) -> list[Affine]:
        """The conditions that are not known to hold here, each once."""
        return [c for c in dict.fromkeys(conditions) if not self.holds(c)]

    def holds(self, condition: Affine) -> bool:
        """Whether `condition >= 0` is certain here."""
        if any((condition - f).is_constant and (condition - f).value >= 0 for f in self._facts):
            return True
        return holds(condition, self._scopes, self.context.size_ranges)

    def unproved_in(self, conditions: Iterable[Affine], scopes: list[Scope]) -> list[Affine]:
        """As `unproved`, with some more variables in scope."""
        with self.known(*scopes):
            return self.unproved(conditions)

    def always(self, scope: Scope) -> None:
        """A variable that exists in the whole kernel."""
        self._scopes.insert(0, scope)

    @contextmanager
    def known(self, *scopes: Scope) -> Iterator[None]:
        """Further variables with their ranges, for what is built inside."""
        saved = list(self._scopes)
        self._scopes += scopes
        yield
        self._scopes = saved

    def _limit(self, bound: Affine, values: dict[str, Affine]) -> Affine:
        return self.context.size(bound.substitute(values))

    # -- moving ----------------------------------------------------------------------------

    @contextmanager
    def _restored(self) -> Iterator[None]:
        saved = dict(self._values), list(self._scopes), self._facts, self._at_one_point
        bound = dict(self._bound)
        with self.names.scope():
            yield
        self._values, self._scopes, self._facts, self._at_one_point = saved
        self._bound = bound

    def inside(self, conditions: list[Affine], make: Make) -> list[ir.Statement]:
        """What `make` builds, under conditions that are facts for it."""
        with self._restored():
            self._facts = self._facts | frozenset(conditions)
            body = make()
        return [ir.If(tuple(conditions), tuple(body))] if conditions and body else body

    def differs(self, dim: Dim) -> bool:
        """Whether the range of a loop is not the same at all register points of the thread."""
        registers = {name for digit in self.frame.digits for name, _ in digit.registers}
        used = self.at(dim.low).variables | self.at(dim.high).variables
        return not self._at_one_point and bool(used & registers)

    def loop(self, loop: Loop, make: Make, *, unroll: bool = False) -> ir.Statement:
        """A sequential loop around what `make` builds."""
        low, high = self.at(loop.dim.low), self.at(loop.dim.high)
        with self._restored():
            name = self.names.fresh(loop.dim.name)
            self._values[loop.dim.name] = var(name)
            self._scopes.append(Scope(name, low, high))
            body = tuple(make())
        return ir.For(name, low, high, 1, unroll, body)

    def everywhere(self, make: Make) -> list[ir.Statement]:
        """What `make` builds, at every register point of the thread, dimensions named.

        Inside of that it is the point where we are.
        """
        if self.count == 1 or self._at_one_point:
            return make()
        with self._restored():
            self._at_one_point = True
            body: tuple[ir.Statement, ...] = (*self._bind(), *make())
        for digit in reversed(self.frame.digits):
            for name, extent in reversed(digit.registers):
                unroll = self.count <= UNROLL_LIMIT
                body = (ir.For(name, const(0), const(extent), 1, unroll, body),)
        return list(body)

    @property
    def is_one(self) -> bool:
        """Whether this is one of several register points, inside the loops over them."""
        return self._at_one_point

    def in_lanes(
        self, conditions: list[Affine], before: list[ir.Statement], make: Make
    ) -> list[ir.Statement]:
        """As `everywhere`, with `before` ahead of the lanes of every vector.

        Requires: the last dimension has lanes, and no condition has them in it.
        """
        lanes = self.frame.digits[-1]
        with self._restored():
            self._at_one_point = True
            self._facts = self._facts | frozenset(conditions)
            inside: tuple[ir.Statement, ...] = (*self._bind(), *make())
        count = const(lanes.plan.inner)
        body: tuple[ir.Statement, ...] = (
            *before,
            ir.For(lanes.inner or "", const(0), count, 1, True, inside),
        )
        if conditions:
            body = (ir.If(tuple(conditions), body),)
        for digit in reversed(self.frame.digits):
            for name, extent in reversed(digit.registers):
                if name != lanes.inner:
                    unroll = self.count <= UNROLL_LIMIT
                    body = (ir.For(name, const(0), const(extent), 1, unroll, body),)
        return list(body)

    def bind(self) -> list[ir.Statement]:
        """Name the parallel dimensions for the whole thread; it has a single register point."""
        return self._bind()

    def _bind(self) -> list[ir.Statement]:
        lets: list[ir.Statement] = []
        for digit in self.frame.digits:
            value = self._values[digit.dim.name]
            if not value.terms:
                continue
            name = self.names.fresh(digit.dim.name)
            self._values[digit.dim.name] = var(name)
            self._bound[name] = value
            low = self.context.size(digit.dim.low)
            surplus = digit.plan.covered - digit.plan.tile
            high = low + self.context.size(digit.tiles) * digit.plan.tile + surplus
            self._scopes.append(Scope(name, low, high))
            lets.append(ir.Let(name, value))
        return lets


def parallel_iterators(instance: Instance, dims: tuple[Dim, ...]) -> list[str]:
    """The iterators that the parallel dimensions alone decide."""
    names = {d.name for d in dims}
    return [i for i, at in instance.iterators.items() if at.variables <= names and at.terms]
