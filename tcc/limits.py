"""Options against the hard limits of the target, before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tcc.diagnostics import Report, error
from tcc.options import Options, resolved
from tcc.target import Target

THROUGH_REGISTERS = 2
"""Tiles in flight that need no asynchronous copies."""


def check_limits(options: Options, target: Target, report: Report) -> None:
    """Report the given options that no kernel on the target can follow."""
    _check_threads(options, target, report)
    _check_shared(options, target, report)
    _check_pipeline(options, target, report)
    _check_tensor_cores(options, report)


def check_shared_bytes(
    used: Mapping[str, int], options: Options, target: Target, report: Report
) -> None:
    """Report the kernels that declare more shared memory than is allowed, by name.

    Plans are made within the limit; this looks at what came of them.
    """
    most = target.max_shared_bytes
    given = resolved(options).max_shared_memory
    limit = most if given is None else min(given, most)
    for kernel, count in used.items():
        if count > limit:
            path = f"mapping.plan.{kernel}" if kernel in options.mapping.plan else "mapping"
            message = f"a block needs {count} bytes of shared memory; {limit} are allowed"
            help = ("make its tiles smaller, or stage fewer tensors",)
            report.add(error("E0524", message, options.place(path), f"in `{kernel}`", help=help))


def _check_threads(options: Options, target: Target, report: Report) -> None:
    threads = options.mapping.threads
    if threads is None or prod(threads) <= target.max_threads_per_block:
        return
    shape = " x ".join(str(t) for t in threads)
    message = (
        f"a block of {shape} has {prod(threads)} threads; "
        f"`{target.name}` allows {target.max_threads_per_block}"
    )
    place = options.place("mapping.threads")
    help = (f"write `threads: {_halved(list(threads), target.max_threads_per_block)}`",)
    report.add(error("E0511", message, place, "threads of a block", help=help))


def _halved(threads: list[int], limit: int) -> list[int]:
    """The longest sides halved until the block is within the limit."""
    while prod(threads) > limit:
        threads[threads.index(max(threads))] = max(threads) // 2
    return threads


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


def _check_pipeline(options: Options, target: Target, report: Report) -> None:
    plans = options.mapping.plan
    asked = {"mapping.pipeline": options.mapping.pipeline}
    asked |= {f"mapping.plan.{name}.pipeline": plan.pipeline for name, plan in plans.items()}
    for path, tiles in asked.items():
        if tiles is not None and tiles > THROUGH_REGISTERS and not target.has_async_copy:
            message = (
                f"{tiles} tiles in flight need copies past the registers, which `{target.name}` "
                f"does not have"
            )
            span = options.place(path)
            help = (f"write `pipeline: {THROUGH_REGISTERS}`",)
            report.add(error("E0513", message, span, "tiles in flight", help=help))


def _check_tensor_cores(options: Options, report: Report) -> None:
    if options.mapping.tensor_cores:
        message = "kernels on tensor cores are not supported"
        span = options.place("mapping.tensor_cores")
        report.add(error("E0912", message, span, "not supported", help=("leave it out",)))
