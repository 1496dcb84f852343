/** Takes the globals of time and chance over, so that nothing in the platform gets round the scheduler unseen. */

import { webcrypto } from "node:crypto";
import type { Random } from "../../adapters/conformance/random.ts";
import type { Scheduler } from "./scheduler.ts";

/** Uses of globals by code that has an option for the same. */
export type Leaks = Map<string, number>;

/** Bytes of a seeded generator. */
export function seededBytes(random: Random): (length: number) => Uint8Array {
  return length => Uint8Array.from({ length }, () => random.integer(256));
}

/** Replaces globals until the returned function is called. */
export function takeGlobals(scheduler: Scheduler, leaks: Leaks): () => void {
  const bytes = seededBytes(scheduler.random);
  const leak = (name: string): void => {
    const [, , , caller = ""] = (new Error().stack ?? "").split("\n");
    if (/node:internal|node_modules/.test(caller)) return;
    const place = `${name} ${caller.trim()}`;
    leaks.set(place, (leaks.get(place) ?? 0) + 1);
  };
  const restores = [
    replace(Date, "now", () => {
      leak("Date.now");
      return Math.floor(scheduler.now);
    }),
    // Slices of long work are measured with it; in simulated time no work takes any.
    replace(performance, "now", () => scheduler.now),
    replace(Math, "random", () => {
      leak("Math.random");
      return scheduler.random.integer(1 << 30) / (1 << 30);
    }),
    replace(globalThis, "setTimeout", (callback: () => void, ms = 0) => {
      leak("setTimeout");
      return scheduler.after(ms, "timeout", callback);
    }),
    replace(globalThis, "clearTimeout", (cancel?: () => void) => cancel?.()),
    replace(webcrypto, "getRandomValues", (array: Uint8Array) => {
      leak("getRandomValues");
      const view = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      view.set(bytes(view.length));
      return array;
    }),
    replace(webcrypto, "subtle", gatedSubtle(scheduler)),
  ];
  return () => {
    for (const restore of restores) restore();
  };
}

function replace(owner: object, name: string, value: unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (own === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, own);
  };
}

const keyPairs = new Map<string, Promise<unknown>>();

/** WebCrypto whose work ends in the order in which it began, and whose key pairs are the same in all runs of a process. */
function gatedSubtle(scheduler: Scheduler): SubtleCrypto {
  const { subtle } = webcrypto;
  return new Proxy(subtle, {
    get(_, name: keyof SubtleCrypto) {
      const method = subtle[name] as unknown;
      if (typeof method !== "function") return method;
      return (...input: unknown[]) => {
        const call = (): Promise<unknown> => Reflect.apply(method, subtle, input) as Promise<unknown>;
        if (name !== "generateKey") return scheduler.gate(call());
        const key = JSON.stringify(input);
        const pair = keyPairs.get(key) ?? call();
        keyPairs.set(key, pair);
        return scheduler.gate(pair);
      };
    },
  }) as unknown as SubtleCrypto;
}
