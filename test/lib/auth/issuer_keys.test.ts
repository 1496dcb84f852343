import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import {
  createRemoteFetch,
  createRemoteIssuers,
  type RemoteClaims,
  type RemoteIssuers,
} from "../../../lib/auth/remote_issuers/mod.ts";
import { AppError, type ErrorCode } from "../../../lib/base/errors/mod.ts";
import { circuitRetryMs } from "../../../lib/base/outbound/outbound.ts";
import { createTestClock } from "../../support/clock.ts";
import { forge, type IssuerKey, issuerKey, TestIssuer } from "../../support/issuer.ts";
import { hasCode } from "./_setup.ts";

const keysAgeMs = 600_000;
const cooldownMs = 30_000;
const keysStaleMs = 86_400_000;
const answerBytesMax = 262_144;
const requestMsMax = 3_000;

describe("the keys of another issuer", () => {
  let clock: ReturnType<typeof createTestClock>;
  let login: TestIssuer;
  let issuers: RemoteIssuers;
  /** The deadlines that requests set, to be passed by the test. */
  let deadlines: { readonly ms: number; readonly controller: AbortController }[];
  beforeEach(() => {
    clock = createTestClock();
    deadlines = [];
    serve(new TestIssuer());
  });

  function serve(issuer: TestIssuer): void {
    login = issuer;
    const fetch = createRemoteFetch({
      fetch: login.fetch,
      deadline: ms => {
        const controller = new AbortController();
        deadlines.push({ ms, controller });
        return controller.signal;
      },
    });
    issuers = createRemoteIssuers({ fetch, clock: clock.now });
  }
  function verify(key: IssuerKey = login.key): Promise<RemoteClaims> {
    const token = forge(key, login.claims(clock.now()));
    return issuers.verify(token, { issuer: login.issuer, audience: "app-1" });
  }
  function status(code: number): () => Promise<Response> {
    return async () => new Response("", { status: code });
  }
  async function fails(code: ErrorCode): Promise<void> {
    await assert.rejects(verify(), hasCode(code));
  }

  it("are fetched once for all who need them at the same time", async () => {
    await Promise.all(Array.from({ length: 50 }, () => verify()));
    assert.equal(login.asked.length, 2);
  });
  it("are fetched again when they are old, and not before", async () => {
    await verify();
    clock.advance(keysAgeMs - 1);
    await verify();
    assert.equal(login.asked.length, 2);
    clock.advance(1);
    await verify();
    assert.equal(login.asked.length, 4);
  });
  it("are fetched again for an unknown name, so that a rotated key works at once", async () => {
    await verify();
    clock.advance(cooldownMs);
    login.keys.push(issuerKey());
    await Promise.all(Array.from({ length: 20 }, () => verify()));
    assert.equal(login.asked.length, 3);
  });
  it("are fetched for unknown names once per cooldown, however many tokens name one", async () => {
    await verify();
    clock.advance(cooldownMs - 1);
    for (let index = 0; index < 20; index++) {
      await assert.rejects(verify(issuerKey("stranger")), hasCode("invalid_token"));
    }
    assert.equal(login.asked.length, 2);
    clock.advance(1);
    for (let index = 0; index < 20; index++) {
      await assert.rejects(verify(issuerKey("stranger")), hasCode("invalid_token"));
    }
    assert.equal(login.asked.length, 3);
  });
  it("are gone when the issuer no longer publishes them and they are old", async () => {
    const [old = issuerKey()] = login.keys;
    await verify(old);
    login.keys = [issuerKey()];
    clock.advance(keysAgeMs);
    await assert.rejects(verify(old), hasCode("invalid_token"));
  });
  it("stay in use while the issuer fails, for a day at most", async () => {
    await verify();
    login.answering = status(503);
    clock.advance(keysAgeMs);
    await verify();
    clock.advance(keysStaleMs - keysAgeMs - 1);
    await verify();
    clock.advance(1);
    await fails("provider_unavailable");
    login.answering = null;
    clock.advance(circuitRetryMs);
    await verify();
  });
  it("are unknown and not invalid while they cannot be fetched", async () => {
    await verify();
    clock.advance(cooldownMs);
    login.answering = status(500);
    for (let index = 0; index < 3; index++) {
      await assert.rejects(verify(issuerKey("stranger")), hasCode("provider_unavailable"));
    }
    assert.equal(login.asked.length, 3);
  });
  it("are not requested for five seconds after five failures of the issuer in a row", async () => {
    login.answering = status(500);
    for (let failure = 0; failure < 10; failure++) await fails("provider_unavailable");
    assert.equal(login.asked.length, 5);
    login.answering = null;
    clock.advance(circuitRetryMs - 1);
    await fails("provider_unavailable");
    assert.equal(login.asked.length, 5);
    clock.advance(1);
    await verify();
  });
  it("are not waited for when the issuer does not answer in time", async () => {
    login.answering = (_, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const waiting = fails("provider_unavailable");
    while (deadlines.length === 0) await new Promise(setImmediate);
    assert.deepEqual(
      deadlines.map(({ ms }) => ms),
      [requestMsMax],
    );
    deadlines[0]?.controller.abort(new Error("timed out"));
    await waiting;
  });
  it("are not taken from an answer that is too large", async () => {
    login.discovery = { padding: "" };
    const document = await login.fetch(`${login.issuer}/.well-known/openid-configuration`, {});
    const room = answerBytesMax - (await document.text()).length;
    login.discovery = { padding: "x".repeat(room) };
    await verify();
    serve(new TestIssuer());
    login.discovery = { padding: "x".repeat(room + 1) };
    await fails("provider_error");
  });
  it("are not fetched along a redirect", async () => {
    login.answering = async (_, init) => {
      assert.equal(init.redirect, "manual");
      return new Response(null, { status: 302, headers: { location: "https://evil.example/" } });
    };
    await fails("provider_error");
    assert.equal(login.asked.length, 1);
  });
  it("are not taken from a document of another issuer, nor from a forbidden URL", async () => {
    const wrong: Record<string, unknown>[] = [
      { issuer: "https://evil.example" },
      { issuer: "https://login.example/" },
      { jwks_uri: undefined },
      { jwks_uri: 7 },
      { jwks_uri: "http://login.example/jwks" },
      { jwks_uri: "https://user:secret@login.example/jwks" },
      { jwks_uri: "http://127.0.0.1/jwks" },
      { jwks_uri: "https://127.0.0.1/jwks" },
      { jwks_uri: "http://localhost:6379/" },
      { jwks_uri: "file:///etc/passwd" },
    ];
    for (const discovery of wrong) {
      serve(new TestIssuer());
      login.discovery = discovery;
      await assert.rejects(verify(), hasCode("provider_error"), JSON.stringify(discovery));
      assert.equal(login.asked.length, 1, JSON.stringify(discovery));
    }
  });
  it("are not taken from an answer that makes no sense", async () => {
    for (const body of ["", "{", "null", "[]", "7", '{"keys": {}}', "\u0000"]) {
      serve(new TestIssuer());
      login.answering = async () => new Response(body);
      await assert.rejects(verify(), hasCode("provider_error"), body);
    }
    for (const code of [400, 404]) {
      serve(new TestIssuer());
      login.answering = status(code);
      await assert.rejects(verify(), hasCode("provider_error"), String(code));
    }
    serve(new TestIssuer());
    login.answering = status(429);
    await fails("provider_unavailable");
  });
  it("are not requested over plain http, except on this machine", async () => {
    for (const issuer of ["http://login.example", "ftp://login.example", "login.example", ""]) {
      serve(new TestIssuer(issuer));
      await assert.rejects(verify(), hasCode("provider_error"), issuer);
      assert.equal(login.asked.length, 0);
    }
    for (const issuer of [
      "http://127.0.0.1:9",
      "http://localhost:9",
      "http://[::1]:9",
      "https://a.example/b/",
    ]) {
      serve(new TestIssuer(issuer));
      await verify();
    }
  });
});

describe("a request to another server", () => {
  it("keeps the reasons of a failure, and only the origin of its address", async () => {
    const fetch = createRemoteFetch({
      // As Deno words it.
      fetch: url => {
        const cause = new Error(`error sending request for url (${url}): client error (Connect): dns error`);
        return Promise.reject(new TypeError("fetch failed", { cause }));
      },
    });
    const url = "https://social.example/debug?input_token=a-secret-token";
    const error: unknown = await fetch(url).catch((reason: unknown) => reason);
    assert.ok(error instanceof AppError && error.code === "provider_unavailable");
    const reasons: string[] = [];
    for (let at: unknown = error; at instanceof Error; at = at.cause) reasons.push(String(at));
    assert.match(
      reasons.join(),
      /fetch failed.*https:\/\/social\.example\): client error \(Connect\): dns error/,
    );
    assert.doesNotMatch(reasons.join(), /secret-token|input_token/);
  });
});
