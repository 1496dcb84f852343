import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { any, object, optional, string } from "valibot";
import type { Handler, Timer } from "../../../lib/http/mod.ts";
import { bodyBytesMaxDefault, bodyMsMaxDefault } from "../../../lib/http/requests/body.ts";
import { bodyOf, call, handlerOf, withJson } from "./kit.ts";

const jsonType = { "content-type": "application/json" };
const handler = handlerOf([
  { method: "POST", path: "/any", body: { schema: any() } },
  { method: "POST", path: "/small", body: { schema: any(), maxBytes: 20 } },
  { method: "POST", path: "/api", body: { schema: any(), mediaTypes: ["application/vnd.api+json"] } },
  { method: "POST", path: "/optional", body: { schema: optional(object({ a: string() })) } },
]);

/** A body of chunks, pulled one by one, that tells whether it was cancelled and how much was taken. */
class Source {
  cancelled = false;
  pulled = 0;
  readonly stream: ReadableStream<Uint8Array>;

  constructor(chunks: Iterable<string | Uint8Array>) {
    const iterator = chunks[Symbol.iterator]();
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: controller => {
          const { done, value } = iterator.next();
          if (done === true) return controller.close();
          this.pulled++;
          controller.enqueue(typeof value === "string" ? new TextEncoder().encode(value) : value);
        },
        cancel: () => {
          this.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
  }
}

function* forever(chunk: string): Generator<string> {
  for (;;) yield chunk;
}

function streamed(path: string, body: ReadableStream, headers: Record<string, string> = {}): Request {
  const init = { method: "POST", body, headers: { ...jsonType, ...headers }, duplex: "half" };
  return new Request(`http://platform.test${path}`, init);
}

async function codeOf(answer: Promise<Response>): Promise<[number, unknown]> {
  const { status } = await answer;
  return [status, (await bodyOf(answer)).code];
}

describe("the bound of a body", () => {
  it("is 64 KiB unless the route says otherwise, inclusive", async () => {
    const full = `"${"x".repeat(bodyBytesMaxDefault - 2)}"`;
    const init = { method: "POST", headers: jsonType };
    assert.equal((await call(handler, "/any", { ...init, body: full })).status, 200);
    assert.deepEqual(await codeOf(call(handler, "/any", { ...init, body: `${full} ` })), [
      413,
      "payload_too_large",
    ]);
  });

  it("counts bytes, not characters", async () => {
    const init = { method: "POST", headers: jsonType };
    assert.equal((await call(handler, "/small", { ...init, body: `"${"é".repeat(9)}"` })).status, 200);
    assert.equal((await call(handler, "/small", { ...init, body: `"${"é".repeat(9)}x"` })).status, 413);
  });

  it("refuses by Content-Length without reading a byte", async () => {
    const source = new Source(forever("[1,"));
    const answer = handler(streamed("/small", source.stream, { "content-length": "21" }));
    assert.deepEqual(await codeOf(answer), [413, "payload_too_large"]);
    assert.equal(source.pulled, 0);
  });

  it("ends and cancels a chunked body once it is exceeded", async () => {
    const source = new Source(forever("0123456789"));
    assert.deepEqual(await codeOf(handler(streamed("/small", source.stream))), [413, "payload_too_large"]);
    assert.equal(source.cancelled, true);
    assert.equal(source.pulled, 3);
  });

  it("accepts a chunked body of exactly the bound", async () => {
    const source = new Source(['"01234567', "89012345", '67"']);
    assert.equal((await handler(streamed("/small", source.stream))).status, 200);
    assert.equal(source.pulled, 3);
    assert.equal(source.cancelled, false);
  });

  it("does not believe a Content-Length that is too small, unless the runtime vouches for it", async () => {
    const source = new Source(Array.from({ length: 100 }, () => "0123456789"));
    const lying = streamed("/small", source.stream, { "content-length": "5" });
    assert.equal((await handler(lying)).status, 413);
    assert.equal(source.pulled, 3);
  });

  it("reads a body in one piece where the runtime vouches for its length", async () => {
    const request = streamed("/small", new Source(['{"a"', ":1}"]).stream, { "content-length": "7" });
    const answer = await handler(request, { framed: true });
    assert.deepEqual((await bodyOf(answer)).body, { a: 1 });
  });
});

describe("the values of a body", () => {
  const large = handlerOf([{ method: "POST", path: "/any", body: { schema: any(), maxBytes: 20_000_000 } }]);
  const most = 32_768;
  const wide = " ".repeat(66_000);
  const shapes: Readonly<Record<string, (values: number) => string>> = {
    "empty objects, which count twice": values =>
      `[${wide}${Array(values / 2)
        .fill("{ }")
        .join()}]`,
    "arrays in arrays": values =>
      `[${wide}${Array(values / 2)
        .fill("[  ]")
        .join()}]`,
    members: values => `{${Array.from({ length: values }, (_, at) => `"a${at}":1`).join()}}`,
    "texts with commas, brackets and escapes": values =>
      `[${Array(values).fill(String.raw`"{,[\\\",[{"`).join()}]`,
  };
  /** Sends a text in one piece and in chunks of an odd length. */
  async function statuses(text: string): Promise<readonly number[]> {
    const bytes = new TextEncoder().encode(text);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 9_973) }, (_, at) =>
      bytes.subarray(at * 9_973, (at + 1) * 9_973),
    );
    const declared = { "content-length": String(bytes.length) };
    const requests = [
      streamed("/any", new Source([bytes]).stream),
      streamed("/any", new Source(chunks).stream),
      streamed("/any", new Source([bytes]).stream, declared),
    ];
    return await Promise.all(
      requests.map(
        async request => (await large(request, { framed: request.headers.has("content-length") })).status,
      ),
    );
  }

  for (const [what, shape] of Object.entries(shapes)) {
    it(`are at most ${most}: ${what}`, async () => {
      assert.deepEqual(await statuses(shape(most)), [200, 200, 200]);
      assert.deepEqual(await statuses(shape(most + 2)), [413, 413, 413]);
    });
  }

  it("are refused while they arrive, before they become objects", async () => {
    const source = new Source(forever("{},".repeat(10_000)));
    const answer = large(streamed("/any", source.stream));
    assert.equal(
      (await bodyOf(answer)).detail,
      "Cannot read the body: it must not have more than 32768 values",
    );
    assert.deepEqual([(await answer).status, source.cancelled, source.pulled], [413, true, 3]);
  });

  it("may be as long as the body: a file of some megabytes is one value", async () => {
    const file = "QUJD/+8=".repeat(1_000_000);
    assert.deepEqual(await statuses(JSON.stringify({ file })), [200, 200, 200]);
    assert.deepEqual(await statuses(`["${"\\/".repeat(1_048_576)}"]`), [200, 200, 200]);
    assert.deepEqual(await statuses(`["${"\\/".repeat(1_048_577)}"]`), [413, 413, 413]);
  });
});

describe("the deadline of a body", () => {
  /** A timer that is fired by hand. */
  function manualTimer(): { timer: Timer; fire: () => void; delays: number[]; pending: () => number } {
    const callbacks = new Set<() => void>();
    const delays: number[] = [];
    return {
      delays,
      pending: () => callbacks.size,
      fire: () => {
        for (const callback of callbacks) callback();
      },
      timer: (callback, delayMs) => {
        delays.push(delayMs);
        callbacks.add(callback);
        return () => callbacks.delete(callback);
      },
    };
  }

  function slowHandler(timer: Timer): Handler {
    return handlerOf([{ method: "POST", path: "/any", body: { schema: any() } }], { timer });
  }

  for (const framed of [false, true]) {
    const way = framed ? "in one piece" : "in chunks";
    it(`ends a body that never finishes, read ${way}`, async () => {
      const { timer, fire, delays } = manualTimer();
      const stream = new ReadableStream({ start: controller => controller.enqueue(new Uint8Array([91])) });
      const request = streamed("/any", stream, { "content-length": "1000" });
      const answer = slowHandler(timer)(request, { framed });
      await new Promise(setImmediate);
      assert.deepEqual(delays, [bodyMsMaxDefault]);
      fire();
      const { code, detail } = await bodyOf(answer);
      assert.equal(code, "bad_json");
      assert.equal(detail, "Cannot read the body: it did not arrive within 10 seconds");
    });

    it(`is that of the route where it has one, read ${way}`, async () => {
      const { timer, delays } = manualTimer();
      const route = { method: "POST", path: "/any", body: { schema: any(), msMax: 60_000 } } as const;
      const request = streamed("/any", new Source(["{}"]).stream, { "content-length": "2" });
      let isExpected = false;
      const expectStream = () => {
        isExpected = true;
      };
      assert.equal((await handlerOf([route], { timer })(request, { framed, expectStream })).status, 200);
      assert.deepEqual([delays, isExpected], [[60_000], true]);
    });

    it(`is lifted once the body has arrived, read ${way}`, async () => {
      const { timer, pending } = manualTimer();
      const request = streamed("/any", new Source(["{}"]).stream, { "content-length": "2" });
      assert.equal((await slowHandler(timer)(request, { framed })).status, 200);
      assert.equal(pending(), 0);
    });
  }

  it("cancels the stream", async () => {
    const { timer, fire } = manualTimer();
    const cancelled = new Promise<void>(resolve => {
      const stream = new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => resolve() });
      void slowHandler(timer)(streamed("/any", stream)).then(answer => assert.equal(answer.status, 400));
    });
    await new Promise(setImmediate);
    fire();
    await cancelled;
  });
});

describe("the media type of a body", () => {
  it("is JSON in UTF-8, in any spelling", async () => {
    const accepted = ["application/json", "Application/JSON", 'application/json; charset="UTF-8"'];
    for (const type of [...accepted, "application/json;charset=utf-8", "application/json; profile=x"]) {
      const init = { method: "POST", headers: { "content-type": type }, body: "{}" };
      assert.equal((await call(handler, "/any", init)).status, 200, type);
    }
  });

  it("is refused otherwise, and the answer says what is accepted", async () => {
    const refused = ["text/plain", "application/jsonp", "application/json; charset=latin1", "nonsense", ""];
    for (const type of [...refused, "application/vnd.api+json", "multipart/form-data; boundary=x"]) {
      const init = { method: "POST", headers: { "content-type": type }, body: "{}" };
      const answer = await call(handler, "/any", init);
      assert.equal(answer.status, 415, type);
      assert.equal(answer.headers.get("accept"), "application/json");
      assert.equal((await bodyOf(answer)).code, "unsupported_media_type");
    }
  });

  it("has no coding: a compressed body is refused unread, and the answer says so", async () => {
    for (const coding of ["gzip", "br, gzip", "x"]) {
      const source = new Source(forever("x"));
      const answer = await handler(streamed("/any", source.stream, { "content-encoding": coding }));
      assert.equal(answer.status, 415, coding);
      assert.equal(answer.headers.get("accept-encoding"), "identity");
      assert.equal(source.pulled, 0);
    }
    for (const coding of ["identity", "Identity", ""]) {
      const headers = { ...jsonType, "content-encoding": coding };
      assert.equal(
        (await call(handler, "/any", { method: "POST", headers, body: "{}" })).status,
        200,
        coding,
      );
    }
  });

  it("is demanded of a body that has bytes", async () => {
    const body = new TextEncoder().encode("{}");
    const answer = call(handler, "/any", { method: "POST", body });
    assert.deepEqual(await codeOf(answer), [415, "unsupported_media_type"]);
  });

  it("may be one that the route lists", async () => {
    const headers = { "content-type": "application/vnd.api+json" };
    assert.equal((await call(handler, "/api", { method: "POST", headers, body: "{}" })).status, 200);
    assert.equal((await call(handler, "/api", withJson({}))).status, 200);
  });
});

describe("a body that cannot be read", () => {
  const unreadable: Record<string, Uint8Array<ArrayBuffer> | string> = {
    "is empty": "",
    "is only white space": " \n",
    "is cut off": '{"a":',
    "has something after its end": "{} {}",
    "holds a comment": "{/* */}",
    "is not UTF-8": new Uint8Array([0x22, 0xff, 0x22]),
    "holds an encoded surrogate": new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]),
    "is NaN": "NaN",
  };
  for (const [name, body] of Object.entries(unreadable)) {
    it(`is 400 bad_json when it ${name}`, async () => {
      const init = { method: "POST", headers: jsonType, body };
      assert.deepEqual(await codeOf(call(handler, "/any", init)), [400, "bad_json"]);
    });
  }

  it("is 400 bad_json when it is absent, with and without a media type", async () => {
    assert.deepEqual(await codeOf(call(handler, "/any", { method: "POST" })), [400, "bad_json"]);
    const typed = { method: "POST", headers: jsonType };
    assert.deepEqual(await codeOf(call(handler, "/any", typed)), [400, "bad_json"]);
  });

  it("is 400 bad_json when it breaks off", async () => {
    const stream = new ReadableStream({ pull: controller => controller.error(new Error("reset")) });
    assert.deepEqual(await codeOf(handler(streamed("/any", stream))), [400, "bad_json"]);
  });

  it("is never quoted in the answer", async () => {
    const init = { method: "POST", headers: jsonType, body: '{"password":"hunter2",,}' };
    assert.doesNotMatch(await (await call(handler, "/any", init)).text(), /hunter2/);
  });

  it("is an error of the host, 500, if the body was read before", async () => {
    const request = new Request("http://platform.test/any", withJson({}));
    await request.text();
    assert.deepEqual(await codeOf(handler(request)), [500, "internal_error"]);
  });

  it("may be absent where the schema is optional", async () => {
    assert.deepEqual(await bodyOf(call(handler, "/optional", { method: "POST" })), { params: {}, query: {} });
    const given = await bodyOf(call(handler, "/optional", withJson({ a: "b" })));
    assert.deepEqual(given.body, { a: "b" });
    assert.equal((await call(handler, "/optional", withJson({ a: 1 }))).status, 400);
  });

  it("is not touched by a route without a body", async () => {
    const source = new Source(forever("x"));
    const deaf = handlerOf([{ method: "POST", path: "/any" }]);
    assert.equal((await deaf(streamed("/any", source.stream))).status, 200);
    assert.equal(source.pulled, 0);
  });
});
