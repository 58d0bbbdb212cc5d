"""Webhooks: messages to addresses that people named, signed so that they can be told from anybody else's."""

from service.webhooks.sign import SignatureError, new_secret, sign, verify

__all__ = ["SignatureError", "new_secret", "sign", "verify"]
