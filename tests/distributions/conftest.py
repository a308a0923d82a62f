"""The fixtures of both distributions."""

from fix_wheels import native_wheel, pure_wheel

__all__ = ["native_wheel", "pure_wheel"]
