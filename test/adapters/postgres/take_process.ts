/** Takes a message of a queue, says so, and never settles it. */
import { createPostgresQueue } from "../../../adapters/postgres/mod.ts";

const [server = "", schema = ""] = process.argv.slice(2);
const queue = createPostgresQueue({ server, schema });
const [message] = await queue.take("t", { consumer: "c", limit: 1, leaseMs: 60_000 });
process.stdout.write(`${message?.id}\n`);
// Keeps the process until it is killed.
process.stdin.resume();
