"""Draw the task stream of two workers during two scans: a bar for each task, colored by stage.

The data are those of the task stream on Dask's dashboard. Writes tasks.png.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import mstflow


def draw(client, graph, path):
    """Solve `graph` in two scans on the workers of `client`, and draw their tasks."""
    client.get_task_stream()  # starts the recording
    forest = mstflow.minimum_spanning_forest(
        graph, scheduler=client, strategy="two-scan", partitions=4, progress=False
    )
    tasks = client.get_task_stream()
    workers = sorted({task["worker"] for task in tasks})
    names = list(dict.fromkeys(task["key"].partition("-")[0] for task in tasks))
    spans = [
        (task["key"].partition("-")[0], workers.index(task["worker"]), span["start"], span["stop"])
        for task in tasks
        for span in task["startstops"]
        if span["action"] == "compute"
    ]
    begin = min(start for *_, start, _ in spans)
    _, ax = plt.subplots(figsize=(10, 1.4 + 0.6 * len(workers)), layout="constrained")
    for number, name in enumerate(names):
        rows, starts, stops = np.array([span[1:] for span in spans if span[0] == name]).T
        left, width = 1e3 * (starts - begin), 1e3 * (stops - starts)
        ax.barh(rows, width, 0.8, left, label=name, color=plt.get_cmap("tab20")(number), ec="white")
    ax.set(xlabel="ms", yticks=range(len(workers)))
    ax.set_yticklabels([f"worker {number}" for number in range(len(workers))])
    ax.set_title(f"{forest.strategy}, {forest.partitions} partitions, {len(tasks)} tasks")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    plt.savefig(path, dpi=110)
    print(f"{len(tasks)} tasks, {len(forest.edge_ids)} edges in the forest")


if __name__ == "__main__":
    random, num_edges = np.random.default_rng(7), 4_000_000
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for name in "uv":
            np.save(f"{folder}/{name}.npy", random.integers(0, 400_000, num_edges, dtype=np.int32))
        np.save(f"{folder}/w.npy", random.random(num_edges, dtype=np.float32))
        draw(client, folder, "tasks.png")
