import pytest

from tests.quick import mark_beyond_pairs

# Those that take long, or whose other pairs are covered by the tests of optima and certificates.
_SINGLES = {
    "test_every_level_is_the_solution_of_its_radius",
    "test_warm_starts_save_iterations",
    "test_balls_far_larger_than_needed",
    "test_equal_columns_share_or_not_but_the_optimum_is_one",
    "test_every_gap_on_the_way_bounds_the_distance_from_the_optimum",
    "test_no_model_has_more_features_than_asked_for",
    "test_the_form_of_the_data_does_not_matter",
    "test_splitting_alone_finds_the_optimum",
    "test_scores_are_those_of_classifiers_trained_one_by_one",
    "test_standardized_features_are_multiplied",
    "test_raw_features_are_multiplied",
    "test_chosen_radii_follow_the_units_of_the_data",
    "test_solution_of_all_rows",
    "test_algorithm_1_comes_to_the_same_optimum_in_the_end",
    "test_single_precision_gives_the_optimum_of_the_rounded_data",
    "test_equal_calls_give_equal_bits",
    "test_a_radius_that_does_not_bind_gives_the_free_optimum",
    "test_a_rare_class_is_predicted",
    "test_every_classifier_is_that_of_fit_with_its_radius",
    "test_every_point_of_an_inner_algorithm_is_certified",
    "test_working_sets_give_the_optimum_of_the_whole_problem",
    "test_classes_of_one_sample",
    "test_offsets_do_not_matter",
    "test_units_do_not_matter",
    "test_weight_is_repetition",
}


def pytest_collection_modifyitems(items):
    mark_beyond_pairs(items, "tests/primal_dual/", _SINGLES)


@pytest.fixture(scope="package", autouse=True)
def sparse_data_stay_sparse():
    """Small examples of sparse data are hardly sparse, but here their own code is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tamis._array._DENSE_SHARE", 2.0)
        patch.setattr("tamis._array._SMALLER_SHARE", 2.0)
        yield
