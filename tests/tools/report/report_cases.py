"""Pages of amp-rewrite --report."""

import base64
import csv
import re
import subprocess
import time

import numpy as np
import onnx
import report_models
from browser import write_report
from page_case import PageTest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

FEATURE = "prefers-color-scheme"


class ReportTest(PageTest):
    @classmethod
    def make_pages(cls, tool):
        return {
            "blocks": write_report(
                tool, report_models.blocks(120, cls.folder / "b.onnx"), cls.folder / "blocks.html", "--deny", "Softmax"
            ),
            "constant": write_report(tool, report_models.constant(cls.folder / "c.onnx"), cls.folder / "constant.html"),
            "calibrated": cls.write_calibrated(tool),
            "loop": write_report(tool, report_models.loop(cls.folder / "l.onnx"), cls.folder / "loop.html"),
            "flat": write_report(tool, report_models.flat(700, cls.folder / "f.onnx"), cls.folder / "flat.html"),
            "hostile": write_report(tool, report_models.hostile(cls.folder / "h.onnx"), cls.folder / "hostile.html"),
        }

    @classmethod
    def write_calibrated(cls, tool):
        model = report_models.blocks(120, cls.folder / "k.onnx")
        sample = {
            i.name: [d.dim_value or 4 for d in i.type.tensor_type.shape.dim] for i in onnx.load(model).graph.input
        }
        random = np.random.default_rng(0)
        np.savez(cls.folder / "k.npz", **{name: random.random(dims, np.float32) for name, dims in sample.items()})
        return write_report(
            tool, model, cls.folder / "calibrated.html", "--calibration", str(cls.folder / "k.npz"), "--sensitivity"
        )

    def test_values_that_were_observed_have_histograms(self):
        self.open("calibrated")
        self.tab("values")
        seen = self.script("return ampReport.data.observed.size")
        self.assertGreater(seen, 100)
        self.assertEqual(len(self.all("#tab-values tbody tr")), min(seen, 200))
        self.assertTrue(self.all("#tab-values svg.spark rect.bin"))
        counted = self.script(
            "const [seen] = ampReport.data.observed.values();"
            "const { bins, zeros, notFinite } = seen.exponents;"
            "return bins.reduce((a, b) => a + b, zeros + notFinite) === seen.elements"
        )
        self.assertTrue(counted)
        self.all("#tab-values tbody tr")[1].click()
        self.shoot("values")
        self.one("#tab-values .large button").click()
        self.assertTrue(self.all("#panel svg.spark"))

    def test_exponents_that_nobody_counted_are_a_sentence(self):
        self.open("blocks")
        self.tab("weights")
        self.assertTrue(self.all("#tab-weights svg.spark rect.bin"))
        page = self.folder / "blocks.html"
        uncounted = re.sub(r"(-?\d+,\d+,\[[\d,]+\],\d+,\d+)(?=\])", "0,1,[],0,0", page.read_text())
        (self.folder / "uncounted.html").write_text(uncounted)
        self.pages["uncounted"] = self.pages["blocks"].replace("blocks.html", "uncounted.html")
        self.open("uncounted")
        self.tab("weights")
        self.assertNotIn("exponents", self.texts("#tab-weights th"))
        self.assertIn("Exponents were not counted", self.one("#tab-weights p.quiet").text)

    def test_errors_of_parts_are_in_a_table_and_in_the_panel(self):
        self.open("calibrated")
        self.tab("errors")
        parts = self.script("return ampReport.data.parts.length")
        self.assertGreater(parts, 1)
        rows = self.all("#tab-errors tbody tr")
        self.assertEqual(len(rows), parts)
        name = rows[0].find_element(By.CSS_SELECTOR, "td").text
        self.shoot("errors")
        rows[0].click()
        self.assertIn(f"part {name}: ", self.one("#panel").text)
        self.assertIn("of the squared error of all parts", self.one("#panel").text)

    def test_overview_counts_what_the_data_say(self):
        self.open("blocks")
        low, count = self.script("return [ampReport.data.nodes.low.filter(Boolean).length, ampReport.data.count]")
        self.assertEqual(self.one("#tab-overview .big").text, f"{low} of {count} nodes in float16")
        self.assertIn("amp-rewrite", self.one("#tab-overview .copyable code").text)
        self.shoot("overview")

    def test_repeated_blocks_are_one_box_that_opens(self):
        self.open("blocks")
        self.tab("graph")
        titles = self.texts(".box .title")
        repeats = [title for title in titles if "×" in title]
        self.assertEqual(len(repeats), 1, titles)
        self.assertIn("layer", repeats[0])
        self.shoot("graph")
        self.box(repeats[0]).click()
        inside = self.texts(".box.group:not(.outside) .title")
        self.assertEqual(len(inside), int(repeats[0].split("×")[1]))
        self.all(".box.group:not(.outside)")[0].click()
        self.assertEqual(len(self.all(".crumbs button")), 2)
        self.one(".graph").send_keys(Keys.ESCAPE)
        self.assertEqual(self.texts(".box.group:not(.outside) .title"), inside)

    def test_a_loop_and_its_body_give_each_other_values(self):
        self.open("loop")
        self.tab("graph")
        self.assertEqual({"Loop", "MatMul", "Tanh"} - set(self.texts(".box .title")), set())
        passing = [edge.get_attribute("textContent") for edge in self.all("path.edge title, path.castedge title")]
        for value in ("before float32", "product float", "after float32"):
            self.assertTrue(any(value in text for text in passing), (value, passing))
        self.shoot("loop")

    def test_why_panel_says_why_and_copies_the_flag(self):
        self.open("blocks")
        self.search("layer.3 softmax")[0].click()
        panel = self.one("#panel").text
        self.assertIn("/decoder/layer.3/attention/Softmax_3", panel)
        self.assertIn("Stays float32: denied", panel)
        self.assertIn("--allow-node /decoder/layer.3/attention/Softmax_3", panel)
        self.browser.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite"]})
        self.one("#panel .copy").click()
        # The clipboard answers when it likes.
        said = lambda _: "Copied: --allow-node" in self.one("#status").get_attribute("textContent")
        WebDriverWait(self.browser, 10).until(said)
        field = self.one("#search")
        field.clear()
        field.send_keys(Keys.CONTROL, "v")
        self.assertEqual(field.get_attribute("value"), "--allow-node /decoder/layer.3/attention/Softmax_3")
        self.shoot("why")

    def test_a_guard_has_its_numbers(self):
        self.open("blocks")
        self.tab("guards")
        rows = [row for row in self.all("#tab-guards tbody tr") if "/Mul_7" in row.text]
        self.assertEqual(len(rows), 12)
        rows[0].click()
        self.assertIn("Stays float32: guard: constant 'tiny'", self.one("#panel").text)
        self.assertEqual(len(self.all(".box.selected.by-guard")), 1)

    def test_casts_are_marks_on_edges(self):
        self.open("blocks")
        self.search("layer.2 softmax")[0].click()
        marks = self.all(".graph .cast")
        self.assertGreaterEqual(len(marks), 2)  # into the Softmax, and out of it
        self.tab("casts")
        casts = self.script("return ampReport.data.casts.length")
        self.assertEqual(len(self.all("#tab-casts tbody tr")), casts)

    def test_search_finds_by_name_operator_reason_and_type(self):
        self.open("blocks")
        count = lambda *words: self.script("return ampReport.data.find(arguments[0], 1e9).length", " ".join(words))
        self.assertEqual(count("softmax"), 12)
        self.assertEqual(count("layer.11"), 10)
        self.assertEqual(count("guard", "mul"), 12)
        self.assertEqual(count("denied", "softmax"), 12)
        self.assertEqual(count("float16") + count("float32"), 120)
        self.assertEqual(self.search("no such node")[0].text, "No node has all of these words.")
        found = self.search("layer.1/")
        self.assertEqual(len(found), 10)
        self.one("#search").send_keys(Keys.ARROW_DOWN, Keys.ENTER)
        self.assertIn("layer.1/", self.one("#panel .path").text)

    def test_a_link_names_a_node(self):
        self.open("blocks", "#node=%2Fdecoder%2Flayer.5%2Fmlp%2FMul_7")
        self.assertEqual(self.one("#panel .path").text, "/decoder/layer.5/mlp/Mul_7")
        self.assertEqual(self.one(".box.selected .title").text, "Mul")
        self.script("location.hash = 'node=%2Fdecoder%2Flayer.6%2Fmlp%2FAdd_5'")
        self.assertEqual(self.one("#panel .path").text, "/decoder/layer.6/mlp/Add_5")

    def test_tables_sort_and_filter(self):
        self.open("blocks")
        self.tab("nodes")
        heads = self.all("#tab-nodes th button")
        operator = next(head for head in heads if head.text == "operator")
        column = lambda: self.texts("#tab-nodes tbody td:nth-child(2)")
        operator.click()
        self.assertEqual(column(), sorted(column()))
        operator.click()
        self.assertEqual(column(), sorted(column(), reverse=True))
        self.assertEqual(self.all("#tab-nodes th")[1].get_attribute("aria-sort"), "descending")
        self.one("#tab-nodes input").send_keys("guard mul")
        self.assertEqual(set(column()), {"Mul"})
        self.assertEqual(self.one("#tab-nodes .toolbar .quiet").text, "12 of 120 rows")
        self.shoot("nodes")

    def test_a_table_goes_to_csv(self):
        self.open("hostile")
        self.tab("nodes")
        self.one("#tab-nodes .toolbar button").click()
        file = self.folder / "nodes.csv"
        for _ in range(100):
            if file.exists():
                break
            time.sleep(0.05)
        csv.field_size_limit(1 << 20)
        with file.open(newline="", encoding="utf-8") as text:
            rows = list(csv.reader(text))
        self.assertEqual(rows[0], ["node", "operator", "class", "type", "reason", "why"])
        self.assertEqual(len(rows), len(report_models.HOSTILE) + 1)
        self.assertFalse([row[0][:9] for row in rows if row[0].startswith("=")])  # no formula of a spreadsheet
        file.unlink()

    def test_weights_have_histograms(self):
        self.open("blocks")
        self.tab("weights")
        self.assertEqual(len(self.all("#tab-weights .exponents .bin")) > 2, True)
        self.assertEqual(len(self.all("#tab-weights .spark")), len(self.all("#tab-weights tbody tr")))
        self.shoot("weights")

    def test_keys_move_through_the_graph(self):
        self.open("flat")
        self.tab("graph")
        canvas = self.one(".graph")
        canvas.send_keys(Keys.ARROW_DOWN)
        first = self.script("return document.activeElement.getAttribute('aria-label')")
        self.script("return document.activeElement").send_keys(Keys.ARROW_DOWN)
        second = self.script("return document.activeElement.getAttribute('aria-label')")
        self.assertTrue(first and second and first != second, (first, second))
        scale = lambda: self.script("return ampReport.graph.transform.k")
        before = scale()
        self.script("return document.activeElement").send_keys("+")
        self.assertGreater(scale(), before)

    def test_every_node_is_in_a_group_and_no_group_has_more_than_300_boxes(self):
        for name in ("blocks", "flat", "hostile"):
            self.open(name)
            self.tab("graph")
            most, drawn = self.script("""
                const { graph } = ampReport;
                const drawn = new Set();
                let most = 0;
                (function visit(group) {
                  graph.show(group);
                  most = Math.max(most, document.querySelectorAll('.box').length);
                  for (const box of graph.boxes.filter((box) => !box.outside)) {
                    for (const node of box.chain || [box.node]) if (node !== undefined) drawn.add(node);
                  }
                  for (const item of group.items) if (item.group) visit(item.group);
                })(graph.scopes.root);
                return [most, drawn.size];""")
            self.assertLessEqual(most, 300, name)
            self.assertEqual(drawn, self.script("return ampReport.data.count"), name)

    def test_nothing_to_draw(self):
        self.open("constant")
        self.assertEqual(self.one("#tab-overview .big").text, "0 of 1 node in float16")
        for tab in ("graph", "nodes", "casts", "guards", "weights"):
            self.tab(tab)
        self.assertEqual(self.texts("#tab-weights .quiet"), ["There are no weights."])

    def test_dark_light_and_narrow(self):
        self.open("blocks")
        colour = lambda: self.script("return getComputedStyle(document.body).backgroundColor")
        light = colour()
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": FEATURE, "value": "dark"}]})
        dark = colour()
        self.assertNotEqual(light, dark)
        self.shoot("dark")
        self.one("#theme").click()
        self.assertEqual(colour(), light)
        self.one("#theme").click()
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        self.assertEqual(colour(), dark)
        self.browser.set_window_size(500, 800)
        for name in ("overview", "graph", "nodes", "weights"):
            self.tab(name)
            too_wide = self.script("return document.documentElement.scrollWidth - innerWidth")
            self.assertLessEqual(too_wide, 0, name)
            self.shoot(f"narrow_{name}")
        self.browser.set_window_size(1440, 900)

    def test_print_shows_the_tables(self):
        self.open("blocks")
        pdf = base64.b64decode(self.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertEqual(len(self.script("return document.querySelectorAll('#tab-nodes tbody tr')")), 120)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertTrue(self.one("#tab-nodes table").is_displayed())
        self.assertFalse(self.one("#tabs").is_displayed())
        self.shoot("print")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_hostile_names_are_text(self):
        self.open("hostile")
        for tab in ("graph", "nodes", "casts", "weights", "guards", "overview"):
            self.tab(tab)
        paths = self.script("return ampReport.data.nodes.path.map((p) => ampReport.data.strings[p])")
        self.assertEqual(set(paths) & set(report_models.HOSTILE), set(report_models.HOSTILE))
        self.assertEqual(self.all("img"), [])
        self.assertEqual(len(self.all("script")), 2)
        self.tab("nodes")
        rows = self.texts("#tab-nodes tbody td:first-child")
        self.assertTrue(any("</script><script>" in row for row in rows))
        self.assertTrue(any("⟨U+202E⟩" in row for row in rows))
        self.assertLess(max(map(len, rows)), 300)
        for row in range(len(rows)):
            self.tab("nodes")
            self.all("#tab-nodes tbody tr")[row].click()
            self.assertIn("--deny-node", self.one("#panel").text)
        self.shoot("hostile")

    def test_flags_are_words_of_a_shell(self):
        self.open("hostile")
        names = [name for name in report_models.HOSTILE if len(name) < 1000]
        for name in names:
            i = self.script(
                "return ampReport.data.nodes.path.findIndex((p) => ampReport.data.strings[p] === arguments[0])", name
            )
            self.tab("nodes")
            self.script("document.querySelectorAll('#tab-nodes tbody tr')[arguments[0]].click()", i)
            flag = self.one("#panel .copy").get_attribute("data-copies")
            found = subprocess.run(
                ["bash", "-c", f"printf %s {flag.removeprefix('--deny-node ')}"], capture_output=True
            )
            self.assertEqual(found.stdout.decode(), name)

    def test_axe_finds_no_fault(self):
        self.check_with_axe("blocks", ("overview", "graph", "nodes", "casts", "weights", "guards"))
        self.check_with_axe("calibrated", ("values", "errors"))
