"""Says in words how two kernels disagree: where, by how much, and which statement wrote it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tcc.errors import HangError, RunError
from tcc.run.device import Array
from tcc.run.reference import index_box
from tcc.run.verify_compare import UNWRITTEN, Comparison, differing, spelled
from tcc.run.verify_inputs import Domain
from tcc.run.verify_outcome import Failure, Kind


def wrong_value(domain: Domain, found: Comparison, order: str) -> Failure:
    """An output that is not the reference's; `order` is that of the threads."""
    got = "is never written" if found.got == UNWRITTEN else f"is {found.got}"
    return Failure(
        f"`{_first(domain, found)}` {got}, the reference has {found.expected}",
        (*order_line(order), *_extent(domain, found)),
    )


def wrong_reference(domain: Domain, found: Comparison) -> Failure:
    """An output of the reference kernel that is not the oracle's."""
    return Failure(
        f"the reference kernel itself is wrong: `{_first(domain, found)}` is {found.got}, "
        f"the interpreter of the language has {found.expected}",
        (*_extent(domain, found), "this is a fault of tcc"),
    )


def order_matters(
    domain: Domain, forward: Mapping[str, Array], reverse: Mapping[str, Array]
) -> Failure | None:
    """Two runs that differ in some bit; None when they don't."""
    for name in domain.program.outputs:
        different = differing(forward[name], reverse[name])
        if not different.any():
            continue
        at = tuple(int(k) for k in np.argwhere(different)[0])
        kind = domain.program.tensors[name].type
        one, two = spelled(forward[name][at], kind), spelled(reverse[name][at], kind)
        return Failure(
            f"`{_element(domain, name, at)}` depends on the order of the threads",
            (
                f"{one} in ascending order, {two} in descending order",
                *_writer(domain, name, at),
                f"{np.count_nonzero(different)} of {different.size} elements differ",
            ),
        )
    return None


def crash(domain: Domain, problem: RunError, order: str, *, of: str = "") -> Failure:
    """A kernel that did not end as it should, or in which the checking build found something."""
    summary, *facts = f"{of}{problem}".splitlines()
    kind = Kind.HANG if isinstance(problem, HangError) else Kind.CRASH
    return Failure(summary, (*map(str.strip, facts), *order_line(order), *doubts(domain)), kind)


def unwritten_reference(domain: Domain, name: str, holes: Array) -> Failure:
    """Elements of an output that even the reference leaves out."""
    at = tuple(int(k) for k in np.argwhere(holes)[0])
    element = _element(domain, name, at)
    return Failure(f"the reference kernel never writes `{element}`", _writer(domain, name, at))


def order_line(order: str) -> tuple[str, ...]:
    """In which order the threads ran, where there is a choice."""
    return (f"threads in {order} order",) if order else ()


def doubts(domain: Domain) -> tuple[str, ...]:
    """Why the inputs themselves may be to blame."""
    if domain.harmless:
        return ()
    return ("data-dependent subscripts may be out of range: give ranges under `verify: inputs`",)


def _first(domain: Domain, found: Comparison) -> str:
    """The first wrong element."""
    return _element(domain, found.tensor, found.first or ())


def _extent(domain: Domain, found: Comparison) -> tuple[str, ...]:
    """Which statement writes the first wrong element, how many there are."""
    return (
        *_writer(domain, found.tensor, found.first or ()),
        f"{found.wrong} of {found.compared} elements differ, by at most "
        f"{found.largest:.3g} (tolerance {found.tolerance:.3g})",
    )


def _element(domain: Domain, name: str, at: tuple[int, ...]) -> str:
    """An element with its logical subscripts."""
    if not at:
        return name
    origin = domain.program.tensors[name].origin
    logical = (k + o.evaluate(domain.sizes) for k, o in zip(at, origin, strict=True))
    return f"{name}({', '.join(map(str, logical))})"


def _writer(domain: Domain, name: str, at: tuple[int, ...]) -> tuple[str, ...]:
    """The last statement that writes an element."""
    origin = domain.program.tensors[name].origin
    logical = [k + o.evaluate(domain.sizes) for k, o in zip(at, origin, strict=True)]
    for statement in reversed(domain.program.statements):
        if statement.target != name:
            continue
        box = index_box(statement, domain.sizes)[: len(logical)]
        if all(low <= k < high for k, (low, high) in zip(logical, box, strict=True)):
            place = f"{statement.span.source.name}:{statement.span.line}"
            return (f"written by `{statement.text}` ({place})",)
    return ()
