# Letter, vowel and digit statistics of a text: which letters, how often, what they add up to.
import random
import string

VOWELS = "aeiou"


def make_text(n, seed=4):
    rng = random.Random(seed)
    return "".join(rng.choices(string.ascii_letters + string.digits + " .,;\n", k=n))


def statistics(text):
    vowels = consonants = digits = other = 0
    digit_sum = 0
    frequency = {}
    for char in text:
        low = char.lower()
        if low in VOWELS:
            vowels += 1
        elif char.isalpha():
            consonants += 1
        elif char.isdigit():
            digits += 1
            digit_sum += int(char)
        else:
            other += 1
            continue
        frequency[low] = frequency.get(low, 0) + 1
    return vowels, consonants, digits, other, digit_sum, frequency


text = make_text(4_000_000)
vowels, consonants, digits, other, digit_sum, frequency = statistics(text)
print(vowels, consonants, digits, other, digit_sum)
print("".join(frequency))
for char, count in sorted(frequency.items(), key=lambda pair: -pair[1])[:5]:
    print(char, count, round(100 * count / len(text), 3))
