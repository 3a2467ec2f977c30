"""Kernels as operators of PyTorch: shapes, gradients, `torch.compile`."""

from __future__ import annotations

import numpy as np
import pytest

import tcc

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tcc.torch  # noqa: E402

try:
    from tqdm import tqdm
except ImportError:
    pass
else:
    # PyTorch shows its progress with it, by a thread that stays; a process with threads cannot fork
    # and so compiles more slowly.
    tqdm.monitor_interval = 0

PROGRAM = """\
def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }
def matmul_grad(float(M, K) A, float(K, N) B, float(M, N) C_grad) -> (A_grad, B_grad) {
    A_grad(m, k) +=! C_grad(m, n) * B(k, n)
    B_grad(k, n) +=! C_grad(m, n) * A(m, k)
}
def only_a(float(K, N) B, float(M, N) C_grad) -> (A_grad) {
    A_grad(m, k) +=! C_grad(m, n) * B(k, n)
}
def conv(float(N, C, H, W) I, float(M, C, KH, KW) F) -> (O) {
    O(n, m, h, w) +=! I(n, c, h + kh, w + kw) * F(m, c, kh, kw)
}
def pick(float(R, C) T, int32(N) Index) -> (O, Twice) {
    O(n, c) = T(Index(n), c)
    Twice(r, c) = 2.0 * T(r, c)
}
def pick_grad(float(R, C) Twice_grad, float(N, C) O_grad) -> (T_grad) {
    T_grad(r, c) = 2.0 * Twice_grad(r, c)
}
def exponential(float(N) A) -> (B) { B(i) = exp(A(i)) }
def exponential_grad(float(N) B, float(N) B_grad) -> (A_grad) { A_grad(i) = B_grad(i) * B(i) }
def twice(bfloat16(N) A) -> (B) { B(i) = A(i) + A(i) }
def into(float(N) A) -> (S) { S(i) += A(i) }
def ones(float(N) A) -> (B) { B(i) = 1.0 where i in 0:N }
def nothing() -> (float(4) B) { B(i) = 1.0 where i in 0:4 }
def wrong_rank(float(M, K) A, float(K) C_grad) -> (A_grad) { A_grad(m, k) = A(m, k) + C_grad(k) }
def wrong_name(float(M, N) C_gradd) -> (A_grad) { A_grad(m, k) = C_gradd(m, k) }
def wrong_type(float(M, N) C_grad) -> (double(M, N) A_grad) { A_grad(m, k) = C_grad(m, k) }
"""


def kernel(entry, **sizes):
    return tcc.compile(PROGRAM, entry, sizes)


@pytest.fixture(scope="module")
def matmul():
    return tcc.torch.operator("tcc_tests::matmul", kernel("matmul"), "matmul_grad")


def leaves(*shapes):
    torch.manual_seed(7)
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


def gradients(function, *tensors):
    return torch.autograd.grad(function(*tensors).square().sum(), tensors)


def assert_close(got, wanted):
    torch.testing.assert_close(got, wanted)


def test_results_and_gradients(matmul):
    a, b = leaves((5, 7), (7, 3))
    assert_close(matmul(a, b), a @ b)
    assert_close(gradients(matmul, a, b), gradients(torch.matmul, a, b))


def test_pytorch_checks_the_operator(matmul):
    """Schema, fake tensors, registration of gradients, tracing with open shapes."""
    results = torch.library.opcheck(matmul, tuple(leaves((5, 7), (7, 3))))
    assert set(results.values()) == {"SUCCESS"}


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(matmul, dynamic):
    def loss(a, b):
        return (matmul(a, b) + 1).relu()

    compiled = torch.compile(loss, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    a, b = leaves((5, 7), (7, 3))
    assert_close(compiled(a, b), loss(a, b))
    assert_close(gradients(compiled, a, b), gradients(loss, a, b))


def test_open_shapes_compile_once(matmul):
    compiled = []

    def count(graph, _):
        compiled.append(graph)
        return graph.forward

    function = torch.compile(lambda a, b: matmul(a, b) + 1, dynamic=True, backend=count)
    for m, k, n in ((5, 7, 3), (6, 2, 9), (4, 8, 2)):
        a, b = torch.ones(m, k), torch.ones(k, n)
        assert_close(function(a, b), a @ b + 1)
    assert len(compiled) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled_by_inductor(matmul):
    def loss(a, b):
        return (matmul(a.sin(), b) + 1).relu()

    a, b = leaves((5, 7), (7, 3))
    compiled = torch.compile(loss, fullgraph=True)
    assert_close(compiled(a, b), loss(a, b))
    assert_close(gradients(compiled, a, b), gradients(loss, a, b))


def test_shapes_from_the_def():
    """Extents that are more than a size: `H - KH + 1`."""
    conv = tcc.torch.operator("tcc_tests::conv", kernel("conv"))
    inputs = torch.randn(2, 3, 8, 9), torch.randn(4, 3, 3, 2)
    assert_close(conv(*inputs), torch.nn.functional.conv2d(*inputs))
    on_meta = conv(*(t.to("meta") for t in inputs))
    assert on_meta.shape == (2, 4, 6, 8)
    assert set(torch.library.opcheck(conv, inputs).values()) == {"SUCCESS"}


def test_a_layer_learns(matmul):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(3, 2))

        def forward(self, x):
            return matmul(x, self.weight)

    torch.manual_seed(1)
    layer, x, wanted = Layer(), torch.randn(16, 3), torch.randn(3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.3)
    step = torch.compile(layer, fullgraph=True, backend="aot_eager")
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = (step(x) - x @ wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


def test_what_the_backward_kernel_reads():
    """An output of the operator; gradients that come expanded, not dense."""
    exponential = tcc.torch.operator(
        "tcc_tests::exponential", kernel("exponential"), kernel("exponential_grad")
    )
    (a,) = leaves((6,))
    exponential(a).sum().backward()
    assert_close(a.grad, a.exp().detach())


def test_several_results_and_inputs_without_gradient():
    pick = tcc.torch.operator("tcc_tests::pick", kernel("pick"), "pick_grad")
    (t,) = leaves((4, 2))
    index = torch.tensor([3, 1, 1], dtype=torch.int32)
    o, twice = pick(t, index)
    assert_close(o, t[index.long()])
    (gradient,) = torch.autograd.grad(twice.sum(), t)
    assert_close(gradient, torch.full((4, 2), 2.0))
    (gradient,) = torch.autograd.grad(pick(t, index)[0].sum(), t)
    assert_close(gradient, torch.zeros(4, 2))


def test_a_gradient_that_nobody_computes():
    partial = tcc.torch.operator("tcc_tests::partial", kernel("matmul"), "only_a")
    a, b = leaves((5, 7), (7, 3))
    assert_close(torch.autograd.grad(partial(a, b.detach()).sum(), a)[0], torch.ones(5, 3) @ b.T)
    with pytest.raises(tcc.UsageError, match="no output `B_grad`"):
        partial(a, b)


def test_fixed_sizes_reach_the_backward_kernel():
    fixed = kernel("matmul", K=7)
    matmul = tcc.torch.operator("tcc_tests::fixed", fixed, "matmul_grad")
    a, b = leaves((5, 7), (7, 3))
    assert_close(gradients(matmul, a, b), gradients(torch.matmul, a, b))
    with pytest.raises(tcc.CompileError, match="E0606"):
        matmul(torch.ones(5, 6), torch.ones(6, 3))
    with pytest.raises(RuntimeError, match="an extent of `A` must be 7"):
        matmul(torch.ones(5, 6, device="meta"), torch.ones(6, 3, device="meta"))
    with pytest.raises(RuntimeError, match=r"`A` must be `float32\(M, 7\)`, not torch.float64"):
        matmul(torch.ones(5, 7, device="meta").double(), torch.ones(7, 3, device="meta"))


def test_any_layout_and_bfloat16(matmul):
    a, b = torch.randn(7, 5).T, torch.randn(3, 14).T[::2]
    assert_close(matmul(a, b), a @ b)
    twice = tcc.torch.operator("tcc_tests::twice", kernel("twice"))
    assert_close(twice(torch.ones(3, dtype=torch.bfloat16)), torch.full((3,), 2.0).bfloat16())


def test_in_out_tensors_are_left_as_they_are():
    into = tcc.torch.operator("tcc_tests::into", kernel("into"))
    a, s = torch.ones(4), torch.arange(4.0)
    assert_close(into(a, s), s + 1)
    assert_close(s, torch.arange(4.0))
    assert set(torch.library.opcheck(into, (a, s)).values()) == {"SUCCESS"}


def test_gradients_once_only(matmul):
    a, b = leaves((5, 7), (7, 3))
    (first,) = torch.autograd.grad(matmul(a, b).square().sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        first.sum().backward()


@pytest.mark.parametrize(
    ("forward", "backward", "message"),
    [
        ("nothing", None, "has no inputs"),
        ("into", "exponential_grad", "`S` of `into` is an in/out tensor"),
        ("matmul", "exponential_grad", r"input `B` of .* is `float32\(N\)`; `B` is"),
        ("matmul", "wrong_rank", r"input `C_grad` of `wrong_rank` is .*; `C` is `float32\(M, N\)`"),
        ("matmul", "wrong_name", "did you mean `C_grad`"),
        ("matmul", "wrong_type", "output `A_grad` .* is `float64"),
        ("pick", "only_a", "input `B` .* is none of"),
    ],
)
def test_backward_kernels_that_do_not_fit(forward, backward, message):
    with pytest.raises(tcc.UsageError, match=message):
        tcc.torch.operator("tcc_tests::unfit", kernel(forward), backward)


def test_a_backward_def_that_is_not_there():
    with pytest.raises(tcc.CompileError, match="matmul_gradd"):
        tcc.torch.operator("tcc_tests::unknown", kernel("matmul"), "matmul_gradd")


@pytest.mark.gpu
def test_on_a_gpu(matmul):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        a, b = torch.randn(300, 200, device="cuda"), torch.randn(200, 100, device="cuda")
        got = matmul(a, b)
        assert got.is_cuda
    stream.synchronize()
    np.testing.assert_allclose(got.cpu(), (a.double() @ b.double()).cpu(), rtol=1e-4, atol=1e-4)
