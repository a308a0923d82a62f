"""The scene without a network: what two people with a stick do."""

from __future__ import annotations

from pathlib import Path

from satchel import carrying, keys
from satchel.config import Settings
from satchel.demo.world import World, expect
from satchel.memory.write import write

TEXT = "The spare key of the archive hangs behind the blue door."


def carry(world: World) -> None:
    """Without a network: sealed sticks to the warehouse and back"""
    laptop, office = world.laptop.settings, world.office
    _trust(office, laptop, "laptop")
    _trust(laptop, office, "office", of=keys.HUB)
    write(world.laptop, TEXT)
    there = _carried(world, laptop, keys.HUB, office)
    expect(there == 1, f"the warehouse took {there} memories from the stick, not one")
    _carried(world, office, world.laptop.store.replica_id.hex(), laptop)
    world.console.print("  receipts came back: nothing waits on the laptop any more")


def _trust(here: Settings, there: Settings, name: str, of: str | None = None) -> None:
    """Take the other side's key, as if two people had compared its fingerprint."""
    public, told = keys.export(there, keys.STDOUT, of=of)
    keys.trust(here, public, name=name, fingerprint=told["fingerprint"])


def _carried(world: World, sender: Settings, to: str, recipient: Settings) -> int:
    """One stick from export to import; how many memories were taken from it by the warehouse."""
    path = Path(world.office.home.parent / f"for-{to[:8]}.bundle")
    made = carrying.export(sender, to, path)
    expect(TEXT.encode() not in path.read_bytes(), "the text can be read on the stick")
    found = carrying.inspect(recipient, path)
    expect(found["signature"] == "fits" and found["opens_here"], f"it does not open: {found}")
    report = carrying.import_(recipient, path)
    expect(report["exit"] == 0, f"the import of {path} ended with {report['exit']}")
    world.console.print(
        f"  {made['bundle']:<8} {made['bytes']} bytes, {made['suite']}, signed by"
        f" {found['signer']['name']}; {sum(made['rows'].values())} rows,"
        f" {made['receipts']} receipts",
        markup=False,
    )
    return int(report["kinds"]["memory"]["accepted"])
