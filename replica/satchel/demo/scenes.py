"""The scenes of the demo, in order; the first line of each docstring is its heading."""

from __future__ import annotations

from rich.progress import track
from rich.table import Table

from satchel.demo.corpus import DESKTOP_MODULES, LAPTOP_MODULES, Passage, passages
from satchel.demo.world import MACHINES, World, expect
from satchel.memory import agents, change, chatlog, edges, read
from satchel.memory.search.search import search
from satchel.memory.tasks import moves, tasks
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.syncing import conflicts
from satchel.warehouse import operations
from satchel_sync.tables import TABLES

SPACE = "library"
QUERIES = {"laptop": "parse command line arguments", "desktop": "smallest item of a queue"}


def remember(world: World) -> None:
    """Each machine remembers on its own"""
    for name, modules in zip(MACHINES, (LAPTOP_MODULES, DESKTOP_MODULES), strict=True):
        replica, texts = world.machines[name], passages(modules)
        agents.register(replica, f"{name}-agent", description=f"the agent on the {name}")
        ids = [
            _write(replica, passage)
            for passage in track(texts, f"  {name:<8} writes", console=world.console)
        ]
        for child in ids[1::9]:
            edges.link(replica, child, ids[0], "part_of")
        for module in modules:
            task = tasks.create(replica, f"review the documentation of {module}", space=SPACE)
            chatlog.write(
                replica, f"{name}-review", f"I start with {module}, task {task['id'][-8:]}.",
                role="assistant", space=SPACE,
            )  # fmt: skip
            if module == modules[0]:
                moves.complete(replica, task["id"])
        world.shared_id = world.shared_id or ids[0]
        world.console.print(f"  {name:<8} {len(ids)} memories, {len(modules)} tasks and chat rows")
        expect(len(ids) > 100, f"{name} found only {len(ids)} texts to remember")


def find(world: World) -> None:
    """Each machine finds what it remembers, offline"""
    for name, query in QUERIES.items():
        answer = search(world.machines[name], query, k=3)
        expect(bool(answer.hits), f"{name} finds nothing for {query!r}")
        world.console.print(f"  {name:<8} “{query}” ({answer.mode}, {answer.took_ms:.0f} ms)")
        for hit in answer.hits:
            world.console.print(f"           {hit.score:.3f}  {hit.title}", markup=False)
        for notice in answer.notices:
            world.console.print(f"           [dim]{notice}")


def reconcile(world: World) -> None:
    """Both reconcile with the warehouse, and are equal afterwards"""
    for name in (*MACHINES, MACHINES[0]):
        world.sync(name)
    _show_equal(world)


def edit_offline(world: World) -> None:
    """The same memory is edited on both machines, offline"""
    known = _content(world.laptop, world.shared_id).splitlines()[0]
    for name in MACHINES:
        text = f"{known.partition('.')[0]}, as the {name} knows it."
        change.update(world.machines[name], world.shared_id, text=text)
        world.texts[name] = text
        world.console.print(f"  {name:<8} “{text}”", markup=False)


def agree(world: World) -> None:
    """They reconcile: the last write wins, what lost is kept"""
    for name in (*MACHINES, MACHINES[0]):
        world.sync(name)
    _show_equal(world)
    now = {name: _content(world.machines[name], world.shared_id) for name in MACHINES}
    expect(set(now.values()) == {world.texts["desktop"]}, f"the later edit did not win: {now}")
    world.console.print("  won      the desktop's edit: it was the later one, on both machines")


def forget_nothing(world: World) -> None:
    """The loser is in the conflict journal, and comes back when it is asked for"""
    lost = conflicts.listed(world.laptop)
    expect(
        [entry["content"].get("content") for entry in lost] == [world.texts["laptop"]],
        f"the journal of the laptop does not hold its lost edit: {lost}",
    )
    world.console.print(f"  lost     “{lost[0]['content']['content']}”", markup=False)
    world.console.print("           kept on the laptop and in the warehouse; now restored:")
    conflicts.restore(world.laptop, lost[0]["version"])
    for name in MACHINES:
        world.sync(name)
    now = {name: _content(world.machines[name], world.shared_id) for name in MACHINES}
    expect(set(now.values()) == {world.texts["laptop"]}, f"the restore did not win: {now}")
    world.console.print("  won      the laptop's edit, on both machines")


def report(world: World) -> None:
    """What the warehouse holds, by machine"""
    status = operations.status(world.laptop.settings)
    table = Table("machine", "login", "rows", "last seen", box=None)
    for machine in status["machines"]:
        table.add_row(
            machine["replica_id"][-8:], machine["login"], str(machine["rows"]), machine["last_seen"]
        )
    world.console.print(table)
    counts = {kind: sum(rows.values()) for kind, rows in status["rows"].items()}
    counts = {kind: count for kind, count in counts.items() if count}
    world.console.print("  rows by kind:", ", ".join(f"{kind} {n}" for kind, n in counts.items()))
    held = {kind: len(versions) for kind, versions in world.held("laptop").items() if versions}
    expect(counts == held, f"the warehouse holds {counts}, the laptop {held}")
    expect(status["conflicts"] == 1, f"the warehouse journals {status['conflicts']} conflicts")


def _write(replica: Replica, passage: Passage) -> str:
    written = write(
        replica, passage.text, title=passage.name, type="reference", space=SPACE,
        source=f"python:{passage.module}",
    )  # fmt: skip
    return written.id


def _content(replica: Replica, memory_id: str) -> str:
    return str(read.get(replica, [memory_id])["items"][0]["content"])


def _show_equal(world: World) -> None:
    laptop, desktop = (world.held(name) for name in MACHINES)
    expect(laptop == desktop, "the two machines hold different rows")
    rows = sum(len(versions) for versions in laptop.values())
    kinds = sum(1 for table in TABLES if laptop[table.name])
    world.console.print(f"  equal    {rows} rows of {kinds} kinds, every version the same on both")
