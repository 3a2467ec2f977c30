"""Running emitted text: devices, their compilers, the oracle, verification."""
