"""Programs that exercise the polyhedral model, and the way from their text to it."""

from __future__ import annotations

from collections.abc import Mapping

from tcc.diagnostics import Report
from tcc.frontend import tir
from tcc.frontend.elaborate import elaborate
from tcc.frontend.parser import parse
from tcc.render import render_text
from tcc.sched.dependences import Dependences, compute_dependences
from tcc.sched.scop import Scop, build_scop
from tcc.source import Source

GEMM = """
def gemm(float(M, K) A, float(K, N) B) -> (C) {
    C(i, j) +=! A(i, k) * B(k, j)
}
"""

MATMUL_BIAS_RELU = """
def layer(float(M, K) A, float(K, N) B, float(N) bias) -> (D) {
    C(i, j) +=! A(i, k) * B(k, j)
    D(i, j) = max(C(i, j) + bias(j), 0.0)
}
"""

CONVOLUTION = """
def conv(float(N, C, H, W) I, float(F, C, KH, KW) K) -> (O) {
    O(n, f, h, w) +=! I(n, c, h + p, w + q) * K(f, c, p, q)
}
"""

SOFTMAX = """
def softmax(float(M, N) X) -> (Y) {
    mx(i) max=! X(i, j)
    E(i, j) = exp(X(i, j) - mx(i))
    sm(i) +=! E(i, j)
    Y(i, j) = E(i, j) / sm(i)
}
"""

TRANSPOSE = "def transpose(float(M, N) X) -> (Y) { Y(j, i) = X(i, j) }"

GROUP_NORM = """
def group_norm(float(N, G, D, H, W) I, float(G, D) gamma, float(G, D) beta) -> (O) {
    s(n, g) +=! I(n, g, c, h, w)
    q(n, g) +=! I(n, g, c, h, w) * I(n, g, c, h, w)
    mu(n, g) = s(n, g) / (D * H * W)
    va(n, g) = q(n, g) / (D * H * W) - mu(n, g) * mu(n, g)
    O(n, g, c, h, w) = gamma(g, c) * (I(n, g, c, h, w) - mu(n, g)) * rsqrt(va(n, g)) + beta(g, c)
}
"""

STENCILS = """
def stencils(float(N) X) -> (Y) {
    T(i) = X(i) + X(i + 1) + X(i + 2)
    Y(i) = T(i) * T(i + 1)
}
"""

SCALARS = """
def summary(float(N) X) -> (mean, least, centred) {
    mean +=! X(n)
    mean = mean / N
    least min=! X(n)
    centred(n) = X(n) - mean
}
"""

TRIANGLE = """
def triangle(float(N, N) L, float(N) X) -> (Y) {
    Y(i) +=! L(i, r) * X(r) where r in 0:i
    Y(i) = Y(i) + L(i, i) where i in 1:N
}
"""

GATHER = """
def gather(float(V, D) table, int32(K) pick, float(D) scale) -> (out) {
    T(v, d) = table(v, d) * scale(d)
    out(k, d) = pick(k) > 0 ? T(pick(k), d) : T(0, d)
}
"""

PARTS = """
def parts(float(N) X) -> (Y) {
    Y(i) = X(i)
    Y(i) = 2.0 * Y(i) where i in 1:N
    Y(i) += X(i) where i in 0:2
    Y(i) = Y(i) + 1.0 where i in 2:N
}
"""


def multi_layer(layers: int) -> str:
    """A perceptron: every layer a matrix product with bias, and a rectifier."""
    inputs = ["float(B, N0) X0"]
    lines = []
    for k in range(1, layers + 1):
        inputs += [f"float(N{k}, N{k - 1}) W{k}", f"float(N{k}) b{k}"]
        lines += [
            f"    H{k}(i, j) = b{k}(j) where i in 0:B",
            f"    H{k}(i, j) += X{k - 1}(i, k) * W{k}(j, k)",
            f"    X{k}(i, j) = max(H{k}(i, j), 0.0)",
        ]
    body = "\n".join(lines)
    return f"def mlp({', '.join(inputs)}) -> (X{layers}) {{\n{body}\n}}\n"


def lstm() -> str:
    """An LSTM cell: four gates of two matrix products each."""
    inputs = ["float(B, I) x", "float(B, H) h", "float(B, H) c"]
    lines = []
    for gate in "ifgo":
        inputs += [f"float(H, I) W{gate}", f"float(H, H) V{gate}", f"float(H) bias_{gate}"]
        lines += [
            f"    a{gate}(b, j) = bias_{gate}(j) where b in 0:B",
            f"    a{gate}(b, j) += x(b, k) * W{gate}(j, k)",
            f"    a{gate}(b, j) += h(b, k) * V{gate}(j, k)",
        ]
    lines += [
        "    c1(b, j) = sigmoid(af(b, j)) * c(b, j) + sigmoid(ai(b, j)) * tanh(ag(b, j))",
        "    h1(b, j) = sigmoid(ao(b, j)) * tanh(c1(b, j))",
    ]
    body = "\n".join(lines)
    return f"def lstm({', '.join(inputs)}) -> (c1, h1) {{\n{body}\n}}\n"


PROGRAMS = {
    "gemm": GEMM,
    "matmul_bias_relu": MATMUL_BIAS_RELU,
    "convolution": CONVOLUTION,
    "softmax": SOFTMAX,
    "transpose": TRANSPOSE,
    "group_norm": GROUP_NORM,
    "stencils": STENCILS,
    "scalars": SCALARS,
    "triangle": TRIANGLE,
    "gather": GATHER,
    "parts": PARTS,
    "mlp": multi_layer(4),
    "lstm": lstm(),
}


def elaborated(text: str, sizes: Mapping[str, int] | None = None) -> tir.Program:
    """The typed program of the only def; an assertion error when it is rejected."""
    report = Report()
    module = parse(Source("test.tc", text), report)
    program = elaborate(module, None, sizes or {}, report)
    if program is None or report.errors:
        raise AssertionError(render_text(report.items))
    return program


def model(text: str) -> tuple[Scop, Dependences]:
    """The model of a program and its dependences."""
    scop = build_scop(elaborated(text))
    return scop, compute_dependences(scop)
