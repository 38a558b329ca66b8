"""Programs as graphs of Python calls: record, look through, rewrite, run.

``symbolic_trace`` runs a module with proxies in place of tensors and returns a `GraphModule`,
whose ``graph`` lists what was called and whose ``code`` is that as Python. Names and meaning are
those of PyTorch's ``torch.fx``.
"""

from __future__ import annotations

from flambeau.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from flambeau.fx.graph import CodeGen, Graph
from flambeau.fx.graph_module import GraphModule
from flambeau.fx.interpreter import Interpreter, Transformer
from flambeau.fx.node import Node, has_side_effect, map_arg
from flambeau.fx.proxy import Proxy
from flambeau.fx.subgraph_rewriter import replace_pattern

__all__ = ["PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy",
           "ProxyableClassMeta", "Tracer", "Transformer", "has_side_effect", "map_arg",
           "replace_pattern", "symbolic_trace", "wrap"]
