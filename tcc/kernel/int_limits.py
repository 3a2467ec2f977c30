"""What sizes must fulfil so that kernels can count in int."""

from __future__ import annotations

from collections.abc import Iterator

from tcc.affine import Affine, Product, const
from tcc.frontend import tir
from tcc.kernel import ir
from tcc.kernel.affines import affines
from tcc.kernel.context import NARROW, Context
from tcc.sched.scop import products_in

REASON = "the kernels count in 32 bits"


def int_limits(context: Context, kernels: tuple[ir.Kernel, ...]) -> tuple[tir.Precondition, ...]:
    """The products of open sizes that loops and blocks of the kernels run over are ints.

    Offsets of elements are no such products: they have 64 bits where they need them. Of three
    factors the first two come first, so that each check itself stays in 64 bits.
    """
    found = dict.fromkeys(p for k in kernels for p in _products(k))
    sizes = context.unspelled
    limits = (const(NARROW) - p.substitute(sizes) for p in found if p.variables <= sizes.keys())
    return tuple(tir.Precondition(limit, REASON, context.program.span) for limit in limits)


def _products(kernel: ir.Kernel) -> Iterator[Affine]:
    for form in (*affines(kernel.body), *kernel.grid):
        for product in products_in(form):
            for count in range(2, len(product.factors) + 1):
                yield Affine(((Product(product.factors[:count]), 1),))
