"""Small files in the formats of others, for the tests of quality/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SAMPLE = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Ann", "speaker_b": "Bo",
        "session_2_date_time": "12:09 am on 13 June, 2023",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Look!",
                       "blip_caption": "a photo of a red kite"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hello."},
                      {"speaker": "Bo", "dia_id": "D1:2", "text": "I bought a kite."}],
        "session_3_date_time": "1:00 pm on 1 July, 2023",
        "session_3": [],
    },
    "qa": [
        {"question": "What did Bo buy, a kite?", "answer": "yes", "evidence": ["D1:2; D2:01"],
         "category": 1},
        {"question": "When?", "answer": "May", "evidence": ["D1:2"], "category": 2},
        {"question": "Made up?", "adversarial_answer": "no", "evidence": ["D1:1"], "category": 5},
        {"question": "Without?", "answer": "x", "evidence": [], "category": 4},
        {"question": "Elsewhere?", "answer": "x", "evidence": ["D9:9"], "category": 4},
    ],
}  # fmt: skip


def written(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    return path


def belief(key: str, **given: Any) -> dict[str, Any]:
    return {
        "_id": key, "user_id": "test-user", "type": "preference", "canonical_name": key,
        "aliases": [], "content": f"About {key}.", "scope": ["domain:code"], "confidence": 0.9,
        "pinned": False, "resolved_at": None, "superseded_by": None,
        "created_at": "2026-09-01T00:00:00Z", **given,
    }  # fmt: skip


def case(key: str, relevant: list[str] | None, **given: Any) -> dict[str, Any]:
    expect = {} if relevant is None else {"relevantBeliefs": {"shouldOnlyInclude": relevant}}
    return {"caseId": key, "category": "c", "scope": ["domain:code"], "query": "?",
            "expect": expect, **given}  # fmt: skip


BELIEFS = [
    belief("plain"),
    belief("pinned", pinned=True),
    belief("question", type="open_question"),
    belief("universal", scope=["user:universal"]),
    belief("old", superseded_by="plain"),
    belief("ended", resolved_at="2026-10-01T00:00:00Z"),
    belief("prose", scope=["domain:writing"]),
    belief("foreign", user_id="other-user"),
]


HAYSTACK = {
    "question_id": "q1", "question_type": "temporal-reasoning", "question": "When did I sow?",
    "question_date": "2023/05/30 (Tue) 23:40", "answer": "in May",
    "haystack_session_ids": ["s1", "answer_s2"],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
    "haystack_sessions": [
        [{"role": "user", "content": "What is rain?"}, {"role": "assistant", "content": "Water."}],
        [{"role": "user", "content": "I sowed the beans today.", "has_answer": True},
         {"role": "assistant", "content": ""}],
    ],
    "answer_session_ids": ["answer_s2"],
}  # fmt: skip
