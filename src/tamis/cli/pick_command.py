"""`tamis pick`: the model of another method or level, from the checkpoints of a run."""

from pathlib import Path

from tamis.cli.data import load
from tamis.cli.fit_command import conclude
from tamis.cli.printing import STANDARD_INPUT
from tamis.comparison.baselines import BASELINES
from tamis.comparison.comparing import compare_table
from tamis.comparison.folder import RunFolder
from tamis.comparison.methods import METHODS
from tamis.tables.errors import InputError

__all__ = ["compare_again", "run"]


def run(options):
    """Run the command; returns the exit code."""
    names = [method.name for method in METHODS]
    allowed = [method.name for method in BASELINES if method.can_be_allowed]
    if options.method not in (*names, *allowed):
        raise InputError(f"--method {options.method}: the methods are {', '.join(names)}.")
    source, target = RunFolder(options.run), RunFolder(options.output)
    if source.path.resolve() == target.path.resolve():
        raise InputError(f"-o {target.path} is the run itself; name another folder.")
    words = source.read_json("run.json")
    if options.method in allowed and not words.get("allow_baselines"):
        raise InputError(
            f"--method {options.method} is a baseline in this run; repeat tamis fit with "
            "--allow-baselines to use its models."
        )
    comparison = compare_again(source, words, options.data)
    choice = comparison.find(options.method, options.n_features)
    target.check()
    conclude(comparison, choice, target, options, run=str(source.path), about=source.about)
    return 0


def compare_again(folder, words, data=None):
    """The comparison of a run, from its checkpoints.

    Parameters
    ----------
    folder : RunFolder
    words : dict
        Options of the run, from its `run.json`.
    data : str or None
        Where the data are now; None: where they were.

    Returns
    -------
    comparison : Comparison
    """
    if data is not None:
        words["data"] = data
    elif words["data"] == STANDARD_INPUT:
        raise InputError("the data of this run came from standard input; give a file with --data.")
    if words["data"] is not None and not Path(words["data"]).exists():
        raise InputError(
            f"the data of this run are no longer at {words['data']}; give their path with --data."
        )
    loaded = load(words)
    return compare_table(
        loaded.table,
        loaded.options,
        methods=words["compared"],
        name=loaded.name,
        descriptions=loaded.descriptions,
        checkpoints=folder.checkpoints,
        only_finished=True,
    )
