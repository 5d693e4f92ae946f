"""The naive Game of Life as seven authors would write it, through the whole of gpuadvise.

Prints, for each: the rule that won, the gain of the whole script with its interval, and the
hand-written rivals (textbook ``np.roll``, padded uint8 buffers, separable sums), timed in turn with
the rewritten script. Usage: ``python benchmarks/life_variants.py [--output FILE] [NAME ...]``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HEAD = """\
import numpy as np

N = 200
STEPS = 100
rng = np.random.default_rng(1)
"""
TAIL = """
history = []
state = (rng.random((N, N)) < 0.3).astype(int)
for _ in range(STEPS):
    history.append(state.copy())
    state = {step}(state)
history.append(state)
print(sum(int((h * (k + 1)).sum()) for k, h in enumerate(history)), state[:5].tolist())
"""

VARIANTS = {
    "four loops, modulo": (
        "life_step",
        """
def life_step(grid):
    n, m = grid.shape
    new = np.zeros((n, m), dtype=int)
    for i in range(n):
        for j in range(m):
            total = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di == 0 and dj == 0:
                        continue
                    total += grid[(i + di) % n, (j + dj) % m]
            if grid[i, j] == 1:
                if total < 2 or total > 3:
                    new[i, j] = 0
                else:
                    new[i, j] = 1
            else:
                if total == 3:
                    new[i, j] = 1
    return new
""",
    ),
    "renamed, cell itself subtracted": (
        "evolve",
        """
def evolve(petri):
    height = petri.shape[0]
    width = petri.shape[1]
    culture = np.empty_like(petri)
    for row in range(height):
        for col in range(width):
            around = -petri[row, col]
            for r in range(row - 1, row + 2):
                for c in range(col - 1, col + 2):
                    around += petri[r % height, c % width]
            culture[row, col] = 1 if around == 3 or (around == 2 and petri[row, col]) else 0
    return culture
""",
    ),
    "helper function": (
        "step",
        """
def alive_around(board, y, x):
    h, w = board.shape
    count = 0
    for dy in [-1, 0, 1]:
        for dx in [-1, 0, 1]:
            if dy != 0 or dx != 0:
                count = count + board[(y + dy) % h, (x + dx) % w]
    return count


def step(board):
    h, w = board.shape
    after = np.zeros_like(board)
    for y in range(h):
        for x in range(w):
            k = alive_around(board, y, x)
            if k == 3:
                after[y, x] = 1
            elif k == 2:
                after[y, x] = board[y, x]
    return after
""",
    ),
    "columns outside, eight terms": (
        "tick",
        """
def tick(a):
    rows, cols = a.shape
    b = a.copy()
    for j in range(cols):
        for i in range(rows):
            s = (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, (j + 1) % cols]
                 + a[i, j - 1] + a[i, (j + 1) % cols]
                 + a[(i + 1) % rows, j - 1] + a[(i + 1) % rows, j]
                 + a[(i + 1) % rows, (j + 1) % cols])
            if a[i, j] == 1 and (s < 2 or s > 3):
                b[i, j] = 0
            elif a[i, j] == 0 and s == 3:
                b[i, j] = 1
    return b
""",
    ),
    "dead border, bounds tested": (
        "next_generation",
        """
def next_generation(cells):
    n, m = cells.shape
    result = np.zeros((n, m), dtype=int)
    for i in range(n):
        for j in range(m):
            live = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if (di, dj) != (0, 0):
                        if 0 <= i + di < n and 0 <= j + dj < m:
                            live += cells[i + di, j + dj]
            if cells[i, j] == 1 and live in (2, 3) or cells[i, j] == 0 and live == 3:
                result[i, j] = 1
    return result
""",
    ),
    "border left out": (
        "advance",
        """
def advance(u):
    v = np.zeros(u.shape, dtype=u.dtype)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            s = 0
            for k in range(i - 1, i + 2):
                for l in range(j - 1, j + 2):
                    s += u[k, l]
            s -= u[i, j]
            if s == 3:
                v[i, j] = 1
            elif s == 2 and u[i, j] == 1:
                v[i, j] = 1
            else:
                v[i, j] = 0
    return v
""",
    ),
    "neighbour list": (
        "generation",
        """
OFFSETS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


def generation(world):
    rows, cols = world.shape
    out = np.zeros((rows, cols), dtype=int)
    for r in range(rows):
        for c in range(cols):
            n = sum(world[(r + dr) % rows, (c + dc) % cols] for dr, dc in OFFSETS)
            out[r, c] = int(n == 3 or (world[r, c] == 1 and n == 2))
    return out
""",
    ),
}

RIVALS = {
    "np.roll, textbook": """
def life_step(s):
    n = sum(np.roll(s, (i, j), axis=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)
            if (i, j) != (0, 0))
    return ((n == 3) | ((s == 1) & (n == 2))).astype(int)
""",
    "padded uint8, out=": """
pad = np.empty((N + 2, N + 2), np.uint8)
cnt = np.empty((N, N), np.uint8)


def life_step(s):
    pad[1:-1, 1:-1] = s
    pad[0] = pad[-2]
    pad[-1] = pad[1]
    pad[:, 0] = pad[:, -2]
    pad[:, -1] = pad[:, 1]
    np.add(pad[:-2, :-2], pad[:-2, 1:-1], out=cnt)
    for view in (pad[:-2, 2:], pad[1:-1, :-2], pad[1:-1, 2:],
                 pad[2:, :-2], pad[2:, 1:-1], pad[2:, 2:]):
        np.add(cnt, view, out=cnt)
    return ((cnt == 3) | ((pad[1:-1, 1:-1] == 1) & (cnt == 2))).astype(int)
""",
    "uint8 all along, sums of rows and columns apart": """
pad = np.zeros((N + 2, N + 2), dtype=np.uint8)
across = np.empty((N + 2, N), dtype=np.uint8)
around = np.empty((N, N), dtype=np.uint8)


def life_step(grid):
    pad[1:-1, 1:-1] = grid
    pad[0], pad[-1] = pad[-2], pad[1]
    pad[:, 0], pad[:, -1] = pad[:, -2], pad[:, 1]
    np.add(pad[:, :-2], pad[:, 1:-1], out=across)
    np.add(across, pad[:, 2:], out=across)
    np.add(across[:-2], across[1:-1], out=around)
    np.add(around, across[2:], out=around)
    # three of nine cells, or four with a living one in the middle
    return ((around == 3) | ((around == 4) & (pad[1:-1, 1:-1] == 1))).astype(int)
""",
}


TAUGHT = "four loops, modulo"
"""The variant whose rewrite is timed beside the hand-written versions."""
ROUNDS = 11


def script(step: str, body: str) -> str:
    """A whole program."""
    return HEAD + body + TAIL.format(step=step)


def run(path: Path) -> tuple[float, bytes]:
    """Wall time and output of one fresh process."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, str(path)], check=True, stdout=subprocess.PIPE)
    return time.perf_counter() - start, done.stdout


def rivals(folder: Path, rewritten: Path) -> list[str]:
    """Rows for the hand-written versions, each in turn with the rewritten script."""
    rows = []
    for name, body in RIVALS.items():
        rival = folder / "rival.py"
        rival.write_text(script("life_step", body))
        runs = [(run(rewritten), run(rival)) for _ in range(ROUNDS)]
        assert len({output for pair in runs for _, output in pair}) == 1, name
        pairs = [(ours, theirs) for (ours, _), (theirs, _) in runs]
        quotients = sorted(ours / theirs for ours, theirs in pairs)
        ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
        rows.append(
            f"| by hand: {name} | | the rewrite takes {ours / theirs:.2f} of its time "
            f"| {quotients[0]:.2f}-{quotients[-1]:.2f}, n={ROUNDS} |"
        )
        print(rows[-1], flush=True)
    return rows


def advise(folder: Path, name: str) -> str:
    """One row: what the tool made of a variant."""
    path = folder / "life.py"
    path.write_text(script(*VARIANTS[name]))
    out = folder / "report.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "gpuadvise", "--quiet", "--apply"]
    command += ["--json", str(out), str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if not out.exists():
        return f"| {name} | exit {done.returncode} | | {done.stderr.strip()} |"
    report = json.loads(out.read_text())
    verdict = report["script_verdict"] or {}
    winners = [f["winner"]["candidate"]["rule"] for f in report["findings"] if f["winner"]]
    ratio = verdict.get("speedup")
    if ratio is None:
        return f"| {name} | {' '.join(winners) or '-'} | | {report['message']} |"
    spread = f"{ratio['low']:.0f}-{ratio['high']:.0f}x"
    n = f"n={len(ratio['original'])} and {len(ratio['candidate'])}"
    return f"| {name} | {' '.join(winners)} | {ratio['value']:.0f}x | {spread}, {n} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = options.names or list(VARIANTS)
    rows = ["| variant | rule | whole script | interval |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in names:
            rows.append(advise(folder, name))
            print(rows[-1], flush=True)
            if name == TAUGHT:
                rows += rivals(folder, folder / "life.py")
    text = "\n".join(rows) + f"\n\n{os.cpu_count()} cores, Python {sys.version.split()[0]}, "
    text += time.strftime("%Y-%m-%d") + "\n"
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
