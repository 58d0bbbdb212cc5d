"""The built-in policy: it mutates programs by their syntax, without a model; the offline default and a baseline."""

from service.policy.syntax.policy import SyntaxPolicy

__all__ = ["SyntaxPolicy"]
