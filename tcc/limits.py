"""Options against the hard limits of the target, before anything is planned."""

from __future__ import annotations

from math import prod

from tcc.diagnostics import Report, error
from tcc.options import Options
from tcc.target import Target


def check_limits(options: Options, target: Target, report: Report) -> None:
    """Report the given options that no kernel on the target can follow."""
    _check_threads(options, target, report)
    _check_shared(options, target, report)


def _check_threads(options: Options, target: Target, report: Report) -> None:
    threads = options.mapping.threads
    if threads is None or prod(threads) <= target.max_threads_per_block:
        return
    shape = " x ".join(str(t) for t in threads)
    message = (
        f"a block of {shape} has {prod(threads)} threads; "
        f"`{target.name}` allows {target.max_threads_per_block}"
    )
    report.add(error("E0511", message, options.place("mapping.threads"), "threads of a block"))


def _check_shared(options: Options, target: Target, report: Report) -> None:
    limit = options.mapping.max_shared_memory
    if limit is None or limit <= target.max_shared_bytes_opt_in:
        return
    message = (
        f"a block cannot have {limit} bytes of shared memory; "
        f"`{target.name}` allows {target.max_shared_bytes_opt_in}"
    )
    help = (f"write `max_shared_memory: {target.max_shared_bytes_opt_in}`",)
    span = options.place("mapping.max_shared_memory")
    report.add(error("E0512", message, span, "bytes of a block", help=help))
