/** A process of the deployment: it serves requests, works in the background, dies and returns. */

import { nativeExportKernels } from "../../adapters/native/mod.ts";
import type { MasterSecret } from "../../lib/auth/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { createPlatform, type Logger, type Platform } from "../../lib/mod.ts";
import { quickKernels } from "../support/kernels.ts";
import { ids } from "../support/platform.ts";
import { accountIssuer } from "./actors/accounts.ts";
import { seededBytes } from "./globals.ts";
import { type Counters, connect, count, type Servers, type Weather } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";

/** What processes share. */
export interface Deployment {
  readonly scheduler: Scheduler;
  readonly servers: Servers;
  readonly weather: Weather;
  readonly counters: Counters;
  /** Returns the master secret of processes that start now. */
  readonly secret: () => MasterSecret;
  /** Receives errors that no fault of the simulation explains. */
  readonly onError: (text: string) => void;
}

/** An answer of a process; null where the connection broke. */
export type Reply = { readonly status: number; readonly headers: Headers; readonly text: string } | null;

/** Ciphers of exports that do not wait for a timer. */
export const exportKernels = { ...nativeExportKernels(), nextTurn: () => Promise.resolve() };

/** A process that can be started any number of times. */
export class SimulatedProcess {
  readonly name: string;
  /** Ms between rounds of background work. */
  workIntervalMs = 8_000;
  /** Ms by which its clock is ahead of the true time. */
  skewMs = 0;
  readonly #deployment: Deployment;
  /** The current life; it ends as a whole. */
  #life: { isOver: boolean; readonly lose: Set<() => void> } = { isOver: true, lose: new Set() };
  #platform: Platform | null = null;
  #worker: ReturnType<Platform["startActionWorker"]> | null = null;

  constructor(name: string, deployment: Deployment) {
    this.name = name;
    this.#deployment = deployment;
  }

  /** True where load balancers send requests here. */
  get isReady(): boolean {
    return this.#platform !== null && Math.abs(this.skewMs) <= 30_000;
  }

  /** True while it runs or starts. */
  get isRunning(): boolean {
    return !this.#life.isOver;
  }

  get hasStarted(): boolean {
    return this.#platform !== null;
  }

  get platform(): Platform {
    if (this.#platform === null) throw new Error(`${this.name} is not running`);
    return this.#platform;
  }

  /** Starts the process; it tries again while the store fails. */
  async start(): Promise<void> {
    const life = { isOver: false, lose: new Set<() => void>() };
    this.#life = life;
    const { scheduler } = this.#deployment;
    for (;;) {
      try {
        const platform = await this.#open(life);
        this.#platform = platform;
        this.#worker = platform.startActionWorker();
        void this.#workOn(platform, life);
        return;
      } catch (error) {
        if (!isOutage(error)) throw error;
        await scheduler.sleep(1_000);
        if (life.isOver) return;
      }
    }
  }

  /** Ends the process at once: whatever it waits for never comes. */
  die(): void {
    count(this.#deployment.counters, "fault:death");
    this.#end();
  }

  /** Ends the process, and starts it with the settings of now. */
  async restart(): Promise<void> {
    this.#end();
    await this.start();
  }

  #end(): void {
    this.#life.isOver = true;
    this.#platform = null;
    this.#worker = null;
    for (const lose of this.#life.lose) lose();
    this.#life.lose.clear();
  }

  /** Stops applying queued actions. */
  async stopWorker(): Promise<void> {
    await this.#worker?.stop();
    this.#worker = null;
  }

  /** Sends a request; the connection breaks if the process dies meanwhile. */
  request(request: Request, address: string): Promise<Reply> {
    const life = this.#life;
    const platform = this.#platform;
    if (platform === null) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      const lose = (): void => resolve(null);
      life.lose.add(lose);
      const answer = async (): Promise<void> => {
        const response = await platform.fetch(request, { address });
        // A long answer breaks off where the store fails meanwhile.
        const text = await response.text().catch((error: unknown) => {
          if (isOutage(error)) return null;
          throw error;
        });
        life.lose.delete(lose);
        resolve(text === null ? null : { status: response.status, headers: response.headers, text });
      };
      answer().catch(reject);
    });
  }

  async #open(life: { readonly isOver: boolean }): Promise<Platform> {
    const { scheduler, servers, weather, counters } = this.#deployment;
    const connection = {
      ...{ scheduler, weather, counters, name: this.name },
      isAlive: () => !life.isOver,
      skew: () => this.skewMs,
    };
    let requests = 0;
    const { remote, ...connected } = connect(servers, connection);
    return await createPlatform({
      ...connected,
      secret: this.#deployment.secret(),
      passwordKernels: quickKernels(),
      clock: () => Math.floor(scheduler.now + this.skewMs),
      random: seededBytes(scheduler.random),
      timer: (callback, ms) => scheduler.after(ms, `${this.name} timer`, () => !life.isOver && callback()),
      logger: this.#logger(),
      defaultSpaceId: ids.space,
      control: createControl,
      exports: { intervalMs: 0, openMax: 100, kernels: exportKernels },
      http: { requestId: () => `${this.name}-request-${requests++}` },
      rateLimits: "off",
      identity: { accountIssuer, limits: "off", remote },
    });
  }

  async #workOn(platform: Platform, life: { readonly isOver: boolean }): Promise<void> {
    const { scheduler, onError } = this.#deployment;
    for (;;) {
      await scheduler.sleep(this.workIntervalMs);
      if (life.isOver) return;
      await platform.work().catch((error: unknown) => {
        if (!isOutage(error)) onError(`work of ${this.name}: ${String(error)}`);
      });
    }
  }

  #logger(): Logger {
    const { scheduler, onError, counters } = this.#deployment;
    return {
      enabled: () => true,
      log: (level, event, fields) => {
        scheduler.note(`${this.name} ${level} ${event}`);
        count(counters, `log:${event}`);
        if (level === "error" && !isExplained(fields)) onError(`${event} ${JSON.stringify(fields)}`);
      },
    };
  }
}

/** True for an error that the weather explains. */
function isOutage(error: unknown): boolean {
  return isExplained({ error: String(error) });
}

function isExplained(fields: object | undefined): boolean {
  return /storage_unavailable|outcome_unknown|Cannot use the store|answer is lost|changed during each|LeaseLost/.test(
    JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? `${value}` : value)) ?? "",
  );
}
