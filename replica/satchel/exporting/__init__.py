"""Writing what a caller may see: `jsonl.py` so that nothing is lost, `markdown.py` to be read."""
