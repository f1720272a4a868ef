"""`tamis pick`: the model of another method or level, from the checkpoints of a run."""

from tamis.cli.data import find_words
from tamis.cli.fit_command import compare_again, conclude
from tamis.cli.layout import plural
from tamis.cli.offers import find_original
from tamis.cli.printing import say
from tamis.comparison.choosing.picking import complete, pick_choice
from tamis.comparison.choosing.readable import tell_standard
from tamis.comparison.folder import RunFolder
from tamis.comparison.methods.baselines import BASELINES
from tamis.comparison.methods.families import METHODS
from tamis.comparison.options import Options
from tamis.comparison.settings import find_beside
from tamis.models.files import refuse_broken_link
from tamis.tables.errors import InputError


def run(options):
    """Run the command; returns the exit code."""
    names = [method.name for method in METHODS]
    sparse = [method.name for method in BASELINES if method.is_sparse_baseline]
    _refuse_title(options.method, sparse)
    if options.method not in (None, *names, *sparse):
        raise InputError(
            f"--method {options.method}: the methods are {', '.join((*names, *sparse))}."
        )
    given = (options.method, options.n_features, options.readable or None, options.without or None)
    if all(one is None for one in given):
        raise InputError("say what to change: --method, --n-features, --without or --readable.")
    for path in (options.run, options.output):
        refuse_broken_link(path)
    source, target = RunFolder(options.run), RunFolder(options.output)
    if source.path.resolve() == target.path.resolve():
        raise InputError(f"-o {target.path} is the run itself; name another folder.")
    if target.checkpoints.exists():
        raise InputError(f"-o {target.path} is the folder of a `tamis fit`; name another folder.")
    _refuse_picked(source)
    words = find_words(source, options.data)
    if options.method in find_beside(Options.from_words(words)):
        raise InputError(
            f"--method {options.method} is only compared in this run. To use its models, repeat "
            f"tamis fit without --no-baselines, and name {options.method} if you name methods."
        )
    own = None
    if not options.readable and (options.method is None or options.n_features is None):
        model = source.read_json("metrics.json")["model"]
        size = model["features_per_sample" if model["asks"] else "features_overall"]
        own = model["method"], size
        complete(options.method, options.n_features, own)  # before the data are read
    comparison, choice = pick_choice(
        compare_again(source, words),
        options.method,
        options.n_features,
        options.without,
        options.readable,
        own,
    )
    if options.readable and choice == comparison.recommended:
        say("the recommended model can be read already; this is the same model")
    elif options.readable and not options.without:
        say(tell_standard(comparison, choice))
    _tell_largest(comparison, choice, options.n_features)
    target.check()
    # Before the results are printed: the reader of a pipe may close it.
    target.path.mkdir(parents=True, exist_ok=True)
    target.write_json("run.json", words | {"picked_from": str(source.path)})
    is_done = conclude(
        comparison, choice, target, options, run=str(source.path), about=source.about
    )
    return 0 if is_done else 1


def _tell_largest(comparison, choice, wanted):
    """Say so if more features are wanted than any model of the method has."""
    result = comparison.result(choice.method)
    largest = float((result.per_sample if result.method.asks else result.overall).max())
    if wanted is not None and wanted > largest + 0.05:
        say(f"the largest model of {choice.method} has {plural(largest, 'feature')}")


def _refuse_title(given, sparse):
    """Raise InputError for a baseline that cannot be picked, or that has another name here."""
    for method in BASELINES:
        if given not in (method.name, method.title):
            continue
        if method.name not in sparse:
            raise InputError(f"--method {given} is a baseline, whose models cannot be picked.")
        if given != method.name:
            raise InputError(
                f"--method {given} is called {method.name} here: tamis pick RUN --method "
                f"{method.name}"
            )


def _refuse_picked(folder):
    """Raise InputError for a folder that was picked itself: it has the models of no method."""
    found = find_original(folder)
    if found is None:
        return
    told = f"{folder.path} was made by `tamis pick {found}`"
    if found.is_dir():
        raise InputError(f"{told}, and has only this model; use `tamis pick {found} ...`.")
    raise InputError(f"{told}, and {found} is no longer there; repeat its tamis fit.")
