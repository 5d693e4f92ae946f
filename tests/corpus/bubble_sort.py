"""Bubble sort, counting the swaps (that is, the inversions)."""

from random import Random


def bubble_sort(items):
    swaps = 0
    end = len(items)
    swapped = True
    while swapped:
        swapped = False
        for i in range(1, end):
            if items[i - 1] > items[i]:
                items[i - 1], items[i] = items[i], items[i - 1]
                swaps += 1
                swapped = True
        end -= 1
    return swaps


r = Random(40)
numbers = [r.randrange(10**6) for _ in range(5500)]
check = sorted(numbers)
print(bubble_sort(numbers), numbers == check, numbers[:5])
