"""Simulations that can fail: does everything that tamis guarantees hold?

    python benchmarks/guarantees.py --jobs 2

Designs are chosen to be hard for the guarantee: members that err a little too often, many equal
candidates, noise of unequal variance, sparse columns and categories, proxies of signals, patients
with unequal numbers of rows, classes of 5, 10 and 20. A guarantee passes if the upper 99 % limit
of its violation rate is at most the guaranteed rate and a slack, after a number of repetitions
that is fixed beforehand. Beside them are controls, which break a condition of a guarantee: if one
of them does not fail, the simulations could not have found a failure, and the command exits with
1, as it does if a guarantee fails or is not shown to hold.

Blocks of repetitions are saved to guarantees.json; an interrupted run resumes when you repeat the
command (`--repetitions 0` makes the table of what there is), and delete the file to start afresh.
The table is printed and written to guarantees.md.
"""

import argparse
import sys
from pathlib import Path

from simulations import features, predictions, questions, scores
from simulations.engine import Records, advance, judge

SIMULATIONS = {
    simulation.name: simulation
    for module in (features, predictions, questions, scores)
    for simulation in module.SIMULATIONS
}
HEAD = (
    *("procedure", "design", "nominal", "slack", "repetitions", "rate", "upper 99 % limit"),
    "verdict",
)
RESULTS = Path(__file__).parent / "results"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SIMULATIONS, metavar="NAME")
    parser.add_argument(
        "--repetitions", type=int, help="at most so many per simulation (default: its own number)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    records = Records(options.output / "guarantees.json")
    simulations = [SIMULATIONS[name] for name in options.only or SIMULATIONS]
    advance(simulations, records, options.repetitions, options.jobs)
    findings = [
        finding
        for name, simulation in SIMULATIONS.items()
        if records.of(name)
        for finding in judge(simulation, records.of(name))
    ]
    report = write_report(findings)
    (options.output / "guarantees.md").write_text(report)
    print(report)
    return int(any(finding.is_wrong for finding in findings))


def write_report(findings):
    guarantees = [finding for finding in findings if not finding.measure.is_control]
    controls = [finding for finding in findings if finding.measure.is_control]
    n_passed = sum(finding.verdict == "pass" for finding in guarantees)
    lines = [
        "# Simulations that can fail",
        "",
        "How often each guarantee is broken, in designs that are hard for it. Made by",
        "`benchmarks/guarantees.py`. A guarantee passes if the upper 99 % limit of its violation",
        "rate (Clopper-Pearson; normal where a repetition gives a share or a number) is at most",
        "the nominal one and the slack; it fails if the lower 99 % limit is above the nominal",
        "one, and is not shown to hold otherwise. The number of repetitions is fixed beforehand.",
        "Comparisons take seconds each, so that there are fewer of them, with more slack.",
        "",
        "Controls break a condition of a guarantee and must fail.",
        "",
        f"{n_passed} of {len(guarantees)} guarantees pass, "
        f"{sum(finding.is_wrong for finding in guarantees)} fail; "
        f"{sum(not finding.is_wrong for finding in controls)} of {len(controls)} controls fail, "
        "as they must.",
        "",
    ]
    for title, some in (("Guarantees", guarantees), ("Controls", controls)):
        lines += [
            f"## {title}",
            "",
            f"| {' | '.join(HEAD)} |",
            f"|{' --- |' * len(HEAD)}",
            *map(row_of, some),
            "",
        ]
    return "\n".join(lines)


def row_of(finding):
    cells = (
        finding.measure.procedure,
        finding.simulation.design,
        f"{finding.measure.nominal:g}",
        "" if finding.measure.is_control else f"{finding.measure.slack:g}",
        f"{finding.n:,}",
        f"{finding.rate:.4f}",
        f"{finding.high:.4f}",
        finding.verdict,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
