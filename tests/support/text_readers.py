"""Readers of text formats as whole graphs, in blocks of any size."""

import functools
from unittest import mock

from mstflow.doors.formats.text import metis, row_parser
from mstflow.doors.formats.text.blocks import join_blocks
from mstflow.doors.formats.text.csv import csv_blocks
from mstflow.doors.formats.text.gr import gr_blocks
from mstflow.doors.formats.text.metis import metis_blocks
from mstflow.doors.formats.text.mtx import mtx_blocks
from mstflow.doors.formats.text.txt import txt_blocks


def edges_of(graph):
    """Return the edges of a graph as tuples of Python numbers."""
    return list(zip(graph.u.tolist(), graph.v.tolist(), graph.weight.tolist(), strict=True))


def reader(blocks):
    @functools.wraps(blocks)
    def read(path, *args, block_size=row_parser.BLOCK_SIZE):
        def lines(file, **options):
            return whole_lines(file, block_size, **options)

        whole_lines = row_parser.whole_lines
        with (
            mock.patch.object(row_parser, "whole_lines", lines),
            mock.patch.object(metis, "whole_lines", lines),
        ):
            return join_blocks(path, blocks(path, *args))

    return read


read_csv, read_gr, read_metis, read_mtx, read_txt = map(
    reader, (csv_blocks, gr_blocks, metis_blocks, mtx_blocks, txt_blocks)
)
#: By suffix, for tests of several formats.
READERS = {
    ".csv": read_csv,
    ".gr": read_gr,
    ".graph": read_metis,
    ".mtx": read_mtx,
    ".txt": read_txt,
}
