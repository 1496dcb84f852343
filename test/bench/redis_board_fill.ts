/** Fills boards on Redis as the adapter would, faster: millions of entries by a script that makes them up. */

import type { Redis } from "ioredis";

const perCall = 2_000;
const callsUnderWay = 4;
const memberPrefix = "user:";
/**
 * KEYS: [1] the ZSET of the board; [2] the HASH of its stamped rows. ARGV: [1] first user; [2] number of users; [3] seed; [4]
 * beginning of the ids of users.
 * Every user gets a score below 2^20 and a time, so that the entries are those of a board that was fed.
 */
const fillScript = `
math.randomseed(tonumber(ARGV[3]))
for user = tonumber(ARGV[1]), tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1 do
  local member = ARGV[4] .. string.format('%08d', user)
  local tie = string.format('%013.0f', 1750000000000 + math.random(0, 999999999))
  local score = string.format('-%d', math.random(0, 1048575))
  redis.call('ZADD', KEYS[1], score, '1' .. tie .. member)
  redis.call('HSET', KEYS[2], member, tie .. '0000000000000001' .. score)
end`;

/** The user at an index. */
export function memberAt(index: number, prefix: string = memberPrefix): string {
  return prefix + String(index).padStart(8, "0");
}

/** Puts so many users on the board of a partition. Answers the seconds that it took. */
export async function fillBoard(
  client: Redis,
  partition: string,
  users: number,
  prefix: string = memberPrefix,
): Promise<number> {
  const start = performance.now();
  let next = 0;
  async function lane(): Promise<void> {
    while (next < users) {
      const first = next;
      next += perCall;
      const count = Math.min(perCall, users - first);
      const keys = [`gs:{${partition}}bboard`, `gs:{${partition}}mboard`];
      await client.eval(fillScript, keys.length, ...keys, first, count, first + 1, prefix);
    }
  }
  await Promise.all(Array.from({ length: callsUnderWay }, lane));
  return (performance.now() - start) / 1_000;
}

/** The value at a share of the values, by rank. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
