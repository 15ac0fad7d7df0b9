"""The commands of the command line; each is a module with `SUMMARY`, `add_arguments` and `run`."""

from . import algorithms, completion, convert, generate, info, plan, solve, verify

#: By name, in the order of the help.
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
