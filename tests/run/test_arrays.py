"""Arrays against interfaces: sizes from shapes, and a diagnostic for everything that is wrong."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest

from tcc.affine import Affine, const, var
from tcc.artifact import Argument, ArgumentKind, Interface
from tcc.errors import CompileError
from tcc.run.arrays import bind, check_dense
from tests.teaching import assert_teaches

N, M = var("N"), var("M")


@pytest.fixture
def interface(tensor):
    def make(*tensors: tuple, sizes=(), fixed=None, workspace: Affine | None = None) -> Interface:
        arguments = [tensor(*t) for t in tensors]
        arguments += [Argument(s, ArgumentKind.SIZE) for s in sizes]
        return Interface(
            "mm", tuple(arguments), (), fixed or {}, tuple(sizes), workspace or const(0)
        )

    return make


@pytest.fixture
def product(interface):
    return interface(
        ("A", "in", "float32", "M", "K"),
        ("B", "in", "float32", "K", "N"),
        ("C", "out", "float32", "M", "N"),
        sizes=("M", "N", "K"),
        workspace=var("M") * 4 + 8,
    )


def f32(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def rejected(interface: Interface, arrays: dict, sizes: dict | None = None) -> CompileError:
    with pytest.raises(CompileError) as caught:
        bind(interface, arrays, sizes or {})
    for found in caught.value.diagnostics:
        assert_teaches(found)
    return caught.value


def codes(error: CompileError) -> list[str]:
    return [d.code for d in error.diagnostics]


def test_sizes_come_from_shapes(product):
    bound = bind(product, {"A": f32(3, 5), "B": f32(5, 7)}, {})
    assert bound.sizes == {"M": 3, "N": 7, "K": 5}
    assert bound.shapes == {"A": (3, 5), "B": (5, 7), "C": (3, 7)}
    assert bound.workspace_bytes == 20
    assert set(bound.arrays) == {"A", "B"}


def test_a_clash_names_both_tensors(product):
    error = rejected(product, {"A": f32(3, 5), "B": f32(6, 7)})
    assert codes(error) == ["E0605"]
    text = str(error)
    assert "size `K` is both 5 and 6" in text
    assert "`K` is 5 in `A`" in text
    assert "`K` is 6 in `B`" in text
    assert error.diagnostics[0].primary.span.text == "6"
    assert (error.line, error.column) == (2, 12)


def test_given_sizes(product):
    arrays = {"A": f32(3, 5), "B": f32(5, 7)}
    assert bind(product, arrays, {"K": 5}).sizes["K"] == 5
    assert "`K` is given as 4" in str(rejected(product, arrays, {"K": 4}))
    error = rejected(product, arrays, {"k": 5})
    assert codes(error) == ["E0608"]
    assert "did you mean `K`?" in str(error)


def test_all_problems_are_reported(product):
    error = rejected(product, {"A": np.zeros((3, 5)), "B": f32(4), "D": f32(1)})
    assert codes(error) == ["E0603", "E0604", "E0602"]


def test_missing_and_misspelled(product):
    error = rejected(product, {"A": f32(3, 5), "b": f32(5, 7)})
    assert codes(error) == ["E0601", "E0602"]
    text = str(error)
    assert "no array is given for `B`" in text
    assert "`float32(K, N)`" in text
    assert "did you mean `B`?" in text


def test_outputs_are_not_passed(product):
    error = rejected(product, {"A": f32(3, 5), "B": f32(5, 7), "C": f32(3, 7)})
    assert codes(error) == ["E0602"]
    assert "this is an output; the call returns it" in str(error)


def test_inout_is_passed_by_name(interface):
    interface_ = interface(("A", "inout", "float32", "N"), sizes=("N",))
    assert bind(interface_, {"A": f32(4)}, {}).sizes == {"N": 4}
    assert "in/out tensor" in str(rejected(interface_, {}))


def test_constant_extents(interface):
    fixed = interface(("A", "in", "float32", 3, "N"), sizes=("N",))
    error = rejected(fixed, {"A": f32(4, 2)})
    assert codes(error) == ["E0606"]
    assert "dimension 0 of array `A` is 4, not 3" in str(error)


def test_fixed_sizes(interface):
    fixed = interface(("A", "in", "float32", 3, "N"), sizes=("N",), fixed={"M": 3})
    assert bind(fixed, {"A": f32(3, 2)}, {"M": 3}).sizes == {"N": 2}
    error = rejected(fixed, {"A": f32(3, 2)}, {"M": 4})
    assert codes(error) == ["E0605"]
    assert "size `M` is 3 in this kernel, not 4" in str(error)
    unsubstituted = interface(("A", "in", "float32", "M"), fixed={"M": 3})
    assert codes(rejected(unsubstituted, {"A": f32(4)})) == ["E0606"]


def test_extents_with_arithmetic(interface):
    window = interface(
        ("A", "in", "float32", N + M - 1), ("B", "in", "float32", "M"), sizes=("N", "M")
    )
    bound = bind(window, {"A": f32(10), "B": f32(3)}, {"N": 8})
    assert bound.sizes == {"N": 8, "M": 3}
    error = rejected(window, {"A": f32(9), "B": f32(3)}, {"N": 8})
    assert codes(error) == ["E0606"]
    assert "`M + N - 1` is 10: must be 10" in str(error)
    assert "`M` is 3 in `B`" in str(error)
    with pytest.raises(ValueError, match="no shape"):
        bind(window, {"A": f32(10), "B": f32(3)}, {})


def test_size_of_an_output(interface):
    output = interface(("O", "out", "float32", "N"), sizes=("N",))
    assert bind(output, {}, {"N": 4}).shapes == {"O": (4,)}


@pytest.mark.parametrize("value", [0, -3, 2**31])
def test_sizes_out_of_range(interface, value):
    output = interface(("O", "out", "float32", "N"), sizes=("N",))
    assert codes(rejected(output, {}, {"N": value})) == ["E0607"]


def test_empty_array(product):
    error = rejected(product, {"A": f32(0, 5), "B": f32(5, 7)})
    assert codes(error) == ["E0607"]
    assert "size `M` is 0" in str(error)


def test_element_types(interface):
    wanted = interface(("A", "in", "bool", 2))
    assert codes(rejected(wanted, {"A": np.zeros(2, np.uint8)})) == ["E0603"]
    big_endian = interface(("A", "in", "float32", 2))
    error = rejected(big_endian, {"A": np.zeros(2, ">f4")})
    assert "not `float32`" in str(error)
    assert 'numpy.asarray(A, "float32")' in str(error)


def test_python_numbers_for_scalars(interface):
    scalars = interface(("a", "in", "float32"), ("n", "in", "int8"), ("b", "in", "bool"))
    bound = bind(scalars, {"a": 0.5, "n": -3, "b": True}, {})
    assert [bound.arrays[k].dtype.name for k in "anb"] == ["float32", "int8", "bool"]
    assert bound.arrays["a"] == np.float32(0.5)
    for wrong in ({"a": True}, {"n": 300}, {"n": 1.5}, {"b": 1}, {"a": np.float64(1)}):
        error = rejected(scalars, {"a": 0.5, "n": 1, "b": True} | wrong)
        assert codes(error) == ["E0603"]


def test_bfloat16_survives_a_file(interface):
    half = interface(("A", "in", "bfloat16", "N"), sizes=("N",))
    a = np.array([1.5, -2.0], dtype=ml_dtypes.bfloat16)
    file = io.BytesIO()
    np.savez(file, A=a)
    file.seek(0)
    loaded = np.load(file)["A"]
    assert loaded.dtype == np.dtype("V2"), "NumPy does not know the type"
    bound = bind(half, {"A": loaded}, {}).arrays["A"]
    assert bound.dtype == ml_dtypes.bfloat16
    assert bound.tolist() == a.tolist()


def test_check_dense(product):
    check_dense(product, {"A": ((2, 3), (3, 1)), "B": ((1, 4), (99, 1)), "C": ((), ())})
    with pytest.raises(CompileError, match=r"E0708.*not dense in row-major order"):
        check_dense(product, {"A": ((2, 3), (1, 2))})


def test_what_holds_no_numbers_cannot_be_converted(product):
    found = rejected(product, {"A": None, "B": f32(5, 7)}).diagnostics[0]
    assert found.help == ("pass an array of numbers",)


def test_numbers_that_are_too_large(interface):
    takes = interface(("A", "in", "float32"), ("B", "out", "float32"))
    assert np.isinf(bind(takes, {"A": 1e300}, {}).arrays["A"])
    assert codes(rejected(takes, {"A": 10**400})) == ["E0603"]
