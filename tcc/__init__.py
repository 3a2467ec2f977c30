"""Compiles tensor comprehensions to standalone CUDA C++."""

__version__ = "0.1.0"
