"""Features as plain text."""

import pytest

from tamis.cli.show_features import show_features

RECORD = {
    "feature": "TP53",
    "explained_spread": 0.4,
    "frequency": 1.0,
    "frequency_with_substitutes": 1.0,
    "adjusted_p": 0.0545,
    "centers": {"ill": 1.0, "well": 0.0},
    "interchangeable": "MDM2",
    "loss_if_replaced": 0.004,
}


@pytest.mark.parametrize(
    ("is_balanced", "unit"), [(True, "balanced accuracy"), (False, "accuracy")]
)
def test_a_loss_has_a_unit_and_p_values_are_not_rounded_to_the_level(is_balanced, unit):
    lines = show_features([RECORD], {}, is_balanced=is_balanced)
    told = (
        f"Interchangeable, with the {unit} that is lost at most (95 % limit): TP53 -> MDM2 (0.004)"
    )
    assert told in " ".join(lines)
    assert lines[1].endswith((" 0.054", " 0.055"))


def test_centers_of_percent_columns_are_percents():
    record = RECORD | {"source": "LVEF %", "centers": {"ill": 0.5178, "well": 0.4381}}
    assert "51.8 %  43.8 %" in show_features([record], {}, percents=["LVEF %"])[1]
    assert "0.5178  0.4381" in show_features([record], {})[1]


def test_long_names_of_features_and_of_two_classes_leave_the_centers_in_place():
    centers = {"not readmitted": 0.3627, "readmitted": 1.37}
    record = RECORD | {"feature": "LV ejection fraction", "centers": centers, "stands_out": "high"}
    lines = show_features([record | {"feature": "# admissions, last 12 mo."}, record], {})
    assert "not re…itted" in lines[0] and "stands out" not in lines[0]
    assert lines[1] == "# admissions, last 12 mo." and "0.3627" in lines[2]  # of its own
    folds = {"frequency": None, "frequency_with_substitutes": None, "stability": 1.0}
    assert "  not readmitted  readmitted" in show_features([record | folds], {})[0]
    assert max(map(len, lines)) <= 80
