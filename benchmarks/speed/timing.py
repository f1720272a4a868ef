"""How the speed benchmarks take their times."""

import time


def best_times(tasks, repeats):
    """Best seconds of every task, in turns, after one untimed round."""
    for task in tasks.values():
        task()
    seconds = dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds
