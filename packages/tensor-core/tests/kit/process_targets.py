"""What child processes run: importable, as spawn and forkserver need it."""

import flambeau


def echo(requests, answers):
    """Send back what comes, after a tensor that is the first this process pickles."""
    answers.put(flambeau.arange(6).view(2, 3).t())
    for value in iter(requests.get, None):
        answers.put(value)


def echo_pipe(pipe):
    """The same through a pipe."""
    pipe.send(flambeau.arange(6).view(2, 3).t())
    while (value := pipe.recv()) is not None:
        pipe.send(value)


def apply(job):
    """A job of a pool: a function and its arguments."""
    function, *args = job
    return function(*args)
