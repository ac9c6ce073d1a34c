"""``python -m tests.attack``: all attacks, with figures; ``--seed`` repeats them, ``--case`` begins with that case of one attack."""

from __future__ import annotations

import argparse
import json
import sys
import time

from tests.attack.attacks import CASES, REFUSED, SUITE_ATTACKS, UNHARMED, attacked, clean, in_own_process, suite


def main() -> int:
    """Runs the attacks and returns 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"one of {', '.join([*CASES, *SUITE_ATTACKS])} (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="where all cases come from (default: 1)")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for each attack (default: 60; suites take five times as long)")
    parser.add_argument("--case", type=int, default=0, help="the first case")
    parser.add_argument("--most", type=int, default=10**9, help="the largest number of cases")
    parser.add_argument("--inner", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        found = attacked(options.inner, options.seed, options.seconds, options.case, options.most)
        clean()
        print(json.dumps(found))
        return 0
    unknown = [name for name in options.attacks if name not in CASES and name not in SUITE_ATTACKS]
    if unknown:
        parser.error(f"there is no attack '{unknown[0]}'; there are {', '.join([*CASES, *SUITE_ATTACKS])}")
    print(f"seed {options.seed}\n{'attack':22s}{'cases':>8s}{'refused':>9s}{'unharmed':>10s}{'faults':>8s}{'s':>8s}")
    bad = 0
    for name in options.attacks or [*CASES, *SUITE_ATTACKS]:
        begun = time.monotonic()
        if name in SUITE_ATTACKS:
            found = suite(*SUITE_ATTACKS[name], 5.0 * options.seconds, seed=options.seed)
        else:
            found = in_own_process(name, options.seed, options.seconds, options.case, options.most)
        faults = found["faults"]
        bad += len(faults)
        numbers = f"{found['cases']:8d}{found[REFUSED]:9d}{found[UNHARMED]:10d}{len(faults):8d}{time.monotonic() - begun:8.0f}"
        print(f"{name:22s}{numbers}", flush=True)
        for fault in faults[:10]:
            print(f"    {fault}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
