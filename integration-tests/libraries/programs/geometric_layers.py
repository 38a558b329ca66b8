"""torch-geometric without its compiled extensions: layers on edges, dense and sparse matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch_geometric as pyg
from torch_geometric import nn
from worker import fill, gradients, numbers

EDGES = torch.tensor([[0, 1, 2, 3, 0, 4, 2], [1, 2, 3, 0, 2, 0, 4]])
LAYERS = {
    "gcn": lambda: nn.GCNConv(4, 3), "gat": lambda: nn.GATConv(4, 3, heads=2),
    "gatv2": lambda: nn.GATv2Conv(4, 3, heads=2), "sage": lambda: nn.SAGEConv(4, 3),
    "gin": lambda: nn.GINConv(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())),
    "graph": lambda: nn.GraphConv(4, 3, aggr="max"), "cheb": lambda: nn.ChebConv(4, 3, K=2),
    "tag": lambda: nn.TAGConv(4, 3), "arma": lambda: nn.ARMAConv(4, 3),
    "sg": lambda: nn.SGConv(4, 3, K=2), "gated": lambda: nn.GatedGraphConv(4, 2),
    "transformer": lambda: nn.TransformerConv(4, 3), "pna": lambda: nn.PNAConv(
        4, 3, ["mean", "max", "std"], ["identity", "amplification"],
        deg=torch.tensor([0, 3, 2])),
    "edge": lambda: nn.EdgeConv(torch.nn.Linear(8, 3)), "cluster": lambda: nn.ClusterGCNConv(4, 3),
    "general": lambda: nn.GeneralConv(4, 3), "film": lambda: nn.FiLMConv(4, 3),
    "le": lambda: nn.LEConv(4, 3), "mf": lambda: nn.MFConv(4, 3),
    "super": lambda: nn.SuperGATConv(4, 3),
}
SPARSE = ("gcn", "gat", "sage", "gin", "graph", "tag", "sg", "gatv2", "cluster", "film")


def layer(name: str, form: str) -> Any:
    """What a layer gives, and gradients."""
    torch.manual_seed(2)
    made = fill(LAYERS[name]()).eval()
    x = numbers(5, 4).requires_grad_()
    edges: Any = EDGES
    if form == "sparse":
        edges = torch.sparse_coo_tensor(EDGES.flip(0), torch.ones(7), (5, 5)).coalesce()
    elif form == "csr":
        edges = torch.sparse_coo_tensor(EDGES.flip(0), torch.ones(7), (5, 5)).to_sparse_csr()
    found = made(x, edges)
    (found * numbers(*found.shape, seed=4)).sum().backward()
    return found, x.grad, gradients(made)


def dense() -> Any:
    """Layers of whole matrices."""
    links = pyg.utils.to_dense_adj(EDGES)
    x = numbers(1, 5, 4)
    made = [fill(each) for each in (nn.DenseGCNConv(4, 3), nn.DenseSAGEConv(4, 3),
                                    nn.DenseGATConv(4, 3, heads=2))]
    pooled = nn.dense_diff_pool(x, links, numbers(1, 5, 2))
    return [each(x, links) for each in made], pooled, nn.dense_mincut_pool(x, links,
                                                                          numbers(1, 5, 2))


def graphs(count: int = 6) -> list[Any]:
    return [pyg.data.Data(x=numbers(5, 4, seed=i), edge_index=EDGES, y=torch.tensor([i % 2]))
            for i in range(count)]


class Network(torch.nn.Module):
    """Two layers and one number per graph."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.GCNConv(4, 8), nn.GraphNorm(8)
        self.second, self.last = nn.GATConv(8, 8), torch.nn.Linear(16, 2)

    def forward(self, batch: Any) -> Any:
        x = self.norm(self.first(batch.x, batch.edge_index), batch.batch).relu()
        x = self.second(x, batch.edge_index)
        return self.last(torch.cat([nn.global_mean_pool(x, batch.batch),
                                    nn.global_max_pool(x, batch.batch)], 1))


def trained() -> Any:
    """Batches of graphs, and training."""
    torch.manual_seed(1)
    model = fill(Network())
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(3):
        for batch in pyg.loader.DataLoader(graphs(), 3, shuffle=True):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses, gradients(model)


def helpers() -> Any:
    """Functions of edges."""
    looped, _ = pyg.utils.add_self_loops(EDGES)
    batch = pyg.data.Batch.from_data_list(graphs(3))
    return [looped, pyg.utils.degree(EDGES[0]), pyg.utils.to_undirected(EDGES),
            pyg.utils.coalesce(EDGES), pyg.utils.softmax(numbers(7), EDGES[0]),
            pyg.utils.scatter(numbers(7, 2), EDGES[0], reduce="mean"), batch.ptr, batch.batch,
            pyg.utils.subgraph([0, 1, 2], EDGES)[0], pyg.utils.k_hop_subgraph(0, 1, EDGES)[0],
            pyg.utils.get_laplacian(EDGES, normalization="sym"), batch[1].x,
            pyg.transforms.Compose([pyg.transforms.ToUndirected(), pyg.transforms.AddSelfLoops()])(
                graphs(1)[0]).edge_index,
            pyg.utils.to_dense_batch(batch.x, batch.batch), nn.TopKPooling(4).select.weight.shape]


def models() -> Any:
    """Whole networks of the library's."""
    x = numbers(5, 4)
    made = [nn.GCN(4, 8, 2, 3), nn.GraphSAGE(4, 8, 2, 3), nn.GIN(4, 8, 2, 3), nn.GAT(4, 8, 2, 3)]
    return [fill(each).eval()(x, EDGES) for each in made]


def hetero() -> Any:
    """Nodes of two kinds."""
    data = {"a": numbers(5, 4), "b": numbers(5, 3)}
    links = {("a", "to", "b"): EDGES, ("b", "of", "a"): EDGES.flip(0)}
    made = fill(nn.HeteroConv({("a", "to", "b"): nn.SAGEConv((4, 3), 2),
                               ("b", "of", "a"): nn.SAGEConv((3, 4), 2)}))
    return made(data, links)


CASES = {**{f"edges {name}": partial(layer, name, "edges") for name in LAYERS},
         **{f"sparse {name}": partial(layer, name, "sparse") for name in SPARSE},
         **{f"csr {name}": partial(layer, name, "csr") for name in SPARSE},
         **{each.__name__: each for each in (dense, trained, helpers, models, hetero)}}
