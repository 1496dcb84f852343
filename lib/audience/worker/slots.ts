/** A number of places of which each is somebody's at a time; who finds none free waits in line. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a place: at once where one is free, else it is taken when the promise resolves. */
  take(): Promise<void> | undefined {
    if (this.#free === 0) return new Promise(resolve => this.#waiting.push(resolve));
    this.#free -= 1;
    return undefined;
  }

  /** Gives a place back, or to whoever has waited longest. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
