"""Tree-structured Parzen estimators by Optuna: what good candidates have in common.

Of the libraries for such searches Optuna fits best: it asks and tells, its spaces may have parts
that only count sometimes (a structure has its own kernels), it keeps no files, and one seed
repeats a study. It is an extra, `tune`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tcc.errors import UsageError
from tcc.tune.domains import Parameter
from tcc.tune.search import Proposal, Scope, Told
from tcc.tune.space import Point

BATCH = 8
ASKED = 4 * BATCH
"""Most suggestions for one batch: those that do not fit the target are told so."""
COMPARED = 8
"""Values of a parameter that the estimators compare for one suggestion; each takes time."""
STARTUP = 16
"""Random points before the estimators have a say."""


class Tpe:
    """Asks Optuna for the positions of the values of those parameters that count."""

    def __init__(self, scope: Scope) -> None:
        self._optuna = _load_optuna()
        self._scope = scope
        seed = scope.rng.randrange(2**32)
        # Each parameter on its own: estimators of all together take a second for one point.
        sampler = self._optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=STARTUP, n_ei_candidates=COMPARED
        )
        self._study = self._optuna.create_study(sampler=sampler)
        self._open: dict[Point, Any] = {}

    def ask(self) -> Sequence[Proposal]:
        """The next points."""
        new: list[Proposal] = []
        for _ in range(ASKED):
            if len(new) == BATCH:
                break
            trial = self._study.ask()
            suggested = self._suggested(trial)
            point = self._scope.space.shrunk(suggested, self._scope.rng)
            claimed = self._scope.claim(point)
            if claimed and point == suggested:
                self._open[point] = trial
            else:
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            if claimed:
                new.append(Proposal(point, "tpe"))
        found = None if new else self._scope.random()
        return new if found is None else [found]

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
        """A point with suggestions for the parameters that count; the others stay at 0."""
        space = self._scope.space
        point = [0] * len(space.parameters)
        done: set[int] = set()
        while left := sorted(space.active(tuple(point)) - done):
            # The structure and the form of a kernel stand before what they decide upon.
            point[left[0]] = _suggest(trial, space.parameters[left[0]])
            done.add(left[0])
        return tuple(point)

    def _example(self, told: Told) -> Any:  # noqa: ANN401
        """A finished trial of a point that Optuna did not ask for."""
        space, states = self._scope.space, self._optuna.trial.TrialState
        named = [(space.parameters[k], told.point[k]) for k in sorted(space.active(told.point))]
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
