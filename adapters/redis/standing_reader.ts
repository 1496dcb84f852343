import { AppError } from "../../lib/errors/mod.ts";
import type { Standing } from "../../lib/storage/contract.ts";
import { pendingCallsMax, retryAfterMs } from "./bounds.ts";
import type { RedisConnection } from "./connection.ts";
import { standingScript } from "./scripts.ts";

/** Calls under way per board: with two, client and server work at the same time and not by turns. */
const callsMax = 2;
/** Most standings in one call, which holds the server up for less than a millisecond. */
const membersPerCallMax = 128;

interface Waiting {
  readonly member: string;
  resolve(standing: Standing | null): void;
  reject(error: unknown): void;
}

/** Which standings a call asks for. */
export interface StandingQuery {
  /** Key of the board. */
  readonly zset: string;
  /** Key of its stamped rows. */
  readonly rows: string;
  /** Whether positions are wanted: `S`, else `s`. */
  readonly op: "s" | "S";
}

interface Lane extends StandingQuery {
  waiting: Waiting[];
  calls: number;
}

/**
 * Reads standings, several of one board in one call.
 *
 * A standing is two commands in one script, and entering a script costs Redis more than the commands do. What is asked
 * while calls for the same board are under way therefore waits and goes out together: nothing waits on an idle board,
 * and a busy one costs little more per standing than a bare ZRANK.
 */
export class StandingReader {
  readonly #connection: RedisConnection;
  readonly #lanes = new Map<string, Lane>();
  #waiting = 0;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** Where the member stands, or null where it is not on the board. */
  read(query: StandingQuery, member: string): Promise<Standing | null> {
    if (this.#waiting >= pendingCallsMax) {
      const message = `Cannot use Redis: ${pendingCallsMax} standings already wait for it`;
      return Promise.reject(new AppError("storage_unavailable", message, { retryAfterMs }));
    }
    const name = nameOf(query);
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { ...query, waiting: [], calls: 0 };
      this.#lanes.set(name, lane);
    }
    const { waiting } = lane;
    const answer = new Promise<Standing | null>((resolve, reject) => {
      waiting.push({ member, resolve, reject });
    });
    this.#waiting += 1;
    if (waiting.length === 1 && lane.calls < callsMax) queueMicrotask(() => this.#send(lane));
    return answer;
  }

  #send(lane: Lane): void {
    while (lane.calls < callsMax && lane.waiting.length > 0) {
      lane.calls += 1;
      void this.#call(lane, this.#next(lane));
    }
    if (lane.calls === 0) this.#lanes.delete(nameOf(lane));
  }

  #next(lane: Lane): readonly Waiting[] {
    const group = lane.waiting.splice(0, membersPerCallMax);
    this.#waiting -= group.length;
    return group;
  }

  async #call(lane: Lane, group: readonly Waiting[]): Promise<void> {
    try {
      const members = group.map(({ member }) => member);
      const keys = [lane.zset, lane.rows];
      const reply = await this.#connection.askScript(standingScript, keys, [lane.op, ...members]);
      const flat = reply as readonly (string | number | null)[];
      const width = lane.op === "S" ? 4 : 3;
      for (const [index, { resolve }] of group.entries()) resolve(decode(flat, index * width, width));
    } catch (error) {
      for (const { reject } of group) reject(error);
      // Those who came later would only wait as long again for the same end.
      while (lane.waiting.length > 0) for (const { reject } of this.#next(lane)) reject(error);
    } finally {
      lane.calls -= 1;
      this.#send(lane);
    }
  }
}

function decode(flat: readonly (string | number | null)[], index: number, width: number): Standing | null {
  const score = flat[index];
  if (typeof score !== "string") return null;
  const standing = { score: Number(score), tie: Number(flat[index + 1]), below: Number(flat[index + 2]) };
  return width === 4 ? { ...standing, position: Number(flat[index + 3]) } : standing;
}

function nameOf({ op, zset }: StandingQuery): string {
  return op + zset;
}
