"""Linux as another system would look to satchel: with this folder on PYTHONPATH, and SEEN_AS.

Only modules of ours are shown another `sys`, `os`, `signal`, …: libraries have their own way there,
in wheels that cannot be loaded here. The file system refuses everybody what that one refuses.
"""

from __future__ import annotations

# What asks once which system it is on asks for the real one: before anything is changed.
import asyncio  # noqa: F401
import concurrent.futures.process  # noqa: F401
import multiprocessing.util  # noqa: F401
import os
import shutil  # noqa: F401
import tempfile  # noqa: F401

if os.environ.get("SEEN_AS") == "windows":
    import seen_windows

    seen_windows.install()
elif os.environ.get("SEEN_AS") == "macos":
    import seen_macos

    seen_macos.install()
