"""Tests of the Python package: running models, and comparing them.

python -m unittest sessions_test, with the package and the library found, as package_cases.py says.
"""

import gc
import unittest

import amp_rewrite as amp
import numpy as np
from package_cases import mlp, named


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


if __name__ == "__main__":
    unittest.main()
