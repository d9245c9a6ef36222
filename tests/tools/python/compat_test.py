"""The functions of other converters, against the originals where they are installed.

Signatures are read from the originals' sources. On real models, at least as many outputs are right as with the
originals: every result is run in ONNX Runtime, on the model's reference inputs.
"""

import ast
import importlib.util
import inspect
import os
import pathlib
import sys
import unittest
import warnings

import numpy as np
import onnx
import onnxruntime
from amp_rewrite import AmpWarning, compat, compat_onnxruntime, new_model

SHARED = pathlib.Path(os.environ.get("AMP_SHARED", pathlib.Path(__file__).resolve().parents[4] / "shared"))
ORIGINALS = [
    (compat.convert_float_to_float16, "onnxconverter_common.float16"),
    (compat.convert_float_to_float16_model_path, "onnxconverter_common.float16"),
    (compat.auto_convert_mixed_precision, "onnxconverter_common.auto_mixed_precision"),
    (compat_onnxruntime.convert_float_to_float16, "onnxruntime.transformers.float16"),
    (compat.convert_to_mixed_precision, "modelopt.onnx.autocast.convert"),
    (compat.convert_to_f16, "modelopt.onnx.autocast.convert"),
]
CONSTANTS = {"DEFAULT_DATA_MAX": 512, "DEFAULT_INIT_MAX": 65504.0}  # of modelopt


def source_of(module):
    """The source file of a module, without importing it or what it needs; None where it is not installed."""
    package, *rest = module.split(".")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    path = pathlib.Path(spec.submodule_search_locations[0]).joinpath(*rest).with_suffix(".py")
    return path if path.exists() else None


def parameters_of_source(path, function):
    """Names and defaults."""
    for item in ast.parse(path.read_text()).body:
        if isinstance(item, ast.FunctionDef) and item.name == function:
            names = [argument.arg for argument in item.args.args]
            defaults = [CONSTANTS.get(getattr(d, "id", "")) or ast.literal_eval(d) for d in item.args.defaults]
            return list(zip(names, [inspect.Parameter.empty] * (len(names) - len(defaults)) + defaults))
    raise AssertionError(f"{path} has no {function}")


def feeds_of(model):
    with np.load(SHARED / "models" / "refs" / f"{model.stem}.npz") as archive:
        return {name[4:]: archive[name] for name in archive.files if name.startswith("in::")}


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {value.name: value.type for value in session.get_inputs()}
    given = {
        name: x.astype("float16") if wanted.get(name) == "tensor(float16)" else x
        for name, x in feeds.items()
        if name in wanted
    }
    return session.run(None, given)


def is_right(expected, found):
    for a, b in zip(expected, found):
        if not isinstance(a, np.ndarray) or a.dtype.kind != "f":
            continue
        a, b = a.astype("float64"), b.astype("float64")
        finite = np.isfinite(a)
        if a.shape != b.shape or not np.isfinite(b[finite]).all():
            return False
        if np.linalg.norm(b[finite] - a[finite]) > 0.02 * np.linalg.norm(a[finite]) + 1e-6:
            return False
    return True


class Signatures(unittest.TestCase):
    def test_are_those_of_the_originals(self):
        for ours, module in ORIGINALS:
            path = source_of(module)
            with self.subTest(function=f"{module}.{ours.__name__}"):
                if path is None:
                    self.skipTest(f"{module.split('.')[0]} is not installed")
                own = [(p.name, p.default) for p in inspect.signature(ours).parameters.values()]
                self.assertEqual(own, parameters_of_source(path, ours.__name__))


class Converting(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", AmpWarning)
        self.addCleanup(warnings.resetwarnings)
        self.model = onnx.load_from_string(new_model("mlp", [8, 16, 4]))
        self.x = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
        self.expected = run(self.model, {"x": self.x})

    def types(self, model):
        values = (*model.graph.input, *model.graph.output)
        return {value.name: value.type.tensor_type.elem_type for value in values}

    def test_inputs_and_outputs(self):
        kept = compat.convert_float_to_float16(self.model, keep_io_types=True)
        self.assertEqual(set(self.types(kept).values()), {1})
        low = compat.convert_float_to_float16(self.model, op_block_list=["Gemm", "Softmax", "Relu"])
        self.assertEqual(set(self.types(low).values()), {10})  # although nothing in it is
        onnx.checker.check_model(low, full_check=True)
        self.assertTrue(is_right(self.expected, run(low, {"x": self.x})))
        some = compat_onnxruntime.convert_float_to_float16(self.model, keep_io_types=["x"])
        self.assertEqual(self.types(some), {"x": 1, "probabilities": 10})
        brain = compat.convert_to_f16(self.model, low_precision_type="bf16", keep_io_types=False)
        self.assertEqual(set(self.types(brain).values()), {16})

    def test_inputs_and_outputs_of_odd_graphs(self):
        def check(text, feeds, opsets=None):
            model = onnx.parser.parse_model(text)
            low = compat.low_inputs_and_outputs(onnx.parser.parse_model(text), 10)
            onnx.checker.check_model(low, full_check=True)
            found, expected = run(low, feeds), run(model, feeds)
            for a, b in zip(found, expected):
                np.testing.assert_allclose(a.astype("float32"), b, atol=0.01)

        x = np.array([0.5, -1.0], "float32")
        head = '<ir_version: 8, opset_import: ["" : 17]>'
        # an input that is an output
        check(head + "g (float[2] x) => (float[2] x, float[2] y) { y = Relu (x) }", {"x": x})
        # a name that a cast would have had
        check(head + "g (float[2] x) => (float[2] y) { x_amp_float32 = Neg (x) y = Relu (x_amp_float32) }", {"x": x})
        # outer values in a body, and a body's own value of an output's name
        body = """g (float[2] x, bool c) => (float[2] y, float[2] z) {
          y = If (c) <then_branch = t () => (float[2] p) { p = Neg (x) },
                      else_branch = e () => (float[2] q) { r = Relu (x) q = Add (r, x) }>
          z = Add (y, x) }"""
        for c in (True, False):
            check(head + body, {"x": x, "c": np.array(c)})
        loop = """g (float[2] x, int64 n, bool c) => (float[2] y) {
          y = Loop (n, c, x) <body = b (int64 i, bool d, float[2] v) => (bool e, float[2] w) {
            e = Identity (d) w = Add (v, x) }> }"""
        check(head + loop, {"x": x, "n": np.array(3), "c": np.array(True)})
        # Cast took names of types; ONNX Runtime does not run it any more
        old = '<ir_version: 4, opset_import: ["" : 5]>g (float[2] x) => (float[2] y) { y = Relu (x) }'
        onnx.checker.check_model(compat.low_inputs_and_outputs(onnx.parser.parse_model(old), 10), full_check=True)

    def test_blocks(self):
        def low_gemms(model):
            halves = {t.name for t in model.graph.initializer if t.data_type == 10}
            return sorted(n.name for n in model.graph.node if n.op_type == "Gemm" and halves & set(n.input))

        self.assertEqual(len(low_gemms(compat.convert_float_to_float16(self.model))), 2)
        blocked = compat.convert_float_to_float16(self.model, node_block_list=["dense_1", "no such node"])
        self.assertEqual(low_gemms(blocked), ["dense_2"])
        blocked = compat.convert_float_to_float16(self.model, op_block_list=["Gemm", "NoSuchOperator"])
        self.assertEqual(low_gemms(blocked), [])

    def test_models_that_are_float16_already(self):
        low = compat.convert_float_to_float16(self.model)
        with self.assertRaises(ValueError):
            compat.convert_float_to_float16(low)
        compat.convert_float_to_float16(low, check_fp16_ready=False)

    def test_what_has_no_effect_is_said(self):
        for call in (
            lambda: compat.convert_float_to_float16(self.model, max_finite_val=100),
            lambda: compat.convert_float_to_float16(self.model, disable_shape_infer=True),
            lambda: compat_onnxruntime.convert_float_to_float16(self.model, force_fp16_initializers=True),
            lambda: compat.convert_to_f16(self.model, tensor_block_dict={"Gemm": {"inp": [0]}}),
        ):
            with self.assertWarns(AmpWarning):
                call()
        with warnings.catch_warnings():
            warnings.simplefilter("error", AmpWarning)
            compat.convert_float_to_float16(self.model)

    def test_searching(self):
        feeds = {"x": self.x}
        found = compat.auto_convert_mixed_precision(self.model, feeds, rtol=0.1, atol=0.01, keep_io_types=True)
        self.assertTrue(is_right(self.expected, run(found, feeds)))
        exact = compat.auto_convert_mixed_precision(
            self.model, feeds, lambda a, b: all(np.allclose(p, q, 1e-6, 1e-7) for p, q in zip(a, b)), keep_io_types=True
        )
        np.testing.assert_allclose(run(exact, feeds)[0], self.expected[0], 1e-5, 1e-6)
        with self.assertRaises(ValueError):
            compat.auto_convert_mixed_precision(self.model, feeds)
        with self.assertRaises(ValueError):
            compat.auto_convert_mixed_precision(self.model, feeds, lambda a, b: False)


class RealModels(unittest.TestCase):
    def test_as_many_are_right_as_with_the_originals(self):
        models = sorted((SHARED / "models").glob("*.onnx"), key=lambda path: path.stat().st_size)
        models = [path for path in models if (SHARED / "models" / "refs" / f"{path.stem}.npz").exists()][:20]
        if not models:
            print(f"SKIPPED: no models in {SHARED} (set AMP_SHARED): NOTHING WAS RUN", file=sys.stderr)
            self.skipTest("no real models")
        from onnxruntime.transformers.float16 import convert_float_to_float16 as of_onnxruntime

        originals = {"onnxruntime": (of_onnxruntime, compat_onnxruntime.convert_float_to_float16)}
        if importlib.util.find_spec("onnxconverter_common"):
            from onnxconverter_common.float16 import convert_float_to_float16 as of_common

            originals["onnxconverter_common"] = (of_common, compat.convert_float_to_float16)
        warnings.simplefilter("ignore")
        for name, (theirs, ours) in originals.items():
            right = {"theirs": [], "ours": []}
            for path in models:
                feeds = feeds_of(path)
                expected = run(onnx.load(path), feeds)
                for whose, convert in (("theirs", theirs), ("ours", ours)):
                    try:
                        if is_right(expected, run(convert(onnx.load(path), keep_io_types=True), feeds)):
                            right[whose].append(path.stem)
                    except Exception:  # a result that does not run is not right
                        continue
            lost = set(right["theirs"]) - set(right["ours"])
            print(f"{name}: {len(right['theirs'])} of {len(models)} right, here {len(right['ours'])}", file=sys.stderr)
            self.assertGreaterEqual(len(right["ours"]), len(right["theirs"]), f"lost: {lost}")


if __name__ == "__main__":
    unittest.main()
