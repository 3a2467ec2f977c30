"""Starting is quick: `tcc --help` loads only what it prints."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import tcc

HEAVY = ("islpy", "numpy", "yaml", "jinja2", "rich", "cupy", "ml_dtypes")
PROBE = """
import sys
from tcc.cli import main
code = main(["--help"])
loaded = [name for name in {heavy!r} if name in sys.modules]
print("loaded", *loaded, file=sys.stderr)
sys.exit(code)
"""


def run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_help_loads_nothing_heavy():
    done = run("-c", PROBE.format(heavy=HEAVY))
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: tcc")
    assert done.stderr.split() == ["loaded"]


def test_importing_the_package_loads_nothing_of_it():
    script = "import sys, tcc; print(sorted(m for m in sys.modules if m.startswith('tcc')))"
    assert run("-c", script).stdout == "['tcc']\n"


def test_until_ctrl_c_has_an_answer_next_to_nothing_is_loaded():
    """What the script of the command imports, without what Python loads by itself."""
    root = str(Path(tcc.__file__).parent.parent)
    script = (
        f"import sys; sys.path.insert(0, {root!r}); old = set(sys.modules)\nimport tcc.__main__"
    )
    script += "\nprint(*sorted(set(sys.modules) - old))"
    assert run("-I", "-S", "-c", script).stdout.split() == ["__future__", "tcc", "tcc.__main__"]


def test_help_takes_less_than_150_ms_of_cpu():
    """Over the start of Python itself; the best of three, as the machine may be busy."""
    best = min(cpu_seconds("-m", "tcc", "--help") for _ in range(3))
    bare = min(cpu_seconds("-c", "") for _ in range(3))
    assert best - bare < 0.15


def cpu_seconds(*arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    assert run(*arguments).returncode == 0
    assert time.perf_counter() - start < 30
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
