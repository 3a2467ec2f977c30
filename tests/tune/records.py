"""Keys and measurements for the tests of the database."""

from pathlib import Path

from tcc.api import request_of
from tcc.driver import Request
from tcc.inputs import options_of_source
from tcc.options import Options
from tcc.source import Source
from tcc.tune.key import key_of
from tcc.tune.record import Key, Measurement, State

SPECS = Path(__file__).parents[2] / "specs"
MATMUL = "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
RENAMED = "def g(float(Z, X) Q, float(X, Y) R) -> (S) { S(i, j) +=! Q(i, r) * R(r, j) }"
PLAN = """mapping:
  plan:
    mm_kernel:
      parallel:
        m: ["block.y", "thread.y 16"]
        n: ["block.x", "thread.x 16"]
      loops:
        k: ["tile 8"]
      staging:
        A: "shared"
"""


def request(text: str, options: str = "", target: str | None = None, **sizes: int) -> Request:
    given = options_of_source(Source("<options>", options)) if options else Options()
    return request_of(Source("<test>", text), None, sizes, given, target)


def key(text: str = MATMUL, target: str | None = None, **sizes: int) -> Key:
    found = key_of(request(text, target=target, **sizes))
    assert found is not None
    return found


def done(time_us: float = 1.0, plan: str = PLAN, **changes: object) -> Measurement:
    values: dict[str, object] = {
        "plan": plan,
        "time_us": time_us,
        "p10_us": time_us,
        "p90_us": time_us,
        "predicted": False,
        "device": "H100 SXM5",
        "method": "cuda events",
        "verified": True,
        "state": State.DONE,
        "reason": "",
        "origin": "random",
    }
    return Measurement(**{**values, **changes})  # type: ignore[arg-type]


def numbered(number: int) -> str:
    """One of many plans that differ."""
    return PLAN.replace("tile 8", f"tile {number + 1}")
