/** What a deployment has used by a moment, and the difference of two moments. */

import { setTimeout as wait } from "node:timers/promises";
import type { Balancer } from "../live_final/client.ts";
import type { Listeners } from "../live_final/listeners.ts";
import type { Role, Stage } from "../live_final/stage.ts";
import type { Usage } from "./resources.ts";

/** Longest wait for work in the background, in s. */
const settleSecondsMax = 60;
/** Commands of Redis in a second above those of an idle deployment that still count as quiet. */
const quietCommands = 200;

/** Reads the counters of processes and Redis. */
export class Meter {
  readonly #stage: Stage;
  readonly #balancer: Balancer;
  readonly #listeners: Listeners;

  constructor(stage: Stage, balancer: Balancer, listeners: Listeners) {
    this.#stage = stage;
    this.#balancer = balancer;
    this.#listeners = listeners;
  }

  /** Returns what was used since the processes began; memory as it is now. */
  async read(): Promise<Usage> {
    const info = `${await this.#stage.redis.command("INFO", "everything")}`;
    const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
    const cpuMs = (...roles: readonly Role[]): number =>
      roles.reduce((sum, role) => sum + (this.#stage.usage(role)?.cpuMs ?? 0), 0);
    const { sent, received } = this.#balancer.bytes;
    return {
      serverMs: cpuMs("server A", "server B"),
      workerMs: cpuMs("worker"),
      redisMs: cpuMs("database"),
      // Buffers of connections and of the file come and go.
      redisBytes: field("used_memory") - field("mem_clients_normal") - field("mem_aof_buffer"),
      redisCommands: commandsOf(info),
      redisWire: field("total_net_input_bytes") + field("total_net_output_bytes"),
      aofBytes: field("aof_current_size"),
      httpBytes: sent + received + this.#listeners.bytes,
    };
  }

  /** Resolves once a second passes with about as few commands as `idle` has in one. */
  async settle(idle: number): Promise<void> {
    let before = await this.read();
    for (let second = 0; second < settleSecondsMax; second++) {
      await wait(1_000);
      const now = await this.read();
      if (now.redisCommands - before.redisCommands < idle + quietCommands) return;
      before = now;
    }
  }
}

/** Commands of clients and within scripts, without the questions of the meter. */
function commandsOf(info: string): number {
  let commands = 0;
  for (const [, name = "", count] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (name !== "info") commands += Number(count);
  }
  return commands;
}
