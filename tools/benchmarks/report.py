"""What a case reports, and the table it is printed in."""
import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table. A bar is the most allowed: of the ratio Sluice / reference, or, where
    `absolute` is set, of Sluice's own value. Nothing was measured where a value is None."""
    name: str
    unit: str
    sluice: float | None
    reference: float | None = None
    ratio: float | None = None
    bar: float | None = None
    absolute: bool = False
    note: str = ""

    @property
    def verdict(self):
        judged = self.sluice if self.absolute else self.ratio
        if self.sluice is None or (self.bar is not None and judged is None):
            return "missing"
        if self.bar is None:
            return ""
        return "PASS" if judged <= self.bar else "over"


def paired(name, unit, sluice, reference, **more):
    """A row from one value a round of each side: medians, and the median of the rounds' ratios."""
    ratios = [ours / theirs for ours, theirs in zip(sluice, reference) if theirs]
    return Row(name, unit, statistics.median(sluice), statistics.median(reference),
               statistics.median(ratios) if ratios else None, **more)


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


def table(rows):
    """The rows as aligned text, headed."""
    cells = [("case", "unit", "Sluice", "Redis", "ratio", "bar", "", "")]
    for row in rows:
        bar = "" if row.bar is None else f"{row.bar:g}" + (f" {row.unit}" if row.absolute else "")
        cells.append((row.name, row.unit, number(row.sluice), number(row.reference),
                      number(row.ratio), bar, row.verdict, row.note))
    widths = [max(map(len, column)) for column in zip(*cells)]
    layout = "{:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {:<{}}  {:<{}}"
    return "\n".join(
        layout.format(*(part for pair in zip(line, widths) for part in pair)).rstrip()
        for line in cells)
