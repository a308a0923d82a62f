"""Vectors for search: files derived from the database, and exact answers from both."""

from satchel.vectors.errors import Damaged, Unwritable, VectorFileError
from satchel.vectors.index import Chunk, VectorIndex

__all__ = ["Chunk", "Damaged", "Unwritable", "VectorFileError", "VectorIndex"]
