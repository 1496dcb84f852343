import type { Standing } from "../../lib/storage/contract.ts";
import type { CallOptions, RedisConnection } from "./connection.ts";
import { Gatherer } from "./gatherer.ts";
import { standingScript } from "./scripts.ts";

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
