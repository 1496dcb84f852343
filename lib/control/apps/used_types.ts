import { type Contents, contentsKey, elementKey } from "../../authoring/mod.ts";
import { directoryPartition } from "../../directory/mod.ts";
import { type BoardEntry, readPageAfter, type Store, storageLimits } from "../../storage/mod.ts";
import type { Entity } from "../entity.ts";

/** Events of one round of reading. */
const eventsMax = 100;

/** Returns the content types that elements of a project have. Reads all of them, 500 at once. */
export async function usedTypes(store: Store, projectId: string): Promise<readonly string[]> {
  const partition = directoryPartition("project", projectId);
  const records = async <T>(keys: readonly string[]): Promise<readonly T[]> => {
    const found: T[] = [];
    for (let start = 0; start < keys.length; start += storageLimits.readsMax) {
      const part = keys.slice(start, start + storageLimits.readsMax);
      const stored = await store.read(
        partition,
        part.map(key => ({ type: "record", key }) as const),
      );
      for (const record of stored) if (record !== null) found.push(JSON.parse(record.value) as T);
    }
    return found;
  };
  const types = new Set<string>();
  let after: BoardEntry | null = null;
  for (;;) {
    const query = { key: "events", direction: "desc", after, limit: eventsMax } as const;
    const { entries, isEnd } = await readPageAfter(store, partition, query);
    const contents = await records<Contents>(entries.map(({ member }) => contentsKey(member)));
    const keys = contents.flatMap(({ elements }) => elements.map(({ id }) => elementKey(id)));
    for (const { attributes } of await records<Entity>(keys)) types.add(String(attributes.content_type));
    after = entries.at(-1) ?? null;
    if (isEnd || after === null) return [...types].sort();
  }
}
