"""The Python API: what may be given, what comes out."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tcc
from tcc.options import MappingOptions, Options

MATMUL = """\
def matmul(float(M, K) A, float(K, N) B) -> (C) {
    C(m, n) +=! A(m, k) * B(k, n)
}
"""
TWO = """\
def scale(float(N) A) -> (B) { B(n) = 2.0 * A(n) }
def both(float(N) A, float(N) C) -> (B, D) { B(n) = 2.0 * A(n)  D(n) = C(n) + A(n) }
def into(float(N) A) -> (B) { B(n) += A(n) }
"""


@pytest.fixture(scope="module")
def matmul():
    return tcc.compile(MATMUL, sizes={"K": 4})


def test_what_a_kernel_tells(matmul):
    assert "__global__" in matmul.cuda_source
    assert "matmul" in matmul.header
    assert matmul.manifest["function"] == "matmul"
    assert matmul.manifest["sizes"] == {"K": 4}
    assert matmul.launches
    assert matmul.plan.text()
    assert matmul.warnings == ()
    assert repr(matmul) == "<Kernel matmul for sm_90>"


def test_run(matmul):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    b = np.arange(8, dtype=np.float32).reshape(4, 2)
    results = matmul.run({"A": a, "B": b})
    assert list(results) == ["C"]
    np.testing.assert_array_equal(results["C"], a @ b)
    np.testing.assert_array_equal(matmul(a, b), a @ b)


def test_only_the_host_device_checks(matmul):
    a, b = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
    np.testing.assert_array_equal(matmul.run({"A": a, "B": b}, check=True)["C"], a @ b)
    with pytest.raises(tcc.CompileError) as problem:
        matmul.run({}, device="cuda", check=True)
    assert [d.code for d in problem.value.diagnostics] == ["E0911"]


def test_arrays_that_do_not_fit_are_a_compile_error(matmul):
    a, b = np.zeros((3, 4), np.float32), np.zeros((5, 2), np.float32)
    with pytest.raises(tcc.CompileError) as problem:
        matmul.run({"A": a, "B": b})
    assert {d.code[:3] for d in problem.value.diagnostics} == {"E06"}
    assert problem.value.line >= 1


def test_calls_with_several_results_and_in_out_tensors():
    a, c = np.ones(5, np.float32), np.arange(5, dtype=np.float32)
    b, d = tcc.compile(TWO, "both")(a, c)
    np.testing.assert_array_equal(b, 2 * a)
    np.testing.assert_array_equal(d, c + a)
    into = tcc.compile(TWO, "into")
    assert [w.code[0] for w in into.warnings] == ["W"]
    np.testing.assert_array_equal(into(a, c), c + a)
    with pytest.raises(tcc.UsageError, match="takes 2 arrays: A, B"):
        into(a)


def test_a_path_and_an_options_file(tmp_path):
    (tmp_path / "m.tc").write_text(MATMUL)
    (tmp_path / "m.yaml").write_text("sizes: {M: 8, K: 4}\ntarget: sm_80\n")
    kernel = tcc.compile(tmp_path / "m.tc", options=str(tmp_path / "m.yaml"), sizes={"M": 16})
    assert kernel.manifest["sizes"] == {"M": 16, "K": 4}
    assert kernel.manifest["target"] == "sm_80"
    assert tcc.compile(str(tmp_path / "m.tc"), target="sm_90").manifest["target"] == "sm_90"


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "naive", "mapping": {"tile": [16, 16]}},
        "preset: naive\nmapping: {tile: [16, 16]}",
        Options(preset="naive", mapping=MappingOptions(tile=(16, 16))),
    ],
)
def test_options_in_every_form(options):
    kernel = tcc.compile(MATMUL, options=options)
    assert kernel.manifest["options"] == {"preset": "naive", "mapping": {"tile": [16, 16]}}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"options": {"mapping": {"tille": [1]}}}, "E0501"),
        ({"options": {"mapping": {"tile": "4"}}}, "E0502"),
        ({"options": {"mapping": {"threads": [1024, 2]}}}, "E0511"),
        ({"options": "preset: nave"}, "E0506"),
        ({"sizes": {"M": 0}}, "E0503"),
        ({"sizes": {"M": 1.5}}, "E0502"),
        ({"sizes": {"M": True}}, "E0502"),
        ({"sizes": {"M": object()}}, "E0502"),
        ({"sizes": {"M": None}}, None),
        ({"target": "sm_1"}, "E0506"),
        ({"sizes": {"M": np.int64(3)}}, None),
    ],
)
def test_what_is_given_is_checked(arguments, code):
    if code is None:
        assert tcc.compile(MATMUL, **arguments)
        return
    with pytest.raises(tcc.CompileError) as problem:
        tcc.compile(MATMUL, **arguments)
    assert [d.code for d in problem.value.diagnostics] == [code]


def test_a_rejected_program():
    with pytest.raises(tcc.CompileError) as problem:
        tcc.compile("def f(float(N) A) -> (B) {\n    B(n) = Aa(n)\n}\n")
    assert (problem.value.line, problem.value.column) == (2, 12)
    assert "--> <text>:2:12" in str(problem.value)


def test_files_that_are_not_there():
    with pytest.raises(FileNotFoundError):
        tcc.compile("nowhere.tc")


def test_there_are_two_devices(matmul):
    with pytest.raises(tcc.UsageError, match="`tpu`"):
        matmul.run({}, device="tpu")


def test_public_names():
    assert set(tcc.__all__) <= set(dir(tcc))
    assert all(getattr(tcc, name) for name in tcc.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = tcc.nothing


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_same_inputs_give_the_same_bytes(matmul, seed):
    """Another process, other hashes: nothing comes from the order of a set."""
    script = (
        "import sys, json, tcc; k = tcc.compile(sys.argv[1], sizes={'K': 4});"
        "json.dump([k.cuda_source, k.header, k.manifest, k.plan.text()], sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, MATMUL],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
    )
    assert json.loads(done.stdout) == [
        matmul.cuda_source,
        matmul.header,
        json.loads(json.dumps(matmul.manifest)),
        matmul.plan.text(),
    ]


def test_an_empty_text_is_a_program_without_a_def():
    with pytest.raises(tcc.CompileError, match="E0109"):
        tcc.compile("")
