"""The strategies by name."""

from __future__ import annotations

from collections.abc import Callable

from tcc.errors import UsageError
from tcc.tune.genetic import Genetic
from tcc.tune.model_search import ModelGuided
from tcc.tune.random_search import Random
from tcc.tune.search import Scope, Strategy


def _tpe(scope: Scope) -> Strategy:
    from tcc.tune.tpe import Tpe  # noqa: PLC0415  (Optuna is an extra, and slow to load)

    return Tpe(scope)


STRATEGIES: dict[str, Callable[[Scope], Strategy]] = {
    "genetic": Genetic,
    "random": Random,
    "model": ModelGuided,
    "tpe": _tpe,
}


def strategy_of(name: str, scope: Scope) -> Strategy:
    """The strategy of a name. UsageError when there is none, or its library is missing."""
    if name not in STRATEGIES:
        raise UsageError(f"there is no strategy `{name}`; strategies are {', '.join(STRATEGIES)}")
    return STRATEGIES[name](scope)
