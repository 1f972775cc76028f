"""report.json: what was built, from what, what it costs, and what was checked."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from typing import Any

from scm_hw.design import Design
from scm_hw.emit.formats import Field, input_fields, output_fields
from scm_hw.emit.identity import describe, identity
from scm_hw.fold import FoldPlan, Phase
from scm_hw.ir import Range
from scm_hw.load import Model
from scm_hw.passes.sample import RANDOM_ROWS
from scm_hw.report.accuracy import accuracy
from scm_hw.report.adaptation import adaptation_of
from scm_hw.report.power import power_of
from scm_hw.report.resources import Synthesis, resources_of
from scm_hw.report.storage import weights
from scm_hw.rtl.reload import ProcessorPlan
from scm_hw.target.devices import Device
from scm_hw.tools.nextpnr import Implementation
from scm_hw.verify import NETLIST, SimResult
from scm_hw.verify.rows import CheckRows

FORMAT = "scm-report"


def make_report(
    name: str,
    design: Design,
    rows: CheckRows,
    simulations: list[SimResult],
    resources: Synthesis | None,
    routed: Implementation | None = None,
    *,
    activity: float | None = None,
) -> dict[str, Any]:
    """Everything about a build, in the keys of the design page; the same for equal builds.

    `activity` is what was recorded of the core: transitions of a bit in a cycle.
    """
    model, plan = design.model, design.schedule
    report: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "name": name,
        "board": design.board.name,
        "part": design.board.part,
        "interface": design.options.interface,
        "digest": design.digest,
        "clock_mhz": design.clock_mhz,
        "latency_cycles": design.latency,
        "latency_ns": design.latency * plan.period_ns,
        "initiation_interval": design.initiation_interval,
        "samples_per_second": design.clock_mhz * 1e6 / design.initiation_interval,
        "serial": _serial(design, name),
        "handshake": design.options.handshake,
        "input_register": design.options.input_register,
        "stages_ns": [round(t, 3) for t in plan.stage_ns],
        "max_clock_mhz_modelled": round(design.max_clock_mhz, 1),
        "slack_ns_modelled": round(plan.period_ns - max(plan.stage_ns, default=0.0), 3),
    }
    if rows.evaluation is not None and rows.activity is not None:
        report |= accuracy(
            model,
            design.hardware,
            design.fixed,
            rows.evaluation,
            rows.activity.output,
            rows.answers,
        )
        report["sampled_from"] = _sampled_from(model, rows)
    cells, serial = resources_of(design, resources), report["serial"]
    report |= {
        "checks": _checks(rows, simulations),
        "bit_exact": {result.simulator: _verdict(result) for result in simulations},
        "resources": cells,
        "power": power_of(design, cells, activity, serial["baud"] if serial else None),
        "device": _device(design.board.device),
        "implementation": _implementation(design, routed),
        "fold": _fold(design.fold),
        **({} if design.processor is None else {"processor": _processor(design.processor)}),
        "adaptation": adaptation_of(design),
        "weights": weights(model),
        "formats": _formats(design),
        "model": _model(design),
        "tools": design.tools,
    }
    return report


def _serial(design: Design, name: str) -> dict[str, float] | None:
    """What the serial port of the board top carries; None without one."""
    if design.board.platform is None or design.options.top != "uart":
        return None
    # Its digests have no part in the rate.
    hello, _ = identity(replace(design, model_digest="0" * 64), name)
    return {"baud": hello.baud, "samples_per_second": round(hello.samples_per_second, 1)}


def _sampled_from(model: Model, rows: CheckRows) -> int | None:
    """Of how many test rows those in the model file are a sample; None where they are all."""
    data = model.info.get("data")
    every = data.get("test_rows") if isinstance(data, dict) else None
    if rows.evaluation is not model.evaluation or not isinstance(every, int):
        return None
    return every if every > len(model.evaluation) else None


def _checks(rows: CheckRows, simulations: list[SimResult]) -> dict[str, Any]:
    """What the vectors are, and what else was run on what is handed out."""
    simulated = bool(simulations)
    evaluation = rows.own_count
    return {
        "vectors": {
            "evaluation": evaluation,
            "corner": len(rows.inputs) - evaluation - RANDOM_ROWS,
            "random": RANDOM_ROWS,
        },
        "test_bench": simulated,
        "lint": simulated,
        "netlist": any(result.simulator == NETLIST for result in simulations),
    }


def _verdict(result: SimResult) -> dict[str, Any]:
    return {
        "vectors": result.vectors,
        "mismatches": result.mismatches,
        "cycles": result.cycles,
        "initiation_interval": result.interval,
        "version": result.version,
    }


def _implementation(design: Design, routed: Implementation | None) -> dict[str, Any] | None:
    """The whole board top, placed and routed: its clock, its cells, and its bitstream."""
    if routed is None or design.toolchain is None:
        return None
    return {
        "toolchain": design.toolchain.name,
        "tools": routed.tools,
        "clock_mhz": design.board.clock_mhz,
        "fmax_mhz": round(routed.fmax_mhz, 2),
        "met": routed.meets(design.board.clock_mhz),
        "utilisation": {
            cell: {"used": used, "available": have}
            for cell, (used, have) in routed.utilisation.items()
        },
        "bitstream": {
            "file": design.toolchain.bitstream,
            "bytes": len(routed.bitstream),
            "sha256": hashlib.sha256(routed.bitstream).hexdigest(),
        },
    }


def _fold(plan: FoldPlan | None) -> dict[str, Any] | None:
    """Lanes of each layer, cycles of each phase and of what goes beside, bits of each memory."""
    if plan is None:
        return None
    return {
        "layers": [{"pe": fold.pe, "simd": fold.simd} for fold in plan.folds],
        "readout_lanes": plan.readout_lanes,
        "phases": [_phase(p) for p in plan.phases],
        "beside": [_phase(p) for p in plan.beside],
        "memories": [
            {"name": b.name, "width": b.width, "depth": b.depth, "bits": b.bits} for b in plan.banks
        ],
    }


def _processor(plan: ProcessorPlan) -> dict[str, Any]:
    """What it has room for, and what the built-in model takes of it."""
    capacity, image = plan.capacity, plan.image
    return {
        "capacity": asdict(capacity.room),
        "longest_latency_cycles": plan.longest,
        "memories": [
            {
                "name": name,
                "width": width,
                "depth": words,
                "used": used,
                "banks": capacity.models + 1,
            }
            for name, width, (words, _), used in zip(
                ("steps", "rows"),
                (capacity.step_bits, capacity.row_bits),
                capacity.upload.sections,
                (len(image.steps), len(image.rows)),
                strict=True,
            )
        ],
    }


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "name": phase.name,
        "steps": phase.steps,
        "cycles": phase.cycles,
        "ns": round(phase.ns, 3),
    }


def _device(device: Device) -> dict[str, Any]:
    return {
        "name": device.name,
        "lut": device.lut,
        "ff": device.ff,
        "carry4": device.lut // 4 if device.family == "xc7" else None,
        "dsp": device.dsp,
        "bram": device.bram,
        "family": device.family,
        "block": device.block,
    }


def _formats(design: Design) -> dict[str, Any]:
    """Every port, in the order in which they are packed: bits, fraction, and what it stands for."""
    meaning = describe(design)
    inputs = [
        _port(field, reach)
        for field, reach in zip(input_fields(meaning), design.input_ranges, strict=True)
    ]
    # A word of a mechanism has the name of its target.
    for port in inputs[len(meaning.features) :] if meaning.adapt is None else ():
        port["name"] = f"P0_{port['name']}"
    return {
        "in_data": inputs,
        "out_data": [
            _port(field, reach)
            for field, reach in zip(output_fields(meaning), design.output_ranges, strict=True)
        ],
        "output_units": meaning.output_units,
        "coefficient_fraction_bits": design.fixed.frac_bits,
        "in_width": sum(meaning.in_widths),
        "out_width": sum(meaning.out_widths),
    }


def _port(field: Field, reach: Range) -> dict[str, Any]:
    """`low` and `high` are what an integer of 0 and one of 2**fraction stand for."""
    return {
        **{k: v for k, v in field.facts().items() if k in ("labels", "other", "missing")},
        "name": field.name,
        "kind": field.kind,
        "bits": field.bits,
        "fraction": field.fraction,
        "signed": field.signed,
        "range": [reach.low, reach.high],
        "low": field.low,
        "high": field.high,
    }


def _model(design: Design) -> dict[str, Any]:
    model = design.model
    return {
        "sha256": design.model_digest,
        "task": model.task,
        "algorithm": model.algorithm,
        "inputs": len(model.signals),
        "coded_inputs": model.encoder.width,
        "encoder": model.encoder.kind,
        "input_bits": model.input_bits,
        "layers": [
            {"nodes": layer.nodes, "activation": layer.activation} for layer in model.layers
        ],
        "linear_inputs": int(model.linear.any(axis=1).sum()),
        "mechanism": model.mechanism.kind,
        "outputs": model.outputs,
        "classes": None if model.classes is None else list(model.classes),
        "data": model.info.get("data"),
    }
