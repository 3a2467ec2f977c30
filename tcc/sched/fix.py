"""Known sizes put into a nest: scheduling is symbolic, mapping and lowering are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tcc.affine import Affine, const
from tcc.sched.nest import Dim, Instance, Loop, Nest, Node


def fix_sizes(nest: Nest, sizes: Mapping[str, int]) -> Nest:
    """The nest with the given sizes as constants."""
    values = {name: const(value) for name, value in sizes.items()}
    kernels = tuple(
        replace(
            k,
            parallel=tuple(_dim(d, values) for d in k.parallel),
            body=tuple(_node(n, values) for n in k.body),
        )
        for k in nest.kernels
    )
    return replace(nest, kernels=kernels)


def _dim(dim: Dim, values: Mapping[str, Affine]) -> Dim:
    return replace(dim, low=dim.low.substitute(values), high=dim.high.substitute(values))


def _node(node: Node, values: Mapping[str, Affine]) -> Node:
    if isinstance(node, Loop):
        return Loop(_dim(node.dim, values), tuple(_node(n, values) for n in node.body))
    return Instance(
        node.statement,
        {i: a.substitute(values) for i, a in node.iterators.items()},
        {d: a.substitute(values) for d, a in node.values.items()},
        tuple(c.substitute(values) for c in node.conditions),
    )
