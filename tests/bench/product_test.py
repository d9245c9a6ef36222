"""The product that is measured runs in both types, and has a goal where there is AMX alone: product_test.py AMP_RUN"""

import pathlib
import sys
import tempfile

import product


def main():
    product.SIZE = 96
    with tempfile.TemporaryDirectory() as folder:
        taken = product.measure(sys.argv[1], pathlib.Path(folder), rounds=1)
    lines = [product.line(engine) for engine in taken]
    assert [engine.dtype for engine in taken] == ["float32", "bfloat16"] and all("GFLOP/s" in line for line in lines), (
        lines
    )
    assert not list(product.goals(taken, has_amx=False))
    ((what, measured, goal, _, larger),) = product.goals(taken, has_amx=True)
    assert "bfloat16" in what and measured > 0 and goal == 8 and larger
    taken[1].problem = "it does not run"
    assert "does not run: it" in product.line(taken[1]) and not list(product.goals(taken, has_amx=True))


main()
