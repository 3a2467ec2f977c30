"""Whether the reference kernel does what the program means: compared with the oracle, where small.

Both kernels of a verification are emitted from the same statements; the oracle evaluates them
without any code being emitted.
"""

from __future__ import annotations

from collections.abc import Mapping

from tcc.frontend import tir
from tcc.run.device import Array
from tcc.run.reference import OracleError, interpret
from tcc.run.verify_bound import Response, noise_response, relative_bounds
from tcc.run.verify_compare import Comparison, compare
from tcc.run.verify_explain import wrong_reference
from tcc.run.verify_inputs import Domain
from tcc.run.verify_outcome import Failure
from tcc.run.verify_sizes import points

MOST_POINTS = 1 << 15
"""Statement instances up to which the oracle takes less time than a kernel needs to start."""
LEAST_BOUND = 2.0**-32
"""Libraries of functions differ in the last digits of doubles."""
BOUND_AT_ZEROS = 2.0**-10
"""Near zeros of some functions libraries keep the absolute error small, not the relative one."""
_WITH_SUCH_ZEROS = {"j0", "j1", "y0", "y1", "lgamma"}


def reference_fault(
    domain: Domain,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    relative: float | None,
    seed: int,
) -> Failure | None:
    """What the `outputs` of the reference kernel have that the oracle has not.

    None where they agree, where there are more than MOST_POINTS, and where the program has no
    meaning. `relative`: a larger tolerance than that for rounding; a smaller one is for kernels.
    """
    program, sizes = domain.program, domain.sizes
    if points(program, sizes) > MOST_POINTS:
        return None
    try:
        want = interpret(program, inputs, sizes)
    except OracleError:
        return None
    least = LEAST_BOUND if _functions(program).isdisjoint(_WITH_SUCH_ZEROS) else BOUND_AT_ZEROS
    least = max(least, relative or 0.0)
    bounds = {n: max(bound, least) for n, bound in relative_bounds(program, sizes).items()}
    found = _wrong(domain, outputs, want, bounds, {})
    if found is not None:
        response = noise_response(program, inputs, sizes, bounds, seed)
        found = _wrong(domain, outputs, want, bounds, response)
    return None if found is None else wrong_reference(domain, found)


def _functions(program: tir.Program) -> set[str]:
    """The builtin functions that a program calls."""
    values = (node for s in program.statements for node in tir.walk(s.value))
    return {node.function for node in values if isinstance(node, tir.Call)}


def _wrong(
    domain: Domain,
    got: Mapping[str, Array],
    want: Mapping[str, Array],
    bounds: Mapping[str, float],
    response: Mapping[str, Response],
) -> Comparison | None:
    """The first output that differs too much."""
    for name in domain.program.outputs:
        found = compare(
            name,
            domain.program.tensors[name].type,
            got[name],
            want[name],
            relative=bounds[name],
            response=response.get(name),
        )
        if not found.ok:
            return found
    return None
