#!/usr/bin/env python3
"""Measures HTML reports in Debian's Chromium: size, first paint, search, opening groups, and what writing one costs.

report_numbers.py AMP_REWRITE [--models DIR] [--rounds N] [--pairs N]

Prints a table, and exits with 1 where a number is beyond its limit. The first paint is that of the overview, from the
start of the navigation on; search is the slowest of some words, the first of which makes the index; opening is the
slowest of up to 40 groups, layout of the page included. Cost is the processor time that a report adds to that of
the rewrite, in the median of pairs of runs. Times of pages are the best of some rounds: the machine may be busy.
"""

import argparse
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from browser import complaints_of, need_browser, open_browser, write_report

need_browser()

import report_models  # noqa: E402

SEARCH = """
  const field = document.getElementById('search');
  let slowest = 0;
  for (const words of ['m', 'ma', 'matmul', 'layer.7 relu', 'float32 guard', 'no such node']) {
    const begin = performance.now();
    field.value = words;
    field.dispatchEvent(new Event('input'));
    document.getElementById('results').offsetHeight;
    slowest = Math.max(slowest, performance.now() - begin);
  }
  return slowest;"""
OPEN = """
  const begin = performance.now();
  document.getElementById('to-graph').click();
  ampReport.graph.canvas.getBBox();
  const times = [];
  (function visit(group) {
    const begin = performance.now();
    ampReport.graph.show(group);
    ampReport.graph.canvas.getBBox();
    times.push(performance.now() - begin);
    for (const item of group.items) if (item.group && times.length < 40) visit(item.group);
  })(ampReport.graph.scopes.root);
  return [Math.max(...times), times.length, performance.now() - begin];"""
PAINT = """
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  return Math.max(ampReport.times.painted, paint ? paint.startTime : 0);"""
# bytes, milliseconds
LIMITS = {
    "real": (400_000, 400, 50, 150),
    "10,000": (5_000_000, 1000, 100, 300),
    "100,000": (40_000_000, 4000, 400, 500),
}
MOST_COST = 0.25


def measure_page(url, rounds):
    best = None
    for _ in range(rounds):
        browser = open_browser()
        try:
            browser.get(url)
            for _ in range(200):
                if browser.execute_script("return window.ampReport?.times.painted"):
                    break
                time.sleep(0.02)
            found = [browser.execute_script(PAINT), browser.execute_script(SEARCH), browser.execute_script(OPEN)[0]]
            if complaints := complaints_of(browser):
                sys.exit(f"{url}: {complaints}")
        finally:
            browser.quit()
        best = found if best is None else [min(a, b) for a, b in zip(best, found)]
    return best


def time_rewrite(tool, model, folder, flags):
    command = [tool, str(model), "-o", str(folder / "out.onnx"), "--quiet", "--verify=off", *flags]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_cost(tool, model, folder, rounds):
    """The share of the processor time of a rewrite that a report adds: the median of pairs, run one after the other."""
    plain, ratios = [], []
    for _ in range(rounds):
        plain.append(time_rewrite(tool, model, folder, []))
        ratios.append(time_rewrite(tool, model, folder, ["--report", str(folder / "cost.html")]) / plain[-1])
    return statistics.median(ratios) - 1, statistics.median(plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--models", type=pathlib.Path, help="a folder of real models")
    parser.add_argument("--rounds", type=int, default=3, help="of each page")
    parser.add_argument("--pairs", type=int, default=11, help="of rewrites")
    arguments = parser.parse_args()
    failed = False
    print(f"{'model':34} {'bytes':>11} {'paint':>7} {'search':>7} {'open':>7} {'cost':>6}   rewrite")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        models = [("real", path) for path in sorted(arguments.models.glob("*.onnx"))] if arguments.models else []
        for name, count in (("10,000", 10_000), ("100,000", 100_000)):
            models.append((name, report_models.blocks(count, folder / f"blocks{count}.onnx")))
            models.append((name, report_models.flat(count, folder / f"flat{count}.onnx")))
        for kind, model in models:
            page = folder / f"{model.stem}.html"
            url = write_report(arguments.tool, model, page)
            found = [page.stat().st_size, *measure_page(url, arguments.rounds)]
            cost, seconds = measure_cost(arguments.tool, model, folder, arguments.pairs)
            beyond = [value > limit for value, limit in zip(found, LIMITS[kind])] + [cost > MOST_COST]
            failed |= any(beyond)
            size, paint, search, opening = found
            print(
                f"{model.stem:34} {size:11,} {paint:7.0f} {search:7.1f} {opening:7.1f} {cost:6.1%}   {seconds:.2f} s"
                f"{'   BEYOND A LIMIT' if any(beyond) else ''}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
