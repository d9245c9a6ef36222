"""Tests of the Python package: training.

python -m unittest training_test, with the package and the library found, as package_cases.py says.
"""

import os
import pathlib
import signal
import tempfile
import threading
import unittest

import amp_rewrite as amp
import numpy as np
from package_cases import mlp


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

    def test_a_checkpoint_replaces_no_data(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.npz"
            np.savez(path, x=self.x)
            before = path.read_bytes()
            trainer = amp.Trainer(self.step)
            with self.assertRaisesRegex(amp.RefusedError, "expected a checkpoint"):
                trainer.checkpoint(path)
            self.assertEqual(path.read_bytes(), before)
            trainer.checkpoint(path, force=True)
            trainer.checkpoint(path)  # over a checkpoint

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
        self.assertEqual(done, done)
        self.assertNotEqual(done, done._replace())

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
        # Whoever starts the tests in the background may have SIGINT ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
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
