"""The PolyBench kernels, written from their mathematical definitions as plain loops.

Each is the text of a function whose outermost loop is to be lowered, and a maker of arguments.
Kernels of several loops appear with the loop that matters first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], tuple[Any, ...]]


def _square(count: int, n: int = 5) -> Make:
    return lambda rng: tuple(rng.random((n, n)) for _ in range(count))


def _spd(rng: np.random.Generator, n: int = 5) -> np.ndarray:
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


KERNELS: dict[str, tuple[str, Make]] = {
    "gemm": (
        """
def f(A, B, C, alpha, beta):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            C[i, j] *= beta
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]
""",
        lambda r: (r.random((4, 3)), r.random((3, 5)), r.random((4, 5)), 1.5, 0.5),
    ),
    "gemver": (
        """
def f(A, u1, v1, u2, v2, x, y):
    n = len(A)
    for i in range(n):
        for j in range(n):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
""",
        lambda r: (r.random((5, 5)), *[r.random(5) for _ in range(6)]),
    ),
    "gesummv": (
        """
def f(A, B, x, y, alpha, beta):
    n = len(x)
    for i in range(n):
        tmp = 0.0
        y[i] = 0.0
        for j in range(n):
            tmp += A[i, j] * x[j]
            y[i] += B[i, j] * x[j]
        y[i] = alpha * tmp + beta * y[i]
""",
        lambda r: (r.random((5, 5)), r.random((5, 5)), r.random(5), r.random(5), 1.2, 0.7),
    ),
    "symm": (
        """
def f(A, B, C, alpha, beta):
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            temp2 = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                temp2 += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * temp2
""",
        lambda r: (r.random((4, 4)), r.random((4, 5)), r.random((4, 5)), 1.1, 0.9),
    ),
    "syr2k": (
        """
def f(A, B, C, alpha, beta):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]
""",
        lambda r: (r.random((4, 3)), r.random((4, 3)), r.random((4, 4)), 1.1, 0.9),
    ),
    "syrk": (
        """
def f(A, C, alpha, beta):
    n, m = A.shape
    for i in range(n):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]
""",
        lambda r: (r.random((4, 3)), r.random((4, 4)), 1.1, 0.9),
    ),
    "trmm": (
        """
def f(A, B, alpha):
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]
""",
        lambda r: (r.random((4, 4)), r.random((4, 5)), 1.1),
    ),
    "2mm": (
        """
def f(tmp, A, B, alpha):
    n, m = tmp.shape
    for i in range(n):
        for j in range(m):
            tmp[i, j] = 0.0
            for k in range(A.shape[1]):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
""",
        lambda r: (r.random((4, 5)), r.random((4, 3)), r.random((3, 5)), 1.1),
    ),
    "3mm": (
        """
def f(E, A, B):
    for i in range(E.shape[0]):
        for j in range(E.shape[1]):
            acc = 0.0
            for k in range(len(B)):
                acc = acc + A[i][k] * B[k][j]
            E[i][j] = acc
""",
        lambda r: (r.random((4, 5)), r.random((4, 3)), r.random((3, 5))),
    ),
    "atax": (
        """
def f(A, x, y, tmp):
    m, n = A.shape
    for i in range(m):
        tmp[i] = 0.0
        for j in range(n):
            tmp[i] = tmp[i] + A[i, j] * x[j]
        for j in range(n):
            y[j] = y[j] + A[i, j] * tmp[i]
""",
        lambda r: (r.random((4, 5)), r.random(5), np.zeros(5), np.zeros(4)),
    ),
    "bicg": (
        """
def f(A, s, q, p, r):
    n, m = A.shape
    for i in range(n):
        q[i] = 0.0
        for j in range(m):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]
""",
        lambda r: (r.random((4, 5)), np.zeros(5), np.zeros(4), r.random(5), r.random(4)),
    ),
    "doitgen": (
        """
def f(A, C4, total):
    nr, nq, np_ = A.shape
    for r in range(nr):
        for q in range(nq):
            for p in range(np_):
                total[p] = 0.0
                for s in range(np_):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in range(np_):
                A[r, q, p] = total[p]
""",
        lambda r: (r.random((3, 4, 5)), r.random((5, 5)), np.zeros(5)),
    ),
    "mvt": (
        """
def f(x1, x2, y1, y2, A):
    n = len(x1)
    for i in range(n):
        for j in range(n):
            x1[i] = x1[i] + A[i, j] * y1[j]
            x2[i] = x2[i] + A[j, i] * y2[j]
""",
        lambda r: (*[r.random(5) for _ in range(4)], r.random((5, 5))),
    ),
    "cholesky": (
        """
def f(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])
""",
        lambda r: (_spd(r),),
    ),
    "durbin": (
        """
def f(r, y, z):
    n = len(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, n):
        beta = (1 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
""",
        lambda r: (r.random(6) * 0.3, np.zeros(6), np.zeros(6)),
    ),
    "gramschmidt": (
        """
def f(A, R, Q):
    m, n = A.shape
    for k in range(n):
        nrm = 0.0
        for i in range(m):
            nrm += A[i, k] * A[i, k]
        R[k, k] = math.sqrt(nrm)
        for i in range(m):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = 0.0
            for i in range(m):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(m):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]
""",
        lambda r: (r.random((5, 4)), np.zeros((4, 4)), np.zeros((5, 4))),
    ),
    "lu": (
        """
def f(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]
""",
        lambda r: (_spd(r),),
    ),
    "ludcmp": (
        """
def f(A, b, x, y):
    n = len(b)
    for i in range(n):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
""",
        lambda r: (_spd(r), r.random(5), np.zeros(5), np.zeros(5)),
    ),
    "trisolv": (
        """
def f(L, x, b):
    for i in range(len(x)):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
""",
        lambda r: (_spd(r), np.zeros(5), r.random(5)),
    ),
    "correlation": (
        """
def f(data, mean, stddev, eps):
    n, m = data.shape
    for j in range(m):
        stddev[j] = 0.0
        for i in range(n):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        stddev[j] /= n
        stddev[j] = math.sqrt(stddev[j])
        stddev[j] = 1.0 if stddev[j] <= eps else stddev[j]
""",
        lambda r: (r.random((6, 4)), r.random(4), np.zeros(4), 0.1),
    ),
    "covariance": (
        """
def f(data, cov):
    n, m = data.shape
    for i in range(m):
        for j in range(i, m):
            cov[i, j] = 0.0
            for k in range(n):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= n - 1.0
            cov[j, i] = cov[i, j]
""",
        lambda r: (r.random((6, 4)), np.zeros((4, 4))),
    ),
    "deriche": (
        """
def f(img, y1, a1, a2, b1, b2):
    w, h = img.shape
    for i in range(w):
        ym1 = 0.0
        ym2 = 0.0
        xm1 = 0.0
        for j in range(h):
            y1[i, j] = a1 * img[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = img[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
""",
        lambda r: (r.random((4, 6)), np.zeros((4, 6)), 0.1, 0.2, 0.3, 0.4),
    ),
    "floyd-warshall": (
        """
def f(path):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if path[i, j] >= path[i, k] + path[k, j]:
                    path[i, j] = path[i, k] + path[k, j]
""",
        lambda r: (r.integers(1, 20, (6, 6)),),
    ),
    "nussinov": (
        """
def f(seq, table):
    n = len(seq)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    match = 1 if seq[i] + seq[j] == 3 else 0
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match)
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
""",
        lambda r: (r.integers(0, 4, 7), np.zeros((7, 7), dtype=np.int64)),
    ),
    "adi": (
        """
def f(u, v, p, q, a, b, c):
    n = len(u)
    for i in range(1, n - 1):
        v[0, i] = 1.0
        p[i, 0] = 0.0
        q[i, 0] = v[0, i]
        for j in range(1, n - 1):
            p[i, j] = -c / (a * p[i, j - 1] + b)
            q[i, j] = (u[j, i] - a * q[i, j - 1]) / (a * p[i, j - 1] + b)
        v[n - 1, i] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
""",
        lambda r: (*[r.random((6, 6)) for _ in range(4)], 0.3, 1.7, 0.2),
    ),
    "fdtd-2d": (
        """
def f(ex, ey, hz, steps):
    nx, ny = ex.shape
    for t in range(steps):
        for j in range(ny):
            ey[0, j] = float(t)
        for i in range(1, nx):
            for j in range(ny):
                ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
""",
        lambda r: (*[r.random((4, 5)) for _ in range(3)], 3),
    ),
    "heat-3d": (
        """
def f(A, B, steps):
    n = len(A)
    for t in range(1, steps + 1):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    A[i, j, k] = B[i, j, k]
""",
        lambda r: (r.random((5, 5, 5)), r.random((5, 5, 5)), 2),
    ),
    "jacobi-1d": (
        """
def f(A, B, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, n - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])
""",
        lambda r: (r.random(8), r.random(8), 3),
    ),
    "jacobi-2d": (
        """
def f(A, B):
    n, m = A.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
""",
        lambda r: (r.random((5, 6)), r.random((5, 6))),
    ),
    "seidel-2d": (
        """
def f(A, steps):
    n = len(A)
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1] + A[i, j - 1] + A[i, j]
                    + A[i, j + 1] + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0
""",
        lambda r: (r.random((5, 5)), 2),
    ),
}


def as_lists(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same arguments with lists for arrays."""
    return tuple(v.tolist() if isinstance(v, np.ndarray) else v for v in values)


def list_text(text: str) -> str:
    """The kernel's text for lists of lists: ``A[i, j]`` to ``A[i][j]``, shapes to ``len``."""
    import ast

    class Subscripts(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
            self.generic_visit(node)
            match node:
                case ast.Subscript(value=ast.Attribute(value=owner, attr="shape")):
                    axis = node.slice.value  # type: ignore[attr-defined]
                    return length(owner, axis)
                case ast.Subscript(slice=ast.Tuple(elts=elts)):
                    result: ast.expr = node.value
                    for element in elts:
                        result = ast.Subscript(result, element, node.ctx)
                        node.value.ctx = ast.Load()  # type: ignore[attr-defined]
                    inner = result.value  # type: ignore[attr-defined]
                    while isinstance(inner, ast.Subscript):
                        inner.ctx = ast.Load()
                        inner = inner.value
                    return result
            return node

        def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
            self.generic_visit(node)
            match node:
                case ast.Assign(
                    targets=[ast.Tuple(elts=elts)], value=ast.Attribute(value=owner, attr="shape")
                ):
                    return [
                        ast.Assign([element], length(owner, axis), lineno=node.lineno)
                        for axis, element in enumerate(elts)
                    ]
            return node

    def length(owner: ast.expr, axis: int) -> ast.expr:
        for _ in range(axis):
            owner = ast.Subscript(owner, ast.Constant(0), ast.Load())
        return ast.Call(ast.Name("len", ast.Load()), [owner], [])

    return ast.unparse(ast.fix_missing_locations(Subscripts().visit(ast.parse(text))))
