/** The loyalty configuration of a space in the control API. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { documentDigest, loyaltyBytesMax } from "../../lib/fans/directory/loyalty_versions.ts";
import { documentErrorsMax } from "../../lib/fans/loyalty/http/config_document.ts";
import { compileConfig } from "../../lib/fans/loyalty/mod.ts";
import { AppError, createPlatform } from "../../lib/mod.ts";
import { quickKernels } from "../support/kernels.ts";
import {
  type Answer,
  type CallOptions,
  ids,
  loyalty,
  openPlatform,
  type TestPlatform,
  testSecret,
} from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";
import { newKey } from "./_operations.ts";

const path = `/api/v2/spaces/${ids.space}/loyalty`;
const withMetric = (id: string): unknown => ({
  ...loyalty,
  metrics: [...loyalty.metrics, { id, title: id }],
});
const resource = (attributes: unknown): unknown => ({
  data: { type: "loyalty_configurations", id: ids.space, attributes },
});

/** A back end with every permission. */
interface BackEnd {
  readonly world: TestPlatform;
  readonly keyId: string;
  ask(at: string, options?: CallOptions): Promise<Answer>;
  put(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

describeOnStores("the loyalty configuration in the control API", open => {
  async function opened(t: { after(close: () => unknown): void }): Promise<BackEnd> {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const { key, secret } = await newKey(world);
    const ask: BackEnd["ask"] = (at, options = {}) =>
      world.call(path + at, {
        ...options,
        headers: { "x-api-key": key, "x-api-secret": secret, ...options.headers },
      });
    const put: BackEnd["put"] = (body, headers = {}) => ask("", { method: "PUT", body, headers });
    return { world, keyId: key, ask, put };
  }

  it("is read as it was written, with its entity tag", async t => {
    const { world, ask } = await opened(t);
    const { status, headers, json } = await ask("");
    assert.equal(status, 200);
    assert.equal(headers.get("etag"), '"v1"');
    assert.equal(headers.get("content-type"), "application/vnd.api+json");
    const seconds = Math.floor(world.clock.now() / 1_000);
    assert.deepEqual(json, {
      data: {
        type: "loyalty_configurations",
        id: ids.space,
        attributes: loyalty,
        meta: {
          version: 1,
          digest: documentDigest(loyalty),
          created_at: seconds,
          created_at_iso: new Date(world.clock.now()).toISOString(),
          created_by: "seed",
          rollback_of: null,
        },
        links: { self: path },
      },
    });
  });

  it("is not sent again to a caller that has it", async t => {
    const { ask } = await opened(t);
    for (const known of ['"v1"', 'W/"v1"', '"v0", "v1"', "*"]) {
      const { status, text, headers } = await ask("", { headers: { "if-none-match": known } });
      assert.deepEqual([status, text, headers.get("etag")], [304, "", '"v1"'], known);
      assert.equal((await ask("/versions/1", { headers: { "if-none-match": known } })).status, 304);
    }
    for (const other of ['"v2"', "v1", '"V1"', ""]) {
      assert.equal((await ask("", { headers: { "if-none-match": other } })).status, 200, other);
    }
  });

  it("is replaced by a resource or by the document alone, in either media type", async t => {
    const { ask, put, keyId, world } = await opened(t);
    const sent: [body: unknown, type: string][] = [
      [withMetric("a"), "application/json"],
      [resource(withMetric("b")), "application/vnd.api+json"],
      [resource(withMetric("c")), "application/json; charset=utf-8"],
      [withMetric("d"), 'application/vnd.api+json; profile="https://example.org/p"'],
    ];
    for (const [index, [body, type]] of sent.entries()) {
      world.clock.advance(1_000);
      const etag = `"v${index + 1}"`;
      const answer = await put(body, { "content-type": type, "if-match": etag });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers.get("etag"), `"v${index + 2}"`);
      const read = (await ask("")).json;
      assert.deepEqual(answer.json, read);
      assert.equal(read.data.meta.created_by, `apiKey:${keyId}`);
      assert.equal(read.data.meta.created_at, Math.floor(world.clock.now() / 1_000));
    }
    assert.deepEqual((await ask("")).json.data.attributes, withMetric("d"));
    const extended = { "content-type": 'application/vnd.api+json; ext="https://example.org/e"' };
    const refused = await put(resource(loyalty), { ...extended, "if-match": "*" });
    assert.deepEqual([refused.status, errorCode(refused, "jsonApi")], [415, "unsupported_media_type"]);
  });

  it("can be read, changed and sent back as it came", async t => {
    const { ask, put } = await opened(t);
    const { json, headers } = await ask("");
    const changed = { ...json, data: { ...json.data, attributes: withMetric("again") } };
    const answer = await put(changed, { "if-match": headers.get("etag") ?? "" });
    assert.equal(answer.status, 200, answer.text);
  });

  it("is not replaced without the version that it replaces", async t => {
    const { ask, put } = await opened(t);
    const careless = await put(withMetric("a"));
    assert.deepEqual([careless.status, errorCode(careless, "jsonApi")], [428, "precondition_required"]);
    assert.deepEqual(careless.json.errors[0].source, { header: "If-Match" });
    assert.equal(careless.headers.get("etag"), '"v1"');
    for (const stale of ['"v0"', '"v2"', 'W/"v1"', "v1"]) {
      const answer = await put(withMetric("a"), { "if-match": stale });
      assert.deepEqual([answer.status, errorCode(answer, "jsonApi")], [412, "precondition_failed"], stale);
      assert.equal(answer.headers.get("etag"), '"v1"');
      assert.deepEqual(answer.json.errors[0].source, { header: "If-Match" });
    }
    const creating = await put(withMetric("a"), { "if-none-match": "*" });
    assert.equal(creating.status, 412);
    assert.equal((await ask("")).headers.get("etag"), '"v1"');
    assert.equal((await put(withMetric("a"), { "if-match": "*" })).headers.get("etag"), '"v2"');
  });

  it("is created without a precondition where the space has none", async t => {
    const { world } = await opened(t);
    const { key, secret } = await newKey(world, ids.otherOrganisation);
    const credentials = { "x-api-key": key, "x-api-secret": secret };
    const other = `/api/v2/spaces/${ids.otherSpace}/loyalty`;
    const none = await world.call(other, { headers: credentials });
    assert.deepEqual([none.status, errorCode(none, "jsonApi")], [404, "not_found"]);
    assert.deepEqual((await world.call(`${other}/versions`, { headers: credentials })).json, {
      data: [],
      meta: { total: 0 },
    });
    const put = (headers: Readonly<Record<string, string>>) =>
      world.call(other, { method: "PUT", body: loyalty, headers: { ...credentials, ...headers } });
    assert.equal((await put({ "if-match": '"v1"' })).status, 412);
    assert.equal((await put({ "if-match": "*" })).status, 412);
    const created = await put({ "if-none-match": "*" });
    assert.deepEqual([created.status, created.headers.get("etag")], [201, '"v1"']);
    assert.equal((await put({})).status, 428);
  });

  it("makes no new version of a document that is equal to the current one", async t => {
    const { ask, put } = await opened(t);
    const reordered = Object.fromEntries(Object.entries(loyalty).reverse());
    const answer = await put(reordered, { "if-match": '"v1"' });
    assert.deepEqual([answer.status, answer.headers.get("etag")], [200, '"v1"']);
    assert.equal((await ask("/versions")).json.meta.total, 1);
  });

  it("lets exactly one of many racing changes win, whichever process they reach", async t => {
    const { world, ask, put } = await opened(t);
    const second = await createPlatform({
      store: world.store,
      secret: testSecret,
      passwordKernels: quickKernels(),
      clock: world.clock.now,
    });
    t.after(() => second.close());
    const { key, secret } = await newKey(world);
    async function putElsewhere(body: unknown): Promise<number> {
      const { status } = await second.fetch(
        new Request(`http://club.example${path}`, {
          method: "PUT",
          headers: {
            "content-type": "application/json",
            "x-api-key": key,
            "x-api-secret": secret,
            "if-match": '"v1"',
          },
          body: JSON.stringify(body),
        }),
      );
      return status;
    }
    const statuses = await Promise.all(
      Array.from({ length: 16 }, async (_, n) =>
        n % 2 === 0
          ? (await put(withMetric(`m${n}`), { "if-match": '"v1"' })).status
          : await putElsewhere(withMetric(`m${n}`)),
      ),
    );
    assert.equal(statuses.filter(status => status === 200).length, 1);
    assert.equal(statuses.filter(status => status === 412).length, 15);
    assert.equal((await ask("")).headers.get("etag"), '"v2"');
  });

  it("takes a repeated change for the one that it repeats, and only that one", async t => {
    const { world, put } = await opened(t);
    const match = { "if-match": '"v1"' };
    assert.equal((await put(withMetric("a"), match)).headers.get("etag"), '"v2"');
    const again = await put(withMetric("a"), match);
    assert.deepEqual([again.status, again.headers.get("etag")], [200, '"v2"']);
    assert.equal((await put(withMetric("b"), match)).status, 412);
    const { key, secret } = await newKey(world);
    const other = { "x-api-key": key, "x-api-secret": secret };
    assert.equal((await put(withMetric("a"), { ...match, ...other })).status, 412);
    await put(withMetric("b"), { "if-match": '"v2"' });
    assert.equal((await put(withMetric("a"), match)).status, 412);
  });

  it("is seen by fans within a second", async t => {
    const { world, put } = await opened(t);
    const shown = async (): Promise<string[]> =>
      (await world.call("/api/loyalty/config")).json.data.metrics.map(({ id }: { id: string }) => id);
    assert.deepEqual(await shown(), ["points", "energy"]);
    await put(withMetric("fresh"), { "if-match": '"v1"' });
    world.clock.advance(1_000);
    assert.deepEqual(await shown(), ["points", "energy", "fresh"]);
  });

  it("is in a profile that was read before, within a second", async t => {
    const { world, put } = await opened(t);
    const fan = await world.fan("Sam");
    const shown = async (): Promise<string[]> => Object.keys((await fan.profile()).metrics);
    for (const _ of "abc") {
      assert.deepEqual(await shown(), ["points", "energy"]);
      await world.platform.idle();
    }
    await put(withMetric("fresh"), { "if-match": '"v1"' });
    world.clock.advance(1_000);
    assert.deepEqual(await shown(), ["points", "energy", "fresh"]);
  });

  it("is refused with every error at its place in the body, and then nothing changes", async t => {
    const { ask, put } = await opened(t);
    const wrong = {
      ...loyalty,
      metrics: [{ id: "not an id", title: 5 }, ...loyalty.metrics],
      rules: [{ id: "r", trigger: { action: "prediction" }, effects: [] }],
    };
    const dangling = {
      ...loyalty,
      rules: [
        {
          id: "r",
          trigger: { action: "nothing" },
          when: { eq: [{ var: "user.metrics.none" }, 1] },
          effects: [{ type: "metric", metricId: "none", metricQuantity: 1 }],
        },
      ],
    };
    for (const document of [wrong, dangling]) {
      const expected = faultsOf(document);
      assert.ok(expected.length >= 3, JSON.stringify(expected));
      for (const [body, prefix] of [
        [document, ""],
        [resource(document), "/data/attributes"],
      ] as const) {
        const answer = await put(body, { "if-match": '"v1"' });
        assert.deepEqual([answer.status, errorCode(answer, "jsonApi")], [400, "validation_failed"]);
        assert.deepEqual(
          answer.json.errors.map(({ source, detail }: { source: unknown; detail: string }) => [
            source,
            detail,
          ]),
          expected.map(({ pointer, detail }) => [{ pointer: prefix + pointer }, detail]),
        );
      }
    }
    assert.equal((await ask("")).headers.get("etag"), '"v1"');
  });

  it("lists the errors of the shape first, then those of references and conditions, and no rejected value", async t => {
    const { put } = await opened(t);
    const effects = [{ type: "metric", metricId: "nowhere", metricQuantity: 1 }];
    const errorsOf = async (document: unknown): Promise<unknown> => {
      const { json } = await put(document, { "if-match": '"v1"' });
      return json.errors.map(({ source, detail }: { source: { pointer: string }; detail: string }) => [
        source.pointer,
        detail,
      ]);
    };
    const broken = await errorsOf({
      ...loyalty,
      metrics: [...loyalty.metrics, { id: "hunter2 hunter2", title: "X" }],
      rules: [
        {
          id: "a",
          trigger: { action: "prediction" },
          effects,
          limits: [{ per: "team", max: 1.5 }],
          hunter2: 1,
        },
        { id: "b", trigger: { action: "prediction" }, when: { eq: [1] }, effects: [] },
      ],
    });
    const metric = loyalty.metrics.length;
    assert.deepEqual(broken, [
      [`/metrics/${metric}/id`, "Expected letters, digits, dots, underscores and hyphens"],
      ["/rules/0/limits/0/per", 'Expected "user" or "global"'],
      ["/rules/0/hunter2", "Is not a known member"],
      ["/rules/1/effects", "Expected at least 1 item"],
    ]);
    const dangling = {
      ...loyalty,
      rules: [{ id: "a", trigger: { action: "prediction" }, when: { eq: [1] }, effects }],
    };
    assert.deepEqual(await errorsOf(dangling), [
      ["/rules/0/effects/0", "Expected one that is listed under /metrics"],
      ["/rules/0/when/eq", "Give a list of 2 operands"],
    ]);
  });

  it("is refused where the body is no configuration", async t => {
    const { put } = await opened(t);
    const cases: [body: unknown, status: number, pointers: string[]][] = [
      [[], 400, [""]],
      ["5", 400, [""]],
      [{ data: 5 }, 400, ["/data"]],
      [{ data: { id: 5 } }, 400, ["/data/type", "/data/id", "/data/attributes"]],
      [{ data: { type: "events", id: ids.otherSpace, attributes: {} } }, 409, ["/data/type", "/data/id"]],
    ];
    for (const [body, status, pointers] of cases) {
      const answer = await put(body, { "if-match": "*" });
      assert.equal(answer.status, status, answer.text);
      assert.deepEqual(
        answer.json.errors.map(({ source }: { source: { pointer: string } }) => source.pointer),
        pointers,
      );
    }
  });

  it(`lists at most ${documentErrorsMax} errors, and says how many there are`, async t => {
    const { put } = await opened(t);
    const document = { metrics: Array.from({ length: 500 }, () => ({})) };
    const { json } = await put(document, { "if-match": "*" });
    assert.equal(json.errors.length, documentErrorsMax);
    assert.ok(json.meta.errorsTotal > documentErrorsMax);
    // Of a list that is too long only that is told.
    const long = { metrics: Array.from({ length: 501 }, () => ({})) };
    const { errors } = (await put(long, { "if-match": "*" })).json;
    assert.deepEqual(
      errors.map(({ source }: { source: unknown }) => source),
      [{ pointer: "/metrics" }],
    );
  });

  it(`has at most ${loyaltyBytesMax} bytes`, async t => {
    const { ask, put } = await opened(t);
    const sized = (bytes: number): string => {
      const text = JSON.stringify(loyalty);
      return text + " ".repeat(bytes - text.length);
    };
    const match = { "if-match": "*" };
    assert.equal((await put(sized(loyaltyBytesMax), match)).status, 200);
    const large = await put(sized(loyaltyBytesMax + 1), match);
    assert.deepEqual([large.status, errorCode(large, "jsonApi")], [413, "payload_too_large"]);
    assert.equal((await ask("")).headers.get("etag"), '"v1"');
  });

  it(`keeps its last 50 versions, newest first`, async t => {
    const { ask, put } = await opened(t);
    for (let n = 1; n <= 50; n++) {
      assert.equal((await put(withMetric(`m${n}`), { "if-match": `"v${n}"` })).status, 200);
    }
    const { json } = await ask("/versions");
    assert.deepEqual(
      json.data.map(({ id }: { id: string }) => Number(id)),
      Array.from({ length: 50 }, (_, index) => 50 + 1 - index),
    );
    assert.equal(json.meta.total, 50);
    const [newest] = json.data;
    assert.equal(newest.type, "loyalty_versions");
    assert.equal(newest.links.self, `${path}/versions/51`);
    assert.equal(newest.attributes.digest, documentDigest(withMetric(`m50`)));
    assert.equal(newest.attributes.document, undefined);
    const second = await ask("/versions/2");
    assert.deepEqual(second.json.data.attributes.document, withMetric("m1"));
    assert.equal(second.headers.get("etag"), '"v2"');
    assert.equal((await ask("/versions/999999999")).status, 404);
    for (const wrong of ["1000000000", "0", "01", "-1", "1.0", "v1"]) {
      assert.equal((await ask(`/versions/${wrong}`)).status, 400, wrong);
    }
    const gone = await ask("/versions/1");
    assert.deepEqual([gone.status, errorCode(gone, "jsonApi")], [404, "not_found"]);
    const back = await ask("/rollback", { body: { version: 1 } });
    assert.deepEqual([back.status, errorCode(back, "jsonApi")], [404, "not_found"]);
  });

  it("goes back to an earlier version by a new one", async t => {
    const { world, ask, put } = await opened(t);
    await put(withMetric("mistake"), { "if-match": '"v1"' });
    const stale = await ask("/rollback", { body: { version: 1 }, headers: { "if-match": '"v1"' } });
    assert.equal(stale.status, 412);
    const back = await ask("/rollback", { body: { version: 1 }, headers: { "if-match": '"v2"' } });
    assert.deepEqual([back.status, back.headers.get("etag")], [200, '"v3"']);
    assert.deepEqual([back.json.data.attributes, back.json.data.meta.rollback_of], [loyalty, 1]);
    assert.deepEqual((await ask("")).json, back.json);
    const again = await ask("/rollback", { body: { version: 1 } });
    assert.deepEqual([again.status, again.headers.get("etag")], [200, '"v3"']);
    world.clock.advance(1_000);
    const { json } = await world.call("/api/loyalty/config");
    assert.equal(json.data.metrics.length, 2);
  });

  it("does not go back to a version that is no longer valid", async t => {
    const { world, ask, put } = await opened(t);
    const old = { metrics: "a document that an earlier release accepted" };
    await world.platform.loyaltyVersions.put(ids.space, { document: old, by: "seed" });
    assert.equal((await put(loyalty, { "if-match": '"v2"' })).status, 200);
    const answer = await ask("/rollback", { body: { version: 2 } });
    assert.deepEqual([answer.status, errorCode(answer, "jsonApi")], [400, "validation_failed"]);
    assert.deepEqual(answer.json.errors[0].source, { pointer: "/version" });
    assert.match(answer.json.errors[0].detail, /\/metrics/);
  });

  it("has a JSON Schema for editors, which is public and cacheable", async t => {
    const { world } = await opened(t);
    const { status, headers, json } = await world.call("/schemas/loyalty.json");
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "application/schema+json");
    assert.equal(headers.get("cache-control"), "public, max-age=3600");
    assert.equal(json.$schema, "https://json-schema.org/draft/2020-12/schema");
    assert.deepEqual(Object.keys(json.properties).slice(0, 2), ["timeZone", "userTimeZone"]);
  });

  it("is unknown to other organisations, and closed to keys without the permission", async t => {
    const { world } = await opened(t);
    const { key, secret } = await newKey(world, ids.otherOrganisation);
    const foreign = { "x-api-key": key, "x-api-secret": secret };
    const reader = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Reader",
      permissions: ["config:read"],
    });
    const reading = { "x-api-key": reader.key, "x-api-secret": reader.secret };
    const change = { method: "PUT", body: loyalty };
    for (const [at, options] of [
      ["", {}],
      ["", change],
      ["/versions", {}],
      ["/versions/1", {}],
      ["/rollback", { body: { version: 1 } }],
    ] as const) {
      const answer = await world.call(path + at, { ...options, headers: { ...foreign, "if-match": "*" } });
      assert.deepEqual([answer.status, errorCode(answer, "jsonApi")], [404, "not_found"], at);
      const isChange = "body" in options;
      const weak = await world.call(path + at, { ...options, headers: { ...reading, "if-match": "*" } });
      assert.equal(weak.status, isChange ? 403 : 200, at);
    }
    const nobody = await world.call(path);
    assert.deepEqual([nobody.status, errorCode(nobody, "jsonApi")], [401, "missing_api_key"]);
  });
});

function faultsOf(document: unknown): readonly { readonly pointer: string; readonly detail: string }[] {
  try {
    compileConfig(document);
  } catch (error) {
    if (error instanceof AppError) return error.fields ?? [];
  }
  return [];
}
