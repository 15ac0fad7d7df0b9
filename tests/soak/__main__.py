"""The command of the campaign: `python tests/soak`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    tests = Path(__file__).resolve().parents[1]
    sys.path[:1] = [str(tests), str(tests / "support")]

from soak.campaign import KINDS, Campaign, run_case


def main() -> int:
    """Run a campaign, or repeat one case; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python tests/soak", description=__doc__)
    add = parser.add_argument
    add("--minutes", type=float, default=60, help="the time in which cases begin")
    add("--cases", type=int, help="the largest number of cases")
    add("--processes", type=int, default=2)
    add("--patience", type=float, default=1, help="factor of the times after which cases hang")
    add("--seed", type=int, default=1, help="case number i of a kind and seed is always the same")
    add("--kind", action="append", choices=KINDS, help="only these; may be given several times")
    add("--share", action="append", default=[], metavar="KIND=SHARE", help="of the time")
    add("--json", type=Path, metavar="FILE", help="counts, which are added to; a log beside it")
    add("--case", type=int, help="repeat one case of one kind, and show what was drawn")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # All processes write files there. Otherwise folders of killed processes would remain.
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        return run(parser, options)


def run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run the campaign or the case that the options select."""
    kinds = options.kind or list(KINDS)
    if options.case is not None:
        events, failure = run_case(kinds[0], options.seed, options.case)
        if failure:
            print(failure.pop("trace"))
        print(json.dumps(failure or events, indent=1))
        return int(failure is not None)
    shares = {kind: KINDS[kind].share for kind in kinds}
    for text in options.share:
        kind, _, share = text.partition("=")
        if kind not in KINDS:
            parser.error(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
        shares[kind] = float(share)
    shares = {kind: share for kind, share in shares.items() if share > 0}
    given = {
        name: getattr(options, name)
        for name in ("minutes", "processes", "patience", "seed", "cases")
    }
    counts = Campaign(**given, shares=shares, file=options.json).run()
    print(counts)
    return int(counts.failed.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
