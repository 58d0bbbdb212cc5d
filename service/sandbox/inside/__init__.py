"""The side of the sandbox that runs untrusted code: zygote, keepers, their children.

It needs the standard library alone and imports itself relatively, for it also runs by itself (`__main__`), under any
interpreter a problem names, which knows nothing of the service.
"""
