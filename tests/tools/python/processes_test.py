"""Tests of the Python package: sessions among threads, forks and signals.

python -m unittest processes_test, with the package and the library found, as package_cases.py says.
"""

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

import amp_rewrite as amp
import numpy as np
from package_cases import mlp


class Processes(unittest.TestCase):
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

    def test_importing_loads_no_slow_modules(self):
        slow = ("dataclasses", "inspect", "numpy", "pathlib", "tempfile", "zipfile")
        script = f"""
import sys

before = set(sys.modules)
import amp_rewrite

print(sorted((set(sys.modules) - before) & set({slow})))
"""
        found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
        self.assertEqual(found.strip(), "[]")

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

        # Whoever starts the tests in the background may have SIGINT ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        for _ in range(2):  # the second is like the first, although assertRaises clears the frames of what was raised
            threading.Thread(target=interrupt).start()
            with self.assertRaises(KeyboardInterrupt):
                session.run(None, feeds)
            self.assertLess(time.perf_counter() - sent[-1], 2)
        self.assertEqual(len(session.run(None, {**feeds, "n": np.array(3)})), 1)


if __name__ == "__main__":
    unittest.main()
