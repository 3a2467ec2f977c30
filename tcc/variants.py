"""Compiles one program for several architectures into one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tcc.artifact import Artifact, Library, Variant
from tcc.driver import Compilation, Request, compile_program
from tcc.errors import InternalError
from tcc.inputs import target_of
from tcc.kernel.emit_library import emit_library
from tcc.target import Target


@dataclass(frozen=True)
class Variants:
    """The library, and the compilation and request for each of its architectures."""

    library: Library
    requests: Mapping[str, Request]
    compilations: Mapping[str, Compilation]


def compile_variants(request: Request, targets: Sequence[Target]) -> Variants:
    """Compile for every target; the target of the request does not matter.

    CompileError when the program, its sizes or its options are rejected for one of them.
    """
    ordered = sorted(targets, key=_number)
    requests, compilations = {}, {}
    for target, following in zip(ordered, [*ordered[1:], None], strict=True):
        below = None if following is None else _number(following)
        naming = replace(request.naming, variant=Variant(target.name, _number(target), below))
        allowed = target_of(request.options, target.name)
        requests[target.name] = replace(request, target=allowed, naming=naming)
        compilations[target.name] = compile_program(requests[target.name])
    artifacts = {name: _artifact(found) for name, found in compilations.items()}
    programs = (c.program.name for c in compilations.values() if c.program is not None)
    library = emit_library(artifacts, next(programs), request.naming)
    return Variants(library, requests, compilations)


def _number(target: Target) -> int:
    """The compute capability in tenths: 90 for sm_90."""
    major, minor = target.capability
    return 10 * major + minor


def _artifact(compilation: Compilation) -> Artifact:
    if compilation.artifact is None:
        raise InternalError("the compilation stopped before it emitted anything")
    return compilation.artifact
