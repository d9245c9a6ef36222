"""Fuzzes the C interface and the Python package: random options, types, shapes, null pointers, models that are damaged.

fuzz_interface.py [--seconds S] [--seed N]

Work happens in a child, which must neither crash nor find an internal error. Null pointers are given wherever the
header allows them; other pointers lead to memory that is as large as the shapes say.
"""

import argparse
import ctypes
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import warnings

ALLOWED = (TypeError, ValueError, OverflowError, ImportError, OSError)  # besides AmpError, but for InternalError


class Fuzzer:
    def __init__(self, seed, folder):
        import amp_rewrite as amp
        import numpy as np

        self.amp, self.np, self.random, self.folder = amp, np, random.Random(seed), folder
        self.model = amp.new_model("mlp", [4, 8, 2])
        self.step = amp.training_step(self.model).model
        self.session = amp.Session(self.model, threads=1)
        self.trainer = amp.Trainer(self.step, threads=1)
        (folder / "m.onnx").write_bytes(self.model)
        self.names = {of: list(amp._options.schema(of).values()) for of in ("rewrite", "session")}

    def pick(self, *choices):
        return self.random.choice(choices)

    def text(self):
        words = ["float16", "Softmax", "", "x", "batch", "on", "off", "none", "-1", "1e400", "nan", "\0", "é", "\ud800"]
        words += ["a=b", "dynamic", "/no/such", str(self.folder / "out"), "*", "[", "{}", "mse", "y:onehot", "x" * 300]
        return self.random.choice(words)

    def value(self, depth=0):
        kind = self.random.randrange(12 if depth < 3 else 7)
        if kind < 3:
            return self.text()
        if kind < 7:
            return self.pick(0, 1, -1, 2**31, 2**63, 2**70, 0.5, float("nan"), float("inf"), True, False, None)
        if kind < 9:
            return [self.value(depth + 1) for _ in range(self.random.randrange(3))]
        if kind < 11:
            return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(3))}
        return self.pick(object(), b"bytes", self.np.float32(1), self.np.zeros(2), lambda: 0, {1, 2})

    def likely(self, row):
        """A value that may be right for an option."""
        if row["form"] == "switch":
            return self.pick(True, False)
        if row["number"]:
            return self.pick(0, 1, 2, 1000, 0.5)
        names = row["type"].split("|")
        return self.pick(*names, ["Softmax"], "x", {"batch": 2}, True)

    def options(self, of):
        options = {}
        for _ in range(self.random.randrange(4)):
            row = self.random.choice(self.names[of])
            options[row["name"]] = self.value() if self.random.random() < 0.5 else self.likely(row)
        options.pop("report", None)  # these write to files
        for name in ("in_place", "ranges", "autotune"):
            options.pop(name, None)
        return options

    def array(self):
        np = self.np
        dtypes = ["f4", "f8", "f2", "i8", "i4", "u1", "?", "c8", "O", "U3", "S3", ">f4", "M8[s]", "V2", "i2"]
        shape = self.random.choice([(), (0,), (2, 4), (1, 4), (3, 4), (2, 0), (4,), (1, 1, 1, 1), (2, 3)])
        made = np.ones(shape).astype(self.random.choice(dtypes))
        return self.pick(made, made.T, made[..., ::-1] if made.ndim else made, made.tolist(), np.asfortranarray(made))

    def feeds(self):
        feeds = {self.pick("x", "x", "x", "labels", "y", ""): self.array() for _ in range(self.random.randrange(3))}
        if self.random.random() < 0.5:
            feeds["x"] = self.np.ones((self.random.randrange(4), 4), "f4")
        if self.random.random() < 0.3:
            feeds["labels"] = self.np.zeros(self.random.randrange(4), "i8")
        if self.random.random() < 0.1:
            feeds[self.pick("x", 3, None)] = self.value()
        return self.pick(feeds, feeds, feeds, feeds, self.value())

    def damaged(self):
        data = bytearray(self.random.choice([self.model, self.step]))
        for _ in range(self.random.randrange(3)):
            data[self.random.randrange(len(data))] = self.random.randrange(256)
        return bytes(data[: self.random.choice([len(data), len(data), self.random.randrange(len(data))])])

    def of_python(self):
        amp = self.amp
        calls = [
            lambda: amp.rewrite(self.pick(self.model, self.damaged(), self.value()), **self.options("rewrite")),
            lambda: amp.rewrite_file(
                self.folder / "m.onnx", self.pick(self.folder / "o.onnx", None), **self.options("rewrite")
            ),
            lambda: amp.training_step(self.model, **self.options("rewrite")),
            lambda: amp.Session(self.pick(self.model, self.damaged(), self.value()), **self.options("session")),
            lambda: amp.Trainer(self.pick(self.step, self.damaged(), self.value()), **self.options("session")),
            lambda: self.session.run(self.pick(None, None, ["probabilities"], [self.text()], 3), self.feeds()),
            lambda: self.session.run(None, self.feeds()),
            lambda: self.trainer.step(self.feeds()),
            lambda: self.trainer.set_state(self.pick(*self.trainer.state_names(), "z"), self.array()),
            lambda: self.session.random_inputs(seed=self.pick(0, 2**63), dims={self.text(): self.pick(1, -1, 2**40)}),
            lambda: amp.compare(self.session, self.session, self.feeds(), tolerance=self.pick(None, 0.1, -1, "x")),
            lambda: amp.Policy(self.pick("mixed_float16", self.text())),
            lambda: amp.new_model(self.pick("mlp", "cnn", self.text()), self.pick([4, 2], "3-2", [2**40], self.text())),
            lambda: amp.print_lists(**self.options("rewrite")),
        ]
        self.random.choice(calls)()

    def of_c(self):
        """Any function of the header, with arguments of the right kinds, many of them null."""
        library = self.amp._library
        context = library.context()
        name = self.random.choice(sorted(library._CODES))
        memory = self.np.ones(64)
        keep, arguments = [memory], []

        def tensor():
            shape = (ctypes.c_int64 * 3)(*[self.random.choice([0, 1, 2, -1, 2**62]) for _ in range(3)])
            keep.append(shape)
            fits = all(0 <= dim <= 2 for dim in shape)
            strides = (ctypes.c_int64 * 3)(*[self.random.choice([0, 8, 16]) for _ in range(3)])
            keep.append(strides)
            dtype = self.pick(1, 7, 9, 10, 11, 16, 0, -1, 99)  # without strings, whose elements are pointers
            rank = self.random.randrange(-1, 4)
            return library.Tensor(
                memory.ctypes.data if fits else self.pick(None),
                self.pick(ctypes.addressof(shape), None),
                self.pick(None, ctypes.addressof(strides)),
                dtype,
                rank,
            )

        def structs(kind, make):
            count = self.random.randrange(3)
            array = (kind * max(count, 1))(*[make() for _ in range(count)])
            keep.append(array)
            return array, count

        texts = [
            None,
            b"",
            b"{}",
            b"[]",
            b"x",
            b"float16",
            b"rewrite",
            b"session",
            b"mlp",
            b"4-2",
            b"\xff",
            b"{" * 5000,
        ]
        texts += [json.dumps({row["name"]: 1}).encode() for row in self.names["rewrite"][:3]]
        texts += [b'{"threads": 1}', b'{"dtype": "float16"}', b'{"deny": ["a", 1, null, {"b": 2}]}', b'{"train": true}']
        takes = {
            "session": lambda: self.pick(self.session._handle.pointer, None),
            "trainer": lambda: self.pick(self.trainer._handle.pointer, None),
        }
        fixed = library._CODES[name]
        for i, kind in enumerate(fixed):
            if kind is ctypes.c_char_p:
                arguments.append(self.random.choice(texts))
            elif kind is library.Bytes:
                data = self.pick(self.model, self.damaged(), b"")
                keep.append(data)
                arguments.append(library.as_bytes(data) if data else library.Bytes(None, 0))
            elif kind is ctypes.c_void_p and i == 0 and "session" in name or "compare" in name and i < 2:
                arguments.append(takes["session"]())
            elif kind is ctypes.c_void_p and i == 0 and "trainer" in name:
                arguments.append(takes["trainer"]())
            elif kind is ctypes.c_size_t:
                arguments.append(0)  # behind arrays that are null
            elif kind is ctypes.c_int:
                arguments.append(self.pick(0, 1))
            elif kind is ctypes.c_void_p:
                arguments.append(None)
            else:  # a place for a result
                place = kind._type_()
                keep.append(place)
                arguments.append(self.pick(ctypes.byref(place), ctypes.byref(place), None))
        if name in ("amp_session_run", "amp_trainer_step", "amp_compare"):
            at = {"amp_session_run": 1, "amp_trainer_step": 1, "amp_compare": 2}[name]
            inputs, count = structs(library.Input, lambda: library.Input(self.pick(b"x", b"labels", None), tensor()))
            arguments[at : at + 2] = [ctypes.addressof(inputs), count]
        if name == "amp_session_run":
            outputs, count = structs(library.Output, lambda: library.Output(self.pick(None, b"probabilities", b"z")))
            arguments[3:5] = [ctypes.addressof(outputs), count]
            keep.append(outputs)
        if name == "amp_value_of_tensor":
            made = tensor()
            keep.append(made)
            arguments[0] = ctypes.byref(made)
        writes = name in (
            "amp_rewrite_file",
            "amp_save_model",
            "amp_trainer_save_weights",
            "amp_trainer_save_checkpoint",
        )
        if writes:
            arguments = [None if kind is ctypes.c_char_p else a for kind, a in zip(fixed, arguments)]
        code = getattr(context.library, name)(self.pick(context.pointer, context.pointer, None), *arguments)
        context.raised = None
        if code == 70:
            raise self.amp.InternalError(f"{name}: {library.library().amp_error(context.pointer)}")
        if name == "amp_session_run" and code == 0:
            for output in outputs[:count]:
                context.library.amp_value_free(output.value)
        context.library.amp_context_clear(context.pointer)

    def once(self):
        try:
            self.random.choice([self.of_python, self.of_c])()
        except self.amp.InternalError:
            raise
        except (self.amp.AmpError, *ALLOWED):
            pass


def work(seed, seconds):
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(seed, pathlib.Path(folder))
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            state = fuzzer.random.getstate()
            try:
                fuzzer.once()
            except BaseException:
                print(f"seed {seed}, call {count}, state {hash(state)}", file=sys.stderr)
                raise
            count += 1
        stray = {path.name for path in pathlib.Path(folder).iterdir()} - {"m.onnx", "o.onnx", "out"}
        assert not {name for name in stray if not name.startswith("o.onnx.")}, stray
    print(f"{count} calls")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", action="store_true", help="in this process")
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.seed, arguments.seconds)
        return 0
    command = [sys.executable, "-X", "faulthandler", str(pathlib.Path(__file__).resolve()), "--work"]
    command += ["--seed", str(arguments.seed), "--seconds", str(arguments.seconds)]
    with tempfile.TemporaryDirectory() as folder:  # options that name files get any text
        done = subprocess.run(command, cwd=folder)
    if done.returncode:
        print(f"fuzz_interface.py: the child ended with {done.returncode}")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
