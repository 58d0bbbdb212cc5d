"""Bundled policies: tiny Llama models run with numpy alone, without torch and without a server."""
