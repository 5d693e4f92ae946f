"""``python -m gpuadvise``, and the ``gpuadvise`` command."""

import sys


def main() -> None:
    """Run the command line; an interrupt while it loads ends in one line as well."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        print("gpuadvise: interrupted; nothing was run", file=sys.stderr)
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
