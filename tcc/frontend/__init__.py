"""The front end: source text to typed intermediate representation."""

from tcc.frontend.depth import make_room

make_room()
