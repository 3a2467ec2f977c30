"""The files that `tcc compile` writes: which, whether they can be, and what is in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tcc.errors import UsageError

if TYPE_CHECKING:
    from tcc.api import Kernel
    from tcc.artifact import Interface, Library, Naming

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = re.compile(r"_[A-Z_]")


@dataclass(frozen=True)
class Outputs:
    """Their names, by option; None: not asked for."""

    output: str | None
    header: str | None
    ptx: str | None
    cubin: str | None
    manifest: str | None
    depfile: str | None
    self_test: str | None
    reference: bool

    @property
    def reference_path(self) -> str | None:
        """Beside the output: `gemm.cu` gives `gemm.reference.cu`."""
        if not self.reference or self.output is None:
            return None
        return str(Path(self.output).with_suffix(f".reference{Path(self.output).suffix}"))

    @property
    def files(self) -> list[str]:
        """The outputs that are made from the program; all but the depfile."""
        files = (
            self.output,
            self.reference_path,
            self.header,
            self.ptx,
            self.cubin,
            self.manifest,
            self.self_test,
        )
        return [f for f in files if f is not None]


@dataclass(frozen=True)
class Compiled:
    """What the outputs are made of: a kernel for each architecture, and what several share."""

    kernels: tuple[Kernel, ...]
    library: Library | None

    @property
    def interface(self) -> Interface:
        """How to call the launcher."""
        return self.library.interface if self.library else self.kernels[0].artifact.interface

    @cached_property
    def cuda_source(self) -> str:
        """The text of the `.cu` file."""
        return self.library.cuda_source if self.library else self.kernels[0].cuda_source

    @cached_property
    def header(self) -> str:
        """The text of the `.h` file."""
        return self.library.header if self.library else self.kernels[0].header

    def manifest(self) -> str:
        """The text of the manifest; several architectures have one each, under `variants`."""
        from tcc.manifest import library_manifest, text

        found = [k.manifest for k in self.kernels]
        return text(library_manifest(self.library, found) if self.library else found[0])

    def self_test(self) -> str:
        """The text of a program that checks and times the launcher."""
        from tcc.run.self_test import self_test

        kernel = self.kernels[0]
        return self_test(kernel.request, kernel.compilation, self.library or kernel.artifact)


def naming_of(prefix: str | None, namespace: str | None) -> Naming:
    """How functions are called; a namespace without a prefix gives `a_b_` for `a::b`.

    UsageError for what C++ takes for no name, or reserves.
    """
    from tcc.artifact import Naming
    from tcc.kernel.names import spell_function

    names = tuple(namespace.split("::")) if namespace is not None else ()
    for name in names:
        if not _NAME.fullmatch(name) or spell_function(name) != name:
            raise UsageError(f"`{name}` cannot be the name of a namespace")
    if prefix is None:
        prefix = "".join(f"{name}_" for name in names)
    if prefix and (not _NAME.fullmatch(prefix) or _RESERVED.match(prefix)):
        raise UsageError(f"names cannot begin with `{prefix}`")
    return Naming(prefix, names)


def check_not_read(output: str, inputs: Iterable[str]) -> None:
    """UsageError for an output that is an input as well."""
    if output != "-" and os.path.realpath(output) in {os.path.realpath(f) for f in inputs}:
        raise UsageError(f"`{output}` is an input and would be overwritten")


def check_outputs(chosen: Outputs, inputs: list[str]) -> None:
    """UsageError for outputs that overwrite an input or each other, or have no name."""
    taken: set[str] = set()
    for file in (f for f in (*chosen.files, chosen.depfile) if f is not None):
        check_not_read(file, inputs)
        path = file if file == "-" else os.path.realpath(file)
        if path in taken:
            raise UsageError(f"two outputs go to `{file}`")
        taken.add(path)
    if chosen.reference and (chosen.output is None or chosen.output == "-"):
        raise UsageError("`--reference` writes beside the CUDA text; give it a name with `-o`")
    if chosen.depfile and all(f == "-" for f in chosen.files):
        raise UsageError("`--depfile` needs an output to speak of; name one with `-o`")


def contents(compiled: Compiled, chosen: Outputs, inputs: list[str]) -> dict[str, bytes]:
    """What goes into every file.

    UsageError for a launcher that is called like its namespace, ToolchainError where PTX needs a
    library that is not there.
    """
    from tcc.depfile import depfile

    namespace = compiled.kernels[0].request.naming.namespace
    if compiled.interface.function in namespace[:1]:
        raise UsageError(f"`{namespace[0]}` cannot be the name of a namespace and of the launcher")
    found = {name: text.encode() for name, text in _texts(compiled, chosen)}
    if chosen.cubin is not None:
        found[chosen.cubin] = compiled.kernels[0].cubin()
    if chosen.depfile is not None:
        found[chosen.depfile] = depfile(chosen.files, inputs).encode()
    return found


def _texts(compiled: Compiled, chosen: Outputs) -> Iterator[tuple[str, str]]:
    kernel = compiled.kernels[0]
    if chosen.output is not None:
        yield chosen.output, compiled.cuda_source
    if chosen.reference_path is not None:
        yield chosen.reference_path, kernel.reference.cuda_source
    if chosen.header is not None:
        yield chosen.header, compiled.header
    if chosen.ptx is not None:
        yield chosen.ptx, kernel.ptx()
    if chosen.manifest is not None:
        yield chosen.manifest, compiled.manifest()
    if chosen.self_test is not None:
        yield chosen.self_test, compiled.self_test()
