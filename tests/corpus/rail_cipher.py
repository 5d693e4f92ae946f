"""A cipher with a running key: letters move by the key and by the letter before them."""

import random
import string


def encrypt(text, key):
    result = []
    position = 0
    before = 0
    for letter in text:
        if letter.isalpha():
            shift = ord(key[position % len(key)]) - ord("a") + before
            base = ord("A") if letter.isupper() else ord("a")
            before = (ord(letter) - base + shift) % 26
            result.append(chr(base + before))
            position += 1
        else:
            result.append(letter)
    return "".join(result)


def longest_run(text):
    best, run, previous = 0, 0, ""
    for letter in text:
        if letter == previous:
            run += 1
        else:
            run = 1
            previous = letter
        if run > best:
            best = run
    return best


if __name__ == "__main__":
    rng = random.Random(1586)
    message = "".join(rng.choices(string.ascii_letters + " ,.", k=2_500_000))
    for key in ("lemon", "queenly", "fortification"):
        message = encrypt(message, key)
        print(message[:40], longest_run(message), sum(map(ord, message)))
