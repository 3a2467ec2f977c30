"""What kernels declare is held against the limit once more, after they are made."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tcc.api import request_of
from tcc.driver import compile_program
from tcc.errors import CompileError
from tcc.inputs import options_of_data
from tcc.sched import choose
from tcc.source import Source
from tests.sched.programs import GEMM

SIZES = {"M": 512, "N": 512, "K": 512}


@pytest.mark.parametrize(
    ("mapping", "limit"), [({}, 48 * 1024), ({"max_shared_memory": 20000}, 20000)]
)
def test_a_budget_that_counts_too_little_is_found(mapping: dict[str, int], limit: int) -> None:
    """The estimate says that a plan with 64 KiB fits."""
    given = {
        "gemm_kernel": {
            "parallel": {"i": ["block.y", "thread.y 16", "inner 8"], "j": ["block.x", "thread.x 16", "inner 8"]},
            "loops": {"k": ["tile 64"]},
            "staging": {"A": "shared", "B": "shared"},
        }
    }  # fmt: skip
    options = options_of_data("<options>", {"mapping": {"plan": given, **mapping}})
    request = request_of(Source("gemm.tc", GEMM), None, SIZES, options, None)
    with (
        patch.object(choose, "over_budget", lambda *_: None),
        pytest.raises(CompileError) as found,
    ):
        compile_program(request)
    (problem,) = found.value.diagnostics
    assert problem.code == "E0524"
    assert problem.message == f"a block needs 65776 bytes of shared memory; {limit} are allowed"
