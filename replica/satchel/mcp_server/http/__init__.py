"""The same tools over streamable HTTP, for who carries a token. Start reading at `serving.py`."""
