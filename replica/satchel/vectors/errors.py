"""What can be wrong with a vector file; a search goes on without one.

VectorFileError
├── Damaged      it is not what was written, or belongs to another replica, model or version
└── Unwritable   this process can't make it or write to it
"""

from __future__ import annotations

from satchel.errors import SatchelError


class VectorFileError(SatchelError):
    """A vector file cannot be used."""

    code = "vector_file_unusable"


class Damaged(VectorFileError):
    """The file is not what was written, or was written for something else: it is made anew."""

    code = "vector_file_damaged"


class Unwritable(VectorFileError):
    """The file cannot be made or written here: vectors are held in memory instead."""

    code = "vector_file_unwritable"
