"""The table at the end of each benchmark: measured figures against their goals."""


def print_verdicts(rows, title):
    """Prints the table and returns the number of goals that are missed.

    `rows`: (what, measured, goal, unit, larger is better).
    """
    missed = 0
    print(f"{'what':56} {'measured':>10} {'goal':>10}   verdict   ({title})")
    for what, measured, goal, unit, larger in rows:
        ok = measured >= goal if larger else measured <= goal
        missed += not ok
        print(
            f"{what:56} {measured:7.3g} {unit:2} {'>=' if larger else '<='} {goal:5.3g} {unit:2}   "
            f"{'met' if ok else 'MISSED'}"
        )
    return missed
