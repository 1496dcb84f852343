/** The reckoning: what clients had acknowledged against boards, ledgers and an export. */

import { setTimeout as wait } from "node:timers/promises";
import { nativeExportKernels } from "../../../adapters/native/mod.ts";
import { decryptExport } from "../../../lib/fans/exports/file/mod.ts";
import type { Demo } from "../../../lib/mod.ts";
import type { Answered, Balancer } from "./client.ts";
import { type Crowd, expectedPoints, keyHeaders } from "./fans.ts";

const base = "/v1/api/audience/internal";
/** Users of one request to a board. */
const includeMax = 100;
/** Fans whose ledgers are proved. */
const provedMax = 500;
/** Requests at a time. */
const width = 16;

/** The outcome. */
export interface Reckoning {
  readonly fans: number;
  readonly expectedPoints: number;
  readonly exportedPoints: number;
  /** Faults in words; none: nothing was lost and nothing doubled. */
  readonly faults: readonly string[];
  readonly provedLedgers: number;
}

/** Reads with the rights of the back end. */
export class Auditor {
  readonly #demo: Demo;
  readonly #balancer: Balancer;

  constructor(demo: Demo, balancer: Balancer) {
    this.#demo = demo;
    this.#balancer = balancer;
  }

  /** Requests an export of every user, and resolves with points by user id once the file is read. */
  async exportPoints(): Promise<{ readonly points: Map<string, number>; readonly ms: number }> {
    const startedAt = performance.now();
    const requested = await this.#call("POST", `${base}/users/export`, {
      format: "csv",
      encrypt: true,
      fields: ["userId", "metrics.points"],
    });
    const { exportId } = JSON.parse(requested.text).data;
    for (;;) {
      const { data } = JSON.parse((await this.#call("GET", `${base}/exports/${exportId}`)).text);
      if (data.status === "failed") throw new Error(`The export failed: ${JSON.stringify(data.error)}`);
      if (data.status === "completed") {
        const points = await this.#read(data.downloadUrl ?? data.url, data.password);
        return { points, ms: performance.now() - startedAt };
      }
      await wait(500);
    }
  }

  /** Compares everything. */
  async reckon(crowd: Crowd): Promise<Reckoning> {
    const fans = crowd.fans.filter(fan => fan !== undefined && fan.waiting === null) as NonNullable<
      Crowd["fans"][number]
    >[];
    const faults: string[] = [...crowd.failures];
    const { points } = await this.exportPoints();
    const total = { expected: 0, exported: 0 };
    const known = new Set(fans.map(({ userId }) => userId));
    for (const fan of fans) {
      const [expected, exported] = [expectedPoints(fan), points.get(fan.userId)];
      total.expected += expected;
      total.exported += exported ?? 0;
      if (exported !== expected) faults.push(`${fan.userId}: ${exported} points exported for ${expected}`);
    }
    // An account whose answer was lost is made again: the first one is there and has nothing.
    for (const [userId, count] of points) {
      if (!known.has(userId) && count !== 0) faults.push(`${userId} has ${count} points and is no fan`);
    }
    faults.push(...(await this.#compareBoard(fans)), ...(await this.#proveLedgers(fans)));
    return {
      fans: fans.length,
      expectedPoints: total.expected,
      exportedPoints: total.exported,
      faults,
      provedLedgers: Math.min(fans.length, provedMax),
    };
  }

  async #compareBoard(fans: readonly NonNullable<Crowd["fans"][number]>[]): Promise<string[]> {
    const faults: string[] = [];
    const pages: (typeof fans)[] = [];
    for (let from = 0; from < fans.length; from += includeMax)
      pages.push(fans.slice(from, from + includeMax));
    await concurrently(pages, async page => {
      const include = page.map(({ userId }) => userId).join(",");
      const path = `/projects/${this.#demo.projectId}/leaderboards/overall?limit=1&include=${include}`;
      const { data } = JSON.parse((await this.#call("GET", path)).text);
      const entries: readonly { userId: string; score: number }[] = data;
      const scores = new Map(entries.map(({ userId, score }) => [userId, score]));
      for (const fan of page) {
        const [expected, score] = [expectedPoints(fan), scores.get(fan.userId) ?? 0];
        if (score !== expected) faults.push(`${fan.userId}: ${score} on the board for ${expected}`);
      }
    });
    return faults;
  }

  async #proveLedgers(fans: readonly NonNullable<Crowd["fans"][number]>[]): Promise<string[]> {
    const faults: string[] = [];
    const step = Math.max(1, Math.floor(fans.length / provedMax));
    const sample = fans.filter((_, index) => index % step === 0).slice(0, provedMax);
    await concurrently(sample, async ({ userId }) => {
      const path = `/internal/loyalty/users/${userId}/reconciliation`;
      const { data } = JSON.parse((await this.#call("GET", path)).text);
      if (data.faults.length > 0) faults.push(`${userId}: ${JSON.stringify(data.faults)}`);
    });
    return faults;
  }

  async #read(url: string, password: string): Promise<Map<string, number>> {
    const file = await (await fetch(url)).blob();
    const plain = await decryptExport(file, { password, kernels: nativeExportKernels() });
    const [, ...rows] = (await new Response(plain).text()).trimEnd().split("\r\n");
    const points = new Map<string, number>();
    for (const row of rows) {
      const [userId = "", count = ""] = row.split(",");
      if (points.has(userId)) throw new Error(`${userId} is in the export twice`);
      points.set(userId, Number(count));
    }
    return points;
  }

  async #call(method: string, path: string, body?: object): Promise<Answered> {
    const headers = keyHeaders(this.#demo.apiKey, this.#demo.organisationId);
    const intendedAt = performance.now();
    const answer = await this.#balancer.call({ route: "audit", method, path, headers, body, intendedAt });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }
}

async function concurrently<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const item of waiting) await work(item);
    }),
  );
}
