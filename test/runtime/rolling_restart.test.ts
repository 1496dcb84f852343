/** An upgrade under load: two servers restart one after the other behind a balancer, and no request fails. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { databases } from "../support/databases.ts";
import { freePort } from "../support/free_port.ts";
import { until } from "../support/until.ts";
import { type Program, start } from "./processes.ts";
import { builtPackage } from "./runtimes.ts";

/** Every share is a point. */
const loyalty = {
  metrics: [{ id: "points", title: "Points" }],
  actions: [{ name: "share", clientReportable: true }],
  rules: [
    {
      id: "share",
      trigger: { action: "share" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
    },
  ],
};
const fanCount = 8;
/** Answers of every fan between two steps of the upgrade. */
const answersBetween = 5;

interface Server {
  readonly port: number;
  readonly agent: Agent;
  program: Program;
  isReady: boolean;
}

interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly token?: string;
  readonly body?: unknown;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Two servers behind a balancer that asks `/readyz` and repeats nothing. */
class Balanced {
  readonly servers: readonly Server[];
  readonly #start: (port: number) => Program;
  #next = 0;
  #isStopped = false;

  constructor(ports: readonly number[], start: (port: number) => Program) {
    this.#start = start;
    this.servers = ports.map(port => ({
      ...{ port, agent: new Agent({ keepAlive: true }), program: start(port), isReady: false },
    }));
    for (const server of this.servers) void this.#watch(server);
  }

  /** Resolves with the answer of the next ready server. Rejects where the connection is refused or reset. */
  async call(call: Call): Promise<Answer> {
    const ready = this.servers.filter(({ isReady }) => isReady);
    const server = ready[this.#next++ % ready.length];
    if (server === undefined) throw new Error("No server is ready");
    return await send(server, call);
  }

  async ready(server: Server): Promise<void> {
    await server.program.match(/listens on/);
    await until(`the server on port ${server.port} is ready`, () => server.isReady);
  }

  /** Stops a server as operators do, and starts it again. */
  async restart(server: Server): Promise<void> {
    server.program.signal("SIGTERM");
    assert.equal(await server.program.ended, 0, server.program.stderr());
    assert.equal(server.isReady, false);
    server.program = this.#start(server.port);
    await this.ready(server);
  }

  stop(): void {
    this.#isStopped = true;
    for (const { agent } of this.servers) agent.destroy();
  }

  async #watch(server: Server): Promise<void> {
    while (!this.#isStopped) {
      const call: Call = { method: "GET", path: "/readyz" };
      const status = await send({ ...server, agent: new Agent() }, call).then(
        answer => answer.status,
        () => 0,
      );
      server.isReady = status === 200;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }
}

function send({ port, agent }: Server, { method, path, token, body }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    const sent = request({ host: "127.0.0.1", port, agent, method, path, headers }, response => {
      let text = "";
      response.on("data", chunk => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** A fan who acts and reads, one request after the other. */
class Fan {
  answers = 0;
  acted = 0;
  readonly #call: (call: Call) => Promise<Answer>;
  readonly #demo: Demo;
  readonly #token: string;

  private constructor(call: Fan["call"], demo: Demo, token: string) {
    this.#call = call;
    this.#demo = demo;
    this.#token = token;
  }

  static async register(call: Fan["call"], demo: Demo, username: string): Promise<Fan> {
    const { projectId } = demo;
    const body = { projectId, strategy: "simplified", provider: "noLogin", data: { username } };
    const { data: record } = JSON.parse((await call({ method: "POST", path: "/v1/user", body })).text);
    const path = "/api/auth/token";
    const issued = await call({ method: "POST", path, body: { type: "sessionRecord", projectId, record } });
    return new Fan(call, demo, JSON.parse(issued.text).data.accessToken);
  }

  /** Acts and reads until it shall end. @throws {Error} A request fails. */
  async play(goesOn: () => boolean): Promise<void> {
    const reads = [`/projects/${this.#demo.projectId}/leaderboards/overall`, "/api/loyalty/profile"];
    while (goesOn()) {
      const body = { action: "share", actionId: `share-${this.acted}` };
      await this.call({ method: "POST", path: "/api/loyalty/action", body });
      this.acted += 1;
      for (const path of reads) await this.call({ method: "GET", path });
    }
  }

  async points(): Promise<unknown> {
    const { text } = await this.call({ method: "GET", path: "/api/loyalty/profile" });
    return JSON.parse(text).data.metrics.points;
  }

  async call(call: Call): Promise<Answer> {
    const answer = await this.#call({ ...call, token: this.#token });
    if (answer.status >= 400) throw new Error(`${call.path}: ${answer.status} ${answer.text}`);
    this.answers += 1;
    return answer;
  }
}

for (const { name, setting, skip, empty } of databases) {
  describe(`two servers on one ${name} that restart one after the other`, { skip }, () => {
    it("fail no request, and lose or double no effect", async context => {
      const { balanced, demo } = await open(context, { [setting]: await empty() });
      const call = (each: Call): Promise<Answer> => balanced.call(each);
      const fans = await Promise.all(
        Array.from({ length: fanCount }, (_, index) => Fan.register(call, demo, `Fan ${index}`)),
      );
      let isOver = false;
      const playing = Promise.all(fans.map(fan => fan.play(() => !isOver)));
      // A failure ends the test at once.
      const failed = playing.then(() => new Promise<never>(() => {}));
      await Promise.race([failed, upgrade(balanced, fans)]);
      isOver = true;
      await playing;
      assert.deepEqual(
        await Promise.all(fans.map(fan => fan.points())),
        fans.map(({ acted }) => acted),
      );
    });
  });
}

/** Restarts the servers. Before and after each, every fan has been answered some more. */
async function upgrade(balanced: Balanced, fans: readonly Fan[]): Promise<void> {
  const goOn = async (): Promise<void> => {
    const aims = fans.map(({ answers }) => answers + answersBetween);
    await until("every fan was answered", () => fans.every(({ answers }, i) => answers >= (aims[i] ?? 0)));
  };
  for (const server of balanced.servers) {
    await goOn();
    await balanced.restart(server);
  }
  await goOn();
}

async function open(
  context: TestContext,
  database: Readonly<Record<string, string>>,
): Promise<{ readonly balanced: Balanced; readonly demo: Demo }> {
  const folder = mkdtempSync(join(tmpdir(), "grandstand-rolling-"));
  const file = join(folder, "demo.json");
  writeFileSync(join(folder, "loyalty.json"), JSON.stringify(loyalty));
  const environment = {
    GRANDSTAND_LOYALTY: join(folder, "loyalty.json"),
    ...database,
    GRANDSTAND_SECRET: "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ",
    GRANDSTAND_DRAIN: "1",
    GRANDSTAND_RATE_LIMITS: "off",
  };
  const cli = `${builtPackage()}/runtime/cli.js`;
  const [first = 0, second = 0] = [await freePort(), await freePort()];
  const startServer = (port: number): Program => {
    const demoFile = port === first ? ["--demo-file", file] : [];
    const args = ["serve", "--demo", "--port", String(port), "--log", "warn", ...demoFile];
    return start([process.execPath, cli, ...args], environment);
  };
  const balanced = new Balanced([first, second], startServer);
  context.after(async () => {
    balanced.stop();
    for (const { program } of balanced.servers) program.signal("SIGKILL");
    rmSync(folder, { recursive: true });
  });
  for (const server of balanced.servers) await balanced.ready(server);
  return { balanced, demo: JSON.parse(readFileSync(file, "utf8")) as Demo };
}
