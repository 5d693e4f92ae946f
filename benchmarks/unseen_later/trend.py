import math
import random


def make_prices(n, seed=42):
    rng = random.Random(seed)
    price = 100.0
    out = []
    for _ in range(n):
        price *= 1.0 + rng.gauss(0.0002, 0.01)
        out.append(price)
    return out


def moving_average(values, window):
    result = []
    for i in range(len(values)):
        if i < window - 1:
            result.append(None)
        else:
            result.append(sum(values[i - window + 1 : i + 1]) / window)
    return result


def moving_std(values, window):
    result = []
    for i in range(len(values)):
        if i < window - 1:
            result.append(None)
            continue
        chunk = values[i - window + 1 : i + 1]
        mean = sum(chunk) / window
        var = sum((c - mean) ** 2 for c in chunk) / window
        result.append(math.sqrt(var))
    return result


def bollinger_signals(values, window, k):
    avg = moving_average(values, window)
    std = moving_std(values, window)
    signals = []
    for i, v in enumerate(values):
        if avg[i] is None:
            signals.append(0)
        elif v > avg[i] + k * std[i]:
            signals.append(-1)
        elif v < avg[i] - k * std[i]:
            signals.append(1)
        else:
            signals.append(0)
    return signals


def main():
    prices = make_prices(600000)
    signals = bollinger_signals(prices, 50, 2.0)
    position = 0
    cash = 0.0
    trades = 0
    for p, s in zip(prices, signals):
        if s == 1 and position == 0:
            position = 1
            cash -= p
            trades += 1
        elif s == -1 and position == 1:
            position = 0
            cash += p
            trades += 1
    print("buys", signals.count(1), "sells", signals.count(-1))
    print("trades", trades, "result %.6f" % (cash + position * prices[-1]))


main()
