import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError, type AppErrorOptions, type ErrorCode } from "../../../lib/base/errors/mod.ts";
import { errorFacts } from "../../../lib/http/errors/failure.ts";
import { createHandler, type Guard, type Handler } from "../../../lib/http/mod.ts";
import { area, bodyOf, call, handlerOf, type Sketch, throwing } from "./kit.ts";

const bearer: Guard<unknown> = {
  security: [{ schemes: { userToken: { type: "http", scheme: "bearer" } }, requires: ["audience:read"] }],
  authenticate: () => null,
};
const apiKey: Guard<unknown> = {
  security: [{ schemes: { apiKey: { type: "apiKey", in: "header", name: "X-API-Key" } } }],
  authenticate: () => null,
};

function failing(code: ErrorCode, options: AppErrorOptions = {}, parts: Sketch = {}): Handler {
  return handlerOf([
    { auth: bearer, ...parts, handle: throwing(new AppError(code, "Cannot do it", options)) },
  ]);
}

function identity(code: ErrorCode, options: AppErrorOptions = {}): Handler {
  const handle = throwing(new AppError(code, "Cannot do it", options));
  return createHandler([area([{ path: "/v1/user", auth: bearer, handle }], "identity")]);
}

describe("errors of the problem family", () => {
  it("are RFC 9457 with the extension members", async () => {
    const fields = [{ pointer: "/a", detail: "Is wrong" }];
    const answer = await call(failing("validation_failed", { fields }), "/things?secret=1");
    assert.equal(answer.status, 400);
    assert.equal(answer.headers.get("content-type"), "application/problem+json");
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.deepEqual(await bodyOf(answer), {
      type: "/problems/validation_failed",
      title: "Invalid request",
      status: 400,
      detail: "Cannot do it",
      instance: "/things",
      code: "validation_failed",
      message: "Cannot do it",
      requestId: "request-1",
      errors: fields,
    });
  });

  it("name their type under the public address", async () => {
    const handler = handlerOf([], { publicUrl: "https://fans.example" });
    const { type } = await bodyOf(call(handler, "/nothing"));
    assert.equal(type, "https://fans.example/problems/not_found");
  });

  it("use the registered type for an exhausted quota", async () => {
    const { type } = await bodyOf(call(failing("rate_limited"), "/things"));
    assert.equal(type, "https://iana.org/assignments/http-problem-types#quota-exceeded");
  });

  it("bound the path that they repeat", async () => {
    const { instance } = await bodyOf(call(failing("not_found"), `/${"x".repeat(5_000)}`));
    assert.equal(String(instance).length, 1_024);
  });
});

describe("errors of the identity family", () => {
  it("have the envelope with result 0", async () => {
    const fields = [{ pointer: "/data/email", detail: "Invalid email" }];
    const answer = await call(identity("validation_failed", { fields }), "/v1/user");
    assert.equal(answer.headers.get("content-type"), "application/json");
    assert.deepEqual(await bodyOf(answer), {
      result: 0,
      message: "Cannot do it",
      data: { code: "validation_failed", retryable: false, action: "none", fields },
    });
  });

  it("contain the next action of a client", async () => {
    const expected: Partial<Record<ErrorCode, string>> = {
      missing_token: "login",
      invalid_token: "login",
      token_expired: "refresh",
      invalid_credentials: "none",
      forbidden: "none",
      conflict: "retry",
      internal_error: "retry",
    };
    for (const [code, action] of Object.entries(expected)) {
      const { data } = await bodyOf(call(identity(code as ErrorCode), "/v1/user"));
      assert.equal((data as { action: string }).action, action, code);
    }
  });

  it("repeat Retry-After in seconds", async () => {
    const answer = await call(identity("rate_limited", { retryAfterMs: 61_001 }), "/v1/user");
    assert.equal(answer.headers.get("retry-after"), "62");
    assert.deepEqual((await bodyOf(answer)).data, {
      code: "rate_limited",
      retryable: true,
      action: "retry",
      retryAfter: 62,
    });
  });
});

describe("the details of an error", () => {
  const details = { reason: "odd", country: null, code: "mine", action: "mine", status: 200, type: "mine" };

  it("are members of the data in the identity family, and replace none that every error has", async () => {
    const answer = await call(identity("forbidden", { details }), "/v1/user");
    assert.deepEqual(await bodyOf(answer), {
      result: 0,
      message: "Cannot do it",
      data: {
        reason: "odd",
        country: null,
        status: 200,
        type: "mine",
        code: "forbidden",
        retryable: false,
        action: "none",
      },
    });
  });

  it("are extension members in the problem family, and replace none that every error has", async () => {
    const problem = await bodyOf(call(failing("forbidden", { details }), "/things"));
    assert.deepEqual(
      [problem.reason, problem.country, problem.action, problem.code, problem.status, problem.type],
      ["odd", null, "mine", "forbidden", 403, "/problems/forbidden"],
    );
  });

  it("stay unsaid with an internal error", async () => {
    for (const answer of [identity("internal_error", { details }), failing("internal_error", { details })]) {
      assert.doesNotMatch(JSON.stringify(await bodyOf(call(answer, "/v1/user"))), /mine|odd/);
    }
  });
});

describe("the family of a path that no route has", () => {
  const user = { path: "/v1/user/check" } as const;
  const location = { path: "/v1/locations/projects/:id/check" } as const;
  const handler = createHandler([
    area([{ path: "/projects/:id" }, { path: "/v1/api/audience/profile" }]),
    { ...area([user, location, { path: "/members/:id" }], "identity"), name: "identity" },
  ]);
  async function familyOf(path: string, method = "GET"): Promise<string> {
    const answer = await call(handler, path, { method });
    assert.ok(answer.status === 404 || answer.status === 405, path);
    return (await bodyOf(answer)).result === 0 ? "identity" : "problem";
  }

  it("is identity below the beginning of an identity route", async () => {
    for (const path of [
      "/v1/user",
      "/v1/user/",
      "/v1/user/nothing/here",
      "/v1/locations/x",
      "/members/1/2",
    ]) {
      assert.equal(await familyOf(path), "identity", path);
    }
    assert.equal(await familyOf("/v1/user/check", "PUT"), "identity");
  });

  it("is problem everywhere else", async () => {
    for (const path of ["/", "/v1", "/v1/users", "/v1/api/x", "/projects/1/2", "/nothing", "/%"]) {
      assert.equal(await familyOf(path), "problem", path);
    }
    assert.equal(await familyOf("/projects/1", "PUT"), "problem");
  });
});

describe("header fields of errors", () => {
  it("carry the status that the code's row says", async () => {
    for (const [code, { status }] of Object.entries(errorFacts)) {
      assert.equal((await call(failing(code as ErrorCode), "/things")).status, status, code);
    }
  });

  it("challenge with every 401 as RFC 6750 says", async () => {
    const expected: Partial<Record<ErrorCode, string>> = {
      missing_token: 'Bearer realm="api"',
      invalid_credentials: 'Bearer realm="api"',
      invalid_token: 'Bearer error="invalid_token"',
      token_expired: 'Bearer error="invalid_token", error_description="The token expired"',
      session_revoked: 'Bearer error="invalid_token"',
      refresh_token_reused: 'Bearer error="invalid_token"',
      insufficient_scope: 'Bearer error="insufficient_scope", scope="audience:read"',
      missing_api_key: 'ApiKey realm="api"',
      invalid_api_key: 'ApiKey realm="api"',
    };
    for (const code of Object.keys(errorFacts) as ErrorCode[]) {
      const { status } = errorFacts[code];
      const answer = await call(failing(code), "/things");
      assert.equal(
        answer.headers.get("www-authenticate"),
        expected[code] ?? (status === 401 ? 'Bearer realm="api"' : null),
        code,
      );
    }
  });

  it("challenge for the key where the route is guarded by one", async () => {
    for (const code of ["missing_token", "missing_api_key", "invalid_api_key"] as const) {
      const answer = await call(failing(code, {}, { auth: apiKey }), "/things");
      assert.equal(answer.headers.get("www-authenticate"), 'ApiKey realm="api"');
    }
    const scope = await call(failing("insufficient_scope", {}, { auth: apiKey }), "/things");
    assert.equal(scope.headers.get("www-authenticate"), null);
  });

  it("say when to retry with 429 and 503, a second where nothing is known", async () => {
    for (const code of ["rate_limited", "busy", "storage_unavailable", "outcome_unknown"] as const) {
      assert.equal((await call(failing(code), "/things")).headers.get("retry-after"), "1", code);
      const later = await call(failing(code, { retryAfterMs: 1_500 }), "/things");
      assert.equal(later.headers.get("retry-after"), "2", code);
    }
    assert.equal((await call(failing("conflict"), "/things")).headers.get("retry-after"), null);
  });

  it("may be added by the error", async () => {
    const answer = await call(failing("conflict", { headers: { etag: '"7"' } }), "/things");
    assert.equal(answer.headers.get("etag"), '"7"');
  });
});

describe("an error that is no AppError", () => {
  const odd = [
    new Error("password=hunter2"),
    "hunter2",
    null,
    undefined,
    { hunter2: 1 },
    new TypeError("hunter2"),
  ];

  it("is 500 internal_error without any detail", async () => {
    for (const thrown of odd) {
      for (const auth of [{ security: [], authenticate: throwing(thrown) }, undefined]) {
        const handler = handlerOf([{ ...(auth && { auth }), handle: throwing(thrown) }]);
        const answer = await call(handler, "/things");
        assert.equal(answer.status, 500);
        const body = await bodyOf(answer);
        assert.equal(body.code, "internal_error");
        assert.doesNotMatch(JSON.stringify(body), /hunter2/);
      }
    }
  });

  it("is 500 also where the handler rejects later", async () => {
    const handler = handlerOf([{ handle: () => Promise.reject(new Error("later")) }]);
    assert.equal((await call(handler, "/things")).status, 500);
  });

  it("hides the message of an internal_error of our own", async () => {
    const { message } = await bodyOf(call(failing("internal_error"), "/things"));
    assert.notEqual(message, "Cannot do it");
  });
});
