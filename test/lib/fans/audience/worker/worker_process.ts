/** A process that works on queued actions until it is killed: `worker_process.ts <url of the database> <lease ms>`. */

import { createPlatform } from "../../../../../lib/mod.ts";
import { openKept } from "../../../../support/databases.ts";
import { testSecret } from "../../../../support/platform.ts";

const [server = "", leaseMs = ""] = process.argv.slice(2);
const { store, queue } = openKept(server);
const platform = await createPlatform({ store, queue, secret: testSecret });
const worker = platform.startActionWorker({ leaseMs: Number(leaseMs) });
setInterval(() => process.stdout.write(`shards ${worker.shards.length}\n`), 50);
