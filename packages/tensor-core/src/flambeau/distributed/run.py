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
from collections.abc import Sequence

from .elastic.multiprocessing import DefaultLogsSpecs, Std
from .launcher.api import LaunchConfig, elastic_launch
from .nodes import DEFAULT_HOST, DEFAULT_MASTER_PORT
from .workers import LOCAL_RANK

__all__ = ["config_from_args", "get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
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
    option("master-addr", default=DEFAULT_HOST, help="the address of machine 0")
    option("master-port", type=int, default=DEFAULT_MASTER_PORT, help="a port that is free there")
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
         help="write output to files: 1 stdout, 2 stderr, 3 both; or by local rank, 0:1,1:3")
    here("-m", "--module", action="store_true", help="the program is a module, as in python -m")
    option("no-python", action="store_true", help="the program is an executable")
    here("training_script", help="the program")
    here("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return made


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """What a command line says.

    Args:
        args: What stands behind the program's name; the process's by default.
    """
    return get_args_parser().parse_args(args)


def _processes(given: str) -> int:
    """How many processes a machine runs."""
    given = str(given)
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
    least = str(given).partition(":")[0]
    if not least.isdigit() or int(least) < 1:
        raise SystemExit(f"torchrun: --nnodes {given}; give a number above 0")
    return int(least)


def config_from_args(args: argparse.Namespace) -> tuple[LaunchConfig, str, list[str]]:
    """A configuration, the first word of what is started, and the other words.

    Args:
        args: What ``parse_args`` gave.

    Raises:
        SystemExit: They cannot be meant together.
    """
    endpoint = args.rdzv_endpoint
    if args.standalone:
        backend, endpoint = "c10d", ""
    elif (backend := args.rdzv_backend) == "static" and not endpoint:
        endpoint = f"{args.master_addr}:{args.master_port}"
    config = LaunchConfig(
        machines := 1 if args.standalone else _machines(args.nnodes), machines,
        _processes(args.nproc_per_node),
        DefaultLogsSpecs(args.log_dir, Std.from_str(args.redirects)), run_id=args.rdzv_id,
        role=args.role, rdzv_endpoint=endpoint, rdzv_backend=backend,
        rdzv_configs={"rank": args.node_rank}, max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval, start_method=args.start_method,
        local_addr=args.local_addr)
    words = _command(args)
    if not getattr(args, "use_env", True):
        words.append(f"--local-rank={LOCAL_RANK}")
    return config, words[0], words[1:]


def _command(options: argparse.Namespace) -> list[str]:
    words = [options.training_script, *options.training_script_args]
    if options.no_python:
        if options.module:
            raise SystemExit("torchrun: --no-python and --module exclude each other")
        return words
    return [sys.executable, "-u", *(["-m"] if options.module else []), *words]


def run(args: argparse.Namespace) -> None:
    """Run what a command line says.

    Args:
        args: What ``parse_args`` gave.

    Raises:
        ChildFailedError: A process failed, and so did all restarts.
    """
    config, first, words = config_from_args(args)
    if config.nproc_per_node > 1:  # processes that all use all cores would be in each other's way
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    elastic_launch(config, first)(*words)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line.

    Args:
        args: What stands behind the program's name; the process's by default.

    Raises:
        ChildFailedError: A process failed, and so did all restarts.
    """
    run(parse_args(args))


if __name__ == "__main__":
    main()
