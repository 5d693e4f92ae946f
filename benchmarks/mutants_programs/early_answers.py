"""Searches that return from inside two loops, and ones that give up early."""

import random


def closest_pair(numbers, target):
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == target:
                return i, j
    return None


def first_descent(levels, drop):
    for k in range(1, len(levels)):
        if levels[k - 1] - levels[k] >= drop:
            return k
    return -1


random.seed(41)
for trial in range(3):
    numbers = [random.randrange(1_000_000) for _ in range(500 - trial)]
    print(trial, closest_pair(numbers, numbers[-3 - trial] + numbers[-1]), closest_pair(numbers, 1))
    levels = [random.random() for _ in range(200_000)]
    print(first_descent(levels, 0.999 - 0.002 * trial), first_descent(levels, 2.0))
