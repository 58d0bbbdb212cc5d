"""The built-in policy mutates programs by their syntax, without a model. It is the offline default and a baseline."""

from service.policy.syntax.policy import SyntaxPolicy

__all__ = ["SyntaxPolicy"]
