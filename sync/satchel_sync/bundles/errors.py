"""What can be wrong with a bundle.

SyncError
├── BundleInvalid   1  a file that is no bundle, or a damaged one; nothing of it was applied
└── BundleRefused   4  a whole bundle that is not for here, or may not be read or written so
"""

from __future__ import annotations

from satchel_sync.errors import SyncError


class BundleInvalid(SyncError):
    """The file is no bundle, or not as it was written."""

    code = "bundle_invalid"


class BundleRefused(SyncError):
    """The bundle is for somebody else, or policy says no."""

    code = "bundle_refused"
    exit_code = 4
