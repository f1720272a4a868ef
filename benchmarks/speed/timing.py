"""How the speed benchmarks take their times."""

import statistics
import time


def best_times(tasks, repeats, clock=time.perf_counter):
    """Best seconds of every task, in turns, after one untimed round."""
    for task in tasks.values():
        task()
    seconds = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            start = clock()
            task()
            seconds[name] = min(seconds[name], clock() - start)
    return seconds


def median_times(tasks, repeats):
    """Median seconds of every task, in turns, after one untimed round."""
    for task in tasks.values():
        task()
    seconds = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}
