/**
 * The clients' side of HTTP: a balancer that asks `/readyz`, and requests that are repeated under the same ids until they are
 * answered, as the guide tells clients to.
 */

import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Measures } from "./measures.ts";

/** A request. */
export interface Call {
  /** Name in the report. */
  readonly route: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** When it was meant to be made, by `performance.now()`. */
  readonly intendedAt: number;
}

/** An answer. */
export interface Answered {
  readonly status: number;
  readonly text: string;
}

/** Longest time that one attempt waits, in ms. */
const attemptMsMax = 15_000;
/** Pause before a repetition where the server names none, in ms. */
const pauseMs = 250;
/** Time after which a call is given up, in ms. */
const patienceMs = 120_000;
/** Time between two questions of the balancer, in ms. */
const probeMs = 250;

interface Target {
  readonly port: number;
  readonly agent: Agent;
  isReady: boolean;
}

/** Distributes requests over the servers that are ready. */
export class Balancer {
  readonly #targets: readonly Target[];
  readonly #measures: Measures;
  /** Bytes of connections by the last answer over them. */
  readonly #counted = new WeakMap<Socket, { readonly sent: number; readonly received: number }>();
  /** Bytes of HTTP without those of TCP. */
  readonly bytes = { sent: 0, received: 0 };
  #next = 0;
  #isStopped = false;

  constructor(ports: readonly number[], measures: Measures) {
    this.#targets = ports.map(port => ({
      port,
      agent: new Agent({ keepAlive: true, maxSockets: 128, scheduling: "fifo" }),
      isReady: true,
    }));
    this.#measures = measures;
    for (const target of this.#targets) void this.#probe(target);
  }

  /** Returns the port of a server that is ready. */
  port(): number {
    return this.#target().port;
  }

  /**
   * Resolves with the answer, after as many repetitions as it takes.
   *
   * @throws {Error} There was none within two minutes.
   */
  async call(call: Call): Promise<Answered> {
    const deadline = performance.now() + patienceMs;
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    for (;;) {
      const attempt = await this.#attempt(call, body);
      if (typeof attempt !== "string" && attempt.status !== 503 && attempt.status !== 429) {
        this.#measures.answered(call.route, call.intendedAt);
        if (attempt.status >= 400) this.#measures.refused(call.route, attempt.status);
        return attempt;
      }
      this.#measures.repeated(typeof attempt === "string" ? attempt : String(attempt.status));
      if (performance.now() > deadline) throw new Error(`${call.route} was not answered for two minutes`);
      const seconds = typeof attempt === "string" ? 0 : attempt.retryAfter;
      await wait(seconds > 0 ? seconds * 1_000 : pauseMs * (1 + Math.random()));
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const { agent } of this.#targets) agent.destroy();
  }

  #target(): Target {
    for (let tried = 0; tried < this.#targets.length; tried++) {
      const target = this.#targets[this.#next++ % this.#targets.length];
      if (target?.isReady === true) return target;
    }
    return this.#targets[this.#next % this.#targets.length] as Target;
  }

  /** Returns the answer, or the reason why there is none. */
  #attempt(
    { method, path, headers }: Call,
    body: string | undefined,
  ): Promise<(Answered & { readonly retryAfter: number }) | string> {
    const { port, agent } = this.#target();
    return new Promise(resolve => {
      const sent: ClientRequest = request({
        ...{ host: "127.0.0.1", port, agent, method, path, timeout: attemptMsMax },
        headers: {
          ...headers,
          ...(body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        },
      });
      sent.on("timeout", () => sent.destroy(Object.assign(new Error("late"), { code: "timeout" })));
      sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
      sent.on("response", (response: IncomingMessage) => {
        const [chunks, { socket }]: [Buffer[], IncomingMessage] = [[], response];
        response.on("data", chunk => chunks.push(chunk));
        response.on("error", () => resolve("cut"));
        response.on("end", () => {
          this.#count(socket);
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString(),
            retryAfter: Number(response.headers["retry-after"] ?? 0),
          });
        });
      });
      sent.end(body);
    });
  }

  #count(socket: Socket): void {
    const before = this.#counted.get(socket) ?? { sent: 0, received: 0 };
    const now = { sent: socket.bytesWritten, received: socket.bytesRead };
    this.bytes.sent += now.sent - before.sent;
    this.bytes.received += now.received - before.received;
    this.#counted.set(socket, now);
  }

  async #probe(target: Target): Promise<void> {
    while (!this.#isStopped) {
      const url = `http://127.0.0.1:${target.port}/readyz`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
      await answer?.body?.cancel().catch(() => {});
      target.isReady = answer?.status === 200;
      await wait(probeMs, undefined, { ref: false });
    }
  }
}
