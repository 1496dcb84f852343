import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { awkwardNames } from "../../../adapters/conformance/limits.ts";
import { createRandom } from "../../../adapters/conformance/random.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { storageLimits, tenantPartition } from "../../../lib/storage/mod.ts";
import { keyName, partitionParts, platformPartition, type Tenant } from "../../../lib/storage/names.ts";

const invalid = (error: unknown) => error instanceof AppError && error.code === "validation_failed";

describe("names of partitions and keys", () => {
  it("contain the tenant, the kind and the ids", () => {
    assert.equal(tenantPartition({ project: "p1" }, "user", "u1"), "p:p1:user:u1");
    assert.equal(tenantPartition({ space: "s1" }, "directory"), "s:s1:directory");
    assert.equal(
      tenantPartition({ organisation: "o1" }, "board", "weekly", "2026"),
      "o:o1:board:weekly:2026",
    );
    assert.equal(platformPartition("domain", "example.com"), "g:domain:example.com");
    assert.equal(keyName("seen", "r1"), "seen:r1");
  });

  it("escape separators and characters of hash tags, and nothing else", () => {
    assert.equal(keyName("k", "a:b", "{c}", "100%", "d/e f～😀"), "k:a%3Ab:%7Bc%7D:100%25:d/e f～😀");
  });

  it("never coincide for different tenants, kinds or ids", () => {
    const random = createRandom(5);
    const letters = ["a", "b", ":", "%", "{", "}", "3A", "25", "", "p", "s", "g", "😀"];
    const owners = new Map<string, string>();
    const word = () => Array.from({ length: random.integer(4) }, () => random.pick(letters)).join("");
    for (let round = 0; round < 50_000; round++) {
      const id = `t${word()}`;
      const tenant = random.pick<Tenant | null>([{ organisation: id }, { space: id }, { project: id }, null]);
      const kind = random.pick(["a", "b", "p", "g"]);
      const ids = Array.from({ length: random.integer(4) }, word);
      const name = tenant === null ? platformPartition(kind, ...ids) : tenantPartition(tenant, kind, ...ids);
      const owner = JSON.stringify([tenant, kind, ids]);
      assert.equal(owners.get(name) ?? owner, owner, name);
      owners.set(name, owner);
      const parts = partitionParts(name);
      assert.deepEqual(parts, tenant === null ? null : { tenant, kind, ids });
      assert.doesNotMatch(name, /[{}]/);
    }
    assert.ok(owners.size > 10_000, `${owners.size} names`);
  });

  it("are parsed into their parts; other names are not", () => {
    const tenant = { project: "{1}:%7B" };
    const name = tenantPartition(tenant, "user", "a:b", "%25", "");
    assert.deepEqual(partitionParts(name), { tenant, kind: "user", ids: ["a:b", "%25", ""] });
    for (const other of ["", "p", "p:1", "p::user", "x:1:user", "p:1:User", "p:1:a b:c"]) {
      assert.equal(partitionParts(other), null, other);
    }
  });

  it("keep every awkward id apart", () => {
    const names = awkwardNames.map(id => keyName("k", id));
    assert.equal(new Set(names).size, awkwardNames.length);
    assert.equal(
      new Set(awkwardNames.map(id => tenantPartition({ project: id }, "k"))).size,
      awkwardNames.length,
    );
    assert.notEqual(keyName("k"), keyName("k", ""));
    assert.notEqual(keyName("k", "a", ""), keyName("k", "a"));
  });

  it("may be as long as the storage allows, counted in bytes after escaping", () => {
    assert.equal(
      tenantPartition({ project: "p" }, "k", "é".repeat((storageLimits.partitionBytesMax - 6) / 2)).length,
      6 + 253,
    );
    assert.throws(
      () =>
        tenantPartition({ project: "p" }, "k", `${"é".repeat((storageLimits.partitionBytesMax - 6) / 2)}x`),
      invalid,
    );
    assert.throws(() => tenantPartition({ project: ":".repeat(200) }, "k"), invalid);
    assert.throws(() => platformPartition("k", "x".repeat(storageLimits.partitionBytesMax)), invalid);
    assert.equal(keyName("k", "x".repeat(storageLimits.nameBytesMax - 2)).length, storageLimits.nameBytesMax);
    assert.throws(() => keyName("k", "x".repeat(storageLimits.nameBytesMax - 1)), invalid);
  });

  it("refuse ill-formed ids and a tenant without an id", () => {
    for (const bad of ["\ud800", "a\udc00"]) {
      assert.throws(() => tenantPartition({ project: bad }, "k"), invalid);
      assert.throws(() => tenantPartition({ project: "p" }, "k", bad), invalid);
      assert.throws(() => platformPartition("k", bad), invalid);
      assert.throws(() => keyName("k", bad), invalid);
    }
    assert.throws(() => tenantPartition({ project: "" }, "k"), invalid);
  });

  it("cannot be made without exactly one tenant, or with a kind that comes from outside", () => {
    assert.throws(() => tenantPartition({} as Tenant, "k"), TypeError);
    assert.throws(() => tenantPartition({ project: "p", space: "s" } as unknown as Tenant, "k"), TypeError);
    for (const kind of ["", "A", "a:b", "a b", "1a", "x".repeat(33)])
      assert.throws(() => keyName(kind), TypeError);
  });
});
