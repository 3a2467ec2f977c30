"""How many examples the campaigns try: `--hypothesis-profile long` for twenty times as many."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("long", max_examples=20 * settings.get_profile("default").max_examples)
