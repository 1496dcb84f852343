/** A process that works on queued actions until it is killed: `worker_process.ts <redis url> <lease ms>`. */

import { createRedisQueue, createRedisStore } from "../../../../../adapters/redis/mod.ts";
import { createPlatform } from "../../../../../lib/mod.ts";
import { testSecret } from "../../../../support/platform.ts";

const [server = "", leaseMs = ""] = process.argv.slice(2);
const platform = await createPlatform({
  store: createRedisStore({ server }),
  queue: createRedisQueue({ server }),
  secret: testSecret,
});
const worker = platform.startActionWorker({ leaseMs: Number(leaseMs) });
setInterval(() => process.stdout.write(`shards ${worker.shards.length}\n`), 50);
