"""The manifest of a hand-made artifact."""

import json

from tcc.affine import ceil_div, const, var
from tcc.artifact import Argument, ArgumentKind, Artifact, Interface, Launch
from tcc.frontend.tir import Role
from tcc.manifest import manifest, text
from tcc.options import MappingOptions, Options
from tcc.scalar import ScalarType
from tcc.target import TARGETS

N = var("N")
ARTIFACT = Artifact(
    cuda_source="",
    header="",
    interface=Interface(
        function="scale",
        arguments=(
            Argument("A", ArgumentKind.TENSOR, ScalarType.FLOAT32, Role.INPUT, (N,), (const(0),)),
            Argument(
                "B", ArgumentKind.TENSOR, ScalarType.FLOAT16, Role.OUTPUT, (N - 1,), (const(1),)
            ),
            Argument("workspace", ArgumentKind.WORKSPACE),
            Argument("N", ArgumentKind.SIZE),
        ),
        launches=(
            Launch("scale_0", (ceil_div(N, 32), const(1), const(1)), (32, 1, 1), shared_bytes=0),
        ),
        sizes={"M": 4},
        symbolic=("N",),
        workspace_bytes=N * 4,
    ),
)


def test_the_manifest_says_how_to_call_and_launch():
    options = Options(preset="naive", mapping=MappingOptions(tile=(8,)))
    data = manifest(ARTIFACT, TARGETS["sm_90"], options)
    assert list(data) == [
        "format",
        "tcc",
        "function",
        "target",
        "sizes",
        "symbolic",
        "arguments",
        "workspace_bytes",
        "launches",
        "unordered",
        "options",
    ]
    assert data["arguments"] == [
        {
            "name": "A",
            "kind": "tensor",
            "type": "float32",
            "role": "input",
            "shape": ["N"],
            "origin": [0],
        },
        {
            "name": "B",
            "kind": "tensor",
            "type": "float16",
            "role": "output",
            "shape": ["N - 1"],
            "origin": [1],
        },
        {"name": "workspace", "kind": "workspace"},
        {"name": "N", "kind": "size"},
    ]
    assert data["launches"] == [
        {
            "kernel": "scale_0",
            "grid": ["(N + 31) / 32", 1, 1],
            "block": [32, 1, 1],
            "shared_bytes": 0,
        }
    ]
    assert data["workspace_bytes"] == "4 * N"
    assert data["options"] == {"preset": "naive", "mapping": {"tile": [8]}}


def test_the_text_is_stable_json():
    first = text(manifest(ARTIFACT, TARGETS["sm_80"], Options()))
    assert first == text(manifest(ARTIFACT, TARGETS["sm_80"], Options()))
    assert json.loads(first)["sizes"] == {"M": 4}
