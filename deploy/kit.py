"""The air-gap kit: `python deploy/kit.py build --out DIR`, then `verify DIR`, `sign DIR`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from platformdirs import user_cache_path

from airgap import pins
from airgap.errors import KitError
from airgap.sums import FILE as SUMS
from airgap.target import NAMES, PYTHONS, target_of
from satchel import config, file_signatures
from satchel.errors import SatchelError
from satchel_crypto import CryptoError

CACHE = user_cache_path("satchel", appauthor=False)
VERIFY = Path(__file__).parent / "airgap" / "shipped" / "verify.py"


def main(words: list[str] | None = None) -> int:
    """Do what the command line says; 0 done, 1 failed, 2 wrong usage, 4 refused."""
    asked = _parser().parse_args(words)
    try:
        code: int = asked.work(asked)
    except (KitError, SatchelError, CryptoError, OSError) as error:
        print(f"kit: {error} [{getattr(error, 'code', 'kit_failed')}]", file=sys.stderr)
        if hint := getattr(error, "hint", ""):
            print(f"  {hint}", file=sys.stderr)
        return 1
    return code


def _build(asked: argparse.Namespace) -> int:
    """Build a kit, and tell what is in it."""
    from airgap.build import Asked, build  # the libraries of it take a second

    wanted = Asked(
        target=target_of(asked.platform, asked.python),
        extras=tuple(dict.fromkeys(asked.extra)),
        native=asked.native,
        model=asked.model,
        with_model=not asked.no_model,
        with_fips=asked.with_fips,
        cache=asked.cache,
        fips_cache=CACHE / "fips",
    )
    built = build(wanted, asked.out, _signing(asked.home) if asked.sign else None, _say)
    for note in built.notes:
        _say(note)
    _say(f"{asked.out}: {built.files} files, {built.bytes / 1e6:.0f} MB")
    return 0


def _sign(asked: argparse.Namespace) -> int:
    """Sign a kit that is there, once its files are checked."""
    if code := _verify(asked):
        return code
    _signing(asked.home)(asked.kit / SUMS)
    return 0


def _verify(asked: argparse.Namespace) -> int:
    """Check a kit by the verify.py of these sources, not by its own."""
    signer = ["--signer", asked.signer] if getattr(asked, "signer", None) else []
    command = [sys.executable, "-I", VERIFY, asked.kit, *signer]
    return subprocess.run(command, check=False).returncode


def _signing(home: str | None) -> Callable[[Path], None]:
    """Signs with the key of a home: `satchel key list` shows it, `satchel key trust` takes it."""
    settings = config.load(flags={"home": home} if home else {})

    def sign(path: Path) -> None:
        told = file_signatures.sign(settings, path, overwrite=True)
        for written in ("signature", "public_key"):
            Path(told[written]).chmod(0o644)
        _say(f"signed by the key {told['key_id']} ({told['algorithm']})")

    return sign


def _say(text: str) -> None:
    print(f"kit: {text}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    verbs = parser.add_subparsers(required=True, metavar="build|verify|sign")
    home = "the satchel home whose key signs; default: this user's"

    made = verbs.add_parser("build", help="build a kit")
    made.set_defaults(work=_build)
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="the kit's folder")
    made.add_argument("--platform", choices=NAMES, help="default: this machine's")
    made.add_argument("--python", choices=PYTHONS, help="default: the one that runs this")
    made.add_argument(
        "--extra", choices=pins.EXTRAS, action="append", default=[], help="may be given again"
    )
    made.add_argument("--native", type=Path, metavar="WHEEL", help="satchel-native built elsewhere")
    made.add_argument("--model", type=Path, metavar="DIR", help="instead of the packaged model")
    made.add_argument("--no-model", action="store_true", help="satchel then searches by words only")
    made.add_argument("--with-fips", action="store_true", help="with OpenSSL 3.1.2's FIPS module")
    made.add_argument("--sign", action="store_true", help="sign it with this machine's key")
    made.add_argument("--home", metavar="DIR", help=home)
    made.add_argument("--cache", type=Path, default=CACHE / "kit", metavar="DIR", help="of wheels")

    checked = verbs.add_parser("verify", help="check a kit")
    checked.set_defaults(work=_verify)
    checked.add_argument("kit", type=Path, metavar="DIR")
    checked.add_argument("--signer", type=Path, metavar="PEM", help="whose signature it must have")

    signed = verbs.add_parser("sign", help="check a kit, and sign it anew")
    signed.set_defaults(work=_sign)
    signed.add_argument("kit", type=Path, metavar="DIR")
    signed.add_argument("--home", metavar="DIR", help=home)
    return parser


if __name__ == "__main__":
    sys.exit(main())
