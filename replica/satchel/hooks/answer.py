"""What a host reads from a hook: JSON that puts a text into the model's context, or nothing.

The three hosts take the same form: `hookSpecificOutput.additionalContext` under the event's own
name. Nothing at all on stdout, with exit code 0, means "go on" to each of them. Exit code 2 would
stop the prompt, so no hook of ours ever ends with it.
"""

from __future__ import annotations

import json
from typing import Final

from satchel.hooks.call import Event, HookCall

CONTEXT_EVENTS: Final[tuple[Event, ...]] = ("session-start", "prompt")
"""The moments at which every host takes a text into the context."""
CONTEXT_CHARS_MAX: Final = 9_500
"""Claude Code puts a file's name in the place of a context of more than 10,000 characters."""


def context(call: HookCall, text: str) -> str:
    """The answer that gives `text` to the model; "" where there is nothing or nowhere to give."""
    if not text or call.event not in CONTEXT_EVENTS:
        return ""
    output = {"hookEventName": call.host_event, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False) + "\n"
