/** A deployment that is warm, and plans that are played on it. */

import { setTimeout as wait } from "node:timers/promises";
import type { Demo } from "../../../lib/mod.ts";
import { Balancer } from "../live_final/client.ts";
import { Crowd, keyHeaders } from "../live_final/fans.ts";
import { Listeners } from "../live_final/listeners.ts";
import { Measures } from "../live_final/measures.ts";
import { createPlan, type Plan } from "../live_final/plan.ts";
import { Stage } from "../live_final/stage.ts";
import { Meter } from "./meter.ts";
import { eachResource, type Usage } from "./resources.ts";

const warmUp = { fans: 2_000, ms: 24_000, seed: 99 } as const;
/** Before and while use without requests is measured. */
const [restSeconds, idleSeconds] = [6, 10];
/** Time between two rounds of a plan, in ms. */
const tickMs = 5;

/** Two servers, a worker and Redis, with clients. */
export class World {
  readonly measures = new Measures(performance.now());
  readonly listeners = new Listeners();
  readonly balancer: Balancer;
  readonly demo: Demo;
  readonly #stage: Stage;
  readonly #meter: Meter;
  /** Use in a second without requests, except for memory. */
  #idle = eachResource(() => 0);

  /** Fans of the warm-up. */
  readonly #first: Crowd;
  #rewards = 0;

  private constructor(stage: Stage, demo: Demo) {
    this.#stage = stage;
    this.demo = demo;
    this.balancer = new Balancer(stage.ports, this.measures);
    this.#first = this.crowd(createPlan(warmUp.fans, warmUp.ms, warmUp.seed));
    this.#meter = new Meter(stage, this.balancer, this.listeners);
  }

  /** Starts everything, and lets some fans play so that code is compiled and caches are filled. */
  static async open(): Promise<World> {
    const { stage, demo } = await Stage.open();
    // A rewrite would make the file smaller in the middle of a measurement.
    await stage.redis.command("CONFIG", "SET", "auto-aof-rewrite-percentage", "0");
    const world = new World(stage, demo);
    await world.play(world.#first);
    await wait(restSeconds * 1_000);
    const used = await world.use(() => wait(idleSeconds * 1_000));
    world.#idle = eachResource(resource =>
      resource === "redisBytes" ? 0 : used.usage[resource] / used.seconds,
    );
    return world;
  }

  get idle(): Usage {
    return this.#idle;
  }

  crowd(plan: Plan): Crowd {
    return new Crowd(plan, this.demo, this.balancer);
  }

  /** Returns the use of some work and what follows from it in the background, and the time that both took. */
  async use(work: () => Promise<unknown>): Promise<{ readonly usage: Usage; readonly seconds: number }> {
    const [before, startedAt] = [await this.#meter.read(), performance.now()];
    await work();
    await this.#meter.settle(this.#idle.redisCommands);
    const after = await this.#meter.read();
    return {
      usage: eachResource(resource => after[resource] - before[resource]),
      seconds: (performance.now() - startedAt) / 1_000,
    };
  }

  /** Plays steps of a plan up to a time of it, and has the back end decide predictions if `decides`. */
  async play(crowd: Crowd, fromMs = 0, toMs = Number.POSITIVE_INFINITY, decides = true): Promise<void> {
    const startedAt = performance.now() - fromMs;
    let hasMore = true;
    let isPlaying = true;
    const deciding = decides ? this.#decide(crowd, () => isPlaying) : Promise.resolve();
    while (hasMore && performance.now() - startedAt < toMs) {
      hasMore = crowd.advance(startedAt);
      await wait(tickMs);
    }
    while (crowd.underWay.size > 0) await Promise.all(crowd.underWay);
    isPlaying = false;
    await deciding;
    const [failure] = crowd.failures;
    if (failure !== undefined) throw new Error(`${crowd.failures.length} steps failed: ${failure}`);
  }

  /** Opens listeners of the live board, and resolves when all are connected. */
  async listen(count: number): Promise<void> {
    const path = `/projects/${this.demo.projectId}/leaderboards/overall?limit=10`;
    for (let n = 0; n < count; n++) {
      this.listeners.listen(path, () => this.balancer.port());
      if (n % 20 === 19) await wait(50);
    }
    while (this.listeners.open < count) await wait(100);
  }

  /** Gives another fan the most points once a second until a promise is settled, so that the leaders change. */
  async moveLeaders(during: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = during.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const userId = this.#first.fans[this.#rewards % warmUp.fans]?.userId;
      const amount = 1_000 + this.#rewards++;
      const answer = await this.balancer.call({
        ...{ route: "POST rewards", method: "POST", path: "/v1/api/audience/internal/rewards/bulk" },
        headers: keyHeaders(this.demo.apiKey, this.demo.organisationId),
        body: { rewards: [{ userId, type: "metric", currency: "points", amount }] },
        intendedAt: performance.now(),
      });
      if (answer.status !== 200) throw new Error(`A reward was refused: ${answer.status} ${answer.text}`);
      await wait(1_000);
    }
    await over;
  }

  async close(): Promise<void> {
    this.listeners.stop();
    this.balancer.stop();
    await this.#stage.close();
  }

  async #decide(crowd: Crowd, isPlaying: () => boolean): Promise<void> {
    while (isPlaying() || crowd.undecided > 0) {
      await wait(1_500);
      while ((await crowd.decide(performance.now())) === 1_000);
    }
  }
}
