"""The launcher: processes with their numbers, restarts, and several machines' worth of them."""
from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, sys
from flambeau import distributed as dist
from flambeau.distributed.elastic.multiprocessing.errors import record
import flambeau

@record
def main():
    if sys.argv[1] == "fail" and os.environ["RANK"] == "1" \\
            and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise KeyError("lost")
    dist.init_process_group("gloo")
    x = flambeau.tensor([float(dist.get_rank() + 1)])
    dist.all_reduce(x)
    names = ("LOCAL_RANK", "GROUP_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
    told = [x.item(), dist.get_world_size(), dist.is_torchelastic_launched(),
            dist.get_node_local_rank(), *(int(os.environ[name]) for name in names), sys.argv[2:]]
    with open(f"{dist.get_rank()}.json", "w") as file:
        json.dump(told, file)
    sys.stdout.write(f"said {dist.get_rank()}\\n")        # at once: others write as well
    dist.destroy_process_group()

main()
"""


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "flambeau.distributed.run", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def told(folder: Path, rank: int) -> list[object]:
    return json.loads((folder / f"{rank}.json").read_text())


def test_processes_of_one_machine(tmp_path):
    run = start(tmp_path, "--standalone", "--nproc_per_node=2", "program.py", "well", "--lr", "1")
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    assert told(tmp_path, 0) == [3.0, 2, True, 0, 0, 0, 2, 0, ["--lr", "1"]]
    assert told(tmp_path, 1) == [3.0, 2, True, 1, 1, 0, 2, 0, ["--lr", "1"]]
    assert sorted(output.splitlines()) == ["said 0", "said 1"]


def test_failures_end_the_others_and_may_begin_again(tmp_path):
    run = start(tmp_path, "--standalone", "--nproc-per-node", "2", "program.py", "fail")
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 1 and not list(tmp_path.glob("*.json"))
    assert "KeyError: 'lost'" in errors
    assert "rank 1 (local rank 1) failed with exit code 1" in errors
    run = start(tmp_path, "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "-r", "3",
                "--log-dir", "logs", "program.py", "fail")
    output, errors = run.communicate(timeout=120)
    assert run.returncode == 0 and output == "", errors
    assert told(tmp_path, 1) == [3.0, 2, True, 1, 1, 0, 2, 1, []]
    assert "KeyError" in (tmp_path / "logs/attempt_0/1/stderr.log").read_text()
    assert (tmp_path / "logs/attempt_1/0/stdout.log").read_text() == "said 0\n"


def test_machines_meet_at_an_address(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-id", "x",
               "--rdzv-endpoint", f"127.0.0.1:{port}", "program.py", "well")
    runs = [start(tmp_path, *options) for _ in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    assert [told(tmp_path, rank)[:6] for rank in range(2)] == [
        [3.0, 2, True, 0, 0, 0], [3.0, 2, True, 0, 0, 1]]


@pytest.mark.parametrize("options, said", [
    (("--nproc-per-node", "none"), "give a number above 0"),
    (("--nnodes", "2", "--node-rank", "2"), "--node-rank 2 of 2 machines"),
    (("--nnodes", "2", "--rdzv-backend", "c10d"), "give --rdzv-endpoint"),
    (("--rdzv-backend", "etcd"), "there are static and c10d"),
])
def test_what_cannot_be_started(tmp_path, options, said):
    run = start(tmp_path, *options, "program.py", "well")
    _, errors = run.communicate(timeout=60)
    assert run.returncode != 0 and said in errors
