"""CPU time of `tamis fit` beside an earlier commit, in the same run and on the same files.

    python benchmarks/speed/comparison.py --cache DIR --data DIR

The earlier commit is exported with `git archive` and installed into an environment of its own,
with the versions in `constraints.txt`. Both versions run as commands, with `--n-jobs 1` and one
thread. CPU time is the user and system time of the command and its children. Before each case,
both versions run untimed on a small part of its table; a timed run in which numba still compiled
something is measured again. Repetitions take turns, and the table shows medians.

The honest scores should agree within the noise of the folds, so their intervals are printed. The
tables:

- cancer: the breast-cancer table of scikit-learn, 569 x 30;
- genes: "chin" from the papers' data, 118 x 16,384; without --data and TAMIS_DATA, generated;
- some-genes: 90 rows and 12,500 columns of it;
- digits: 1,797 x 64, ten classes;
- mixed: 50,000 x 40 generated columns of numbers and categories, some with missing values;
- million: 1,000,000 x 30 generated numbers.

Cases named "fast" compare centers, medians and primal-dual, those named "all" also landmarks and
the datum-wise classifier. Both versions run the three baselines that the earlier commit has; what
was added since (panels, two more baselines) is left out. `--baselines most-frequent` leaves out
the expensive baselines.

Records are kept in `benchmarks/results/speed_comparison.json`. `--reuse-old` takes the times of
the earlier commit from there; the table marks them, as they are not from the same run.

`--stages cancer,genes` runs `tamis fit` of this version with its defaults instead (on a million
rows with centers, primal-dual and panel alone), and writes what each method takes in each stage
(`stages.py`), the peak memory, and the CPU seconds that are wanted to
`benchmarks/results/speed_stages.txt`; other tables in that file stay as they are. CPU seconds
are of a machine that may have other work to do, which makes them longer.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from comparison_tables import write_table

sys.path.append(str(Path(__file__).parents[1] / "house"))
from commits import install_commit

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
FAST = "centers,medians,primal-dual"
ALL = f"{FAST},landmarks,datum-wise"
BASELINES = "most-frequent,l1-logistic,random-forest"
# Table, methods, wanted ratio, default number of repetitions.
CASES = {
    "cancer-all": ("cancer", ALL, 1.5, 3),
    "cancer-fast": ("cancer", FAST, 3.0, 3),
    "genes-all": ("genes", ALL, 1.5, 1),
    "genes-fast": ("genes", FAST, 3.0, 1),
    "mixed-fast": ("mixed", FAST, 3.0, 1),
}
# Of `tamis fit` with its defaults: wanted CPU seconds and memory, in sizes of the table as numbers
# of 8 bytes; and the methods, if not all.
WANTED = {
    "cancer": "12 CPU s",
    "some-genes": "30 CPU s",
    "digits": "48 CPU s",
    "mixed": "120 CPU s",
    "million": "90 CPU s, 687 MB (3 times the table)",
}
METHODS = {"million": "centers,primal-dual,panel,most-frequent"}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Version:
    """A Python that can run `tamis fit`, with a numba cache of its own."""

    def __init__(self, python, caches, source=None):
        self.python, self.caches = python, Path(caches)
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))}
        self.environment = keep | dict.fromkeys(THREADS, "1")
        self.environment["NUMBA_CACHE_DIR"] = str(self.caches)
        if source is not None:
            self.environment["PYTHONPATH"] = str(source)

    def fit(self, table, methods, *more):
        """Run `tamis fit`; returns CPU seconds, peak memory and the printed metrics."""
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            # Earlier commits have no `python -m tamis`.
            call = "import sys; from tamis.cli import main; sys.exit(main())"
            command = [self.python, "-c", call, "fit", table, "--target", "class"]
            command += ["--methods", methods, "--n-jobs", "1", "-o", run, "--json", *more]
            with (
                open(Path(folder) / "out", "w+") as out,
                open(Path(folder) / "messages", "w+") as messages,
            ):
                process = subprocess.Popen(
                    list(map(str, command)),
                    stdout=out,
                    stderr=messages,
                    env=self.environment,
                    cwd=folder,
                )
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                out.seek(0)
                messages.seek(0)
                if process.returncode != 0:
                    raise SystemExit(f"tamis fit failed on {table}:\n{messages.read()}")
                return usage.ru_utime + usage.ru_stime, usage.ru_maxrss, json.load(out)

    def measure(self, table, methods):
        """Measure `fit` with a warm numba cache."""
        before = self._n_compiled()
        result = self.fit(table, methods)
        if self._n_compiled() != before:
            result = self.fit(table, methods)
        return result

    def time_stages(self, table, methods):
        """What `stages.py` prints, with a warm numba cache."""
        before = self._n_compiled()
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, Path(__file__).with_name("stages.py"), table]
            command += ["--target", "class", "--methods", methods, "--n-jobs", "1"]
            command += ["-o", Path(folder) / "run"]
            done = subprocess.run(
                list(map(str, command)),
                env=self.environment,
                cwd=folder,
                capture_output=True,
                text=True,
            )
        if done.returncode:
            raise SystemExit(f"tamis fit failed on {table}:\n{done.stderr}")
        if self._n_compiled() != before:
            return self.time_stages(table, methods)
        return done.stdout.rstrip()

    def _n_compiled(self):
        return sum(1 for _ in self.caches.rglob("*.nbc"))


def measure_case(name, versions, tables, arguments):
    """Measure one case; returns one record per version."""
    table, methods, _, repeats = CASES[name]
    methods = f"{methods},{arguments.baselines}"
    for version in versions.values():
        version.fit(tables[table, "small"], methods, "--folds", "2", "--repeats", "1")
    taken = {key: [] for key in versions}
    for _ in range(arguments.repeats or repeats):
        for key, version in versions.items():
            taken[key].append(version.measure(tables[table, "whole"], methods))
    return {key: _record(methods, runs) for key, runs in taken.items()}


def _record(methods, runs):
    metrics = runs[-1][2]
    model = metrics["model"]
    honest = model["honest_score"]
    return {
        "methods": methods,
        "cpu_seconds": statistics.median(cpu for cpu, *_ in runs),
        "cpu_seconds_of_runs": [round(cpu, 3) for cpu, *_ in runs],
        "peak_megabytes": round(max(memory for _, memory, _ in runs) / 1024),
        "score": honest["score"],
        "interval": honest["interval_95"],
        "choice": f"{model['method']}, {model['features_overall']:g} features",
        "versions": metrics["versions"],
    }


def make_report(record):
    """The records as a table, one line per case that has both versions."""
    lines = [
        f"CPU seconds of `tamis fit --n-jobs 1`; before: commit {record['commit']}.",
        record["machine"],
        "",
        f"{'case':12s} {'before':>9s} {'now':>9s} {'ratio':>6s} {'target':>6s}  "
        f"{'honest score before':26s} {'honest score now':26s} choice before; now",
    ]
    for name, (_, _, target, _) in CASES.items():
        case = record["cases"].get(name, {})
        if "before" in case and "now" in case:
            old, new = case["before"], case["now"]
            mark = "" if case["same_run"] else " (before: an earlier run)"
            lines.append(
                f"{name:12s} {old['cpu_seconds']:9.2f} {new['cpu_seconds']:9.2f} "
                f"{old['cpu_seconds'] / new['cpu_seconds']:6.2f} {target:6.1f}  "
                f"{_score(old):26s} {_score(new):26s} {old['choice']}; {new['choice']}{mark}"
            )
    lines += ["", *(f"{name}: {what}" for name, what in record["tables"].items())]
    return "\n".join(lines) + "\n"


def _score(version):
    low, high = version["interval"]
    return f"{version['score']:.4f} [{low:.4f}, {high:.4f}]"


def _machine():
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0].split(":")[1].strip() if names else model
    return f"{model}, Python {platform.python_version()}"


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=",".join(CASES), help=f"some of {', '.join(CASES)}")
    parser.add_argument("--commit", default="37a6c1c", help="the earlier commit")
    parser.add_argument("--cache", help="folder that keeps the environment of the earlier commit")
    parser.add_argument(
        "--data",
        default=os.environ.get("TAMIS_DATA") or None,
        help="data folder with genes/ (default: $TAMIS_DATA, else generated genes)",
    )
    parser.add_argument("--repeats", type=int, help="repetitions (default: 3 small, 1 big)")
    parser.add_argument("--baselines", default=BASELINES, help="default: %(default)s")
    parser.add_argument("--reuse-old", action="store_true", help="do not run the earlier commit")
    parser.add_argument("--output", type=Path, default=RESULTS / "speed_comparison")
    parser.add_argument("--stages", help="tables whose stages are measured instead")
    arguments = parser.parse_args(argv)
    arguments.cases = arguments.cases.split(",")
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}; the cases are {', '.join(CASES)}.")
    return arguments


def measure_stages(arguments):
    """Run `tamis fit` on a small part of each table, then on the table; writes what it took."""
    head = f"CPU seconds of `tamis fit --n-jobs 1`, everything compiled. {_machine()}"
    written = RESULTS / "speed_stages.txt"
    known = written.read_text().strip().split("\n\n")[1:] if written.is_file() else []
    parts = {part.splitlines()[0]: part for part in known}
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(arguments.cache or folder).resolve() / "numba-now"
        version = Version(sys.executable, cache, ROOT / "src")
        for name in arguments.stages.split(","):
            table, methods = Path(folder) / f"{name}.csv", METHODS.get(name, "auto")
            for is_small in (True, False):
                what = write_table(name, table, arguments.data, is_small)
                told = version.time_stages(table, methods)
            what += "" if methods == "auto" else f", {methods}"
            told += f"\nwanted: {WANTED[name]}" if name in WANTED else ""
            parts[what] = f"{what}\n{told}"
            print(parts[what], flush=True)
            written.write_text("\n\n".join([head, *parts.values()]) + "\n")


def main(argv=None):
    arguments = parse(argv)
    if arguments.stages:
        measure_stages(arguments)
        return
    written = arguments.output.with_suffix(".json")
    record = json.loads(written.read_text()) if written.is_file() else {"cases": {}, "tables": {}}
    record |= {"commit": arguments.commit, "machine": _machine()}
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(arguments.cache or folder).resolve()
        versions = {"now": Version(sys.executable, cache / "numba-now", ROOT / "src")}
        if not arguments.reuse_old:
            python = install_commit(arguments.commit, cache)
            versions = {"before": Version(python, cache / "numba-before"), **versions}
        tables = {}
        for name in arguments.cases:
            table = CASES[name][0]
            for part in ("small", "whole"):
                if (table, part) not in tables:
                    path = Path(folder) / f"{table}-{part}.csv"
                    what = write_table(table, path, arguments.data, part == "small")
                    tables[table, part] = path
            record["tables"][table] = what
            case = record["cases"].setdefault(name, {})
            case |= measure_case(name, versions, tables, arguments)
            case["same_run"] = not arguments.reuse_old
            written.write_text(json.dumps(record, indent=1) + "\n")
            report = make_report(record)
            arguments.output.with_suffix(".txt").write_text(report)
            print(report, flush=True)


if __name__ == "__main__":
    main()
