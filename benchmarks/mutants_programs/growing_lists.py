"""Collects by list + list and looks up in long lists of constants."""

SKIP = ["the", "a", "an", "of", "and", "or", "to", "in", "on", "at", "by", "is", "was", "for"]


def words(text):
    kept = []
    for word in text.split():
        if word not in SKIP:
            kept = kept + [word]
    return kept


def numbers(n, base):
    digits = [0]
    k = 1
    while k < n:
        if k % base not in [1, 3, 5, 7, 11, 13, 17, 19, 23, 29]:
            digits = digits + [k * k % 101]
        k += 1
    return digits


text = " ".join(f"word{k % 37} the of row{k % 11} in and" for k in range(250))
for k in range(4):
    kept = words(text)
    digits = numbers(1200, 31 + k)
    print(len(kept), kept[5:8], len(digits), sum(digits))
