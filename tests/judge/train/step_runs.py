"""Runs step graphs: one step after the other in onnxruntime, or many at once in this project's executor.

A step graph lists its states in metadata_props["amp.state"]; whoever runs it feeds each output back to its input.
`Unrolled` writes several steps into one model, so that a program which runs a model once runs all of them.
"""

import json
import pathlib
import subprocess

import numpy as np
import onnx
import onnx.inliner
import onnxruntime


def states_of(model):
    entries = {entry.key: entry.value for entry in model.metadata_props}
    return json.loads(entries["amp.state"]), json.loads(entries["amp.step"])


def initial_states(model):
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {state["input"]: tensors[state["input"]] for state in states_of(model)[0]}


def forget_states(model):
    """Takes the list of states from a model whose states have other names now.

    The model remains a step, whose functions have kernels.
    """
    del model.metadata_props[:]
    model.metadata_props.add(key="amp.state", value="[]")


class Stepper:
    """A step graph in onnxruntime, functions inlined, without its optimisations."""

    def __init__(self, model):
        self.states, self.step = states_of(model)
        self.values = initial_states(model)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            onnx.inliner.inline_local_functions(model).SerializeToString(), options
        )
        self.outputs = [output.name for output in self.session.get_outputs()]

    def run(self, feeds):
        results = dict(zip(self.outputs, self.session.run(self.outputs, {**feeds, **self.values})))
        for state in self.states:
            self.values[state["input"]] = results[state["output"]]
        return results


class Unrolled:
    """`steps` steps of a graph in one; feeds are "name@0", "name@1" and so on, as are outputs."""

    def __init__(self, model, steps):
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        forget_states(self.model)
        graph, self.steps = self.model.graph, steps
        states, _ = states_of(model)
        source = model.graph
        constants = {tensor.name for tensor in source.initializer}
        following = {state["input"]: state["output"] for state in states}
        del graph.node[:], graph.input[:], graph.output[:], graph.value_info[:]
        for step in range(steps):
            names = {name: name for name in constants}
            names.update({name: f"{later}@{step - 1}" for name, later in following.items() if step > 0})
            local = lambda name: "" if not name else names.get(name, f"{name}@{step}")
            for info in source.input:
                if info.name not in constants:
                    copied = graph.input.add()
                    copied.CopyFrom(info)
                    copied.name = local(info.name)
            for node in source.node:
                copied = graph.node.add()
                copied.CopyFrom(node)
                copied.name = f"{node.name}@{step}"
                copied.input[:] = [local(name) for name in node.input]
                copied.output[:] = [f"{name}@{step}" if name else "" for name in node.output]
            for info in source.value_info:
                copied = graph.value_info.add()
                copied.CopyFrom(info)
                copied.name = f"{info.name}@{step}"
            for info in source.output:
                copied = graph.output.add()
                copied.CopyFrom(info)
                copied.name = f"{info.name}@{step}"

    def run(self, program, folder, feeds):
        """Returns for each step its outputs by name. Raises an error for a program that fails."""
        folder = pathlib.Path(folder)
        path, inputs, outputs = folder / "unrolled.onnx", folder / "inputs.npz", folder / "outputs.npz"
        onnx.save(self.model, path)
        np.savez(inputs, **{f"{name}@{step}": value for step, each in enumerate(feeds) for name, value in each.items()})
        outputs.unlink(missing_ok=True)
        done = subprocess.run(
            [program, path, "--inputs", inputs, "--outputs", outputs, "--threads", "1"],
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise RuntimeError(f"amp-run: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        arrays = np.load(outputs)
        results = [{} for _ in range(self.steps)]
        for name in arrays.files:
            value, step = name.rsplit("@", 1)
            results[int(step)][value] = arrays[name]
        return results
