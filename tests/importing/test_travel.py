"""What was imported travels: through a real warehouse to another machine, every field of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import fix_m3
from fix_full import fill
from fix_hub import HubWorld
from fix_importing import contents, silent, taken
from fix_machines import Fleet
from fix_memory import TrigramEmbedder, opened

from satchel.exporting.run import export
from satchel_sync.tables import KINDS

GRAPH = """\
{"type":"entity","name":"Ann","entityType":"person","observations":["is tall"]}
{"type":"relation","from":"Ann","to":"Ann","relationType":"knows"}
"""


def test_from_one_machine_to_another(world: HubWorld, tmp_path: Path) -> None:
    (old := tmp_path / "old").mkdir()
    with opened(old, embedder=TrigramEmbedder()) as left:
        fill(left)
        export(left, "jsonl", str(tmp_path / "rows.jsonl"), silent, overwrite=False)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("---\ntags: [x]\n---\nto [[b]]")
    (tmp_path / "notes/b.md").write_text("# B\n")
    (tmp_path / "graph.jsonl").write_text(GRAPH)
    with closing(Fleet(world, tmp_path)) as fleet:
        laptop, desk = fleet.pair()
        taken(laptop.replica, "jsonl", tmp_path / "rows.jsonl")
        taken(laptop.replica, "markdown", tmp_path / "notes")
        taken(laptop.replica, "server-memory", tmp_path / "graph.jsonl")
        taken(laptop.replica, "m3-memory", fix_m3.make(tmp_path / "m3.db"))
        sent, got = laptop.sync(), desk.sync()
        assert sent["exit"] == got["exit"] == 0
        assert laptop.sql("SELECT count(*) FROM quarantine") == [(0,)]
        local = laptop.sql("SELECT key FROM withheld")
        there, here = contents(laptop.replica), contents(desk.replica)
    hidden = {key for (key,) in local}
    assert hidden
    for kind in KINDS:
        assert here[kind] == [row for row in there[kind] if row[0] not in hidden], kind
        assert here[kind], kind
