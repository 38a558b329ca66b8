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


FUNCTIONS = """
import os, sys
from flambeau import distributed as dist
from flambeau.distributed.elastic.multiprocessing.errors import ChildFailedError
from flambeau.distributed.launcher.api import LaunchConfig, elastic_launch
import flambeau

def total(start):
    dist.init_process_group("gloo")
    x = flambeau.tensor([start + dist.get_rank()])
    dist.all_reduce(x)
    dist.destroy_process_group()
    return x.item(), os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"], os.environ["ROLE_NAME"]

def fail(number):
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    if os.environ["RANK"] == "1" and int(attempt) < number:
        raise KeyError(f"lost in {attempt}")
    return attempt

def leave(code):
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)

def tried(config, entry, *args):
    try:
        print(elastic_launch(config, entry)(*args))
    except ChildFailedError as error:
        rank, first = error.get_first_failure()
        message = first.message if isinstance(first.message, str) else first.message["message"]
        print(error.name, rank, first.local_rank, first.exitcode, first.signal_name(), message)
        print("lost in" in str(error), f"rank      : {rank} (local_rank: {rank})" in str(error))

if __name__ == "__main__":
    config = LaunchConfig(1, 1, 2, rdzv_backend="c10d", rdzv_endpoint="localhost:0",
                          max_restarts=1, start_method=sys.argv[1], monitor_interval=0.02)
    tried(config, total, 3.0)
    tried(config, fail, 1)
    tried(config, fail, 2)
    config.nproc_per_node = 1
    tried(config, leave, 7)
    tried(config, leave, -9)
    tried(config, sys.executable, "-c", "import os; assert os.environ['RANK'] == '0'")
    tried(config, sys.executable, "-c", "import sys; sys.exit(3)")
"""


@pytest.mark.parametrize("method", ("spawn", "fork"))
def test_functions_run_in_processes_and_return(tmp_path, method):
    (tmp_path / "program.py").write_text(FUNCTIONS)
    done = subprocess.run([sys.executable, "program.py", method], cwd=tmp_path, text=True,
                          capture_output=True, timeout=240)
    assert done.stdout.splitlines() == [
        "{0: (7.0, '0', '2', 'default_role'), 1: (7.0, '1', '2', 'default_role')}",
        "{0: '1', 1: '1'}",
        "fail 1 1 1 <N/A> KeyError: 'lost in 1'", "True True",
        "leave 0 0 7 <N/A> exit code 7", "False True",
        "leave 0 0 -9 SIGKILL signal 9 (SIGKILL)", "False True", "{0: None}",
        "import sys; sys.exit(3) 0 0 3 <N/A> exit code 3", "False True"], done.stderr
    assert "rank 1 (local rank 1) failed with exit code 1; the other" in done.stderr


def test_the_older_launcher_says_the_number_as_an_argument(tmp_path):
    (tmp_path / "program.py").write_text("import os, sys\nsys.stdout.write(' '.join("
                                         "[os.environ['LOCAL_RANK'], *sys.argv[1:]]) + '\\n')")
    for options, said in (((), ["0 x --local-rank=0", "1 x --local-rank=1"]),
                          (("--use_env",), ["0 x", "1 x"])):
        done = subprocess.run([sys.executable, "-m", "flambeau.distributed.launch", *options,
                               "--standalone", "--nproc_per_node", "2", "program.py", "x"],
                              cwd=tmp_path, text=True, capture_output=True, timeout=120, check=True)
        assert sorted(done.stdout.splitlines()) == said


def test_command_lines_of_programs(tmp_path):
    """``run.main`` raises, and a parser's options may be filled in by a program."""
    from flambeau.distributed import run
    from flambeau.distributed.elastic.multiprocessing import Std
    from flambeau.distributed.elastic.multiprocessing.errors import ChildFailedError

    (tmp_path / "program.py").write_text("import sys\nsys.exit(4)")
    with pytest.raises(ChildFailedError, match="program.py FAILED"):
        run.main(["--standalone", str(tmp_path / "program.py")])
    options = run.get_args_parser().parse_args(["program.py", "-x", "1"])
    options.nproc_per_node, options.nnodes, options.master_port = "2", 3, "1234"
    options.node_rank, options.redirects = "2", "0:1"
    config, first, words = run.config_from_args(options)
    assert (config.nproc_per_node, config.min_nodes, config.rdzv_endpoint) == (
        2, 3, "127.0.0.1:1234")
    assert (config.rdzv_configs["rank"], first) == ("2", sys.executable)
    assert words == ["-u", "program.py", "-x", "1"]
    assert Std.from_str("0:1,1:3") == {0: Std.OUT, 1: Std.ALL}
    with pytest.raises(ValueError, match="numbers by local rank"):
        Std.from_str("0:a")
