"""The older name of the launcher: ``python -m flambeau.distributed.launch``.

Programs are told their number on the machine as an argument, ``--local-rank=1``, unless
``--use-env`` says that they read ``LOCAL_RANK``.
"""
from __future__ import annotations

from collections.abc import Sequence

from .run import get_args_parser, run

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line.

    Args:
        args: What stands behind the program's name; the process's by default.

    Raises:
        ChildFailedError: A process failed, and so did all restarts.
    """
    parser = get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true",
                        help="do not give programs --local-rank")
    options = parser.parse_args(args)
    options.use_env = options.use_env or options.no_python
    run(options)


if __name__ == "__main__":
    main()
