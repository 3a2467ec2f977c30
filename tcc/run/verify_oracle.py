"""Whether the reference kernel does what the program means: compared with the oracle, where small.

Both kernels of a verification are emitted from the same statements; the oracle evaluates them
without any code being emitted.
"""

from __future__ import annotations

from collections.abc import Mapping

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


def reference_fault(
    domain: Domain,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    relative: float | None,
    seed: int,
) -> Failure | None:
    """What the `outputs` of the reference kernel have that the oracle has not.

    None where they agree, where there are more than MOST_POINTS, and where the program has no
    meaning. `relative`: a tolerance that takes the place of the bounds.
    """
    program, sizes = domain.program, domain.sizes
    if points(program, sizes) > MOST_POINTS:
        return None
    try:
        want = interpret(program, inputs, sizes)
    except OracleError:
        return None
    bounds = relative_bounds(program, sizes)
    found = _wrong(domain, outputs, want, bounds, relative, {})
    if found is not None and relative is None and any(bounds.values()):
        response = noise_response(program, inputs, sizes, bounds, seed)
        found = _wrong(domain, outputs, want, bounds, relative, response)
    return None if found is None else wrong_reference(domain, found)


def _wrong(
    domain: Domain,
    got: Mapping[str, Array],
    want: Mapping[str, Array],
    bounds: Mapping[str, float],
    relative: float | None,
    response: Mapping[str, Response],
) -> Comparison | None:
    """The first output that differs too much."""
    for name in domain.program.outputs:
        found = compare(
            name,
            domain.program.tensors[name].type,
            got[name],
            want[name],
            relative=bounds[name] if relative is None else relative,
            response=response.get(name),
        )
        if not found.ok:
            return found
    return None
