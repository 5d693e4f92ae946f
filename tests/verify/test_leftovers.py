"""Which globals of a module may differ after a rewrite."""

from __future__ import annotations

import pytest

from gpuadvise.verify.leftovers import ignorable_globals

LOOP = "for i in range(9):\n    t = a[i]\n    b[i] = t\n"
NEW = "b[:] = a\n"

DEAD = [
    "print(b)",
    "for i in range(3):\n    print(i)",
    "i = 0\nprint(i)",
    "if a:\n    i = 1\nelse:\n    i = 2\nprint(i)",
    "print([i for i in a])",
    "print((lambda i: i)(1))",
    "def f(i):\n    return i",
    "def f():\n    i = 1\n    return i",
    "while a:\n    i = 1\n    print(i)\n    a = 0",
]
ALIVE = [
    "print(i)",
    "i += 1",
    "for i in range(i):\n    pass",
    "for i in range(3):\n    pass\nprint(i)",  # no iteration: the old i
    "if a:\n    i = 1\nprint(i)",
    "while i < 5:\n    i = 1",
    "while a:\n    i = 1\nprint(i)",
    "def f():\n    return i",
    "f = lambda: i",
    "class C:\n    x = i",
    "def f():\n    global i\n    i += 1",
    "print([j for j in range(i)])",
    "print([i for j in range(3)])",
    "print(globals())",
    "eval('i')",
    "try:\n    pass\nfinally:\n    print(i)",
    "def f(k=i):\n    return k",
    "del i",
    "x = i = i + 1",
    "with open(str(i)) as f:\n    pass",
]


@pytest.mark.parametrize("rest", DEAD)
def test_dead(rest):
    old, new = f"a = b = []\n{LOOP}{rest}\n", f"a = b = []\n{NEW}{rest}\n"
    assert ignorable_globals(old.encode(), new.encode()) >= {"i", "t"}


@pytest.mark.parametrize("rest", ALIVE)
def test_alive(rest):
    old, new = f"a = b = []\n{LOOP}{rest}\n", f"a = b = []\n{NEW}{rest}\n"
    assert "i" not in ignorable_globals(old.encode(), new.encode())


def test_inside_main_guard():
    def program(body, rest, end):
        lines = "".join(f"    {line}\n" for line in (body + rest).splitlines())
        return f"a = b = []\nif __name__ == '__main__':\n{lines}{end}".encode()

    assert "i" in ignorable_globals(program(LOOP, "print(b)", ""), program(NEW, "print(b)", ""))
    for rest, end in (("print(i)", ""), ("", "print(i)\n")):
        both = program(LOOP, rest, end), program(NEW, rest, end)
        assert "i" not in ignorable_globals(*both)


def test_the_next_iteration_of_a_loop_around_it():
    def program(body, head):
        lines = "".join(f"    {line}\n" for line in (head + body).splitlines())
        return f"a = b = []\ni = 0\nfor k in range(5):\n{lines}".encode()

    read = program(LOOP, "print(i)\n"), program(NEW, "print(i)\n")
    assert "i" not in ignorable_globals(*read) and "t" in ignorable_globals(*read)
    bound = program(LOOP, "i = 3\nprint(i)\n"), program(NEW, "i = 3\nprint(i)\n")
    assert "i" in ignorable_globals(*bound)


def test_names_of_the_new_text_only():
    old = f"a = b = []\n{LOOP}print(sum)\n".encode()
    new = f"a = b = []\nbuffer = a\nsum = 3\n{NEW}print(sum)\n".encode()
    names = ignorable_globals(old, new)
    assert "buffer" in names
    assert "sum" not in names, "the old text reads the built-in of that name"
