"""A hand-written scanner for a tiny language: a state machine over the characters."""

import random


def scan(source):
    state = "start"
    names = numbers = strings = operators = 0
    depth = deepest = 0
    value = 0
    total = 0
    for ch in source:
        if state == "start":
            if ch.isalpha() or ch == "_":
                state = "name"
            elif ch.isdigit():
                state = "number"
                value = int(ch)
            elif ch == '"':
                state = "string"
            elif ch in "+-*/=<>":
                operators += 1
            elif ch == "(":
                depth += 1
                deepest = max(deepest, depth)
            elif ch == ")":
                depth -= 1
        elif state == "name":
            if not (ch.isalnum() or ch == "_"):
                names += 1
                state = "start"
        elif state == "number":
            if ch.isdigit():
                value = (value * 10 + int(ch)) % 1_000_003
            else:
                numbers += 1
                total += value
                state = "start"
        elif ch == '"':
            strings += 1
            state = "start"
    return names, numbers, strings, operators, deepest, total


def main():
    rng = random.Random(8)
    source = "".join(rng.choices('abcxyz_0123456789+-*/=<>() "', k=1_500_000))
    texts = [source, source[::-1], source.upper(), source.swapcase()]
    for start in range(0, len(source), 150_000):
        texts.append(source[start:] + source[:start])
    for text in texts:
        print(*scan(text))


main()
