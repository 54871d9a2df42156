"""What is wrong with a job, piece by piece; the refusal joins the pieces into the one message clients know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from volcano.webhooks.rules.model import ALLOWED, AdmissionResponse, Cause, denied


class Finding(Struct, frozen=True):
    """One piece of the message, where it belongs, and what to do. `causes` when it stands for several."""

    text: str
    field: str
    hint: str = ""
    causes: tuple[Cause, ...] = ()


def refusal(findings: Iterable[Finding]) -> AdmissionResponse:
    """Allowed without findings; else a refusal that carries them all."""
    found = list(findings)
    if not found:
        return ALLOWED
    causes = [cause for one in found for cause in one.causes or (Cause(one.field, one.text.strip(" ;"), one.hint),)]
    return denied("".join(one.text for one in found).strip(), causes)


def go_list(items: Sequence[str]) -> str:
    return f"[{' '.join(items)}]"
