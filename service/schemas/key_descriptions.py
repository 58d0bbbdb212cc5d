"""The sentence that describes each key of run configurations, problem files and policy files, as in docs/reference."""

from collections.abc import Mapping

CONFIGURATION_KEYS: Mapping[str, str] = {  # docs/reference/configuration.md
    "strategy": (
        "`islands`: evolution. `best_of_n`: independent samples from the seeds. `sequential`: revision of the last"
        " evaluated program. Both baselines run under the same budget"
    ),
    "islands": (
        "sub-populations, at most 1000. The baselines use a single island. 0: an island for each 4,000 evaluations of"
        " the budget, 1 to 4 (4 without such a limit), and at least as many as `variants` name. The run's record"
        " holds the number. It stays when you extend the budget."
    ),
    "island_choice": (
        "island of the next proposal: in `turns`, or by a `bandit`, which prefers islands with recent improvements"
    ),
    "topology": (
        "destination of migrants: `ring` (the next island), `full` (all others), `random` (an island drawn each time)"
        " or `none`"
    ),
    "migration_interval": "evaluations on an island between two migrations from it",
    "migration_rate": "share of its archive that an island sends, at least one candidate. 0: none",
    "migrants": (
        "candidates that migrate. `best`: the fittest. `front`: the least crowded members of the Pareto front."
        " `most_novel`: of the fitter half, those most novel to the destination"
    ),
    "reset_after": (
        "evaluations without improvement after which an island restarts from a survivor, unless it is ahead of all"
        " others. 0: never"
    ),
    "reset_from": (
        "survivor of a restart: the `best` of all other islands, or the best of an island drawn from the `better_half`"
    ),
    "archive.kind": (
        "`grid`, `cvt`, `dominated_novelty`, `pareto`, `top`. `auto`: `grid` if the problem has measures, `pareto`"
        " with several objectives, else `top`. The first three use `complexity` and `novelty` if a problem declares"
        " no measures"
    ),
    "archive.size": (
        "maximum number of individuals in an archive. For `cvt`, the number of its cells. The maximum for `cvt` and"
        " `dominated_novelty` is 10,000. A grid's size is its number of cells"
    ),
    "archive.front": (
        "maximum number of individuals in a cell of `grid` and `cvt`, at most 10,000. None of them dominates another."
        " 1: the fittest"
    ),
    "archive.truncation": (
        "member that leaves a full front of `pareto` or of a cell. `crowding`: the most crowded. `hypervolume`: the"
        " member that contributes least, with up to 3 objectives. With more objectives, `crowding` applies"
    ),
    "archive.neighbours": "number of nearest fitter members that `dominated_novelty` looks at, at most 100",
    "selection": (
        "shares of the selections that choose parents, such as `{ dirichlet = 0.8, tournament = 0.2 }`. Selections:"
        " `boltzmann`, `dirichlet`, `downsampled_lexicase`, `hypervolume`, `lexicase`, `nsga2`, `nsga3`, `offspring`,"
        " `power_law`, `puct`, `tournament`, `ucb`, `uniform`. Empty: `dirichlet` with several objectives, else"
        " `power_law`"
    ),
    "selection_options.dirichlet_alpha": (
        "concentration of the weights that `dirichlet` draws. Small numbers favour single objectives. 1 draws all"
        " weights uniformly. Large numbers come close to equal weights"
    ),
    "selection_options.objective_weights": (
        "weights of objectives, such as `{ speed = 3 }`: the mean of the weights that `dirichlet` draws is in"
        " proportion to them. An objective that is not named has weight 1. The fitness does not change. Empty: all"
        " weigh the same"
    ),
    "selection_options.power_law_exponent": (
        "`power_law` chooses the parent of rank r, the fittest first, with probability proportional to r to the power"
        " of minus this. 0: uniform"
    ),
    "selection_options.exploration": "c: weight of exploration in `puct` and `ucb`. 0: none",
    "selection_options.cases": (
        "share of the cases that `downsampled_lexicase` draws for each choice, at least a single case"
    ),
    "operators": (
        "shares of the operators that make children, such as `{ mutate = 0.7, crossover = 0.3 }`. Operators:"
        " `mutate`, `crossover`, `repair`, `simplify`. Empty: `mutate` alone. If an operator has no input on an"
        " island, the others get its share. The baselines use their own operators"
    ),
    "operator_choice": "`shares`, or `adaptive`: shares times the recent success rate of the operator",
    "prompt_pool": (
        "maximum number of prompts that compete, at most 16: the configured one, and those that the model of the run"
        " writes. 0 or 1: none is written"
    ),
    "stopping_rule": "your own stopping rule: `module:Class`, or the name that a package offers. Empty: none",
    "policy_choice": (
        "policy of a proposal, if there are several policies. `weights`: drawn by weight. `adaptive`: the policy with"
        " the best recent results for its cost, times its weight"
    ),
    "novelty.kind": (
        "comparison of a program with its island's archive before evaluation: `syntax` (the syntax tree of Python,"
        " else as `tokens`), `tokens`, or `embedding` (the vectors of the run's embedder). `none`: no comparison"
    ),
    "novelty.min_distance": (
        "minimum distance to the nearest member, below which a program is rejected. Jaccard distance from 0 to 1, or"
        " cosine distance with `embedding`"
    ),
    "inspirations.top": "further programs in a prompt: the best of the island",
    "inspirations.diverse": "further programs in a prompt: others of the island, drawn at random",
    "variants": "islands that differ in some of these keys",
    "answers": "m, answers per chain, at most 1000. 0: as the policy says",
    "samples": "n, chains per proposal, at most 1000. 0: as the policy says",
    "prompt.system": "system message instead of the template's",
    "prompt.template_dir": "folder of templates instead of the built-in templates",
    "prompt.feedback_kb": "maximum size of the parent's feedback in a prompt",
    "prompt.failures": "number of recent failures of the island in a prompt",
    "prompt.rejections": (
        "number of reasons in a prompt why some of the policy's last 24 answers were unusable. 0: none"
    ),
    "insights.every": (
        "the run writes a version of its insights from its record at each multiple of so many evaluations. 0: never"
    ),
    "insights.tokens": "maximum tokens of the insights in a prompt",
    "insights.text": "first version of the insights, at most 4,000 characters. `--insights-from` sets it",
    "learning.every": (
        "answered proposals between two updates of the policy within the run. 0: it is not trained. With updates,"
        " `policy_choice` acts as `adaptive`"
    ),
    "learning.model": (
        "the model that the server of the policy serves, as a trainer reads it: a folder, or a name on the hub. Empty:"
        " the policy is bundled, or a version of an adapter"
    ),
    "learning.after": "answered proposals before the first update",
    "learning.updates": "maximum number of updates, 1 to 100. Failed updates count",
    "learning.versions": "number of the newest versions that are asked beside the policy of the start, 1 to 8",
    "learning.objective": (
        "objective of an update: `entropic` (exponential utility, TTT-Discover), or `pkpo` (expected best of k answers)"
    ),
    "learning.k": "k of `pkpo` at the first update. At most the answers of a proposal count",
    "learning.last_k": "k of `pkpo` at the last update, linear between. 1: the mean",
    "learning.rate": "learning rate of an update, above 0",
    "learning.divergence": "weight of the penalty for distance to the policy of the start, in nats a token. 0: none",
    "learning.replay": (
        "weight of the best 8 replies of the run so far, which an update imitates in proportion to their fitness. 0:"
        " none"
    ),
    "budget.evaluations": "evaluated candidates, seeds included. You may write `evaluations` for it",
    "budget.answers": "answers of policies, duplicates and rejected answers included",
    "budget.tokens": "tokens of the policies, input and output",
    "budget.money": (
        'cost of the policies by their prices, in their common currency: `2.50`. `"2.50 USD"` is refused with another'
        " currency. A policy without a price is refused"
    ),
    "budget.wall_seconds": (
        "active time, including waits for a policy. In a problem's file it is only a default: it gives way"
    ),
    "budget.target": "fitness at which the run ends",
    "budget.patience": "evaluations without improvement",
    "seed": "seed of every random draw",
    "deterministic.window": (
        "proposal n waits for the results of proposal n − window, at most 100,000. 0: not deterministic"
    ),
    "concurrency.policy": (
        "maximum number of concurrent calls to each policy, at most 10,000. 0: as the policy says, with two"
        " reductions. There are fewer calls while requests wait at the policy, and at most a tenth of the remaining"
        " answers is outstanding. A number removes the second"
    ),
    "concurrency.evaluations": (
        "concurrent evaluations, at most 1024. 0: one per core of the process, or the fair share of the workers'"
        " slots, which is never exceeded"
    ),
}
PROBLEM_KEYS: Mapping[str, str] = {  # docs/reference/problem-file.md
    "description": "the goal, shown to the policy",
    "language": "language of the programs",
    "seeds": "programs to start from: each is a file, or a folder for a program of several files",
    "known_best": (
        "best known score of the only objective, or of the scalar if there is no objective. With several objectives,"
        " the best known fitness. The summary compares with it"
    ),
    "known_best_source": "source of `known_best`",
    "limits.wall_seconds": "time, for the program and for the scorer each",
    "limits.cpu_seconds": "processor time of the process tree",
    "limits.memory_mb": "memory of the process tree",
    "limits.processes": "concurrent processes and threads",
    "limits.disk_mb": "files in the scratch folder and `/dev/shm` together",
    "limits.output_kb": "printed text, and returned values",
    "limits.network": "network access. The setting `sandbox.network` must permit it",
    "limits.gpu": "an accelerator that the evaluation has to itself. The setting `sandbox.gpu` must permit it",
    "objectives.name": "name of the score",
    "objectives.direction": '`"maximize"` or `"minimize"`',
    "objectives.low": "declared bounds, both or neither. Required with several objectives",
    "objectives.high": "declared bounds, both or neither. Required with several objectives",
    "objectives.weight": "share in the fitness, with several objectives",
    "objectives.target": "the run ends when a candidate has reached every declared target",
    "objectives.reference": (
        "worst score that counts in the hypervolume of `evolve show RUN` and of the selection `hypervolume`"
    ),
    "measures.name": (
        "`complexity` (characters), `novelty` (mean Jaccard distance of token triples to the seeds, 0 to 1), `score`"
        " (the fitness), or a number that the evaluator returns. A number from the evaluator replaces the built-in"
        " measure of that name"
    ),
    "measures.bins": "cells along the axis, 1 to 1000",
    "measures.low": (
        "the axis' range within ±1e100, both or neither. Running: the range seen so far. When it grows, it at least"
        " doubles, and all members are binned again"
    ),
    "measures.high": (
        "the axis' range within ±1e100, both or neither. Running: the range seen so far. When it grows, it at least"
        " doubles, and all members are binned again"
    ),
}
POLICY_KEYS: Mapping[str, str] = {  # docs/reference/policy-file.md
    "name": "name in records. Letters, digits and `._:/@+-`",
    "kind": (
        "`openai`: an OpenAI-compatible server. `litellm`: a provider with its own protocol, through LiteLLM. Then"
        " `model` names both, such as `anthropic/claude-sonnet-4-5`, and `base_url` is not needed. `syntax`: the"
        " built-in mutator. `tuner`: a tuner of numbers, which needs no model. `bundled`: a model in this process."
        " `agent`: a coding agent on this machine, which `command` starts. Any other name: a kind of your own"
    ),
    "role": (
        "`author`: writes programs. `critic`: writes reviews of parents for the authors. `advisor`: proposes ideas"
        " to the authors, one for each answer. `embedder`: makes embeddings of programs. `analyst`: writes the insights"
        " of the run"
    ),
    "provider": (
        "`openai`, `anthropic`, `gemini`, `mistral`, `xai`, `openrouter`, `groq`, `deepseek`, `together`, `ollama`,"
        " `llamacpp`, `sglang` or `vllm`. It sets `base_url`, and reads the key from the usual variable such as"
        " `OPENAI_API_KEY`. `--policy PROVIDER:MODEL` does the same"
    ),
    "base_url": "URL of the API, without user, password or query",
    "model": "model to ask for. `bundled` needs it: a name, or the path of a folder (with a `/`)",
    "api_key_env": "environment variable that holds the key",
    "api_key_file": "file that holds the key. Not together with `api_key_env`",
    "format": (
        "how the answers of a chain are separated: `tags:NAME` (`<NAME_1> … </NAME_1>`), `fences` (fenced blocks with"
        " `---` between them), `single`"
    ),
    "edits": (
        "`rewrite`: whole programs. `diff`: SEARCH/REPLACE edits of the parent. `continue`: the rest of a program"
        " that begins like its parent, with a single answer per completion, only with vLLM"
    ),
    "answers": "m, answers per chain, 1 to 64",
    "adapt": "list of keys that a run may vary",
    "samples": "n, chains per call, 1 to 64. At temperature 0 always 1",
    "temperature": "0 to 2",
    "top_p": "above 0, up to 1",
    "max_tokens": "maximum tokens of a chain. At most half of the context is reserved for it",
    "reasoning_effort": (
        'sent unchanged, such as `"low"`. Empty: not sent. If reasoning takes all tokens of a completion, use less of'
        " it, or a larger `max_tokens`"
    ),
    "params": (
        'further sampling parameters, sent unchanged: `{ top_k = 20, min_p = 0.05, stop = ["END"] }`. Names that'
        " Evolve sets itself and names of secrets are refused"
    ),
    "extra_body": (
        "other parts of the request's body, sent unchanged, such as `{ chat_template_kwargs = { enable_thinking ="
        " false } }`"
    ),
    "context_tokens": "context length of the model, if the server does not say",
    "concurrency": (
        "maximum number of concurrent calls, 1 to 1024. Fewer while requests wait at a server that reports them"
    ),
    "timeout_seconds": (
        "longest pause before the next byte of a reply. A reply that keeps coming has two more seconds for each of"
        " its tokens. For `agent`: the longest session"
    ),
    "weight": (
        "how often the policy is asked, in proportion to the weights of the run's other policies. Above 0, up to"
        " 1,000,000"
    ),
    "price": "cost of a million tokens",
    "escalate_after": (
        "evaluations without a better best of the run, after which the policy is asked beside the others, until there"
        " is a better best. 0: it is always asked"
    ),
    "command": (
        "words of the command that starts an agent. `{prompt}` stands for the path of the prompt, `{worktree}` for that"
        " of the folder, `{model}` for `model`. The prompt is its standard input too"
    ),
    "environment": "variables of this process that an agent finds in its environment",
    "read": "files and folders of this machine that an agent may read, beside those of the system",
    "path": "folders of programs, which stand first on the `PATH` of an agent. It may read them",
    "allow_hosts": (
        "names of further hosts that an agent may reach by TLS, such as `packages.example` or `mirror.example:8443`"
    ),
    "max_session_tokens": (
        "tokens of a session, as the replies of the server at `base_url` tell. Further requests are refused. 0: no"
        " limit"
    ),
    "max_session_cost": "cost of a session by `price`, in its currency. Further requests are refused",
}
