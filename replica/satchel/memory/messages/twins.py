"""Messages with one dedup key: which of them is shown, the same on all machines. Pure.

A second message with the key of one that is still unread is not kept where both are known; two
machines that send at the same time keep one each. Those are the same message sent twice: together a
run, of which one is shown. A run ends when one of it is acknowledged; what is sent later is news.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple


class Keyed(NamedTuple):
    """What is asked of a message with a dedup key; times in UTC ms.

    `group` stands for sender, receiver and key: only messages that share it are one sent twice.
    """

    group: str
    created_at: int
    id: str
    acked_at: int | None = None
    expires_at: int | None = None

    def is_open(self, at: int) -> bool:
        """Whether it was unread and still to be shown at that time."""
        unread = self.acked_at is None or self.acked_at > at
        return unread and (self.expires_at is None or self.expires_at > at)


def hidden(messages: Iterable[Keyed], now_ms: int) -> frozenset[str]:
    """The ids of all but one message of each run: the one that was read first, else the first.

    Of an unread run one that has not expired is shown, if there is one.
    """
    return frozenset(
        one.id for run in runs(messages) for one in run if one is not _shown(run, now_ms)
    )


def open_run(messages: Iterable[Keyed], at: int) -> str | None:
    """The id of the unread message that one sent now would repeat, of messages of one group."""
    last = [run for run in runs(messages) if all(one.is_open(at) for one in run)]
    return _shown(last[-1], at).id if last else None


def runs(messages: Iterable[Keyed]) -> list[list[Keyed]]:
    """Messages of each group in their order, cut where one was sent after the ones before ended."""
    found: list[list[Keyed]] = []
    in_order = sorted(messages, key=lambda one: (one.group, one.created_at, one.id))
    for _, group in groupby(in_order, key=lambda one: one.group):
        run: list[Keyed] = []
        for one in group:
            if run and all(before.is_open(one.created_at) for before in run):
                run.append(one)
            else:
                run = [one]
                found.append(run)
    return found


def _shown(run: Sequence[Keyed], now_ms: int) -> Keyed:
    def rank(one: Keyed) -> tuple[bool, int, bool]:
        expired = one.expires_at is not None and one.expires_at <= now_ms
        return (one.acked_at is None, one.acked_at or 0, expired)

    return min(run, key=rank)  # the first of equals
