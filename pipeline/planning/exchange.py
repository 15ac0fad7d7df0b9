"""The memory, the rounds and the messages of the strategy "exchange"."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...runtime.sizes import sizes
from ...stages.strategies.exchange.rounds import JOINED
from ..catalogue.exchange import EXCHANGE_VALUES
from ..streaming.facts import GraphFacts
from .costs import Estimate, Rates

#: Copies of both arcs of a light edge: as sent, as received, and concatenated.
_ARCS = 2 * 3
#: Bytes of an edge that one rank joins beside two copies: a record of two words.
_JOINED_EDGE = 16
#: Bytes per vertex that a rank owns, beside six labels: keys, positions and flags.
_OWNED_VERTEX = 24
#: Bytes per vertex of the graph while bits are received, or stand for labels that are numbered.
_ANY_VERTEX = 1 / 4
#: The share of the heavy edges that a rank keeps.
_KEPT_SHARE = 1 / 8
#: The share of the fragments, and of the edges, that a round leaves in a random graph.
_FRAGMENTS_LEFT, _EDGES_LEFT = 0.22, 0.65
#: Steps in a round that double the length of followed paths; exchanges in a round, and others.
_JUMPS, _EXCHANGES_OF_ROUND, _OTHER_EXCHANGES = 3, 12, 20
#: The time of a rank in nanoseconds: per edge, and per light edge. Seconds for a message.
_EDGE, _LIGHT, _MESSAGE = 30.0, 300.0, 0.7e-3


class _Round(NamedTuple):
    """The numbers of edges in all ranks, and of fragments with edges, before a round."""

    edges: float
    fragments: float


@dataclass(frozen=True)
class RankCosts:
    """The costs of a run with several ranks on a random graph; others need fewer rounds."""

    graph: GraphFacts
    ranks: int
    process_bytes: int

    @property
    def light_edges(self) -> float:
        """The number of light edges."""
        graph, values = self.graph, EXCHANGE_VALUES
        if graph.num_edges <= values["dense"] * graph.num_vertices:
            return graph.num_edges
        return values["light_per_vertex"] * graph.num_vertices

    @property
    def rank_bytes(self) -> int:
        """The bytes of the arrays of a rank, at the step that needs most.

        This assumes that light edges are spread evenly over the ranks. Ranges of vertices are cut
        so that arcs are, too, unless one vertex has more of them than the share of a rank.
        """
        graph, index = self.graph, self.graph.index_bytes
        edges, light = graph.num_edges / self.ranks, self.light_edges / self.ranks
        edge = graph.keyed_edge_bytes
        held = edges * edge
        loading = edges * graph.weight_bytes
        arcs = light * (edge + 2 * index + _ARCS * (2 * index + graph.weight_bytes))
        joining = min(self.light_edges, self._most_joined) * (2 * edge + _JOINED_EDGE)
        selecting = edges * (2 + _KEPT_SHARE * 2 * edge)
        owned = graph.num_vertices / self.ranks * (6 * index + _OWNED_VERTEX)
        return int(
            held + owned + graph.num_vertices * _ANY_VERTEX + max(loading, arcs, joining, selecting)
        )

    @property
    def _most_joined(self) -> float:
        """The largest number of edges that one rank joins."""
        owned = self.graph.num_vertices / self.ranks
        return max(sizes().joined_by_one_rank, JOINED * owned / self.ranks)

    def memory(self, ranks_together: int, processes: int) -> int:
        """Return the bytes of some ranks in some processes."""
        return processes * self.process_bytes + ranks_together * self.rank_bytes

    def rounds(self) -> list[_Round]:
        """Return all rounds: those with light edges, and those with heavy ones."""
        vertices, light = self.graph.num_vertices, self.light_edges
        heavy = self.graph.num_edges - light
        found = [*self._rounds(light, vertices)]
        if heavy:
            fragments = vertices * math.exp(-1.5 * light / max(1, vertices))
            found += self._rounds(_KEPT_SHARE * heavy, fragments)
        return found

    def _rounds(self, edges: float, fragments: float) -> Iterator[_Round]:
        """Yield rounds until one rank can join the edges that remain."""
        while self.ranks > 1 and (edges := min(edges, self.ranks * fragments)) > self._most_joined:
            yield _Round(edges, fragments)
            edges, fragments = edges * _EDGES_LEFT, fragments * _FRAGMENTS_LEFT

    def estimate(self, workers: int, rates: Rates) -> Estimate:
        """Estimate the cost of the run on some workers with a thread each."""
        graph, ranks, rounds = self.graph, self.ranks, self.rounds()
        index, share = graph.index_bytes, (ranks - 1) / ranks
        sent = graph.num_vertices * (ranks - 1) / 8  # a bit for each vertex
        sent += 2 * self._most_joined * share * graph.keyed_edge_bytes  # the rest, twice
        for edges, fragments in rounds:
            sent += share * 2 * edges * (3 * index + graph.weight_bytes)  # arcs and answers
            sent += share * fragments * _JUMPS * 3 * index
        sent = sent if ranks > 1 else 0.0
        read, workers = graph.num_edges * graph.columns_bytes, min(workers, ranks)
        computing = (graph.num_edges * _EDGE + self.light_edges * _LIGHT) * 1e-9 / workers
        exchanges = _OTHER_EXCHANGES + _EXCHANGES_OF_ROUND * len(rounds)
        messages = exchanges * (ranks - 1) * _MESSAGE * ranks / workers
        seconds = computing + messages + max(read / rates.disk, sent / rates.network) / workers
        return Estimate(1, read, int(sent), seconds, rounds=len(rounds))
