"""Make visits.csv, the table of Getting started: python docs/data/make_visits.py.

The visits are generated, so the truth is known. Whether somebody is admitted depends on four
columns (oxygen, age, crp and arrival); the other features are noise or follow one of these four.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("visits.csv")
N_VISITS = 600


def make_visits(seed: int = 0) -> dict[str, list[str]]:
    """Columns of the table, as text; a missing value is an empty field."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, N_VISITS)
    arrival = rng.choice(["walk-in", "ambulance", "referred"], N_VISITS, p=[0.55, 0.3, 0.15])
    oxygen = np.minimum(100, rng.normal(97.5 - 0.035 * (age - 18), 1.8, N_VISITS)).round()
    crp = rng.lognormal(2.2, 1.1, N_VISITS)
    risk = (
        0.045 * (age - 58)
        - 0.7 * (oxygen - 96)
        + 0.9 * (np.log(crp) - 2.2)
        + np.select([arrival == "ambulance", arrival == "referred"], [1.6, 0.8], 0.0)
        - 1.2
    )
    admitted = rng.random(N_VISITS) < 1 / (1 + np.exp(-2.0 * risk))
    temperature = 36.8 + 0.25 * (np.log(crp) - 2.2) + rng.normal(0, 0.4, N_VISITS)
    columns = {
        "visit": [f"V{number:04d}" for number in range(1, N_VISITS + 1)],
        "age": age.astype(str),
        "sex": rng.choice(["female", "male"], N_VISITS),
        "arrival": arrival,
        "temperature": np.char.mod("%.1f", temperature),
        "heart_rate": np.char.mod("%d", rng.normal(84, 14, N_VISITS)),
        "systolic": np.char.mod("%d", rng.normal(132, 18, N_VISITS)),
        "oxygen": np.char.mod("%d", oxygen),
        "crp": np.char.mod("%.1f", crp),
        "white_cells": np.char.mod("%.1f", rng.lognormal(2.0, 0.3, N_VISITS)),
        "sodium": np.char.mod("%d", rng.normal(139, 3, N_VISITS)),
        "pain": np.char.mod("%d", rng.integers(0, 11, N_VISITS)),
        "smoker": rng.choice(["no", "yes"], N_VISITS, p=[0.7, 0.3]),
        "outcome": np.where(admitted, "admitted", "home"),
    }
    # What is often not measured, or not asked.
    for name, share in (("crp", 0.08), ("white_cells", 0.12), ("smoker", 0.05), ("sodium", 0.1)):
        columns[name] = np.where(rng.random(N_VISITS) < share, "", columns[name])
    return {name: list(values) for name, values in columns.items()}


def main() -> None:
    """Write the table."""
    columns = make_visits()
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


if __name__ == "__main__":
    main()
