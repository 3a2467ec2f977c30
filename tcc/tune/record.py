"""What the search finds out: a key says of which program, a measurement how good a plan is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256


@dataclass(frozen=True)
class Key:
    """What a plan was found for. Programs that differ in names and layout only share their keys.

    `program` is the canonical text of the def and of what it calls; `sizes` the fixed sizes under
    their canonical names, ordered by name; `dtypes` the element types of the inputs, in order;
    `emitter` the version of tcc whose output was measured. `names` tells how the program spells
    the canonical names; it is no part of the key. `key.key_of` makes one.
    """

    program: str
    sizes: tuple[tuple[str, int], ...]
    dtypes: tuple[str, ...]
    target: str
    emitter: str
    names: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)

    @property
    def digest(self) -> str:
        """Eight letters and digits that name the key, on every machine."""
        parts = (self.program, repr(self.sizes), repr(self.dtypes), self.target, self.emitter)
        return sha256("\0".join(parts).encode()).hexdigest()[:8]

    @property
    def spelled_sizes(self) -> dict[str, int]:
        """The fixed sizes by the program's own names."""
        return {self.names.get(name, name): value for name, value in self.sizes}

    @property
    def entry(self) -> str:
        """The def, as the program calls it."""
        return self.names.get("f0", "f0")


class State(Enum):
    """How the evaluation of a candidate ended."""

    DONE = "done"
    """It has a time."""

    REJECTED = "rejected"
    """It does not compile: not legal, or over a limit of the target."""

    WRONG = "wrong"
    """Its results differ from those of the reference kernel."""

    CRASHED = "crashed"
    """Its process died, or its kernel broke a rule of the device."""

    TIMED_OUT = "timed out"
    """It did not end within its deadline."""

    PRUNED = "pruned"
    """Its first time, which it has, was so far behind the best that no more were taken."""

    @property
    def may_have_time(self) -> bool:
        """Whether a time was found before the end."""
        return self in (State.DONE, State.PRUNED)


@dataclass(frozen=True)
class Measurement:
    """What is known of one candidate.

    `plan` is the YAML text of an options file with a `mapping` that makes the candidate again;
    nothing else in it counts. Times are the median and the 10th and 90th percentile in
    microseconds, None without one; a time that is `predicted` comes from the model. `device` is
    what executed or which board was modelled, `method` how the time was found, `origin` where the
    candidate came from (`default`, `crossover`, `imported`). `reason` says why there is no time.
    """

    plan: str
    time_us: float | None
    p10_us: float | None
    p90_us: float | None
    predicted: bool
    device: str
    method: str
    verified: bool
    state: State
    reason: str
    origin: str

    @property
    def is_done(self) -> bool:
        """Whether the time says how good the plan is."""
        return self.state is State.DONE
