"""An actor-critic agent learns to balance a pole on a cart, by trying.

    python cartpole.py --out results

Eight carts of Gymnasium's CartPole run at once. The actor chooses pushes, the critic foretells how
long the pole will stay up, and the actor repeats what turned out better than foretold (Mnih et
al., "Asynchronous Methods for Deep Reinforcement Learning", 2016, without the threads; advantages
of Schulman et al., 2016). The longest game has 500 pushes, which is the highest return.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
from helpers import options, plot_curves, report, start
from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn, optim

DISCOUNT = 0.99
SMOOTHING = 0.98
SCALE = 20  # of gains: not their spread in a batch, for when no pole falls that is noise alone
CARTS = 8
LONGEST = 500


class Agent(nn.Module):
    """Two networks of the cart's position and speed and the pole's angle and speed."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
        )
        self.critic = nn.Sequential(
            nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def act(self, states: Tensor) -> Tensor:
        """A push to the left or right for each cart, at random as the actor's scores say."""
        return flambeau.multinomial(self.actor(states).softmax(dim=1), 1).squeeze(1)

    def foretell(self, states: Tensor) -> Tensor:
        """The discounted return from each state."""
        return self.critic(states).squeeze(-1)


class Steps(NamedTuple):
    """What happened, each of shape (steps, carts) but for the states (steps, carts, 4)."""

    states: Tensor
    pushes: Tensor
    rewards: Tensor
    ends: Tensor


class Carts:
    """Carts that begin again when a game ends, and the returns of the games that did."""

    def __init__(self, count: int, seed: int) -> None:
        self.games = [gymnasium.make("CartPole-v1") for _ in range(count)]
        self.states = [game.reset(seed=seed + i)[0] for i, game in enumerate(self.games)]
        self.lengths = [0] * count
        self.returns: list[float] = []

    def observe(self) -> Tensor:
        """The state of each cart."""
        return flambeau.tensor([state.tolist() for state in self.states])

    def push(self, agent: Agent, pushes: Sequence[int]) -> tuple[list[float], list[bool]]:
        """One step of each cart: its reward, and whether its game ended."""
        steps = [self._push(agent, i, push) for i, push in enumerate(pushes)]
        return [reward for reward, _ in steps], [end for _, end in steps]

    def _push(self, agent: Agent, i: int, push: int) -> tuple[float, bool]:
        state, reward, fallen, late, _ = self.games[i].step(push)
        self.lengths[i] += 1
        self.states[i] = state
        reward = float(reward)
        if late and not fallen:  # the clock ended the game, not the agent: it would have gone on
            reward += DISCOUNT * agent.foretell(flambeau.tensor(state.tolist())).item()
        if fallen or late:
            self.returns.append(float(self.lengths[i]))
            self.lengths[i] = 0
            self.states[i] = self.games[i].reset()[0]
        return reward, fallen or late


@flambeau.no_grad()
def play(agent: Agent, carts: Carts, count: int) -> Steps:
    """Some steps of all carts."""
    states, pushes, rewards, ends = [], [], [], []
    for _ in range(count):
        states.append(carts.observe())
        pushes.append(agent.act(states[-1]))
        reward, end = carts.push(agent, pushes[-1].tolist())
        rewards.append(reward)
        ends.append(end)
    return Steps(
        flambeau.stack(states),
        flambeau.stack(pushes),
        flambeau.tensor(rewards),
        flambeau.tensor(ends),
    )


def advantages(steps: Steps, values: Tensor, after: Tensor) -> Tensor:
    """How much better each step went than the critic foretold, smoothed over later steps."""
    going = 1 - steps.ends.float()
    following = flambeau.cat([values[1:], after.unsqueeze(0)])
    surprise = steps.rewards + DISCOUNT * going * following - values
    found, total = [], flambeau.zeros_like(after)
    for now, on in zip(reversed(surprise.unbind()), reversed(going.unbind()), strict=True):
        total = now + DISCOUNT * SMOOTHING * on * total
        found.append(total)
    return flambeau.stack(found[::-1])


def loss_of(agent: Agent, steps: Steps, last: Tensor) -> Tensor:
    """What to lessen: bad pushes, wrong foretelling, and certainty that comes too early."""
    values = agent.foretell(steps.states)
    with flambeau.no_grad():
        gain = advantages(steps, values, agent.foretell(last))
        targets = gain + values
    log_shares = agent.actor(steps.states).log_softmax(dim=-1)
    chosen = log_shares.gather(-1, steps.pushes.unsqueeze(-1)).squeeze(-1)
    doubt = -(log_shares.exp() * log_shares).sum(dim=-1).mean()
    wrong = nn.functional.smooth_l1_loss(values, targets)
    return -(chosen * gain).mean() / SCALE + 0.5 * wrong - 0.01 * doubt


def train(agent: Agent, carts: Carts, updates: int) -> list[float]:
    """Teach the agent, and return the mean return of games around every update."""
    optimizer = optim.Adam(agent.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=updates)
    history = []
    progress = tqdm(range(updates), desc="training", unit="update")
    for _ in progress:
        loss = loss_of(agent, play(agent, carts, 32), carts.observe())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        recent = carts.returns[-40:] or [0.0]
        history.append(sum(recent) / len(recent))
        progress.set_postfix(mean_return=f"{history[-1]:.1f}")
    return history


def evaluate(agent: Agent, seed: int) -> float:
    """The mean return of the first game of each of 40 carts."""
    ends = play(agent, Carts(40, seed), LONGEST).ends
    return (ends.int().argmax(dim=0) + 1).float().mean().item()


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, then play 40 games with what was learned."""
    parser = options("Learn to balance a pole.", "cartpole")
    parser.add_argument("--updates", type=int, default=500, help="steps of the optimizer")
    arguments = parser.parse_args(argv)
    began = start(arguments)

    agent = Agent()
    history = train(agent, Carts(CARTS, arguments.seed), arguments.updates)
    final = evaluate(agent, arguments.seed + 1000)

    curves = {"mean return of 40 games": history}
    plot_curves(arguments.out / "returns.png", "CartPole", "update", curves)
    return report({"return in training": history, "return in test": final}, began)


if __name__ == "__main__":
    main()
