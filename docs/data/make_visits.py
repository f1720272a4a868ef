"""Make the tables of Getting started: python docs/data/make_visits.py.

visits.csv has 600 visits with their outcome, new_visits.csv 20 later ones without. They are
generated, so the truth is known: whether somebody is admitted depends on oxygen, age, crp and
arrival; the other features are noise, or follow one of these four.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
N_VISITS, N_NEW = 600, 20


def make_visits(seed: int = 0) -> dict[str, list[str]]:
    """Columns of all visits, as text; a missing value is an empty field."""
    n_visits = N_VISITS + N_NEW
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, n_visits)
    arrival = rng.choice(["walk-in", "ambulance", "referred"], n_visits, p=[0.55, 0.3, 0.15])
    oxygen = np.minimum(100, rng.normal(97.5 - 0.035 * (age - 18), 1.8, n_visits)).round()
    crp = rng.gamma(2.0, 12.0, n_visits)
    risk = (
        0.045 * (age - 58)
        - 0.7 * (oxygen - 96)
        + 0.05 * (crp - 24)
        + np.select([arrival == "ambulance", arrival == "referred"], [1.6, 0.8], 0.0)
        - 1.2
    )
    admitted = rng.random(n_visits) < 1 / (1 + np.exp(-2.0 * risk))
    temperature = 36.6 + 0.012 * crp + rng.normal(0, 0.4, n_visits)
    columns = {
        "visit": [f"V{number:04d}" for number in range(1, n_visits + 1)],
        "age": age.astype(str),
        "sex": rng.choice(["female", "male"], n_visits),
        "arrival": arrival,
        "temperature": np.char.mod("%.1f", temperature),
        "heart_rate": np.char.mod("%d", rng.normal(84, 14, n_visits)),
        "systolic": np.char.mod("%d", rng.normal(132, 18, n_visits)),
        "oxygen": np.char.mod("%d", oxygen),
        "crp": np.char.mod("%.1f", crp),
        "white_cells": np.char.mod("%.1f", rng.lognormal(2.0, 0.3, n_visits)),
        "sodium": np.char.mod("%d", rng.normal(139, 3, n_visits)),
        "pain": np.char.mod("%d", rng.integers(0, 11, n_visits)),
        "smoker": rng.choice(["no", "yes"], n_visits, p=[0.7, 0.3]),
        "outcome": np.where(admitted, "admitted", "home"),
    }
    # What is often not measured, or not asked.
    for name, share in (("crp", 0.08), ("white_cells", 0.12), ("smoker", 0.05), ("sodium", 0.1)):
        columns[name] = np.where(rng.random(n_visits) < share, "", columns[name])
    return {name: list(values) for name, values in columns.items()}


def write(name: str, columns: dict[str, list[str]], rows: slice) -> None:
    """Write some rows as CSV."""
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(list(zip(*columns.values(), strict=True))[rows])


def main() -> None:
    """Write both tables."""
    columns = make_visits()
    write("visits.csv", columns, slice(N_VISITS))
    del columns["outcome"]
    write("new_visits.csv", columns, slice(N_VISITS, None))


if __name__ == "__main__":
    main()
