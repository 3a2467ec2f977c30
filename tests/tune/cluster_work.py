"""A stand-in for an evaluator, in a module that a child process imports quickly."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

from tcc.errors import ToolchainError
from tcc.tune.evaluate import Evaluation, Times, Work
from tcc.tune.record import State


def starter() -> Callable[[Work], Evaluation]:
    """Does what the text of a candidate says."""

    def work(asked: Work) -> Evaluation:
        match asked.text.split():
            case ["sleep", seconds]:
                time.sleep(float(seconds))
            case ["die"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["exit"]:
                sys.exit(3)
            case ["print"]:
                sys.stdout.write("into the pipe?\n")
            case ["raise"]:
                raise ValueError("no")
            case ["missing"]:
                raise ToolchainError("error[E0701]: no compiler")
            case _:
                pass
        return Evaluation(State.DONE, str(os.getpid()), Times(1.0, 1.0, 1.0), verified=True)

    return work
