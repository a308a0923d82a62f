"""What the product does with memories, tasks, conversations and agents: one noun or verb a file.

Functions take a `Replica` and plain values, times as UTC milliseconds; they check what they are
given, see only what the caller may see (`visibility.py`), and answer with values ready for JSON.
"""
