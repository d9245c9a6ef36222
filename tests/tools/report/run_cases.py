"""Pages of amp-run --profile and --compare, and of amp-train --log."""

import json
import pathlib
import subprocess

import numpy as np
import report_models
from page_case import PageTest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


class RunsTest(PageTest):
    @classmethod
    def make_pages(cls, tool):
        tools, folder = pathlib.Path(tool).resolve().parent, cls.folder
        run = lambda name, *words: subprocess.run([tools / name, *words], cwd=folder, check=True, capture_output=True)
        profile = ("--random-inputs", "--profile")
        report_models.blocks(120, folder / "b.onnx")
        report_models.hostile(folder / "h.onnx")
        run("amp-run", "b.onnx", *profile, "blocks.html")
        run("amp-run", "h.onnx", *profile, "hostile.html")
        run("amp-rewrite", "b.onnx", "-o", "low.onnx", "--verify=off")
        compare = ("amp-run", "b.onnx", "--random-inputs", "--compare", "low.onnx", "--report", "comparison.html")
        with cls.assertRaises(cls(), subprocess.CalledProcessError):  # they differ
            run(*compare)
        random = np.random.default_rng(0)
        x = random.standard_normal((64, 8), np.float32)
        np.savez(folder / "data.npz", x=x, labels=(x[:, 0] > 0).astype(np.int64))
        run("amp-train", "new", "mlp", "8-8-2", "-o", "m.onnx")
        run("amp-rewrite", "m.onnx", "-o", "step.onnx", "--train", "--loss-scale", "dynamic")
        data = ("--data", "x=data.npz:x", "--data", "labels=data.npz:labels", "--batch", "16", "--epochs", "5")
        run("amp-train", "step.onnx", *data, "--validation-split", "0.25", "--log", "training.html")
        run("amp-train", "step.onnx", *data, "--learning-rate", "0.1", "--log", "other.csv")
        return {name: (folder / f"{name}.html").as_uri() for name in ("blocks", "hostile", "comparison", "training")}

    def data(self):
        return json.loads(self.one("#data").get_attribute("textContent"))

    def test_a_profile_has_the_time_of_operators_and_nodes(self):
        self.open("blocks")
        nodes = self.data()["nodes"]
        operators = {node[1] for node in nodes}
        rows = self.all("#tab-time tbody tr")
        self.assertEqual({row.find_element(By.CSS_SELECTOR, "td").text for row in rows}, operators)
        self.assertEqual(len(self.all(".treemap rect")), sum(node[4] > 0 for node in nodes))
        self.shoot("profile")
        self.tab("nodes")
        self.assertEqual(len(self.all("#tab-nodes tbody tr")), min(len(nodes), 200))
        longest = max(nodes, key=lambda node: node[4])
        self.assertEqual(self.one("#tab-nodes tbody td").text, longest[0])

    def test_a_profile_has_the_memory_over_the_run(self):
        self.open("blocks")
        self.tab("memory")
        alive = self.data()["alive"]
        self.assertGreater(len(alive), 10)
        self.assertTrue(all(size > 0 for _, size in alive))
        self.assertIn(max(alive, key=lambda each: each[1])[0], self.one("#tab-memory").text)
        self.assertTrue(self.one("#tab-memory path.line").get_attribute("d"))
        self.shoot("memory")

    def test_a_training_has_curves_and_takes_other_runs(self):
        self.open("training")
        titles = self.texts("#plots h2")
        self.assertEqual(titles[:3], ["Loss", "Accuracy", "Loss scale"])
        lines = lambda: len(self.all("#plots figure:first-child path.line"))
        self.assertEqual(lines(), 2)
        self.one("#files").send_keys(str(self.folder / "other.csv"))
        WebDriverWait(self.browser, 5).until(lambda _: lines() == 3)
        self.assertIn("other.csv", self.one("#plots").text)
        self.one("#files").send_keys(str(self.folder / "data.npz"))
        WebDriverWait(self.browser, 5).until(lambda _: "data.npz" in self.one("#refused").text)
        self.assertEqual(lines(), 3)
        (self.folder / "broken.html").write_text('<script type="application/json" id="data">{</script>')
        self.one("#files").send_keys(str(self.folder / "broken.html"))
        WebDriverWait(self.browser, 5).until(lambda _: "broken.html" in self.one("#refused").text)
        (self.folder / "huge.csv").write_text("epoch,loss,accuracy\n1,1e20,nan\n2,1e20,\n")
        self.one("#files").send_keys(str(self.folder / "huge.csv"))
        WebDriverWait(self.browser, 5).until(lambda _: lines() == 4)
        self.assertEqual(self.one("#refused").text, "")
        self.shoot("training")
        self.tab("epochs")
        self.assertEqual(len(self.all("#tab-epochs tbody tr")), 5)

    def test_a_comparison_has_outputs_and_the_errors_on_the_way(self):
        self.open("comparison")
        data = self.data()
        self.assertEqual(self.one("#tab-outputs h2").text, "The models differ")
        self.assertEqual(len(self.all("#tab-outputs tbody tr")), len(data["outputs"]))
        self.tab("along")
        self.assertGreater(len(data["values"]), 100)
        self.assertEqual(len(self.all("#tab-along path.line")), 2)
        beyond = [value for value in data["values"] if value[4] > data["tolerance"] or value[6] > 0]
        self.assertIn(beyond[0][0], self.one("#first").text)
        self.shoot("comparison")

    def test_names_are_text(self):
        self.open("hostile")
        for tab in ("time", "nodes", "memory"):
            self.tab(tab)
        self.assertEqual(self.all("img"), [])
        self.assertEqual(len(self.all("script")), 2)

    def test_axe_finds_no_fault(self):
        self.check_with_axe("blocks", ("time", "nodes", "memory"))
        self.check_with_axe("comparison", ("outputs", "along"))
        self.check_with_axe("training", ("curves", "epochs"))
