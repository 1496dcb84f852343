import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRemoteJson } from "../../../lib/auth/mod.ts";
import { AppError } from "../../../lib/errors/mod.ts";

describe("a request to a server of others", () => {
  it("that fails keeps its reasons, and of its address the origin alone", async () => {
    const remote = createRemoteJson({
      // As Deno words it.
      fetch: url => {
        const cause = new Error(`error sending request for url (${url}): client error (Connect): dns error`);
        return Promise.reject(new TypeError("fetch failed", { cause }));
      },
    });
    const url = new URL("https://social.example/debug?input_token=a-secret-token");
    const error: unknown = await remote.get(url).catch(reason => reason);
    assert.ok(error instanceof AppError && error.code === "provider_unavailable");
    const told: string[] = [];
    for (let at: unknown = error; at instanceof Error; at = at.cause) told.push(String(at));
    assert.match(
      told.join(),
      /fetch failed.*https:\/\/social\.example\): client error \(Connect\): dns error/,
    );
    assert.doesNotMatch(told.join(), /secret-token|input_token/);
  });
});
