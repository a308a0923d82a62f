"""Builds an air-gap kit: all that a machine without a network needs to run satchel.

Start reading at `build`. `install.py` and its two starters are copied into the kit as they are.
"""
