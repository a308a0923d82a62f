"""`python -m satchel.doctor.document FILE`: the table of all checks, put between its two marks."""

from __future__ import annotations

import sys
from pathlib import Path

from satchel.doctor.subjects import SUBJECTS

BEGIN = "<!-- The table is made by `make docs`. -->"
END = "<!-- End of the table. -->"


def document() -> str:
    """A Markdown table: check, what it looks at, why, how to mend it, what `--fix` does."""
    lines = [
        "| check | looks at | why it matters | mend it | `--fix` |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {one.what} | {one.why} | {one.fix} | {one.mends or '–'} |"
        for name, one in SUBJECTS.items()
    ]
    return "\n".join(lines) + "\n"


def put_into(page: Path) -> None:
    """Replace the table in a page. Raises ValueError where a mark is missing."""
    text = page.read_text("utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    page.write_text(f"{text[:begin]}\n{document()}{text[end:]}", "utf-8", newline="\n")


if __name__ == "__main__":
    put_into(Path(sys.argv[1]))
