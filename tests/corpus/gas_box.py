"""Gas in a box: discs that bounce off the walls and push each other."""

import random
from dataclasses import dataclass


@dataclass
class Particle:
    x: float
    y: float
    vx: float
    vy: float
    radius: float = 0.01
    bounces: int = 0

    def move(self, dt):
        self.x += self.vx * dt
        self.y += self.vy * dt

    def bounce(self):
        if self.x < self.radius or self.x > 1.0 - self.radius:
            self.vx = -self.vx
            self.bounces += 1
        if self.y < self.radius or self.y > 1.0 - self.radius:
            self.vy = -self.vy
            self.bounces += 1


def distance2(p, q):
    return (p.x - q.x) ** 2 + (p.y - q.y) ** 2


def step(particles, dt):
    for p in particles:
        p.move(dt)
        p.bounce()
    hits = 0
    for i in range(len(particles)):
        for j in range(i + 1, len(particles)):
            p, q = particles[i], particles[j]
            if distance2(p, q) < (p.radius + q.radius) ** 2:
                p.vx, q.vx = q.vx, p.vx
                p.vy, q.vy = q.vy, p.vy
                hits += 1
    return hits


if __name__ == "__main__":
    rng = random.Random(3)
    ps = [
        Particle(rng.random(), rng.random(), rng.uniform(-1, 1), rng.uniform(-1, 1))
        for _ in range(150)
    ]
    total = 0
    for _ in range(1500):
        total += step(ps, 0.001)
    print(total, sum(p.bounces for p in ps), round(sum(p.x for p in ps), 9))
