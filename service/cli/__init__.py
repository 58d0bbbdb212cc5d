"""The command line: a front door that reads words, calls use cases and shows what came of them."""
