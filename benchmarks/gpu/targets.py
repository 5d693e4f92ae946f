"""The bundled CUDA programs through the whole tool: what is named, rewritten, and gained.

    python benchmarks/gpu/targets.py [--only NAMES] [--budget S] [--unsafe] [--reports DIR]
        [--args ARGUMENTS] [--output FILE]

Each program runs in a folder of its own with ``--apply``; where that changed it, the original and
the rewritten script run once more, and their output is compared. Needs an NVIDIA GPU, CuPy,
PyTorch, numba-cuda and cupti-python.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from trace_overhead import FOLDER, header


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--budget", type=float, help="default: the tool's own")
    parser.add_argument("--unsafe", action="store_true", help="hand it on to the tool")
    parser.add_argument("--args", default="", help="arguments for the programs: --args='--steps 9'")
    parser.add_argument("--reports", type=Path, help="folder for the reports in words")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        "| program | bare s | in the patch | whole script | tried besides | advice only "
        "| with a line | traced / bare | output |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for program in sorted(FOLDER.glob("*.py")):
        if program.stem != "__init__" and (not options.only or program.stem in options.only):
            more = [] if options.budget is None else ["--budget", str(options.budget)]
            more += ["--unsafe"] if options.unsafe else []
            lines.append(row(program, more, options.args.split(), options.reports))
            print(lines[-1], flush=True)
    if options.output:
        options.output.write_text(f"{header()}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def row(program: Path, more: list[str], arguments: list[str], reports: Path | None) -> str:
    with tempfile.TemporaryDirectory() as folder:
        script, report = Path(folder) / program.name, Path(folder).with_suffix(".json")
        shutil.copy(program, script)
        command = ["-m", "gpuadvise", "--apply", "--verbose", "--json", str(report), *more]
        done = run([*command, str(script), *arguments], folder)
        if reports is not None:
            (reports / f"{program.stem}.txt").write_text(done.stderr, encoding="utf-8")
        if not report.exists():
            return f"| {program.stem} | exit status {done.returncode}: {done.stderr[-200:]} |"
        data = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
        same = "as it was"
        if script.read_bytes() != program.read_bytes():
            before, after = (run([str(p), *arguments], folder) for p in (program, script))
            equal = before.stdout == after.stdout and before.returncode == after.returncode
            same = "equal" if equal else "DIFFERENT"
    name = " ".join([program.stem, *arguments])
    return " | ".join(["", name, *cells(data), same, ""]).strip()


def run(arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def cells(data: dict[str, Any]) -> list[str]:
    winners = [f["winner"]["candidate"]["rule"] for f in data["findings"] if f["winner"]]
    others = [t["candidate"]["rule"] for f in data["findings"] for t in f["others"]]
    verdict = data["script_verdict"] or {}
    speedup = verdict.get("speedup")
    gain = "-"
    if winners and speedup:
        gain = f"{speedup['value']:.2f}x ({speedup['low']:.2f}-{speedup['high']:.2f})"
    advice = [f"{a['rule']}:{a['mistake']['line']}" for a in data["advice"]]
    bare, gpu = data["profile"]["bare"]["wall"], data["gpu"]
    return [
        f"{bare:.2f}",
        ", ".join(dict.fromkeys(winners)) or "-",
        gain,
        ", ".join(dict.fromkeys(others)) or "-",
        ", ".join(advice) or "-",
        f"{gpu['coverage']:.2%}" if gpu else "-",
        f"{gpu['traced'] / bare:.2f}" if gpu else "-",
    ]


if __name__ == "__main__":
    main()
