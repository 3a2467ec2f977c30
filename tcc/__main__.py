"""`python -m tcc`, and the command `tcc`: Ctrl-C while the modules load is no traceback either."""

import sys

EXIT_INTERRUPTED = 130


def run() -> int:
    """Run one command; the exit code."""
    try:
        from tcc.cli import main  # noqa: PLC0415 - takes a tenth of a second

        return main()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
