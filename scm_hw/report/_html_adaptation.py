"""How the readout learns, on the page."""

from __future__ import annotations

from typing import Any

from scm_hw.report._html_elements import Section, count, el, facts, section


def adaptation_section(report: dict[str, Any]) -> list[Section]:
    """Nothing for a readout that doesn't learn."""
    told = report["adaptation"]
    if told is None:
        return []
    drift, leak, oldest = told["drift"], told["leak"], told["oldest_target_samples"]
    alarm = "none, since the model file has no test rows"
    if drift["threshold"] is not None:
        alarm = (
            f"CUSUM of the error above {drift['reference']:.4g} reaches {drift['threshold']:.4g}, "
            f"on average at most one false alarm in {drift['samples_to_false_alarm']:,} samples"
        )
    rows = [
        ("Pace", f"an update every {count(told['cycles_per_update'], 'cycle')}"),
        ("Seen by", f"the answers from {told['update_delay_samples']} samples later on"),
        ("Step (NLMS)", f"{told['nlms_step']:.4g}"),
        ("Leak", "none" if leak is None else f"{leak:.3g} of a change with each update"),
        ("Targets", f"up to {count(oldest, 'sample')} late" if oldest else "with their sample"),
        ("Terms", f"{told['terms']:,} of {told['bits']} bits"),
        ("Drift flag", alarm),
        ("Estimated share", f"{told['lut_estimate']:,} LUTs, {told['ff_estimate']:,} registers"),
    ]
    lead = "The readout learns from targets that come with the samples; errors are of all targets."
    return [section("adaptation", "Learning on the chip", el("p", lead), facts(rows))]
