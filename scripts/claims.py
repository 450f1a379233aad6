"""Prints the list of all claims, which ends docs/claims.md.

python -m scripts.claims
"""

import sys
from itertools import groupby

from keybench.model.names import NO_DATABASE
from keybench.results.claims.claim import ClaimQuestion, claims


def catalogue() -> str:
    """All claims and their questions, as Markdown lists grouped by source."""
    lines: list[str] = []
    for source, group in groupby(claims(), key=lambda claim: claim.source):
        year = f", {source.year}" if source.year else ""
        lines += ["", f"**{source.author}{year}: {source.where}.** {source.differs}", ""]
        for claim in group:
            lines.append(f"- `{claim.id}`: {' '.join(part for part in (claim.statement, claim.differs) if part)}")
            if claim.reason:
                lines.append(f"  - Not testable: {claim.reason}")
            lines += [f"  - {_asked(question)}" for question in claim.question]
    return "\n".join(lines[1:]) + "\n"


def _asked(question: ClaimQuestion) -> str:
    if question.compare == "computed":
        return f"{question.published}; arithmetic: {question.result}. {question.how}"
    live = "" if question.modellable else "; on a server" if NO_DATABASE not in question.databases else ""
    return f"{question.published}: {question.phrase()}{live}"


if __name__ == "__main__":
    sys.stdout.write(catalogue())
