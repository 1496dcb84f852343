import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { after, describe, it } from "node:test";
import { blobsConformance } from "../../../adapters/conformance/mod.ts";
import { createS3Blobs, type S3BlobsOptions } from "../../../adapters/s3/mod.ts";
import {
  partBytes,
  s3AttemptsMax,
  s3FirstPauseMsMax,
  s3SilenceMsMax,
} from "../../../adapters/s3/requests.ts";
import type { Blobs } from "../../../lib/storage/mod.ts";
import { bucketNames, s3Available, sharedS3, stopS3 } from "../../support/s3.ts";
import { streamOf } from "../streams.ts";

let prefixes = 0;

/** Pauses that end at once, and a service that is never thought to be silent. */
function atOnce(ms: number, act: () => void): () => void {
  if (ms !== s3SilenceMsMax) act();
  return () => {};
}

async function bucket(): Promise<S3BlobsOptions> {
  prefixes += 1;
  return { ...(await sharedS3()), prefix: `t${prefixes}/`, after: atOnce };
}

async function bytesOf(found: { readonly body: ReadableStream<Uint8Array> } | null): Promise<Buffer> {
  assert.ok(found !== null);
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Sends what the test decides in place of, or before, what the service would answer. */
function intercepted(
  options: S3BlobsOptions,
  answer: (url: URL, init: RequestInit, send: () => Promise<Response>) => Promise<Response>,
): S3BlobsOptions {
  return { ...options, fetch: (url, init) => answer(new URL(url), init, () => fetch(url, init)) };
}

/** A request that stays without an answer until it is aborted. */
function forever(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")));
  });
}

function attempts(blobs: Blobs): (() => Promise<unknown>)[] {
  return [() => blobs.get("a"), () => blobs.put("a", streamOf()), () => blobs.remove("a")];
}

/** Names beyond what a file may be called; the server of the tests keeps each object in a file. */
const tooLongForTheServer = "the longest name works and one character more does not";

describe("blobs on S3", { skip: s3Available() }, () => {
  after(stopS3);

  blobsConformance({
    describe,
    it: (name, body) =>
      it(name, { skip: name === tooLongForTheServer && "the server has no such names" }, body),
    async factory() {
      const options = await bucket();
      return { blobs: createS3Blobs(options), peer: createS3Blobs(options), dispose() {} };
    },
  });

  it("are sent whole up to the size of a part, with their length and digest, and in parts beyond", async () => {
    const options = await bucket();
    const sent: string[] = [];
    const watched = intercepted(options, async ({ search }, { method, headers, body }, send) => {
      const length = body instanceof Uint8Array ? body.length : 0;
      const digest = new Headers(headers).get("x-amz-content-sha256");
      assert.match(digest ?? "", /^[0-9a-f]{64}$/);
      sent.push(
        `${method} ${search.replace(/uploadId=[^&]+/, "uploadId")} ${method === "PUT" ? length : ""}`,
      );
      return await send();
    });
    const blobs = createS3Blobs(watched);
    for (const size of [partBytes - 1, partBytes, partBytes * 2 + 5]) {
      sent.length = 0;
      const bytes = randomBytes(size);
      assert.deepEqual(await blobs.put("large", streamOf(bytes.subarray(0, 7), bytes.subarray(7))), { size });
      const parts = Array.from({ length: Math.ceil(size / partBytes) }, (_, index) => {
        const length = Math.min(partBytes, size - index * partBytes);
        return `PUT ?partNumber=${index + 1}&uploadId ${length}`;
      });
      const expected = size < partBytes ? [`PUT  ${size}`] : ["POST ?uploads= ", ...parts, "POST ?uploadId "];
      assert.deepEqual(sent, expected);
      assert.ok((await bytesOf(await blobs.get("large"))).equals(bytes));
    }
  });

  it("show nothing of an upload whose source breaks, and make the service forget its parts", async () => {
    const sent: string[] = [];
    const options = intercepted(await bucket(), async ({ search }, { method }, send) => {
      sent.push(`${method} ${search.split("=")[0]}`);
      return await send();
    });
    const blobs = createS3Blobs(options);
    let pulls = 0;
    const breaking = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls += 1;
        if (pulls <= 3) controller.enqueue(new Uint8Array(partBytes));
        else controller.error(new Error("the source broke"));
      },
    });
    await assert.rejects(blobs.put("a", breaking), /the source broke/);
    assert.deepEqual([sent[0], sent.at(-1)], ["POST ?uploads", "DELETE ?uploadId"]);
    assert.equal(await blobs.get("a"), null);
  });

  it("are reached by the bucket's own host as well", async () => {
    const options = await bucket();
    const byHost = intercepted({ ...options, style: "virtual" }, async (url, init) => {
      // Names below localhost are not resolved everywhere: the connection goes to the server, the Host stays.
      assert.equal(url.hostname, `${options.bucket}.s3.localhost`);
      assert.equal(url.pathname.startsWith(`/${options.bucket}/`), false);
      return await fetchByHost(url, init);
    });
    const endpoint = options.endpoint.replace("127.0.0.1", "s3.localhost");
    const blobs = createS3Blobs({ ...byHost, endpoint });
    await blobs.put("a/b", streamOf(Uint8Array.of(1, 2, 3)));
    assert.deepEqual([...(await bytesOf(await createS3Blobs(options).get("a/b")))], [1, 2, 3]);
    assert.deepEqual([...(await bytesOf(await blobs.get("a/b", { start: 1 })))], [2, 3]);
  });

  it("are retried while the service is busy or silent, with growing pauses and a limit", async () => {
    for (const failure of ["503", "429", "lost"]) {
      const pauses: number[] = [];
      let failing = s3AttemptsMax - 1;
      const options = intercepted(await bucket(), async (_url, _init, send) => {
        failing -= 1;
        if (failing < 0) return await send();
        if (failure === "lost") throw new TypeError("fetch failed");
        return new Response("<Error><Code>SlowDown</Code></Error>", { status: Number(failure) });
      });
      const blobs = createS3Blobs({
        ...options,
        random: () => 1,
        after(ms, act) {
          if (ms !== s3SilenceMsMax) pauses.push(ms);
          return atOnce(ms, act);
        },
      });
      await blobs.put("a", streamOf(Uint8Array.of(1)));
      assert.deepEqual(pauses, [s3FirstPauseMsMax, s3FirstPauseMsMax * 2, s3FirstPauseMsMax * 4]);
      failing = s3AttemptsMax;
      const code = failure === "lost" ? "outcome_unknown" : "storage_unavailable";
      await assert.rejects(blobs.put("a", streamOf(Uint8Array.of(2))), { code });
      failing = s3AttemptsMax;
      await assert.rejects(blobs.get("a"), { code: "storage_unavailable" });
      failing = 0;
      assert.deepEqual([...(await bytesOf(await blobs.get("a")))], [1]);
    }
  });

  it("distinguish a refusal and a missing bucket from a missing blob", async () => {
    const options = await bucket();
    const answer = "<Error><Code>SignatureDoesNotMatch</Code></Error>";
    const refusing = createS3Blobs(intercepted(options, async () => new Response(answer, { status: 403 })));
    for (const attempt of attempts(refusing)) {
      await assert.rejects(attempt, { code: "internal_error", message: /403 SignatureDoesNotMatch/ });
    }
    const nowhere = createS3Blobs({ ...options, bucket: "not-there" });
    for (const attempt of attempts(nowhere)) {
      await assert.rejects(attempt, { code: "internal_error", message: /404 NoSuchBucket/ });
    }
    assert.equal(await createS3Blobs(options).get("a"), null);
  });

  it("are signed as the protocol has it, at the time of the clock", async () => {
    const options = { ...(await bucket()), region: "eu-1", sessionToken: "temporary" };
    // Within what the service thinks of as now.
    const now = Date.now() - 60_000;
    let checked = 0;
    const blobs = createS3Blobs(
      intercepted({ ...options, clock: () => now }, async (url, init, send) => {
        const headers = new Headers(init.headers);
        const time = new Date(now).toISOString().replace(/[-:]/g, "").replace(/\.\d+/, "");
        assert.equal(headers.get("x-amz-date"), time);
        assert.equal(headers.get("x-amz-security-token"), "temporary");
        assert.equal(headers.get("authorization"), authorization(url, init, options));
        checked += 1;
        return await send();
      }),
    );
    await blobs.put("a/b-c_d.e", streamOf(new Uint8Array(partBytes), Uint8Array.of(1)));
    await bytesOf(await blobs.get("a/b-c_d.e", { start: 1, end: 5 }));
    await blobs.get("a/b-c_d.e", { start: 5, end: 5 });
    await blobs.remove("a/b-c_d.e");
    assert.equal(checked, 7);
  });

  it("stay in their bucket and under their prefix", async () => {
    const options = await bucket();
    await createS3Blobs(options).put("a", streamOf(Uint8Array.of(1)));
    assert.equal(await createS3Blobs({ ...options, bucket: bucketNames[1] }).get("a"), null);
    assert.equal(await createS3Blobs({ ...options, prefix: "" }).get("a"), null);
    assert.deepEqual(
      [...(await bytesOf(await createS3Blobs({ ...options, prefix: "" }).get(`${options.prefix}a`)))],
      [1],
    );
  });

  it("fail reads of a body that ends early or whose connection is lost", async () => {
    const options = await bucket();
    await createS3Blobs(options).put("a", streamOf(new Uint8Array(10)));
    const headers = { "content-length": "10" };
    const bodies = {
      early: () => streamOf(new Uint8Array(4)),
      lost: () => new ReadableStream({ start: controller => controller.error(new TypeError("terminated")) }),
    };
    for (const [how, body] of Object.entries(bodies)) {
      const cut = intercepted(options, async () => new Response(body(), { headers }));
      const found = await createS3Blobs(cut).get("a");
      await assert.rejects(bytesOf(found), { code: "storage_unavailable" }, how);
    }
  });

  it("give up a service that neither answers nor continues", async () => {
    const options = await bucket();
    await createS3Blobs(options).put("a", streamOf(new Uint8Array(10)));
    const waits: number[] = [];
    /** Every wait is over at once. */
    function after(ms: number, act: () => void): () => void {
      waits.push(ms);
      queueMicrotask(act);
      return () => {};
    }
    const silent = intercepted({ ...options, random: () => 0, after }, (_url, { signal }) => forever(signal));
    await assert.rejects(createS3Blobs(silent).get("a"), { code: "storage_unavailable" });
    assert.equal(waits.filter(ms => ms === s3SilenceMsMax).length, s3AttemptsMax);
    await assert.rejects(createS3Blobs(silent).remove("a"), { code: "outcome_unknown" });
    let isAnswered = false;
    const stuck = intercepted(
      { ...options, after: (ms, act) => (isAnswered ? after(ms, act) : () => {}) },
      async (_url, { signal }) => {
        isAnswered = true;
        const body = new ReadableStream({ pull: () => forever(signal) });
        return new Response(body, { headers: { "content-length": "10" } });
      },
    );
    await assert.rejects(bytesOf(await createS3Blobs(stuck).get("a")), { code: "storage_unavailable" });
  });

  it("never say that an upload is complete when the service only began to say so", async () => {
    const blobs = createS3Blobs(
      intercepted(await bucket(), async ({ searchParams }, { method }, send) => {
        const isCompletion = method === "POST" && searchParams.has("uploadId");
        return isCompletion ? new Response("<Error><Code>InternalError</Code></Error>") : await send();
      }),
    );
    const attempt = blobs.put("a", streamOf(new Uint8Array(partBytes)));
    await assert.rejects(attempt, { code: "storage_unavailable" });
    assert.equal(await blobs.get("a"), null);
  });

  it("need an endpoint that is the address of a service", () => {
    const options = { bucket: "b", accessKeyId: "a", secretAccessKey: "s" };
    for (const endpoint of [
      "",
      "s3.example.org",
      "ftp://h",
      "https://h/path",
      "https://a:b@h",
      "https://h?x",
    ]) {
      assert.throws(() => createS3Blobs({ ...options, endpoint }), TypeError, endpoint);
    }
  });
});

/**
 * The header that signs a request, as Signature Version 4 describes it for S3.
 *
 * Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
function authorization(url: URL, init: RequestInit, { region = "", ...options }: S3BlobsOptions): string {
  const headers = new Headers(init.headers);
  const given = headers.get("authorization") ?? "";
  const signed = (/SignedHeaders=([^,]+)/.exec(given)?.[1] ?? "").split(";");
  for (const needed of ["host", "x-amz-content-sha256", "x-amz-date"]) assert.ok(signed.includes(needed));
  const digest = createHash("sha256")
    .update((init.body ?? "") as Uint8Array)
    .digest("hex");
  const canonical = [
    init.method,
    url.pathname,
    [...url.searchParams]
      .map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
      .sort()
      .join("&"),
    ...signed.map(name => `${name}:${name === "host" ? url.host : headers.get(name)}`),
    "",
    signed.join(";"),
    digest,
  ].join("\n");
  const time = headers.get("x-amz-date") ?? "";
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const hashed = createHash("sha256").update(canonical).digest("hex");
  const key = scope
    .split("/")
    .reduce<string | Buffer>(
      (from, part) => createHmac("sha256", from).update(part).digest(),
      `AWS4${options.secretAccessKey}`,
    );
  const signature = createHmac("sha256", key)
    .update(["AWS4-HMAC-SHA256", time, scope, hashed].join("\n"))
    .digest("hex");
  return `AWS4-HMAC-SHA256 Credential=${options.accessKeyId}/${scope}, SignedHeaders=${signed.join(";")}, Signature=${signature}`;
}

/** Connects to the loopback interface for any host below localhost. */
async function fetchByHost(url: URL, init: RequestInit): Promise<Response> {
  const { request } = await import("node:http");
  const { Readable } = await import("node:stream");
  return await new Promise((resolve, reject) => {
    const headers = { ...Object.fromEntries(new Headers(init.headers)), host: url.host };
    const path = url.pathname + url.search;
    const sent = request(
      { host: "127.0.0.1", port: url.port, method: init.method, path, headers },
      answer => {
        const body = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
        const fields = Object.entries(answer.headers).map(
          ([name, value]) => [name, String(value)] as [string, string],
        );
        const { statusCode: status = 500 } = answer;
        resolve(new Response(status === 204 ? null : body, { status, headers: fields }));
      },
    );
    sent.on("error", reject).end(init.body);
  });
}
