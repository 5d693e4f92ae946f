"""Chains below their start are known: the table is filled in order, halves at once."""

import sys

import numpy as np

limit = int(sys.argv[1]) if len(sys.argv) > 1 else 620000

lengths = np.zeros(max(limit, 2), dtype=np.int64)
done = 2
while done < limit:
    # Numbers of [done, 2 done) fall below done after some steps.
    number = np.arange(done, min(2 * done, limit))
    place = number.copy()
    steps = np.zeros(number.size, dtype=np.int64)
    while number.size:
        odd = number & 1
        number = np.where(odd, (3 * number + 1) >> 1, number >> 1)
        steps += 1 + odd
        fallen = number < done
        lengths[place[fallen]] = steps[fallen] + lengths[number[fallen]]
        stay = ~fallen
        number, place, steps = number[stay], place[stay], steps[stay]
    done *= 2

lengths = lengths[1:limit]
longest = int(lengths.max())
start = int(lengths.argmax()) + 1
histogram = np.bincount(lengths, minlength=600)
print("Longest chain below", limit, "starts at", start, "and takes", longest, "steps")
print("most frequent length", int(histogram.argmax()))
print("mean length", round(int(lengths.sum()) / (limit - 1), 6))
