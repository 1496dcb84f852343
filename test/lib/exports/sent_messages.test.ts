/** How many sent messages a process remembers in case the mark that they were sent is lost. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExportJob } from "../../../lib/exports/jobs/job.ts";
import { createMessenger, sentMessagesMax } from "../../../lib/exports/jobs/messages.ts";
import type { Announcement } from "../../../lib/outbound/announcer.ts";
import { createTestClock } from "../../support/clock.ts";
import { ids } from "../../support/platform.ts";

const message = { kind: "announcement", to: "", hasPassword: false, tries: 0 } as const;
const request = { spaceId: ids.space, format: "csv", fields: [], encrypt: false };

/** A finished export as far as an announcement tells of it. */
function jobOf(exportId: string): ExportJob {
  const result = { rowCount: 1, fileSize: 1, sha256: "", completedAt: 0 };
  const job = {
    organisationId: ids.organisation,
    exportId,
    request,
    result,
    messages: [message],
    expiresAt: 1,
  };
  return job as unknown as ExportJob;
}

describe("the messages that a process has sent", () => {
  it(`are known to it up to ${sentMessagesMax}, and not sent twice`, async () => {
    const told: Announcement[] = [];
    const messenger = createMessenger({
      clock: createTestClock().now,
      announcer: {
        announce: async announcement => {
          told.push(announcement);
        },
      },
      webhookKey: () => new Uint8Array(32),
      settings: async () => ({ notify: null, webhook: null }),
      linkOf: () => "",
      onFailed: (_, __, error) => assert.fail(String(error)),
    });
    const send = (n: number): Promise<void> =>
      messenger.send({ job: jobOf(`e${n}`), save: async () => {} }, null);
    for (let n = 0; n < sentMessagesMax; n++) await send(n);
    await send(0);
    assert.equal(told.length, sentMessagesMax);
    await send(sentMessagesMax);
    await send(1);
    assert.equal(told.length, sentMessagesMax + 1);
    await send(0);
    assert.equal(told.length, sentMessagesMax + 2);
  });
});
