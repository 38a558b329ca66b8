"""A model behind HTTP: requests that wait together are computed together.

    python docs/tutorials/digits.py --out results
    python docs/tutorials/serving/server.py results/digits.program --port 8000
    curl -d '{"input": [0, 0, ...]}' localhost:8000/predict

A batch is what arrived while the one before it was computed: an idle server answers at once, and a
busy one computes more rows at a time. 400 answers what is no request, 503 comes where too many
wait. On SIGTERM and SIGINT the server answers what it has taken, and ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import signal
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

Row = list[float]
#: Rows in, rows out; it runs in a thread of its own.
Predict = Callable[[list[Row]], list[Row]]

MAX_HEAD_BYTES, MAX_BODY_BYTES = 16384, 1 << 20


class Refused(Exception):
    """A request that gets no prediction: its status and why."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class Batcher:
    """Rows that wait for a model.

    Args:
        predict: the model.
        most: rows of a batch.
        waiting: rows that may wait; more are refused.
    """

    def __init__(self, predict: Predict, most: int, waiting: int) -> None:
        self.predict, self.most, self.waiting = predict, most, waiting
        self.jobs: deque[tuple[Row, asyncio.Future[tuple[Row, int]]]] = deque()
        self.stops = False
        self.arrived = asyncio.Event()
        self.task = asyncio.create_task(self._work())

    async def submit(self, row: Row) -> tuple[Row, int]:
        """The result of a row, and how many rows were computed with it."""
        if self.stops or len(self.jobs) >= self.waiting:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE,
                          "too many requests wait; try again later")
        answer: asyncio.Future[tuple[Row, int]] = asyncio.get_running_loop().create_future()
        self.jobs.append((row, answer))
        self.arrived.set()
        return await answer

    async def stop(self) -> None:
        """Compute what waits, take nothing more."""
        self.stops = True
        self.arrived.set()
        await self.task

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as thread:
            while self.jobs or not self.stops:
                if not self.jobs:
                    self.arrived.clear()
                    await self.arrived.wait()
                    continue
                batch = [self.jobs.popleft() for _ in range(min(self.most, len(self.jobs)))]
                rows = [row for row, _ in batch]
                try:
                    results = await loop.run_in_executor(thread, self.predict, rows)
                except Exception as error:
                    for _, answer in batch:
                        answer.set_exception(error)
                else:
                    for (_, answer), result in zip(batch, results, strict=True):
                        answer.set_result((result, len(batch)))


class Service:
    """Reads requests, writes answers.

    Args:
        batcher: the model.
        elements: numbers of a row.
    """

    def __init__(self, batcher: Batcher, elements: int) -> None:
        self.batcher, self.elements = batcher, elements
        self.open: set[asyncio.Task[None]] = set()
        self.idle: set[asyncio.StreamWriter] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.open.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except OSError:
            pass        # the other side is gone
        finally:
            self.open.discard(task)
            writer.close()

    async def close(self) -> None:
        """End connections that wait for a request; let others finish."""
        for writer in self.idle:
            writer.close()
        if self.open:
            await asyncio.wait(self.open)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays open."""
        self.idle.add(writer)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if not error.partial:
                return False
            head = b""
        except asyncio.LimitOverrunError:
            head = b""
        finally:
            self.idle.discard(writer)
        stays = False
        try:
            (method, path, version), fields = _parsed(head)
            body = await _body(reader, fields)
            stays = fields.get("connection", "").lower() != "close" and version == "HTTP/1.1"
            status, answer = HTTPStatus.OK, await self._answer(method, path, body)
        except Refused as refused:
            status, answer = refused.status, {"error": str(refused)}
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            answer = {"error": "the program failed on this batch"}
        stays = stays and not self.batcher.stops
        text = json.dumps(answer).encode()
        writer.write(b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                     b"%s\r\n%s" % (status, status.phrase.encode(), len(text),
                                    b"" if stays else b"Connection: close\r\n", text))
        await writer.drain()
        return stays

    async def _answer(self, method: str, path: str, body: bytes) -> dict[str, Any]:
        if path == "/health":
            return {}
        if path != "/predict":
            raise Refused(HTTPStatus.NOT_FOUND, "POST /predict")
        if method != "POST":
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "POST /predict")
        output, batch = await self.batcher.submit(_row(body, self.elements))
        finite = [number if math.isfinite(number) else None for number in output]
        return {"output": finite, "batch": batch}


def _parsed(head: bytes) -> tuple[list[str], dict[str, str]]:
    """The first line's three words, and the fields."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(HTTPStatus.BAD_REQUEST, "no request of HTTP/1.1")
    pairs = (line.partition(":") for line in lines if line)
    return words, {name.lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    length = fields.get("content-length", "0")
    if "transfer-encoding" in fields or not (length.isascii() and length.isdigit()) \
            or len(length) > 7 or int(length) > MAX_BODY_BYTES:
        raise Refused(HTTPStatus.BAD_REQUEST, "no request with a length of at most 1 MB")
    try:
        return await reader.readexactly(int(length))
    except asyncio.IncompleteReadError:
        raise Refused(HTTPStatus.BAD_REQUEST, "the body is shorter than it said") from None


def _row(body: bytes, elements: int) -> Row:
    """The numbers of ``{"input": [...]}``."""
    try:
        found = json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        found = None
    row = found.get("input") if isinstance(found, dict) and len(found) == 1 else None
    if not isinstance(row, list) or len(row) != elements or not all(
            type(number) is float and abs(number) <= 3.4e38 for number in row):
        raise Refused(HTTPStatus.BAD_REQUEST, f"send {{'input': [{elements} numbers]}}")
    return row


async def serve(predict: Predict, elements: int, port: int, most: int, waiting: int) -> None:
    """Serve on the loopback until a signal comes."""
    batcher = Batcher(predict, most, waiting)
    service = Service(batcher, elements)
    ends = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ends.set)
    server = await asyncio.start_server(service.connected, "127.0.0.1", port,
                                        limit=MAX_HEAD_BYTES, backlog=1024)
    print(f"listening on port {server.sockets[0].getsockname()[1]}", flush=True)
    await ends.wait()
    server.close()
    await batcher.stop()
    await service.close()


def of_program(path: str) -> tuple[Predict, int]:
    """A saved program of one input and one output, and the numbers of a row."""
    import flambeau
    from flambeau import jit

    program = jit.freeze(jit.load(path))
    shape = tuple(int(size) for size in program.graph.inputs[0].shape[1:])

    def predict(rows: list[Row]) -> list[Row]:
        found: list[Row] = program(flambeau.tensor(rows).reshape(len(rows), *shape)).tolist()
        return found

    return predict, math.prod(shape)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve a saved program."""
    parser = argparse.ArgumentParser(description="A program behind HTTP.")
    parser.add_argument("program")
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free")
    parser.add_argument("--most", type=int, default=32, help="rows of a batch")
    parser.add_argument("--waiting", type=int, default=256, help="requests that may wait")
    given = parser.parse_args(argv)
    predict, elements = of_program(given.program)
    asyncio.run(serve(predict, elements, given.port, given.most, given.waiting))


if __name__ == "__main__":
    main()
