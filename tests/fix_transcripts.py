"""Transcripts in the real formats of Claude Code, Codex and Gemini CLI, written as they write."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 2, 9, 0, 0, tzinfo=UTC)
SESSION = "6c073d8e-2bb1-45cb-90bc-a28ce44da090"
THREAD = "019eabfc-870d-7281-b28f-72cd2f24bfd0"
CHAT = "477739d0-1b78-4aa7-9116-02d08c952344"


def stamp(second: int) -> str:
    at = START + timedelta(seconds=second)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stamp_ms(second: int) -> int:
    return int(START.timestamp() * 1000) + 1000 * second


@dataclass
class Lines:
    """A JSONL file in the making; `path` grows as a host's does, a line at a time."""

    path: Path
    second: int = 0
    written: list[dict[str, Any]] = field(default_factory=list)

    def add(self, record: dict[str, Any]) -> dict[str, Any]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self.written.append(record)
        return record

    def raw(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(line)

    def at(self) -> str:
        self.second += 1
        return stamp(self.second)


class ClaudeCode(Lines):
    """`~/.claude/projects/-home-una-shed/<session>.jsonl`."""

    session = SESSION
    agent: str | None = None

    def record(self, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        number = len(self.written)
        said = {
            "parentUuid": f"u{number - 1}" if number else None,
            "isSidechain": self.agent is not None,
            "userType": "external",
            "cwd": "/home/una/shed",
            "sessionId": self.session,
            "version": "2.1.17",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": f"{self.agent or 'u'}{number}",
            "timestamp": self.at(),
        }
        if self.agent:
            said["agentId"] = self.agent
        return self.add(said | more)

    def user(self, content: Any, **more: Any) -> dict[str, Any]:
        return self.record("user", {"role": "user", "content": content}, **more)

    def answer(
        self,
        *blocks: dict[str, Any],
        message: str = "msg_1",
        tokens: tuple[int, int, int, int] = (10, 100, 1000, 50),
        model: str = "claude-sonnet-4-5-20250929",
        **more: Any,
    ) -> None:
        """One answer: a record a block, each with the usage (new, cache written, cached, out)."""
        new, made, cached, out = tokens
        usage = {
            "input_tokens": new,
            "cache_creation_input_tokens": made,
            "cache_read_input_tokens": cached,
            "output_tokens": out,
            "service_tier": "standard",
        }
        for block in blocks:
            said = {"id": message, "type": "message", "role": "assistant", "model": model}
            answered: dict[str, Any] = {**said, "content": [block], "usage": usage}
            self.record("assistant", answered, requestId=f"req_{message}", **more)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool_use(name: str, call: str = "toolu_1", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def tool_result(words: str, call: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": words, **more}


class Codex(Lines):
    """`~/.codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-<thread>.jsonl`."""

    total: dict[str, int] = {}  # noqa: RUF012 (replaced, never changed)

    def line(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        return self.add({"timestamp": self.at(), "type": kind, "payload": payload})

    def meta(self, **more: Any) -> None:
        meta = {
            "id": THREAD,
            "timestamp": stamp(0),
            "cwd": "/home/una/shed",
            "originator": "codex_cli_rs",
            "cli_version": "0.128.0",
            "source": "cli",
            "model_provider": "openai",
            "git": {"commit_hash": "0e3689a", "branch": "main"},
        }
        self.line("session_meta", meta | more)

    def context(self, model: str = "gpt-5.1-codex") -> None:
        self.line("turn_context", {"cwd": "/home/una/shed", "model": model, "effort": "high"})

    def item(self, kind: str, **fields: Any) -> None:
        self.line("response_item", {"type": kind, **fields})

    def message(self, role: str, words: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.item("message", role=role, content=[{"type": kind, "text": words}])

    def tokens(self, read: int, cached: int, written: int) -> None:
        last = {"input_tokens": read, "cached_input_tokens": cached, "output_tokens": written}
        self.total = {key: self.total.get(key, 0) + value for key, value in last.items()}
        self.repeat_tokens(last)

    def repeat_tokens(self, last: dict[str, int]) -> None:
        info = {"total_token_usage": self.total, "last_token_usage": last}
        self.line("event_msg", {"type": "token_count", "info": info, "rate_limits": None})


class GeminiCli(Lines):
    """`~/.gemini/tmp/<project>/chats/session-2026-11-02T09-00-477739d0.jsonl`."""

    def head(self, **more: Any) -> None:
        head = {"sessionId": CHAT, "projectHash": "88" * 32, "startTime": stamp(0)}
        self.add(head | {"lastUpdated": stamp(0), "kind": "main"} | more)

    def message(self, kind: str, content: Any, key: str, **more: Any) -> dict[str, Any]:
        said = {"id": key, "timestamp": self.at(), "type": kind, "content": content}
        return self.add(said | more)

    def again(self, message: dict[str, Any], **more: Any) -> None:
        """The message as it is written once more, when its tools have run."""
        self.add(message | more)

    def as_document(self, path: Path) -> None:
        """The older form: one JSON document."""
        head, *messages = self.written
        document = head | {"messages": [one for one in messages if "type" in one]}
        path.write_text(json.dumps(document, indent=2), "utf-8")


def claude_code(folder: Path, name: str = SESSION) -> ClaudeCode:
    return ClaudeCode(folder / f"{name}.jsonl")


def codex(folder: Path) -> Codex:
    return Codex(folder / f"rollout-2026-11-02T09-00-00-{THREAD}.jsonl")


def gemini_cli(folder: Path) -> GeminiCli:
    return GeminiCli(folder / "session-2026-11-02T09-00-477739d0.jsonl")
