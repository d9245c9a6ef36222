"""Debian's Chromium, without a window: opens HTML reports from disk, and tells what they ask for and complain about."""

import json
import os
import shutil
import subprocess
import sys

SKIPPED = 77
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")


def need_browser():
    """Ends the process, loudly, where there is no browser; goes on in the Python that has the packages to drive one."""
    python = os.environ.get("AMP_REPORT_PYTHON")
    if python and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(python))):
        os.execv(python, [python, *sys.argv])
    missing = [name for name, found in (("chromium", CHROMIUM), ("chromium-driver", DRIVER)) if not found]
    try:
        import selenium  # noqa: F401
    except ImportError:
        missing.append("selenium (tests/tools/report/requirements.txt)")
    if missing:
        print(f"SKIPPED: {', '.join(missing)} not found; tools/dev check-report installs them", file=sys.stderr)
        sys.exit(SKIPPED)


def open_browser(width=1440, height=900, downloads=None):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if downloads:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    browser.set_window_size(width, height)
    return browser


def requests_of(browser):
    """The addresses that pages asked for since the last call."""
    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return found


def complaints_of(browser):
    """The lines of the console since the last call."""
    return [entry["message"] for entry in browser.get_log("browser")]


def write_report(tool, model, page, *flags):
    command = [tool, str(model), "--dry-run", "--verify=off", "--quiet", "--report", str(page), *flags]
    subprocess.run(command, check=True, timeout=600)
    return page.resolve().as_uri()
