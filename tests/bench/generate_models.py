#!/usr/bin/env python3
"""Writes the models of the benchmark.

    generate_models.py graph|denied|hubs|casts NODES OUT.onnx
    generate_models.py branches IFS OUT.onnx
    generate_models.py external|embedded OUT.onnx

The kinds of models:
  graph     a chain of blocks MatMul, Relu, Add, Softmax, so that every fourth node is denied; one weight per 100 blocks
  denied    one chain of denied operators
  branches  Ifs whose branches all read the graph's input
  hubs      thousands of norms, states and Softmax that meet in one value
  casts     users' casts of one value, and users' casts behind nodes of their own
  external  1 GiB of weights in OUT.onnx.data beside the model
  embedded  1.5 GB of weights inside the model file
"""

import sys

import numpy as np
import onnx

WIDTH = 2048  # of a large weight: 2048 x 2048 float32 values are 16 MiB


def new_model(name, width):
    model = onnx.ModelProto(ir_version=8, producer_name="bench")
    model.opset_import.add(domain="", version=17)
    graph = model.graph
    graph.name = name
    for values, value in ((graph.input, "x"), (graph.output, "y")):
        tensor = values.add(name=value).type.tensor_type
        tensor.elem_type = onnx.TensorProto.FLOAT
        tensor.shape.dim.add(dim_param="batch")
        tensor.shape.dim.add(dim_value=width)
    return model


def add_node(graph, op_type, inputs, output):
    graph.node.add(op_type=op_type, name="node_" + output, input=inputs, output=[output])


def graph_model(num_nodes, width=8):
    model = new_model(f"chain_{num_nodes}", width)
    graph, rng, value = model.graph, np.random.default_rng(1), "x"
    ops = ("MatMul", "Relu", "Add", "Softmax")
    for i in range(num_nodes):
        weight = i // 400
        if i % 400 == 0:
            for name, shape in ((f"w{weight}", [width, width]), (f"b{weight}", [width])):
                data = rng.normal(0, 0.3, shape).astype(np.float32).tobytes()
                graph.initializer.add(name=name, dims=shape, data_type=onnx.TensorProto.FLOAT, raw_data=data)
        op = ops[i % 4]
        extra = {"MatMul": [f"w{weight}"], "Add": [f"b{weight}"]}.get(op, [])
        output = "y" if i == num_nodes - 1 else f"v{i}"
        add_node(graph, op, [value, *extra], output)
        value = output
    return model


def denied_model(num_nodes, width=8):
    """One MatMul, one Softmax, and behind it a single chain of operators that its denial goes through."""
    model = new_model(f"denied_{num_nodes}", width)
    weight = np.eye(width, dtype=np.float32).tobytes()
    model.graph.initializer.add(name="w", dims=[width, width], data_type=onnx.TensorProto.FLOAT, raw_data=weight)
    add_node(model.graph, "MatMul", ["x", "w"], "m")
    add_node(model.graph, "Softmax", ["m"], "v0")
    for i in range(1, num_nodes - 1):
        add_node(model.graph, "Tanh", [f"v{i - 1}"], "y" if i == num_nodes - 2 else f"v{i}")
    return model


def branches_model(num_ifs, width=8):
    """One branch of each If multiplies, the other does not, and a Sum reads all of them."""
    model = new_model(f"branches_{num_ifs}", width)
    graph = model.graph
    graph.input.add(name="c").type.tensor_type.elem_type = onnx.TensorProto.BOOL
    graph.initializer.add(
        name="w",
        dims=[width, width],
        data_type=onnx.TensorProto.FLOAT,
        raw_data=np.eye(width, dtype=np.float32).tobytes(),
    )
    for i in range(num_ifs):
        node = graph.node.add(op_type="If", name=f"if_{i}", input=["c"], output=[f"v{i}"])
        for name, op_type, inputs in (("then_branch", "MatMul", ["x", "w"]), ("else_branch", "Relu", ["x"])):
            body = node.attribute.add(name=name, type=onnx.AttributeProto.GRAPH).g
            body.name = f"{name}_{i}"
            add_node(body, op_type, inputs, f"{name}_v{i}")
            body.output.add(name=f"{name}_v{i}").type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    add_node(graph, "Sum", [f"v{i}" for i in range(num_ifs)], "y")
    return model


def hubs_model(num_nodes, width=8):
    """Searches around thousands of nodes that all come through the same value."""
    model = new_model(f"hubs_{num_nodes}", width)
    graph, count = model.graph, num_nodes // 6

    def fan_in(op_type, inner_op, value, prefix):
        for i in range(count):
            add_node(graph, inner_op, [value], f"{prefix}{i}")
        add_node(graph, op_type, [f"{prefix}{i}" for i in range(count)], prefix)
        return prefix

    weight = np.eye(width, dtype=np.float32).tobytes()
    graph.initializer.add(name="w", dims=[width, width], data_type=onnx.TensorProto.FLOAT, raw_data=weight)
    add_node(graph, "MatMul", ["x", "w"], "m")
    norms = fan_in("Max", "ReduceL2", "m", "norm")
    value = fan_in("Sum", "Relu", norms, "bounded")
    exponentials = fan_in("Max", "Exp", value, "exponential")
    value = fan_in("Sum", "Log", exponentials, "logarithm")
    for i in range(count):
        add_node(graph, "Add", [value, "x"], f"state{i}")
        graph.output.add(name=f"state{i}").type.CopyFrom(graph.output[0].type)
    value = fan_in("Concat", "Softmax", value, "softmax")
    graph.node[-1].attribute.add(name="axis", type=onnx.AttributeProto.INT, i=0)
    for i in range(count):
        add_node(graph, "Identity", [value], f"same{i}" if i < count - 1 else "y")
        value = f"same{i}"
    return model


def casts_model(num_nodes, width=8):
    """Makes casts to float16 that a rewrite makes superfluous.

    Half of them read one value. The other half stand in pairs, each behind a MatMul of its own.
    """
    model = new_model(f"casts_{num_nodes}", width)
    graph, count = model.graph, num_nodes // 7

    def add_cast(value, output, to):
        add_node(graph, "Cast", [value], output)
        graph.node[-1].attribute.add(name="to", type=onnx.AttributeProto.INT, i=to)

    graph.initializer.add(
        name="w",
        dims=[width, width],
        data_type=onnx.TensorProto.FLOAT,
        raw_data=np.eye(width, dtype=np.float32).tobytes(),
    )
    add_node(graph, "MatMul", ["x", "w"], "hub")
    for i in range(count):
        add_cast("hub", f"narrow{i}", onnx.TensorProto.FLOAT16)
        add_node(graph, "Relu", [f"narrow{i}"], f"read{i}")
        add_node(graph, "Exp", ["hub"], f"high{i}")
        add_node(graph, "MatMul", ["x", "w"], f"own{i}")
        add_cast(f"own{i}", f"down{i}", onnx.TensorProto.FLOAT16)
        add_cast(f"down{i}", f"up{i}", onnx.TensorProto.FLOAT)
        add_node(graph, "Exp", [f"up{i}"], f"last{i}")
    add_node(graph, "Sum", [f"last{i}" for i in range(count)], "y")
    return model


def large_model(num_weights, attach):
    model = new_model(f"large_{num_weights}", WIDTH)
    value = "x"
    for i in range(num_weights):
        tensor = model.graph.initializer.add(name=f"w{i}", dims=[WIDTH, WIDTH], data_type=onnx.TensorProto.FLOAT)
        attach(tensor, i)
        add_node(model.graph, "MatMul", [value, f"w{i}"], f"m{i}")
        value = "y" if i == num_weights - 1 else f"r{i}"
        add_node(model.graph, "Relu", [f"m{i}"], value)
    return model


def main():
    kind, path = sys.argv[1], sys.argv[-1]
    if kind == "graph":
        model = graph_model(int(sys.argv[2]))
    elif kind == "denied":
        model = denied_model(int(sys.argv[2]))
    elif kind == "branches":
        model = branches_model(int(sys.argv[2]))
    elif kind == "hubs":
        model = hubs_model(int(sys.argv[2]))
    elif kind == "casts":
        model = casts_model(int(sys.argv[2]))
    elif kind not in ("embedded", "external"):
        sys.exit(__doc__)
    else:
        block = np.random.default_rng(2).normal(0, WIDTH**-0.5, WIDTH * WIDTH).astype(np.float32)
        if kind == "embedded":
            model = large_model(90, lambda tensor, i: setattr(tensor, "raw_data", np.roll(block, i).tobytes()))
        else:
            with open(path + ".data", "wb") as data:

                def attach(tensor, i):
                    tensor.data_location = onnx.TensorProto.EXTERNAL
                    entries = {"location": path.split("/")[-1] + ".data", "offset": data.tell(), "length": block.nbytes}
                    for key, entry in entries.items():
                        tensor.external_data.add(key=key, value=str(entry))
                    np.roll(block, i).tofile(data)

                model = large_model(64, attach)
    with open(path, "wb") as out:
        out.write(model.SerializeToString())


if __name__ == "__main__":
    main()
