"""Tables larger than memory: choose on a sample, train on everything, verify on the rest.

A file is read several times, some rows at a time; each pass has bounded memory, O(columns x
classes + one chunk + the sample):

1. labels and sample groups of all N rows; they give the sample of at most k rows
   (`tamis.tables.formats.sampling`), a function of the seed and the rows alone;
2. the rows of the sample, as a table in memory;
3. the columns of all rows: categories, words, ranges, missing values, copies
   (`tamis.tables.preparing.streamed_preparation`), which give the columns of the matrix, (N, d);
4. all methods are compared on the sample, (k, d), like any table in memory;
5. the model of a `StreamingMethod` is trained on all N rows: medians that replace missing values,
   then class means in one pass, or class medians in a few, and the features are those of largest
   gain in all rows, as many as were chosen; or the head of a panel, on the features that the
   sample has chosen, in one pass or a few;
6. the recommended model, trained on the sample, predicts the N - k rows outside it
   (`tamis.comparison.streaming.verification`): an honest score of many rows.

What a pass found is saved as a checkpoint, so that an interrupted run repeats no finished pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tamis._array import take_columns
from tamis._base import WeightSummary
from tamis._passes import LocalChunks
from tamis.comparison.checks import Check
from tamis.comparison.choosing.choice import Choice
from tamis.comparison.comparison import Comparison
from tamis.comparison.fitted.final import make_model
from tamis.comparison.methods.method import StreamingMethod, Trained, WholeTable
from tamis.comparison.options import Options
from tamis.comparison.prepare import find_disguised
from tamis.comparison.running.checkpoints import store_of, versions
from tamis.comparison.stream_decision import Decision
from tamis.comparison.streaming.checkpoints import (
    SavedPasses,
    digest_file,
    read_survey,
    write_survey,
)
from tamis.comparison.streaming.columns import DescribedColumns, class_means, class_medians
from tamis.comparison.streaming.description import all_rows, describe_stream, sampled_rows
from tamis.comparison.streaming.training_rows import (
    SetAside,
    find_training_rows,
    training_stream,
)
from tamis.tables.classifying.table_model import TableModel
from tamis.tables.classifying.unusual import observe
from tamis.tables.columns.table import Table
from tamis.tables.formats.registry import open_reader
from tamis.tables.formats.sampling import RowSample
from tamis.tables.formats.source import available_memory
from tamis.tables.formats.table_file import as_text, from_text, read_arrays, write_arrays
from tamis.tables.preparing.preparation import Preparation
from tamis.tables.preparing.streamed_preparation import ColumnSurvey, learn_rows, survey_columns
from tamis.tables.reading.readers import read_for_command
from tamis.tables.reading.row_stream import RowStream, read_header, survey_rows

if TYPE_CHECKING:
    from tamis.comparison.fitted.calibrated import CalibrationRows
    from tamis.comparison.problem.problem import Part

__all__ = ["Streamed", "open_stream"]

# Several standard errors of the share of equal rows, where it is estimated.
_COPIES = 0.01


@dataclass
class Streamed:
    """A table that is streamed."""

    decision: Decision
    stream: RowStream  # all rows
    table: Table  # the sample
    survey: ColumnSurvey  # of the columns of all rows
    ignored: list[str]  # columns in which copies of a row may differ
    duplicates: str  # "group", "keep", "drop"
    passes: SavedPasses

    @property
    def n_rows(self) -> int:
        """Labelled rows of the file."""
        return self.survey.n_rows

    def train_final(
        self, comparison: Comparison, choice: Choice, model: TableModel, trained: Trained
    ) -> tuple[TableModel, Trained, str]:
        """Train a model on all rows, if its method can.

        `comparison`: of the sample; `model`: trained on the sample; `trained`: its path. Returns
        `model`, `trained`: on all rows, or as they were; `final`: rows that they were trained on.
        """
        result = comparison.result(choice.method)
        assert result is not None
        final, whole = sampled_rows(self), self
        if not isinstance(result.method, StreamingMethod):
            final += f" ({choice.method} needs its rows in memory)"
        elif comparison.kept is not None and not self.has_whole_groups:
            final += " (the sample has parts of the groups that are set aside for calibration)"
        else:
            whole = self.without(comparison.kept)
            trained, learned = whole.train(result.method, trained, choice.place)
            prepare = partial(whole.prepare_model, comparison.problem, learned)
            model = make_model(comparison, result, choice.place, trained, prepare)
            final = all_rows(self)
            if whole.n_rows < self.n_rows:
                left_out = self.n_rows - whole.n_rows
                final += f" but {left_out:,} (calibration set, dropped duplicates)"
            if result.method.keeps_features:
                final += "; the sample chose the features"
        # The sample has more of rare classes.
        frequencies = whole.survey.class_weights / whole.survey.class_weights.sum()
        return replace(model, frequencies=frequencies), trained, final

    def describe(
        self,
        comparison: Comparison,
        model: TableModel,
        final: str,
        failed: dict[str, str],
    ) -> tuple[dict[str, Any], list[Check]]:
        """Score a model of the sample outside it, and say what was streamed.

        Parameters and returned values are those of `describe_stream`.
        """
        return describe_stream(self, comparison, model, final, failed)

    @property
    def has_whole_groups(self) -> bool:
        """Whether each sample group is in the sample as a whole, or not at all."""
        return self.stream.header.groups == self.stream.sample.groups

    # Training on all rows.

    def without(self, kept: CalibrationRows | None, drops: bool | None = None) -> Streamed:
        """The table without the rows that do not train.

        `drops`: whether copies are left out; None: if that was asked for.
        """
        drops = self.duplicates == "drop" if drops is None else drops
        if self.survey.rows.is_complete and not self.survey.n_copies:
            drops = False
        if kept is None and not drops:
            return self
        aside, key = None, "rows-dropped"
        if kept is not None:
            assert self.survey.sample_units.size == self.table.n_rows
            units = self.survey.sample_units[kept.places]
            aside = SetAside(units, kept.table.columns, self.duplicates != "keep")
            left = hashlib.blake2b(units.tobytes(), digest_size=8).hexdigest()
            key = f"rows-{left}-{'dropped' if drops else self.duplicates}"
        given = self.stream, self.table.columns, self.ignored, aside, drops
        make = partial(find_training_rows, *given, available_memory() / 4)
        told = f"finding the rows of {self.decision.data} that train"
        found = self.passes.several(key, told, make)
        return replace(
            self,
            stream=training_stream(self.stream, found),
            survey=replace(
                self.survey, n_rows=int(found["n_rows"]), class_weights=found["class_weights"]
            ),
            passes=self.passes.of(key),
        )

    def train(
        self, method: StreamingMethod, trained: Trained, level: int
    ) -> tuple[Trained, Preparation]:
        """Train a method on all rows.

        `trained`: the path on the sample; `level`: the place of the model that is wanted. Returns
        `trained`: the path on all rows, with the part of the sample; `preparation`: learned from
        all rows; it replaces missing values of columns that have some.
        """
        part = trained.part
        problem = part.problem
        preparation = self._prepare(part)
        # What the training depends on, apart from the file and how it is read.
        given = part.columns, part.feature_of, problem.kept, np.array(problem.balanced)
        given = b"".join(
            np.asarray(v).tobytes() for v in (*given, *method.identify(trained, level))
        )
        left = hashlib.blake2b(given, digest_size=8).hexdigest()

        def chunks() -> Iterator[tuple]:
            for chunk in self.stream:
                X = preparation.finish(preparation.encode(chunk.table))
                X = X if part.columns.size == X.shape[1] else take_columns(X, part.columns)
                if chunk.codes.size:
                    yield X, chunk.codes, chunk.weights

        def make(remember):
            weights, most = self.survey.class_weights, available_memory() / 4
            passes = LocalChunks(chunks, is_read_again=True, remember=remember)
            return method.fit_chunks(
                trained, level, WholeTable(passes, self.n_rows, weights, most)
            )

        told = f"training {method.name} on all {self.n_rows:,} rows"
        found = self.passes.several(f"trained-{method.name}-{left}", told, make)
        return method.path_of(found, trained, level), preparation

    def _prepare(self, part: Part) -> Preparation:
        """The preparation of a part, learned from all rows."""
        problem = part.problem
        missing = np.flatnonzero(self.survey.missing[: len(problem.preparation.numbers)])
        # Which categories are rare was learned from the sample, as the columns of the part.
        layout = replace(problem.preparation, pools=part.preparation.pools)
        return self._learn(layout, problem.encoded, missing, "training", "in training")

    def describe_columns(
        self, kept: CalibrationRows | None, part: Part, features: NDArray, has_medians: bool
    ) -> DescribedColumns:
        """What describes the columns of a part in all rows that train.

        `kept`: rows that are set aside; `features`: those of a model; `has_medians`: whether their
        class medians are wanted.
        """
        whole = self.without(kept)
        preparation, problem = whole._prepare(part), part.problem
        used = part.columns[np.isin(part.feature_of, features)]
        numbers = used[used < len(preparation.numbers)]
        numbers = numbers if has_medians else numbers[:0]

        def make(remember):
            found = class_means(whole.stream, preparation, remember)
            if numbers.size:
                names = [preparation.numbers[j] for j in numbers]
                given = names, problem.encoded[:, numbers], problem.codes
                found["medians"] = class_medians(whole.stream, *given, remember)
            return found

        key = hashlib.blake2b(numbers.tobytes(), digest_size=8).hexdigest()
        told = f"describing the columns of all {whole.n_rows:,} rows"
        found = whole.passes.several(f"described-{key}", told, make)
        medians, p = found.get("medians"), found["p"]
        if self.duplicates == "group" and self._has_copies:  # they count as one row in tests
            single = self.without(kept, drops=True)
            again = partial(class_means, single.stream, preparation)
            p = single.passes.several("described", f"{told}, duplicates once", again)["p"]
        return DescribedColumns(found["means"], p[part.columns], numbers, medians)

    @property
    def _has_copies(self):
        """Whether more rows are equal than an estimate of their number is wrong by."""
        n_copies = self.survey.n_copies
        return n_copies > (0 if self.survey.rows.is_complete else _COPIES * self.n_rows)

    def prepare_model(self, problem: Any, learned: Preparation, used: NDArray) -> Preparation:
        """The preparation of a model with some columns, learned from all rows.

        `problem`: the sample; `learned`: from `train`; `used`: columns of the matrix. Returns
        `preparation`: it replaces missing values of all its columns.
        """
        n_numbers = len(learned.numbers)
        full = used[used < n_numbers]
        full = full[self.survey.missing[full] == 0]
        if full.size:
            key = hashlib.blake2b(full.tobytes(), digest_size=8).hexdigest()
            layout = replace(problem.preparation, pools=learned.pools)
            more = self._learn(layout, problem.encoded, full, f"model-{key}", "in new rows")
            learned = replace(learned, fill=np.where(more.fill == 0, learned.fill, more.fill))
        seen = observe(problem.preparation.restrict(used), problem.encoded[:, used])
        return replace(learned.restrict(used), spreads=seen.spreads, whole=seen.whole)

    def _learn(self, layout, encoded, columns, key, where):
        """Learn from all rows what replaces missing values of some columns of numbers."""

        def make(remember):
            ranges = self.survey.ranges
            learned = learn_rows(self.stream, layout, encoded, columns, ranges, remember)
            arrays = {"fill": learned.fill}
            for at, text in enumerate(learned.texts.values()):
                arrays[f"idf{at}"] = np.zeros(0) if text.idf is None else text.idf
            return arrays

        has_words = layout.categories or any(t.kind == "tfidf" for t in layout.texts.values())
        if not columns.size and not has_words:
            fill = np.zeros(layout.n_columns)
            return replace(layout, fill=fill, ranges=self.survey.ranges)
        told = f"finding what replaces missing values {where}, in all {self.n_rows:,} rows"
        found = self.passes.several(f"learned-{key}", told, make)
        texts = {
            name: replace(text, idf=found[f"idf{at}"] if text.kind == "tfidf" else None)
            for at, (name, text) in enumerate(layout.texts.items())
        }
        return replace(layout, fill=found["fill"], texts=texts, ranges=self.survey.ranges)


def open_stream(
    path: str | PathLike,
    reading: Mapping[str, Any],
    options: Options,
    decision: Decision,
    *,
    folder: str | PathLike | None = None,
    force: bool = False,
    tell: Callable[[str], None] = lambda message: None,
) -> tuple[Table, Streamed | None]:
    """Draw the sample of a table, and look at the columns of all its rows.

    `reading`: options of `read_table`, with "target"; `options`: of the comparison; `folder`:
    where finished passes are saved; `force`: whether passes over a different file in that folder
    are discarded; `tell`: called with messages for the user. Returns `table`: the sample;
    `streamed`: None if the sample has all rows.
    """
    written = {name: reading.get(name) for name in ("format", "delimiter", "encoding", "layer")}
    reader = open_reader(path, **written)
    source = reader.source
    assert decision.sample_rows is not None
    store = None
    if folder is not None:
        given = {**reading, "max_size": None}
        given |= {name: getattr(options, name) for name in ("vectorizer", "ngrams", "seed")}
        manifest = {"data": digest_file(source.path), "options": given, "versions": versions()}
        manifest["sample_rows"] = decision.sample_rows
        store = store_of(folder, manifest, force, tell)
    passes = SavedPasses(store, tell)
    header = read_header(reader, reading)

    def survey(remember):
        found = remember(partial(survey_as, header))
        return found if "about" in found else survey_as(replace(header, groups=None))

    def survey_as(known):
        found = survey_rows(path, reading, known, decision.sample_rows, options.seed)
        if known.groups is not None and not found.has_small_groups:
            return {}
        sample = found.draw(known.target, known.groups)
        about = {"classes": found.classes, "is_all": sample is None, "groups": known.groups}
        if sample is not None:
            about |= {"threshold": sample.threshold, "unlabelled": sample.unlabelled}
            about["weights"] = None if sample.weights is None else asdict(sample.weights)
        extra = np.zeros(0, dtype=np.uint64) if sample is None else sample.extra
        return {"about": as_text(about), "extra": extra}

    found = passes.several("rows", f"reading the labels of {source.name}", survey)
    about = from_text(found["about"])
    keep = None
    if not about["is_all"]:
        keep = RowSample(
            options.seed,
            header.target,
            about["groups"],
            about["threshold"],
            found["extra"],
            tuple(about["unlabelled"]),
            None if about.get("weights") is None else WeightSummary(**about["weights"]),
        )

    def read():
        # The decision has seen to it that the sample fits.
        given = {**reading, "max_size": reading["max_size"] if keep is None else None}
        return write_arrays(read_for_command(path, keep_rows=keep, **given))

    table = read_arrays(passes("sample", f"reading a sample of {source.name}", read))
    if keep is None:
        table.notes.append("streaming: the sample has all rows, so everything is in memory")
        return table, None
    stream = RowStream.of(path, reading, header, keep, table)
    times, counters = find_disguised(table.columns)
    ignored = [*times, *counters]

    def look():
        given = {"vectorizer": options.vectorizer, "ngrams": options.ngrams, "ignored": ignored}
        return write_survey(survey_columns(stream, **given)) | {"notes": as_text(stream.notes)}

    found = passes("columns", f"reading all columns of {source.name}", look)
    columns = read_survey(found)
    stream = replace(stream, n_labelled=columns.n_rows)
    total = sum(about["classes"].values())
    table.notes.append(
        f"streamed: methods are compared on a random sample of {table.n_rows:,} of {total:,} rows"
    )
    table.notes.extend(from_text(found["notes"]))
    if keep.groups != header.groups:
        table.notes.append(
            f"the groups in {header.groups!r} are too large for the sample: it has rows of all "
            "groups, so there is no score of rows outside it"
        )
    if columns.lost_words:
        table.notes.append(
            f"{', '.join(sorted(columns.lost_words))}: too many different words; some that occur "
            "in few rows are not used"
        )
    return table, Streamed(decision, stream, table, columns, ignored, options.duplicates, passes)
