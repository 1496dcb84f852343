/** Something that is edited as a whole and saved unless somebody else has changed it meanwhile. */

import { useEffect, useRef, useState } from "preact/hooks";
import { type FieldError, GrandstandError } from "../../../../client/mod.ts";
import { isSame, type Merged, merge } from "./json_text.ts";

export interface Live<T> {
  readonly value: T;
  /** For `If-Match`. */
  readonly tag: string;
  /** Facts to show beside it. */
  readonly note?: string;
}

interface SavedOptions<T> {
  readonly read: () => Promise<Live<T>>;
  /** Writes a value in place of the live one. */
  readonly write: (value: T, live: Live<T>) => Promise<unknown>;
  /** Start of the pointers with which the server names parts of the value. */
  readonly pointer: string;
  readonly signal: AbortSignal;
}

interface SavedState<T> {
  readonly live: Live<T> | null;
  /** What is live now, where somebody else changed it. */
  readonly moved: Live<T> | null;
  readonly faults: readonly FieldError[];
  readonly error: unknown;
  readonly isBusy: boolean;
}

export interface Saved<T> extends SavedState<T> {
  readonly load: () => Promise<void>;
  /** Saves a value. Resolves with the live one, or null where it was refused; the state says why. */
  readonly save: (value: T) => Promise<Live<T> | null>;
  /** Joins mine with what others changed, which is the base from now on. */
  readonly join: (mine: T) => Merged | null;
}

export function useSaved<T>({ read, write, pointer, signal }: SavedOptions<T>): Saved<T> {
  const [state, setState] = useState<SavedState<T>>({
    live: null,
    moved: null,
    faults: [],
    error: null,
    isBusy: false,
  });
  const held = useRef(state);
  const set = (part: Partial<SavedState<T>>): void => {
    if (signal.aborted) return;
    held.current = { ...held.current, ...part };
    setState(held.current);
  };
  async function load(): Promise<void> {
    set({ error: null });
    await read().then(
      live => set({ live, moved: null, faults: [] }),
      error => set({ error }),
    );
  }
  async function save(value: T): Promise<Live<T> | null> {
    const { live, isBusy } = held.current;
    if (live === null || isBusy) return null;
    set({ isBusy: true, error: null, faults: [], moved: null });
    try {
      const now = await read();
      if (!isSame(now.value, live.value)) {
        set({ moved: now });
        return null;
      }
      await write(value, now);
      const saved = await read();
      set({ live: saved });
      return saved;
    } catch (error) {
      await refused(error);
      return null;
    } finally {
      set({ isBusy: false });
    }
  }
  async function refused(error: unknown): Promise<void> {
    const { status = 0, fields = [] } = error instanceof GrandstandError ? error : {};
    if (status === 412) {
      await read().then(
        moved => set({ moved }),
        failure => set({ error: failure }),
      );
      return;
    }
    const faults = fields.map(field => ({ ...field, pointer: field.pointer.replace(pointer, "") }));
    set(faults.length > 0 ? { faults } : { error });
  }
  function join(mine: T): Merged | null {
    const { live, moved } = held.current;
    if (live === null || moved === null) return null;
    set({ live: moved, moved: null });
    return merge(live.value, mine, moved.value);
  }
  useEffect(() => void load(), []);
  return { ...state, load, save, join };
}
