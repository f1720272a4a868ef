"""Roles and kinds of columns: guesses are told, and every one can be overruled."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis.tables import InputError, match_labels, read_table

N = 40


def table(path, **columns):
    """A CSV file of columns, and a target `y` of two classes."""
    columns = {"y": ["no", "yes"] * (N // 2), "u": np.arange(N) * 0.7 % 3, **columns}
    columns = {name: values for name, values in columns.items() if values is not None}
    rows = zip(*columns.values(), strict=True)
    text = "\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n"
    (path / "t.csv").write_text(text)
    return path / "t.csv"


def noted(data, *words):
    return any(all(word in note for word in words) for note in data.notes)


def test_without_target_the_candidates_are_listed(tmp_path):
    with pytest.raises(InputError, match=r"with target, such as y"):
        read_table(table(tmp_path))


def test_a_wrong_target_gets_the_nearest_names(tmp_path):
    path = table(tmp_path, outcome=["a", "b"] * 20, income=range(N))
    with pytest.raises(InputError, match=r"'outcom'.*outcome, income"):
        read_table(path, "outcom")


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["0", "1"], [0, 1]),
        (["1.0", "2.0"], [1, 2]),
        (["True", "False"], ["True", "False"]),
        (["-", "+"], ["-", "+"]),
        (["none", "mild"], ["none", "mild"]),
        (["0.5", "1"], ["0.5", "1"]),
    ],
)
def test_labels_keep_their_type(tmp_path, values, labels):
    data = read_table(table(tmp_path, y=values * (N // 2)), "y")
    assert data.y.tolist() == labels * (N // 2)


def test_rows_without_label_are_left_out(tmp_path):
    y = ["", "a", "b", "NA"] * 10
    data = read_table(table(tmp_path, y=y, name=[f"n{i}" for i in range(N)]), "y")
    assert data.columns.n_rows == data.y.size == data.ids.size == 20
    assert data.ids[0] == "n1"
    assert noted(data, "20 rows without a label")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * N, "only one class"),
        (["a"] * 20 + ["b"] * 19 + ["rare"], "class rare with 1 row:"),
        (
            ["well"] * 20 + ["ill"] * 19 + ["Wel"],
            r"class Wel with 1 row \('Wel' may be a misspelling of 'well', which has 20 rows\)",
        ),
        (np.linspace(0, 1, N), "continuous.*bin it"),
        (range(N), "continuous"),
        ([""] * N, "no row has a label"),
    ],
)
def test_labels_from_which_nothing_can_be_learned(tmp_path, y, message):
    with pytest.raises(InputError, match=message):
        read_table(table(tmp_path, y=y), "y")


def test_many_classes_need_rows(tmp_path):
    def file(n_rows_each):
        rows = "".join(f"{i % 7}.5,c{i % 101}\n" for i in range(101 * n_rows_each))
        (tmp_path / "m.csv").write_text("u,y\n" + rows)
        return tmp_path / "m.csv"

    with pytest.raises(InputError, match="101 classes"):
        read_table(file(4), "y")
    assert np.unique(read_table(file(5), "y").y).size == 101


IDENTIFIERS = {
    "name": [f"n{i}" for i in range(N)],
    "patient_id": [1000 + 7 * i for i in range(N)],
    "index": range(N),
    "Unnamed: 0": range(N),
    "sampleID": range(1, N + 1),
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_spotted_and_can_be_included(tmp_path, name):
    path = table(tmp_path, **{name: IDENTIFIERS[name]})
    data = read_table(path, "y")
    assert data.columns.names == ["u"]
    assert data.ids.tolist() == [str(value) for value in IDENTIFIERS[name]]
    assert noted(data, name, "include=[")
    assert name in read_table(path, "y", include=[name]).columns.names
    assert name in read_table(path, "y", categorical=[name]).kinds


def test_names_of_rows_are_kept_as_written(tmp_path):
    names = [f"{i:03d}" for i in range(N)]
    assert read_table(table(tmp_path, code=names), "y", id_column="code").ids.tolist() == names
    halves = [i + 0.5 for i in range(N)]
    data = read_table(table(tmp_path, code=halves), "y", id_column="code")
    assert data.ids.tolist() == [str(value) for value in halves]


def test_a_number_that_only_differs_is_a_feature(tmp_path):
    data = read_table(table(tmp_path, price=np.arange(N)[::-1] * 3), "y")
    assert data.columns.names == ["u", "price"]


def test_ids_that_repeat_may_be_groups(tmp_path):
    path = table(tmp_path, patient_id=[i // 2 for i in range(N)])
    assert noted(read_table(path, "y"), "groups=patient_id")
    data = read_table(path, "y", groups="patient_id")
    assert data.columns.names == ["u"]
    assert data.groups.tolist() == [str(i // 2) for i in range(N)]


@pytest.mark.parametrize("form", ["2024-01-{:02d}", "{:02d}/03/2024", "2024-01-{:02d} 10:30:00"])
def test_dates_are_left_out(tmp_path, form):
    path = table(tmp_path, when=[form.format(1 + i % 28) for i in range(N)])
    data = read_table(path, "y")
    assert data.columns.names == ["u"]
    assert noted(data, "when", "dates")
    assert read_table(path, "y", include=["when"]).kinds == {"when": "categorical"}


def test_free_text_is_left_out_unless_asked_for(tmp_path):
    path = table(tmp_path, review=[f"this is the long review number {i}" for i in range(N)])
    data = read_table(path, "y")
    assert data.columns.names == ["u"]
    assert noted(data, "text=['review']")
    assert read_table(path, "y", text=["review"]).kinds == {"review": "text"}
    assert read_table(path, "y", include="review").kinds == {"review": "text"}


def test_too_many_categories_are_left_out_unless_forced(tmp_path):
    path = table(tmp_path, city=[f"c{i % 30}" for i in range(N)])
    data = read_table(path, "y")
    assert data.columns.names == ["u"]
    assert noted(data, "city", "30 distinct values", "categorical=['city']")
    assert read_table(path, "y", categorical=["city"]).kinds == {"city": "categorical"}


def test_few_odd_words_among_numbers_are_missing(tmp_path):
    dose = [str(i / 4) for i in range(N)]
    dose[3] = "low"
    data = read_table(table(tmp_path, dose=dose), "y")
    assert data.columns.numeric_names.tolist() == ["u", "dose"]
    assert np.isnan(data.columns.numeric[3, 1])
    assert noted(data, "dose", "low")


def test_codes_are_told_in_one_note(tmp_path):
    path = table(
        tmp_path, grade=[1 + i % 3 for i in range(N)], stage=[i % 5 for i in range(N)],
        flag=[i % 2 for i in range(N)],
    )  # fmt: skip
    data = read_table(path, "y")
    assert noted(data, "categorical=['grade', 'stage']")
    assert "grade" in data.columns.numeric_names
    forced = read_table(path, "y", categorical=["grade"])
    assert forced.columns.others["grade"].tolist() == [str(1 + i % 3) for i in range(N)]


@pytest.mark.parametrize("words", [("yes", "no"), ("true", "false"), ("m", "f")])
def test_boolean_words_are_categories(tmp_path, words):
    data = read_table(table(tmp_path, b=[words[i % 2] for i in range(N)]), "y")
    assert data.kinds == {"b": "categorical"}


def test_columns_get_their_roles_by_name(tmp_path):
    path = table(tmp_path, site=["A", "B"] * 20, who=[f"p{i // 4}" for i in range(N)], w=range(N))
    data = read_table(path, "y", batch="site", groups="who", id_column="w")
    assert data.columns.names == ["u"]
    assert data.batches[:2].tolist() == ["A", "B"]
    assert data.groups[4] == "p1"
    assert data.ids[1] == "1"


@pytest.mark.parametrize("role", ["text", "categorical", "drop", "include"])
def test_unknown_names_get_the_nearest(tmp_path, role):
    path = table(tmp_path, color=["red", "blue"] * 20)
    with pytest.raises(InputError, match=rf"{role}: no column 'colour'; did you mean color"):
        read_table(path, "y", **{role: ["colour"]})
    for one in ("groups", "batch", "id_column"):
        with pytest.raises(InputError, match=f"{one}: no column 'colour'"):
            read_table(path, "y", **{one: "colour"})


def test_dropped_columns_are_gone(tmp_path):
    path = table(tmp_path, color=["red", "blue"] * 20, w=np.arange(N) / 7)
    assert read_table(path, "y", drop=["color", "w"]).columns.names == ["u"]
    assert read_table(path, "y", drop="color,w").columns.names == ["u"]
    with pytest.raises(InputError, match="no feature is left"):
        read_table(path, "y", drop=["color", "w", "u"])


def test_columns_that_were_dropped_are_all_named_if_none_is_left(tmp_path):
    said = [f"the patient number {i} said quite a lot about the pain" for i in range(N)]
    path = table(tmp_path, id=[f"s{i}" for i in range(N)], said=said)
    told = r"left: dropped said \(.*\); to use: text=\['said'\]; dropped id \(.*\); .*\['id'\]"
    with pytest.raises(InputError, match=told):
        read_table(path, "y", drop=["u"])


def test_missing_values_are_counted_or_refused(tmp_path):
    path = table(tmp_path, a=["", *range(1, N)], b=["", ""] + ["x", "z"] * 19, c=[""] * N)
    data = read_table(path, "y")
    assert noted(data, "3 values missing in 2 columns: b (2), a (1)")
    assert noted(data, "dropped c")
    with pytest.raises(InputError, match="3 values missing"):
        read_table(path, "y", missing="error")


def test_infinite_numbers_are_named(tmp_path):
    path = table(tmp_path, a=[*range(5), "inf", *range(6, N)])
    with pytest.raises(InputError, match=r"column a, row 6: inf"):
        read_table(path, "y")


def test_constant_columns_stay_and_are_told(tmp_path):
    data = read_table(table(tmp_path, a=[3] * N), "y")
    assert data.columns.names == ["u", "a"]
    assert noted(data, "a is constant")


def test_names_that_stand_twice_get_a_number(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a,a,y\n1,2,3,0,p\n4,5,6,1,q\n1,2,5,1,p\n4,5,6,0,q\n")
    data = read_table(tmp_path / "t.csv", "y")
    assert data.columns.names == ["a", "b", "a.1", "a.2"]
    assert noted(data, "several columns have the same name ('a')")
    assert read_table(tmp_path / "t.csv", "y", drop=["a.1"]).columns.names == ["a", "b", "a.2"]


def test_labels_can_lie_in_a_file_of_their_own(tmp_path):
    path = table(tmp_path, y=None, name=[f"n{i}" for i in range(N)])
    labels = tmp_path / "labels.tsv"
    rows = [f"n{i}\t{'ab'[i % 2]}\t{i}\n" for i in reversed(range(N))]
    labels.write_text("sample\tclass\tage\n" + "".join(rows) + "n99\ta\t3\n")
    data = read_table(path, "class", target_file=labels)
    assert data.y.tolist() == ["a", "b"] * 20
    assert data.target == "class"
    assert data.columns.names == ["u"]
    assert noted(data, "1 label without a row: n99")
    with pytest.raises(InputError, match=r"several columns.*class, age"):
        read_table(path, target_file=labels)
    labels.write_text("sample\tclass\tage\n" + "".join(rows[:-7]))
    with pytest.raises(
        InputError, match=r"7 of 40 rows have no label.*n0, n1, n2, n3, n4 and 2 more"
    ):
        read_table(path, "class", target_file=labels)
    labels.write_text("sample\tclass\nz\t1\nw\t2\n")
    with pytest.raises(InputError, match="no column of the table matches"):
        read_table(path, target_file=labels)


def test_labels_without_header_are_joined_too(tmp_path):
    path = table(tmp_path, y=None, name=[f"n{i}" for i in range(N)])
    labels = tmp_path / "labels.csv"
    labels.write_text("".join(f"n{i},{'ab'[i % 2]}\n" for i in range(N)))
    assert read_table(path, target_file=labels).y.tolist() == ["a", "b"] * 20


def test_labels_can_stand_one_a_line(tmp_path):
    path = table(tmp_path, y=None)
    labels = tmp_path / "labels.txt"
    labels.write_text("0\n1\n" * 20)
    assert_array_equal(read_table(path, target_file=labels).y, [0, 1] * 20)
    labels.write_text("class\n" + "a\nb\n" * 20)
    assert read_table(path, target_file=labels).target == "class"
    labels.write_text("0\n1\n" * 19)
    with pytest.raises(InputError, match="38 labels for 40 rows"):
        read_table(path, target_file=labels)


def test_without_requiring_a_target_features_are_enough(tmp_path):
    data = read_table(table(tmp_path, y=None), require_target=False)
    assert data.y is None
    assert read_table(table(tmp_path, y=None), "y", require_target=False).y is None
    assert read_table(table(tmp_path, y=["a"] * N), "y", require_target=False).y.size == N


def test_labels_are_matched_to_the_classes_of_a_model():
    assert match_labels(np.array(["1", "2.0", "x", ""], dtype=object), [1, 2]).tolist() == [
        1, 2, None, None,
    ]  # fmt: skip
    assert match_labels(np.array([1.0, 0.0]), ["0", "1"]).tolist() == ["1", "0"]
    assert match_labels(np.array(["True", "False"]), np.array([False, True])).tolist() == [
        True, False,
    ]  # fmt: skip
