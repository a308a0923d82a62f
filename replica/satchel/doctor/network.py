"""The checks of `satchel doctor` about the network: its paths, and that it can be done without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel.doctor.check import Check
from satchel.offline.proof import Proof, prove
from satchel_crypto.network import enforced, refusals

if TYPE_CHECKING:
    from satchel.config import Settings

AS_INSTALLED = (
    "mode open; nothing is named or enabled, so only a command that is asked to opens a path"
    " (`--json` lists them)"
)


def network(settings: Settings) -> Check:
    """Each path: open or closed, and why. One that is closed though its target is named warns."""
    from satchel.network_status import status

    paths = status(settings)
    blocked = [one for one in paths if one.state == "blocked"]
    found = [f"mode {settings.network_mode}", *map(str, paths), _hook()]
    return Check(
        name="network",
        ok="warn" if blocked else "ok",
        found="; ".join(found),
        brief=f"{AS_INSTALLED}; {_hook()}" if paths == status(_as_installed(settings)) else "",
        why=f"{', '.join(one.path for one in blocked)}: named, and closed" if blocked else "",
        fix="; ".join(one.fix for one in blocked if one.fix),
    )


def offline(settings: Settings) -> Check:
    """Write, search, export, import and verify where there is no network; count what tried it."""
    proof = prove(settings)
    found = f"{_steps(proof)}; {proof.attempts} attempts to open a socket; {_where(proof)}"
    if proof.attempts:
        return Check(
            name="offline",
            ok="fail",
            found=found,
            why=f"something wants a network: {', '.join(proof.refused[:5])}",
            fix="it was refused; name the package that did it in a report to us",
        )
    if proof.failed:
        return Check(name="offline", ok="fail", found=found, why=proof.failed)
    return Check(name="offline", ok="ok", found=found)


def _as_installed(settings: Settings) -> Settings:
    """Nothing is named, enabled or closed."""
    from satchel.config import Settings

    return Settings(home=settings.home)


def _hook() -> str:
    count, _ = refusals()
    return f"sockets are {'' if enforced() else 'not '}watched, {count} refused in this process"


def _steps(proof: Proof) -> str:
    return f"done: {', '.join(proof.steps) or 'nothing'}"


def _where(proof: Proof) -> str:
    if proof.isolated:
        return "in a network namespace without routes"
    return f"watched by the audit hook alone, for {proof.why_not}"
