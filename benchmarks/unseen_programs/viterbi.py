"""Most probable weather behind noisy observations (hidden Markov model, log space)."""

import argparse
import math
import random


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
        score = [self.start[s] + self.emit[s][observations[0]] for s in range(self.states)]
        back = []
        for symbol in observations[1:]:
            new_score = []
            pointers = []
            for s in range(self.states):
                best = -math.inf
                arg = 0
                for r in range(self.states):
                    candidate = score[r] + self.move[r][s]
                    if candidate > best:
                        best = candidate
                        arg = r
                new_score.append(best + self.emit[s][symbol])
                pointers.append(arg)
            score = new_score
            back.append(pointers)
        state = max(range(self.states), key=lambda s: score[s])
        final = score[state]
        path = [state]
        for pointers in reversed(back):
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
