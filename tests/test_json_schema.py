"""The JSON schema of options files says what the reader of options files says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tcc.cli import main
from tcc.codes import codes, page
from tcc.diagnostics import Report
from tcc.json_schema import json_schema, json_schema_text
from tcc.options import Options
from tcc.options_file import read_options
from tcc.schema import PLACEHOLDER, entries
from tcc.source import Source
from tests.doc_blocks import DOCUMENTS, blocks

ROOT = Path(__file__).parents[1]
SCHEMA = json_schema()
FILES = sorted((ROOT / "specs").glob("*.yaml"))
# Findings about names, kinds and bounds of values; others need the program, or YAML's own text.
OF_VALUES = {"E0501", "E0502", "E0503", "E0506"}
BROKEN = """\
mappings: {}
mapping: [tile, 4]
mapping: {tile: 4}
mapping: {tile: []}
mapping: {tile: [1, null]}
mapping: {tile: [1, -1]}
mapping: {tile: [1, 2.5]}
mapping: {threads: [32, 4, 65]}
mapping: {threads: [1, 1, 1, 1]}
mapping: {blocks: [1, 65536]}
mapping: {vector: 3}
mapping: {vector: "4"}
mapping: {staging: {A: local}}
mapping: {staging: {1A: shared}}
mapping: {staging: [A]}
mapping: {use_shared_memory: yes please}
mapping: {use_shared_memory: 1}
mapping: {kernels: [[]]}
mapping: {kernels: [A]}
mapping: {plan: {k: {pipeline: 9}}}
mapping: {plan: {k: {parallel: {m: []}}}}
mapping: {plan: {k: {parallels: {}}}}
mapping: {reduction: grid}
preset: nave
target: sm_1
sizes: {M: 0}
sizes: {M: 2147483648}
sizes: {M: big}
sizes: [1, 2]
verify: {seed: -1}
verify: {sizes: [{M: 0}]}
verify: {inputs: {A: [1]}}
verify: {inputs: {A: [1, two]}}
verify: {relative_tolerance: -0.5}
verify: {timeout_s: 0}
entry: [f]
""".splitlines()
ALLOWED = """\
{}
entry:
mapping:
mapping: {tile: }
mapping: {tile: [0, 4, 8], threads: [1024], blocks: [2147483647, 65535, 65535]}
mapping: {vector: 4, pipeline: 2, reduction: warp, tensor_cores: true, split: 1}
mapping: {staging: {A: shared, B_2: register}, kernels: [[A, B], [C]]}
mapping: {plan: {f_0: {parallel: {m: [block.x, thread.x 32]}, pipeline: 2}}}
sizes: {M: 1, N: 2147483647}
verify: {seed: 0, sizes: [{M: 1}, {M: 7}], inputs: {A: [-1, 1.5]}, relative_tolerance: 1.0e-3}
""".splitlines()
EXAMPLES = [b.text for path in DOCUMENTS for b in blocks(path) if b.language == "yaml"]
EXAMPLES += [
    example.text
    for code in codes()
    if (found := page(code)) is not None
    for example in (*found.wrong, *found.right)
    if example.language == "yaml"
]


def accepts(text: str) -> bool:
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(text))


def found(text: str) -> set[str]:
    report = Report()
    read_options(Source("options.yaml", text), report)
    return {d.code for d in report.items}


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json_schema_text().startswith('{\n  "$schema": "https://json-schema.org/')


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_options_files(path):
    assert accepts(path.read_text("utf-8"))


@pytest.mark.parametrize("text", ALLOWED)
def test_what_both_accept(text):
    assert found(text) == set()
    assert accepts(text)


@pytest.mark.parametrize("text", BROKEN)
def test_what_both_refuse(text):
    assert found(text)
    assert not accepts(text)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_of_the_documents(text):
    """The schema refuses no file that the reader accepts, and no value that the reader refuses."""
    seen = found(text)
    if seen <= OF_VALUES:
        assert accepts(text) == (not seen)


def test_every_option_is_there_with_its_sentence():
    for entry in entries(Options):
        node = SCHEMA
        for part in entry.path.split("."):
            node = node["additionalProperties"] if part == PLACEHOLDER else node["properties"][part]
        assert entry.doc in node["description"]


def test_the_command_line_prints_it(capfd):
    assert main(["options", "--json-schema"]) == 0
    assert json.loads(capfd.readouterr().out) == SCHEMA
