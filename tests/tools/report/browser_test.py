#!/usr/bin/env python3
"""Drives HTML reports, profiles, comparisons and logs of trainings in Debian's Chromium.

browser_test.py AMP_REWRITE [--shots DIR]    exit code 77 where there is no browser; amp-run and amp-train lie beside it
"""

import argparse
import pathlib
import sys
import unittest

from browser import need_browser

need_browser()

from page_case import PageTest  # noqa: E402
from report_cases import ReportTest  # noqa: E402
from run_cases import RunsTest  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--shots", type=pathlib.Path, help="a folder for pictures of the pages")
    parser.add_argument("--only", default="", help="a part of the names of tests")
    arguments = parser.parse_args()
    PageTest.tool, PageTest.shots = arguments.tool, arguments.shots
    loader = unittest.TestLoader()
    if arguments.only:
        loader.testNamePatterns = [f"*{arguments.only}*"]
    tests = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (ReportTest, RunsTest))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
