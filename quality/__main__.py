"""`make quality`: measure how well search finds, set by set, and write the page."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from quality import page, results
from quality.ablation import Ablation
from quality.measure import measure, of_all
from quality.metrics import rows
from quality.question import Absent, Found, QualitySet
from quality.remembered import RememberedEmbedder
from quality.results import ROOT, Run
from quality.sets import Places, every

from satchel.config import Settings
from satchel.embedding import Embedder, choose

ABLATED = (
    "locomo",
    "locomo-memories",
    "precision",
    "notes",
    "synthetic",
    "longmemeval",
    "cranfield",
)
"""Sets that the ablation asks by default: the other two have the same questions once more."""


def main() -> int:
    """Run the sets that were asked for. What has no data is skipped with the reason."""
    told = parsed(sys.argv[1:])
    run, embedder = engine(told)
    answers: dict[str, list[Found]] = {}
    ablated: dict[str, dict[str, list[Found]]] = {}
    done: list[QualitySet] = []
    for one in chosen(told):
        ablation = Ablation(limit=told.limit) if one.name in told.ablate else None
        began = time.perf_counter()
        try:
            found = measure(
                one, embedder, limit=told.limit, also=ablation.ask if ablation else None
            )
        except Absent as reason:
            print(f"{one.name}: skipped, {reason}")
            continue
        done.append(one)
        answers[one.name] = of_all(found)
        if ablation:
            ablated[one.name] = ablation.answers
        file = results.write(told.results, one.name, run, found)
        show(one, answers[one.name], time.perf_counter() - began, file)
        if told.limit is None:
            page.put(told.page, one.name, page.section_of(one, answers[one.name], run))
    if ablated and told.limit is None:
        left_out = [one for one in done if one.name in ablated]
        page.put(told.page, "ablation", page.section_of_ablation(left_out, answers, ablated, run))
    return 0


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="quality", description=main.__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data",
                        help="folder of locomo/ and precisionmembench/")  # fmt: skip
    parser.add_argument("--sets", type=names, help="names, separated by commas (default: all)")
    parser.add_argument(
        "--limit", type=int, help="questions of each store; the page stays as it is"
    )
    parser.add_argument("--longmemeval", type=Path, help="the official JSON file")
    parser.add_argument(
        "--cranfield", type=Path, help="folder of cran.all.1400, cran.qry, cranqrel"
    )
    parser.add_argument("--embedding", default="auto", help="engine, as `embedding.engine`")
    parser.add_argument("--model", help="model, as `embedding.model`")
    parser.add_argument("--vectors", type=Path, help="file that keeps vectors for the next run")
    parser.add_argument("--results", type=Path, default=ROOT / "quality" / "results")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "QUALITY.md")
    parser.add_argument("--ablate", type=names, help="sets to leave each weight out in")
    parser.add_argument("--no-ablation", dest="ablate", action="store_const", const=())
    told = parser.parse_args(arguments)
    if told.ablate is None:
        told.ablate = () if told.sets else ABLATED
    return told


def engine(told: argparse.Namespace) -> tuple[Run, Embedder | None]:
    """What this run is, and its embedder; without one search goes by keyword, and says so."""
    with tempfile.TemporaryDirectory(prefix="satchel-quality-") as home:
        settings = Settings(home=Path(home), embedding=told.embedding, model=told.model)
        found, reason = choose(settings)
    if found is None:
        print(f"by keyword only: {reason}")
        return Run(commit=results.commit(), model="none, by keyword only"), None
    embedder = RememberedEmbedder(found, told.vectors)
    return Run(commit=results.commit(), model=found.model_id), embedder


def chosen(told: argparse.Namespace) -> list[QualitySet]:
    """The sets by name. Exits with the names there are for an unknown one."""
    held = every(Places(data=told.data, longmemeval=told.longmemeval, cranfield=told.cranfield))
    wanted = told.sets or list(held)
    unknown = [name for name in (*wanted, *told.ablate) if name not in held]
    if unknown:
        sys.exit(f"no set is called {', '.join(unknown)}; there are {', '.join(held)}")
    return [held[name] for name in wanted]


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def show(one: QualitySet, answers: list[Found], took_s: float, file: Path) -> None:
    """A set's table on the terminal."""
    slow = sorted(found.took_ms for found in answers)
    print(f"\n{one.title} ({one.name}): {took_s:.0f} s, median search"
          f" {slow[len(slow) // 2]:.1f} ms; {file}")  # fmt: skip
    print(" " * 34, *(f"{metric.name:>14}" for metric in one.metrics))
    for name, count, means in rows(one.metrics, answers):
        print(
            f"{name:28} {count:5}", *(f"{page.percent(share):>14}" for share in means), flush=True
        )


if __name__ == "__main__":
    sys.exit(main())
