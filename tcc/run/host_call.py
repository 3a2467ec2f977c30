"""One call of a launcher on the host: its buffers, what ended it, its outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod

from tcc.artifact import Argument, ArgumentKind, Interface
from tcc.errors import HangError, RunError
from tcc.frontend.tir import Role
from tcc.run.arrays import Bound, element_type, numpy_type
from tcc.run.device import Array
from tcc.run.host_job import UNCHECKED, Buffer, Checking, Fault, FaultKind, Job, Settings
from tcc.run.host_report import BufferName, fault_message, launcher_message, overrun_message


class Call:
    """A call with arrays and sizes that fit. `slots` are the arguments that have a buffer."""

    def __init__(self, interface: Interface, bound: Bound) -> None:
        self.interface = interface
        self.bound = bound
        self.slots = [a for a in interface.arguments if a.kind is not ArgumentKind.SIZE]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Every size, fixed and open."""
        return {**self.interface.sizes, **self.bound.sizes}

    @contextmanager
    def job(
        self,
        settings: Settings,
        checking: Checking = UNCHECKED,
        granules: Mapping[str, int] | None = None,
    ) -> Iterator[Job]:
        """The job of this call. `granules`: bytes of the smallest element of some buffers."""
        buffers = [self._buffer(a, granules or {}) for a in self.slots]
        kinds = [a.kind for a in self.slots]
        workspace = ArgumentKind.WORKSPACE
        index = kinds.index(workspace) if workspace in kinds else -1
        arguments = self.interface.arguments
        sizes = [self.bound.sizes[a.name] for a in arguments if a.kind is ArgumentKind.SIZE]
        job = Job(buffers, sizes, index, settings, checking)
        try:
            yield job
        finally:
            job.close()

    def check(self, job: Job, timeout_s: float, printed: str) -> None:
        """RunError for a fault, an error that the launcher returned, a write next to a buffer.

        `printed` is what the kernels printed.
        """
        if job.fault is not None:
            error = HangError if job.fault.kind is FaultKind.TIMEOUT else RunError
            raise error(self.fault_text(job.fault, timeout_s, printed))
        if job.error:
            raise RunError(launcher_message(self.interface.function, job.error))
        for index, argument in enumerate(self.slots):
            side = job.overrun(index)
            if side is not None:
                raise RunError(overrun_message(argument.name, side))

    def fault_text(self, fault: Fault, timeout_s: float, printed: str) -> str:
        """One sentence about a fault; a kernel that stops itself has said why."""
        text = fault_message(fault, [self._buffer_name(a) for a in self.slots], timeout_s)
        said = printed.splitlines()
        return f"{text}: {said[0]}" if fault.kind is FaultKind.TRAP and said else text

    def outputs(self, job: Job) -> dict[str, Array]:
        """Copies of the outputs and in/out tensors."""
        return {
            a.name: job.contents(i, numpy_type(element_type(a)), self.bound.shapes[a.name])
            for i, a in enumerate(self.slots)
            if a.role in (Role.OUTPUT, Role.INOUT)
        }

    def _buffer(self, argument: Argument, granules: Mapping[str, int]) -> Buffer:
        if argument.kind is ArgumentKind.WORKSPACE:
            granule = granules.get(argument.name, 1)
            length = max(self.bound.workspace_bytes, 0)
            return Buffer(length, writable=True, granule=granule)
        granule = element_type(argument).bytes
        if argument.role is not Role.OUTPUT:
            array = self.bound.arrays[argument.name]
            return Buffer(array, writable=argument.role is Role.INOUT, granule=granule)
        # Sizes may break a precondition, which the launcher refuses when it is called.
        length = prod(max(e, 0) for e in self.bound.shapes[argument.name]) * granule
        return Buffer(length, writable=True, granule=granule, is_output=True)

    def _buffer_name(self, argument: Argument) -> BufferName:
        if argument.kind is ArgumentKind.WORKSPACE:
            return BufferName(argument.name, (self.bound.workspace_bytes,), 1)
        shape = self.bound.shapes[argument.name]
        return BufferName(argument.name, shape, element_type(argument).bytes)
