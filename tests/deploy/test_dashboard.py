"""What Prometheus is asked for is what the code counts."""

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

TOP = Path(__file__).parents[2]
DASHBOARD: dict[str, Any] = json.loads((TOP / "deploy/grafana/dashboards/evolve.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
SUFFIXES = {
    "Counter": ["_total"], "Gauge": [""], "Histogram": ["_bucket", "_sum", "_count"], "Info": ["_info"],
}  # fmt: skip
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((TOP / "deploy/prometheus/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
# What vLLM shows, by its documentation and as seen at a running one.
VLLM = {
    "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
    "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
}  # fmt: skip
OF_PROMETHEUS = {"le", "job", "instance"}
NAME = re.compile(r"\b(?:evolve_|vllm:)\w+")


@cache
def defined() -> dict[str, set[str]]:
    """The series that the code defines, with their labels. To parse the code takes more than a second."""
    found: dict[str, set[str]] = {}
    for path in (TOP / "service").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in SUFFIXES:
                continue
            if not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            name = str(node.args[0].value).removesuffix("_total").removesuffix("_info")
            names = node.args[2].elts if len(node.args) > 2 and isinstance(node.args[2], ast.List | ast.Tuple) else []
            labels = {str(element.value) for element in names if isinstance(element, ast.Constant)}
            found |= {name + suffix: labels for suffix in SUFFIXES[node.func.id]}
    return found


def test_the_code_defines_metrics() -> None:
    assert {"evolve_evaluations_total", "evolve_queue_depth"} <= set(defined())


@pytest.mark.parametrize(("title", "expression"), EXPRESSIONS)
def test_every_panel_asks_for_what_is_counted(title: str, expression: str) -> None:
    names = NAME.findall(expression)
    assert names or expression == "sum by (job) (up)"
    known = defined()
    for name in names:
        assert name in known or name in VLLM, name
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        for label in {word.strip() for word in grouped.split(",")} - OF_PROMETHEUS:
            assert all(label in known[name] for name in names), label
    for bracket in ("()", "[]", "{}"):
        assert expression.count(bracket[0]) == expression.count(bracket[1])


@pytest.mark.parametrize("subject", ["evolve_runs", "evolve_worker", "evolve_queue"])
def test_what_stands_for_runs_workers_and_queue_is_seen_or_alerted_on(subject: str) -> None:
    expressions = [expression for _, expression in EXPRESSIONS] + [rule["expr"] for rule in RULES]
    looked_at = {_stem(name) for expression in expressions for name in NAME.findall(expression)}
    assert {_stem(name) for name in defined() if name.startswith(subject)} <= looked_at
    assert "evolve_worker_slots_wanted" in {name for _, expression in EXPRESSIONS for name in NAME.findall(expression)}


def _stem(name: str) -> str:
    """A metric without the ending of one of its series."""
    return re.sub(r"_(bucket|sum|count|total|info)$", "", name)


def test_panels_do_not_lie_over_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert all(panel["title"] and panel["description"] for panel in PANELS)


def test_grafana_finds_the_source_and_the_dashboard() -> None:
    folder = TOP / "deploy/grafana/provisioning"
    (source,) = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())["datasources"]
    used = {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]}
    assert used == {source["uid"]}
    (provider,) = yaml.safe_load((folder / "dashboards/evolve.yml").read_text())["providers"]
    compose = yaml.safe_load((TOP / "docker-compose.yml").read_text())["services"]["grafana"]
    assert f"./deploy/grafana/dashboards:{provider['options']['path']}:ro" in compose["volumes"]


def test_prometheus_asks_services_that_share_a_network_with_it() -> None:
    compose = yaml.safe_load((TOP / "docker-compose.yml").read_text())["services"]
    jobs = yaml.safe_load((TOP / "deploy/prometheus/prometheus.yml").read_text())["scrape_configs"]
    for job in jobs:
        (lookup,) = job["dns_sd_configs"]
        (name,) = lookup["names"]
        assert set(compose[name]["networks"]) & set(compose["prometheus"]["networks"])
        assert lookup["port"] == (8000 if name == "vllm" else 9100)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_asks_for_what_is_counted_and_says_what_to_do(rule: dict[str, Any]) -> None:
    names, known = NAME.findall(rule["expr"]), defined()
    assert names
    assert set(names) <= set(known)
    for label in re.findall(r"[{,]\s*(\w+)\s*(?:=~|!=|=)", rule["expr"]):
        assert all(label in known[name] for name in names), label
    assert len(rule["annotations"]["summary"]) > 40


def test_prometheus_reads_the_alerts() -> None:
    settings = yaml.safe_load((TOP / "deploy/prometheus/prometheus.yml").read_text())
    compose = yaml.safe_load((TOP / "docker-compose.yml").read_text())
    mounted = {one["target"]: compose["configs"][one["source"]] for one in compose["services"]["prometheus"]["configs"]}
    assert [mounted[path] for path in settings["rule_files"]] == [{"file": "./deploy/prometheus/alerts.yml"}]
