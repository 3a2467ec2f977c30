"""What the compiler did to a program, for people: as text, and as a page with pictures."""
