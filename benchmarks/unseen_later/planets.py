# N-body simulation, velocity Verlet, everything in lists of lists
import math

G = 6.674e-3
N = 36
DT = 0.01
STEPS = 120


def init(n):
    pos = []
    vel = []
    mass = []
    for i in range(n):
        a = 2.399963 * i
        r = 1.0 + 0.35 * math.sqrt(i)
        pos.append([r * math.cos(a), r * math.sin(a), 0.05 * math.sin(3.0 * a)])
        v = math.sqrt(G * 50 / r)
        vel.append([-v * math.sin(a), v * math.cos(a), 0.0])
        mass.append(1.0 + (i * 7 % 5) / 5.0)
    return pos, vel, mass


def accelerations(pos, mass):
    n = len(pos)
    acc = [[0.0, 0.0, 0.0] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            dx = pos[j][0] - pos[i][0]
            dy = pos[j][1] - pos[i][1]
            dz = pos[j][2] - pos[i][2]
            d2 = dx * dx + dy * dy + dz * dz + 0.01
            inv = 1.0 / (d2 * math.sqrt(d2))
            acc[i][0] += G * mass[j] * dx * inv
            acc[i][1] += G * mass[j] * dy * inv
            acc[i][2] += G * mass[j] * dz * inv
    return acc


def energy(pos, vel, mass):
    kin = 0.0
    pot = 0.0
    n = len(pos)
    for i in range(n):
        kin += 0.5 * mass[i] * sum(v * v for v in vel[i])
        for j in range(i + 1, n):
            d = math.sqrt(sum((pos[i][k] - pos[j][k]) ** 2 for k in range(3)) + 0.01)
            pot -= G * mass[i] * mass[j] / d
    return kin + pot


if __name__ == "__main__":
    pos, vel, mass = init(N)
    print("E0 = %.10f" % energy(pos, vel, mass))
    acc = accelerations(pos, mass)
    for step in range(STEPS * 50):
        for i in range(N):
            for k in range(3):
                vel[i][k] += 0.5 * DT * acc[i][k]
                pos[i][k] += DT * vel[i][k]
        acc = accelerations(pos, mass)
        for i in range(N):
            for k in range(3):
                vel[i][k] += 0.5 * DT * acc[i][k]
    print("E1 = %.10f" % energy(pos, vel, mass))
    for p in pos[:3]:
        print(" ".join("%.6f" % x for x in p))
