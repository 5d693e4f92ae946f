"""x ** 2 of a Python float raises OverflowError where an array gives infinity, and so do its kin."""


def energies(speeds, masses, out):
    for i in range(len(speeds)):
        out[i] = 0.5 * masses[i] * speeds[i] ** 2


def inverse(distances, out):
    for i in range(len(distances)):
        out[i] = distances[i] ** -1


def roots(values, out):
    for i in range(len(values)):
        out[i] = values[i] ** 0.5


n = 200_000
speeds = [1.0 + (i % 1000) * 0.25 for i in range(n)]
masses = [2.0] * n
for function in (lambda out: energies(speeds, masses, out), lambda out: inverse(speeds, out)):
    out = [0.0] * n
    function(out)
    print(repr(out[7]), repr(out[-1]))
out = [0.0] * n
roots(speeds, out)
print(repr(out[7]))
speeds[100] = 1e200
speeds[50] = 5e-324
out = [0.0] * n
for function in (lambda out: energies(speeds, masses, out), lambda out: inverse(speeds, out)):
    try:
        function(out)
    except OverflowError as error:
        print(error, out[49:52], out[99:102])
speeds[10] = -4.0
out = [0.0] * n
try:
    roots(speeds, out)
except TypeError as error:
    print(error, out[9:12])
print(type(out[10]).__name__)
