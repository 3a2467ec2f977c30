"""Kernels for several architectures in one file, with a launcher that chooses among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce

from tcc.artifact import ArgumentKind, Artifact, Interface, Library, Naming, Parts
from tcc.errors import InternalError
from tcc.kernel.emit_unit import header_text, render, unit_text
from tcc.kernel.helpers import helper_texts
from tcc.kernel.names import spell_function


def emit_library(variants: Mapping[str, Artifact], name: str, naming: Naming) -> Library:
    """Put artifacts for different architectures into one file.

    `name` is that of the def, `naming` is without a variant.

    Requires: artifacts of one program at the same sizes, by architecture, lowest first, each
    emitted with its variant in the naming.
    """
    several = _Several(variants, spell_function(naming.function(name)))
    header = header_text(several.interface, several.parts, naming, name)
    return Library(unit_text(several.parts), header, several.interface, several.parts, variants)


@dataclass(frozen=True)
class _Several:
    variants: Mapping[str, Artifact]
    function: str

    @cached_property
    def interface(self) -> Interface:
        """What the launcher takes that chooses: a workspace when some launcher needs one."""
        found = [a.interface for a in self.variants.values()]
        chosen = next((i for i in found if _has_workspace(i)), found[0])
        return replace(chosen, function=self.function)

    @cached_property
    def parts(self) -> Parts:
        """All kernels, then all launchers, then the one that chooses."""
        found = {name: _parts(a) for name, a in self.variants.items()}
        first = next(p for p in found.values() if len(p.names) == len(self.interface.arguments))
        helpers = [h for p in found.values() for h in p.helpers]
        if _has_workspace(self.interface):
            helpers += helper_texts(["maximum"])
        return Parts(
            (_title(first.comment[0], list(found)), *_about(first.comment)[0][1:]),
            _union(p.host_includes for p in found.values()),
            _union(p.includes for p in found.values()),
            tuple(dict.fromkeys(helpers)),
            "".join(_section(name, p) for name, p in found.items()),
            "".join(p.launcher for p in found.values()) + self._dispatch(first),
            first.parameters,
            first.names,
        )

    def _dispatch(self, first: Parts) -> str:
        taken = list(zip(self.interface.arguments, first.names, first.parameters, strict=True))
        sizes = [(name, text) for a, name, text in taken if a.kind is ArgumentKind.SIZE]
        spelled = {argument.name: name for argument, name, _ in taken}
        values: dict[str, object] = {
            "function": self.function,
            "parameters": ", ".join([*first.parameters, "cudaStream_t stream"]),
            "size_parameters": ", ".join(text for _, text in sizes),
            "workspace": self._workspace(", ".join(name for name, _ in sizes)),
            "kernel": next(iter(self.variants.values())).interface.launches[0].kernel,
            "cases": [
                {"least": name.removeprefix("sm_"), "call": _call(a.interface, spelled)}
                for name, a in reversed(list(self.variants.items()))
            ],
        }
        return render("dispatch.cu.j2", values)

    def _workspace(self, sizes: str) -> str:
        """The most that any launcher needs; empty when none needs anything."""
        interfaces = (a.interface for a in self.variants.values())
        needs = [f"{i.function}_workspace_bytes({sizes})" for i in interfaces if _has_workspace(i)]
        return reduce(lambda a, b: f"maximum({a}, {b})", needs) if needs else ""


def _call(interface: Interface, spelled: Mapping[str, str]) -> str:
    arguments = ", ".join([*(spelled[a.name] for a in interface.arguments), "stream"])
    return f"{interface.function}({arguments})"


def _section(architecture: str, parts: Parts) -> str:
    """The kernels for an architecture under its plan."""
    lines = (f"For {architecture}", "", *_about(parts.comment)[1])
    return "\n" + "".join(f"// {line}".rstrip() + "\n" for line in lines) + parts.kernels


def _about(comment: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A comment in two: what it says of the program and its sizes, and of the plan."""
    at = comment.index("plan:") if "plan:" in comment else len(comment)
    program = comment[:at]
    return (program[:-1] if program and not program[-1] else program), comment[at:]


def _title(line: str, architectures: list[str]) -> str:
    *others, last = architectures
    return f"{line} for {', '.join(others)} and {last}" if others else f"{line} for {last}"


def _has_workspace(interface: Interface) -> bool:
    return any(a.kind is ArgumentKind.WORKSPACE for a in interface.arguments)


def _union(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))


def _parts(artifact: Artifact) -> Parts:
    if artifact.parts is None:
        raise InternalError("the text of this artifact cannot be taken apart")
    return artifact.parts
