"""Starts a zygote: `python -s .../inside/__main__.py FD FOLDER`, with an environment that holds no secret.

In a container it is `... SOCKET ""`: no descriptor reaches it there, nor may it remove the host's folder.

The package is made under a name of its own, so that neither the service nor its folder is on the path of a program
under test.
"""

import sys

PACKAGE = "evolve_sandbox"
MIN_PYTHON = (3, 11)


def start() -> None:
    """Load this folder as a package and hand over to the zygote."""
    if sys.version_info < MIN_PYTHON:
        sys.exit(f"the sandbox needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}")
    import importlib
    import importlib.util
    import os
    import socket
    from functools import partial

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None:
        sys.exit("the sandbox cannot find its own files")
    sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    zygote = importlib.import_module(f"{PACKAGE}.zygote")
    sys.modules["__main__"] = type(sys)("__main__")  # children that start others look here, and must find nothing
    trampoline = importlib.import_module(f"{PACKAGE}.trampoline")
    place = sys.argv[1]
    if place.isdigit():
        descriptor = int(place)
    else:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(place)
            descriptor = control.detach()
    trampoline.run([partial(zygote.main, descriptor, sys.argv[2])])


if __name__ == "__main__":
    start()
