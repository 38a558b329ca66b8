"""What child processes run: importable, as spawn and forkserver need it."""

import flambeau


def halve(grad):
    """A hook of a module or tensor that can be pickled."""
    return grad / 2


def train(model, optimizer, answers):
    """A step in the child, on the model that came with the process's arguments."""
    loss = model(flambeau.ones(2, 3)).sum()
    loss.backward()
    optimizer.step()
    answers.put((model, optimizer, loss.detach()))
