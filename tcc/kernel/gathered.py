"""Gathers in tiled reductions: where the elements of the dense tensor that they stand for are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tcc.affine import Affine, const
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.state import State
from tcc.kernel.steps import Steps
from tcc.kernel.tile_box import Numbers, Through, Tile
from tcc.kernel.values import Reader, Values
from tcc.sched.nest import Dim, Instance
from tcc.sched.reuse import Chain, Gather, Operand

Place = tuple[Affine | ir.Expression, ...]


def dense(state: State, operand: Operand) -> ir.Buffer:
    """The operand's buffer in the shape that its forms are subscripts of."""
    shape = tuple(state.context.size(s) for s in operand.shape)
    return replace(state.buffer(operand.tensor), shape=shape)


def gathered_place(
    state: State, steps: Steps, chain: Chain, gather: Gather, number: Numbers, read: Reader
) -> Place:
    """Storage subscripts of a gather at the current point; `read` lowers those that it reads."""
    update = _update(chain, gather)
    point = {i: steps.at(a, number) for i, a in update.iterators.items()}
    values = Values(state.context, point, read)
    return tuple(values.subscript(gather.read, k) for k in range(len(gather.dims)))


def through(state: State, chain: Chain, gather: Gather, tiles: Mapping[Operand, Tile]) -> Through:
    """From positions in the dense tensor of a gather to storage subscripts.

    Reads of data are made from `tiles`, where they are staged, else from memory.
    """
    update = _update(chain, gather)
    nested = {read: o for o in chain.operands for read in o.reads}
    lows = {d.name: d.low for d in _dims(state, chain)}

    def place(number: Numbers, index: tuple[Affine, ...]) -> Place:
        here = iter(index)
        plain: dict[int, Affine] = {}
        at: dict[str, Affine] = {}
        for k, dims in enumerate(gather.dims):
            if dims is None:
                plain[k] = next(here)
            else:
                at |= {d: next(here) + state.context.size(lows[d]) for d in dims}

        def read(node: tir.Read, stored: Place) -> ir.Expression:
            operand = nested[gather.statement, node]
            tile = tiles.get(operand)
            if tile is None:
                return ir.Load(state.buffer(node.tensor), stored)
            forms = (state.context.size(f.substitute(at)) for f in operand.forms)
            inside = tuple(f - o for f, o in zip(forms, tile.origin(number), strict=True))
            return ir.Load(tile.shared, tile.place(const(0), inside))

        known = {i: a for i, a in update.iterators.items() if a.variables & at.keys()}
        point = {i: state.context.size(a.substitute(at)) for i, a in known.items()}
        values = Values(state.context, point, read)
        return tuple(
            plain[k] if dims is None else values.subscript(gather.read, k)
            for k, dims in enumerate(gather.dims)
        )

    return Through(state.buffer(gather.read.tensor), place, gather.runs_along_memory)


def level(operand: Operand, shared: frozenset[Operand]) -> int:
    """How many copies to shared memory must be done before that of an operand can begin."""
    if operand.gather is None:
        return 0
    inside = operand.gather.indices
    before = [o for o in shared if o is not operand and inside.intersection(o.reads)]
    return max((1 + level(o, shared) for o in before), default=0)


def _update(chain: Chain, gather: Gather) -> Instance:
    return next(u for u in chain.updates if u.statement == gather.statement)


def _dims(state: State, chain: Chain) -> tuple[Dim, ...]:
    return (*state.nest.parallel, *chain.loops)
