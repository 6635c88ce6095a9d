"""What `profile` promises."""
# ruff: noqa: D102 - the tests' names are their sentences

from hmem.protocols import Outcome, Profile, PutProfile
from hmem.testing.store.applying import applied
from hmem.testing.store.making import accept, add, day, plan, quiet, turn
from hmem.testing.store.queueing import claim_one, claim_when_it_can_be
from hmem.testing.store.view import dump
from hmem.testing.store.world import World


class ProfileTests:
    """One running summary per user."""

    async def test_a_profile_is_replaced_whole_and_read_everywhere(
        self, world: World
    ) -> None:
        await world.store.accept("ana", quiet(turn("t")))
        assert await world.store.profile("ana") is None
        before = await dump(world.store, "ana")
        for n, text in enumerate(("Likes b\u00e9es", "Keeps hens")):
            done = await applied(world, PutProfile(text=text, turn_seq=n), at=n)
            assert done.outcomes[0].status == "applied"
            for store in (world.store, await world.reopen()):
                assert await store.profile("ana") == Profile(
                    text=text, turn_seq=n, at=day(n)
                )
        assert await dump(world.store, "ana") == before
        found = await world.second_process("return (await store.profile('ana')).text")
        assert found == "Keeps hens"

    async def test_each_user_has_their_own(self, world: World) -> None:
        for user in ("ana", "ben"):
            await world.store.apply(user, plan(add("a")))
        await world.store.apply("ana", plan(PutProfile(text="ana's", turn_seq=1)))
        for user in ("ben", "nobody"):
            assert await world.store.profile(user) is None

    async def test_a_user_without_rows_gets_none(self, world: World) -> None:
        put = PutProfile(text="x", turn_seq=0)
        done = await world.store.apply("nobody", plan(put))
        assert done.outcomes == (Outcome(status="unknown"),)
        assert await world.store.profile("nobody") is None
        assert await world.store.delta("nobody") is None
        done = await world.store.apply("nobody", plan(put, add("a")))
        assert [o.status for o in done.outcomes] == ["applied", "applied"]
        assert await world.store.profile("nobody") is not None

    async def test_a_plan_that_is_refused_leaves_it(self, world: World) -> None:
        await world.store.accept("ana", accept(turn("t")))
        old = await claim_one(world.store, lease=0.05)
        await applied(world, PutProfile(text="newer", turn_seq=1))
        await claim_when_it_can_be(world.store)
        late = PutProfile(text="older", turn_seq=1)
        done = await world.store.apply("ana", plan(late, claim=old))
        assert done.refused == "lease"
        found = await world.store.profile("ana")
        assert found is not None
        assert found.text == "newer"

    async def test_a_profile_goes_with_its_user(self, world: World) -> None:
        await applied(world, add("a"), PutProfile(text="Likes bees", turn_seq=0))
        await world.store.erase_user("ana")
        assert await world.store.profile("ana") is None
        await applied(world, add("a"))
        assert await world.store.profile("ana") is None
