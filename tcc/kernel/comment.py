"""The comment at the top of an emitted file: the program, the sizes, the plan."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.frontend import tir
from tcc.kernel.safe_text import comment_text
from tcc.sched.plan import Plan


def unit_comment(
    program: tir.Program, sizes: Mapping[str, int], plan: Plan | None
) -> tuple[str, ...]:
    """Lines without `//`; the same program, sizes and plan give the same lines."""
    lines = [f"{program.name}, compiled by tcc", ""]
    lines += [f"  {s.text}" for s in program.statements]
    fixed = [f"{name} = {sizes[name]}" for name in program.sizes if name in sizes]
    if fixed:
        lines += ["", f"for {', '.join(fixed)}"]
    if plan is not None:
        lines += ["", *plan.text().splitlines()]
    return tuple(comment_text(line) for line in lines)
