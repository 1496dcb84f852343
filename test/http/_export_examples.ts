/** Valid requests about exports, by operation. */

import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { Exports } from "../../lib/fans/exports/mod.ts";
import { silentLogger } from "../../lib/http/mod.ts";
import { ids, openTestExportsMax, type TestPlatform, testSecret } from "../support/platform.ts";
import type { Example } from "./_operations.ts";

/** The examples. */
export async function exportExamples(
  world: TestPlatform,
): Promise<readonly [string, readonly Partial<Example>[]][]> {
  const { exportId, capability } = await finishedExport(world);
  return [
    [
      "exportAudienceUsers",
      [
        { body: { format: "csv" } },
        {
          body: {
            filter: { metrics: { points: { min: 1 } } },
            fields: ["userId", "metrics.points"],
            format: "json",
            encrypt: false,
            notify: { email: "ops@club.example", passwordEmail: null },
          },
        },
      ],
    ],
    ["getAudienceExport", [{ params: { exportId } }]],
    ["listAudienceExports", [{ query: { limit: "1" } }]],
    ["listAudienceExportTrail", [{ query: { limit: "1" } }]],
    ["downloadAudienceExport", [{ params: { capability } }]],
  ];
}

/** An export that is finished although the clock stands still: made by a process that builds them at once. */
async function finishedExport({
  platform,
  store,
  clock,
}: TestPlatform): Promise<{ readonly exportId: string; readonly capability: string }> {
  const exports = new Exports({
    store,
    blobs: platform.exports.blobs,
    search: platform.users.search,
    directory: platform.directory,
    secret: testSecret,
    clock: clock.now,
    random: systemRandom,
    publicUrl: "http://club.example",
    logger: silentLogger,
    intervalMs: 0,
    openMax: openTestExportsMax,
  });
  const job = await exports.request({
    organisationId: ids.organisation,
    spaceId: ids.space,
    keyId: "gsk_examples",
    requestId: "examples",
    format: "json",
    encrypt: false,
    notify: null,
  });
  await exports.idle();
  return { exportId: job.exportId, capability: exports.capabilities.grant(job, job.expiresAt) };
}
