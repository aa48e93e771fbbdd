"""The command line of the benchmark: `python -m tests.bench run|smoke|jobs|compare|one`.

Belongs here: arguments and exit codes. 0 all agree, 1 somebody failed or disagrees (or,
with `compare`, something got worse), 2 it could not be done.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.contenders import CONTENDERS
from tests.bench.data import CONTENTS, ROOT, BenchError
from tests.bench.measure import measure, work_once

if TYPE_CHECKING:
    from tests.bench.plan import Plan


def main(arguments: list[str] | None = None) -> int:
    """Run a command and give its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.act(options))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="measure, about ten minutes at full scale")
    smoke = commands.add_parser("smoke", help="a tiny run that checks that all agree")
    for command in (run, smoke):
        command.add_argument("--only", type=_names, default=(), metavar="NAMES", help=", ".join(CONTENTS))
        command.add_argument("--json", type=Path, metavar="PATH", help="where the result file goes")
        command.add_argument("--markdown", type=Path, metavar="PATH", help="write the tables as Markdown too")
    run.add_argument("--contenders", type=_names, default=(), metavar="NAMES", help=", ".join(CONTENDERS))
    run.add_argument("--scale", type=float, default=1.0, help="factor for the sizes of the files")
    run.add_argument("--rounds", type=int, help="at most so many rounds")
    run.add_argument("--readme", action="store_true", help="put the tables into README.md")
    run.set_defaults(act=_run)
    smoke.set_defaults(act=_smoke)
    jobs = commands.add_parser("jobs", help="job logs of Helios at their real size, two minutes")
    jobs.add_argument("--jobs", type=int, help="at most so many jobs in each log")
    jobs.set_defaults(act=_jobs)
    compare = commands.add_parser("compare", help="changes of the ratios between two result files")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.set_defaults(act=_compare)
    one = commands.add_parser("one", help="a single measurement, as a line of JSON")
    one.add_argument("contender", choices=CONTENDERS)
    one.add_argument("file", type=Path)
    one.set_defaults(act=_one)
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _jobs(options: argparse.Namespace) -> int:
    from tests.bench.jobs import ALL_JOBS, run_jobs

    print(run_jobs(options.jobs or ALL_JOBS).table())
    return 0


def _run(options: argparse.Namespace) -> int:
    # Imports of a run stay out of `one`: what a contender's process loads counts as its memory.
    from tests.bench.plan import plan

    made = plan(options.scale, options.only, options.contenders, options.rounds)
    target = options.json or ROOT / "bench-results" / f"{datetime.now():%Y-%m-%d-%H%M%S}.json"
    return _carry_out(made, target, options.markdown, options.readme)


def _smoke(options: argparse.Namespace) -> int:
    from tests.bench.plan import SMOKE, SMOKE_CONTENTS, SMOKE_SCALE, plan

    made = plan(SMOKE_SCALE, options.only or SMOKE_CONTENTS, SMOKE, most_rounds=1)
    return _carry_out(replace(made, sums=False), options.json, options.markdown, readme=False)


def _carry_out(made: Plan, target: Path | None, markdown: Path | None, readme: bool) -> int:
    from rich.console import Console

    from tests.bench import report
    from tests.bench.run import carry_out

    progress = Console(stderr=True)
    results = carry_out(made, lambda line: progress.print(line, style="dim", highlight=False))
    report.show(results, Console())
    if target is not None:
        results.save(target)
        progress.print(f"result file: {target}", highlight=False)
    if markdown is not None:
        markdown.write_text(report.markdown(results), encoding="utf-8")
    if readme:
        report.renew_readme(results, ROOT / "README.md")
    return 1 if results.problems else 0


def _compare(options: argparse.Namespace) -> int:
    from tests.bench.compare import compare
    from tests.bench.results import load

    found = compare(load(options.old), load(options.new))
    print("\n".join(found.lines))
    return found.code


def _one(options: argparse.Namespace) -> int:
    contender = CONTENDERS[options.contender]
    if missing := contender.missing():
        raise BenchError(f"{contender.name} needs {missing}, which is not installed")
    if not options.file.is_file():
        raise BenchError(f"there is no file {options.file}")
    if contender.work is not None:
        print(json.dumps(work_once(contender, options.file)))
        return 0
    sample = measure(contender, options.file)
    print(json.dumps({"process_s": sample.process_s, "failure": sample.failure, **sample.outcome.to_json()}))
    return 1 if sample.failure else 0


if __name__ == "__main__":
    sys.exit(main())
