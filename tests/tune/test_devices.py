"""What `--device`, `--objective` and `--cluster` become, with stand-ins for GPUs."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tcc.errors import ToolchainError, UsageError
from tcc.tune import devices
from tcc.tune.devices import EVENTS, Where, placed
from tests.tune.programs import request


class FakeGpu:
    """Four GPUs, the last one of another kind."""

    target = "sm_80"

    def __init__(self, *, index: int) -> None:
        self.architecture = "sm_75" if index == 3 else "sm_80"
        self.description = f"GPU {index}"

    @property
    def cupy(self) -> Any:
        return SimpleNamespace(cuda=SimpleNamespace(runtime=self))

    def getDeviceCount(self) -> int:  # noqa: N802 - the name in CUDA
        return 4


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "CudaDevice", FakeGpu)


def test_the_host_predicts() -> None:
    place = placed(request(), Where())
    assert place.means.predicted
    assert place.means.device == "H100 SXM5"
    assert place.request == request()


@pytest.mark.usefixtures("gpus")
def test_a_gpu_measures_unless_the_model_is_asked_for() -> None:
    place = placed(request(), Where("cuda", own_target=True))
    assert (place.means.device, place.means.method) == ("GPU 0", EVENTS)
    assert not place.means.predicted
    assert place.request.target.name == "sm_80"
    place = placed(request(), Where("cuda:1,2", "model"))
    assert place.means.predicted
    assert place.means.device == "H100 SXM5"
    assert place.request.target.name == "sm_90"


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda:0,4", "there is no GPU 4; there are 4, the first is 0"),
        ("cuda:1,1", "a GPU is named twice"),
        ("cuda:0,3", "the GPUs are of several kinds: sm_75, sm_80"),
    ],
)
def test_gpus_that_do_not_fit(device: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        placed(request(), Where(device))


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ToolchainError, match="E0706"):
        placed(request(), Where("cuda"))


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tcc.tune.cluster", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"tcc\[tune\]"):
        placed(request(), Where(cluster="tcp://127.0.0.1:1"))
