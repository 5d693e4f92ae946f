"""One broadcast sum and one argmax a step."""

import argparse
import math
import random

import numpy as np


class HiddenMarkovModel:
    def __init__(self, states, symbols, seed):
        rng = random.Random(seed)
        self.states = states
        self.symbols = symbols
        self.start = self._logs([rng.random() for _ in range(states)])
        self.move = [self._logs([rng.random() ** 3 for _ in range(states)]) for _ in range(states)]
        self.emit = [self._logs([rng.random() ** 2 for _ in range(symbols)]) for _ in range(states)]

    @staticmethod
    def _logs(weights):
        total = sum(weights)
        return [math.log(w / total) for w in weights]

    def decode(self, observations):
        arriving = np.array(self.move).T.copy()
        emit = np.array(self.emit).T.copy()
        score = np.array(self.start) + emit[observations[0]]
        steps = len(observations) - 1
        back = np.empty((steps, self.states), dtype=np.intp)
        sums = np.empty_like(arriving)
        for t in range(steps):
            np.add(arriving, score, out=sums)
            sums.argmax(axis=1, out=back[t])
            score = sums.max(axis=1) + emit[observations[t + 1]]
        state = int(score.argmax())
        final = float(score[state])
        path = [state]
        for pointers in back[::-1].tolist():
            state = pointers[state]
            path.append(state)
        path.reverse()
        return final, path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("length", nargs="?", type=int, default=190000)
    parser.add_argument("--states", type=int, default=20)
    args = parser.parse_args()
    model = HiddenMarkovModel(args.states, 12, seed=8)
    rng = random.Random(5)
    observations = [rng.randrange(12) for _ in range(args.length)]
    final, path = model.decode(observations)
    visits = [path.count(s) for s in range(args.states)]
    print("log probability %.6f" % final)
    print("first states", path[:20])
    print("visits", visits)


if __name__ == "__main__":
    main()
