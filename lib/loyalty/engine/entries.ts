import { ownValue } from "../config/own_property.ts";

/** A record of a state, copied when its first entry changes and not before. */
export class CopyOnWriteRecord<T> {
  readonly #before: Readonly<Record<string, T>>;
  #now: Record<string, T> | null = null;

  constructor(before: Readonly<Record<string, T>>) {
    this.#before = before;
  }

  get(key: string): T | undefined {
    return ownValue(this.#now ?? this.#before, key);
  }

  set(key: string, value: T): void {
    this.#now ??= { ...this.#before };
    this.#now[key] = value;
  }

  get all(): Readonly<Record<string, T>> {
    return this.#now ?? this.#before;
  }
}
