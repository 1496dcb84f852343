import type { Standing } from "../../lib/storage/contract.ts";
import type { CallOptions, RedisConnection } from "./connection.ts";
import { Gatherer } from "./gatherer.ts";
import { scriptOf } from "./script_cache.ts";

/** Most standings in one call, which holds the server up for less than a millisecond. */
const membersPerCallMax = 128;

/** Standings that a call asks for. */
export interface StandingQuery {
  /** Key of the board. */
  readonly zset: string;
  /** Key of its stamped rows. */
  readonly rows: string;
  /** True if positions are wanted: `S`, else `s`. */
  readonly op: "s" | "S";
}

/** Reads standings, several of one board in one call: entering a script costs Redis more than the commands in it do. */
export class StandingReader {
  readonly #connection: RedisConnection;
  readonly #gatherer: Gatherer<StandingQuery, string, Standing | null>;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#gatherer = new Gatherer({
      call: (query, members, options) => this.#call(query, members, options),
      sizeOf: () => 1,
      sizeMax: membersPerCallMax,
    });
  }

  /** Returns the standing of a member, or null if it is not on the board. */
  read(query: StandingQuery, member: string): Promise<Standing | null> {
    return this.#gatherer.ask(query.op + query.zset, query, member);
  }

  async #call(
    { zset, rows, op }: StandingQuery,
    members: readonly string[],
    options: CallOptions,
  ): Promise<(Standing | null)[]> {
    const asked = [
      [zset, rows],
      [op, ...members],
    ] as const;
    const reply = await this.#connection.askScript(standingScript, asked, options);
    const flat = reply as readonly (string | number | null)[];
    const width = op === "S" ? 4 : 3;
    return members.map((_, index) => decode(flat, index * width, width));
  }
}

function decode(flat: readonly (string | number | null)[], index: number, width: number): Standing | null {
  const score = flat[index];
  if (typeof score !== "string") return null;
  const standing = { score: Number(score), tie: Number(flat[index + 1]), below: Number(flat[index + 2]) };
  return width === 4 ? { ...standing, position: Number(flat[index + 3]) } : standing;
}

const standingScript = scriptOf(`
-- Purpose: answers the standings of several members of one board.
--
-- KEYS: [1] the ZSET of the board; [2] the HASH of its stamped rows
-- ARGV: [1] 'S' for positions too, else 's'; then the members
-- Returns: per member three elements, or four with positions: score, tie, number of strictly lower scores, position;
--          nil for each if it is absent

local call, sub, zset, rows, positions = redis.call, string.sub, KEYS[1], KEYS[2], ARGV[1] == 'S'
local hasRows = call('EXISTS', rows) == 1
local answer, n = {}, 0
for i = 2, #ARGV do
  local member, score, tie, below = ARGV[i], false, '0', false
  local row = hasRows and call('HGET', rows, member)
  if row then
    score, tie = sub(row, 30), sub(row, 1, 13)
  else
    score = call('ZSCORE', zset, '0' .. member)
  end
  if score then below = call('ZCOUNT', zset, '-inf', '(' .. score) end
  answer[n + 1], answer[n + 2], answer[n + 3] = score, tie, below
  n = n + 3
  if positions then
    n = n + 1
    local head = tonumber(tie) == 0 and '0' or '1' .. tie
    answer[n] = score and call('ZRANK', zset, head .. member)
  end
end
return answer
`);
