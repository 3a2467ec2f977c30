"""Says in words what ended a host run."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcc.run.host_job import Fault, FaultKind

CUDA_ERRORS = {
    1: "cudaErrorInvalidValue",
    2: "cudaErrorMemoryAllocation",
    9: "cudaErrorInvalidConfiguration",
    716: "cudaErrorMisalignedAddress",
    719: "cudaErrorLaunchFailure",
    801: "cudaErrorNotSupported",
    999: "cudaErrorUnknown",
}
_FIXED = {
    FaultKind.ARITHMETIC: "divides an integer by zero, or the smallest integer by -1",
    FaultKind.STACK_OVERFLOW: "has local variables that do not fit on the stack of a thread",
    FaultKind.MISALIGNED: "reads or writes a vector at an address that is not aligned",
    FaultKind.SETUP: "memory for the run could not be mapped",
}
_VERBS = {0: "reads", 1: "writes", 2: "accesses"}


@dataclass(frozen=True)
class BufferName:
    """What the message calls a buffer; the workspace has elements of one byte."""

    name: str
    shape: tuple[int, ...]
    element_bytes: int


def launcher_message(function: str, error: int) -> str:
    """A launcher that returned an error."""
    name = CUDA_ERRORS.get(error, "an unknown error")
    return f"the launcher `{function}` returns {name} ({error})"


def overrun_message(buffer: str, side: str) -> str:
    """A write next to a buffer, found after the run."""
    return f"a kernel writes {_SIDES[side]} `{buffer}`"


_SIDES = {"before": "before the start of", "past": "past the end of"}


def fault_message(fault: Fault, buffers: Sequence[BufferName], timeout_s: float) -> str:
    """One sentence: what happened, in which kernel, by which thread."""
    if not fault.in_kernel and fault.kind in (FaultKind.ACCESS, FaultKind.TRAP, FaultKind.TIMEOUT):
        return f"the launcher {_event(fault, buffers, timeout_s)}"
    if fault.kind in (FaultKind.WORKER_LOST, FaultKind.WORKSPACE_SIZE, FaultKind.SETUP):
        return _event(fault, buffers, timeout_s)
    where = f"block {fault.block}, thread {fault.thread}"
    return f"kernel `{fault.kernel}` {_event(fault, buffers, timeout_s)} ({where})"


def _event(fault: Fault, buffers: Sequence[BufferName], timeout_s: float) -> str:
    fixed = _FIXED.get(fault.kind)
    if fixed is not None:
        return fixed
    match fault.kind:
        case FaultKind.ACCESS:
            return _access(fault, buffers)
        case FaultKind.TRAP:
            return f"is stopped by {_signal(fault.count)}"
        case FaultKind.TIMEOUT:
            return f"does not end within {timeout_s:g} s"
        case FaultKind.SHARED_OVERRUN:
            return f"writes shared memory {fault.count} bytes past its end"
        case FaultKind.WORKER_LOST:
            return f"a process that ran blocks was stopped by {_signal(fault.count)}"
        case FaultKind.WORKSPACE_SIZE:
            return f"the launcher wants {fault.offset} bytes of workspace, its interface says other"
        case _:
            return _synchronization(fault)


def _synchronization(fault: Fault) -> str:
    match fault.kind:
        case FaultKind.DIVERGENT_LINES:
            return (
                f"reaches the barrier of line {fault.line} while {_threads(fault.count)} of the "
                f"block wait at that of line {fault.other_line}"
            )
        case FaultKind.DIVERGENT_EXIT:
            return f"has threads that never reach the barrier of line {fault.line}"
        case FaultKind.DEADLOCK:
            return (
                f"hangs: {_threads(fault.count)} wait at the barrier of line {fault.line}, "
                f"the others at the warp operation of line {fault.other_line}"
            )
        case FaultKind.MASK_WITHOUT_CALLER:
            return f"calls a warp operation in line {fault.line} whose mask has not its own lane"
        case FaultKind.DIFFERENT_MASKS:
            return (
                f"joins lanes with different masks in one warp operation, lines {fault.line} "
                f"and {fault.other_line}"
            )
        case _:
            raise ValueError(f"{fault.kind} has no text")


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _signal(number: int) -> str:
    return signal.Signals(number).name


def _access(fault: Fault, buffers: Sequence[BufferName]) -> str:
    verb = _VERBS[fault.is_write]
    if fault.buffer < 0:
        return f"{verb} an address far from any buffer"
    buffer = buffers[fault.buffer]
    elements = int(np.prod(buffer.shape, dtype=np.int64))
    index = fault.offset // buffer.element_bytes
    if index < 0:
        return f"{verb} `{buffer.name}` {-index} elements before its start"
    if index >= elements:
        past = f"element {index} of {elements}"
        return f"{verb} past the end of `{buffer.name}`: {past}"
    place = ", ".join(str(i) for i in np.unravel_index(index, buffer.shape))
    return f"{verb} the input `{buffer.name}` at [{place}]"
