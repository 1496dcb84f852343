/** Reading addresses that callers name, against a real HTTP server. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  createOutbound,
  type HostAddress,
  OutboundError,
  type OutboundFault,
  type OutboundOptions,
} from "../../../adapters/outbound/mod.ts";
import { readText } from "../../../lib/base/outbound/outbound.ts";

const posted = {
  body: '{"é":1}',
  headers: { "content-type": "application/json", "user-agent": "Test/1.0", "accept-encoding": "gzip" },
  msMax: 10_000,
  bytesMax: 100_000,
};
const request = { accept: "application/json", userAgent: "Test/1.0", msMax: 10_000 };

describe("reading addresses", { timeout: 30_000 }, () => {
  let server: Server;
  let base: string;
  const received: IncomingMessage[] = [];
  let answer: (response: ServerResponse, path: string) => void;

  before(async () => {
    server = createServer((incoming, response) => {
      received.push(incoming);
      answer(response, incoming.url ?? "");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    base = `http://127.0.0.1:${address.port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
    answer = response => response.end("{}");
  });

  const here = (options: OutboundOptions = {}) => createOutbound({ networks: ["127.0.0.0/8"], ...options });
  const resolvedTo =
    (...addresses: string[]) =>
    async (): Promise<HostAddress[]> =>
      addresses.map(address => ({ address, family: address.includes(":") ? 6 : 4 }));

  async function fails(work: Promise<unknown>, fault: OutboundFault): Promise<void> {
    await assert.rejects(work, (error: unknown) => {
      assert.ok(error instanceof OutboundError, String(error));
      assert.equal(error.fault, fault, error.message);
      assert.ok(!error.message.includes("127.0.0.1"));
      return true;
    });
  }

  it("answers status, type and body, and says who asks", async () => {
    answer = response =>
      response.writeHead(404, { "content-type": "Application/JSON; charset=utf-8" }).end('{"é":1}');
    const found = await here().get({ ...request, url: `${base}/spec.json` });
    assert.deepEqual([found.status, found.mediaType], [404, "application/json"]);
    assert.equal(await readText(found, 100), '{"é":1}');
    assert.equal(received[0]?.headers["user-agent"], "Test/1.0");
    assert.equal(received[0]?.headers["accept-encoding"], "identity");
  });

  it("connects to nothing that is not public", async () => {
    const addresses = [
      ...["127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"],
      ...["::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "fe80::1", "fc00::1", "fd00:ec2::254"],
      ...["64:ff9b::a00:1", "2002:a00:1::"],
    ];
    for (const address of addresses) {
      const host = address.includes(":") ? `[${address}]` : address;
      await fails(createOutbound().get({ ...request, url: `https://${host}/spec.json` }), "address");
      await fails(createOutbound().post({ ...posted, url: `https://${host}/` }), "address");
      const named = createOutbound({ resolve: resolvedTo("93.184.215.14", address) });
      await fails(named.get({ ...request, url: "https://apps.example/spec.json" }), "address");
      await fails(named.post({ ...posted, url: "https://apps.example/" }), "address");
    }
    for (const host of ["2130706433", "0x7f.1", "localhost", "017700000001"]) {
      await fails(createOutbound().get({ ...request, url: `https://${host}/` }), "address");
      await fails(createOutbound().post({ ...posted, url: `https://${host}/` }), "address");
    }
    await fails(createOutbound().post({ ...posted, url: `${base}/` }), "address");
    await fails(
      here({ resolve: resolvedTo("93.184.215.14") }).post({ ...posted, url: "http://apps.example/" }),
      "address",
    );
    await fails(createOutbound().get({ ...request, url: `${base}/` }), "address");
    await fails(
      here({ resolve: resolvedTo("93.184.215.14") }).get({ ...request, url: "http://apps.example/" }),
      "address",
    );
    for (const url of [
      "file:///etc/passwd",
      "ftp://apps.example/",
      "spec.json",
      "https://a:b@apps.example/",
    ]) {
      await fails(here().get({ ...request, url }), "url");
      await fails(here().post({ ...posted, url }), "url");
    }
    assert.equal(received.length, 0);
  });

  it("connects to the checked address, even if the name leads elsewhere by then", async () => {
    let asked = 0;
    const resolve = async (): Promise<HostAddress[]> => {
      asked += 1;
      return asked === 1 ? [{ address: "127.0.0.1", family: 4 }] : [{ address: "10.0.0.1", family: 4 }];
    };
    const url = base.replace("127.0.0.1", "rebinding.invalid");
    assert.equal((await here({ resolve }).get({ ...request, url })).status, 200);
    assert.equal(asked, 1);
    assert.equal(received.length, 1);
    // The next request does not use the connection of the first one.
    await fails(here({ resolve }).get({ ...request, url }), "address");
    assert.equal(received.length, 1);
  });

  it("posts over a connection of its own to the checked address", async () => {
    let asked = 0;
    const resolve = async (): Promise<HostAddress[]> => {
      asked += 1;
      return [{ address: asked === 1 ? "127.0.0.1" : "10.0.0.1", family: 4 }];
    };
    let body = "";
    answer = response => {
      const { headers, method } = received[0] ?? assert.fail();
      body = `${method} ${headers["content-length"]} ${headers["user-agent"]} ${headers["accept-encoding"]}`;
      response.writeHead(429, {
        "content-type": "application/problem+json; x",
        "retry-after": "5",
        "set-cookie": "a=b",
      });
      response.end(body);
    };
    const outbound = here({ resolve });
    const url = base.replace("127.0.0.1", "rebinding.invalid");
    assert.deepEqual(await outbound.post({ ...posted, url }), {
      status: 429,
      mediaType: "application/problem+json",
      retryAfterMs: 5_000,
      text: body,
    });
    assert.equal(body, "POST 8 Test/1.0 identity");
    await fails(outbound.post({ ...posted, url }), "address");
    assert.equal(received.length, 1);
    const again = here({ resolve: resolvedTo("127.0.0.1") });
    await again.post({ ...posted, url });
    await again.post({ ...posted, url });
    assert.equal(new Set(received.map(({ socket }) => socket)).size, 3);
  });

  it("follows no redirect of a post, and ends its long, slow, encoded and broken answers", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      answer = response => response.writeHead(status, { location: `${base}/other` }).end();
      await fails(here().post({ ...posted, url: base }), "redirects");
    }
    assert.equal(received.length, 5);
    const closed: Promise<unknown>[] = [];
    answer = response => {
      closed.push(once(response, "close"));
      const pump = (): void => {
        while (!response.destroyed && response.write("x".repeat(1_024)));
      };
      response.on("drain", pump);
      pump();
    };
    await fails(here().post({ ...posted, url: base }), "bytes");
    await Promise.all(closed);
    answer = response => response.writeHead(200, { "content-length": "2000000" }).write("x");
    await fails(here().post({ ...posted, url: base }), "bytes");
    answer = response => {
      response.writeHead(200, { "content-length": "10" }).write("x");
      setImmediate(() => response.destroy());
    };
    await fails(here().post({ ...posted, url: base }), "connection");
    answer = response => response.end(Buffer.from([0xc3, 0x28]));
    await fails(here().post({ ...posted, url: base }), "text");
    answer = response => response.writeHead(200, { "content-encoding": "gzip" }).end();
    await fails(here().post({ ...posted, url: base }), "text");
    for (const begin of [() => {}, (response: ServerResponse) => response.writeHead(200).write("begun")]) {
      const limit = new AbortController();
      answer = response => {
        begin(response);
        setImmediate(() => limit.abort());
      };
      await fails(here({ timeout: () => limit.signal }).post({ ...posted, url: base }), "time");
    }
    await fails(here().post({ ...posted, url: "http://127.0.0.1:1/" }), "connection");
  });

  it("follows three redirects, each to a checked address", async () => {
    answer = (response, path) => {
      const left = Number(path.slice(1));
      if (left === 0) response.end("{}");
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    };
    const found = await here().get({ ...request, url: `${base}/3` });
    assert.deepEqual([found.status, found.url], [200, `${base}/0`]);
    await fails(here().get({ ...request, url: `${base}/4` }), "redirects");
    for (const location of [
      "http://169.254.169.254/latest/meta-data",
      "http://10.0.0.1/",
      "https://[::1]/",
    ]) {
      answer = response => response.writeHead(307, { location }).end();
      await fails(here().get({ ...request, url: base }), "address");
    }
    answer = response => response.writeHead(301, { location: "file:///etc/passwd" }).end();
    await fails(here().get({ ...request, url: base }), "url");
  });

  it("ends long, endless, slow and broken answers", async () => {
    const closed: Promise<unknown>[] = [];
    answer = response => {
      closed.push(once(response, "close"));
      const pump = (): void => {
        while (!response.destroyed && response.write("x".repeat(1_024)));
      };
      response.on("drain", pump);
      pump();
    };
    await fails(
      here()
        .get({ ...request, url: base })
        .then(found => readText(found, 100_000)),
      "bytes",
    );
    await Promise.all(closed);
    answer = response => response.writeHead(200, { "content-length": "2000000" }).write("x");
    await fails(
      here()
        .get({ ...request, url: base })
        .then(found => readText(found, 1_000_000)),
      "bytes",
    );
    answer = response => {
      response.writeHead(200, { "content-length": "10" }).write("x");
      setImmediate(() => response.destroy());
    };
    await fails(
      here()
        .get({ ...request, url: base })
        .then(found => readText(found, 100)),
      "connection",
    );
    answer = response => response.end(Buffer.from([0xc3, 0x28]));
    await fails(
      here()
        .get({ ...request, url: base })
        .then(found => readText(found, 100)),
      "text",
    );
    answer = response => response.writeHead(200, { "content-encoding": "gzip" }).end();
    await fails(here().get({ ...request, url: base }), "text");
    const limit = new AbortController();
    answer = () => limit.abort();
    await fails(here({ timeout: () => limit.signal }).get({ ...request, url: base }), "time");
    const slow = new AbortController();
    answer = response => response.writeHead(200).write("begun, never ended");
    const begun = await here({ timeout: () => slow.signal }).get({ ...request, url: base });
    slow.abort();
    await fails(readText(begun, 100), "connection");
    await fails(here().get({ ...request, url: "http://127.0.0.1:1/" }), "connection");
  });
});
