"""The subcommands of `mstflow`: modules with `SUMMARY`, `add_arguments` and `run`.

The folder `shared` has their helpers.
"""

from . import algorithms, clusters, completion, convert, generate, info, plan, solve, verify

#: Modules of the subcommands by name, in the order of ``mstflow --help``.
COMMANDS = {
    "solve": solve,
    "clusters": clusters,
    "verify": verify,
    "plan": plan,
    "generate": generate,
    "convert": convert,
    "algorithms": algorithms,
    "info": info,
    "completion": completion,
}
