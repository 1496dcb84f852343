/** The cost of each operation, measured alone: a phase of one operation after the other on one deployment. */

import { setTimeout as wait } from "node:timers/promises";
import { type Plan, type Step, steps } from "../live_final/plan.ts";
import type { Costs, Operation } from "./operations.ts";
import { eachResource, type Usage } from "./resources.ts";
import { World } from "./world.ts";

/** Two predictions a fan, as in the plan: the first one costs more. */
const rounds: readonly Step[] = ["arrive", "predict", "predict", "share", "profile", "board", "history"];
const listeners = 400;
const listenSeconds = 10;

/** Measures each operation `count` times, at `rate` in a second. */
export async function measureCosts(count: number, rate: number): Promise<Costs> {
  const world = await World.open();
  try {
    const phaseMs = (count / rate) * 1_000;
    const crowd = world.crowd(phases(count, rate));
    const each: Partial<Record<Operation, Usage>> = {};
    const measure = async (name: Operation, amount: number, work: () => Promise<unknown>): Promise<void> => {
      const { usage, seconds } = await world.use(work);
      each[name] = eachResource(resource => (usage[resource] - seconds * world.idle[resource]) / amount);
    };
    for (const step of steps) {
      const [from, to] = [rounds.indexOf(step) * phaseMs, (rounds.lastIndexOf(step) + 1) * phaseMs];
      const amount = (to - from) * (rate / 1_000);
      await measure(step, amount, () => world.play(crowd, from, to, false));
      if (step === "predict") {
        await measure("outcome", amount, async () => {
          while (crowd.undecided > 0) await crowd.decide(performance.now());
        });
      }
    }
    const move = () => world.moveLeaders(wait(listenSeconds * 1_000));
    const unheard = await world.use(move);
    await world.listen(listeners);
    const before = world.listeners.messages;
    const { usage, seconds } = await world.use(move);
    const messages = world.listeners.messages - before;
    each.message = eachResource(
      resource => (usage[resource] - (seconds * unheard.usage[resource]) / unheard.seconds) / messages,
    );
    return { idle: world.idle, each: each as Record<Operation, Usage> };
  } finally {
    await world.close();
  }
}

/** Every fan makes one step after the other. */
function phases(count: number, rate: number): Plan {
  const all = Array.from({ length: rounds.length * count }, (_, index) => index);
  const round = (index: number): number => Math.floor(index / count);
  return {
    fans: count,
    at: Float64Array.from(all, index => (index / rate) * 1_000),
    fan: Uint32Array.from(all, index => index % count),
    step: Uint8Array.from(all, index => steps.indexOf(rounds[round(index)] ?? "board")),
    match: Uint8Array.from(all, round),
  };
}
