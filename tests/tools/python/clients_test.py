"""Models of scikit-learn, Keras and PyTorch, each from its framework to a mixed model and through amp.Session.

clients_test.py; what is not installed is skipped. tools/dev clients makes an environment with scikit-learn and Keras.
"""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest
import warnings

import amp_rewrite as amp
import numpy as np
import onnx

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def export_keras(model, folder):
    path = pathlib.Path(folder) / "keras.onnx"
    model(np.zeros((1, *model.input_shape[1:]), "float32"))  # exporting asks for a call
    model.export(path, format="onnx", verbose=False)
    return path


@needs("sklearn", "skl2onnx")
class ScikitLearn(unittest.TestCase):
    def test_classifiers_and_regressors(self):
        from skl2onnx import to_onnx
        from sklearn import datasets, ensemble, linear_model, neural_network, pipeline, preprocessing, svm

        x, y = datasets.load_iris(return_X_y=True)
        x = x.astype("float32")
        estimators = [
            linear_model.LogisticRegression(max_iter=500),
            neural_network.MLPClassifier(hidden_layer_sizes=(32, 16), max_iter=800, random_state=0),
            ensemble.RandomForestClassifier(20, random_state=0),
            pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC(probability=True, random_state=0)),
            linear_model.Ridge(),
            neural_network.MLPRegressor(hidden_layer_sizes=(32,), max_iter=800, random_state=0),
        ]
        for estimator in estimators:
            with self.subTest(estimator=type(estimator).__name__):
                estimator.fit(x, y)
                model = to_onnx(estimator, x[:1], options={"zipmap": False} if hasattr(estimator, "classes_") else None)
                mixed = amp.rewrite(model).model
                found = amp.Session(mixed).run(None, {amp.Session(mixed).get_inputs()[0].name: x})
                if hasattr(estimator, "classes_"):
                    self.assertGreater((found[0] == estimator.predict(x)).mean(), 0.98)
                    np.testing.assert_allclose(found[1], estimator.predict_proba(x), atol=0.02)
                else:
                    np.testing.assert_allclose(found[0].ravel(), estimator.predict(x), atol=0.02)


@needs("keras", "tensorflow", "tf2onnx")
class Keras(unittest.TestCase):
    def test_a_convolutional_network(self):
        import keras

        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [
                keras.layers.Input((28, 28, 1)),
                keras.layers.Conv2D(16, 3, activation="relu"),
                keras.layers.BatchNormalization(),
                keras.layers.MaxPooling2D(),
                keras.layers.SeparableConv2D(32, 3, activation="swish"),
                keras.layers.GlobalAveragePooling2D(),
                keras.layers.Dense(10, activation="softmax"),
            ]
        )
        x = np.random.default_rng(0).normal(size=(8, 28, 28, 1)).astype("float32")
        with tempfile.TemporaryDirectory() as folder:
            path = export_keras(model, folder)
            for dtype in ("float16", "bfloat16"):
                result = amp.rewrite(path, dtype=dtype)
                self.assertTrue(result.changed)
                session = amp.Session(result)
                [found] = session.run(None, {session.get_inputs()[0].name: x})
                np.testing.assert_allclose(found, model.predict(x, verbose=0), atol=0.01)

    def test_the_guide_from_keras_to_trained_weights(self):
        """The guide to mixed precision of EfficientNetB0: a frozen base, Dense 400, a float32 softmax, Adam."""
        import keras

        keras.utils.set_random_seed(0)
        base = keras.applications.EfficientNetB0(
            include_top=False, weights=None, input_shape=(64, 64, 3), pooling="avg"
        )
        base.trainable = False
        inputs = keras.Input((64, 64, 3), name="image")
        hidden = keras.layers.Dense(400, name="head")(base(inputs, training=False))
        model = keras.Model(inputs, keras.layers.Activation("softmax", dtype="float32")(hidden))
        rng = np.random.default_rng(0)
        kernel, bias = model.get_layer("head").get_weights()  # an exporter drops biases that are 0
        model.get_layer("head").set_weights([kernel, rng.normal(size=bias.shape, scale=0.01).astype("float32")])
        x = rng.uniform(0, 255, size=(16, 64, 64, 3)).astype("float32")
        labels = rng.integers(0, 400, size=16)
        with tempfile.TemporaryDirectory() as folder:
            forward = export_keras(model, folder)
            weights = {
                tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(forward).graph.initializer
            }
            trained = [
                name
                for name, value in weights.items()
                if any(
                    value.shape == w.shape and np.array_equal(value, w) for w in model.get_layer("head").get_weights()
                )
            ]
            self.assertEqual(len(trained), 2, trained)
            step = amp.training_step(forward, optimizer="adam", learning_rate=0.01, trainable=trained)
            trainer = amp.Trainer(step)
            image = trainer.get_inputs()[0].name
            losses = [trainer.step({image: x, "labels": labels}).loss for _ in range(30)]
            self.assertLess(losses[-1], losses[0] - 0.3)  # a base without training hardly tells images apart
            saved = pathlib.Path(folder) / "trained.onnx"
            trainer.save_weights(saved)
            after = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(saved).graph.initializer}
            [new_kernel] = [after[name] for name in trained if after[name].ndim == 2]
            [new_bias] = [after[name] for name in trained if after[name].ndim == 1]
            model.get_layer("head").set_weights([new_kernel, new_bias])
            [found] = amp.Session(saved).run(None, {image: x})
            np.testing.assert_allclose(found, model.predict(x, verbose=0), atol=2e-3)


@needs("torch", "onnxscript")
class PyTorch(unittest.TestCase):
    def test_a_transformer(self):
        import torch

        torch.manual_seed(0)
        model = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
        x = torch.randn(2, 7, 32)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "torch.onnx"
            torch.onnx.export(model, (x,), path, dynamo=True)
            session = amp.Session(amp.rewrite(path))
            [found] = session.run(None, {session.get_inputs()[0].name: x})
            np.testing.assert_allclose(found, model(x).detach().numpy(), atol=0.02)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    program = unittest.main(exit=False)
    for test, why in program.result.skipped:
        print(f"SKIPPED: {test}: {why}", file=sys.stderr)
    sys.exit(not program.result.wasSuccessful())
