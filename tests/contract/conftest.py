"""The fixtures of the contract suites."""

from fix_sides import doors, hub, side

__all__ = ["doors", "hub", "side"]
