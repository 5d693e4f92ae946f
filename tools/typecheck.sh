#!/bin/sh
# mypy cannot follow the editable install's package-dir mapping, so give it the same
# mapping as links: typecheck/gpuadvise/{advisor's files, rules, targets}.
set -eu
cd "$(dirname "$0")/.."
rm -rf .typecheck && mkdir -p .typecheck/gpuadvise
for entry in advisor/* rules targets; do
    ln -s "../../$entry" ".typecheck/gpuadvise/$(basename "$entry")"
done
rm -f .typecheck/gpuadvise/__pycache__
MYPYPATH=.typecheck exec "${PYTHON:-.venv/bin/python}" -m mypy --strict -p gpuadvise
