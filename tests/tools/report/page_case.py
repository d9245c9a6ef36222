"""A test that drives a page in Debian's Chromium, as somebody would who opens it from disk.

No page may ask for anything, complain in its console, or take a name of the model for more than text.
"""

import pathlib
import tempfile
import unittest

from browser import complaints_of, open_browser, requests_of
from selenium.webdriver.common.by import By


class PageTest(unittest.TestCase):
    """Each page is held to this, and each test has these words."""

    tool = None  # amp-rewrite; the other programs lie beside it
    shots = None  # a folder for pictures

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.browser = open_browser(downloads=cls.folder)
        cls.pages = cls.make_pages(cls.tool)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.scratch.cleanup()

    def setUp(self):
        requests_of(self.browser), complaints_of(self.browser)

    def tearDown(self):
        """Holds for every test."""
        asked = [url for url in requests_of(self.browser) if not url.startswith(("file:///", "blob:null/"))]
        self.assertEqual(asked, [])
        self.assertEqual(complaints_of(self.browser), [])
        self.assertFalse(self.script("return 'hacked' in window"))

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def open(self, name, link=""):
        self.browser.get("about:blank")
        self.browser.get(self.pages[name] + link)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [element.text for element in self.all(selector)]

    def tab(self, name):
        self.one(f"#to-{name}").click()

    def shoot(self, name):
        if self.shots:
            self.shots.mkdir(parents=True, exist_ok=True)
            self.browser.save_screenshot(str(self.shots / f"{name}.png"))

    def box(self, title):
        found = [box for box in self.all(".box") if box.find_element(By.CSS_SELECTOR, ".title").text == title]
        self.assertTrue(found, f"no box {title} among {self.texts('.box .title')}")
        return found[0]

    def search(self, words):
        field = self.one("#search")
        field.clear()
        field.send_keys(words)
        return self.all("#results li")

    def check_with_axe(self, page, tabs):
        from axe_core_python.selenium import Axe

        axe = Axe()
        for tab in tabs:
            for theme in ("light", "dark"):
                self.open(page)
                self.script("document.documentElement.dataset.theme = arguments[0]", theme)
                self.tab(tab)
                faults = axe.run(self.browser)["violations"]
                told = [f"{fault['id']}: {fault['nodes'][0]['html'][:200]}" for fault in faults]
                self.assertEqual(told, [], f"{page}, {tab}, {theme}")
