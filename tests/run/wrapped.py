"""A compiler that refuses some of its options, and notes how it is called."""

from __future__ import annotations

from pathlib import Path

from tcc.run.toolchain import Compiler

SCRIPT = """\
#!/bin/sh
echo "$*" >> {log}
case " $* " in {pattern}) echo refused >&2; exit 1;; esac
exec {command} "$@"
"""


class Wrapped:
    """Calls go to another compiler; those that match a pattern of the shell are refused."""

    def __init__(self, folder: Path, inner: Compiler, pattern: str = "*' --none '*") -> None:
        self._log = folder / "calls"
        self._log.touch()
        script = folder / "compiler"
        command = " ".join(inner.command)
        script.write_text(SCRIPT.format(log=self._log, pattern=pattern, command=command))
        script.chmod(0o755)
        self.compiler = Compiler(inner.name, (str(script),), inner.identity)

    def calls(self) -> list[str]:
        """The command lines since the last question."""
        lines = self._log.read_text().splitlines()
        self._log.write_text("")
        return lines
