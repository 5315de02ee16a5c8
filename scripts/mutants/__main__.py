"""`make mutants`: try the mutants of one area or of all, within a time, and write the report."""

import argparse
import random
import signal
import sys
import time
from datetime import UTC, datetime

from mutants.areas import SOURCE, Area, load_areas
from mutants.mutations import check_own_operators, mutants_of
from mutants.report import Result, keep_result, kept_result, load_reasons, write_page
from mutants.trial import trials_of


def say(text: str) -> None:
    """Write one line, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run_area(area: Area, *, most: int, minutes: float, seed: int, again: bool) -> Result:
    """Try the area's mutants in an order that the seed gives, until they are tried or the time is over.

    With `again` only those that survived the last time are tried, after tests were added: the others stay counted,
    those whose line is gone do not, and what is new waits for the next whole run.
    """
    mutants = [one for path in area.files for one in mutants_of(path, SOURCE / path)]
    result = Result(area=area.name, date=f"{datetime.now(UTC):%Y-%m-%d}", mutants=len(mutants), seed=seed)
    chosen = random.Random(seed).sample(mutants, min(most, len(mutants)))
    if again:
        last = kept_result(area.name)
        survived = {one.name for one in last.survivors}
        chosen = [one for one in mutants if one.name in survived]
        result.seed, result.killed, result.timeouts = last.seed, last.killed, last.timeouts
        result.mutants = last.mutants - len(survived - {one.name for one in chosen})
    reasons = load_reasons()
    with trials_of(area) as trials:
        took = trials.prove_green()
        say(f"{area.name}: {len(chosen)} of {len(mutants)} mutants; the tests take {took:.1f} s without one")
        deadline = time.monotonic() + minutes * 60
        for mutant in chosen:
            if time.monotonic() > deadline:
                say(f"{area.name}: {minutes:g} minutes are over")
                break
            if result.tried and result.tried % 50 == 0:
                say(f"{area.name}: {result.tried} tried")
            verdict = trials.try_mutant(mutant)
            result.note(mutant, verdict)
            if verdict != "killed":
                known = " (explained)" if reasons.why(mutant.name) else ""
                say(f"  {verdict}{known} {mutant.path}:{mutant.line} {mutant.before} → {mutant.after}")
    result.survivors.sort(key=lambda one: (one.path, one.line))
    say(f"{area.name}: {result.tried} tried, {len(result.survivors)} survived, {len(result.timeouts)} timeouts")
    return result


def main() -> None:
    """Run the areas that are named, or all."""
    areas = load_areas()
    words = argparse.ArgumentParser(prog="make mutants")
    words.add_argument("area", nargs="*", metavar="AREA", help=f"one of {', '.join(areas)}; all when none is named")
    words.add_argument("--most", type=int, default=300, help="mutants to try of an area; a sample of that size if more")
    words.add_argument("--minutes", type=float, default=20, help="time for one area")
    words.add_argument("--seed", type=int, default=16)
    words.add_argument("--again", action="store_true", help="try only what survived the last time")
    words.add_argument("--only-report", action="store_true", help="write docs/mutants.md from what was kept")
    given = words.parse_args()
    unknown = set(given.area) - set(areas)
    if unknown:
        words.error(f"no such area: {', '.join(sorted(unknown))}; there are {', '.join(areas)}")
    check_own_operators()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that copies and the database go with us
    for name in [] if given.only_report else given.area or list(areas):
        keep_result(run_area(areas[name], most=given.most, minutes=given.minutes, seed=given.seed, again=given.again))
        write_page(areas, most=given.most)
    write_page(areas, most=given.most)


if __name__ == "__main__":
    main()
