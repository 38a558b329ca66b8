"""Start a program in several processes: ``python -m flambeau.distributed.run --nproc-per-node 2
train.py``, or ``torchrun`` under the alias.

Each process finds in its environment which one it is (``RANK``, ``LOCAL_RANK``, ``WORLD_SIZE``) and
where it meets the others (``MASTER_ADDR``, ``MASTER_PORT``): `init_process_group` reads them. When
one fails, the others are ended, and with ``--max-restarts`` all begin again.
"""
from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Sequence

from .agent import Plan, run_workers
from .nodes import meet

__all__ = ["main", "parser"]


def parser() -> argparse.ArgumentParser:
    """What the command line is read with."""
    made = argparse.ArgumentParser(
        prog="torchrun", description="Start a program in several processes.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    here = made.add_argument

    def option(name: str, **settings: object) -> None:
        here(f"--{name}", f"--{name.replace('-', '_')}", **settings)  # type: ignore[arg-type]

    option("nnodes", default="1", help="how many machines take part")
    option("nproc-per-node", default="1",
           help="how many processes a machine runs: a number, auto, cpu or gpu")
    option("node-rank", type=int, default=int(os.environ.get("PET_NODE_RANK", 0)),
           help="the number of this machine, from 0")
    option("master-addr", default="127.0.0.1", help="the address of machine 0")
    option("master-port", type=int, default=29500, help="a port that is free there")
    option("standalone", action="store_true", help="one machine, with any port that is free")
    option("rdzv-backend", default="static",
           help="static: --node-rank and --master-addr are given; c10d: machines meet at "
                "--rdzv-endpoint")
    option("rdzv-endpoint", default="", help="host:port where machines meet")
    option("rdzv-id", default="none", help="the name of the run")
    option("rdzv-conf", default="", help="accepted for compatibility")
    option("max-restarts", type=int, default=0, help="how often all begin again after a failure")
    option("monitor-interval", type=float, default=0.1, help="seconds between looks at processes")
    option("start-method", default="spawn", help="accepted for compatibility")
    option("role", default="default", help="the name of the processes' role")
    option("local-addr", default="", help="the address of this machine for the others")
    option("log-dir", default="", help="where --redirects writes")
    here("-r", "--redirects", default="0",
         help="write output to files: 1 stdout, 2 stderr, 3 both")
    here("-m", "--module", action="store_true", help="the program is a module, as in python -m")
    option("no-python", action="store_true", help="the program is an executable")
    here("training_script", help="the program")
    here("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def _processes(given: str) -> int:
    """How many processes a machine runs."""
    if given.isdigit() and int(given) > 0:
        return int(given)
    if given == "cpu":
        return os.cpu_count() or 1
    if given in ("auto", "gpu"):
        from flambeau import accelerator

        count = accelerator.device_count() if accelerator.is_available() else 0
        if count or given == "auto":
            return count or os.cpu_count() or 1
        raise SystemExit("torchrun: --nproc-per-node gpu, but there is no GPU; give a number, or "
                         "cpu")
    raise SystemExit(f"torchrun: --nproc-per-node {given}; give a number above 0, auto, cpu or gpu")


def _machines(given: str) -> int:
    """How many machines take part: of a range, the least."""
    least = given.partition(":")[0]
    if not least.isdigit() or int(least) < 1:
        raise SystemExit(f"torchrun: --nnodes {given}; give a number above 0")
    return int(least)


def _command(options: argparse.Namespace) -> list[str]:
    if options.no_python:
        if options.module:
            raise SystemExit("torchrun: --no-python and --module exclude each other")
        return [options.training_script, *options.training_script_args]
    start = [sys.executable, "-u", *(["-m"] if options.module else [])]
    return [*start, options.training_script, *options.training_script_args]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exits with 1 when a process failed.

    Args:
        arguments: What stands behind the program's name; the process's by default.
    """
    options = parser().parse_args(arguments)
    local = _processes(options.nproc_per_node)
    machines = 1 if options.standalone else _machines(options.nnodes)
    run_id = options.rdzv_id if options.rdzv_id != "none" else str(uuid.uuid4())
    for attempt in range(options.max_restarts + 1):
        node = meet(options, machines, attempt)
        environment = {
            "GROUP_RANK": node.rank, "GROUP_WORLD_SIZE": machines,
            "LOCAL_WORLD_SIZE": local, "WORLD_SIZE": local * machines,
            "ROLE_WORLD_SIZE": local * machines, "ROLE_NAME": options.role,
            "MASTER_ADDR": node.address, "MASTER_PORT": node.port,
            "TORCHELASTIC_RESTART_COUNT": attempt, "TORCHELASTIC_RUN_ID": run_id,
            "TORCHELASTIC_MAX_RESTARTS": options.max_restarts,
        }
        plan = Plan(_command(options), local, node.rank * local, environment,
                    options.monitor_interval, options.redirects, options.log_dir, attempt)
        failure = run_workers(plan)
        if failure is None:
            return
        print(f"torchrun: {failure}", file=sys.stderr, flush=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
