"""Readers of text formats as whole graphs, in blocks of any size."""

import functools

from mstflow.graphs.formats.csv import csv_blocks
from mstflow.graphs.formats.gr import gr_blocks
from mstflow.graphs.formats.metis import metis_blocks
from mstflow.graphs.formats.mtx import mtx_blocks
from mstflow.graphs.formats.txt import txt_blocks
from mstflow.graphs.text.table import join_blocks


def reader(blocks):
    @functools.wraps(blocks)
    def read(path, *args, **options):
        return join_blocks(path, blocks(path, *args, **options))

    return read


read_csv, read_gr, read_metis, read_mtx, read_txt = map(
    reader, (csv_blocks, gr_blocks, metis_blocks, mtx_blocks, txt_blocks)
)
