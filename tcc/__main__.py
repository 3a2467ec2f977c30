"""`python -m tcc`."""

import sys

from tcc.cli import main

sys.exit(main())
