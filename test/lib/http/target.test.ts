import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hostOf } from "../../../lib/http/dispatch/dispatcher.ts";

describe("the host of a request", () => {
  const of = (url: string, host?: string): string =>
    hostOf({ url, headers: new Headers(host === undefined ? {} : { host }) });

  it("is the one of its field, else that of its URL", () => {
    assert.equal(of("http://a.example/x", "b.example:80"), "b.example:80");
    assert.equal(of("http://a.example:8080/x"), "a.example:8080");
    assert.equal(of("http://a.example/x", ""), "");
  });

  it("is empty where a request of HTTP/1.0 names none, and a runtime makes no URL of that", () => {
    for (const url of ["/x", "", "*", "http://[::1/x"]) assert.equal(of(url), "", url);
  });
});
