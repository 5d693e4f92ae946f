# The obvious rewrite is wrong: dividing the whole array raises before anything is written.
import numpy as np

np.seterr(all="raise")


def invert(x, out):
    for i in range(len(x)):
        out[i] = 1.0 / x[i] - 0.5 * x[i]
    return i


x = np.linspace(1.0, 5.0, 1_200_000)
out = np.zeros(len(x))
print("all", invert(x, out), out.sum())
x[1000] = 0.0
out[:] = 0.0
try:
    invert(x, out)
except FloatingPointError as error:
    print("stopped:", error, np.count_nonzero(out))
