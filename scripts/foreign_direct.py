"""How each project calls its own evaluator for the first program of a folder, as the text of a small program.

It runs in a copy of the folder at its place in the checkout, with the interpreter that has the libraries, and prints
its metrics as JSON. Where the evaluator needs the project itself, its package comes from the checkout.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

SHIM = Path(__file__).resolve().parents[1] / "service" / "sandbox" / "shim"
MAX_REASON = 200
TOO_LONG = "it took longer than"
# Where a checkout has its package. The others have one that few install: the shim has what evaluators import of it.
PACKAGES = {
    "eoh": ("eoh/src",),
    "llm4ad": (".",),
    "gepa": ("src", "."),
    "alphaevolve": ("src", "."),
    "algotune": (".",),
    "openevolve": (".",),
}
_LOADS = """
import glob, importlib.util, json, math, os, runpy, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())
def load(path, name, beside=True):
    if beside:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
def first(*places):
    return next(place for place in places if os.path.exists(place))
def tell(found):
    found = getattr(found, "metrics", found)
    found = {"score": found} if isinstance(found, (int, float)) else dict(found)
    for key in ("public", "private"):
        if isinstance(found.get(key), dict):
            found.update(found.pop(key))
    plain = {key: float(value) for key, value in found.items() if isinstance(value, (int, float)) and value is not True
             and value is not False or type(value).__module__ == "numpy"}
    if not any(map(math.isfinite, plain.values())):
        raise SystemExit(f"no metric is a finite number: {plain}")
    if found.get("error") and not all(map(math.isfinite, plain.values())):
        raise SystemExit(str(found["error"]))
    sys.__stdout__.write("\\nMETRICS " + json.dumps(plain) + "\\n")
    sys.__stdout__.flush()
    os._exit(0)
"""
DIRECT = {
    "openevolve": """
import asyncio
from openevolve.config import Config, load_config
from openevolve.evaluator import Evaluator
named = [name for name in ("config.yaml", "config.yml") if os.path.exists(name)]
settings = load_config(named[0]) if named else Config()
seed = first(*sorted(name for name in os.listdir(".") if name.startswith(("initial_pro", "init_program."))))
evaluator = Evaluator(settings.evaluator, os.path.abspath("evaluator.py"), suffix=os.path.splitext(seed)[1])
found = asyncio.run(evaluator.evaluate_program(open(seed).read()))
if set(found) == {"error"}:
    raise SystemExit("OpenEvolve gives its metrics for an evaluation that failed")
tell(found)
""",
    "skydiscover": """
seed = first(*sorted(name for name in os.listdir(".") if name.startswith("initial_program.")))
scorers = [name for name in ("evaluator/evaluator.py", "evaluator.py") if os.path.exists(name)]
scorer = next((name for name in scorers if "def evaluate(" in open(name).read()), scorers[0])
text = open(scorer).read()
if os.path.exists("evaluator/Dockerfile"):
    text = text.replace('"/benchmark', f'"{os.path.abspath("evaluator")}')
    open(scorer, "w").write(text)
if "def evaluate(" not in text:
    import subprocess
    printed = subprocess.run([sys.executable, scorer, seed], check=True, stdout=subprocess.PIPE, text=True).stdout
    tell(json.loads(printed.strip().splitlines()[-1]))
tell(load(scorer, "evaluator").evaluate(os.path.abspath(seed)))
""",
    "shinka": """
import subprocess
seed = first(*sorted(name for name in os.listdir(".") if name.startswith("initial.")))
subprocess.run([sys.executable, "evaluate.py", "--program_path", seed, "--results_dir", "direct_results"], check=True)
correct = json.load(open("direct_results/correct.json"))
if not correct.get("correct"):
    raise SystemExit(str(correct.get("error")))
found = json.load(open("direct_results/metrics.json"))
tell({"combined_score": found.get("combined_score"), "public": found.get("public") or {}})
""",
    "codeevolve": """
import subprocess
seed = first(*sorted("input/src/" + name for name in os.listdir("input/src") if name.startswith("init_program")))
words = [sys.executable, os.path.abspath("input/evaluate.py"), os.path.abspath(seed), os.path.abspath("direct.json")]
subprocess.run(words, check=True, cwd="input/src")
tell(json.load(open("direct.json")))
""",
    "gigaevo": """
seeds = sorted(name for name in os.listdir("initial_programs") if name.endswith(".py"))
context = [load("context.py", "context").build_context()] if os.path.exists("context.py") else []
for seed in seeds:
    try:
        output = load("initial_programs/" + seed, "program", beside=False).entrypoint(*context)
        found = load("validate.py", "validate").validate(*context, output)
    except Exception as error:
        sys.stderr.write(f"{error!r}\\n")
    else:
        tell(found)
raise SystemExit("no first program is valid")
""",
    "eoh": """
import eoh
from eoh.problem import BaseProblem
class Started(BaseException):
    pass
class Search:
    def __init__(self, **named):
        self.problem = named["problem"]
        raise Started(self.problem)
eoh.EoH = Search
try:
    runpy.run_path("runEoH.py", run_name="__main__")
except Started as started:
    problem = started.args[0]
found = problem.evaluate(problem.template_program)
if found is None:
    raise SystemExit("evaluate returned None")
tell({"fitness": found})
""",
    "llm4ad": """
import inspect
from llm4ad.base import Evaluation, SecureEvaluator
module = load("evaluation.py" if os.path.exists("evaluation.py") else glob.glob("*.py")[0], "evaluation")
made = [one for one in vars(module).values() if inspect.isclass(one) and issubclass(one, Evaluation)
        and one.__module__ == "evaluation" and not inspect.isabstract(one)]
said = dict(line.split(":", 1) for line in open("paras.yaml") if ":" in line) if os.path.exists("paras.yaml") else {}
taken = inspect.signature(made[0].__init__).parameters
given = {key: float(value) if "." in value else int(value) for key, value in said.items() if key in taken}
task = made[0](**given)
found = SecureEvaluator(task).evaluate_program(str(task.template_program))
if found is None:
    raise SystemExit("evaluate_program returned None")
found = found.tolist() if hasattr(found, "tolist") else found
tell({f"score_{at}": one for at, one in enumerate(found, 1)} if isinstance(found, (list, tuple)) else {"score": found})
""",
    "funsearch": """
found, names = [], {"__name__": "specification"}
cells = ["".join(cell["source"]) for cell in json.load(open(glob.glob("*.ipynb")[0]))["cells"]
         if cell["cell_type"] == "code"]
at = next(at for at, text in enumerate(cells) if "@funsearch.run" in text and "@funsearch.evolve" in text)
for text in cells[:at + 1]:
    exec(text, names)
scorer = names["evaluate"]
def evaluate(*arguments, **named):
    found.append(scorer(*arguments, **named))
    return found[-1]
exec(cells[at + 1], {**names, "evaluate": evaluate})
tell({"score": found[-1]})
""",
    "gepa": """
import argparse, gepa.optimize_anything, inspect
add_argument = argparse.ArgumentParser.add_argument
def optional(parser, *names, required=False, **named):
    return add_argument(parser, *names, **{**({"default": "none"} if required else {}), **named})
argparse.ArgumentParser.add_argument = optional
class Called(BaseException):
    pass
def optimize_anything(seed_candidate=None, **named):
    raise Called(seed_candidate, named)
gepa.optimize_anything.optimize_anything = optimize_anything
script = first("main.py", *sorted(glob.glob("*.py")))
sys.argv = [script]
try:
    runpy.run_path(script, run_name="__main__")
except Called as called:
    seed, given = called.args
examples = given.get("valset") or given.get("dataset") or [None]
def scored(example):
    offered, taken = {"example": example, "opt_state": None}, inspect.signature(given["evaluator"]).parameters
    result = given["evaluator"](seed, **{name: value for name, value in offered.items() if name in taken})
    return float(result[0] if isinstance(result, tuple) else result)
tell({"score": sum(map(scored, examples)) / len(examples)})
""",
    "alphaevolve": """
import subprocess
if os.path.exists("initial_program.py"):
    words = [sys.executable, "evaluator.py", "--output-file", "direct.json", "--input-program-file"]
    subprocess.run([*words, "initial_program.py"], check=True)
    found = json.load(open("direct.json"))
    tell({load("evaluator.py", "evaluator").EVALUATION_METRIC: found["score"]})
import importlib
place = os.path.relpath(os.environ["FOLDER"], os.environ["CHECKOUT"]).replace(os.sep, ".")
module = importlib.import_module(place + ".src.evaluate")
text = open("src/program.py").read()
scorer = next(one for name, one in vars(module).items() if name.endswith(("evaluation", "evaluation_function")))
result = scorer({"content": {"files": [{"path": "main.py", "content": text}]}})
tell({one["metric"]: one["score"] for one in result["scores"]["scores"]})
""",
    "algotune": """
import importlib
task = next(name[:-3] for name in sorted(os.listdir(".")) if name.endswith(".py") and name != "__init__.py")
module = importlib.import_module(f"AlgoTuneTasks.{task}.{task}")
from AlgoTuneTasks.base import Task
made = next(one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Task) and one is not Task)
reference = made()
for seed in range(20):
    problem = reference.generate_problem(n=5, random_seed=seed)
    if not reference.is_solution(problem, reference.solve(problem)):
        raise SystemExit(f"is_solution refuses the reference for random_seed={seed}")
tell({"speedup": 1.0})
""",
}


def call(
    words: list[str], seconds: float, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Exit code and what was printed; one that takes too long ends with its children, as by `timeout`."""
    piped = subprocess.PIPE
    with subprocess.Popen(
        words, stdout=piped, stderr=piped, text=True, cwd=folder, env=environment, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return 124, "", f"{TOO_LONG} {seconds:g} s"
    return process.returncode, out, err


def checkout_of(folder: Path, root: Path) -> Path:
    """The checkout that a folder belongs to: `root` itself, or the folder of it on the way."""
    return next((one for one in (*folder.parents, folder) if one.parent == root), root) if folder != root else root


def copied(folder: Path, checkout: Path, place: Path) -> Path:
    """A copy of a folder, with links to what lies around it in its checkout."""
    there = checkout
    for part in folder.relative_to(checkout).parts:
        place.mkdir()
        for beside in there.iterdir():
            if beside.name != part:
                (place / beside.name).symlink_to(beside)
        there, place = there / part, place / part
    shutil.copytree(there, place, symlinks=True)
    return place


def direct_metrics(
    form: str, folder: Path, checkout: Path, python: str, seconds: float
) -> tuple[dict[str, float], str]:
    """What the project's own evaluator says of its first program; empty with the reason."""
    with tempfile.TemporaryDirectory() as place:
        copy = copied(folder, checkout, Path(place, "checkout"))
        paths = [str(checkout / one) for one in PACKAGES.get(form, ())] or [str(SHIM), str(checkout)]
        environment = {**os.environ, "PYTHONPATH": ":".join(paths), "CHECKOUT": str(checkout), "FOLDER": str(folder)}
        beside = os.pathsep.join([os.path.dirname(os.path.abspath(python)), os.environ.get("PATH", os.defpath)])
        environment |= {"TMPDIR": place, "HOME": place, "PATH": beside}
        code, out, err = call([python, "-c", _LOADS + DIRECT[form]], seconds, copy, environment)
    lines = [line for line in out.splitlines() if line.startswith("METRICS ")]
    if code or not lines:
        return {}, (err.strip().splitlines() or ["nothing was printed"])[-1][:MAX_REASON]
    found: dict[str, float] = json.loads(lines[-1].removeprefix("METRICS "))
    return found, ""
