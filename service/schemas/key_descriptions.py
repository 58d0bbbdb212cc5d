"""The sentence that describes each key of run configurations, problem files and policy files, as in docs/reference."""

from collections.abc import Mapping

CONFIGURATION_KEYS: Mapping[str, str] = {  # docs/reference/configuration.md
    "strategy": (
        "`islands`: evolution. `best_of_n`: independent samples from the seeds. `sequential`: revise what was"
        " evaluated last. Both baselines run under the same budget"
    ),
    "islands": (
        "sub-populations, at most 1000. The baselines have one. 0: by the budget, one for each 4,000 of its"
        " evaluations, 1 to 4 (4 without such a limit), and at least as many as `variants` name. The record of the"
        " run holds the number, which stays when the budget is extended."
    ),
    "island_choice": (
        "where the next proposal is made: islands take `turns`, or a `bandit` prefers those that have found"
        " something better of late"
    ),
    "topology": (
        "where migrants go: `ring` (the next island), `full` (all others), `random` (an island drawn each time) or"
        " `none`"
    ),
    "migration_interval": "evaluations on an island between two migrations from it",
    "migration_rate": "share of its archive that an island sends along, at least one. 0: none",
    "migrants": (
        "the candidates that migrate: `best` (the fittest), `front` (of those that no member dominates the least"
        " crowded) or `most_novel` (of the fitter half those most novel to the island they go to)"
    ),
    "reset_after": (
        "evaluations without a better best after which an island restarts from a survivor, unless it is ahead of"
        " all others. 0: never"
    ),
    "reset_from": (
        "the survivor: the `best` of all others, or the best of an island drawn among the `better_half` of them"
    ),
    "archive.kind": (
        "`grid`, `cvt`, `dominated_novelty`, `pareto`, `top`. `auto`: a grid when the problem has measures, Pareto"
        " with several objectives, else top. The first three take `complexity` and `novelty` where a problem"
        " declares no measures"
    ),
    "archive.size": (
        "most individuals of an archive. Of `cvt` the number of its cells. Both `cvt` and `dominated_novelty` take"
        " at most 10,000. A grid's size is its number of cells"
    ),
    "archive.front": (
        "most individuals in a cell of `grid` and `cvt`, none of which dominates another, at most 10,000. 1: the"
        " fittest"
    ),
    "archive.truncation": (
        "which member leaves a full front of `pareto` or of a cell: the most crowded (`crowding`), or the member"
        " that contributes least to the `hypervolume`, with up to 3 objectives. With more it is `crowding`"
    ),
    "archive.neighbours": "how many of the nearest that are fitter `dominated_novelty` looks at, at most 100",
    "selection": (
        "shares by which selections choose parents, among the selections `boltzmann`, `dirichlet`,"
        " `downsampled_lexicase`, `hypervolume`, `lexicase`, `nsga2`, `nsga3`, `offspring`, `power_law`, `puct`,"
        " `tournament`, `ucb`, `uniform`, as in `{ dirichlet = 0.8, tournament = 0.2 }`. Empty: `dirichlet` with"
        " several objectives, else `power_law`"
    ),
    "selection_options.dirichlet_alpha": (
        "concentration of the weights that `dirichlet` draws: small numbers favour single objectives, 1 draws"
        " all weights alike, large numbers come close to equal weights"
    ),
    "selection_options.power_law_exponent": (
        "`power_law` chooses the parent of rank r, from the fittest on, with probability proportional to r to the"
        " power of minus this. 0: each rank alike"
    ),
    "selection_options.exploration": "c: weight of exploration in `puct` and `ucb`. 0: nothing",
    "selection_options.cases": (
        "share of the cases that `downsampled_lexicase` draws for each choice, at least one case"
    ),
    "operators": (
        "shares by which operators make children, among `mutate`, `crossover`, `repair`, `simplify`, as in `{"
        " mutate = 0.7, crossover = 0.3 }`. Empty: `mutate` alone. An operator that has no input on an island"
        " leaves its share to the others. The baselines use their own operators"
    ),
    "operator_choice": (
        "`shares`, or `adaptive`: by shares times how often proposals of the operator found something better of late"
    ),
    "stopping_rule": "a stopping rule of your own, `module:Class` or the name that a package offers. Empty: none",
    "policy_choice": (
        "which of several policies gets a proposal: drawn by their `weights`, or `adaptive`: the policy with the"
        " best recent results for what it costs, times its weight"
    ),
    "novelty.kind": (
        "how a program is compared with its island's archive before it is evaluated: `syntax` (the syntax tree of"
        " Python, else as `tokens`), `tokens`, or `embedding` (the vectors of the run's embedder). `none`: not at"
        " all"
    ),
    "novelty.min_distance": (
        "Jaccard distance, from 0 to 1, with `embedding` cosine distance, from the nearest member below which a"
        " program is rejected"
    ),
    "inspirations.top": "further programs in a prompt: the best of the island",
    "inspirations.diverse": "and others of it, drawn at random",
    "variants": "islands that differ in some of these keys",
    "answers": "m, answers in one chain, at most 1000. 0: as the policy says",
    "samples": "n, chains in one proposal, at most 1000. 0: as the policy says",
    "prompt.system": "system message in place of the template's",
    "prompt.template_dir": "folder of templates in place of the built-in ones",
    "prompt.feedback_kb": "most of the parent's feedback that a prompt shows",
    "prompt.failures": "recent failures of the island that a prompt shows",
    "prompt.rejections": (
        "reasons that a prompt shows why some of the policy's last 24 answers could not be used. 0: none"
    ),
    "budget.evaluations": "evaluated candidates, seeds included. `evaluations` is short for it",
    "budget.answers": "answers of policies, duplicates and rejected answers included",
    "budget.tokens": "tokens of the policies, input and output",
    "budget.money": (
        'cost of the policies by their prices, which share a currency: `2.50`, or `"2.50 USD"` to be refused under'
        " another. A policy without a price is refused"
    ),
    "budget.wall_seconds": (
        "active time, waiting for a policy included. A problem's file sets only a default: it gives way"
    ),
    "budget.target": "fitness at which the run ends",
    "budget.patience": "evaluations without a better best",
    "seed": "of every random draw",
    "deterministic.window": (
        "proposal n waits for the results of proposal n − window, at most 100,000. 0: not deterministic"
    ),
    "concurrency.policy": (
        "most calls to each policy at once, at most 10,000. 0: as the policy says, fewer while requests wait at"
        " it, and with at most a tenth of the answers that remain outstanding. A number lifts that bound"
    ),
    "concurrency.evaluations": (
        "evaluations at once, at most 1024. 0: as many as the process has cores, or the fair share of the workers'"
        " slots, which is never exceeded"
    ),
}
PROBLEM_KEYS: Mapping[str, str] = {  # docs/reference/problem-file.md
    "description": "what is wanted. Shown to the policy",
    "language": "language of the programs",
    "seeds": "programs to start from: each a file, or a folder for a program of several files",
    "known_best": (
        "best known score of the one objective (of the scalar where there is none). With several objectives, the"
        " best known fitness. The summary compares with it"
    ),
    "known_best_source": "where that is from",
    "limits.wall_seconds": "time, of the program and of the scorer each",
    "limits.cpu_seconds": "processor time of the process tree",
    "limits.memory_mb": "memory of the process tree",
    "limits.processes": "processes and threads at once",
    "limits.disk_mb": "files in the scratch folder and `/dev/shm` together",
    "limits.output_kb": "what is printed, and what is returned",
    "limits.network": "network access. Must be permitted by the setting `sandbox.network`",
    "limits.gpu": "accelerator devices. Must be permitted by the setting `sandbox.gpu`",
    "objectives.name": "name of the score",
    "objectives.direction": 'or `"minimize"`',
    "objectives.low": "declared bounds, both or neither. Needed with several objectives",
    "objectives.high": "declared bounds, both or neither. Needed with several objectives",
    "objectives.weight": "share in the fitness, with several objectives",
    "objectives.target": "the run ends when one candidate has reached every target that is declared",
    "objectives.reference": (
        "worst score that counts in the hypervolume: that of `evolve show RUN`, and of the selection `hypervolume`"
    ),
    "measures.name": (
        "`complexity` (characters), `novelty` (mean Jaccard distance of token triples to the seeds, 0 to 1),"
        " `score` (the fitness). An evaluator that returns a number of that name is believed. Else a number that"
        " the evaluator returns"
    ),
    "measures.bins": "cells along the axis, 1 to 1000",
    "measures.low": (
        "the axis' range within ±1e100, both or neither. Running: the range seen so far, which at least doubles"
        " when it grows, and everything is binned anew"
    ),
    "measures.high": (
        "the axis' range within ±1e100, both or neither. Running: the range seen so far, which at least doubles"
        " when it grows, and everything is binned anew"
    ),
}
POLICY_KEYS: Mapping[str, str] = {  # docs/reference/policy-file.md
    "name": "name in records. Letters, digits and `._:/@+-`",
    "kind": (
        "`openai`: an OpenAI-compatible server. `litellm`: a provider with a protocol of its own, through LiteLLM,"
        " where `model` names both, such as `anthropic/claude-sonnet-4-5`, and `base_url` is not needed. `syntax`:"
        " the built-in mutator. `bundled`: a model run in this process. Any other name: a kind of your own"
    ),
    "role": (
        "what it writes: `author`: programs. `critic`: reviews of parents for the authors. `embedder`: embeddings"
        " of programs"
    ),
    "provider": (
        "`openai`, `anthropic`, `gemini`, `mistral`, `xai`, `openrouter`, `groq`, `deepseek`, `together`,"
        " `ollama`, `llamacpp`, `sglang` or `vllm`: fills `base_url`, and reads the key from the usual variable"
        " such as `OPENAI_API_KEY`. `--policy PROVIDER:MODEL` says the same"
    ),
    "base_url": "address of the API. No user, password or query in it",
    "model": "model to ask for. For `bundled`, where it is needed, a name or the path of a folder (with a `/`)",
    "api_key_env": "environment variable that holds the key",
    "api_key_file": "file that holds the key. Not both",
    "format": (
        "how answers of a chain are set apart: `tags:NAME` (`<NAME_1> … </NAME_1>`), `fences` (fenced blocks with"
        " `---` between them), `single`"
    ),
    "edits": (
        "`rewrite`: whole programs. `diff`: SEARCH/REPLACE edits of the parent. `continue`: the rest of a program"
        " that begins as its parent does, one in a completion, by vLLM alone"
    ),
    "answers": "m, answers in one chain, 1 to 64",
    "adapt": "list of keys that a run may vary",
    "samples": "n, chains in one call, 1 to 64. At temperature 0 always one",
    "temperature": "0 to 2",
    "top_p": "above 0, up to 1",
    "max_tokens": "most tokens of one chain. At most half of the context is kept for it",
    "reasoning_effort": (
        'sent as it is, such as `"low"`. Empty: not sent. Less of it, or a larger `max_tokens`, helps where'
        " reasoning takes all tokens of a completion"
    ),
    "params": (
        'further sampling parameters, sent as they are: `{ top_k = 20, min_p = 0.05, stop = ["END"] }`. Names'
        " that Evolve sets itself and names of secrets are refused"
    ),
    "extra_body": (
        "anything else of the request's body, sent as it is, such as `{ chat_template_kwargs = { enable_thinking"
        " = false } }`"
    ),
    "context_tokens": "context of the model, where the server does not say",
    "concurrency": "most calls at once, 1 to 1024. Fewer while requests wait at a server that tells of them",
    "timeout_seconds": (
        "longest pause before the next byte of a reply. A reply that keeps coming has two more seconds for each of"
        " its tokens"
    ),
    "weight": (
        "how often it is asked, in proportion to those of the other policies of the run. Above 0, up to 1,000,000"
    ),
    "price": "what a million tokens cost. See below",
}
