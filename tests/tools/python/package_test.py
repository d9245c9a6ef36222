"""Tests of the Python package: python -m unittest package_test, with the package and the library found.

The environment variable AMP_REWRITE_LIBRARY names a library to test; without it the one in the package is taken.
"""

import copy
import doctest
import gc
import importlib
import json
import os
import pathlib
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import amp_rewrite as amp
import numpy as np

SHARED = pathlib.Path(os.environ.get("AMP_SHARED", pathlib.Path(__file__).resolve().parents[4] / "shared"))
MODULES = ["", "._rewrite", "._session", "._trainer", "._policy"]


def mlp(layers=(8, 16, 4)):
    return amp.new_model("mlp", list(layers))


def named(node):
    import onnx

    return onnx.helper.make_model(
        onnx.helper.make_graph(
            [node],
            "g",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n"])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n"])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )


class Docs(unittest.TestCase):
    def test_examples_of_docstrings(self):
        tried = 0
        for module in MODULES:
            found = doctest.testmod(importlib.import_module("amp_rewrite" + module), optionflags=doctest.ELLIPSIS)
            self.assertEqual(found.failed, 0, module)
            tried += found.attempted
        self.assertGreater(tried, 20)

    def test_everything_public_has_a_docstring(self):
        for name in amp.__all__:
            thing = getattr(amp, name)
            self.assertTrue(thing.__doc__, name)
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if callable(value) and not member.startswith("_"):
                    self.assertTrue(value.__doc__, f"{name}.{member}")


class Types(unittest.TestCase):
    def test_option_types_are_those_of_the_flags(self):
        maker = pathlib.Path(__file__).resolve().parents[3] / "tools" / "python" / "make_option_types.py"
        run = f"import runpy; runpy.run_path({str(maker)!r}, run_name='__main__')"  # not with the package beside it
        made = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True).stdout
        types = pathlib.Path(amp.__file__).with_name("_option_types.py")
        self.assertEqual(made, types.read_text(), "python tools/python/make_option_types.py makes it")


class Import(unittest.TestCase):
    def test_importing_loads_nothing_heavy(self):
        code = (
            "import sys, amp_rewrite; print([m for m in ('numpy', 'onnx', 'ml_dtypes', 'torch') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")

    def test_beside_other_packages_in_any_order(self):
        others = [name for name in ("onnx", "onnxruntime", "torch", "tensorflow") if importlib.util.find_spec(name)]
        use = "import numpy; m = amp_rewrite.new_model('mlp', [4, 2]); r = amp_rewrite.rewrite(m); "
        use += "amp_rewrite.Session(r.model).run(None, {'x': numpy.zeros((1, 4), 'f4')}); "
        check = "import onnx; onnx.checker.check_model(onnx.load_from_string(r.model)); "
        for other in others:
            for order in (f"import {other}, amp_rewrite; ", f"import amp_rewrite, {other}; "):
                with self.subTest(order=order):
                    subprocess.run([sys.executable, "-c", order + use + check], check=True)


class Rewrite(unittest.TestCase):
    def test_gives_the_kind_that_was_given(self):
        import onnx

        data = mlp()
        proto = onnx.load_from_string(data)
        self.assertIs(type(amp.rewrite(data).model), bytes)
        self.assertIs(type(amp.rewrite(bytearray(data)).model), bytes)
        rewritten = amp.rewrite(proto).model
        self.assertIs(type(rewritten), onnx.ModelProto)
        self.assertEqual(rewritten.SerializeToString(deterministic=True), amp.rewrite(data).model)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "m.onnx"
            path.write_bytes(data)
            self.assertEqual(amp.rewrite(path).model, amp.rewrite(data).model)
            self.assertEqual(amp.rewrite(str(path)).model, amp.rewrite(data).model)

    def test_gives_an_onnx_ir_model(self):
        try:
            import onnx_ir
        except ImportError:
            self.skipTest("onnx_ir is not installed")
        import onnx

        model = onnx_ir.serde.deserialize_model(onnx.load_from_string(mlp()))
        self.assertIsInstance(amp.rewrite(model).model, onnx_ir.Model)

    def test_options_are_the_flags(self):
        report = amp.rewrite(mlp(), deny=["Softmax"], deny_node="dense_1*", dtype=np.float16).report
        types = {node["path"]: node["low"] for node in report["nodes"]}
        self.assertFalse(types["dense_1"])
        self.assertTrue(types["dense_2"])
        self.assertEqual(amp.rewrite(mlp(), policy=amp.Policy("mixed_bfloat16")).report["dtype"], "bfloat16")
        self.assertEqual(amp.rewrite(mlp(), keep_io=["x"], limits={"nodes": 100}).changed, True)
        self.assertEqual(amp.rewrite(mlp(), keep_io=False, verify=False, follow=None).changed, True)
        self.assertIn("max_nodes", amp._options.schema("rewrite"))
        freed = amp.rewrite(mlp(), dims={"batch": 3}, verify=True)
        self.assertIn("verified", freed.verification)

    def test_options_that_are_wrong(self):
        for options, error, words in [
            ({"denny": ["Softmax"]}, TypeError, "did you mean 'deny'"),
            ({"dtype": "float17"}, amp.OptionError, "--dtype: expected float16|bfloat16|auto, found 'float17'"),
            ({"deny": [object()]}, TypeError, "deny: expected a text"),
            ({"strict": "yes"}, amp.OptionError, "'strict': expected true or false"),
            ({"dtype": ["float16"]}, amp.OptionError, "'dtype': expected one value"),
            ({"dim": "x"}, TypeError, "dim: expected a dict"),
            ({"deny": ""}, amp.OptionError, "--deny: expected a value"),
            ({"output": "x.onnx"}, TypeError, "output"),
            ({"max_nodes": 1}, amp.LimitError, "nodes"),
            ({"in_place": True}, amp.OptionError, "in_place is about files"),
            ({"dry_run": True}, amp.OptionError, "dry_run is about files"),
            ({"fp16": True}, TypeError, "--dtype"),
            ({"max_weight_error": float("nan")}, ValueError, "max_weight_error: expected a finite number"),
            ({"max_nodes": 10**400}, ValueError, "max_nodes: expected a number of 64 bits"),
            ({"lists": "/tmp/\udcff"}, ValueError, "lists: expected a text in UTF-8"),
            ({"limits": 3}, TypeError, "limits: expected a dict"),
            ({"calibration": 3}, TypeError, "calibration: expected samples"),
            ({"progress": 3}, TypeError, "progress: expected a callable"),
            ({"loss": "mse"}, amp.OptionError, "--loss"),
            ({"report": "r.json"}, amp.OptionError, "--report"),
            ({"profile": "nope"}, amp.OptionError, "nope"),
        ]:
            with self.subTest(options=options), self.assertRaises(error) as caught:
                amp.rewrite(mlp(), **options)
            self.assertIn(words, str(caught.exception))

    def test_models_that_are_none(self):
        for model, error in [
            (b"", amp.ModelError),
            (b"abc", amp.ModelError),
            ("/no/such.onnx", amp.FileError),
            ("/", amp.AmpError),
            (3, TypeError),
            (None, TypeError),
            ("a\0b", ValueError),
        ]:
            with self.subTest(model=model), self.assertRaises(error):
                amp.rewrite(model)

    def test_samples_may_be_arrays_and_paths(self):
        x = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sample.npz"
            np.savez(path, x=x)
            by_path = amp.rewrite(mlp(), calibration=str(path)).model
            by_array = amp.rewrite(mlp(), calibration=[{"x": x}]).model
            self.assertEqual(by_path, by_array)
            self.assertIn("verified", amp.rewrite(mlp(), verify={"x": x}).verification)
            model = pathlib.Path(folder) / "m.onnx"
            model.write_bytes(mlp())
            ranges = amp.observe_ranges(model, {"x": x})
            (pathlib.Path(folder) / "r.json").write_text(json.dumps(ranges))
            self.assertEqual(amp.rewrite(mlp(), ranges=pathlib.Path(folder) / "r.json").model, by_array)

    def test_verification_fails(self):
        import onnx

        model = named(onnx.helper.make_node("Exp", ["x"], ["y"]))
        options = {"level": "unsafe-force-all", "guards": "none", "tolerance": 1e-9}
        with self.assertRaises(amp.VerificationError) as caught:
            amp.rewrite(model, verify={"x": np.ones(3, "float32")}, **options)
        self.assertIn("output 'y'", str(caught.exception))
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            amp.rewrite(model, **options)
        self.assertTrue(any(issubclass(note.category, amp.AmpWarning) for note in noted))
        self.assertEqual({os.path.basename(note.filename) for note in noted}, {os.path.basename(__file__)})

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "o.onnx"
            source.write_bytes(mlp())
            steps = []
            summary = amp.rewrite_file(source, target, progress=lambda step, done, total: steps.append(step))
            self.assertIn("Converted", summary.line)
            self.assertEqual(target.read_bytes(), amp.rewrite(mlp()).model)
            self.assertIn("load", steps)
            self.assertIn("write", steps)
            with self.assertRaises(amp.RefusedError):
                amp.rewrite_file(source, source)
            self.assertEqual(source.read_bytes(), mlp())
            dry = amp.rewrite_file(source, dry_run=True)
            self.assertTrue(dry.changed)
            result = amp.rewrite(source)
            result.save(pathlib.Path(folder) / "saved.onnx")
            with self.assertRaises(amp.RefusedError):
                result.save(source)
            (pathlib.Path(folder) / "notes.txt").write_text("notes")
            with self.assertRaises(amp.RefusedError):
                result.save(pathlib.Path(folder) / "notes.txt")
            self.assertEqual((pathlib.Path(folder) / "notes.txt").read_text(), "notes")
            result.save(pathlib.Path(folder) / "notes.txt", force=True)
            with self.assertRaises(amp.FileError):
                result.save(pathlib.Path(folder) / "none" / "m.onnx")

    def test_callbacks(self):
        class Mine(Exception):
            pass

        def fail(step, done, total):
            raise Mine(step)

        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "o.onnx"
            source.write_bytes(mlp())
            with self.assertRaises(Mine):
                amp.rewrite_file(source, target, progress=fail)
            with self.assertRaises(amp.CancelledError):
                amp.rewrite_file(source, target, progress=lambda *_: False)
            self.assertEqual(sorted(os.listdir(folder)), ["m.onnx"])
        self.assertTrue(amp.rewrite(mlp()).changed)  # the callback is gone

    def test_callbacks_may_use_the_package(self):
        seen = []

        def nested(step, done, total):
            session = amp.Session(mlp(), threads=1)
            session.run(None, session.random_inputs())
            seen.append(amp.rewrite(mlp(), verify=False, progress=lambda *_: None).changed)

        self.assertTrue(amp.rewrite(mlp(), progress=nested).changed)
        self.assertGreater(len(seen), 3)

    def test_false_switches_off(self):
        self.assertEqual(amp.rewrite(mlp(), verify=False).verification, "")
        amp.rewrite(mlp(), scale_weights=False)

    def test_edits_of_the_model_are_saved(self):
        import onnx

        result = amp.rewrite(onnx.load_from_string(mlp()))
        result.model.graph.name = "edited"
        with tempfile.TemporaryDirectory() as folder:
            result.save(pathlib.Path(folder) / "m.onnx")
            self.assertEqual(onnx.load(pathlib.Path(folder) / "m.onnx").graph.name, "edited")

    def test_results_can_be_pickled_and_sessions_cannot(self):
        import onnx

        result = pickle.loads(pickle.dumps(amp.rewrite(onnx.load_from_string(mlp()))))
        self.assertIsInstance(result.model, onnx.ModelProto)
        self.assertTrue(amp.rewrite(result).model)
        for thing in (amp.Session(mlp()), amp.Trainer(amp.training_step(mlp()))):
            for copy_of in (copy.deepcopy, pickle.dumps):
                with self.assertRaises(TypeError):
                    copy_of(thing)

    def test_kinds_of_models_that_are_none(self):
        for arguments in (("--help",), ("mlp", "--version"), ("cnn", "--force"), ("mlp", "4")):
            with self.subTest(arguments=arguments), self.assertRaises(amp.OptionError):
                amp.new_model(*arguments)

    def test_names_with_commas(self):
        import onnx

        model = named(onnx.helper.make_node("Relu", ["x,1"], ["y"]))
        model.graph.input[0].name = "x,1"
        kept = amp.rewrite(model, keep_io=["x,1"], level="unsafe-force-all").model
        self.assertEqual(kept.graph.input[0].type.tensor_type.elem_type, 1)

    def test_a_file_that_is_missing(self):
        with self.assertRaises(FileNotFoundError):
            amp.rewrite("/no/such.onnx")

    def test_what_is_shown(self):
        result = amp.rewrite(mlp(), deny=["Relu"])
        self.assertIn("Converted", repr(result))
        self.assertIn("dense_1", result.explain())
        page = result._repr_html_()
        self.assertIn("<table>", page)
        self.assertIn("Relu", page)

    def test_lists_and_policies(self):
        self.assertIn("MatMul", amp.print_lists(dtype="bfloat16"))
        self.assertIn("tf-1.15", amp.list_profiles())
        self.assertEqual(amp.Policy("float32").variable_dtype, "float32")
        self.assertIn("Mixed precision compatibility check", amp.check_compatibility("float16"))
        with self.assertRaises(amp.OptionError):
            amp.Policy("mixed_int8")


class RealModels(unittest.TestCase):
    def test_files_and_bytes_are_those_of_the_program(self):
        program = shutil.which("amp-rewrite")
        models = sorted((SHARED / "models").glob("*.onnx"))
        if program is None or not models:
            print(f"SKIPPED: no amp-rewrite on the PATH or no models in {SHARED}: NOTHING WAS RUN", file=sys.stderr)
            self.skipTest("no program or no models")
        warnings.simplefilter("ignore", amp.AmpWarning)
        self.addCleanup(warnings.resetwarnings)
        for model in models:
            for dtype in ("float16", "bfloat16"):
                with self.subTest(model=model.name, dtype=dtype), tempfile.TemporaryDirectory() as folder:
                    by_program, by_file = pathlib.Path(folder) / "p.onnx", pathlib.Path(folder) / "f.onnx"
                    words = [program, str(model), "-o", str(by_program), "--dtype", dtype, "--verify=off", "--quiet"]
                    subprocess.run(words, check=True, capture_output=True)
                    amp.rewrite_file(model, by_file, dtype=dtype, verify="off")
                    expected = by_program.read_bytes()
                    self.assertEqual(by_file.read_bytes(), expected)
                    self.assertEqual(amp.rewrite(model, dtype=dtype, verify="off").model, expected)
                    self.assertEqual(amp.rewrite(model.read_bytes(), dtype=dtype, verify="off").model, expected)


class Running(unittest.TestCase):
    def test_as_onnxruntime_does(self):
        session = amp.Session(mlp(), threads=1)
        [x], [y] = session.get_inputs(), session.get_outputs()
        self.assertEqual((x.name, x.type, x.shape), ("x", "tensor(float)", ["batch", 8]))
        data = np.random.default_rng(0).normal(size=(5, 8)).astype("float32")
        [found] = session.run(None, {"x": data})
        [again] = session.run([y.name], {"x": np.asfortranarray(data)})
        np.testing.assert_array_equal(found, again)
        np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
        found[:] = 0  # the caller's own
        np.testing.assert_array_equal(session.run(None, {"x": data})[0], again)
        self.assertEqual(session.device, "cpu")

    def test_types(self):
        import ml_dtypes
        import onnx

        numbers = onnx.TensorProto.DataType
        for number, dtype in [
            (numbers.FLOAT, "float32"),
            (numbers.DOUBLE, "float64"),
            (numbers.FLOAT16, "float16"),
            (numbers.BFLOAT16, ml_dtypes.bfloat16),
            (numbers.INT64, "int64"),
            (numbers.UINT8, "uint8"),
            (numbers.BOOL, "bool"),
            (numbers.COMPLEX64, "complex64"),
            (numbers.FLOAT8E5M2, ml_dtypes.float8_e5m2),
            (numbers.INT4, ml_dtypes.int4),
        ]:
            node = onnx.helper.make_node("Identity", ["x"], ["y"])
            values = [onnx.helper.make_tensor_value_info(name, number, ["n", "m"]) for name in "xy"]
            graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
            session = amp.Session(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)]))
            for shape in [(2, 3), (0, 3), (300, 300)]:
                with self.subTest(dtype=dtype, shape=shape):
                    x = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)
                    x = x if x.dtype.kind in "bu" else (-x).astype(x.dtype)
                    [y] = session.run(None, {"x": x})
                    self.assertEqual(y.dtype, x.dtype)
                    np.testing.assert_array_equal(x, y)
                    self.assertFalse(np.shares_memory(x, y))

    def test_an_output_that_is_an_input_is_the_callers_own(self):
        import onnx

        session = amp.Session(named(onnx.helper.make_node("Identity", ["x"], ["y"])))
        x = np.arange(1 << 16, dtype="float32")
        [y] = session.run(None, {"x": x})
        y[:] = 0
        self.assertEqual(x[3], 3)
        del x
        gc.collect()
        self.assertEqual(y.sum(), 0)

    def test_strings_sequences_maps_and_nothing(self):
        import onnx
        from onnx import TensorProto, helper

        node = helper.make_node("Identity", ["x"], ["y"])
        values = [helper.make_tensor_value_info(name, TensorProto.STRING, ["n"]) for name in "xy"]
        graph = helper.make_graph([node], "g", values[:1], values[1:])
        session = amp.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        for x in (np.array(["a", "bé", ""]), np.array(["a", "bé", ""], object), ["a", "bé", ""]):
            [y] = session.run(None, {"x": x})
            self.assertEqual(y.tolist(), ["a", "bé", ""])
        with self.assertRaises(TypeError):
            session.run(None, {"x": np.array([object()])})

        form = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
        values = [helper.make_value_info(name, form) for name in "xy"]
        graph = helper.make_graph([node], "g", values[:1], values[1:])
        session = amp.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        self.assertEqual(session.get_inputs()[0].kind, "sequence")
        given = [np.ones(2, "float32"), np.zeros((1, 2), "float32")]
        [y] = session.run(None, {"x": given})
        self.assertEqual([a.tolist() for a in y], [[1, 1], [[0, 0]]])
        y[0][:] = 5
        self.assertEqual(given[0].tolist(), [1, 1])
        self.assertEqual(session.run(None, {"x": []}), [[]])

        node = helper.make_node("Optional", [], ["y"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))
        optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))
        graph = helper.make_graph([node], "g", [], [helper.make_value_info("y", optional)])
        session = amp.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        self.assertEqual(session.run(None, {}), [None])
        self.assertTrue(onnx)

    def test_inputs_of_other_kinds(self):
        session = amp.Session(mlp(), threads=1)
        data = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
        expected = session.run(None, {"x": data})[0]

        class HasArray:
            def __array__(self, dtype=None, copy=None):
                return data

        class HasDlpack:
            def __dlpack__(self, **kwargs):
                return data.__dlpack__(**kwargs)

            def __dlpack_device__(self):
                return data.__dlpack_device__()

        read_only = data.copy()
        read_only.flags.writeable = False
        wide = np.zeros((4, 16), "float32")
        wide[:, ::2] = data
        unaligned = np.frombuffer(b"\0" + data.tobytes(), "u1")[1:].view("float32").reshape(4, 8)
        big_endian = data.astype(">f4")
        for x in (
            big_endian,
            HasArray(),
            HasDlpack(),
            data.tolist(),
            read_only,
            wide[:, ::2],
            data[::-1][::-1],
            unaligned,
        ):
            with self.subTest(kind=type(x)):
                np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)

    def test_inputs_that_do_not_fit(self):
        session = amp.Session(mlp(), threads=1)
        x = np.zeros((2, 8), "float32")
        for feeds, error, words in [
            ({}, amp.OptionError, "x"),
            ({"x": x.astype("float64")}, amp.OptionError, "x.astype('float32')"),
            ({"x": x[:, :3]}, amp.OptionError, "expected float32[batch,8], found float32[2,3]"),
            ({"y": x}, amp.OptionError, "'y'"),
            ({"x": x.astype("datetime64[s]")}, TypeError, "expected an element type of ONNX"),
            ({"x\0": x}, ValueError, "zero character"),
            ({"x": object()}, TypeError, "expected an array"),
            ({"x": np.array([None])}, TypeError, "NoneType"),
            ({3: x}, TypeError, "expected names"),
            ([x], TypeError, "expected a dict"),
            (None, TypeError, "expected a dict"),
            ({"x": {"a": 1}}, amp.AmpError, "x"),
        ]:
            with self.subTest(feeds=str(feeds)), self.assertRaises(error) as caught:
                session.run(None, feeds)
            self.assertIn(words, str(caught.exception))
        for names, error in [(["z"], amp.OptionError), ("probabilities", TypeError)]:
            with self.assertRaises(error):
                session.run(names, {"x": x})
        for options, error in [
            ({"thread": 2}, TypeError),
            ({"threads": -1}, amp.OptionError),
            ({"device": "gpu"}, amp.OptionError),
            ({"no_fuse": ["chains"]}, amp.OptionError),
        ]:
            with self.subTest(options=options), self.assertRaises(error):
                amp.Session(mlp(), **options)

    def test_options_of_sessions(self):
        amp.Session(mlp(), threads=1, fuse_chains=False, fold_constants=True, no_fuse=["norm"], replay=True, seed=3)
        amp.Session(mlp(), no_fuse=True, max_loop_iterations=5, allow_bfloat16=False, limits={"nodes": 100})
        with self.assertRaises(amp.LimitError):
            amp.Session(mlp(), max_nodes=1)

    def test_comparing(self):
        mixed = amp.rewrite(mlp()).model
        found = amp.compare(mlp(), mixed)
        self.assertTrue(found.agree)
        self.assertLess(found.outputs[0].relative_error, 0.01)
        self.assertEqual(found.outputs[0].ulps["unit"], "float16")
        strict = amp.compare(mlp(), mixed, tolerance=1e-9)
        self.assertFalse(strict.agree)
        self.assertIn("probabilities", strict.difference)
        with self.assertRaises(amp.VerificationError):
            amp.verify(mlp(), mixed, tolerance=1e-9)
        with self.assertRaises(amp.OptionError):
            amp.compare(mlp(), mixed, tolerance=-1)

    def test_threads_run_at_the_same_time(self):
        session = amp.Session(mlp((8, 64, 4)), threads=1)
        x = np.zeros((4, 8), "float32")
        expected = session.run(None, {"x": x})[0]
        wrong = []

        def work():
            for _ in range(300):
                if not np.array_equal(session.run(None, {"x": x})[0], expected):
                    wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])

    def test_many_calls_leak_nothing(self):
        session = amp.Session(mlp((64, 256)), threads=1)
        x = np.zeros((128, 64), "float32")  # outputs of 128 KiB: beyond those that are copied
        for _ in range(200):
            session.run(None, {"x": x})
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(10000):
            session.run(None, {"x": x})
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 4096)
        for _ in range(20):
            amp.rewrite(mlp())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(100):
            amp.rewrite(mlp())
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 8192)

    def test_feeds_may_change_during_a_run(self):
        session = amp.Session(mlp((2048, 2048, 4)), threads=1)
        feeds = {"x": np.ones((256, 2048), "float32")}
        session.run(None, feeds)

        def exchange():
            time.sleep(0.002)
            feeds["x"] = np.ones((256, 2048), "float32")
            gc.collect()

        for _ in range(5):
            other = threading.Thread(target=exchange)
            other.start()
            session.run(None, feeds)
            other.join()

    def test_results_of_changing_shapes_and_types(self):
        import onnx
        from onnx import TensorProto, helper

        nodes = [helper.make_node("NonZero", ["x"], ["y"]), helper.make_node("ArgMax", ["x"], ["z"], keepdims=0)]
        values = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"]),
            helper.make_tensor_value_info("y", TensorProto.INT64, [1, "m"]),
            helper.make_tensor_value_info("z", TensorProto.INT64, []),
        ]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:])
        session = amp.Session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
        self.assertTrue(onnx)
        for x in ([1, 0, 2], [1, 0, 2], [0, 0, 0], [1, 1, 1], [3, 0, 1, 0], [3, 0, 1, 0]):
            y, z = session.run(iter(["y", "z"]), {"x": np.array(x, "float32")})
            np.testing.assert_array_equal(y, np.array(x).nonzero())
            self.assertEqual(z, np.argmax(x))

    def test_threads_that_run_when_python_ends(self):
        code = """
import threading, time, numpy as np, amp_rewrite as amp
session = amp.Session(amp.new_model("mlp", [2048, 2048, 2048]), threads=1)
def work():
    while True:
        session.run(None, {"x": np.ones((512, 2048), "f4")})
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_forked_process_makes_sessions_of_its_own(self):
        big = mlp((512, 512, 4))
        x = np.ones((256, 512), "float32")
        expected = amp.Session(big, threads=2).run(None, {"x": x})[0]
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(60)
                found = amp.Session(big, threads=2).run(None, {"x": x})[0]
                os._exit(0 if np.allclose(found, expected) and amp.compare(big, big, {"x": x}).agree else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_handlers_of_signals_may_run_sessions(self):
        session = amp.Session(mlp((2048, 2048, 2048, 4)), threads=1)
        x = np.ones((512, 2048), "float32")
        expected = session.run(None, {"x": x})[0]
        found = []
        before = signal.signal(signal.SIGALRM, lambda *_: found.append(session.run(None, {"x": x})[0]))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.03)
            outer = session.run(None, {"x": x})[0]
        finally:
            signal.signal(signal.SIGALRM, before)
        np.testing.assert_array_equal(outer, expected)
        for inner in found:
            np.testing.assert_array_equal(inner, expected)

    def test_a_fork_ends_sessions(self):
        session = amp.Session(mlp())
        trainer = amp.Trainer(amp.training_step(mlp()))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                session.run(None, {"x": np.zeros((1, 8), "float32")})
            except amp.OptionError:
                try:
                    trainer.step({"x": np.zeros((1, 8), "float32"), "labels": [0]})
                except amp.OptionError:
                    fresh = amp.Session(mlp(), threads=1)
                    code = 0 if fresh.run(None, {"x": np.zeros((1, 8), "float32")}) else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_control_c_ends_a_run(self):
        import onnx
        from onnx import TensorProto, helper

        body = helper.make_graph(
            [
                helper.make_node("Identity", ["c"], ["d"]),
                helper.make_node("Sin", ["v"], ["w"]),
            ],
            "body",
            [
                helper.make_tensor_value_info("i", TensorProto.INT64, []),
                helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                helper.make_tensor_value_info("v", TensorProto.FLOAT, [1000]),
            ],
            [
                helper.make_tensor_value_info("d", TensorProto.BOOL, []),
                helper.make_tensor_value_info("w", TensorProto.FLOAT, [1000]),
            ],
        )
        model = helper.make_model(
            helper.make_graph(
                [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
                "g",
                [
                    helper.make_tensor_value_info("n", TensorProto.INT64, []),
                    helper.make_tensor_value_info("x", TensorProto.FLOAT, [1000]),
                ],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1000])],
            ),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=8,
        )
        self.assertTrue(onnx)
        session = amp.Session(model, max_loop_iterations=1 << 60)
        feeds = {"n": np.array(1 << 50), "x": np.ones(1000, "float32")}
        sent = []

        def interrupt():
            time.sleep(0.3)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        for _ in range(2):  # the second is like the first, although assertRaises clears the frames of what was raised
            threading.Thread(target=interrupt).start()
            with self.assertRaises(KeyboardInterrupt):
                session.run(None, feeds)
            self.assertLess(time.perf_counter() - sent[-1], 2)
        self.assertEqual(len(session.run(None, {**feeds, "n": np.array(3)})), 1)


class Training(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        self.x = rng.normal(size=(64, 8)).astype("float32")
        self.labels = (self.x.sum(1) > 0).astype("int64")
        self.step = amp.training_step(mlp((8, 16, 2)), optimizer="adam", learning_rate=0.01)

    def test_trains_saves_and_goes_on(self):
        trainer = amp.Trainer(self.step, threads=1)
        feeds = {"x": self.x, "labels": self.labels}
        losses = [trainer.step(feeds).loss for _ in range(60)]
        self.assertLess(losses[-1], 0.5 * losses[0])
        self.assertEqual(trainer.num_steps, 60)
        with tempfile.TemporaryDirectory() as folder:
            run, weights = pathlib.Path(folder) / "run.npz", pathlib.Path(folder) / "trained.onnx"
            trainer.checkpoint(run, note="here")
            trainer.save_weights(weights)
            other = amp.Trainer(self.step, threads=1)
            self.assertEqual(other.resume(run), "here")
            self.assertEqual(other.step(feeds).loss, trainer.step(feeds).loss)
            found = amp.Session(weights).run(None, {"x": self.x})[0]
            self.assertGreater((found.argmax(1) == self.labels).mean(), 0.9)
            np.testing.assert_allclose(found.sum(1), 1, rtol=1e-3)
            self.assertEqual(trainer.forward().get_inputs()[0].name, "x")
            with self.assertRaises(amp.AmpError):
                other.resume(weights)

    def test_states(self):
        trainer = amp.Trainer(self.step.model)
        name = trainer.state_names()[0]
        value = trainer.state(name)
        trainer.set_state(name, value * 2)
        np.testing.assert_array_equal(trainer.state(name), value * 2)
        for bad in (value[:1], value.astype("float64")):
            with self.assertRaises(amp.OptionError):
                trainer.set_state(name, bad)
        with self.assertRaises(amp.OptionError):
            trainer.state("none")
        trainer.learning_rate = 0.5
        self.assertEqual(trainer.learning_rate, 0.5)

    def test_skipped_steps(self):
        trainer = amp.Trainer(self.step)
        done = trainer.step({"x": self.x * np.float32("nan"), "labels": self.labels})
        self.assertFalse(done.finite)
        self.assertLess(done.loss_scale, 65536)

    def test_nan_is_not_saved(self):
        trainer = amp.Trainer(self.step)
        name = trainer.state_names()[0]
        trainer.set_state(name, trainer.state(name) * np.float32("nan"))
        with tempfile.TemporaryDirectory() as folder:
            for save in (trainer.save_weights, trainer.checkpoint):
                with self.assertRaises(amp.RefusedError) as caught:
                    save(pathlib.Path(folder) / "file")
                self.assertIn(name, str(caught.exception))
            self.assertEqual(os.listdir(folder), [])
            trainer.checkpoint(pathlib.Path(folder) / "file", allow_nan=True)
        for rate in (float("nan"), -1, float("inf")):
            with self.assertRaises(ValueError):
                trainer.learning_rate = rate

    def test_control_c_ends_a_step(self):
        step = amp.training_step(mlp((2048, 2048, 2048, 2048, 2)), dtype="bfloat16")
        trainer = amp.Trainer(step, threads=1)
        feeds = {"x": np.ones((2048, 2048), "float32"), "labels": np.zeros(2048, "int64")}
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            trainer.step(feeds)
            trainer.step(feeds)
        self.assertLessEqual(trainer.num_steps, 1)

    def test_what_is_wrong(self):
        trainer = amp.Trainer(self.step)
        for feeds in ({"x": self.x}, {"x": self.x, "labels": self.x}, {"x": self.x, "labels": self.labels, "z": 1}):
            with self.assertRaises(amp.OptionError):
                trainer.step(feeds)
        with self.assertRaises(amp.ModelError):
            amp.Trainer(mlp())
        with self.assertRaises(TypeError):
            amp.training_step(mlp(), optimiser="adam")
        with self.assertRaises(amp.OptionError):
            amp.training_step(mlp(), optimizer="lion")

    def test_batches_of_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        trainer = amp.Trainer(self.step)
        batch = {"x": torch.from_numpy(self.x), "labels": torch.from_numpy(self.labels)}
        self.assertGreater(trainer.step(batch).loss, 0)


if __name__ == "__main__":
    unittest.main()
