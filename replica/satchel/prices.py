"""`prices.toml` in the home: what models cost, by whoever pays for them.

No price comes with satchel: vendors change theirs every few weeks, and a stale one would be told
as a fact. The file has a table a model, in US dollars for a million tokens:

    ["claude-sonnet-4"]      # the longest name that a model's begins with counts
    input = 3.0
    cached = 0.3             # read from the cache; without it as `input`
    cache_written = 3.75     # written to the cache; without it as `input`
    output = 15.0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel.errors import ConfigInvalid, did_you_mean
from satchel.plain_file import read_bytes

PRICES_FILE = "prices.toml"
PRICES_BYTES_MAX = 256 * 1024
PRICE_MAX = 1_000_000
_KEYS = ("input", "output", "cached", "cache_written")
_A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cached: float
    cache_written: float

    def of(self, read: int, written: int, cached: int, cache_written: int) -> float:
        """Dollars for so many tokens; `cached` and `cache_written` are parts of `read`."""
        plain = max(0, read - cached - cache_written)
        dollars = (
            plain * self.input
            + cached * self.cached
            + cache_written * self.cache_written
            + written * self.output
        )
        return dollars / _A_MILLION


def load(home: Path) -> dict[str, Price]:
    """Model -> price; empty where there is no such file. Raises ConfigInvalid."""
    path = home / PRICES_FILE
    try:
        raw = read_bytes(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror or error}") from error
    return {model: _price(path, model, said) for model, said in _document(path, raw).items()}


def price_of(prices: Mapping[str, Price], model: str | None) -> Price | None:
    """The price of the longest name that the model's begins with."""
    fits = [name for name in prices if model is not None and model.startswith(name)]
    return prices[max(fits, key=len)] if fits else None


def _document(path: Path, raw: bytes) -> dict[str, Any]:
    import tomllib  # 10 ms, and only this report needs it

    if len(raw) > PRICES_BYTES_MAX:
        raise _invalid(path, f"more than {PRICES_BYTES_MAX} bytes")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _invalid(path, f"not TOML: {str(error)[:200]}") from error


def _price(path: Path, model: str, said: object) -> Price:
    if not isinstance(said, dict):
        raise _invalid(path, f"{model!r} is no table of prices")
    for name, value in said.items():
        if name not in _KEYS:
            nearest = did_you_mean(name, _KEYS)
            raise _invalid(path, f"[{model}] has no key {name!r}", nearest)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= PRICE_MAX:
            raise _invalid(path, f"[{model}] {name} must be dollars in 0..{PRICE_MAX}")
    missing = [name for name in ("input", "output") if name not in said]
    if missing:
        raise _invalid(path, f"[{model}] lacks {missing[0]!r}")
    return Price(**{name: float(said[name if name in said else "input"]) for name in _KEYS})


def _invalid(path: Path, why: str, hint: str = "") -> ConfigInvalid:
    return ConfigInvalid(
        f"{path}: {why}",
        hint=hint or f"a table a model with {', '.join(_KEYS)}; or remove the file",
        field="prices",
    )
