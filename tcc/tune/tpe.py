"""Tree-structured Parzen estimators by Optuna: what good candidates have in common.

Of the libraries for such searches Optuna fits best: it asks and tells, its spaces may have parts
that only count sometimes (a structure has its own kernels), it keeps no files, and one seed
repeats a study. It is an extra, `tune`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tcc.errors import UsageError
from tcc.tune.kernel_space import Parameter
from tcc.tune.search import Proposal, Scope, Told
from tcc.tune.space import Point

BATCH = 8
ASKED = 4 * BATCH
"""Most suggestions for one batch: those that do not fit the target are told so."""
STARTUP = 16
"""Random points before the estimators have a say."""


class Tpe:
    """Asks Optuna for the positions of the parameters that count in the chosen structure."""

    def __init__(self, scope: Scope) -> None:
        self._optuna = _load_optuna()
        self._scope = scope
        seed = scope.rng.randrange(2**32)
        # Each parameter on its own: estimators of all together take a second for one point.
        sampler = self._optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP)
        self._study = self._optuna.create_study(sampler=sampler)
        self._open: dict[Point, Any] = {}

    def ask(self) -> Sequence[Proposal]:
        """The next points."""
        new: list[Proposal] = []
        for _ in range(ASKED):
            if len(new) == BATCH:
                break
            trial = self._study.ask()
            point = self._suggested(trial)
            if self._scope.claim(point):
                self._open[point] = trial
                new.append(Proposal(point, "tpe"))
            else:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        if not new:
            found = self._scope.random()
            new += [] if found is None else [found]
        return new

    def tell(self, results: Sequence[Told]) -> None:
        """Points with a time are examples for the estimators, the others are not."""
        states = self._optuna.trial.TrialState
        for told in results:
            trial = self._open.pop(told.point, None)
            if trial is None:
                self._study.add_trial(self._example(told))
            elif told.time_us is None:
                self._study.tell(trial, state=states.FAIL)
            else:
                self._study.tell(trial, told.time_us)

    def _suggested(self, trial: Any) -> Point:  # noqa: ANN401
        """A point whose parameters are suggested; those of other structures stay at 0."""
        space = self._scope.space
        point = [0] * len(space.parameters)
        point[0] = _suggest(trial, space.parameters[0])
        for position in sorted(space.owned(point[0])):
            point[position] = _suggest(trial, space.parameters[position])
        return tuple(point)

    def _example(self, told: Told) -> Any:  # noqa: ANN401
        """A finished trial of a point that Optuna did not ask for."""
        space, states = self._scope.space, self._optuna.trial.TrialState
        positions = [0, *sorted(space.owned(told.point[0]))]
        named = [(space.parameters[k], told.point[k]) for k in positions]
        done = told.time_us is not None
        return self._optuna.trial.create_trial(
            params={p.name: k for p, k in named},
            distributions={p.name: self._distribution(p) for p, _ in named},
            value=told.time_us,
            state=states.COMPLETE if done else states.FAIL,
        )

    def _distribution(self, parameter: Parameter) -> Any:  # noqa: ANN401
        distributions = self._optuna.distributions
        if _is_ordered(parameter):
            return distributions.IntDistribution(0, len(parameter.values) - 1)
        return distributions.CategoricalDistribution(range(len(parameter.values)))


def _suggest(trial: Any, parameter: Parameter) -> int:  # noqa: ANN401
    """The position of a value."""
    last = len(parameter.values) - 1
    if _is_ordered(parameter):
        return int(trial.suggest_int(parameter.name, 0, last))
    return int(trial.suggest_categorical(parameter.name, range(last + 1)))


def _is_ordered(parameter: Parameter) -> bool:
    return all(type(value) is int for value in parameter.values)


def _load_optuna() -> Any:  # noqa: ANN401
    try:
        import optuna  # noqa: PLC0415  (an extra)
    except ImportError as problem:
        raise UsageError('the strategy `tpe` needs Optuna: `pip install "tcc[tune]"`') from problem
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
