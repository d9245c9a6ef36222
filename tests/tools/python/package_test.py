"""Tests of the Python package: its pages, types and imports.

python -m unittest package_test, with the package and the library found, as package_cases.py says.
"""

import doctest
import importlib
import importlib.util
import pathlib
import subprocess
import sys
import unittest

import amp_rewrite as amp

MODULES = ["", "._rewrite", "._session", "._trainer", "._policy"]


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


if __name__ == "__main__":
    unittest.main()
