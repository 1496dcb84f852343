/** Refusal of invalid input by every operation of the platform. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { type Permission, permissions } from "../../lib/auth/mod.ts";
import { jsonDepthMax } from "../../lib/http/requests/body.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import type { WatchedStore } from "../support/watched_store.ts";
import { type ExampleWorld, exampleWorlds } from "./_example_worlds.ts";
import { errorCode } from "./_families.ts";
import {
  credentialsFor,
  type Example,
  examplesFor,
  type Operation,
  operationsOf,
  send,
  targetOf,
} from "./_operations.ts";

const endlessBytesMax = 16 * 1_024 * 1_024;
const malformedBodies: readonly (string | Uint8Array<ArrayBuffer>)[] = [
  " ",
  "{",
  '{"a":1}}',
  "{'a':1}",
  "nul",
  "NaN",
  "[1,]",
  "\u0000",
  '{"a":"\ud800"}'.replace("\ud800", "\\ud800"),
  '{"__proto__":{"a":1}}',
  '{"data":{"constructor":{"prototype":{}}}}',
  `${"[".repeat(jsonDepthMax + 1)}${"]".repeat(jsonDepthMax + 1)}`,
  new Uint8Array([0x7b, 0xff, 0x7d]),
];
const wrongTypes = [
  "text/plain",
  "application/x-www-form-urlencoded",
  "application/jsonp",
  "application/json; charset=latin1",
  "json",
];

/** Operations that share a platform, at most, as an organisation has only so many API keys. Those that write have their own. */
const sharingMax = 12;

class Subject {
  readonly operation: Operation;
  examples: readonly Example[] = [];
  headers: Readonly<Record<string, string>> = {};
  #asked: ExampleWorld | undefined;

  constructor(operation: Operation) {
    this.operation = operation;
  }

  get world(): TestPlatform {
    assert.ok(this.#asked !== undefined);
    return this.#asked.world;
  }

  get store(): WatchedStore {
    assert.ok(this.#asked !== undefined);
    return this.#asked.store;
  }

  open(asked: ExampleWorld): void {
    this.#asked = asked;
    this.examples = examplesFor(this.operation, asked.examples);
    this.headers = {
      ...this.operation.headers,
      ...asked.credentials.get(this.operation.scheme),
      ...this.example.headers,
    };
  }

  /** The first valid request. */
  get example(): Example {
    const [first] = this.examples;
    assert.ok(first !== undefined);
    return first;
  }

  /** Asserts that a request is refused as documented and changes nothing, and answers the error's code. */
  async refused(what: string, ask: () => Promise<Answer>): Promise<[status: number, code: string]> {
    // Work that an earlier request left behind does not count.
    await this.world.platform.idle();
    const commits = this.store.commits.length;
    const answer = await ask();
    const where = `${this.operation.id} with ${what}: ${answer.status} ${answer.text}`;
    assert.ok(answer.status >= 400 && answer.status < 500, where);
    assert.ok(this.operation.statuses.has(answer.status), `${where} is not documented`);
    const code = errorCode(answer, this.operation.family);
    assert.deepEqual(this.store.commits.slice(commits), [], `${where} wrote something`);
    return [answer.status, code];
  }

  send(
    example: Example,
    more: { headers?: Readonly<Record<string, string>>; host?: string } = {},
  ): Promise<Answer> {
    const headers = { ...this.headers, ...example.headers };
    return send(this.world, this.operation, { example, headers, ...more });
  }

  /** Sends a body as it is. */
  async sendRaw(body: BodyInit, headers: Readonly<Record<string, string>>): Promise<Answer> {
    const request = new Request(`http://club.example${targetOf(this.operation, this.example)}`, {
      method: this.operation.method,
      headers: { ...this.headers, ...headers },
      body,
      duplex: "half",
    } as RequestInit);
    const response = await this.world.platform.fetch(request);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === "" ? undefined : JSON.parse(text),
    };
  }
}

/** Every copy of a value in which one part was replaced or left out. */
function* variants(
  value: unknown,
  replace: (part: unknown) => readonly unknown[],
): Generator<[at: string, variant: unknown]> {
  for (const replacement of replace(value)) yield ["", replacement];
  if (typeof value !== "object" || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    for (const [at, variant] of variants(part, replace))
      yield [`/${name}${at}`, { ...value, [name]: variant }];
  }
}

/** Values of other JSON types. */
function otherTypes(part: unknown): readonly unknown[] {
  return [null, [], [1], {}, "x", 7, true].filter(value => jsonType(value) !== jsonType(part));
}

function jsonType(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
}

const probe = await openPlatform(async clock => {
  return createMemoryStore({ clock });
});
const operations = await operationsOf(probe);
await probe.dispose();

describe("the operations under test", () => {
  it("are all that the platform has", () => {
    assert.ok(operations.length >= 18, String(operations.length));
    assert.ok(operations.some(({ family }) => family === "identity"));
  });
});

// What is refused never reaches the store, so one of them is enough.
describe("bad input", () => {
  let open: Awaited<ReturnType<typeof exampleWorlds>>;
  let readers = 0;
  let shared: ExampleWorld;
  before(async () => {
    open = await exampleWorlds();
    shared = await open();
  });
  after(() => shared.world.dispose());

  for (const operation of operations) {
    describe(`to ${operation.id}`, () => {
      const subject = new Subject(operation);
      const isReader = operation.method === "GET" && operation.scheme !== "spaceToken";
      before(async () => {
        if (!isReader) return subject.open(await open());
        if (readers++ % sharingMax === 0) shared = await open();
        // Beyond the window of every limit.
        shared.world.clock.advance(60_000);
        subject.open(shared);
      });
      after(async () => {
        if (!isReader) await subject.world.dispose();
      });

      it("is distinguished from good input", async () => {
        for (const example of subject.examples) {
          const { status, text, headers } = await subject.send(example);
          assert.ok(status < 300, `${status} ${text}`);
          assert.ok(operation.statuses.has(status), `${status} is not documented`);
          assert.ok(headers.get("x-request-id"));
        }
      });

      it("is an undocumented method or path", async () => {
        const path = targetOf(operation, { ...subject.example, query: {} });
        const other = ["PATCH", "DELETE", "PUT"].find(
          method => !operations.some(({ path, ...one }) => path === operation.path && one.method === method),
        );
        assert.ok(other !== undefined);
        for (const [method, target, status] of [
          [other, path, 405],
          [operation.method, `${path}/`, 404],
          [operation.method, `${path}//`, 404],
        ] as const) {
          const answer = await subject.world.call(target, { method, headers: subject.headers });
          assert.equal(answer.status, status, `${method} ${target}`);
          errorCode(answer, operation.family);
          if (status === 405) assert.ok(answer.headers.get("allow")?.includes(operation.method));
        }
      });

      if (operation.hasBody) bodyTests(subject);
      if (operation.path.includes("{")) pathTests(subject);
      if (operation.queryNames.length > 0) queryTests(subject);
      if (operation.scheme === "spaceToken") tokenTests(subject);
      if (operation.scheme === "userToken" && !operation.isOptional) userTokenTests(subject);
      if (operation.scheme === "apiKey") apiKeyTests(subject);
    });
  }
});

function bodyTests(subject: Subject): void {
  const json = { "content-type": "application/json" };

  it("is a body that is no JSON", async () => {
    for (const body of malformedBodies) {
      const outcome = await subject.refused(`the body ${body}`, () => subject.sendRaw(body, json));
      assert.deepEqual(outcome, [400, "bad_json"], `${body}`);
    }
    if (!subject.operation.needsBody) return;
    const { body: _, ...bare } = subject.example;
    assert.deepEqual(await subject.refused("no body", () => subject.send(bare)), [400, "bad_json"]);
  });

  it("is a body of another media type", async () => {
    const text = JSON.stringify(subject.example.body);
    for (const type of wrongTypes) {
      const outcome = await subject.refused(type, () => subject.sendRaw(text, { "content-type": type }));
      assert.deepEqual(outcome, [415, "unsupported_media_type"], type);
    }
    const untyped = new TextEncoder().encode(text);
    const outcome = await subject.refused("no media type", () => subject.sendRaw(untyped, {}));
    assert.deepEqual(outcome, [415, "unsupported_media_type"]);
  });

  it("is a body that is too large, declared or endless", async () => {
    const declared = { ...json, "content-length": "1000000000000" };
    const large = await subject.refused("a large body", () => subject.sendRaw("{}", declared));
    assert.deepEqual(large, [413, "payload_too_large"]);
    let sent = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = new Uint8Array(8_192).fill(0x20);
        sent += chunk.byteLength;
        if (sent > endlessBytesMax) controller.error(new Error("nobody stopped reading"));
        else controller.enqueue(chunk);
      },
      cancel() {
        cancelled = true;
      },
    });
    const outcome = await subject.refused("an endless body", () => subject.sendRaw(endless, json));
    assert.deepEqual(outcome, [413, "payload_too_large"]);
    assert.equal(cancelled, true);
  });

  it("is a body with a part of another type", async () => {
    for (const example of subject.examples) {
      for (const [at, body] of variants(example.body, otherTypes)) {
        // A scalar for a scalar is good input where names are free.
        if (
          /^(reportAction|tryAction|queueAction|redeemAudienceProduct)$/.test(subject.operation.id) &&
          /^\/(meta)?data\/\w/.test(at) &&
          isScalar(body, at)
        )
          continue;
        if (isMergePatch(subject.operation) && isPatchable(body, at)) continue;
        // Null says that a token has no cap, and that an author is nowhere.
        if (/^\/data\/attributes\/(role_cap|place|field)$/.test(at) && partOf(body, at) === null) continue;
        const sent = typeof body === "string" ? JSON.stringify(body) : body;
        const what = `${JSON.stringify(body)} differing at ${at}`;
        const outcome = await subject.refused(what, () => subject.send({ ...example, body: sent }));
        // The control API tells faults of attributes and relationships apart from those of the document.
        const isContent =
          subject.operation.statuses.has(422) && /^\/data\/(attributes|relationships)\/./.test(at);
        const isPlain = outcome[0] === 400 && outcome[1] === "validation_failed";
        assert.ok(isPlain || (isContent && outcome[1] === "unprocessable"), `${what}: ${outcome}`);
      }
    }
  });

  it("is a body with a required part missing", async () => {
    let refused = 0;
    for (const example of subject.examples) {
      for (const [at, body] of variants(example.body, () => [undefined])) {
        if (at === "") continue;
        await subject.world.platform.idle();
        const commits = subject.store.commits.length;
        const answer = await subject.send({ ...example, body });
        if (answer.status < 300) continue;
        refused += 1;
        const isContent = subject.operation.statuses.has(422) && answer.status === 422;
        assert.ok(
          [400, 401].includes(answer.status) || isContent,
          `without ${at}: ${answer.status} ${answer.text}`,
        );
        errorCode(answer, subject.operation.family);
        assert.equal(subject.store.commits.length, commits, at);
      }
    }
    assert.ok(refused > 0 || nothingRequired.test(subject.operation.id));
  });
}

/** Operations with a body of which nothing is required. */
const nothingRequired = /^(patchAudienceProfile|redeemAudienceProduct|refundRedemption)$/;

function isMergePatch({ id }: Operation): boolean {
  return /^(patchAudienceProfile|putSpaceProfiles|updateAudienceProfiles|change\w+Annotations)$/.test(id);
}

/** Null removes what a patch may change, and below preferences everything is good. */
function isPatchable(body: unknown, at: string): boolean {
  if (/\/preferences\//.test(at)) return true;
  return (
    /\/(displayName|preferences|customFields(\/\w+)?|annotations\/\w+)$/.test(at) && partOf(body, at) === null
  );
}

function isScalar(body: unknown, at: string): boolean {
  return ["string", "number", "boolean"].includes(typeof partOf(body, at));
}

function partOf(body: unknown, at: string): unknown {
  return at
    .split("/")
    .slice(1)
    .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], body);
}

function pathTests(subject: Subject): void {
  it("is a path parameter that is malformed", async () => {
    for (const name of Object.keys(subject.example.params)) {
      for (const raw of ["%zz", "%ff", "%", "x".repeat(2_049), "%ED%A0%80"]) {
        const target = targetOf(subject.operation, {
          ...subject.example,
          params: { ...subject.example.params, [name]: "SLOT" },
        });
        const outcome = await subject.refused(`${name}=${raw.slice(0, 20)}`, () =>
          subject.world.call(target.replace("SLOT", raw), {
            method: subject.operation.method,
            headers: subject.headers,
            ...(subject.example.body === undefined ? {} : { body: subject.example.body }),
          }),
        );
        assert.deepEqual(outcome, [400, "validation_failed"], `${name}=${raw.slice(0, 20)}`);
      }
    }
  });

  it("is a path parameter that is no UUID where one is required, or an unknown UUID", async () => {
    const isUuid = ([, value]: [string, string]): boolean => /^[0-9a-f-]{36}$/.test(value);
    for (const [name, value] of Object.entries(subject.example.params).filter(isUuid)) {
      const withValue = (other: string) => () =>
        subject.send({ ...subject.example, params: { ...subject.example.params, [name]: other } });
      for (const other of ["x", `${value}0`, value.slice(1), value.replaceAll("-", ""), "__proto__"]) {
        const outcome = await subject.refused(`${name}=${other}`, withValue(other));
        // A back end learns first that no project of its organisation has the id.
        assert.ok(
          ["validation_failed", "not_found", "invalid_code"].includes(outcome[1]),
          `${name}=${other}: ${outcome}`,
        );
      }
      // An unknown id is answered like one where the caller has no role.
      if (/^(readMyRole|verifySession)/.test(subject.operation.id)) continue;
      const outcome = await subject.refused(`an unknown ${name}`, withValue(randomUUID()));
      assert.deepEqual(outcome, [404, "not_found"]);
    }
  });
}

function queryTests(subject: Subject): void {
  it("is a query that is malformed, repeated or too long", async () => {
    const target = targetOf(subject.operation, subject.example);
    const joined = target.includes("?") ? `${target}&` : `${target}?`;
    const [name = ""] = subject.operation.queryNames;
    const queries = ["a=%zz", "%ff=1", "zzz=1&zzz=2", `${name}=1&${name}=2`, `long=${"x".repeat(8_193)}`];
    const many = Array.from({ length: 65 }, (_, index) => `q${index}=`).join("&");
    for (const query of [...queries, many]) {
      const outcome = await subject.refused(query.slice(0, 40), () =>
        subject.world.call(joined + query, {
          method: subject.operation.method,
          headers: subject.headers,
          ...(subject.example.body === undefined ? {} : { body: subject.example.body }),
        }),
      );
      assert.deepEqual(outcome, [400, "validation_failed"], query.slice(0, 40));
    }
  });
}

function tokenTests(subject: Subject): void {
  it("is a token that is missing, garbled, forged or expired", async () => {
    const { world, operation } = subject;
    const { authorization = "" } = subject.headers;
    const [header, payload, signature = ""] = authorization.slice("Bearer ".length).split(".");
    const forged = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    const wrong: Record<string, string>[] = [
      { authorization: "Bearer garbage" },
      { authorization: `Bearer ${header}.${payload}.${forged}` },
      { authorization: `Bearer ${header}.${payload}.` },
      { authorization: `Bearer ${"a".repeat(10_000)}` },
    ];
    for (const headers of wrong) {
      const outcome = await subject.refused(JSON.stringify(headers).slice(0, 60), () =>
        subject.send(subject.example, { headers }),
      );
      assert.deepEqual(outcome, [401, "invalid_token"]);
    }
    if (!operation.isOptional) {
      const outcome = await subject.refused("no token", () => subject.send(subject.example, { headers: {} }));
      assert.deepEqual(outcome, [401, "missing_token"]);
    }
    world.clock.advance(3_600_000);
    const late = await subject.refused("an expired token", () => subject.send(subject.example));
    assert.deepEqual(late, [401, "token_expired"]);
    subject.headers = { ...operation.headers, ...(await credentialsFor(operation.scheme, world)) };
  });
}

function userTokenTests(subject: Subject): void {
  it("is a token that is missing, garbled, forged or of another kind", async () => {
    const { world } = subject;
    const ask = (token: string): Promise<Answer> =>
      subject.send(subject.example, { headers: { authorization: `Bearer ${token}` } });
    const outcome = await subject.refused("no token", () => subject.send(subject.example, { headers: {} }));
    assert.deepEqual(outcome, [401, "missing_token"]);
    const token = subject.headers.authorization?.slice("Bearer ".length) ?? "";
    const [header, payload, signature = ""] = token.split(".");
    const forged = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    const wrong = [
      "garbage",
      "a".repeat(10_000),
      `${header}.${payload}.${forged}`,
      `${header}.${payload}.`,
      (await world.fan("Sam")).token,
    ];
    for (const token of wrong) {
      const answer = await ask(token);
      assert.deepEqual([answer.status, errorCode(answer, "identity")], [401, "invalid_token"], token);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
    }
    assert.ok(subject.operation.statuses.has(401));
  });
}

function apiKeyTests(subject: Subject): void {
  it("is an API key that is missing, garbled, wrong, revoked, foreign or not permitted", async () => {
    const { world, operation } = subject;
    const enough = permissions.filter(permission => operation.requires.includes(permission));
    const others = permissions.filter(permission => !operation.requires.includes(permission));
    assert.ok(enough.length > 0 && others.length > 0);
    const of = async (organisationId: string, granted: readonly Permission[]) => {
      const { key, secret } = await world.platform.apiKeys.create({
        organisationId,
        name: "k",
        permissions: granted,
      });
      return { "x-api-key": key, "x-api-secret": secret };
    };
    const [revoked, weak, foreign] = [
      await of(ids.organisation, enough),
      await of(ids.organisation, others),
      await of(ids.otherOrganisation, enough),
    ];
    const named =
      "x-platform-org-id" in operation.headers ? { "x-platform-org-id": ids.otherOrganisation } : {};
    await world.platform.apiKeys.revoke({ organisationId: ids.organisation, keyId: revoked["x-api-key"] });
    const cases: [string, Readonly<Record<string, string>>, [number, string]][] = [
      ["no key", {}, [401, "missing_api_key"]],
      ["no secret", { "x-api-key": weak["x-api-key"] }, [401, "missing_api_key"]],
      ["an empty secret", { ...weak, "x-api-secret": "" }, [401, "missing_api_key"]],
      ["garbage", { "x-api-key": "a", "x-api-secret": "b" }, [401, "invalid_api_key"]],
      ["another's secret", { ...weak, "x-api-secret": foreign["x-api-secret"] }, [401, "invalid_api_key"]],
      ["a revoked key", revoked, [401, "invalid_api_key"]],
      ["a weak key", weak, [403, "insufficient_scope"]],
      ["a foreign key", { ...foreign, ...named }, [404, "not_found"]],
    ];
    // A key that names no space means one of its own organisation.
    const { query } = subject.example;
    const space = operation.queryNames.includes("space_id") ? { space_id: ids.space } : {};
    const example = { ...subject.example, query: { ...query, ...space } };
    for (const [what, headers, expected] of cases) {
      assert.deepEqual(await subject.refused(what, () => subject.send(example, { headers })), expected, what);
    }
  });
}
