"""A hash chain with progress messages: a loop that has to stay as it is.

Key stretching in the manner of the early password hashes: every round digests the result of
the one before, so that no round can start early, and that is the point of it. Now and then a
callback prints where we are. Nothing here can be vectorised or run in parallel.

Usage: python refused.py [rounds]
"""

import hashlib
import sys


def stretch(password: bytes, salt: bytes, rounds: int, on_progress) -> bytes:
    digest = hashlib.sha256(salt + password).digest()
    leading_zeros = 0
    for number in range(rounds):
        digest = hashlib.sha256(digest + salt + number.to_bytes(4, "big")).digest()
        if digest[0] == 0:
            leading_zeros += 1
        if number % (rounds // 4) == 0:
            on_progress(number, digest, leading_zeros)
    return digest


def show_progress(number, digest, leading_zeros):
    print(f"round {number:>8}: {digest.hex()[:16]}  ({leading_zeros} began with a zero byte)")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6_000_000
    key = stretch(b"correct horse battery staple", b"pepper", rounds, show_progress)
    print("key:", key.hex())


if __name__ == "__main__":
    main()
