"""Works in the caller's array and returns that."""


def smooth(u, weight):
    u[1:-1] = weight * u[1:-1] + 0.5 * (1.0 - weight) * (u[:-2] + u[2:])
    u[0] = u[-1] = 0.0
    return u
