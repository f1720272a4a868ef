import os

# One seed for scikit-learn's checks that use the global generator; threads are tested explicitly.
os.environ.setdefault("SKLEARN_TESTS_GLOBAL_RANDOM_SEED", "0")
