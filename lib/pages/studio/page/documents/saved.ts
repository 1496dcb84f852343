/** Something that is edited as a whole and saved unless somebody else has changed it meanwhile. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Difference, differences, isSame, type Merged, merge } from "../../../../base/json/mod.ts";
import { type FieldError, GrandstandError } from "../../../../client/mod.ts";
import { type JsonText, jsonText, readJson } from "./json_text.ts";

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
  readonly guard: (isUnsaved: () => boolean) => void;
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
  /** Forgets what the server refused, as it was of another value. */
  readonly clearFaults: () => void;
  /** Joins mine with what others changed, which is the base from now on. */
  readonly join: (mine: T) => Merged | null;
}

export function useSaved<T>({ read, write, pointer, signal }: Omit<SavedOptions<T>, "guard">): Saved<T> {
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
  const clearFaults = (): void => {
    if (held.current.faults.length > 0) set({ faults: [] });
  };
  return { ...state, load, save, join, clearFaults };
}

export interface EditedDocument<T> {
  readonly saved: Saved<T>;
  readonly text: string;
  readonly read: JsonText;
  /** What saving would change. */
  readonly changes: readonly Difference[];
  /** What others changed, where they were faster; null: nobody did. */
  readonly theirs: readonly Difference[] | null;
  readonly setText: (text: string) => void;
  /** Returns to what is live. */
  readonly reset: () => void;
  readonly takeOver: () => void;
  /** Resolves with true once it is live. */
  readonly save: () => Promise<boolean>;
}

/** A document that is edited as text. */
export function useDocument<T>({ guard, ...options }: SavedOptions<T>): EditedDocument<T> {
  const saved = useSaved<T>(options);
  const { live, moved } = saved;
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? (live === null ? "" : jsonText(live.value));
  const read = useMemo(() => readJson(text), [text]);
  const changes = useMemo(
    () => (live === null || read.fault !== null ? [] : differences(live.value, read.value)),
    [live, read],
  );
  const isUnsaved = typed !== null && (read.fault !== null || changes.length > 0);
  useEffect(() => guard(() => isUnsaved), [isUnsaved]);
  return {
    saved,
    text,
    read,
    changes,
    theirs: live === null || moved === null ? null : differences(live.value, moved.value),
    setText(next) {
      saved.clearFaults();
      setTyped(next);
    },
    reset() {
      saved.clearFaults();
      setTyped(null);
      if (moved !== null) void saved.load();
    },
    takeOver() {
      const merged = saved.join(read.value as T);
      if (merged !== null) setTyped(jsonText(merged.value));
    },
    async save() {
      const now = await saved.save(read.value as T);
      if (now !== null) setTyped(null);
      return now !== null;
    },
  };
}
