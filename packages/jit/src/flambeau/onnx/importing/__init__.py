"""ONNX models as modules: ``flambeau.onnx.load``.

``reading``     a model's parts as the package onnx reads them; tensors of its files
``plan``        a graph as steps, subgraphs and functions included
``module``      the ``nn.Module`` that runs a plan
``values``      values that Python knows (sizes), and tensors
``table``       which function computes each operator; the other files fill the table
"""
