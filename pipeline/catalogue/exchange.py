"""The steps of the strategy "exchange", after the partitions are loaded.

They are those of a distributed filter-Boruvka: contract what one rank can decide, select light
edges, run rounds, select the heavy edges that may join two fragments, and run rounds again.

Source: Sanders and Schimek, "Engineering Massively Parallel MST Algorithms" (IPDPS 2023).
`docs/strategies.md` lists the differences.
"""

from ...stages import edges
from ...stages.filter import sample_keys, select_light_edges
from ...stages.strategies.exchange import heavy, labels, private, ranges, rounds
from ..steps import Loop, Step, When

#: Ask the owners of the parents of moving vertices. The number of these vertices is known after the
#: exchange that sends the questions.
_ASK_ABOVE: tuple[Step, ...] = (labels.count_moving, labels.ask_above)

#: Ask for the parents of parents until all roots are known.
_FOLLOW: tuple[Step, ...] = (
    *_ASK_ABOVE,
    Loop(labels.answer_questions, labels.jump, *_ASK_ABOVE, until=labels.roots_reached),
)

#: Join the vertices whose edges all their owner has.
_CONTRACT: tuple[Step, ...] = (
    private.send_shared,
    private.contract_private,
    rounds.collect_joined,
    rounds.count_fragments,
)

#: Count the edges that remain in all ranks.
_COUNT = edges.count_edges.renamed(edges="local_edges")

#: A round: each fragment chooses its lightest edge and hooks onto the other end. The first question
#: also says who asks, which breaks cycles.
_ROUND: tuple[Step, ...] = (
    labels.deal_arcs,
    rounds.offer_arcs,
    rounds.choose_lightest,
    labels.count_moving.renamed(num_moving="num_active"),
    labels.ask_above,
    rounds.hook,
    labels.answer_questions,
    labels.jump,
    *_FOLLOW,
    rounds.answer_arcs,
    rounds.list_joined,
    labels.relabel_local,
    rounds.collect_joined,
    rounds.count_fragments,
    rounds.count_fragments.renamed(num_vertices="num_active"),
    rounds.drop_cycles.renamed(num_vertices="num_active"),
    _COUNT,
)

#: Find the forest of the local edges, and count the heavy edges.
_SOLVE: tuple[Step, ...] = (
    private.count_own,
    When(private.has_private, *_CONTRACT),
    rounds.drop_cycles,
    _COUNT,
    Loop(*_ROUND, until=rounds.one_rank_suffices),
    heavy.count_heavy,
    rounds.send_rest,
    rounds.take_rest,
    rounds.join_rest,
    rounds.collect_joined,
    rounds.count_fragments,
)

#: Select the heavy edges that may join two fragments, and relabel them.
_FILTER: tuple[Step, ...] = (
    rounds.send_roots,
    rounds.take_roots,
    labels.follow_all,
    *_FOLLOW,
    heavy.sample_labels,
    heavy.find_largest,
    heavy.mark_outside,
    heavy.select_outside,
    labels.deal_arcs.renamed(local_edges="edges"),
    labels.ask_tails,
    labels.answer_questions,
    labels.relabel_local.renamed(local_edges="edges"),
    edges.count_edges,
)

EXCHANGE_STEPS: tuple[Step, ...] = (
    ranges.sample_ends,
    ranges.divide_vertices,
    labels.start_parents,
    Loop(
        sample_keys,
        heavy.choose_light,
        select_light_edges.renamed(light_edges="local_edges", num_vertices="num_labels"),
        *_SOLVE,
        When(heavy.has_heavy, *_FILTER),
        until=edges.no_edges_left,
    ),
)

#: `light_per_vertex` and `sample_size` are those of `filter-boruvka`. All edges are light if
#: there are at most `dense` per fragment, or not more than vertices per rank.
EXCHANGE_VALUES = {
    "light_per_vertex": 1.75,
    "dense": 3.0,
    "sample_size": 2**13,
}
