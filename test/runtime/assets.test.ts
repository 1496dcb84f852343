/** Large files and equal files on servers that run. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, type TestContext } from "node:test";
import { sampleSize } from "../support/full.ts";
import { postgresAvailable, sharedPostgres } from "../support/postgres.ts";
import { redisAvailable, startRedis } from "../support/redis.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-assets-"));
after(() => rmSync(folder, { recursive: true }));
const [runtime] = runtimes.filter(({ skip }) => skip === false);
const mebibyte = 1_048_576;

interface Server {
  readonly program: Program;
  readonly url: string;
  readonly spaceId: string;
  readonly authorization: string;
}

/** Starts a server with the demo, or one more on the store of another. */
async function serve(
  t: TestContext,
  environment: Readonly<Record<string, string>>,
  first?: Server,
): Promise<Server> {
  assert.ok(runtime !== undefined);
  const file = join(folder, `demo-${process.hrtime.bigint()}.json`);
  const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
  const settings = { GRANDSTAND_PORT: "0", GRANDSTAND_SECRET: secret, ...environment };
  const program = start(
    [...cliCommand(runtime), "serve", ...(first === undefined ? ["--demo"] : [])],
    first === undefined ? { ...settings, GRANDSTAND_DEMO_FILE: file } : settings,
  );
  t.after(() => program.signal("SIGKILL"));
  const [, url = ""] = await program.match(/listens on (\S+)/);
  if (first !== undefined) return { ...first, program, url };
  await program.match(/# 1\. /);
  const { spaceId, operatorToken } = JSON.parse(readFileSync(file, "utf8"));
  return { program, url, spaceId, authorization: `Bearer ${operatorToken}` };
}

async function upload({ url, spaceId, authorization }: Server, body: BodyInit, name = "a.bin") {
  const target = `${url}/api/v2/spaces/${spaceId}/assets?name=${name}`;
  const init = { method: "POST", body, duplex: "half", headers: { authorization } } as RequestInit;
  const response = await fetch(target, init);
  const text = await response.text();
  return { status: response.status, text, data: JSON.parse(text).data };
}

/** Memory of a process in bytes: the present, or the most that it ever had. */
function memoryOf({ pid }: Program, field: "VmRSS" | "VmHWM"): number {
  const [, kilobytes = ""] =
    new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1_024;
}

/** Expects two servers on one store to share files. */
async function assertShared(t: TestContext, environment: Readonly<Record<string, string>>): Promise<void> {
  const first = await serve(t, environment);
  const second = await serve(t, environment, first);
  const same = "the same bytes".repeat(100_000);
  const answers = await Promise.all(
    [first, second, first, second, first, second].map(server => upload(server, same, "same.txt")),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 201]);
  const [{ data } = { data: null }] = answers;
  assert.ok(answers.every(each => each.data.id === data.id));
  const { pathname } = new URL(data.attributes.url);
  for (const { url } of [first, second]) {
    const part = await fetch(`${url}${pathname}`, { headers: { range: "bytes=-5" } });
    assert.deepEqual([part.status, await part.text()], [206, "bytes"]);
  }
  const headers = { authorization: first.authorization };
  const removal = await fetch(`${second.url}/api/v2/assets/${data.id}`, { method: "DELETE", headers });
  assert.equal(removal.status, 204);
  assert.equal((await fetch(`${first.url}${pathname}`)).status, 404);
}

describe("assets of a server", { skip: runtime === undefined ? "nothing is built" : false }, () => {
  it("take a large file in and out in little memory", { skip: process.platform !== "linux" }, async t => {
    const server = await serve(t, { GRANDSTAND_DATA: join(folder, "data"), GRANDSTAND_FSYNC: "never" });
    const warm = await upload(server, "small");
    assert.equal(warm.status, 201, warm.text);
    const chunk = new Uint8Array(mebibyte).fill(7);
    const chunks = sampleSize(1_024, 160);
    const before = memoryOf(server.program, "VmRSS");
    const hash = createHash("sha256");
    let left = chunks;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- === 0) return controller.close();
        hash.update(chunk);
        controller.enqueue(chunk);
      },
    });
    const made = await upload(server, body);
    assert.equal(made.status, 201, made.text);
    const { bytes, sha256, url } = made.data.attributes;
    assert.deepEqual([bytes, sha256], [chunks * mebibyte, hash.digest("hex")]);
    const file = await fetch(`${server.url}${new URL(url).pathname}`);
    let received = 0;
    for await (const part of file.body ?? []) received += part.length;
    assert.equal(received, bytes);
    const grown = memoryOf(server.program, "VmHWM") - before;
    t.diagnostic(`${chunks} MiB in and out: ${Math.round(grown / mebibyte)} MiB more memory`);
    assert.ok(grown <= 64 * mebibyte, `grew by ${grown} bytes`);
  });

  it("are not made of bodies that end early or lie about their length", async t => {
    const server = await serve(t, {});
    const { spaceId, authorization } = server;
    const { hostname, port } = new URL(server.url);
    const head = `POST /api/v2/spaces/${spaceId}/assets?name=a.txt HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n`;
    const bodies = [
      "Content-Length: 1000\r\n\r\nabc",
      "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
      "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
      "Content-Length: -3\r\n\r\nabc",
      "Content-Length: 99999999999999999999\r\n\r\nabc",
    ];
    for (const body of bodies) {
      const socket = connect(Number(port), hostname);
      socket.end(head + body);
      const [answer = ""] = await socket
        .map(String)
        .toArray()
        .catch(() => []);
      assert.doesNotMatch(answer, /^HTTP\/1.1 (2|5)/, body);
    }
    assert.equal((await upload(server, "whole")).status, 201);
    const headers = { authorization };
    const list = await fetch(`${server.url}/api/v2/spaces/${spaceId}/assets?page[number]=1`, { headers });
    assert.equal(((await list.json()) as { meta: { total: number } }).meta.total, 1);
  });

  it("are the same in two processes on Redis, equal files once", { skip: redisAvailable() }, async t => {
    const redis = await startRedis();
    t.after(() => redis.kill());
    await assertShared(t, { GRANDSTAND_REDIS: redis.url });
  });

  it("are the same in two processes on PostgreSQL, equal files once", {
    skip: postgresAvailable(),
  }, async t => {
    const server = await sharedPostgres();
    const url = server.urlOf("postgres", await server.freshDatabase());
    await assertShared(t, { GRANDSTAND_POSTGRES: url });
  });
});
