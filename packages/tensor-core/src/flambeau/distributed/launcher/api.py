"""Start a function in several processes that know each other, and begin again where one fails."""
from __future__ import annotations

import logging
import sys
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flambeau.distributed.agent import Plan, run_workers
from flambeau.distributed.elastic.multiprocessing import DefaultLogsSpecs, LogsSpecs
from flambeau.distributed.elastic.multiprocessing.errors import ChildFailedError
from flambeau.distributed.nodes import meet
from flambeau.distributed.workers import results_in, start_command, start_function

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

GRACE_SECONDS = 30
_log = logging.getLogger(__name__)


@dataclass
class LaunchConfig:
    """How many processes are started, and how they meet.

    Args:
        min_nodes: How many machines take part.
        max_nodes: The same: no machine joins later.
        nproc_per_node: How many processes a machine runs.
        logs_specs: Where output goes: a ``DefaultLogsSpecs``; to the terminal by default.
        run_id: The name of the run.
        role: The name of the processes' role.
        rdzv_endpoint: ``host:port`` where machines meet.
        rdzv_backend: ``"static"``: ``rdzv_configs["rank"]`` is this machine's number, and all
            processes meet at the endpoint; ``"c10d"``: machines find each other at the endpoint,
            which one machine does not need.
        rdzv_configs: See there.
        rdzv_timeout: Accepted for compatibility.
        max_restarts: How often all begin again after a failure.
        monitor_interval: Seconds between looks at the processes.
        start_method: How processes begin that call a function: ``"spawn"``, ``"fork"`` or
            ``"forkserver"``.
        log_line_prefix_template: Accepted for compatibility, as are the other arguments.
        local_addr: The address of this machine for the others.
        shutdown_timeout: Seconds between asking a process to end and ending it.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: LogsSpecs | None = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.logs_specs is None:
            self.logs_specs = DefaultLogsSpecs()
        if self.shutdown_timeout is None:
            self.shutdown_timeout = GRACE_SECONDS


class elastic_launch:
    """A function or a command that, when it is called, runs in several processes.

    Args:
        config: How.
        entrypoint: A function, which can be imported by name unless processes are forked; or the
            first word of a command, whose other words are the arguments.

    Returns:
        When it is called, what the function returned in each process of this machine, by rank; of
        commands None.

    Raises:
        ChildFailedError: When it is called: a process failed, and so did all restarts.
        SystemExit: The machines cannot meet.
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config: LaunchConfig, entrypoint: Callable[..., Any] | str | None,
                 args: list[Any]) -> dict[int, Any]:
    """The same as ``elastic_launch(config, entrypoint)(*args)``."""
    run_id = config.run_id or str(uuid.uuid4().int)
    failures = {}
    for attempt in range(config.max_restarts + 1):
        with tempfile.TemporaryDirectory(prefix="flambeau-results-") as folder:
            plan = _plan(config, entrypoint, args, run_id, attempt, folder)
            failures = run_workers(plan)
            if not failures:
                found = results_in(folder, plan.count)
                return {plan.first_rank + local: each for local, each in enumerate(found)}
        for rank, failure in failures.items():
            _log.error("rank %s (local rank %s) failed with %s; the other processes were ended",
                       rank, failure.local_rank, failure.how())
    raise ChildFailedError(_name_of(entrypoint, args), failures)


def _plan(config: LaunchConfig, entrypoint: Any, args: list[Any], run_id: str, attempt: int,
          folder: str) -> Plan:
    node, local = meet(config, attempt), config.nproc_per_node
    world = local * config.min_nodes
    environment = {
        "GROUP_RANK": node.rank, "GROUP_WORLD_SIZE": config.min_nodes, "LOCAL_WORLD_SIZE": local,
        "WORLD_SIZE": world, "ROLE_WORLD_SIZE": world, "ROLE_NAME": config.role,
        "MASTER_ADDR": node.address, "MASTER_PORT": node.port,
        "TORCHELASTIC_RESTART_COUNT": attempt, "TORCHELASTIC_RUN_ID": run_id,
        "TORCHELASTIC_MAX_RESTARTS": config.max_restarts,
    }
    start = start_function(entrypoint, args, config.start_method, folder) if callable(
        entrypoint) else start_command([str(entrypoint), *map(str, args)])
    assert config.logs_specs is not None and config.shutdown_timeout is not None
    return Plan(start, local, node.rank * local, environment, config.monitor_interval,
                config.logs_specs, attempt, config.shutdown_timeout)


def _name_of(entrypoint: Any, args: list[Any]) -> str:
    """What errors call it."""
    if callable(entrypoint):
        return getattr(entrypoint, "__qualname__", repr(entrypoint))
    if entrypoint == sys.executable:
        return next((word for word in args if not word.startswith("-")), "")
    return str(entrypoint)
