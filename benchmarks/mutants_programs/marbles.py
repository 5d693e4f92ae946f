"""Marbles that push each other along a line: objects in a list, their attributes written back."""

import math


class Marble:
    def __init__(self, place, speed, weight):
        self.place = place
        self.speed = speed
        self.weight = weight


def push(marbles, dt, steps):
    for _ in range(steps):
        for i, one in enumerate(marbles):
            force = 0.0
            for j, other in enumerate(marbles):
                if i != j:
                    apart = other.place - one.place
                    force -= other.weight * apart / (apart * apart + 0.01) ** 1.5
            one.speed += dt * force
        for one in marbles:
            one.place += dt * one.speed


marbles = [Marble(math.sin(7.0 * k), 0.0, 1.0 + 0.1 * k) for k in range(24)]
push(marbles, 1e-3, 120)
print(sum(one.place for one in marbles), marbles[3].speed, marbles[-1].place)
