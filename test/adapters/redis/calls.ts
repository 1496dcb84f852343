import type { RedisProcess } from "../../support/redis.ts";

/** The calls of each command that the server counted while the action ran, those inside scripts included. */
export async function calls(
  server: RedisProcess,
  action: () => Promise<unknown>,
): Promise<Record<string, number>> {
  await server.command("CONFIG", "RESETSTAT");
  await action();
  const stats = `${await server.command("INFO", "commandstats")}`;
  return Object.fromEntries(
    [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name = "", count]) => [name, Number(count)]),
  );
}
