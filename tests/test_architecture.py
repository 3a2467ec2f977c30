"""The shape of the code base: who may import whom, and how long a file may be."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "tcc").rglob("*.py"))

# Lowest first. A module imports its own layer and those below.
LAYERS = (
    ("source", "scalar", "affine"),
    ("diagnostics",),
    ("snippet",),
    ("render",),
    ("errors",),
    ("schema", "target", "occupancy", "codes", "output", "depfile", "dumps", "kept_form"),
    ("yaml_tree", "options", "option_values", "options_file", "limits"),
    ("inputs", "json_schema"),
    ("frontend",),
    ("artifact",),
    ("sched",),
    ("kernel",),
    ("manifest", "check", "driver", "variants"),
    ("run",),
    ("kept",),
    ("api", "tune"),  # compiling looks up tuned plans, tuning compiles
    ("torch", "highlight", "lsp"),
    ("explain",),
    ("cli", "cli_session", "cli_colour", "cli_crash", "cli_inputs", "cli_outputs"),
    (
        "cli_cache",
        "cli_compile",
        "cli_completion",
        "cli_lsp",
        "cli_run",
        "cli_tune",
        "cli_info",
        "__main__",
    ),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
RANK["cli"] = len(LAYERS)
RANK["__main__"] = len(LAYERS)
ONLY = {
    "click": r"tcc/cli\w*\.py",
    "distributed": r"tcc/tune/cluster\.py",
    "cupy": r"tcc/run/cuda\.py",
    "jinja2": r"tcc/kernel/emit\w*\.py",
    "markupsafe": r"tcc/explain/.*",
    "rich": r"tcc/cli_colour\.py|tcc/tune/.*",
    "yaml": r"tcc/options_file\.py",
    "pygments": r"tcc/highlight\.py",
    "pygls": r"tcc/lsp/server\.py",
    "lsprotocol": r"tcc/lsp/server\.py",
    "torch": r"tcc/torch\.py|tcc/run/torch_arrays\.py",
    "jax": r"tcc/run/jax_arrays\.py",
    "islpy": r"tcc/sched/.*",
}
LONGEST = 400


def imports(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            yield node.module
            # `from tcc.sched import tree` names a module as well.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_layer(path):
    return path.relative_to(ROOT / "tcc").parts[0].removesuffix(".py")


def test_every_module_has_a_layer():
    assert {own_layer(path) for path in FILES} - {"__init__"} <= set(RANK)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_module(path):
    name = path.relative_to(ROOT).as_posix()
    own = own_layer(path)
    assert path.read_text("utf-8").count("\n") <= LONGEST, "split this file"
    for module in imports(path):
        package, _, rest = module.partition(".")
        allowed = ONLY.get(package)
        assert allowed is None or re.fullmatch(allowed, name), f"only {allowed} imports {package}"
        used = rest.split(".")[0]
        if package == "tcc" and used in RANK and own != "__init__":
            assert RANK[used] <= RANK[own], f"{own} is below {used}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_only_the_command_line_talks_to_the_world(path):
    """`print`, `sys.exit` and the environment belong to the command line."""
    name = path.relative_to(ROOT).as_posix()
    if re.fullmatch(r"tcc/(cli\w*|__main__)\.py|tcc/tune/.*", name):
        return
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "exit"), f"{name}:{node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            place = f"{node.value.id}.{node.attr}"
            assert place != "sys.exit", f"{name}:{node.lineno}"
            if name != "tcc/run/cache.py":  # where TCC_CACHE_DIR is read
                assert place not in ("os.environ", "os.getenv"), f"{name}:{node.lineno}"


def test_nothing_is_left_to_do():
    marks = re.compile("TO" + "DO|FIX" + "ME|XX" + "X")
    for path in [*FILES, *(ROOT / "tests").rglob("*.py"), *ROOT.glob("*.md")]:
        assert not marks.search(path.read_text("utf-8")), path
