"""Candidates that look fast by cheating: none may come out verified.

Each replaces the victim's function for the type it is called with; for all others the original loop
stays, as rewrites do it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from holding import Bench

from gpuadvise.deadline import Deadline
from gpuadvise.model import Target, Unavailable, Verified
from gpuadvise.observe.sandbox import Sandbox
from gpuadvise.verify.reach import objection
from gpuadvise.verify.script import Goal, ScriptTrials
from gpuadvise.verify.server import StateServer
from gpuadvise.verify.states import HeldState
from gpuadvise.verify.verdicts import verdict_of

HERE = Path(__file__).parent
VICTIM = (HERE / "victim.py").read_text()
HONEST = "honest"
CHEATS = sorted(
    path.stem
    for path in HERE.glob("*.py")
    if path.stem not in (HONEST, "victim", "conftest") and not path.stem.startswith("test_")
)
ALWAYS = frozenset({"kept_by_size", "last_element_lost", "lazy_array_protocol"})
"""Run also where slow tests are left out."""
UNSEEN = frozenset({"output_known_beforehand", "right_in_the_scratch_folder"})
"""Those that recognise the trial and are right in it: no run of them can tell."""
HARMFUL = frozenset({"priority_of_the_reference", "burners_left_running", "parent_leaves_early"})
"""Those get a holder of their own."""
PERSISTENT = Path("/dev/shm")
SHARED = "/dev/shm/gpuadvise-cheat"
"""What cheats keep in shared memory begins like this; each test process has places of its own."""
GUARD = """\
    if type(u) is np.ndarray and u.dtype == np.float64 and u.ndim == 1 and type(weight) is float:
        return _cheat(u, weight)
"""


def with_cheat(name: str) -> str:
    """The victim with its function replaced for arrays of float64, and kept for all else."""
    start, stop = VICTIM.index("def smooth"), VICTIM.index("def main")
    original = VICTIM[start:stop].strip("\n")
    head, rest = original.split("\n", 1)
    text = (HERE / f"{name}.py").read_text().split('"""', 2)[2].strip("\n")
    cheat = text.replace("def smooth(", "def _cheat(", 1)
    assert cheat != text
    cheat = cheat.replace(SHARED, f"{SHARED}-{os.getpid()}")
    return f"{VICTIM[:start]}{cheat}\n\n\n{head}\n{GUARD}{rest}\n\n\n{VICTIM[stop:]}"


class Shared:
    """One held state for all cheats that leave the holder in peace."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.kept: tuple[HeldState, subprocess.Popen[bytes]] | None = None

    def state(self, name: str) -> HeldState:
        if name in HARMFUL:
            return self.bench.hold(VICTIM, "call", "smooth", name="victim.py")
        if self.kept is None or self.kept[1].poll() is not None:
            held = self.bench.hold(VICTIM, "call", "smooth", name="victim.py")
            self.kept = (held, self.bench.started[-1])
        return self.kept[0]


def on_state(shared: Shared, name: str):
    """The verdict of one held state; without perturbed inputs, which many cheats do not survive."""
    state = shared.state(name)
    new = {state.hello.file: with_cheat(name).encode()}
    return verdict_of([state.try_candidate(new, repeats=2, perturb=False)])


def as_script(tmp_path: Path, name: str, rounds: int = 20):
    """The verdict of whole runs. Of 20 rounds, a second, half is the start of Python and NumPy."""
    script = tmp_path / "script" / "victim.py"
    script.parent.mkdir(parents=True)

    def longer(text: str) -> str:
        return text.replace("range(20)", f"range({rounds})")

    script.write_text(longer(VICTIM))
    target = Target(script, cwd=script.parent, python=sys.executable)
    with Sandbox(target) as box:
        trials = ScriptTrials(box, target, None, 60.0)
        return trials.judge({script: longer(with_cheat(name)).encode()}, Goal(), Deadline(120))


def marked(name: str) -> object:
    return name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def _places_of_their_own(tmp_path_factory):
    """What cheats keep on disk is kept here, and goes."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
            patch.setenv(variable, str(tmp_path_factory.mktemp(variable)))
        patch.setattr(tempfile, "tempdir", None)
        yield
    for left in PERSISTENT.glob(f"{Path(SHARED).name}-{os.getpid()}-*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.fixture(scope="module")
def shared(_places_of_their_own, tmp_path_factory):
    with StateServer() as server:
        bench = Bench(server, tmp_path_factory.mktemp("held"), [])
        yield Shared(bench)
    for process in bench.started:
        process.communicate(timeout=60)


def test_there_are_enough_of_them():
    assert len(CHEATS) >= 45


@pytest.mark.parametrize("name", sorted(UNSEEN))
def test_what_no_run_can_tell_is_refused_unread(name):
    assert objection(VICTIM.encode(), with_cheat(name).encode()) is not None


@pytest.mark.parametrize("name", [marked(name) for name in CHEATS if name not in UNSEEN])
def test_cheat(shared, tmp_path, name):
    """Caught on a state; or, where one state cannot tell, by the whole script."""
    verdict = on_state(shared, name)
    gain = isinstance(verdict, Verified) and verdict.speedup.low > 1.1
    if gain or isinstance(verdict, Unavailable):
        # Other programs may make one measurement show a gain that is none; a hole shows each time.
        wholes = [as_script(tmp_path / "once", name)]
        if isinstance(wholes[0], Verified):
            wholes.append(as_script(tmp_path / "again", name))
        assert not all(isinstance(whole, Verified) for whole in wholes), (verdict, wholes)


def test_the_honest_rewrite_passes(shared, tmp_path):
    verdict = on_state(shared, HONEST)
    assert isinstance(verdict, Verified) and verdict.speedup.low > 2, verdict
    whole = as_script(tmp_path, HONEST, rounds=200)
    assert isinstance(whole, Verified), whole
    assert objection(VICTIM.encode(), with_cheat(HONEST).encode()) is None
