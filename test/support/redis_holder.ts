/** Holds a Redis server until it is killed: prints the server's process id. */
import { startRedis } from "./redis.ts";

const server = await startRedis();
const info = `${await server.command("INFO", "server")}`;
console.log(/process_id:(\d+)/.exec(info)?.[1] ?? "0");
setInterval(() => {}, 60_000);
