/** Load for a server with users who have passwords. */

import { Agent, request } from "node:http";

/** Checks per second that are asked for, whatever becomes of those before. */
export const checksPerSecond = 200;
/** Concurrent logins during a storm. */
export const loginsAtOnce = 16;

/** A kind of request and its duration. */
export interface CheckTarget {
  readonly url: string;
  readonly token: string;
  readonly periodMs: number;
}

/** The latencies in ms of checks sent at a steady rate, each from the moment when it was due. */
export async function checkLatencies({ url, token, periodMs }: CheckTarget): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const latencies: Promise<number>[] = [];
  const start = performance.now();
  const count = (periodMs / 1_000) * checksPerSecond;
  await new Promise<void>(resolve => {
    const timer = setInterval(() => {
      const elapsed = performance.now() - start;
      while (latencies.length < count && latencies.length * (1_000 / checksPerSecond) <= elapsed) {
        latencies.push(ask(url, token, agent));
      }
      if (latencies.length < count) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
  const measured = await Promise.all(latencies);
  agent.destroy();
  return measured;
}

function ask(url: string, token: string, agent: Agent): Promise<number> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, incoming => {
      incoming.resume();
      incoming.once("end", () => {
        if (incoming.statusCode === 200) resolve(performance.now() - start);
        else reject(new Error(`A check answered ${incoming.statusCode}`));
      });
    });
    outgoing.once("error", reject);
    outgoing.end();
  });
}

/** Keeps logins running until it is stopped, which returns the number of successes. */
export function stormOfLogins(url: string, body: unknown): { stop(): Promise<number> } {
  let isOver = false;
  let succeeded = 0;
  async function lane(): Promise<void> {
    while (!isOver) {
      const response = await fetch(url, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      await response.arrayBuffer();
      if (response.status === 200 && !isOver) succeeded += 1;
    }
  }
  const lanes = Array.from({ length: loginsAtOnce }, lane);
  return {
    async stop() {
      isOver = true;
      const counted = succeeded;
      await Promise.all(lanes);
      return counted;
    },
  };
}

/** The value that `share` percent of the values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil((sorted.length * share) / 100) - 1)] ?? Number.NaN;
}
