import os

from hypothesis import settings

# One seed for scikit-learn's checks that use the global generator; threads are tested explicitly.
os.environ.setdefault("SKLEARN_TESTS_GLOBAL_RANDOM_SEED", "0")

# The same examples in every run; HYPOTHESIS_PROFILE=explore looks for others.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
