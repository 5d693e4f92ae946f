"""Returns a generator in place of an array."""


def smooth(u, weight):
    return (
        weight * u[i] + 0.5 * (1.0 - weight) * (u[i - 1] + u[i + 1]) if 0 < i < len(u) - 1 else 0.0
        for i in range(len(u))
    )
