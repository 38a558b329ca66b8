"""The servers of the gallery under load on the loopback, and the same Python server with others.

    python benchmarks/serving.py [--seconds 5] [--rates 100,400,1600] [--server EXECUTABLE]

Requests are sent at fixed times, whether or not earlier ones were answered, and latency counts from
that time: a server that stalls is charged for all that it makes wait. Prints, for each server and
rate, how many were refused, latency percentiles, rows per batch, and the microseconds that the
server's processor worked for a request, which suffer least from other programs. The servers take
turns at each rate. Needs torch, safetensors and onnxruntime for theirs; EXECUTABLE is what
serving/CMakeLists.txt builds.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "integration-tests"), str(ROOT / "docs" / "tutorials" / "serving")]
CONNECTIONS, MOST = 64, 32
SHAPE = (1, 8, 8)


def prepare(folder):
    """Train the digits network; write it for each library. Rows to send."""
    import gallery

    import flambeau

    digits = gallery.load("digits", "flambeau", folder)
    digits.main(["--out", str(folder)])
    model = digits.make_model().eval()
    model.load_state_dict(flambeau.load(folder / "digits.safetensors"))
    x = flambeau.randn(2, *SHAPE)
    flambeau.onnx.export(model, x, folder / "digits.onnx", input_names=["images"],
                         dynamic_axes={"images": {0: "N"}})
    return digits.load_digits()[1].images.reshape(-1, 64).tolist()


def of_torch(folder):
    """The network in PyTorch."""
    import gallery
    import safetensors.torch
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scripts:
        model = gallery.load("digits", "torch", Path(scripts)).make_model().eval()
    model.load_state_dict(safetensors.torch.load_file(folder / "digits.safetensors"))

    def predict(rows):
        with torch.inference_mode():
            return model(torch.tensor(rows).reshape(-1, *SHAPE)).tolist()

    return predict


def of_onnxruntime(folder):
    """The network in onnxruntime."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "digits.onnx", options,
                                           providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def predict(rows):
        given = numpy.array(rows, numpy.float32).reshape(-1, *SHAPE)
        return session.run(None, {name: given})[0].tolist()

    return predict


def serve(library, folder):
    """Be the server, in a process of its own."""
    import server

    if library == "flambeau":
        import flambeau

        flambeau.set_num_threads(1)
        predict, _ = server.of_program(str(folder / "digits.program"))
    else:
        predict = {"torch": of_torch, "onnxruntime": of_onnxruntime}[library](folder)
    for count in range(1, MOST + 1):
        predict([[0.0] * 64] * count)
    asyncio.run(server.serve(predict, 64, 0, most=MOST, waiting=256))


class Client:
    """Connections that send what they are given, one request at a time each."""

    def __init__(self, port, rows):
        self.port = port
        self.bodies = [json.dumps({"input": row}).encode() for row in rows]
        self.latencies, self.batches, self.refused = [], [], 0

    async def run(self, rate, seconds):
        """Send requests at a rate for some seconds, and wait for the last."""
        self.queue = asyncio.Queue()
        workers = [asyncio.create_task(self._work()) for _ in range(CONNECTIONS)]
        loop = asyncio.get_running_loop()
        began = loop.time() + 0.1
        for number in range(int(rate * seconds)):
            due = began + number / rate
            if (left := due - loop.time()) > 0:
                await asyncio.sleep(left)
            self.queue.put_nowait((due, self.bodies[number % len(self.bodies)]))
        for _ in workers:
            self.queue.put_nowait(None)
        await asyncio.gather(*workers)

    async def _work(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while (job := await self.queue.get()) is not None:
            due, body = job
            writer.write(b"POST /predict HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s"
                         % (len(body), body))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            answer = json.loads(await reader.readexactly(length))
            if head.startswith(b"HTTP/1.1 200"):
                self.latencies.append(asyncio.get_running_loop().time() - due)
                self.batches.append(answer["batch"])
            else:
                self.refused += 1
        writer.close()


def worked(process):
    """Seconds that a process has worked."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(words, rows, rate, seconds):
    """A line of the table: a server is started, warmed, loaded and stopped."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline().split()[-1])
        asyncio.run(Client(port, rows).run(50, 1))
        client, before = Client(port, rows), worked(process)
        asyncio.run(client.run(rate, seconds))
        work = (worked(process) - before) / (rate * seconds) * 1e6
        process.terminate()
    found = sorted(client.latencies) or [float("nan")]
    percentiles = (found[int(len(found) * share)] * 1e3 for share in (0.5, 0.95, 0.99))
    texts = [f"{value:.2f}" for value in percentiles]
    batch = sum(client.batches) / max(len(client.batches), 1)
    return [str(client.refused), *texts, f"{batch:.1f}", f"{work:.0f}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rates", default="100,400,1600")
    parser.add_argument("--server", help="the server in C++, built")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve[0], Path(given.serve[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with contextlib.redirect_stdout(sys.stderr):
            rows = prepare(folder)
        libraries = [each for each in ("flambeau", "onnxruntime", "torch")
                     if importlib.util.find_spec(each)]
        servers = {f"Python, {each}": [sys.executable, __file__, "--serve", each, name]
                   for each in libraries}
        if given.server:
            servers = {"C++": [given.server, str(folder / "digits.program"), "0"], **servers}
        print("| requests a second | server | refused | p50 ms | p95 | p99 | rows a batch "
              "| µs of work |", "|---|---|---|---|---|---|---|---|", sep="\n")
        for rate in map(int, given.rates.split(",")):
            for kind, words in servers.items():
                line = measure(words, rows, rate, given.seconds)
                print(f"| {rate} | {kind} | {' | '.join(line)} |", flush=True)


if __name__ == "__main__":
    main()
