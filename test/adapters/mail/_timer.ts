import { EventEmitter, once } from "node:events";

interface PendingCall {
  readonly ms: number;
  readonly act: () => void;
}

/** A timer that expires when the test says so. */
export class ManualTimer {
  readonly #pending = new Set<PendingCall>();
  readonly #started = new EventEmitter();

  readonly start = (ms: number, act: () => void): (() => void) => {
    const entry = { ms, act };
    this.#pending.add(entry);
    this.#started.emit("started");
    return () => void this.#pending.delete(entry);
  };

  /** Number of pending calls. */
  get size(): number {
    return this.#pending.size;
  }

  /** Makes a pending call of this duration, as soon as there is one. */
  async expire(ms: number): Promise<void> {
    for (;;) {
      const entry = [...this.#pending].find(one => one.ms === ms);
      if (entry !== undefined) {
        this.#pending.delete(entry);
        return entry.act();
      }
      await once(this.#started, "started");
    }
  }
}
