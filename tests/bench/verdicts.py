"""What the benchmarks end with: a table of measured figures against their goals."""


def print_verdicts(rows, title):
    """rows: (what, measured, goal, unit, larger is better). Gives the number of goals that are missed."""
    missed = 0
    print(f"{'what':56} {'measured':>10} {'goal':>10}   verdict   ({title})")
    for what, measured, goal, unit, larger in rows:
        ok = measured >= goal if larger else measured <= goal
        missed += not ok
        print(
            f"{what:56} {measured:7.3g} {unit:2} {'>=' if larger else '<='} {goal:5.3g} {unit:2}   {'met' if ok else 'MISSED'}"
        )
    return missed
