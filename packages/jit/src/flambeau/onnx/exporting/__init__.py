"""Programs as ONNX: a table of functions, each of which writes one operator as nodes."""
