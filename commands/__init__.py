"""The subcommands of `mstflow`: modules with `SUMMARY`, `add_arguments` and `run`.

The modules `machine`, `summary` and `terminal` are helpers.
"""

from . import algorithms, completion, convert, generate, info, plan, solve, verify

#: Modules of the subcommands by name, in the order of ``mstflow --help``.
COMMANDS = {
    "solve": solve,
    "verify": verify,
    "plan": plan,
    "generate": generate,
    "convert": convert,
    "algorithms": algorithms,
    "info": info,
    "completion": completion,
}
