"""2-D lattice gas relaxation with NumPy arrays indexed element by element."""

import sys

import numpy as np

L = int(sys.argv[1]) if len(sys.argv) > 1 else 120
rho = np.zeros((L, L))
rho[L // 2 - 5 : L // 2 + 5, L // 2 - 5 : L // 2 + 5] = 1.0
D = 0.12
vel = np.fromfunction(lambda i, j: np.sin(2 * np.pi * i / L), (L, L))
mass = []
for t in range(30):
    new = rho.copy()
    for i in range(L):
        ip = i + 1 if i < L - 1 else 0
        im = i - 1 if i > 0 else L - 1
        for j in range(L):
            jp = j + 1 if j < L - 1 else 0
            jm = j - 1 if j > 0 else L - 1
            lap = rho[ip][j] + rho[im][j] + rho[i][jp] + rho[i][jm] - 4 * rho[i][j]
            if vel[i][j] > 0:
                adv = vel[i][j] * (rho[i][j] - rho[i][jm])
            else:
                adv = vel[i][j] * (rho[i][jp] - rho[i][j])
            new[i][j] = rho[i][j] + D * lap - 0.3 * adv
    rho = new
    mass.append(rho.sum())
print("mass", mass[0], mass[-1])
print("peak", rho.max(), np.unravel_index(rho.argmax(), rho.shape))
np.save("rho.npy", rho)
