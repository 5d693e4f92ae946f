"""Gray-Scott reaction-diffusion on a torus, flat lists, closures."""


def make_stepper(n, du, dv, feed, kill, dt):
    def index(i, j):
        return (i % n) * n + (j % n)

    def step(u, v):
        nu = [0.0] * (n * n)
        nv = [0.0] * (n * n)
        for i in range(n):
            for j in range(n):
                k = index(i, j)
                lu = (
                    u[index(i - 1, j)]
                    + u[index(i + 1, j)]
                    + u[index(i, j - 1)]
                    + u[index(i, j + 1)]
                    - 4 * u[k]
                )
                lv = (
                    v[index(i - 1, j)]
                    + v[index(i + 1, j)]
                    + v[index(i, j - 1)]
                    + v[index(i, j + 1)]
                    - 4 * v[k]
                )
                uvv = u[k] * v[k] * v[k]
                nu[k] = u[k] + dt * (du * lu - uvv + feed * (1 - u[k]))
                nv[k] = v[k] + dt * (dv * lv + uvv - (feed + kill) * v[k])
        return nu, nv

    return step


SIZE = 80
u = [1.0] * (SIZE * SIZE)
v = [0.0] * (SIZE * SIZE)
for i in range(30, 46):
    for j in range(34, 50):
        u[i * SIZE + j] = 0.5
        v[i * SIZE + j] = 0.25 + 0.001 * (i - j)

step = make_stepper(SIZE, 0.16, 0.08, 0.035, 0.065, 1.0)
for t in range(420):
    u, v = step(u, v)
print("u %.8f %.8f" % (min(u), max(u)))
print("v %.8f" % (sum(v) / len(v)))
