"""Published figures of others, beside ours: other tasks, other models, other sizes.

They are from Vector Policy Optimization, arXiv 2605.22817, and the page of its project, read from its tables and
figures.
"""

SOURCE = "arXiv 2605.22817 and the page of its project"

# best@30 of the fixed scalar, and mean pairwise L1 distance of reward vectors (GRPO, VPO).
HEADLINE = (
    ("task", "model", "GRPO", "Max-at-K", "Multi-RLVR", "VPO", "diversity of GRPO", "diversity of VPO"),
    ("maze, 9x9", "Qwen3-4B", "0.432", "0.577", "0.436", "0.593", "0.003", "1.01"),
    ("MuSiQue", "Qwen3-1.7B", "0.728", "0.802", "0.633", "0.832", "0.054", "0.59"),
    ("EUREQA", "Qwen3-8B", "0.236", "0.237", "0.267", "0.279", "0.119", "0.51"),
    ("ToolRL", "Qwen3-1.7B", "0.925", "0.954", "0.905", "0.952", "0.044", "1.30"),
)

# LiveCodeBench, 279 problems, read off a figure to 0.005.
PROGRAMS = (
    ("k", "1", "2", "3", "5", "10", "15", "20", "25", "30"),
    ("pass@k, VPO", "0.27", "0.385", "0.45", "0.51", "0.575", "0.601", "0.614", "0.623", "0.630"),
    ("pass@k, GRPO", "0.39", "0.42", "0.44", "0.46", "0.475", "0.483", "0.489", "0.494", "0.498"),
    ("best@k, VPO", "0.535", "0.655", "0.71", "0.765", "0.813", "0.829", "0.836", "0.843", "0.848"),
    ("best@k, GRPO", "0.575", "0.62", "0.64", "0.665", "0.685", "0.696", "0.702", "0.708", "0.711"),
)

SEARCH = (
    "With OpenEvolve, on the 32 hardest held-out LiveCodeBench problems, over 200 iterations, VPO solved 4 and GRPO 0."
    " The mean best share of tests passed ended at 0.435 and 0.136. Two of the four were solved within the first three"
    " iterations. Neither method solved the other 28."
)
