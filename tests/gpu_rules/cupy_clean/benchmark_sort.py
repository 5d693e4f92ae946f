"""Times a sort with events, as CuPy's manual shows."""

import cupy as cp


def timed(size, repeats):
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    times = []
    for _ in range(repeats):
        x = cp.random.random(size)
        start.record()
        cp.sort(x)
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop))
    return times


cp.sort(cp.random.random(10))
print(len(timed(1_000_000, 20)))
