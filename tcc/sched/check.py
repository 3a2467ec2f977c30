"""All checks of a program that need integer sets, in their order."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.diagnostics import Report
from tcc.frontend import tir
from tcc.sched.bounds import check_bounds
from tcc.sched.causality import check_causality
from tcc.sched.computed import check_computed
from tcc.sched.definedness import check_definedness
from tcc.sched.scop import Scop


def check_program(
    scop: Scop, sizes: Mapping[str, int], report: Report
) -> tuple[tir.Precondition, ...]:
    """Report what is wrong; what hangs on open sizes is returned, and the launcher checks it."""
    check_causality(scop, sizes, report)
    opened = check_bounds(scop, sizes, report)
    check_computed(scop, sizes, report)
    check_definedness(scop, sizes, report)
    return opened
