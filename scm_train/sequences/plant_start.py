"""Whether a machine of records starts from a plant, which validation records decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from scm_model import Model
from scm_model.encoder import MAX_INPUT_BITS
from scm_model.memory import Memory
from scm_train.learner import Learner
from scm_train.sequences.candidates import Candidate, grown, scale_of, validation_error
from scm_train.sequences.identify import Structure, fitted_plant, identify
from scm_train.sequences.plant import plant_machine
from scm_train.sequences.records import Records, divide

__all__ = ["Choice", "with_plant"]

LEAST_BITS, MORE_BITS = 12, 4
#: A code of fewer bits is enough where the error is within this of that of the most.
ENOUGH = 1.01
#: What nodes beside a plant have to bring, and what the plant has to, for its multipliers.
NODES_GAIN, PLANT_GAIN = 0.9, 0.98
#: There are no further rounds of learning where the first error is more than this many times that
#: of a plant.
HOPELESS = 4.0

Parts = tuple[Records, Records]


@dataclass(frozen=True, eq=False)
class Choice:
    """Records with what is to be learned from them, and by whom."""

    records: Records
    memory: Memory
    learner: Learner
    names: tuple[str, ...]
    rounds: int
    margin: float

    @cached_property
    def structure(self) -> Structure:
        """Chosen by several parts of the records."""
        return identify(self.records, self.memory, scale_of(self.memory, self.records, self.margin))

    @property
    def gap(self) -> int:
        return self.memory.depth + self.memory.horizon

    def plant(self, parts: Parts) -> Model:
        """The plant of the records to learn from, with codes of as many bits as it needs."""
        plant, bits = fitted_plant(self.structure, parts[0], self.memory), self.learner._code_bits()
        tried = range(LEAST_BITS, MAX_INPUT_BITS + 1, MORE_BITS) if bits == "auto" else (bits,)
        machines = [
            plant_machine(plant, self.memory, self.structure.scale, self.names, int(bits))
            for bits in tried
        ]
        errors = [validation_error(machine, parts[1]) for machine in machines]
        return next(
            machine
            for machine, error in zip(machines, errors, strict=True)
            if error <= ENOUGH * errors[-1]
        )

    def plant_of_all(self, input_bits: int) -> Model:
        """The plant fitted to the validation records as well."""
        plant = fitted_plant(self.structure, self.records, self.memory)
        return plant_machine(plant, self.memory, self.structure.scale, self.names, input_bits)

    def grown(self, parts: Parts, plant: Model | None, enough: float) -> Candidate:
        return grown(
            self.learner, self.memory, parts, self.names,
            rounds=self.rounds, plant=plant, enough=enough,
        )  # fmt: skip

    def candidates(self, parts: Parts) -> list[Candidate]:
        """Nodes alone, nodes behind the plant, and the plant alone."""
        plant = self.plant(parts)
        alone = Candidate(plant, errors=[validation_error(plant, parts[1])])
        reach = self.structure.scale.reach
        nodes = self.grown(parts, None, HOPELESS * alone.error * reach)
        return [nodes, self.grown(parts, plant, HOPELESS * alone.error), alone]

    @property
    def described(self) -> dict[str, Any]:
        structure = self.structure
        taps = [list(self.memory.taps[place]) for place in structure.places]
        fitted = "free run" if structure.steps else "one step"
        return {"polynomial": taps, "margin": structure.scale.margin, "fitted": fitted}


def with_plant(choice: Choice) -> tuple[Candidate, dict[str, Any] | None]:
    """The candidate with the least validation error, and a description of the plant in it."""
    found = choice.candidates(divide(choice.records, choice.gap))
    # Normalised by the machine's range, which is wider where there is a plant.
    reach = choice.structure.scale.reach
    nodes, behind, alone = (
        one.error * scale for one, scale in zip(found, (1.0, reach, reach), strict=True)
    )
    # A plant has to bring PLANT_GAIN against nodes alone; nodes behind a plant have to bring
    # NODES_GAIN against the plant alone.
    if nodes * PLANT_GAIN <= min(behind / NODES_GAIN, alone):
        return found[0], None
    if behind < NODES_GAIN * alone:
        return found[1], choice.described
    bits = found[2].machine.input_bits
    assert bits is not None
    return replace(found[2], machine=choice.plant_of_all(bits)), choice.described
