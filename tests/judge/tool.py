"""Talks to the program under test.

One interface has two ways to run it. `Tool(path)` starts `rewrite_batch` once and sends it one JSON array of arguments
per line: thousands of rewrites in one process. When the path names anything else, `Tool(path)` starts `amp-rewrite`
anew for every call.

    with Tool("build/tests/rewrite_batch") as tool:
        answer = tool.run(["in.onnx", "-o", "out.onnx", "--dtype", "bfloat16"])
        answer.exit, answer.stdout, answer.stderr

A program that dies is an answer too: its exit code is the negative signal number, and the next call starts it again.
"""

import dataclasses
import json
import os
import selectors
import subprocess
import tempfile


@dataclasses.dataclass
class Answer:
    exit: int
    stdout: str
    stderr: str

    def first_error(self):
        return (self.stderr.strip().splitlines() or self.stdout.strip().splitlines() or ["(no message)"])[0][:300]


class Tool:
    def __init__(self, path, timeout_s=120):
        if not os.path.isfile(path):
            raise SystemExit(f"no such program: {path}")
        self.path, self.timeout_s, self.process = path, timeout_s, None
        self.is_batch = os.path.basename(path).startswith("rewrite_batch")
        self.calls = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop()

    def run(self, arguments):
        """Runs the program once with these arguments. Never raises for what the program does."""
        self.calls += 1
        arguments = [str(a) for a in arguments]
        return self._ask(arguments) if self.is_batch else self._spawn(arguments)

    def _spawn(self, arguments):
        try:
            done = subprocess.run(
                [self.path, *arguments], capture_output=True, text=True, errors="replace", timeout=self.timeout_s
            )
        except subprocess.TimeoutExpired:
            return Answer(-9, "", f"no answer within {self.timeout_s} s")
        return Answer(done.returncode, done.stdout, done.stderr)

    def _ask(self, arguments):
        if self.process is None:
            self.log = tempfile.TemporaryFile()
            self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
            self.pending = b""
        try:
            self.process.stdin.write(json.dumps(arguments).encode() + b"\n")
            self.process.stdin.flush()
            line = self._line()
            answer = json.loads(line)
            return Answer(answer["exit"], answer["stdout"], answer["stderr"])
        except (OSError, EOFError, TimeoutError, ValueError, KeyError) as error:
            self.process.kill() if isinstance(error, TimeoutError) else None
            code = self._stop()
            self.log.seek(0)
            return Answer(
                code or -1,
                "",
                f"{self.path} stopped answering ({error!r}): {self.log.read()[-2000:].decode(errors='replace')}",
            )

    def _line(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.pending:
                if not selector.select(self.timeout_s):
                    raise TimeoutError(f"no answer within {self.timeout_s} s")
                chunk = os.read(self.process.stdout.fileno(), 1 << 16)
                if not chunk:
                    raise EOFError("end of its output")
                self.pending += chunk
        line, self.pending = self.pending.split(b"\n", 1)
        return line

    def _stop(self):
        if self.process is None:
            return 0
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process = None
        return code
