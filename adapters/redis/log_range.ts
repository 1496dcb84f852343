import type { ReadLog } from "../../lib/storage/contract.ts";

const sequenceMax = 18_446_744_073_709_551_615n;

/** The command that reads the log in its direction. */
export function logCommand(query: ReadLog): "XRANGE" | "XREVRANGE" {
  return query.reverse === true ? "XREVRANGE" : "XRANGE";
}

/** Where {@linkcode logCommand} starts and ends and the most entries that it answers. */
export function logRange({ from, to, cursor, reverse = false, limit }: ReadLog): [string, string, string] {
  const nothing: [string, string, string] = reverse ? ["0", "1", "1"] : ["1", "0", "1"];
  if (limit === 0 || (to !== undefined && to < 0)) return nothing;
  let low = from === undefined || from <= 0 ? "-" : String(from);
  let high = to === undefined ? "+" : String(to);
  if (cursor !== undefined) {
    const { ms, seq } = parse(cursor);
    if (!reverse && (from === undefined || ms >= from)) low = `(${ms}-${seq}`;
    if (reverse && (to === undefined || ms <= to)) {
      // Nothing comes before the least id, and Redis refuses to look there.
      if (ms === 0 && seq === 0n) return nothing;
      high = `(${ms}-${seq}`;
    }
  }
  return reverse ? [high, low, String(limit)] : [low, high, String(limit)];
}

function parse(cursor: string): { ms: number; seq: bigint } {
  const [ms = "", seq = ""] = cursor.split("-");
  const sequence = BigInt(seq);
  return { ms: Number(ms), seq: sequence > sequenceMax ? sequenceMax : sequence };
}
