"""The configuration keys of an OpenEvolve project: which are honoured, and a sentence for each that is not."""

from service.problems.formats.bridge import SEARCH_REASON

HONOURED = frozenset(
    {
        "max_iterations", "random_seed", "language", "file_suffix", "diff_based_evolution", "early_stopping_patience",
        "llm.api_base", "llm.api_key", "llm.models", "llm.primary_model", "llm.primary_model_weight",
        "llm.secondary_model", "llm.secondary_model_weight", "llm.temperature", "llm.top_p", "llm.max_tokens",
        "llm.timeout", "llm.system_message", "llm.reasoning_effort",
        "prompt.system_message", "prompt.num_top_programs", "prompt.num_diverse_programs", "prompt.include_artifacts",
        "prompt.max_artifact_bytes",
        "database.population_size", "database.num_islands", "database.feature_dimensions", "database.feature_bins",
        "database.migration_interval", "database.migration_rate", "database.random_seed",
        "evaluator.timeout", "evaluator.cascade_evaluation", "evaluator.cascade_thresholds",
        "evaluator.parallel_evaluations", "evaluator.memory_limit_mb",
        "evaluator.preload",  # Evolve's own: OpenEvolve passes over keys that it does not know
    }
)  # fmt: skip

# SkyDiscover's names for keys of OpenEvolve.
ALIASES = {"diff_based_generation": "diff_based_evolution", "max_solution_length": "max_code_length"}

# SkyDiscover's section of the search, whose keys are named one by one.
SEARCH = "search"

_STORED = "is not needed: every result is committed at once"
_PLACE = "is not needed: runs are stored in the database that --db names"
_RETRIES = "is not honoured: calls are repeated with a growing delay as the server asks"
_SELECTION = (
    "is not honoured: parents are drawn by the selection of the run configuration (--set selection.tournament=1)"
)
_PROMPTS = (
    "is not honoured: prompts are made of built-in templates, or those in prompt.template_dir of the run configuration"
)
_DUPLICATES = "is not honoured: programs count as equal when their normalised syntax is"
_EMBEDDING = (
    'is not honoured: novelty.kind = "embedding" compares by embeddings, with a policy of the role embedder, and'
    " novelty.min_distance is a distance, 1 minus the similarity"
)
_LIMITS = "is not honoured: an evaluation is bounded by its time, its memory and its processes"
_TRACE = "is not needed: `evolve export` writes every candidate with its lineage"
_FEEDBACK = "is not honoured: programs are scored by the evaluator alone"
_PROVIDER = "is not honoured: models are asked over the OpenAI API, at llm.api_base or the address of --policy"
_ARTIFACTS = "is not honoured: prompt.include_artifacts and prompt.max_artifact_bytes decide what a prompt shows"

NOT_HONOURED = {
    "checkpoint_interval": _STORED,
    "log_level": "is not honoured: -v and -q of the command line decide",
    "log_dir": "is not needed: messages go to the standard error stream",
    "max_code_length": "is not honoured: the policy's max_tokens bounds an answer",
    SEARCH: f"is not honoured: {SEARCH_REASON}",
    "monitor": "is not needed: `evolve serve` has a dashboard",
    "human_feedback_enabled": "is not honoured: programs are scored by the evaluator alone",
    "llm_as_judge": "is not honoured: programs are scored by the evaluator alone",
    "convergence_threshold": "is not honoured: any better best counts as progress for the patience",
    "early_stopping_metric": "is not honoured: patience looks at the fitness",
    "enforce_evolve_blocks": "is not needed: EVOLVE-BLOCK markers are always enforced",
    "diff_pattern": "is not honoured: edits are SEARCH/REPLACE blocks",
    "max_tasks_per_child": "is not needed: every evaluation has processes of its own",
    "llm.name": "is not honoured: name the model in llm.models",
    "llm.weight": "is not honoured: give the weight in llm.models",
    "llm.evaluator_models": _FEEDBACK,
    "llm.evaluator_system_message": _FEEDBACK,
    "llm.retries": _RETRIES,
    "llm.retry_delay": _RETRIES,
    "llm.random_seed": "is not honoured: every proposal has a seed of its own, derived from the run's",
    "llm.provider": _PROVIDER,
    "llm.max_budget_usd": _PROVIDER,
    "llm.max_ai_credits": _PROVIDER,
    "llm.allow_all_tools": _PROVIDER,
    "llm.manual_mode": _PROVIDER,
    "prompt.template_dir": _PROMPTS,
    "prompt.use_template_stochasticity": _PROMPTS,
    "prompt.template_variations": _PROMPTS,
    "prompt.use_meta_prompting": _PROMPTS,
    "prompt.meta_prompt_weight": _PROMPTS,
    "prompt.evaluator_system_message": _FEEDBACK,
    "prompt.programs_as_changes_description": _PROMPTS,
    "prompt.system_message_changes_description": _PROMPTS,
    "prompt.initial_changes_description": _PROMPTS,
    "prompt.diff_summary_max_line_len": _PROMPTS,
    "prompt.diff_summary_max_lines": _PROMPTS,
    "prompt.artifact_security_filter": "is not honoured: feedback is shown as the evaluator gives it",
    "prompt.suggest_simplification_after_chars": _PROMPTS,
    "prompt.include_changes_under_chars": _PROMPTS,
    "prompt.concise_implementation_max_lines": _PROMPTS,
    "prompt.comprehensive_implementation_min_lines": _PROMPTS,
    "prompt.code_length_threshold": _PROMPTS,
    "database.db_path": _PLACE,
    "database.in_memory": _PLACE,
    "database.log_prompts": "is not needed: every prompt is stored",
    "database.archive_size": "is not honoured: the archive of an island is its grid, or its share of population_size",
    "database.elite_selection_ratio": _SELECTION,
    "database.exploration_ratio": _SELECTION,
    "database.exploitation_ratio": _SELECTION,
    "database.diversity_metric": "is not honoured: the dimension diversity is the distance to a reference set",
    "database.diversity_reference_size": "is not honoured: the reference set is frozen at the start of the run",
    "database.embedding_model": _EMBEDDING,
    "database.embedding_api_base": _EMBEDDING,
    "database.similarity_threshold": _EMBEDDING,
    "database.novelty_llm": _DUPLICATES,
    "database.cleanup_old_artifacts": _ARTIFACTS,
    "database.artifact_retention_days": _ARTIFACTS,
    "database.artifact_size_threshold": _ARTIFACTS,
    "database.artifacts_base_path": _PLACE,
    "database.max_snapshot_artifacts": _ARTIFACTS,
    "evaluator.max_retries": "is not honoured: a program that fails would fail again; a lost evaluation is repeated",
    "evaluator.cpu_limit": _LIMITS,
    "evaluator.distributed": "is not honoured: workers are started beside the run",
    "evaluator.use_llm_feedback": _FEEDBACK,
    "evaluator.llm_feedback_weight": _FEEDBACK,
    "evaluator.enable_artifacts": _ARTIFACTS,
    "evaluator.max_artifact_storage": _ARTIFACTS,
    "evolution_trace.enabled": _TRACE,
    "evolution_trace.format": _TRACE,
    "evolution_trace.include_code": _TRACE,
    "evolution_trace.include_prompts": _TRACE,
    "evolution_trace.output_path": _TRACE,
    "evolution_trace.buffer_size": _TRACE,
    "evolution_trace.compress": _TRACE,
}

# Keys of one entry of llm.models.
MODEL_HONOURED = frozenset(
    {"name", "weight", "api_base", "api_key", "temperature", "top_p", "max_tokens", "timeout", "reasoning_effort"}
)
MODEL_NOT_HONOURED = {
    "system_message": "is not honoured: prompt.system_message is shown to every model",
    "retries": _RETRIES,
    "retry_delay": _RETRIES,
    "random_seed": NOT_HONOURED["llm.random_seed"],
    "provider": _PROVIDER,
    "max_budget_usd": _PROVIDER,
    "max_ai_credits": _PROVIDER,
    "allow_all_tools": _PROVIDER,
    "manual_mode": _PROVIDER,
}

SECTIONS = frozenset(key.partition(".")[0] for key in (*HONOURED, *NOT_HONOURED) if "." in key)
KNOWN = frozenset({*HONOURED, *NOT_HONOURED})
