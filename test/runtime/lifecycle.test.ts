/** Lifecycle of the server of every runtime, on real processes and sockets. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, get } from "node:http";
import { connect, type Socket } from "node:net";
import { after, describe, it, type TestContext } from "node:test";
import { type Program, start } from "./processes.ts";
import { fixtureCommand, type Runtime, runtimes } from "./runtimes.ts";

for (const runtime of runtimes) {
  describe(`a server on ${runtime.name}`, { skip: runtime.skip, concurrency: true }, () => addTests(runtime));
}

function addTests(runtime: Runtime): void {
  async function open(
    context: TestContext,
    environment: Record<string, string> = {},
  ): Promise<{ program: Program; url: string }> {
    const program = start(fixtureCommand(runtime), environment);
    context.after(() => program.signal("SIGKILL"));
    const [, url = ""] = await program.match(/listening on (\S+)/);
    return { program, url };
  }

  let shared: Promise<{ program: Program; url: string }> | undefined;
  after(async () => (await shared)?.program.signal("SIGKILL"));

  /** The server of the tests that leave it as it was. */
  function openShared(): Promise<{ program: Program; url: string }> {
    const begin = async (): Promise<{ program: Program; url: string }> => {
      const program = start(fixtureCommand(runtime));
      const [, url = ""] = await program.match(/listening on (\S+)/);
      return { program, url };
    };
    shared ??= begin();
    return shared;
  }

  /** Resolves once the handler has the request. One that fails before says why at once. */
  const isHeld = (program: Program, request: Promise<unknown>) =>
    Promise.race([program.match(/holding/), request]);

  it("passes the address of the peer to the handler", async () => {
    const { url } = await openShared();
    assert.equal(await textOf(`${url}/address`), "127.0.0.1");
  });

  it("answers every one of many requests at once", async () => {
    const { url } = await openShared();
    const answers = await Promise.all(Array.from({ length: 60 }, () => textOf(`${url}/address`)));
    assert.deepEqual(new Set(answers), new Set(["127.0.0.1"]));
  });

  it("finishes a request in flight before it stops, and accepts no other", async context => {
    const { program, url } = await open(context);
    const held = textOf(`${url}/hold`);
    await isHeld(program, held);
    program.signal("SIGTERM");
    await program.match(/stopping/);
    await assert.rejects(fetch(`${url}/address`, { headers: { connection: "close" } }));
    program.stdin.write("release\n");
    assert.equal(await held, "held");
    assert.equal(await program.ended, 0);
    assert.match(program.stdout(), /stopped true/);
  });

  it("lets the clients of kept connections go before it stops: none is reset", async context => {
    const { program, url } = await open(context, { DRAIN_MS: "4000" });
    const clients = Array.from({ length: 32 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const first = await Promise.all(clients.map(agent => connectionOf(`${url}/address`, agent)));
    assert.ok(first.every(connection => connection !== "close"));
    program.signal("SIGTERM");
    await program.match(/stopping/);
    // Sent over the connections that were kept; each answer then says that its connection ends.
    const later = await Promise.all(clients.map(agent => connectionOf(`${url}/address`, agent)));
    assert.deepEqual(new Set(later), new Set(["close"]));
    assert.match(String(await connectionOf(`${url}/address`, new Agent())), /close/);
    assert.equal(await program.ended, 0);
    assert.match(program.stdout(), /stopped true/);
  });

  it("waits for background work before it has stopped", async context => {
    const { program, url } = await open(context);
    assert.equal(await textOf(`${url}/background`), "started");
    program.signal("SIGTERM");
    await program.match(/stopping/);
    program.stdin.write("release\n");
    assert.equal(await program.ended, 0);
    assert.match(program.stdout(), /background work done\nstopped true/);
  });

  it("cuts off what outlives the grace time", async context => {
    const { program, url } = await open(context, { GRACE_MS_MAX: "50" });
    const held = fetch(`${url}/hold`);
    const outcome = assert.rejects(held);
    await isHeld(program, held);
    program.signal("SIGTERM");
    await outcome;
    assert.equal(await program.ended, 0);
    assert.match(program.stdout(), /stopped false/);
  });

  it("refuses requests beyond its limit at once, and takes others later", async context => {
    const { program, url } = await open(context, { CONCURRENT_MAX: "1" });
    const held = textOf(`${url}/hold`);
    await isHeld(program, held);
    const refused = await fetch(`${url}/address`);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.equal(((await refused.json()) as { code: string }).code, "busy");
    program.stdin.write("release\n");
    assert.equal(await held, "held");
    assert.equal(await textOf(`${url}/address`), "127.0.0.1");
  });

  it("reads a body and answers a body that does not arrive", async context => {
    const { url } = await openShared();
    const word = await fetch(`${url}/body`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ word: "größer" }),
    });
    assert.equal(await word.text(), "größer");
    const socket = await dial(url);
    context.after(() => socket.destroy());
    socket.write(
      `POST /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"wor`,
    );
    assert.match(await firstChunk(socket), /^HTTP\/1.1 400 /);
  });

  it("takes a long streamed body in little memory", async context => {
    const { url } = await open(context);
    const chunk = new Uint8Array(1_048_576);
    let left = 256;
    const body = new ReadableStream<Uint8Array>({
      pull: controller => (left-- > 0 ? controller.enqueue(chunk) : controller.close()),
    });
    const headers = { "content-type": "application/octet-stream" };
    const init = { method: "POST", body, headers, duplex: "half" } as RequestInit;
    const [length = 0, growth = 0] = (await (await fetch(`${url}/upload`, init)).text())
      .split(" ")
      .map(Number);
    assert.equal(length, 256 * chunk.length);
    assert.ok(growth <= 128 * 1_048_576, `grew by ${growth} bytes`);
  });

  it("answers a streamed body while it arrives", async context => {
    const { url } = await openShared();
    const socket = await dial(url);
    context.after(() => socket.destroy());
    const head =
      "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked";
    socket.write(`${head}\r\n\r\n5\r\nfirst\r\n`);
    await textFrom(socket, /first/);
    socket.write("6\r\nsecond\r\n0\r\n\r\n");
    await textFrom(socket, /second/);
  });

  it("is routed by its target, whatever the host is", async context => {
    const { url } = await openShared();
    for (const host of ["a/address?", "a/address#", "a\\address?", "a b/address?"]) {
      const socket = await dial(url);
      context.after(() => socket.destroy());
      socket.write(`GET /nothing HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      assert.match(await firstChunk(socket), /^HTTP\/1.1 40[04] /, host);
    }
  });

  it("outlives a handler that rejects", async () => {
    const { url } = await openShared();
    assert.equal((await fetch(`${url}/broken`)).status, 500);
    assert.equal(await textOf(`${url}/address`), "127.0.0.1");
  });

  it("sends the chunks of a stream at once, and cancels it when the client disconnects", async () => {
    const { program, url } = await openShared();
    const leaving = new AbortController();
    const { body } = await fetch(`${url}/listen`, { signal: leaving.signal });
    const reader = body?.getReader();
    assert.equal(new TextDecoder().decode((await reader?.read())?.value), "listening\n");
    leaving.abort();
    await program.match(/gone/);
  });

  it("signals the stop to endless streams, and then stops", async context => {
    const { program, url } = await open(context);
    const reader = (await fetch(`${url}/listen`)).body?.getReader();
    await reader?.read();
    program.signal("SIGTERM");
    assert.equal((await reader?.read())?.done, true);
    assert.equal(await program.ended, 0);
    assert.match(program.stdout(), /stopped true/);
  });

  it("streams a body without a length", async () => {
    const { url } = await openShared();
    const bytes = new Uint8Array(await (await fetch(`${url}/stream`)).arrayBuffer());
    assert.equal(bytes.byteLength, 1_048_576);
    assert.deepEqual([bytes[0], bytes[65_536], bytes.at(-1)], [0, 1, 15]);
  });
}

/** Returns the header field `Connection` of the answer to a request. Rejects where the connection is reset. */
function connectionOf(url: string, agent: Agent): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, response => {
      response.resume().on("end", () => resolve(response.headers.connection));
    }).on("error", reject);
  });
}

async function textOf(url: string): Promise<string> {
  return await (await fetch(url)).text();
}

async function dial(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

/** Reads from a socket until a text has come. */
async function textFrom(socket: Socket, expected: RegExp): Promise<void> {
  let received = "";
  while (!expected.test(received)) received += await firstChunk(socket);
}

async function firstChunk(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return chunk.toString();
}
