/** Expiry: absolute, by the store's own clock, and exact to the millisecond. */
import { home, must, put, record } from "./build.ts";
import { equal } from "./expect.ts";
import type { Cases, StoreCase } from "./harness.ts";

export const expiryCases: Cases<StoreCase> = {
  async "a record is there until the millisecond before expireAt and absent from then on"({ store, clock }) {
    const { version } = await must(store, put("a", "1", clock.now() + 1_000));
    clock.advance(999);
    equal(await store.read(home, [record("a")]), [{ value: "1", version }]);
    clock.advance(1);
    equal(await store.read(home, [record("a")]), [null]);
    clock.advance(10_000_000);
    equal(await store.read(home, [record("a")]), [null]);
  },

  async "the time that the store tells is the one by which its records expire"({ store, clock }) {
    for (const ms of [0, 5_000]) {
      clock.advance(ms);
      equal(store.now?.() ?? clock.now(), clock.now());
    }
  },

  async "a record whose expireAt has passed is absent at once"({ store, clock }) {
    await must(
      store,
      put("a", "1", clock.now()),
      put("b", "1", clock.now() - 5),
      put("c", "1", 0),
      put("d", "1", -1),
    );
    equal(await store.read(home, [record("a"), record("b"), record("c"), record("d")]), [
      null,
      null,
      null,
      null,
    ]);
  },

  async "putting an expired state over a record removes the record"({ store, clock }) {
    await must(store, put("a", "1"));
    await must(store, put("a", "2", clock.now()));
    equal(await store.read(home, [record("a")]), [null]);
  },

  async "a check for absence holds on an expired record, and one for its version fails"({ store, clock }) {
    const { version } = await must(store, put("a", "1", clock.now() + 10));
    clock.advance(10);
    equal(await store.commit(home, { checks: [{ key: "a", version }], writes: [put("a", "2")] }), {
      ok: false,
      because: "check",
      key: "a",
    });
    const created = await store.commit(home, {
      checks: [{ key: "a", version: null }],
      writes: [put("a", "3")],
    });
    equal(created.ok, true);
    const [found] = await store.read(home, [record("a")]);
    equal(found?.value, "3");
  },

  async "a put without expireAt takes the expiry of the former state away"({ store, clock }) {
    await must(store, put("a", "1", clock.now() + 10));
    const { version } = await must(store, put("a", "2"));
    clock.advance(1_000_000);
    equal(await store.read(home, [record("a")]), [{ value: "2", version }]);
  },

  async "a put with a later expireAt prolongs, with an earlier one shortens"({ store, clock }) {
    const start = clock.now();
    await must(store, put("longer", "1", start + 10), put("shorter", "1", start + 1_000));
    await must(store, put("longer", "2", start + 1_000), put("shorter", "2", start + 10));
    clock.advance(10);
    const [longer, shorter] = await store.read(home, [record("longer"), record("shorter")]);
    equal([longer?.value, shorter], ["2", null]);
  },

  async "an expireAt far in the future is kept"({ store, clock }) {
    const { version } = await must(store, put("a", "1", Number.MAX_SAFE_INTEGER));
    clock.advance(100 * 365 * 86_400_000);
    equal(await store.read(home, [record("a")]), [{ value: "1", version }]);
  },

  async "expiry of one record leaves its neighbours"({ store, clock }) {
    await must(store, put("a", "1", clock.now() + 10), put("b", "2", clock.now() + 11), put("c", "3"));
    clock.advance(10);
    const found = await store.read(home, [record("a"), record("b"), record("c")]);
    equal(
      found.map(each => each?.value),
      [undefined, "2", "3"],
    );
  },
};
