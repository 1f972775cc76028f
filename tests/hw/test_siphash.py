"""SipHash-2-4: the reference against published vectors, and the gates against the reference."""

from __future__ import annotations

from random import Random

import pytest
from amaranth.sim import Simulator, SimulatorContext

from scm_hw.errors import OptionError
from scm_hw.load import siphash as reference
from scm_hw.load.siphash import LoadKey, read_key, siphash
from scm_hw.rtl.reload.siphash import SipHash

KEY = bytes(range(16))
# Of the bytes 0, 1, 2 ... of each length from 0 on, by the authors of SipHash.
VECTORS = (
    "310e0edd47db6f72",
    "fd67dc93c539f874",
    "5a4fa9d909806c0d",
    "2d7efbd796666785",
    "b7877127e09427cf",
    "8da699cd64557618",
    "cee3fe586e46c9cb",
    "37d1018bf50002ab",
    "6224939a79f5f593",
)


def test_published_vectors() -> None:
    for length, vector in enumerate(VECTORS):
        assert LoadKey(KEY).tag(bytes(range(length))).hex() == vector
    # The example of the paper.
    assert siphash(KEY, bytes(range(15))) == 0xA129CA6149BE45E5


def hashed(key: bytes, texts: list[bytes], share: float, seed: int = 0) -> list[int]:
    """What the gates give for each text, with pauses between bytes."""
    unit, random, found = SipHash(LoadKey(key)), Random(seed), []

    async def play(ctx: SimulatorContext) -> None:
        for text in texts:
            ctx.set(unit.start, 1)
            await ctx.tick()
            ctx.set(unit.start, 0)
            for byte in text:
                while random.random() > share:
                    ctx.set(unit.data, random.getrandbits(8))
                    await ctx.tick()
                ctx.set(unit.valid, 1)
                ctx.set(unit.data, byte)
                await ctx.tick()
                ctx.set(unit.valid, 0)
            ctx.set(unit.finish, 1)
            await ctx.tick()
            ctx.set(unit.finish, 0)
            for _ in range(24):
                if ctx.get(unit.ready):
                    break
                await ctx.tick()
            assert ctx.get(unit.ready)
            found.append(ctx.get(unit.tag))

    simulator = Simulator(unit)
    simulator.add_clock(1e-8)
    simulator.add_testbench(play)
    simulator.run()
    return found


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_gates_are_the_reference(share: float) -> None:
    texts = [bytes(range(length)) for length in range(26)]
    random = Random(1)
    texts += [random.randbytes(300)]
    for key in (KEY, random.randbytes(16)):
        assert hashed(key, texts, share) == [siphash(key, text) for text in texts]


@pytest.mark.parametrize("fault", ["TURNS", "FINALISATIONS"])
def test_a_fault_is_seen(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"TURNS": ((13, 16), (17, 20)), "FINALISATIONS": 3}[fault]
    monkeypatch.setattr(f"scm_hw.rtl.reload.siphash.{fault}", wrong)
    assert hashed(KEY, [bytes(9)], 1.0) != [siphash(KEY, bytes(9))]


def test_a_key_is_read_and_never_shown(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.write_text(KEY.hex() + "\n")
    assert read_key(str(path)) == LoadKey(KEY)
    monkeypatch.setenv("PUMP_KEY", KEY.hex())
    assert read_key("env:PUMP_KEY") == LoadKey(KEY)
    assert KEY.hex() not in repr(LoadKey(KEY)) and repr(KEY) not in repr(LoadKey(KEY))
    monkeypatch.setenv("PUMP_KEY", KEY.hex()[1:])
    with pytest.raises(OptionError, match="must be 32 hex digits, not other text") as refused:
        read_key("env:PUMP_KEY")
    assert KEY.hex()[1:] not in str(refused.value)
    for source, message in (
        ("env:NO_SUCH_KEY", "can't read the load key: NO_SUCH_KEY is not set"),
        (str(tmp_path / "none"), "can't read the load key .*No such file"),
    ):
        with pytest.raises(OptionError, match=message):
            read_key(source)


def test_counters_grow() -> None:
    assert reference.now() > 1_700_000_000_000
    assert len(reference.Seal(LoadKey(KEY)).counted()) == reference.COUNTER_BYTES
