"""The manifest of an artifact: how to call and launch it, for programs that do not read C."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tcc import __version__
from tcc.affine import Affine
from tcc.artifact import Argument, Artifact, Launch, Library
from tcc.options import Options, given
from tcc.target import Target

FORMAT = 1
"""Raised when a key changes its meaning or goes away."""


def manifest(artifact: Artifact, target: Target, options: Options) -> dict[str, Any]:
    """The manifest as plain data, keys in a fixed order.

    Extents are integers, or text over the symbolic sizes (`/` floors). `arguments` are those of
    the launcher in order; the stream comes after the last one. Grids and blocks are (x, y, z).
    """
    interface = artifact.interface
    return {
        "format": FORMAT,
        "tcc": __version__,
        "function": interface.function,
        "target": target.name,
        "sizes": dict(interface.sizes),
        "symbolic": list(interface.symbolic),
        "arguments": [_argument(a) for a in interface.arguments],
        "workspace_bytes": _extent(interface.workspace_bytes),
        "launches": [_launch(launch) for launch in interface.launches],
        "unordered": list(interface.unordered),
        "options": given(options),
    }


def library_manifest(library: Library, manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The manifest of a file for several architectures: that of each, lowest first.

    The launcher takes the arguments of the variant with the most: where one needs a workspace,
    the launcher takes one, as large as any of them needs.
    """
    return {
        "format": FORMAT,
        "tcc": __version__,
        "function": library.interface.function,
        "variants": list(manifests),
    }


def text(found: dict[str, Any]) -> str:
    """A manifest as JSON; the same compilation gives the same bytes."""
    return json.dumps(found, indent=2) + "\n"


def _argument(argument: Argument) -> dict[str, Any]:
    data: dict[str, Any] = {"name": argument.name, "kind": argument.kind.value}
    if argument.type is not None:
        data["type"] = argument.type.value
    if argument.role is not None:
        data["role"] = argument.role.value
        data["shape"] = [_extent(e) for e in argument.shape]
        data["origin"] = [_extent(e) for e in argument.origin]
    return data


def _launch(launch: Launch) -> dict[str, Any]:
    return {
        "kernel": launch.kernel,
        "grid": [_extent(e) for e in launch.grid],
        "block": list(launch.block),
        "shared_bytes": launch.shared_bytes,
    }


def _extent(extent: Affine) -> int | str:
    return extent.value if extent.is_constant else extent.text()
