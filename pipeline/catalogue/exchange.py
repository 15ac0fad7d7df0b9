"""The steps of the strategy "exchange", after the partitions are loaded.

They are those of a distributed filter-Boruvka: contract what one rank can decide, select light
edges, run rounds, select the heavy edges that may join two fragments, and run rounds again.

Source: Sanders and Schimek, "Engineering Massively Parallel MST Algorithms" (IPDPS 2023).
`docs/strategies.md` lists the differences.
"""

from ...stages import edges
from ...stages.filter import sample_keys, select_light_edges
from ...stages.strategies.exchange import heavy, labels, private, rounds
from ..steps import Loop, Step, When

#: Ask the owners of the parents of moving vertices. The number of these vertices is known after the
#: exchange that sends the questions.
_ASK_ABOVE: tuple[Step, ...] = (
    labels.count_moving,
    labels.list_parents,
    labels.ask_owners.renamed(touched="above"),
)

#: Replace the pointers of moving vertices by those of their parents, which answer.
_ANSWER, _JUMP = labels.answer_questions.renamed(parent="pointer"), labels.jump

#: Jump until each pointer leads to a root, and make this root the parent.
_FOLLOW: tuple[Step, ...] = (
    *_ASK_ABOVE,
    Loop(_ANSWER, _JUMP, *_ASK_ABOVE, until=labels.roots_reached),
    labels.take_pointers,
)

#: Ask the owners for the label of each touched vertex.
_ASK = (labels.ask_owners, labels.answer_questions, labels.take_labels)

#: Join the vertices whose edges all one rank has.
_CONTRACT: tuple[Step, ...] = (
    labels.ask_owners,
    private.answer_private,
    private.take_private,
    private.count_private,
    When(
        private.has_private,
        private.contract_private,
        rounds.collect_joined,
        private.send_moves,
        private.move_vertices,
        labels.relabel_local,
        rounds.count_fragments,
    ),
)

#: Count the edges that remain in all ranks.
_COUNT = edges.count_edges.renamed(edges="local_edges")

#: A round: each fragment chooses its lightest edge and hooks onto the other end. A claim also asks
#: for the parent of this end, and an offer for the label of its fragment.
_ROUND: tuple[Step, ...] = (
    rounds.offer_lightest,
    rounds.choose_lightest,
    rounds.send_claims,
    rounds.hook,
    rounds.collect_joined,
    labels.start_pointers,
    _ANSWER.renamed(questions="claims"),
    _JUMP,
    *_FOLLOW,
    rounds.count_fragments,
    labels.answer_questions.renamed(questions="offers"),
    labels.take_labels,
    labels.relabel_local,
    rounds.drop_cycles,
    _COUNT,
)

#: Find the forest of the local edges, and count the heavy edges.
_SOLVE: tuple[Step, ...] = (
    rounds.drop_cycles,
    *_CONTRACT,
    _COUNT,
    Loop(*_ROUND, until=rounds.one_rank_suffices),
    heavy.count_heavy,
    rounds.collect_rest,
    rounds.join_rest,
    rounds.count_fragments,
)

#: Select the heavy edges that may join two fragments, and relabel them.
_FILTER: tuple[Step, ...] = (
    rounds.take_roots,
    labels.follow_all,
    labels.start_pointers,
    *_FOLLOW,
    heavy.sample_labels,
    heavy.find_largest,
    heavy.mark_outside,
    heavy.select_outside,
    labels.number_labels,
    *_ASK,
    labels.relabel_local,
    labels.restore_labels,
    edges.count_edges,
)

EXCHANGE_STEPS: tuple[Step, ...] = (
    labels.divide_vertices,
    labels.start_parents,
    Loop(
        sample_keys,
        heavy.choose_light,
        select_light_edges,
        labels.number_labels.renamed(edges="light_edges"),
        *_SOLVE,
        When(heavy.has_heavy, *_FILTER),
        until=edges.no_edges_left,
    ),
)

#: `light_per_vertex` and `sample_size` are those of `filter-boruvka`. All edges are light if
#: there are at most `dense` per fragment, or so few that one rank joins them.
EXCHANGE_VALUES = {
    "light_per_vertex": 1.75,
    "dense": 3.0,
    "sample_size": 2**13,
}
