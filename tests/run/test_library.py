"""Arrays of NumPy, PyTorch and others in calls: in place, and results of the same library."""

from __future__ import annotations

import array

import numpy as np
import pytest

import tcc
from tcc.run.library import PLAIN, UnusableArray, library_of

PROGRAM = """\
def scale(float(N, M) A, float S) -> (B) { B(i, j) = S * A(i, j) }
def both(int32(N) A) -> (B, C) { B(i) = A(i) + 1  C(i) = A(i) * 2 }
def into(float(N) A) -> (S) { S(i) += A(i) }
def twice(bfloat16(N) A) -> (B) { B(i) = A(i) + A(i) }
def flags(bool(N) A, uint8(N) B, float64(N) C) -> (D, E, F) {
    D(i) = !A(i)  E(i) = B(i)  F(i) = C(i)
}
"""
VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def scale():
    return tcc.compile(PROGRAM, "scale")


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def codes(problem):
    return [d.code for d in problem.value.diagnostics]


# -- what is no array, or no mapping --------------------------------------------------------


@pytest.mark.parametrize("given", [[VALUES, 2.0], VALUES, None], ids=["list", "array", "None"])
def test_inputs_that_are_no_mapping(scale, given):
    with pytest.raises(TypeError, match=r"`inputs` is a .*, and must be a mapping from names"):
        scale.run(given)


def test_an_out_that_is_no_mapping(scale):
    with pytest.raises(TypeError, match="`out` is a list, and must be a mapping from names"):
        scale.run({"A": VALUES, "S": 2.0}, out=[])


@pytest.mark.parametrize("key", [0, None, b"A"], ids=repr)
def test_keys_that_are_no_names(scale, key):
    with pytest.raises(TypeError, match=r"the keys of `inputs` are names of tensors, and .* is no"):
        scale.run({key: VALUES, "S": 2.0})


def test_rows_of_different_lengths(scale):
    with pytest.raises(tcc.CompileError, match="NumPy makes no array of it") as problem:
        scale([[1.0], [1.0, 2.0]], 2.0)
    assert codes(problem) == ["E0617"]


def test_a_mask_is_not_dropped(scale):
    masked = np.ma.masked_array(VALUES, mask=VALUES > 2)
    for call in (lambda: scale(masked, 2.0), lambda: scale.run({"A": masked, "S": 2.0})):
        with pytest.raises(tcc.CompileError, match="its mask would be lost") as problem:
            call()
        assert codes(problem) == ["E0617"]
    with pytest.raises(tcc.CompileError, match="its mask would be lost"):
        scale(VALUES, 2.0, out=np.ma.masked_array(VALUES))
    np.testing.assert_array_equal(scale(masked.filled(0), 1.0), np.where(VALUES > 2, 0, VALUES))


# -- NumPy, and what speaks its protocols ---------------------------------------------------


def test_numpy(scale):
    result = scale(VALUES, 2.0)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, 2 * VALUES)
    np.testing.assert_array_equal(scale(VALUES.T, 2.0), 2 * VALUES.T)  # any layout


def test_out(scale):
    out = np.empty((2, 3), np.float32)
    assert scale(VALUES, 3.0, out=out) is out
    np.testing.assert_array_equal(out, 3 * VALUES)
    assert scale.run({"A": VALUES, "S": 1.0}, out={"B": out})["B"] is out
    np.testing.assert_array_equal(out, VALUES)


def test_several_results():
    both = tcc.compile(PROGRAM, "both")
    a, b, c = np.arange(4, dtype=np.int32), np.empty(4, np.int32), np.empty(4, np.int32)
    assert both(a, out=(b, c))[1] is c
    np.testing.assert_array_equal(b, a + 1)
    np.testing.assert_array_equal(c, a * 2)
    with pytest.raises(tcc.UsageError, match="gives 2 results: B, C; 1 given"):
        both(a, out=b)


def test_in_place():
    into = tcc.compile(PROGRAM, "into")
    a, s = np.ones(5, np.float32), np.arange(5, dtype=np.float32)
    result = into(a, s)
    assert result is not s
    np.testing.assert_array_equal(s, np.arange(5))
    assert into(a, s, out=s) is s
    np.testing.assert_array_equal(s, np.arange(5) + 1)


@pytest.mark.parametrize(
    ("out", "label"),
    [
        (np.empty((2, 4), np.float32), r"it has shape \(2, 4\), the result has \(2, 3\)"),
        (np.empty((2, 3), np.float64), "elements of type `float64`, not `float32`"),
        (np.empty((3, 2), np.float32).T, "not dense in row-major order"),
        (np.broadcast_to(np.float32(0), (2, 3)), "read-only"),
        ([[0.0] * 3] * 2, "no array that can be written to"),
        (VALUES, "it shares memory with `A`"),
        (VALUES[::-1], "not dense"),
    ],
)
def test_results_that_do_not_fit(scale, out, label):
    with pytest.raises(tcc.CompileError, match=label) as problem:
        scale(VALUES, 2.0, out=out)
    assert codes(problem) == ["E0618"]


def test_results_share_no_memory():
    both = tcc.compile(PROGRAM, "both")
    memory = np.empty(6, np.int32)
    with pytest.raises(tcc.CompileError, match="it shares memory with `B`"):
        both(np.ones(4, np.int32), out=(memory[:4], memory[2:]))


def test_a_name_that_is_no_result(scale):
    with pytest.raises(tcc.CompileError, match="the results are `B`") as problem:
        scale.run({"A": VALUES, "S": 1.0}, out={"A": VALUES})
    assert codes(problem) == ["E0618"]


class OnlyDlpack:
    """An array of a library that speaks DLPack and nothing else."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack__(self, **asked):
        return self.values.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.device


def test_dlpack(scale):
    np.testing.assert_array_equal(scale(OnlyDlpack(VALUES), 2.0), 2 * VALUES)


def test_buffers_of_python():
    into = tcc.compile(PROGRAM, "into")
    a = array.array("f", [1, 2])
    np.testing.assert_array_equal(into(a, np.ones(2, np.float32)), [2, 3])


def test_places():
    assert PLAIN.place(VALUES) is None
    assert PLAIN.place(OnlyDlpack(VALUES, (2, 3))) == 3
    assert PLAIN.place(OnlyDlpack(VALUES, (3, 0))) is None, "pinned memory of the CPU"
    with pytest.raises(UnusableArray, match="neither in CPU memory nor on a CUDA GPU"):
        PLAIN.place(OnlyDlpack(VALUES, (10, 0)))


def test_the_host_device_takes_nothing_from_a_gpu(scale):
    with pytest.raises(tcc.CompileError, match="it is on GPU 1") as problem:
        scale.run({"A": OnlyDlpack(VALUES, (2, 1)), "S": 1.0})
    assert codes(problem) == ["E0617"]


def test_one_gpu_for_all():
    arrays = {"A": OnlyDlpack(VALUES, (2, 0)), "S": OnlyDlpack(VALUES, (2, 1))}
    with pytest.raises(tcc.CompileError, match="`A` and `S` are of different GPUs") as problem:
        tcc.compile(PROGRAM, "scale").run(arrays)
    assert codes(problem) == ["E0609"]


def test_dlpack_that_refuses(scale):
    class Stubborn(OnlyDlpack):
        def __dlpack__(self, **_):
            raise BufferError("not today")

    with pytest.raises(tcc.CompileError, match="not today") as problem:
        scale(Stubborn(VALUES), 2.0)
    assert codes(problem) == ["E0617"]


# -- PyTorch -------------------------------------------------------------------------------


def test_torch(torch, scale):
    a = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    result = scale(a, 2.0)
    assert isinstance(result, torch.Tensor)
    assert torch.equal(result, 2 * a)
    assert torch.equal(scale.run({"A": a.T, "S": torch.tensor(2.0)})["B"], 2 * a.T)
    out = torch.empty(2, 3)
    assert scale(a, 3.0, out=out) is out
    assert torch.equal(out, 3 * a)


def test_numpy_goes_with_torch(torch, scale):
    result = scale(torch.ones(2, 3), np.float32(4))
    assert torch.equal(result, torch.full((2, 3), 4.0))


def test_torch_in_place(torch):
    into = tcc.compile(PROGRAM, "into")
    a, s = torch.ones(5), torch.zeros(5)
    assert into(a, s, out=s) is s
    assert torch.equal(s, a)
    with pytest.raises(tcc.CompileError, match="it shares memory with `A`"):
        into(a, s, out=a)


def test_types_of_torch(torch):
    flags = tcc.compile(PROGRAM, "flags")
    d, e, f = flags(
        torch.tensor([True, False]),
        torch.tensor([1, 255], dtype=torch.uint8),
        torch.tensor([0.5, -1], dtype=torch.float64),
    )
    assert (d.dtype, e.dtype, f.dtype) == (torch.bool, torch.uint8, torch.float64)
    assert (d.tolist(), e.tolist(), f.tolist()) == ([False, True], [1, 255], [0.5, -1])
    twice = tcc.compile(PROGRAM, "twice")
    result = twice(torch.tensor([1.5, -2], dtype=torch.bfloat16))
    assert result.dtype is torch.bfloat16
    assert result.tolist() == [3, -4]


def test_tensors_that_cannot_be_used(torch, scale):
    a = torch.ones(2, 3)
    for tensor, label in (
        (a.clone().requires_grad_(), "it requires a gradient"),
        (a.to_sparse(), "its layout is `torch.sparse_coo`"),
        (a.to("meta"), "it is on device `meta`"),
        (a.to(torch.float8_e4m3fn), "NumPy cannot see it"),
    ):
        with pytest.raises(tcc.CompileError, match=label) as problem:
            scale(tensor, 2.0)
        assert codes(problem) == ["E0617"]
    with torch.no_grad():
        assert torch.equal(scale(torch.nn.Parameter(a), 2.0), 2 * a)
    with pytest.raises(tcc.CompileError) as problem:
        scale(a.double(), 2.0)
    assert codes(problem) == ["E0603"]


def test_a_library_is_found_by_its_classes(torch):
    class Own(torch.Tensor):
        pass

    assert library_of(torch.ones(2).as_subclass(Own)).name == "torch"
    assert library_of(3.0) is PLAIN
