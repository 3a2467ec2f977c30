"""The host device: emitted text compiled for the CPU and run in a process of its own.

The program runs the threads of a block as fibers, in ascending or in descending order; outputs,
workspace and shared memory start as poison (all bits set: NaN, -1), and inaccessible memory lies
around every buffer. So missing barriers, missing initialisation and accesses out of bounds show as
wrong values, as a difference between the two orders, or as a RunError.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from tcc.artifact import Argument, ArgumentKind, Artifact, Interface
from tcc.errors import RunError
from tcc.frontend.tir import Role
from tcc.run.arrays import Bound, bind, element_type, numpy_type
from tcc.run.cache import ObjectCache
from tcc.run.device import Array
from tcc.run.host_build import build
from tcc.run.host_job import Buffer, Job, Settings
from tcc.run.host_report import BufferName, fault_message, launcher_message, overrun_message
from tcc.run.toolchain import Compiler, find_cxx

GRACE_S = 5.0  # the program has its own timer; this is for one that cannot even handle a signal
_DONE, _FAULT = 0, 3


class Order(Enum):
    """The order in which blocks, and the threads of a block, run."""

    FORWARD = "forward"
    REVERSE = "reverse"


class HostDevice:
    """Runs artifacts on the CPU.

    `blocks` has, by index of the launch, the linear indices of the only blocks to run; what the
    others would have written stays poison. `workers`: processes at most, all CPUs when not given.
    """

    name = "host"

    def __init__(
        self,
        *,
        order: Order = Order.FORWARD,
        timeout_s: float = 120.0,
        blocks: Mapping[int, Sequence[int]] | None = None,
        workers: int | None = None,
        compiler: Compiler | None = None,
        cache: ObjectCache | None = None,
    ) -> None:
        self._settings = Settings(
            reverse=order is Order.REVERSE,
            workers=workers or len(os.sched_getaffinity(0)),
            timeout_s=timeout_s,
            blocks=blocks or {},
        )
        self._compiler = compiler
        self._cache = cache or ObjectCache()

    def run(
        self, artifact: Artifact, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> dict[str, Array]:
        """The outputs, in fresh arrays; see `tcc.run.device.Device.run`."""
        interface = artifact.interface
        bound = bind(interface, arrays, sizes)
        program = self.prepare(artifact)
        slots = [a for a in interface.arguments if a.kind is not ArgumentKind.SIZE]
        job = self._job(interface, slots, bound)
        try:
            _execute(program, job, self._settings.timeout_s)
            _check(job, interface, slots, bound, self._settings.timeout_s)
            return {
                a.name: job.contents(i, numpy_type(element_type(a)), bound.shapes[a.name])
                for i, a in enumerate(slots)
                if a.role in (Role.OUTPUT, Role.INOUT)
            }
        finally:
            job.close()

    def prepare(self, artifact: Artifact) -> Path:
        """Compile the artifact, or find it in the cache; the program's path."""
        self._compiler = self._compiler or find_cxx()
        return build(artifact, self._compiler, self._cache)

    def _job(self, interface: Interface, slots: Sequence[Argument], bound: Bound) -> Job:
        buffers = [_buffer(a, bound) for a in slots]
        kinds = [a.kind for a in slots]
        workspace = ArgumentKind.WORKSPACE
        values = [bound.sizes[a.name] for a in interface.arguments if a.kind is ArgumentKind.SIZE]
        index = kinds.index(workspace) if workspace in kinds else -1
        return Job(buffers, values, index, self._settings)


def _buffer(argument: Argument, bound: Bound) -> Buffer:
    if argument.kind is ArgumentKind.WORKSPACE:
        return Buffer(bound.workspace_bytes, writable=True)
    if argument.role is not Role.OUTPUT:
        return Buffer(bound.arrays[argument.name], writable=argument.role is Role.INOUT)
    elements = 1
    for extent in bound.shapes[argument.name]:
        elements *= extent
    return Buffer(elements * element_type(argument).bytes, writable=True)


def _execute(program: Path, job: Job, timeout_s: float) -> None:
    """Run the program to its end. RunError when it ends in a way it has no words for."""
    with subprocess.Popen(
        [str(program), str(job.descriptor)],
        pass_fds=(job.descriptor,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout_s + GRACE_S)
        except BaseException as problem:
            _end_group(process.pid)
            if isinstance(problem, subprocess.TimeoutExpired):
                raise RunError(f"the program does not end within {timeout_s:g} s") from problem
            raise
    if process.returncode not in (_DONE, _FAULT):
        text = output.decode(errors="replace").strip()
        raise RunError(f"the program ends with status {process.returncode}: {text}")


def _end_group(leader: int) -> None:
    """End a program that still runs, with its workers."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _check(
    job: Job, interface: Interface, slots: Sequence[Argument], bound: Bound, timeout_s: float
) -> None:
    """RunError for a fault, an error that the launcher returned, a write next to a buffer."""
    fault = job.fault
    if fault is not None:
        names = [_buffer_name(a, bound) for a in slots]
        raise RunError(fault_message(fault, names, timeout_s))
    if job.error:
        raise RunError(launcher_message(interface.function, job.error))
    for index, argument in enumerate(slots):
        side = job.overrun(index)
        if side is not None:
            raise RunError(overrun_message(argument.name, side))


def _buffer_name(argument: Argument, bound: Bound) -> BufferName:
    if argument.kind is ArgumentKind.WORKSPACE:
        return BufferName(argument.name, (bound.workspace_bytes,), 1)
    return BufferName(argument.name, bound.shapes[argument.name], element_type(argument).bytes)
