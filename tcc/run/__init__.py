"""Devices that execute artifacts, the oracle, and verification."""
