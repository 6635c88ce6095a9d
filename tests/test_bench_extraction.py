"""Talks and conversations through the whole write path, and the command."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hmem
from bench import extraction
from bench.dialogues import Dialogue, load, parse
from bench.extraction import parse as parse_options
from bench.extraction_report import table
from bench.extraction_runs import Options, attacked, run
from bench.locomo_data import load as load_locomo
from bench.proposals import Adversary, Perfect
from bench.sessions import tell
from bench.supersession import (
    Closer,
    Played,
    judge,
    play,
)
from hmem import AsyncMemory, Config
from hmem.backends import make_store
from hmem.testing.fakes import HashEmbedder
from hmem.testing.llms import ScriptedLLM
from hmem.testing.standin import StandInLLM
from tests.bench_talk import TALK
from tests.forms import forms

LOCOMO = Path(__file__).parent / "data" / "locomo_shape.json"
DIALOGUES = load()
BY_ID = {one.id: one for one in DIALOGUES}


@pytest.fixture
def talk() -> Dialogue:
    (one,) = parse(TALK)
    return one


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(path=tmp_path / "m", shards=1, durability="normal", embed="none")


# ------------------------------------------------------------------ the whole write path


@pytest.mark.timeout(120)
@forms("every", short=3, long=1)
async def test_right_proposals_close_what_is_to_be_closed_and_nothing_else(
    every: int,
) -> None:
    some = [one.id for one in DIALOGUES[::every]]
    found = await run(Options(dialogues=True, only=tuple(some)))
    whole, parts = found["supersession"], found["parts"]
    assert whole["dialogues"] == len(some)
    assert whole["wrong"] == 0, whole["failed"]
    assert whole["lost_facts"] == 0, whole["failed"]
    assert parts["dev"]["recall"] >= 0.95, whole["failed"]
    assert parts["held"]["recall"] >= 0.5, whole["failed"]  # nothing was tuned on these
    assert found["targets"]["precision is 1"]
    assert not any(found["problems"].values())
    assert found["dates"]["accuracy_of_all"] == 1.0
    assert found["facts"]["precision"] >= 0.99
    assert (
        found["facts"]["junk_rate"] < 0.04
    )  # what the rule says of facts that are right
    text = table(found)
    assert "perfect proposals, by script" in text
    assert "met     precision is 1" in text


GATED = any(
    "truth.gates" in (Path(hmem.__file__).parent / name).read_text("utf-8")
    for name in ("reconcile.py", "deciding.py")
)


@pytest.mark.skipif(not GATED, reason="proposals are carried out without the gates yet")
@pytest.mark.timeout(120)
@forms("every", short=36, long=12)
async def test_wrong_proposals_close_nothing(every: int) -> None:
    some = [one.id for one in DIALOGUES if not one.held][::every]
    found = await run(Options(dialogues=True, adversarial=True, only=tuple(some)))
    for name, one in found["attacks"].items():
        assert one["wrong_closings"] == 0, (name, one["which"])
        assert one["lost_facts"] == 0, name
        assert one["proposed"] > 0, name
    assert found["attacks"]["subject"]["wrong_proposals"] > 10
    assert all(found["targets"].values())
    assert "wrong closings" in table(found)


async def played_alone(
    config: Config, model: Perfect, one: Dialogue, **how: object
) -> Played:
    llm = ScriptedLLM(model)
    async with AsyncMemory(config, llm=llm, embedder=HashEmbedder(256)) as memory:
        return await play(memory, [one], user="u", **how)  # type: ignore[arg-type]


async def test_a_model_that_proposes_nothing_closes_nothing(
    config: Config, talk: Dialogue
) -> None:
    mute = parse(
        TALK.replace(" | replaces: home", "").replace("closed: home by ghent", "")
    )
    played = await played_alone(config, Perfect(mute), talk)
    verdict = judge(played)
    assert verdict.missed == {("home", "ghent")}
    assert not verdict.wrong
    assert not verdict.lost


async def test_a_store_that_is_handed_in_is_measured_too(
    config: Config, talk: Dialogue
) -> None:
    store = make_store(config)
    llm = ScriptedLLM(Perfect([talk]))
    memory = AsyncMemory(config, store=store, llm=llm, embedder=HashEmbedder(256))
    async with memory:
        assert judge(await play(memory, [talk], user="u")).passed


async def test_a_fact_is_closed_while_the_model_thinks(
    config: Config, talk: Dialogue
) -> None:
    closed = []
    for seed in range(4):
        closer = Closer()
        model = Adversary([talk], attack="closed", seed=seed, close=closer)
        folder = config.folder / str(seed)
        played = await played_alone(
            replace(config, path=folder), model, talk, closer=closer
        )
        edited = any(row.edited for row in played.rows.values())
        closed.append((edited, bool(played.deleted)))
    assert all(edited != deleted for edited, deleted in closed)
    assert any(edited for edited, _ in closed)


async def test_a_talk_told_backwards_arrives_late(
    config: Config, talk: Dialogue
) -> None:
    model = Perfect([talk])
    played = await played_alone(config, model, talk, backwards=True)
    rows = {row.key: row.record for row in played.rows.values()}
    assert rows["ghent"].valid_from > rows["home"].valid_from
    assert [row.add for row in played.rows.values()] == [1, 0, 0]


# ----------------------------------------------------------------------------- locomo


async def test_a_conversation_is_read_as_often_as_its_turns_allow() -> None:
    options = Options(
        locomo=LOCOMO, reader="standin", only=("talk-1",), after_turns=(1, 4)
    )
    found = await run(options)
    assert "no quality" in found["read_by"]
    one, four = (found["after_turns"][n] for n in ("1", "4"))
    (told,) = load_locomo(LOCOMO, only=["talk-1"])
    sizes = [len(turns) for turns in told.sessions().values()]
    assert one["cost"]["calls"] == sum(-(-size // 2) for size in sizes)
    assert four["cost"]["calls"] == sum(-(-size // 4) for size in sizes)
    assert one["cost"]["turns"] == sum(sizes)
    assert one["facts"]["references"] == 4  # one session was never held
    assert 0 < one["facts"]["recall"] <= 1
    assert one["jobs"] == {"done": one["cost"]["calls"]}
    assert found["problems"] == {}
    assert "per 100 turns" in table(found)


async def test_facts_of_a_conversation_know_their_session_and_what_was_said(
    config: Config,
) -> None:
    (conversation,) = load_locomo(LOCOMO, only=["talk-1"])
    memory = AsyncMemory(config, llm=StandInLLM(), embedder=HashEmbedder(256))
    async with memory:
        told = await tell(memory, conversation)
    sister = next(one for one in told.stored if "teaches pottery" in one.text)
    assert sister.group == ("talk-1", 1)
    assert sister.said[-1].startswith("Ines: My sister Zofia teaches")
    assert len(sister.said) == 2  # and what was said before it
    assert told.references()["talk-1", 1] == [
        "Ines owns a green canoe.",
        "Ines has a sister named Zofia.",
    ]


async def test_a_recording_gives_the_figures_again_without_a_model(
    tmp_path: Path,
) -> None:
    from hmem.replay import Cassette, ReplayLLM

    cassette = tmp_path / "recorded.txt"
    options = Options(
        locomo=LOCOMO, reader="standin", only=("talk-2",), after_turns=(2,)
    )
    recording = ReplayLLM(Cassette(cassette), llm=StandInLLM())
    live = await run(options, llm=recording)
    await recording.aclose()
    again = await run(replace(options, reader="cassette", cassette=cassette))
    assert again["after_turns"] == live["after_turns"]
    assert again["read_by"] == f"replayed: {cassette}"


async def test_an_endpoint_is_asked_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hmem.testing.chat_endpoint import ChatEndpoint

    model = Perfect([BY_ID["moved-plainly"]])
    options = Options(
        dialogues=True,
        reader="live",
        cassette=tmp_path / "recorded.txt",
        only=("moved-plainly",),
    )
    with ChatEndpoint() as endpoint:
        endpoint.answer = lambda body: endpoint.reply(
            json.dumps(model(body["messages"]))
        )
        monkeypatch.setenv("HMEM_LLM", "some-model")
        monkeypatch.setenv("HMEM_BASE_URL", endpoint.url)
        live = await run(options)
    assert live["read_by"].startswith("live: some-model, recorded in")
    assert live["supersession"]["recall"] == 1.0
    again = await run(replace(options, reader="cassette"))
    assert again["supersession"] == live["supersession"]


async def test_talks_read_by_something_else_are_matched_by_content() -> None:
    found = await run(
        Options(
            dialogues=True, reader="standin", only=("moved-plainly", "only-a-question")
        )
    )
    assert "targets" not in found
    assert found["supersession"]["recall"] == 0.0
    assert found["facts"]["recall"] > 0
    assert found["dates"]["with_a_relative_date"] == 1


# ------------------------------------------------------------------------ command line


def test_options_are_read_and_bad_ones_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options, as_json = parse_options(
        ["--dialogues", "--adversarial", "--seeds", "3", "--attacks", "flood", "--json"]
    )
    assert (options.seeds, options.attacks, options.reader, as_json) == (
        3,
        ("flood",),
        "perfect",
        True,
    )
    assert parse_options(["--locomo", "x", "--standin"])[0].after_turns == (1, 4, 10)
    assert parse_options(["--dialogues", "--cassette", "x"])[0].reader == "cassette"
    assert (
        parse_options(["--dialogues", "--cassette", "x", "--live"])[0].reader == "live"
    )
    for bad in (
        [],
        ["--dialogues", "--locomo", "x"],
        ["--locomo", "x"],
        ["--locomo", "x", "--standin", "--adversarial"],
        ["--dialogues", "--seeds", "0"],
    ):
        with pytest.raises(SystemExit):
            parse_options(bad)
    capsys.readouterr()


def test_the_command_prints_json_and_says_what_it_cannot_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert extraction.main(["--dialogues", "--only", "moved-plainly", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["supersession"]["right"] == 1
    assert found["fixed_prompt"]["tokens"] <= 2_000
    assert extraction.main(["--dialogues", "--only", "nobody"]) == 2
    assert "no dialogue nobody" in capsys.readouterr().err
    assert extraction.main(["--locomo", str(tmp_path), "--standin"]) == 2
    assert "0 JSON files" in capsys.readouterr().err
    missing = str(tmp_path / "none.txt")
    assert extraction.main(["--dialogues", "--cassette", missing]) == 2
    assert "no cassette" in capsys.readouterr().err


async def test_an_attack_plays_all_the_talks_it_is_given() -> None:
    some = [BY_ID[name] for name in ("moved-plainly", "also-a-hobby", "rent-raised")]
    played, tally = await attacked(Options(), some, "subject", 0, HashEmbedder(256))
    assert len(played) == 3
    assert all(len(one.dialogues) == 2 for one in played)
    assert tally.proposed == tally.wrong > 0
