"""A graph has one forest, edge id for edge id, in each form that is accepted (a door).

`DOORS` is the table of doors: each is a function of a folder that returns what a user would pass,
alone or with options of `minimum_spanning_forest`. To test another door, add a function.
"""

from __future__ import annotations

import bz2
import decimal
import functools
import gzip
import http.server
import lzma
import re
import threading
import warnings
from pathlib import Path

import duckdb
import fsspec
import igraph
import networkx
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from dask import array as dask_array
from dask import bag, dataframe
from pyarrow import dataset, feather, parquet
from scipy import sparse

from mstflow import EdgeList, minimum_spanning_forest
from mstflow.doors.write import write_graph
from mstflow.graphs.source import EdgeSource

# A graph that every format can hold: no loops or parallel edges, and sorted, so that formats that
# sort edges keep their order. Many weights are equal.
RNG = np.random.default_rng(0)
N, M = 300, 2000
U, V = (column[:M] for column in np.unique(np.sort(RNG.integers(N, size=(2, 3 * M)), 0), axis=1))
U, V = U[U < V], V[U < V]
M = len(U)
W = RNG.integers(40, size=M)
COLUMNS = {"u": U, "v": V, "weight": W}
TABLE = pa.table(COLUMNS)
NAMED = pa.table({"u": [f"n{x}" for x in U], "v": [f"n{x}" for x in V], "weight": W})
EDGES = list(zip(U.tolist(), V.tolist(), W.tolist(), strict=True))
FOREST = minimum_spanning_forest((U, V, W)).edge_ids
ENDS = {"ends": ("u", "v")}
COUNTED = {"num_vertices": N}

DOORS = {}


def door(make):
    """Add a door to the table."""
    DOORS[make.__name__.replace("_", " ")] = make
    return make


def parts(count=12):
    """Divide the table as a library divides it into files."""
    size = -(-M // count)
    return [TABLE.slice(start, size) for start in range(0, M, size)]


# In memory.


@door
def arrays(_):
    return U, V, W


@door
def lists(_):
    return U.tolist(), V.tolist(), W.tolist()


@door
def edge_list(_):
    return EdgeList(U, V, W)


@door
def dict_of_arrays(_):
    return COLUMNS


@door
def opened_npz(folder):
    np.savez(folder / "g.npz", **COLUMNS)
    return np.load(folder / "g.npz")


@door
def list_of_chunks(_):
    return [(U[:999], V[:999], W[:999]), (U[999:], V[999:], W[999:])]


@door
def generator_of_chunks(_):
    return (chunk for chunk in list_of_chunks(None)), COUNTED


@door
def scipy_coo(_):
    return sparse.coo_array((W, (U, V)), shape=(N, N))


@door
def scipy_csr(_):
    return scipy_coo(_).tocsr()


@door
def networkx_graph(_):
    graph = networkx.Graph()
    graph.add_nodes_from(range(N))
    graph.add_weighted_edges_from(EDGES)
    return graph


@door
def igraph_graph(_):
    return igraph.Graph(N, zip(U.tolist(), V.tolist(), strict=True), edge_attrs={"weight": W})


@door
def xarray_dataset(_):
    xarray = pytest.importorskip("xarray")
    return xarray.Dataset({name: ("edge", values) for name, values in COLUMNS.items()})


# Tables.


@door
def pandas_frame(_):
    return pandas.DataFrame(COLUMNS)


@door
def pandas_nullable(_):
    kinds = {"u": "Int32", "v": "category", "weight": "UInt16"}
    return pandas.DataFrame(COLUMNS).astype(kinds)


@door
def pandas_categories(_):
    return pandas.DataFrame(NAMED.to_pydict()).astype({"u": "category", "v": "category"}), ENDS


@door
def polars_frame(_):
    return polars.DataFrame(COLUMNS)


@door
def polars_lazy(_):
    return polars.DataFrame(COLUMNS).lazy().filter(True)


@door
def polars_categories(_):
    frame = polars.from_arrow(NAMED)
    names = polars.Enum([f"n{x}" for x in range(N)])
    return frame.cast({"u": polars.Categorical, "v": names}), ENDS


@door
def polars_lazy_names(_):
    return polars_categories(_)[0].lazy(), ENDS


@door
def arrow_table(_):
    return TABLE


@door
def arrow_batch(_):
    return TABLE.combine_chunks().to_batches()[0]


@door
def arrow_reader(_):
    return TABLE.to_reader(100), COUNTED


@door
def arrow_decimals(_):
    column = pa.array([decimal.Decimal(int(w)) for w in W], pa.decimal128(38, 0))
    return TABLE.set_column(2, "weight", column)


@door
def arrow_dictionary(_):
    return TABLE.set_column(0, "u", TABLE["u"].dictionary_encode())


@door
def arrow_dataset(folder):
    for number, part in enumerate(parts(3)):
        parquet.write_table(part, folder / f"{number}.parquet")
    return dataset.dataset(folder)


@door
def arrow_scanner(_):
    return dataset.dataset(TABLE).scanner(batch_size=77)


@door
def arrow_parquet_file(folder):
    parquet.write_table(TABLE, folder / "g.parquet", row_group_size=300)
    return parquet.ParquetFile(folder / "g.parquet")


@door
def duckdb_relation(_):
    return duckdb.from_arrow(TABLE).filter("weight >= 0")


@door
def duckdb_sums(_):
    relation = duckdb_relation(_)  # sums of integers are HUGEINT
    return relation.project("u, v, sum(weight) OVER (PARTITION BY u, v) AS weight").order("u, v")


@door
def ibis_table(_):
    return pytest.importorskip("ibis").memtable(TABLE)


# Dask.


@door
def dask_frame(_):
    return dataframe.from_pandas(pandas_frame(_), npartitions=3)


@door
def dask_arrays(_):
    return tuple(dask_array.from_array(column, chunks=700) for column in (U, V, W))


@door
def dask_matrix(_):
    return dask_array.from_array(np.stack([U, V, W], axis=1), chunks=(700, 3))


@door
def dask_delayed(_):
    import dask

    return [dask.delayed(chunk) for chunk in list_of_chunks(None)]


@door
def dask_bag(_):
    edges = bag.from_sequence(EDGES, npartitions=3)
    return edges.map_partitions(lambda edges: tuple(zip(*edges, strict=True))).to_delayed()


# Files.


def converted(path):
    write_graph(path, EdgeSource.of(EdgeList(U, V, W)))
    return path


@door
def npz(folder):
    return converted(folder / "g.npz")


@door
def npy_folder(folder):
    return converted(folder / "g")


@door
def csv(folder):
    return converted(folder / "g.csv")


@door
def csv_gz(folder):
    return compressed(csv(folder), ".gz", gzip.compress)


def compressed(path, suffix, compress):
    target = path.with_name(path.name + suffix)
    target.write_bytes(compress(path.read_bytes()))
    return target


@door
def txt(folder):
    (folder / "g.txt").write_text("".join(f"{u} {v} {w}\n" for u, v, w in EDGES))
    return folder / "g.txt"


@door
def txt_bz2(folder):
    return compressed(txt(folder), ".bz2", bz2.compress)


@door
def gr(folder):
    return converted(folder / "g.gr")


@door
def gr_xz(folder):
    return compressed(gr(folder), ".xz", lzma.compress)


@door
def mtx(folder):
    rows = "".join(f"{u + 1} {v + 1} {w}\n" for u, v, w in EDGES)
    text = f"%%MatrixMarket matrix coordinate integer general\n{N} {N} {M}\n{rows}"
    (folder / "g.mtx").write_text(text)
    return folder / "g.mtx"


@door
def one_parquet(folder):
    return converted(folder / "g.parquet")


@door
def parquet_names(folder):
    parquet.write_table(NAMED, folder / "g.pq", row_group_size=300)
    return folder / "g.pq", ENDS


@door
def arrow_file(folder):
    feather.write_feather(TABLE, folder / "g.feather")
    return folder / "g.feather"


@door
def arrow_stream(folder):
    with pa.ipc.new_stream(folder / "g.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE, 500)
    return folder / "g.arrow"


@door
def arrow_categories(folder):
    polars_categories(folder)[0].write_ipc(folder / "g.ipc")
    assert polars.read_ipc(folder / "g.ipc").dtypes[0] == polars.Categorical
    return folder / "g.ipc", ENDS


@door
def list_of_files(folder):
    for number, part in enumerate(parts(2)):
        parquet.write_table(part, folder / f"{number}.parquet")
    return [folder / "0.parquet", str(folder / "1.parquet")]


# Folders and patterns.


@door
def spark_folder(folder):
    for number, part in enumerate(parts()):
        parquet.write_table(part, folder / f"part-{number}-c000.snappy.parquet")
        (folder / f".part-{number}-c000.snappy.parquet.crc").write_bytes(b"crc")
    (folder / "_SUCCESS").touch()
    (folder / "_metadata").write_bytes(b"not read")
    (folder / "_temporary").mkdir()
    (folder / "_temporary/0.parquet").write_bytes(b"not read")
    return folder


@door
def dask_folder(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask uses an option of pandas that is deprecated
        dask_frame(folder).repartition(npartitions=11).to_parquet(folder / "g")
    assert (folder / "g/part.10.parquet").exists()
    return folder / "g"


@door
def hive_folder(folder):
    for number, part in enumerate(parts()):
        inside = folder / f"year={number}" / "month=7"
        inside.mkdir(parents=True)
        parquet.write_table(part, inside / "data_0.parquet")
    return folder


@door
def duckdb_folder(folder):
    relation = duckdb.from_arrow(TABLE.append_column("part", pa.array(np.arange(M) // 500)))
    relation.write_parquet(str(folder / "g"), partition_by=["part"])
    return folder / "g"


@door
def csv_folder(folder):
    for number, part in enumerate(parts()):
        (folder / f"{number // 3}").mkdir(exist_ok=True)
        part.to_pandas().to_csv(folder / f"{number // 3}" / f"{number}.csv", index=False)
    return folder


@door
def dask_csv_folder(folder):
    dask_frame(folder).to_csv(folder / "g", index=False)
    assert (folder / "g/0.part").exists()
    return folder / "g"


@door
def arrow_folder(folder):
    for number, part in enumerate(parts()):
        feather.write_feather(part, folder / f"{number}.arrow")
    return folder


@door
def folder_of_npy_folders(folder):
    for number, part in enumerate(parts()):
        (folder / f"block-{number}").mkdir()
        for name in COLUMNS:
            np.save(folder / f"block-{number}/{name}.npy", part[name].to_numpy())
    return folder


@door
def pattern(folder):
    spark_folder(folder)
    return str(folder / "part-*.parquet")


@door
def deep_pattern(folder):
    hive_folder(folder)
    return str(folder / "**/*.parquet")


@door
def folder_of_names(folder):
    for number in range(11):
        part = NAMED.slice(number * 200, 200 if number < 10 else None)
        parquet.write_table(part, folder / f"{number}.parquet")
    return folder, ENDS


# URLs.


def remote(folder, make):
    """Copy what a door writes to the file system in memory; return its URL."""
    made = make(folder)
    path, *options = made if isinstance(made, tuple) else (made,)
    target = f"/{folder.name}/{Path(path).name}"
    fsspec.filesystem("memory").put(str(path), target, recursive=Path(path).is_dir())
    return (f"memory:/{target}", *options) if options else f"memory:/{target}"


def server(folder):
    """Return the URL of a web server for a folder; another test stops it."""
    handler = functools.partial(Ranges, directory=str(folder))
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    SERVERS.append(web)
    return f"http://127.0.0.1:{web.server_port}"


SERVERS = []


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Sends ranges of bytes of files whose names do not say otherwise, and keeps the requests."""

    requests = []  # noqa: RUF012  # shared by all

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted is None or "whole" in path.name:
            super().do_GET()
            return
        self.requests.append(self.headers["Range"])
        data, (start, stop) = path.read_bytes(), map(int, wanted.groups())
        part = data[start : stop + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        pass


def web(folder, make):
    path = make(folder)
    return f"{server(path.parent)}/{path.name}"


@door
def url_of_a_file(folder):
    return one_parquet(folder).as_uri()


@door
def url_of_parquet(folder):
    return remote(folder, one_parquet)


@door
def url_of_csv(folder):
    return remote(folder, csv_gz)


@door
def url_of_txt(folder):
    return remote(folder, txt)


@door
def url_of_arrow(folder):
    return remote(folder, arrow_file)


@door
def url_of_npz(folder):
    return remote(folder, npz)


@door
def url_of_npy_folder(folder):
    return remote(folder, npy_folder)


@door
def url_of_a_spark_folder(folder):
    return remote(folder, spark_folder)


@door
def url_of_a_hive_folder(folder):
    return remote(folder, hive_folder)


@door
def url_of_a_csv_folder(folder):
    return remote(folder, csv_folder)


@door
def url_pattern(folder):
    return remote(folder, spark_folder) + "/part-*.parquet"


@door
def url_of_names(folder):
    return remote(folder, parquet_names)


@door
def opened_by_fsspec(folder):
    return fsspec.open(remote(folder, one_parquet))


@door
def web_parquet(folder):
    return web(folder, one_parquet)


@door
def web_csv(folder):
    return web(folder, csv_gz)


@door
def web_without_ranges(folder):
    return web(folder, lambda folder: one_parquet(folder).rename(folder / "whole.parquet"))


@door
def web_with_a_query(folder):
    return web(folder, csv) + "?version=3"


@pytest.fixture(scope="module", autouse=True)
def _stop_servers():
    yield
    while SERVERS:
        stopped = SERVERS.pop()
        stopped.shutdown()
        stopped.server_close()


def opened(name, folder):
    made = DOORS[name](folder)
    return made if isinstance(made, tuple) and isinstance(made[-1], dict) else (made, {})


def test_there_are_many_doors():
    assert len(DOORS) >= 60


@pytest.mark.parametrize("memory", [None, "1GB"])
@pytest.mark.parametrize("name", DOORS)
def test_same_forest_through_every_door(name, memory, tmp_path):
    graph, options = opened(name, tmp_path)
    forest = minimum_spanning_forest(graph, memory=memory, progress=False, **options)
    assert np.array_equal(forest.edge_ids, FOREST)
    assert forest.total_weight == W[FOREST].sum()


@pytest.mark.parametrize("name", ["polars lazy", "duckdb relation", "arrow dataset", "ibis table"])
def test_lazy_tables_on_threads(name, tmp_path):
    graph, _ = opened(name, tmp_path)
    options = {"scheduler": "threads", "partitions": 3, "memory": "1GB"}
    assert np.array_equal(minimum_spanning_forest(graph, **options).edge_ids, FOREST)


ON_WORKERS = [
    "arrays",
    "pandas frame",
    "arrow dataset",
    "dask frame",
    "dask bag",
    "one parquet",
    "csv gz",
    "spark folder",
    "hive folder",
    "csv folder",
    "folder of names",
    "pattern",
    "url of a file",
    "web parquet",
    "web csv",
]


@pytest.mark.parametrize("name", ON_WORKERS)
def test_same_forest_on_two_workers(name, tmp_path, cluster):
    graph, options = opened(name, tmp_path)
    forest = minimum_spanning_forest(graph, scheduler=cluster, partitions=3, **options)
    assert np.array_equal(forest.edge_ids, FOREST)


@pytest.mark.parametrize("name", ["spark folder", "csv folder", "url of a file"])
def test_same_forest_on_two_workers_with_a_bound(name, tmp_path, cluster):
    graph, options = opened(name, tmp_path)
    forest = minimum_spanning_forest(graph, scheduler=cluster, memory="1GB", **options)
    assert np.array_equal(forest.edge_ids, FOREST)
