"""Binomial coefficients by Pascal's rule, far beyond 64 bits."""


def pascal(rows):
    line = [1]
    for n in range(rows):
        new = [1]
        for k in range(len(line) - 1):
            new.append(line[k] + line[k + 1])
        new.append(1)
        line = new
    return line


line = pascal(3600)
print(len(str(line[1800])), line[1800] % 1_000_000_007, line[3], sum(line) == 2**3600)
