"""Which revision of a warehouse this program makes and reads."""

from __future__ import annotations

from pathlib import Path


def newest() -> str:
    """The revision that `warehouse migrate` leads to."""
    from alembic.config import Config  # 0.5 s, and whoever asks nothing of it does without
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
    return str(ScriptDirectory.from_config(config).get_current_head())
