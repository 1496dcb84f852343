import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { any, optional, string } from "valibot";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { type Handler, stream, streamedBody, type Timer } from "../../../lib/http/mod.ts";
import { idleMsMaxDefault } from "../../../lib/http/requests/body.ts";
import { bodyOf, call, handlerOf, type Sketch } from "./kit.ts";

const bytesMax = 20;
const body = streamedBody({
  description: "The bytes of a file",
  maxBytes: bytesMax,
  mediaTypes: ["text/csv", "application/octet-stream"],
  example: "id\r\n1\r\n",
});
const csv = { "content-type": "text/csv" };

/** Reads all of a body before it answers. */
const reading: Sketch = {
  method: "POST",
  path: "/file",
  body,
  handle: async ({ body }) => {
    let length = 0;
    for await (const chunk of body as ReadableStream<Uint8Array>) length += chunk.byteLength;
    return { status: 200, json: { length } };
  },
};
/** Answers with the body as it comes in. */
const echoing: Sketch = {
  method: "POST",
  path: "/echo",
  body,
  handle: ({ body }) => stream(200, body as ReadableStream<Uint8Array>, csv),
};

/** A body whose chunks a test sends; `taken` counts those that were asked for. */
function sentByHand() {
  let sender: ReadableStreamDefaultController<Uint8Array> | undefined;
  const source = {
    taken: 0,
    cancelled: false,
    stream: new ReadableStream<Uint8Array>(
      {
        start: controller => {
          sender = controller;
        },
        pull: () => void source.taken++,
        cancel: () => {
          source.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    ),
    send: (text: string) => sender?.enqueue(new TextEncoder().encode(text)),
    close: () => sender?.close(),
    fail: () => sender?.error(new Error("reset")),
  };
  return source;
}

function request(path: string, content: ReadableStream | null, headers: Record<string, string> = csv) {
  return new Request(`http://platform.test${path}`, {
    method: "POST",
    body: content,
    headers,
    duplex: "half",
  } as RequestInit);
}

async function refusal(answer: Promise<Response>): Promise<[number, unknown, unknown]> {
  const { status } = await answer;
  const { code, detail } = await bodyOf(answer);
  return [status, code, detail];
}

describe("credentials that end while a body arrives", () => {
  /** A handler whose clock goes on by so much with every chunk, and whose caller is known `times` times. */
  function revoking(times: number, route: Sketch) {
    let [now, checks] = [0, 0];
    const auth = {
      security: [],
      authenticate: () => {
        if (checks++ >= times) throw new AppError("invalid_token", "The token has ended");
        return "somebody";
      },
    };
    const taken: string[] = [];
    const handle: Sketch["handle"] = async ({ body: sent }) => {
      const decoder = new TextDecoder();
      for await (const chunk of sent as ReadableStream<Uint8Array>) taken.push(decoder.decode(chunk));
      return { status: 200, json: {} };
    };
    const handler = handlerOf([{ ...route, auth, handle }], { clock: () => now });
    const send = (stepMs: number, chunks: readonly string[], headers = csv): Promise<Response> => {
      const iterator = chunks.values();
      const stream = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            now += stepMs;
            const { done, value } = iterator.next();
            if (done) controller.close();
            else controller.enqueue(new TextEncoder().encode(value));
          },
        },
        { highWaterMark: 0 },
      );
      return handler(request("/file", stream, headers));
    };
    return { send, taken };
  }

  it("end a slow stream before its next chunk", async () => {
    const { send, taken } = revoking(2, reading);
    assert.equal((await send(1_001, ["a", "b", "c"])).status, 401);
    assert.deepEqual(taken, ["a"]);
  });

  it("end a quick stream before its end", async () => {
    const { send, taken } = revoking(1, reading);
    assert.equal((await send(10, ["a", "b", "c"])).status, 401);
    assert.deepEqual(taken, ["a", "b", "c"]);
  });

  it("refuse a body of JSON that took long to arrive", async () => {
    const json = { "content-type": "application/json" };
    const route: Sketch = { method: "POST", path: "/file", body: { schema: any() } };
    assert.equal((await revoking(1, route).send(1_001, ["{}"], json)).status, 401);
  });
});

describe("a streamed body", () => {
  const handler = handlerOf([reading, echoing]);

  it("is passed on as it arrives, and answered meanwhile", async () => {
    const source = sentByHand();
    const answer = await handler(request("/echo", source.stream));
    assert.equal(source.taken, 0, "nothing is read before the handler asks");
    const reader = answer.body?.getReader();
    for (const text of ["id\r\n", "1\r\n"]) {
      source.send(text);
      assert.equal(new TextDecoder().decode((await reader?.read())?.value), text);
    }
    source.close();
    assert.equal((await reader?.read())?.done, true);
  });

  it("is empty where there is none", async () => {
    assert.deepEqual(await bodyOf(handler(request("/file", null))), { length: 0 });
  });

  it("is cancelled when the reader of the answer leaves", async () => {
    const source = sentByHand();
    const answer = await handler(request("/echo", source.stream));
    await answer.body?.cancel();
    assert.equal(source.cancelled, true);
  });

  it("is of one of the route's media types alone, and not compressed", async () => {
    for (const headers of [
      { "content-type": "application/json" },
      {},
      { ...csv, "content-encoding": "gzip" },
    ]) {
      const source = sentByHand();
      const answer = handler(request("/file", source.stream, headers));
      assert.deepEqual((await refusal(answer)).slice(0, 2), [415, "unsupported_media_type"]);
      assert.equal(source.taken, 0);
    }
  });

  it("ends at the route's bound, declared or counted", async () => {
    const whole = { method: "POST", headers: csv, body: "x".repeat(bytesMax) };
    assert.deepEqual(await bodyOf(call(handler, "/file", whole)), { length: bytesMax });
    const declared = { ...csv, "content-length": "21" };
    assert.equal((await handler(request("/file", sentByHand().stream, declared))).status, 413);
    const source = sentByHand();
    const answer = handler(request("/file", source.stream));
    for (let sent = 0; sent < 3; sent++) source.send("0123456789");
    assert.deepEqual(await refusal(answer), [
      413,
      "payload_too_large",
      "Cannot read the body: it must not exceed 20 bytes",
    ]);
    assert.equal(source.cancelled, true);
  });

  it("that breaks off fails the handler's reading", async () => {
    const source = sentByHand();
    const answer = handler(request("/file", source.stream));
    source.send("id");
    await new Promise(setImmediate);
    source.fail();
    assert.deepEqual(await refusal(answer), [400, "bad_json", "Cannot read the body: it broke off"]);
  });

  it("tells the runtime that it may take longer, unlike other bodies", async () => {
    const expected: string[] = [];
    const info = { expectStream: ({ url }: Request) => void expected.push(new URL(url).pathname) };
    const plain = handlerOf([
      { method: "POST", path: "/plain", body: { schema: optional(string()) } },
      reading,
    ]);
    await plain(request("/plain", null, {}), info);
    await plain(request("/file", null), info);
    assert.deepEqual(expected, ["/file"]);
  });

  it("has no idempotency keys", () => {
    const subject = () => ({ organisationId: "o", caller: "c" });
    assert.throws(() => handlerOf([{ ...reading, idempotent: { subject } }]), TypeError);
  });

  it("is described as binary, with its media types and example", async () => {
    const document = await bodyOf(call(handler, "/openapi.json"));
    const paths = document.paths as Record<string, { post: { requestBody: { content: object } } }>;
    const media = {
      schema: { type: "string", format: "binary", description: "The bytes of a file" },
      example: "id\r\n1\r\n",
    };
    assert.deepEqual(paths["/file"]?.post.requestBody.content, {
      "text/csv": media,
      "application/octet-stream": media,
    });
  });
});

describe("the silence of a client that sends a streamed body", () => {
  /** A timer that is fired by hand, and the delays that are pending. */
  function manualTimer(): { timer: Timer; fire: () => void; pending: () => readonly number[] } {
    const calls = new Map<() => void, number>();
    return {
      fire: () => [...calls.keys()].forEach(callback => void callback()),
      pending: () => [...calls.values()],
      timer: (callback, delayMs) => {
        calls.set(callback, delayMs);
        return () => calls.delete(callback);
      },
    };
  }
  const handlerWith = (timer: Timer): Handler => handlerOf([reading, echoing], { timer });

  it("is 30 s at most, however long the whole takes", async () => {
    const { timer, fire, pending } = manualTimer();
    const source = sentByHand();
    const answer = handlerWith(timer)(request("/file", source.stream));
    for (let sent = 0; sent < 5; sent++) {
      await new Promise(setImmediate);
      assert.deepEqual(pending(), [idleMsMaxDefault]);
      source.send("x");
    }
    await new Promise(setImmediate);
    fire();
    assert.deepEqual(await refusal(answer), [
      400,
      "bad_json",
      "Cannot read the body: nothing of it arrived for 30 seconds",
    ]);
    assert.equal(source.cancelled, true);
  });

  it("is not measured while the handler works", async () => {
    const { timer, pending } = manualTimer();
    const source = sentByHand();
    const answer = await handlerWith(timer)(request("/echo", source.stream));
    source.send("x");
    const reader = answer.body?.getReader();
    await reader?.read();
    assert.deepEqual(pending(), []);
  });
});
