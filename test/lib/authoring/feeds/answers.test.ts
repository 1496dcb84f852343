/** The bound of what is kept of the texts of fans. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { keepAnswer, listAnswers } from "../../../../lib/authoring/feeds/answers.ts";
import { directoryPartition } from "../../../../lib/fans/directory/records.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids } from "../../../support/platform.ts";

const element = { id: "0d000000-0000-4000-8000-00000000000a", projectId: ids.project };
const sent = (text: string, userId = text) => ({ element, userId, actionId: text, text, textsMax: 1 });

async function opened() {
  const store = createMemoryStore();
  await store.commit(directoryPartition("project", ids.project), {
    writes: [{ type: "put", key: `element:${element.id}`, value: "{}" }],
  });
  return { store, clock: createTestClock().now };
}

it("an element keeps the newest 5,000 texts", async () => {
  const services = await opened();
  for (let n = 0; n < 5_001; n++) await keepAnswer(services, sent(String(n)));
  const all = [];
  for (let cursor: string | undefined; ; cursor = all.at(-1)?.id) {
    const page = await listAnswers(services.store, element, { limit: 1_000, cursor });
    if (page.length === 0) break;
    all.push(...page);
  }
  assert.deepEqual([all.length, all[0]?.text, all.at(-1)?.text], [5_000, "5000", "1"]);
});

it("an element that is gone takes no text", async () => {
  const services = await opened();
  const other = { ...element, id: "0d000000-0000-4000-8000-00000000000b" };
  await keepAnswer(services, { ...sent("late"), element: other });
  assert.deepEqual(await listAnswers(services.store, other, { limit: 1, cursor: undefined }), []);
});
