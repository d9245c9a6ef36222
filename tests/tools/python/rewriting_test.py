"""Tests of the Python package: rewriting, and that files are those of the programs.

python -m unittest rewriting_test, with the package and the library found, as package_cases.py says.
"""

import copy
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import amp_rewrite as amp
import numpy as np
from package_cases import SHARED, mlp, named


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

    def test_parts_that_lose_most_are_found_and_kept(self):
        random = np.random.default_rng(0)
        samples = [{"x": random.normal(size=(2, 64)).astype("float32")} for _ in range(4)]
        model = mlp((64, 256, 256, 4))
        found = amp.sensitivity(model, samples, measure=1)
        self.assertEqual(len(found["units"]), 3)
        self.assertGreater(found["units"][0]["measured_error"], 0)
        limit = 0.9 * found["measured_error"]
        searched = amp.rewrite(model, search=True, max_error=limit, calibration=samples).report["search"]
        self.assertLessEqual(searched["choices"][searched["taken"]]["error"], limit)
        self.assertLessEqual(searched["runs"], 20)
        with self.assertRaises(amp.VerificationError):
            amp.rewrite(model, search=True, max_error=1e-12, calibration=samples)
        with self.assertRaises(amp.OptionError):
            amp.sensitivity(model, [])

    def test_a_search_asks_for_a_number_of_the_callers_own(self):
        random = np.random.default_rng(0)
        samples = [{"x": random.normal(size=(2, 64)).astype("float32")} for _ in range(2)]
        model = mlp((64, 256, 256, 4))
        asked = []

        def accuracy(path):
            import onnx

            asked.append(path)
            weights = onnx.load(path).graph.initializer
            return 0.9 if weights[0].data_type == onnx.TensorProto.FLOAT else 0.5

        found = amp.search(model, samples, metric=accuracy, max_drop=0.01)
        searched = found.report["search"]
        self.assertLessEqual(len(asked), 8)
        self.assertEqual((searched["metric"], searched["baseline"], searched["runs"]), ("own", 0.9, len(asked)))
        self.assertEqual(searched["choices"][searched["taken"]]["error"], 0)
        self.assertTrue(found.changed)
        self.assertFalse(any(os.path.exists(path) for path in asked))
        # An exception of the function arrives, and later rewrites do not ask it.
        with self.assertRaises(ZeroDivisionError):
            amp.search(model, samples, metric=lambda path: 1 // 0, max_drop=0.01)
        with self.assertRaises(TypeError):
            amp.search(model, samples, metric=lambda path: None, max_drop=0.01)
        with self.assertRaisesRegex(amp.OptionError, "expected --max-drop too"):
            amp.search(model, samples, metric=accuracy)
        self.assertEqual(
            amp.search(model, samples, metric="cosine", max_error=0.1).report["search"]["metric"], "cosine"
        )
        with self.assertRaises(amp.VerificationError):
            amp.search(model, samples, metric=lambda path: -len(asked.append(path) or asked), max_drop=0)

    def test_samples_go_by_the_callers_names(self):
        wrong = {"x": np.zeros((1, 9), "float32")}
        with self.assertRaises(amp.OptionError) as raised:
            amp.rewrite(mlp(), calibration=[{"x": np.zeros((1, 8), "float32")}, wrong])
        self.assertIn("calibration[1]", str(raised.exception))
        self.assertNotIn("amp_rewrite_", str(raised.exception))
        with self.assertRaises(amp.OptionError) as raised:
            amp.rewrite(mlp(), verify=wrong)
        self.assertNotIn("amp_rewrite_", str(raised.exception))
        right = {"x": np.ones((1, 8), "float32")}
        result = amp.rewrite(mlp(), calibration=right, verify=right)
        for text in (result.verification, json.dumps(result.report), result.explain()):
            self.assertNotIn("amp_rewrite_", text)
        self.assertNotIn(b"amp_rewrite_", result.model)
        self.assertIn("--calibration=calibration", result.report["tool"]["flags"])

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

    def test_the_last_word_before_files_are_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder) / "a.onnx", pathlib.Path(folder) / "b.onnx"
            source.write_bytes(mlp())
            target.write_bytes(mlp())
            asked = []

            def refuse(decided):
                asked.append((decided.line, len(decided.report["nodes"]), target.read_bytes() == mlp()))
                return False

            with self.assertRaisesRegex(amp.CancelledError, "before_replacing"):
                amp.rewrite_file(source, target, before_replacing=refuse)
            self.assertEqual(target.read_bytes(), mlp())
            with self.assertRaises(ZeroDivisionError):
                amp.rewrite_file(source, target, before_replacing=lambda decided: 1 // 0)
            self.assertEqual(target.read_bytes(), mlp())
            summary = amp.rewrite_file(source, target, before_replacing=lambda decided: asked.append(decided.line))
            self.assertEqual(asked[1], summary.line)
            self.assertEqual(asked[0], (summary.line, len(summary.report["nodes"]), True))
            self.assertNotEqual(target.read_bytes(), mlp())
            with self.assertRaisesRegex(TypeError, "before_replacing: expected a callable, found int"):
                amp.rewrite_file(source, target, before_replacing=1)
            amp.rewrite_file(source, target)  # asks nobody
            self.assertEqual(len(asked), 2)

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
        self.assertIn('<iframe sandbox="allow-scripts allow-downloads"', page)

    def test_the_report_is_a_page(self):
        result = amp.rewrite(mlp(), deny=["Relu"])
        page = result.to_html()
        self.assertTrue(page.startswith("<!doctype html>"))
        data = json.loads(page.split('id="data">', 1)[1].split("</script", 1)[0])
        self.assertEqual(data["nodes"]["count"], len(result.report["nodes"]))
        self.assertGreater(data["values"]["count"], 0)  # so it has a graph
        self.assertEqual(pickle.loads(pickle.dumps(result)).to_html(), page)
        with tempfile.TemporaryDirectory() as folder:
            model, file = pathlib.Path(folder) / "m.onnx", pathlib.Path(folder) / "r.html"
            model.write_bytes(mlp())
            summary = amp.rewrite_file(model, pathlib.Path(folder) / "out.onnx", report=file)
            self.assertEqual(file.read_text(), summary.to_html())

    def test_weights_have_histograms_where_that_takes_no_further_reading(self):
        def has_histograms(page):
            data = json.loads(page.split('id="data">', 1)[1].split("</script", 1)[0])
            bins, zeros = 12, 13  # of a weight's numbers
            return all(weight[bins] or weight[zeros] for weight in data["weights"])

        with tempfile.TemporaryDirectory() as folder:
            model, out, file = (pathlib.Path(folder) / name for name in ("m.onnx", "out.onnx", "r.html"))
            model.write_bytes(mlp())
            self.assertTrue(has_histograms(amp.rewrite(mlp()).to_html()))
            self.assertFalse(has_histograms(amp.rewrite_file(model, out).to_html()))
            amp.rewrite_file(model, out, report=file)
            self.assertTrue(has_histograms(file.read_text()))

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


if __name__ == "__main__":
    unittest.main()
