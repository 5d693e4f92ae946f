"""The product of two matrices as lists of rows, from the definition."""


def matmul(A, B):
    n, m, p = len(A), len(B), len(B[0])
    C = []
    for i in range(n):
        row = []
        for j in range(p):
            s = 0
            for k in range(m):
                s += A[i][k] * B[k][j]
            row.append(s)
        C.append(row)
    return C


def hilbert(n):
    return [[1.0 / (i + j + 1) for j in range(n)] for i in range(n)]


def counting(n):
    return [[(i * n + j) % 23 - 11 for j in range(n)] for i in range(n)]


H = hilbert(240)
C = counting(240)
HC = matmul(H, C)
CC = matmul(C, C)
print(HC[0][:3], HC[-1][-1])
print(CC[0][:5], sum(map(sum, CC)), type(CC[3][4]).__name__)
