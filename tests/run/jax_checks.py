"""Arrays of JAX in calls. `test_jax.py` runs this file in a process of its own."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest

import tcc

PROGRAM = """\
def scale(float(N, M) A, float S) -> (B) { B(i, j) = S * A(i, j) }
def twice(bfloat16(N) A) -> (B) { B(i) = A(i) + A(i) }
"""
VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def scale():
    return tcc.compile(PROGRAM, "scale")


def codes(problem):
    return [d.code for d in problem.value.diagnostics]


def test_jax(scale):
    a = jax.numpy.asarray(VALUES)
    result = scale(a, 2.0)
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(result, 2 * VALUES)
    np.testing.assert_array_equal(scale.run({"A": a, "S": jax.numpy.float32(1)})["B"], VALUES)
    with pytest.raises(tcc.CompileError, match="it is read-only"):
        scale(a, 2.0, out=a + 1)


def test_arrays_of_jax_without_numbers(scale):
    gone = jax.numpy.ones((2, 3))
    gone.delete()
    for array in (gone, jax.random.key(0)):
        with pytest.raises(tcc.CompileError, match=r"it is deleted|NumPy cannot see") as problem:
            scale(array, 2.0)
        assert codes(problem) == ["E0617"]


def test_types_of_jax():
    twice = tcc.compile(PROGRAM, "twice")
    result = twice(jax.numpy.asarray([1.5, -2], dtype=jax.numpy.bfloat16))
    assert result.dtype == ml_dtypes.bfloat16
    assert result.tolist() == [3, -4]
    wide = tcc.compile("def wide(float(N) A) -> (double(N) B) { B(i) = A(i) }")
    with pytest.raises(tcc.CompileError, match="unless `jax_enable_x64` is set") as problem:
        wide(jax.numpy.ones(3))
    assert codes(problem) == ["E0617"]


def test_jax_traces(scale):
    with pytest.raises(tcc.CompileError, match="JAX is tracing the call") as problem:
        jax.jit(lambda a: scale(a, 2.0))(jax.numpy.ones((2, 3)))
    assert codes(problem) == ["E0617"]

    @jax.jit
    def double(a):
        shape = jax.ShapeDtypeStruct(a.shape, a.dtype)
        return jax.pure_callback(lambda x: scale(x, 2.0), shape, a)

    np.testing.assert_array_equal(double(jax.numpy.asarray(VALUES)), 2 * VALUES)


def test_one_library_for_all(scale):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(tcc.CompileError, match="`A` and `S` are of different libraries") as problem:
        scale(torch.ones(2, 3), jax.numpy.float32(1))
    assert codes(problem) == ["E0609"]
