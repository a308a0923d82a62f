"""A call in a worker thread that is stopped when its time is up or its client cancels it.

What a stopped call had not committed is rolled back: see `satchel.store.limit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread

from satchel.errors import TimedOut
from satchel.store.limit import CURRENT, Limit

GRACE_S = 2.0
"""For so long a stopped call may take to end; then it is left to itself."""

Answer = dict[str, Any]


class _Ended:
    """How a call ended: with an answer or an error."""

    begun = False
    answer: Answer | None = None
    error: BaseException | None = None


async def run(
    what: str,
    work: Callable[[], Answer],
    timeout_s: float,
    limiter: anyio.CapacityLimiter,
    still_allowed: Callable[[], None] | None = None,
) -> Answer:
    """The answer of `work`, which runs in a thread. Raises what it raises, or TimedOut.

    A client that cancels or leaves stops it too. `what` names the call in the error;
    `still_allowed` is asked while it waits, and raises once the caller may go on no more.
    """
    limit, ended = Limit(still_allowed), _Ended()

    def limited() -> None:
        CURRENT.set(limit)  # of this thread's copy of the context
        ended.begun = True
        try:
            limit.check()
            ended.answer = work()
        except BaseException as error:  # noqa: BLE001 (raised again where the call was made)
            ended.error = error
        finally:
            limit.finish()

    try:
        with anyio.move_on_after(timeout_s):
            await anyio.to_thread.run_sync(limited, limiter=limiter, abandon_on_cancel=True)
            return _answered(ended)
    except anyio.get_cancelled_exc_class():
        limit.stop()
        raise
    state = limit.stop()
    # What has not begun is stopped by its first look at the limit.
    over = not ended.begun or await anyio.to_thread.run_sync(limit.wait, GRACE_S)
    if over and (ended.answer is not None or not limit.stopped):
        return _answered(ended)
    kept = "its last step may still be written" if _may_commit(state, over) else _kept(limit, over)
    raise TimedOut(
        f"{what} took longer than {timeout_s:g} s and was stopped: {kept}",
        hint="satchel_call takes a longer timeout_s; [mcp] timeout_s is the default",
        field="timeout_s",
    ) from ended.error


def _may_commit(state: str, over: bool) -> bool:
    return state == "committing" and not over


def _answered(ended: _Ended) -> Answer:
    if ended.error is not None:
        raise ended.error
    assert ended.answer is not None
    return ended.answer


def _kept(limit: Limit, over: bool) -> str:
    done = "nothing of it was written"
    if limit.commits:
        done = f"{limit.commits} of its steps had been written before, and nothing after"
    return done if over else f"{done}; what it waits for outside may still go on"
