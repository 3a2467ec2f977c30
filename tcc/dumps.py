"""The texts of the stages of one compilation, made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping


class Dumps(Mapping[str, str]):
    """The text of every stage, made when it is asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], str]]) -> None:
        self._makers = dict(makers)

    def __getitem__(self, stage: str) -> str:
        return self._makers[stage]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
