"""Programs on which the obvious rewrite of CuPy code would change a result: none may get one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from textwrap import indent

import pytest

from gpuadvise.cases import static_chain
from gpuadvise.patch import apply_edits
from gpuadvise.registry import rules

CUPY = {rule.code: rule.function for rule in rules() if rule.code.startswith("CP3")}
HEAD = "import cupy as cp\nimport numpy as np\n\n\n"


def rewrites(code: str, text: str, function: str = "run") -> list[str]:
    """The texts that one rule makes of a program."""
    found = []
    for region in static_chain(text, function):
        answer = CUPY[code](region)
        for mistake in answer if isinstance(answer, tuple) else ():
            if mistake.match is not None:
                new = apply_edits(region.source, mistake.match.edits).decode()
                ast.parse(new.removeprefix("\ufeff"))
                found.append(new)
    return found


def program(before: str, body: str, after: str = "return x", helpers: str = "") -> str:
    """A function with a loop: lines before it, in it, behind it."""
    lines = [indent(before, "    "), "    for item in items:", indent(body, "        ")]
    text = "\n".join([*lines, indent(after, "    ")])
    return f"{HEAD}{helpers}def run(items, weights, x):\n{text}\n"


HOISTS = "w = cp.asarray(weights)\n"
CHANGED_ON_THE_HOST = {
    "in place": (HOISTS + "weights += 1", ""),
    "one element": (HOISTS + "weights[0] = 1", ""),
    "another view": (HOISTS + "view[0] = 1", ""),
    "a view, in place": (HOISTS + "view += 1", ""),
    "an element of a list": (HOISTS + "rows[0] += 1", ""),
    "through a list": (HOISTS + "for row in rows: row += 1", ""),
    "a method": (HOISTS + "weights.sort()", ""),
    "an unknown method": (HOISTS + "item.update(weights)", ""),
    "a function of NumPy": (HOISTS + "np.copyto(view, 0.0)", ""),
    "out as an option": (HOISTS + "np.sqrt(w.get(), out=view)", ""),
    "out by position": (HOISTS + "np.add(1.0, 2.0, view)", ""),
    "the host side of a copy": (HOISTS + "(w * 2).get(out=view)", ""),
    "asnumpy into": (HOISTS + "cp.asnumpy(w * 2, out=view)", ""),
    "random numbers into": (HOISTS + "np.random.default_rng().random(3, np.float64, view)", ""),
    "an own function": (HOISTS + "bump(view)", "def bump(v):\n    v[0] = 1\n\n\n"),
    "an own function, deep": (
        HOISTS + "first(view)",
        "def second(v):\n    v += 1\n\n\ndef first(v):\n    second(v)\n\n\n",
    ),
    "a list of an own function": (
        "w = cp.asarray(kept)\nbump(kept)",
        "def bump(v):\n    v.append(1.0)\n\n\n",
    ),
    "a list under another name": ("w = cp.asarray(kept)\nalias.append(1.0)", ""),
    "an attribute": (HOISTS + "view.shape = (2, 3)", ""),
    "a deleted element": ("w = cp.asarray(kept)\ndel alias[0]", ""),
    "while another file is open": (HOISTS + "with item: pass", ""),
    "an inner loop over anything": (HOISTS + "for row in item: pass", ""),
    "a function from a list": (HOISTS + "item[0](view)", ""),
    "an unknown function": (HOISTS + "update(view)", ""),
    "a nested function": (HOISTS + "def show():\n    print(weights)", ""),
}
CHANGED_ON_THE_DEVICE = {
    "in place": HOISTS + "w += 1\nx = x + w",
    "one element": HOISTS + "w[0] = 1\nx = x + w",
    "through a view": HOISTS + "v = w[1:]\nv[0] = 1\nx = x + w",
    "through a transposed view": HOISTS + "v = w.T\nv += 1\nx = x + w",
    "through a reshaped view": HOISTS + "v = w.reshape(-1)\nv += 1",
    "under another name": HOISTS + "v = w\nv += 1",
    "one of two": HOISTS + "v = x if item else w\nv += 1",
    "out as an option": HOISTS + "cp.sqrt(x, out=w)",
    "out by position": HOISTS + "cp.sqrt(x, w)",
    "out of a product": HOISTS + "cp.dot(x, x, w)",
    "a method": HOISTS + "w.fill(0)",
    "a list that grows by its rows": HOISTS + "rows += w",
    "kept in a slot": HOISTS + "rows[0] = w",
    "its shape": HOISTS + "w.shape = (3, 1)",
    "through its memory": HOISTS + "p = w.data",
    "kept in a list": HOISTS + "rows.append(w)",
    "kept in a tuple": HOISTS + "pair = (w, x)",
    "astype without a copy": HOISTS + "v = w.astype(float, copy=False)\nv += 1",
}


@pytest.mark.parametrize("name", sorted(CHANGED_ON_THE_HOST))
def test_what_changes_on_the_host_is_copied_again(name: str) -> None:
    body, helpers = CHANGED_ON_THE_HOST[name]
    before = "view = weights[:3]\nrows = [weights]\nkept = [1.0, 2.0]\nalias = kept"
    text = program(before, body, helpers=helpers)
    ast.parse(text)
    assert not rewrites("CP302", text)


@pytest.mark.parametrize("name", sorted(CHANGED_ON_THE_DEVICE))
def test_what_changes_on_the_device_is_copied_again(name: str) -> None:
    text = program("rows = []", CHANGED_ON_THE_DEVICE[name])
    assert not rewrites("CP302", text)


def test_what_does_not_change_is_copied_once() -> None:
    helpers = "def scaled(v):\n    out = v * 2.0\n    return out + 1.0\n\n\n"
    body = HOISTS + "v = w[1:].T\ny = scaled(w).sum() + v.sum()\nrows.append(y.get())"
    assert rewrites("CP302", program("rows = []", body, helpers=helpers))


@pytest.mark.parametrize(
    "extra",
    [
        "import threading\n",
        "stream = cp.cuda.Stream()\n",
        "cp.cuda.Device(1).use()\n",
        "def reset():\n    global weights\n    weights = 1\n\n\n",
    ],
)
def test_other_threads_streams_and_globals(extra: str) -> None:
    plain = program("rows = []", HOISTS + "x = x + w")
    assert rewrites("CP302", plain)
    if "global" in extra:
        plain = plain.replace("def run(items, weights, x)", "def run(items, x)")
    assert not rewrites("CP302", plain.replace("\n\n\n", f"\n{extra}\n\n", 1))


FETCHES = {
    "another array since": "f = x.get()\nx = x + 1\nn = int(f.sum())",
    "changed in place since": "f = x.get()\nx[0] = 1\nn = int(f.sum())",
    "changed under another name": "f = x.get()\ny[0] = 1\nn = int(f.sum())",
    "changed in place under another name": "f = x.get()\ny += 1\nn = int(f.sum())",
    "an attribute is set": "f = x.get()\nitem.y = 1\nn = int(f.sum())",
    "other code runs": "f = x.get()\nwith item: pass\nn = int(f.sum())",
    "other code steps": "f = x.get()\nfor row in item: pass\nn = int(f.sum())",
    "written into": "f = x.get()\ncp.sqrt(y, out=y)\nn = int(f.sum())",
    "changed by a function": "f = x.get()\nbump(y)\nn = int(f.sum())",
    "changed by a method": "f = x.get()\ny.fill(1)\nn = int(f.sum())",
    "written into by position": "f = x.get()\ncp.sqrt(y, y)\nn = int(f.sum())",
    "a NumPy number is kept": "f = x.get()\nn = f.sum()",
    "along an axis": "f = x.get()\nn = int(f.sum(axis=0)[0])",
    "the array is kept too": "f = x.get()\nn = int(f.sum())\nrows.append(f)",
    "a mean that is cut off": "n = int(x.get().mean())",
    "used in the next step": "n = int(f.sum())\nf = x.get()",
    "a value that is shown": "f = x.get()\nprint(f.max())",
}


@pytest.mark.parametrize("name", sorted(FETCHES))
def test_fetched_arrays_that_are_needed(name: str) -> None:
    before = "x = cp.asarray(weights)\ny = x\nrows = []\nn = 0"
    helpers = "def bump(v):\n    v[0] = 1\n\n\n"
    text = program(before, FETCHES[name], "return n, rows", helpers)
    assert not rewrites("CP301", text)
    assert rewrites("CP301", program(before, "f = x.get()\nn = int(f.max())"))


GATHERED = {
    "looked at in the loop": ("rows = []", "rows.append(float(x.sum()))\nprint(rows[-1])"),
    "measured": ("rows = []", "rows.append(float(x.sum()))\nif len(rows) > 3: break"),
    "known under another name": (
        "rows = []\nlog = rows",
        "rows.append(float(x.sum()))\nprint(log)",
    ),
    "two names at once": ("log = rows = []", "rows.append(float(x.sum()))\nprint(log)"),
    "given from outside": ("rows = weights", "rows.append(float(x.sum()))"),
    "left early": ("rows = []", "rows.append(float(x.sum()))\nif item: return rows"),
    "a step's own factor": ("rows = []\nk = 0", "k = k + 1\nrows.append(float(x.sum()) * k)"),
    "an unknown factor": ("rows = []", "rows.append(float(x.sum()) * item)"),
    "a row of numbers": ("rows = []", "rows.append(float(x.sum(axis=0)))"),
    "kept dimensions": ("rows = []", "rows.append(float(cp.sum(x, keepdims=True)))"),
    "a scalar changed in place": (
        "rows = []",
        "s = x.sum()\nrows.append(float(s))\ns += 1.0\nx = x + s",
    ),
    "not on the device": ("rows = []", "rows.append(float(weights.sum()))"),
    "an array that adds up": ("rows = weights", "rows += float(x.sum())"),
    "a total that decides": ("n = 0.0", "n += float(x.sum())\nif n > 10.0: break"),
}


@pytest.mark.parametrize("name", sorted(GATHERED))
def test_scalars_that_are_needed_in_their_step(name: str) -> None:
    before, body = GATHERED[name]
    text = program("x = cp.asarray(weights)\n" + before, body + "\nx = x * 0.5")
    assert not rewrites("CP303", text)


def test_loops_in_which_a_sum_can_be_seen_half_way() -> None:
    before, body = "x = cp.asarray(weights)\nn = 0.0", "n += float(x.sum())"
    plain = program(before, body, "return n")
    assert rewrites("CP303", plain)
    assert not rewrites("CP303", program(before, f"{body}\nif item: return x", "return n"))
    assert not rewrites("CP303", program(before, f"{body}\nwith item: pass", "return n"))
    assert not rewrites("CP303", program(f"{before}\nlen = 3", body, "return n"))
    otherwise = plain.replace("    return n", "    else:\n        print(n)\n    return n")
    assert not rewrites("CP303", otherwise)
    head, _, rest = plain.partition("    for item")
    loop = indent("    for item" + rest.replace("    return n\n", ""), "    ")
    text = f"{head}    try:\n{loop}    finally:\n        print(n)\n"
    assert not rewrites("CP303", text)


CHAINS = {
    "a value needed in the next step": "v = v * 0.9\nx = x + v * 2.0",
    "a value that is used later": "v = x * x + 1.0\ny = v * 2.0 + x\nrows.append(v)",
    "a decision on a rounded value": "x = cp.where(x * 0.3 + 0.1 > 0.2, x * 0.5, x + 1.0)",
    "a rounded value cut off": "x = (x * 0.3 + 0.1).astype(cp.int32)",
    "a rounded value rounded": "x = cp.floor(x * 0.3 + 0.1) + x * 2.0",
    "two Python numbers": "x = (0.5 * k) * x + x * x * k",
    "a number that fits no byte": "x = (x + 300) * x + x",
    "a reduction inside": "x = x * 0.5 - x / x.sum() + x",
    "something unknown": "x = x * item - x / item + x",
    "in place": "x *= 0.5\nx += 1.0\nx -= x * x",
    "a value that nothing uses": "v = x * x + 1.0\ny = x * 2.0 + x",
    "an option of a function": "x = cp.sqrt(x * x + x, dtype=cp.float64)",
    "an unknown function": "x = cp.round(x * x + x)",
    "a number in a byte": "x = (x + 1) * 200 - x",
    "a deleted value": "v = x * x + 1.0\ny = v * 2.0 + x\ndel v",
}


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_chains_that_are_not_one_kernel(name: str) -> None:
    before = "x = cp.asarray(weights)\nv = cp.zeros_like(x)\nk = 0.25\nrows = []"
    text = program(before, CHAINS[name], "return x, rows")
    assert not rewrites("CP304", text)
    assert rewrites("CP304", program(before, "x = x * x * k + 1.0", "return x"))


def test_a_type_that_is_known_at_one_call_only() -> None:
    helpers = "def half(v):\n    return (v * 0.3 + v * v).astype(v.dtype)\n\n\n"
    before = "x = cp.zeros(9, dtype=cp.float32)"
    assert not rewrites("CP304", program(before, "x = half(x)", helpers=helpers))


JOINED = {
    "read in the loop": "rows = cp.concatenate([rows, x])\nprint(rows.size)",
    "made of itself": "rows = cp.concatenate([rows, rows[-1:] * 2.0])",
    "at the front": "rows = cp.concatenate([x, rows])",
    "along a changing axis": "rows = cp.concatenate([rows, x], axis=item)",
    "known under another name": "rows = cp.concatenate([rows, x])\nprint(log)",
    "pieces from the host": "rows = cp.concatenate([rows, weights])",
}


@pytest.mark.parametrize("name", sorted(JOINED))
def test_arrays_that_are_needed_while_they_grow(name: str) -> None:
    before = "x = cp.zeros(3)\nrows = cp.zeros(3)"
    before += "\nlog = rows" if "another" in name else ""
    assert not rewrites("CP310", program(before, JOINED[name], "return rows"))
    plain = program("x = cp.zeros(3)\nrows = cp.zeros(3)", "rows = cp.concatenate([rows, x])")
    found = rewrites("CP310", plain)
    assert found and "rows_parts.append(x.copy())" in found[0]  # x may be changed in place


def test_kernels_and_pools_with_a_reason() -> None:
    kernel = 'k = cp.RawKernel("text", "f")\nk((1,), (1,), (x,))'
    assert rewrites("CP309", program("", kernel))
    assert not rewrites("CP309", program("", kernel + "\nrows.append(k)"))
    assert not rewrites("CP309", program("", kernel.replace('"f"', "item")))
    assert not rewrites("CP309", program("k = None", kernel))
    pool = "x = x + 1\ncp.get_default_memory_pool().free_all_blocks()"
    assert rewrites("CP308", program("", pool))
    assert not rewrites("CP308", "import torch\n" + program("", pool))


ELEMENTS = {
    "changed in place": "n += float(x[i])\nx += 1",
    "changed under another name": "n += float(x[i])\ny[i] = 2",
    "changed by a function": "n += float(x[i])\nbump(y)",
    "another array later": "n += float(x[i])\nx = x * 2",
    "a row": "n += float(x[i].sum())",
    "one element, always": "n += float(x[3])",
    "the element itself": "rows.append(x[i])",
    "single precision or double": "if x[i] < 0.1: n += 1",
    "part of arithmetic": "n = n + x[i]",
}


@pytest.mark.parametrize("name", sorted(ELEMENTS))
def test_elements_that_have_to_come_one_by_one(name: str) -> None:
    before = "x = cp.asarray(weights)\ny = x\nrows = []\nn = 0.0"
    helpers = "def bump(v):\n    v[0] = 1\n\n\n"
    start = "for item in items"
    text = program(before, ELEMENTS[name], "return n, rows", helpers)
    assert not rewrites("CP307", text.replace(start, "for i in range(9)"))
    plain = program(before, "n += float(x[i])", "return n")
    assert rewrites("CP307", plain.replace(start, "for i in range(9)"))


FRAMES = {
    "changed in place": "f = x * 2\nrows.append(f.get())\nf += 1",
    "changed through a view": "f = x * 2\nrows.append(f.get())\nv = f[1:]\nv[0] = 1",
    "changed under another name": "f = x * 2\nv = f\nrows.append(cp.asnumpy(f))\nv += 1",
    "changed by a function": "f = x * 2\nrows.append(cp.asnumpy(f))\nbump(f)",
    "changed by an unknown function": "f = x * 2\nrows.append(cp.asnumpy(f))\nupdate(f)",
    "written into": "f = x * 2\nrows.append(cp.asnumpy(f))\ncp.sqrt(x, f)",
    "a buffer that is kept": "cp.sqrt(x, buffer)\nrows.append(cp.asnumpy(buffer))",
    "a view of a buffer": "buffer[0] = 1\nrows.append(cp.asnumpy(buffer[:2]))",
    "the array itself from a function": "rows.append(cp.asnumpy(same(x)))",
    "asarray of an array": "f = cp.asarray(item)\nrows.append(f.get())",
    "looked at in the loop": "rows.append(cp.asnumpy(x * 2))\nprint(len(rows))",
    "another order": "rows.append(cp.asnumpy(x * 2, order='F'))",
    "not every time": "rows.append(item and cp.asnumpy(x * 2))",
}


@pytest.mark.parametrize("name", sorted(FRAMES))
def test_frames_that_must_be_copied_in_their_step(name: str) -> None:
    before = "x = cp.asarray(weights)\nbuffer = cp.zeros(3)\nrows = []"
    helpers = "def bump(v):\n    v[0] = 1\n\n\ndef same(v):\n    return v\n\n\n"
    assert not rewrites("CP314", program(before, FRAMES[name], "return rows", helpers))
    assert rewrites("CP314", program(before, "f = x * 2\nrows.append(f.get())", "return rows"))


FORMS: dict[str, Callable[[str], str]] = {
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "tabs": lambda text: re.sub("^(?: {4})+", lambda m: "\t" * (len(m[0]) // 4), text, flags=re.M),
    "a byte order mark": lambda text: f"\ufeff{text}",
    "no last line end": lambda text: text.rstrip("\n"),
}


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("code", sorted(CUPY))
def test_files_of_every_form(code: str, form: str) -> None:
    for rule in rules():
        for case in rule.spots if rule.code == code else ():
            if case.after is not None:
                text, expected = FORMS[form](case.before), FORMS[form](case.after)
                assert expected in rewrites(code, text, case.function or "")


RECURSIVE = """\
import cupy as cp

LIMIT = cp.asarray(3)


def search(n):
    if n > LIMIT:
        return n
    return search(n + 1) + cp.sum(cp.arange(n))


found = search(1)
for _ in range(3):
    total = found + search(2)
"""


@pytest.mark.parametrize("code", sorted(CUPY))
def test_a_recursive_function_that_reads_a_global_ends(code: str) -> None:
    """Its values are those of the module, which are those of its calls, and so on."""
    for region in static_chain(RECURSIVE, None):
        CUPY[code](region)
