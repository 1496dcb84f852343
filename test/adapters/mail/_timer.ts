import { EventEmitter, once } from "node:events";

interface Waiting {
  readonly ms: number;
  readonly act: () => void;
}

/** A timer that runs off when the test says so. */
export class ManualTimer {
  readonly #waiting = new Set<Waiting>();
  readonly #asked = new EventEmitter();

  readonly after = (ms: number, act: () => void): (() => void) => {
    const entry = { ms, act };
    this.#waiting.add(entry);
    this.#asked.emit("asked");
    return () => void this.#waiting.delete(entry);
  };

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Lets the time of one who waits that long run off, as soon as somebody does. */
  async runOff(ms: number): Promise<void> {
    for (;;) {
      const entry = [...this.#waiting].find(one => one.ms === ms);
      if (entry !== undefined) {
        this.#waiting.delete(entry);
        return entry.act();
      }
      await once(this.#asked, "asked");
    }
  }
}
