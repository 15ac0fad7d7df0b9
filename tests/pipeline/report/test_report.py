"""Reports and pipelines on terminals and in notebooks."""

from xml.etree import ElementTree

import numpy as np
import pytest

import mstflow
from mstflow.pipeline.planning.plan import Plan
from mstflow.pipeline.report.records import StageCall
from mstflow.pipeline.report.report import Report
from mstflow.pipeline.report.tables import Table, as_html, as_text

REPORT = Report(
    [
        StageCall(0, "read <all>", 0, 0.5, 2_000_000),
        StageCall(1, "join", 0, 1.0, 1_000_000),
        StageCall(1, "join", 1, 0.5, 500_000),
    ],
    {0: {"num_vertices": 4000, "num_edges": 90_000}},
    {"num_joined": 3999},
    Plan("whole", reason="why & how", algorithm="kruskal", backend="numpy"),
)
WITHOUT_ROUNDS = ["kruskal", "kruskal-helpers", "prim"]
TEXT = """\
kruskal on numpy, whole: why & how

round  vertices   edges   MB       ms   %
0         4,000  90,000  2.0    500.0  25
1                        1.5  1,500.0  75

stage            ms   %
read <all>    500.0  25
join        1,500.0  75

at the end  count
num_joined  3,999"""


def test_text():
    assert str(REPORT) == repr(REPORT) == TEXT


def test_html_has_the_content_of_the_text():
    html = ElementTree.fromstring(REPORT._repr_html_())
    assert html.find("div").text == "kruskal on numpy, whole: why & how"
    drawn = [
        [[cell.text or "" for cell in row] for row in table.iter("tr")]
        for table in html.iter("table")
    ]
    blocks = TEXT.split("\n\n")[1:]
    for table, block in zip(drawn, blocks, strict=True):
        assert ["".join(row).replace(" ", "") for row in table] == [
            line.replace(" ", "") for line in block.splitlines()
        ]


def test_html_needs_no_stylesheet():
    html = REPORT._repr_html_()
    for part in ("src=", "href=", "url(", "@import", "<script", "<style", "<all>"):
        assert part not in html
    cells = [cell for tag in ("td", "th") for cell in ElementTree.fromstring(html).iter(tag)]
    styles = [style for cell in cells for style in cell.get("style").split(";")]
    colors = {style for style in styles if style.startswith(("color", "background:"))}
    bars = {style for style in colors if "linear-gradient(90deg,rgba(" in style}
    assert colors - bars == {"color:inherit", "background:none"}
    assert sorted(bar.split("0.5) ")[1].split("%")[0] for bar in bars) == ["25", "75"]


def test_reports_of_runs(algorithm):
    graph = tuple(np.random.default_rng(3).integers(0, 99, (2, 400)))
    pipeline = mstflow.algorithm(algorithm)
    small = {"small": 0} if "small" in pipeline.values else {}  # else this graph takes no round
    report = mstflow.minimum_spanning_forest(graph, algorithm=pipeline.given(**small)).report
    vertices = [row.vertices for row in report.rounds[1:]]
    assert vertices[:1] == ([] if algorithm in WITHOUT_ROUNDS else [99])
    assert vertices == sorted(vertices, reverse=True)
    assert [row.number for row in report.rounds] == list(range(len(report.rounds)))
    assert all(row.bytes > 0 and min(row.seconds.values()) >= 0 for row in report.rounds)
    text, html = str(report), report._repr_html_()
    for name in (*report.seconds, *report.final):
        assert name in text
        assert f">{name}<" in html
    ElementTree.fromstring(html)


def test_algorithms_with_equal_contractions_report_equal_counts():
    u, v, weight = np.random.default_rng(3).integers(0, 99, (3, 400))
    algorithms = "boruvka-edgelist", "boruvka-sorted", "boruvka-csr"
    first, *others = (
        mstflow.minimum_spanning_forest((u, v, weight), algorithm=algorithm).report.counts
        for algorithm in algorithms
    )
    assert all(other == first for other in others)


def test_an_empty_report():
    shown = ["whole", "round", "vertices", "edges", "MB", "ms", "stage", "ms"]
    assert str(Report()).split() == shown
    assert len(list(ElementTree.fromstring(Report()._repr_html_()).iter("tr"))) == 2


def test_tables_are_escaped():
    table = Table(("<a>", "b"), [('"&', "1")], [])
    assert as_text("", [table]) == '<a>  b\n"&   1'
    html = as_html("<i>", [table])
    assert "<a>" not in html
    assert "<i>" not in html
    assert "&quot;&amp;" in html


@pytest.mark.parametrize("name", ["prim", "filter-boruvka"])
def test_a_pipeline_draws_itself_in_a_notebook(name):
    pipeline = mstflow.algorithm(name)
    assert pipeline._repr_svg_() == pipeline.draw()
