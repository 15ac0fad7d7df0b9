"""The subcommands of `mstflow`: each is a module with a function `run`.

`arguments` defines the arguments of all subcommands. The folder `shared` has their helpers.
"""

#: Subcommands and their summaries, in the order of ``mstflow --help``. The module of a subcommand
#: has the same name.
SUMMARIES = {
    "solve": "compute the minimum spanning forest of a graph",
    "clusters": "cluster scored pairs at one or several thresholds",
    "verify": "check that a forest is the minimum spanning forest of a graph",
    "plan": "show the plan for a graph, with estimates of memory and time",
    "generate": "generate a graph of a family",
    "convert": "write a graph in another format",
    "algorithms": "list the algorithms and the strategies",
    "info": "describe a graph, or this installation",
}
