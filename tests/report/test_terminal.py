"""The report as text: complete, readable at any width, and without relying on colour."""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text
from sample import (
    LIFE,
    SCRIPT,
    TOOLS,
    failed_report,
    full_report,
    nothing_report,
    ratio,
)

from gpuadvise.model import (
    Corrected,
    Crashed,
    ErrorSize,
    Exactness,
    Exited,
    Finding,
    FunctionTime,
    Inconclusive,
    Killed,
    Mismatch,
    NotFaster,
    OnlyTimed,
    Ratio,
    Report,
    Stopped,
    Target,
    TimedOut,
    Trial,
    Unavailable,
    Usage,
    Verdict,
    Verified,
)
from gpuadvise.registry import rules
from gpuadvise.report import words
from gpuadvise.report.code import python_lines
from gpuadvise.report.findings import rule_title
from gpuadvise.report.layout import Hanging
from gpuadvise.report.terminal import next_command, render

REPORTS = [full_report(), nothing_report(), failed_report()]
GOLDEN = Path(__file__).parent / "golden"
CODES = re.compile(r"\x1b\[([0-9;]*)m")


def text_of(
    report: Report,
    width: int = 80,
    *,
    verbose: bool = False,
    quiet: bool = False,
    colour: bool = False,
    applied: tuple[Path, ...] = (),
) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        legacy_windows=False,
    )
    render(report, console, verbose=verbose, quiet=quiet, applied=applied)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [80, 140])
def test_the_whole_text(width: int) -> None:
    """Look at the difference; if it is meant, run with GPUADVISE_UPDATE_GOLDEN=1."""
    file = GOLDEN / f"full_{width}.txt"
    text = text_of(full_report(), width)
    if os.environ.get("GPUADVISE_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("report", REPORTS, ids=["advice", "nothing", "failed"])
@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("verbose", [False, True])
class TestEveryText:
    def test_fits_and_is_clean(self, report: Report, width: int, verbose: bool) -> None:
        text = text_of(report, width, verbose=verbose)
        for line in text.splitlines()[:-1]:
            assert len(line) <= width, line
        for line in text.splitlines():
            assert line == line.rstrip()
        assert "\x1b" not in text and "…" not in text and "\t" not in text

    def test_says_the_same_without_colour(self, report: Report, width: int, verbose: bool) -> None:
        coloured = text_of(report, width, verbose=verbose, colour=True)
        assert "\x1b" in coloured
        assert CODES.sub("", coloured) == text_of(report, width, verbose=verbose)

    def test_uses_colours_that_any_terminal_shows(
        self, report: Report, width: int, verbose: bool
    ) -> None:
        coloured = text_of(report, width, verbose=verbose, colour=True)
        used = {code for match in CODES.findall(coloured) for code in match.split(";") if code}
        # bold, italic, underline, no bold, red, green, magenta, cyan; nothing dim, yellow, blue
        # or white, and no background
        assert used <= {"0", "1", "3", "4", "22", "31", "32", "35", "36", "39", "49"}


def test_every_fact_is_there_at_every_width() -> None:
    for width in (60, 80, 140):
        text = " ".join(text_of(full_report(), width, verbose=True).split())
        for fact in (
            "gpuadvise life.py 200 'a b'",
            "bench1: Intel Xeon Platinum 8480+, 2 cores, 16 GB, Linux 6.8",
            "numba 0.68.1",
            "98 % of the run, so at most 67x for the whole script (Amdahl)",
            "verified, 210x (185-234x, n=5), 64.4 ms -> 306 us",
            "verified, 47x (42-52x, n=5), 6.44 s -> 136 ms",
            "on 3 recorded states of the program: equal bit for bit",
            "2.10 ms more than later ones",
            "guarded every cell is 0 or 1 (100 entries)",
            "guarded: seen in this run; the new code tests it and else runs the original",
            "observed state is not subclassed (20 of 1000 entries; line 11; in this run only, "
            "unverified",
            "proved no sum passes 64 bits (line 13; given fewer than 2**46 steps)",
            "What differs although the results are equal: an overflow is not reported",
            "assumed no thread changes state meanwhile (unverified)",
            "script verified, 6.4x (5.6-7.1x, n=5)",
            "rejected, the result differs: new[3, 4] is 1 instead of 0",
            "equal, but no gain: 1.02x (0.90-1.13x, n=5), wanted 1.1x",
            "unverified, no verdict: the times vary by 40 %",
            "rejected, it failed: IndexError: index 200 is out",
            "unverified, stopped after 20 s",
            "unverified, not run here: no NVIDIA GPU was found",
            "ZZ201, ZZ402: iteration k reads last, which k-1 wrote (line 4)",
            "ZZ201: calls sum_neighbours, which it cannot see (line 13)",
            "xs holds mixed types (line 3). Try: make all of them float",
            "two bare runs gave the same output",
            "output of two runs differs in line 3",
            "This advice took 28.5 s, 4.4 times the bare run: bare run 6.44 s",
            "compared standard output, exit code and 2 files written",
        ):
            assert fact in text, (width, fact)


def test_no_speed_up_without_interval_and_number_of_runs() -> None:
    text = " ".join(text_of(full_report(), verbose=True).split())
    text = re.sub(r"at most [\d.]+x for the whole script|wanted [\d.]+x", "", text)
    for found in re.finditer(r"(?<![\w.-])[\d.]+x\b", text):
        behind = text[found.end() :]
        inside_interval = re.match(r", n=", behind)
        assert inside_interval or re.match(r" \([\d.]+-[\d.]+x, n=\d+\)", behind), behind[:40]


def test_quiet_is_the_outcome_and_the_next_command() -> None:
    assert text_of(full_report(), 140, quiet=True) == (
        "47x (42-52x, n=5) faster as a whole script, with the same output"
        "  next: gpuadvise --apply life.py 200 'a b'\n"
    )
    assert text_of(full_report(), 80, quiet=True).splitlines()[-1] == (
        "next: gpuadvise --apply life.py 200 'a b'"
    )
    assert text_of(failed_report(), quiet=True) == (
        "life.py ended with exit code 1; there is nothing to advise on\n"
    )


def test_a_long_command_is_never_broken() -> None:
    report = replace(full_report(), target=Target(LIFE, ("x" * 200,), cwd=LIFE.parent))
    assert text_of(report, quiet=True).splitlines()[-1].endswith("life.py " + "x" * 200)


def test_partial_results_are_called_partial() -> None:
    assert "(partial: not everything could be tried)" in " ".join(
        text_of(nothing_report(), quiet=True).split()
    )


def test_after_apply_the_files_and_undo_are_named() -> None:
    text = text_of(full_report(), 200, quiet=True, applied=(LIFE, TOOLS))
    assert "written to life.py, tools/smooth.py" in text and "next: gpuadvise undo" in text


def test_next_commands() -> None:
    full, nothing = full_report(), nothing_report()
    assert next_command(full) == "gpuadvise --apply life.py 200 'a b'"
    module = replace(full, target=Target(LIFE, ("5",), module="pkg.life", cwd=LIFE.parent))
    assert next_command(module) == "gpuadvise --apply -m pkg.life 5"
    elsewhere = replace(full, target=Target(LIFE, cwd=Path("/home")))
    assert next_command(elsewhere) == "gpuadvise --apply /work/project/life.py"
    like_a_command = replace(full, target=Target(Path("/w/rules"), cwd=Path("/w")))
    assert next_command(like_a_command) == "gpuadvise --apply ./rules"
    assert next_command(nothing) == "gpuadvise --verbose life.py 200 'a b'"
    assert next_command(replace(nothing, refused=())) is None
    only_unsafe = Finding(full.findings[0].region, None, full.findings[0].others)
    assert next_command(replace(nothing, findings=(only_unsafe,))) == (
        "gpuadvise --unsafe life.py 200 'a b'"
    )
    assert next_command(failed_report()) is None


def test_the_bound_is_left_out_where_the_measurement_refutes_it() -> None:
    full = full_report()
    region = replace(full.findings[0].region, share=0.9)
    report = replace(full, findings=(replace(full.findings[0], region=region),))
    assert "90 % of the run\n" in text_of(report, 140)


def test_refusals_of_a_rewritten_loop_are_for_verbose() -> None:
    assert "calls sum_neighbours" not in text_of(full_report())
    assert "calls sum_neighbours" in text_of(full_report(), verbose=True)


def test_many_refusals_are_counted() -> None:
    full = full_report()
    many = tuple(
        replace(
            full.refused[1],
            region=replace(
                full.refused[1].region,
                site=replace(full.refused[1].region.site, line=k),
            ),
            refusal=replace(full.refused[1].refusal, reason=f"reason {k}"),
        )
        for k in range(9)
    )
    report = replace(full, refused=many)
    assert "and 3 more; --verbose shows them" in text_of(report)
    assert "reason 8" in text_of(report, verbose=True)


def test_bars_without_unicode() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    render(full_report(), Console(file=stream, width=140, highlight=False))
    stream.flush()
    text = raw.getvalue().decode("ascii")
    assert "# Python = native code . waiting" in text
    assert "13   64 % ############= " in text


def test_bars_are_as_long_as_the_share() -> None:
    line = next(row for row in text_of(full_report(), 140).splitlines() if row.startswith("13 "))
    assert line.count("█") + line.count("▒") + line.count("░") == round(0.64 * 20)


def test_lines_of_functions_are_not_repeated_at_module_level() -> None:
    full = full_report()
    assert full.profile is not None
    functions = (*full.profile.functions, FunctionTime(LIFE, "<module>", 1, 23, 0.05, 0.0))
    report = replace(full, profile=replace(full.profile, functions=functions))
    text = text_of(report)
    assert "module level (life.py, lines 1-23): Python 5.0 %" in text
    assert text.count("for j in range(cols):") == text_of(full).count("for j in range(cols):")


def test_escape_sequences_of_a_script_are_not_passed_on() -> None:
    full = full_report()
    offered = full.findings[0].winner
    assert offered is not None
    nasty = replace(offered, region_verdict=Mismatch("printed '\x1b[2J\x9b31m\r' \x07"))
    findings = (replace(full.findings[0], winner=nasty),)
    text = text_of(replace(full, findings=findings, notes=("a\x1b]0;b",)))
    assert "printed '?[2J?31m'" in text and "- a?]0;b" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_a_report_without_region_verdict_details() -> None:
    full = full_report()
    offered = full.findings[0].winner
    assert offered is not None
    bare = replace(offered, script_verdict=None, region_verdict=Unavailable("fork is not sound"))
    match = replace(offered.candidate.match, ledger=(), needs=frozenset())
    bare = replace(bare, candidate=replace(offered.candidate, match=match))
    text = text_of(replace(full, findings=(replace(full.findings[0], winner=bare),)))
    assert "unverified, not run here: fork is not sound" in text
    assert "nothing beyond the comparison of the results" in text


def test_asked_to_write_and_nothing_to_write() -> None:
    console = Console(file=io.StringIO(), width=140)
    render(nothing_report(), console, quiet=True, asked=True)
    assert "nothing was changed" in console.file.getvalue()  # type: ignore[attr-defined]
    assert "nothing was changed" not in text_of(nothing_report(), quiet=True)


def test_why_a_rewrite_that_passed_is_not_in_the_patch() -> None:
    full = full_report()
    first, *rest = full.findings[0].others
    out = replace(first, left_out="together with ZZ201 at line 9: rejected")
    findings = (replace(full.findings[0], others=(out, *rest)),)
    text = " ".join(text_of(replace(full, findings=findings)).split())
    assert "not in the patch: together with ZZ201 at line 9: rejected" in text


def test_a_reason_that_names_its_line_gets_no_second_one() -> None:
    full = full_report()
    refused = full.refused[1]
    said = replace(refused, refusal=replace(refused.refusal, reason="h() (line 13)", line=12))
    text = text_of(replace(full, refused=(said,)))
    assert "h() (line 13)" in text and "line 12" not in text


def test_shares_of_line_timing_alone_are_not_of_the_run() -> None:
    """A script of 0.2 s spends half of them importing; "at most 370x" would be made up."""
    full = full_report()
    assert full.profile is not None
    alone = replace(full, profile=replace(full.profile, method="line_profiler"))
    text = " ".join(text_of(alone).split())
    assert "98 % of the time in the script's own lines" in text
    assert "share of the time in the script's own lines, as" in text
    assert "Amdahl" not in text


def test_cpu_time_and_page_faults_are_there_for_who_asks() -> None:
    full = full_report()
    assert isinstance(full.script_verdict, Verified)
    used = (Usage(6.4, 4100),) * 5, (Usage(0.13, 9800),) * 5
    speedup = replace(full.script_verdict.speedup, original_usage=used[0], candidate_usage=used[1])
    report = replace(full, script_verdict=replace(full.script_verdict, speedup=speedup))
    wanted = "CPU time 6.40 s -> 130 ms, page faults 4100 -> 9800"
    assert wanted in text_of(report, 140, verbose=True)
    assert wanted not in text_of(report, 140)


# ---------------------------------------------------------------------- words
VERDICTS: list[Verdict] = [
    SCRIPT,
    Mismatch("a"),
    NotFaster(ratio(1.0), 1.1),
    Corrected((("took 0.2 ms", "took 45 ms"),), "standard output", 2.0, 2.1),
    OnlyTimed(ratio(1.5), 2.0),
    Inconclusive("noise"),
    Crashed("b"),
    TimedOut(5),
    Unavailable("c"),
]


def test_there_are_words_for_every_verdict() -> None:
    assert {type(v) for v in VERDICTS} == set(get_args(Verdict))
    texts = [words.verdict(v) for v in VERDICTS]
    assert len(set(texts)) == len(texts)
    for value, text in zip(VERDICTS, texts, strict=True):
        assert text.startswith("verified") == isinstance(value, Verified)
        unsettled = isinstance(value, Inconclusive | TimedOut | Unavailable)
        assert text.startswith("unverified") == unsettled
        assert words.verdict_style(value)


def test_what_was_not_tried_needs_no_second_word_for_it() -> None:
    assert words.verdict(Inconclusive("not tried: why")) == "unverified, not tried: why"


def test_remarks_come_after_what_was_compared():
    ratio = Ratio(2, 1, 3, (1.0,), (0.5,))
    said = words.states(Verified(ratio, ErrorSize(), 2, "result of call 1; one left out"))
    assert said == "result of call 1, on 2 recorded states of the program; one left out"


def test_exactness_says_what_it_means_on_other_data():
    assert words.exactness(Exactness.BITS) == "bit for bit"
    for value in (Exactness.REASSOCIATED, Exactness.LAST_DIGIT):
        assert words.exactness(value).endswith("on other data the last digits may differ")


def test_numbers() -> None:
    shown = [words.factor(x) for x in (0.5, 1.004, 1.996, 6.44, 9.94, 9.96, 47.2, 1997.4)]
    assert shown == ["0.50", "1.00", "2.00", "6.4", "9.9", "10", "47", "1997"]
    values = (0, 2.5e-8, 0.0000052, 0.00025, 0.0644, 0.9996, 6.44, 28.49, 3601.0)
    assert [words.seconds(x) for x in values] == [
        "0 s", "25.0 ns", "5.20 us", "250 us", "64.4 ms", "1.00 s", "6.44 s", "28.5 s", "3601 s",
    ]  # fmt: skip
    assert [words.percent(x) for x in (0, 0.0042, 0.0993, 0.1, 0.99)] == [
        "0 %", "0.4 %", "9.9 %", "10 %", "99 %",
    ]  # fmt: skip
    assert [words.size(x) for x in (12, 1500, 45_000_000, 16_500_000_000)] == [
        "12 bytes", "1.5 kB", "45 MB", "16 GB",
    ]  # fmt: skip
    assert words.seconds(float("inf")) == "inf s" and words.factor(float("nan")) == "nan"


def test_speed_ups_carry_interval_and_runs() -> None:
    assert words.speedup(Ratio(47, 41, 52, (1.0,) * 5, (1.0,) * 5)) == "47x (41-52x, n=5)"
    assert words.speedup(Ratio(2, 1, 3, (1.0,) * 5, (1.0,) * 7)) == "2.0x (1.00-3.0x, n=5 and 7)"
    assert words.times(Ratio(2, 1, 3, (), ())) == ""


def test_errors_in_words() -> None:
    assert words.error_size(ErrorSize()) == "equal bit for bit"
    assert words.error_size(ErrorSize(numbers=7)) == ("equal bit for bit, 7 floating-point numbers")
    assert words.error_size(ErrorSize(1e-9, 2e-12, 3, 1)).endswith(", of 1 floating-point number")
    text = words.error_size(ErrorSize(1.5e-9, 2e-12, 3))
    assert text == "largest deviation 1.5e-09, relative 2e-12, 3 units in the last place"


def test_ends_of_runs() -> None:
    ends = [words.run_end(end) for end in (Exited(0), Exited(3), Killed(9), Stopped(2.5))]
    assert ends == [
        "ended normally",
        "ended with exit code 3",
        "was ended by signal 9",
        "was stopped after 2.5 s",
    ]


def test_titles_of_known_and_unknown_rules() -> None:
    assert rule_title("ZZ999") == "ZZ999"
    for rule in rules():
        assert rule_title(rule.code) == f"{rule.code} {rule.name}"


def test_trials_carry_what_is_unsafe() -> None:
    trial = full_report().findings[0].others[-1]
    assert isinstance(trial, Trial)
    assert "only with --unsafe, as it is unverified that state is not subclassed" in " ".join(
        text_of(full_report()).split()
    )


# --------------------------------------------------------------------- layout
@given(
    st.text(alphabet="ab cde  f\n", max_size=120),
    st.text(alphabet="xyz ", max_size=12),
    st.integers(0, 12) | st.none(),
    st.integers(40, 90),
)
def test_hanging_lines_keep_all_words(body: str, head: str, hang: int | None, width: int) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(Hanging(Text(head), Text(body), hang))
    out = console.file.getvalue()  # type: ignore[attr-defined]
    # Words are only broken where they are longer than a line: compare without any space.
    assert "".join(out.split()) == "".join((head + body).split())
    indent = len(head) if hang is None else hang
    for number, line in enumerate(out.splitlines()):
        assert len(line) <= width and line == line.rstrip()
        assert number == 0 or not line.strip() or line.startswith(" " * indent)


def test_code_keeps_its_lines() -> None:
    text = "\n\nx = 1\n\n\tif x:  # é\n\ns = '''\n\n'''\n\n"
    assert [line.plain for line in python_lines(text)] == text.expandtabs(4).split("\n")
