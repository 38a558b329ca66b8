"""The servers of the gallery: batches, refusals, and an end that loses nothing."""

import concurrent.futures
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import flambeau
from flambeau import jit

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tutorials" / "serving"
CORE = ROOT / "packages" / "tensor-core" / "src" / "flambeau" / "core"
#: Rounds of a product, so that a batch takes long enough for others to wait.
ROUNDS = 1000


def library():
    """The runtime's library, where it was built."""
    found = Path(os.environ.get("TESTED_RUNTIME",
                                ROOT / "build" / "core" / "libflambeau_runtime.so"))
    return found if found.exists() and shutil.which("g++") else None


KINDS = ["python", *(["c++"] if library() else [])]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The file of a program of rows of four numbers, and the program."""
    flambeau.manual_seed(0)
    first, square = flambeau.randn(4, 256), flambeau.randn(256, 256) / 16

    def model(x):
        x = x @ first
        for _ in range(ROUNDS):
            x = (x @ square).tanh()
        return x[:, :3]

    path = tmp_path_factory.mktemp("serving") / "model.program"
    jit.trace(model, flambeau.randn(2, 4), dynamic={0: {0: "N"}}).save(path)
    return path, jit.load(path)


@pytest.fixture(scope="module", params=KINDS)
def command(request, program, tmp_path_factory):
    """What starts a server: ``(port, rows of a batch, requests that may wait)`` to words."""
    path = str(program[0])
    if request.param == "python":
        return lambda port, most, waiting: [
            sys.executable, str(FOLDER / "server.py"), path, f"--port={port}", f"--most={most}",
            f"--waiting={waiting}"]
    executable, built = tmp_path_factory.mktemp("server") / "server", library()
    subprocess.run(["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread",
                    f"-I{CORE / 'include'}", str(FOLDER / "server.cpp"), str(built),
                    f"-Wl,-rpath,{built.parent}", "-o", str(executable)], check=True)
    return lambda port, most, waiting: [str(executable), path, *map(str, (port, most, waiting))]


@pytest.fixture(scope="module")
def port(command):
    """The port of a server with room for all."""
    with running(command) as (_, number):
        yield number


@contextmanager
def running(command, most=32, waiting=256):
    """A server; its process and port."""
    with subprocess.Popen(command(0, most, waiting), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline().split()[-1])
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def ask(port, body, path="/predict", method="POST", **fields):
    """Status and answer of one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    text = body if isinstance(body, (str, bytes)) else json.dumps(body)
    connection.request(method, path, text, fields)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def rows(count):
    return flambeau.randn(count, 4).tolist()


def ask_together(port, inputs):
    """Answers to requests at the same time, each from a thread."""
    with concurrent.futures.ThreadPoolExecutor(len(inputs)) as threads:
        return list(threads.map(lambda row: ask(port, {"input": row}), inputs))


def is_right(program, row, answer):
    """Whether an answer has the bits of the program, for a batch of its size."""
    batch = flambeau.tensor([row] * answer["batch"])
    return flambeau.equal(program(batch)[0], flambeau.tensor(answer["output"]))


def test_answers_have_the_bits_of_the_program(port, program):
    for row in rows(3):
        status, answer = ask(port, {"input": row})
        assert (status, answer["batch"]) == (200, 1)
        assert is_right(program[1], row, answer)


def test_requests_that_wait_are_computed_together(port, program):
    inputs = rows(24)
    answers = ask_together(port, inputs)
    assert all(status == 200 for status, _ in answers)
    assert max(answer["batch"] for _, answer in answers) > 4
    for row, (_, answer) in zip(inputs, answers, strict=True):
        assert is_right(program[1], row, answer)


def test_a_batch_has_no_more_rows_than_it_may(command):
    with running(command, most=3) as (_, port):
        assert {answer["batch"] for _, answer in ask_together(port, rows(16))} >= {3}
        assert max(answer["batch"] for _, answer in ask_together(port, rows(16))) == 3


def test_too_many_requests_are_refused(command, program):
    with running(command, most=1, waiting=2) as (_, port):
        inputs = rows(16)
        answers = ask_together(port, inputs)
        assert {status for status, _ in answers} == {200, 503}
        for row, (status, answer) in zip(inputs, answers, strict=True):
            assert is_right(program[1], row, answer) if status == 200 else answer["error"]
        assert ask(port, {"input": inputs[0]})[0] == 200        # afterwards all is well


@pytest.mark.parametrize("body", [
    "", "{", "[1, 2, 3, 4]", '{"input": [1, 2, 3]}', '{"input": [1, 2, 3, 4, 5]}',
    '{"input": [1, 2, "3", 4]}', '{"input": [1, 2, NaN, 4]}', '{"input": [1, 2, 1e39, 4]}',
    '{"input": [1, 2, 3, 4]} 5', '{"input": [1, 2, 3, 4], "more": 1}', '{"input": 4}',
    '{"inputs": [1, 2, 3, 4]}', "[" * 5000, b"\xff\xfe\0"])
def test_what_is_no_row_is_refused(port, body):
    assert ask(port, body)[0] == 400
    assert ask(port, {"input": [1, 2, 3, 4]})[0] == 200


def test_other_paths_and_methods(port):
    assert ask(port, "", "/health", "GET") == (200, {})
    assert ask(port, "", "/other")[0] == 404
    assert ask(port, "", method="GET")[0] == 405


@pytest.mark.parametrize("text", [
    "POST /predict HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "POST /predict HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "POST /predict HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n",
    "POST /predict HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /predict HTTP/1.1\r\nContent-Length: 10\r\n\r\n{}", "nonsense\r\n\r\n", "nonsense",
    "GET / HTTP/1.1\r\nA: " + "a" * 40000])
def test_what_is_no_request_is_refused_and_closed(port, text):
    with socket.create_connection(("127.0.0.1", port)) as other:
        other.sendall(text.encode())
        other.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while more := other.recv(4096):
                found += more
        except ConnectionResetError:
            pass        # with bytes unread, TCP may say so
        assert found == b"" or found.startswith(b"HTTP/1.1 400")
        assert ask(port, {"input": [1, 2, 3, 4]})[0] == 200


def test_a_connection_takes_many_requests(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(3):
        connection.request("POST", "/predict", json.dumps({"input": [1, 2, 3, 4]}))
        answer = connection.getresponse()
        assert (answer.status, answer.will_close) == (200, False)
        assert len(json.loads(answer.read())["output"]) == 3
    connection.close()


def test_what_was_taken_is_answered_before_the_end(command, program):
    with running(command, most=1) as (process, port), socket.create_connection(
            ("127.0.0.1", port)) as idle, concurrent.futures.ThreadPoolExecutor(8) as threads:
        inputs = rows(8)
        futures = [threads.submit(ask, port, {"input": row}) for row in inputs]
        concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED)
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        for row, future in zip(inputs, futures, strict=True):
            status, answer = future.result()
            assert status == 200 and is_right(program[1], row, answer)
        assert process.wait(30) == 0
        assert idle.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            ask(port, {"input": inputs[0]})
