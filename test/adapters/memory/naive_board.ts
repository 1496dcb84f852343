import type { Random } from "../../../adapters/conformance/random.ts";
import type { BoardRow } from "../../../adapters/memory/board/board.ts";
import type { BoardEntry, ReadBoard } from "../../../lib/storage/mod.ts";

/** The board that cannot be wrong: an array sorted anew for every answer, with bytes compared as bytes. */
export class NaiveBoard {
  readonly #rows = new Map<string, { row: BoardRow; bytes: Buffer }>();

  get size(): number {
    return this.#rows.size;
  }

  get(member: string): BoardRow | undefined {
    return this.#rows.get(member)?.row;
  }

  put(row: BoardRow): void {
    this.#rows.set(row.member, { row, bytes: Buffer.from(row.member) });
  }

  remove(member: string): boolean {
    return this.#rows.delete(member);
  }

  below(score: number): number {
    return [...this.#rows.values()].filter(({ row }) => row.score < score).length;
  }

  /** The member that has been here longest. */
  oldest(): string | undefined {
    return this.#rows.keys().next().value;
  }

  before({ score, tie, member }: BoardEntry): number {
    const point = { row: { score, tie }, bytes: Buffer.from(member) };
    return [...this.#rows.values()].filter(each => compare(each, point) < 0).length;
  }

  sorted(): BoardEntry[] {
    return [...this.#rows.values()]
      .sort(compare)
      .map(({ row: { member, score, tie } }) => ({ member, score, tie }));
  }

  range(query: Omit<ReadBoard, "type" | "key">): BoardEntry[] {
    const { min = -Infinity, max = Infinity, offset = 0, limit, reverse = false } = query;
    const inside = this.sorted().filter(({ score }) => score >= min && score <= max);
    return (reverse ? inside.reverse() : inside).slice(offset, offset + limit);
  }
}

type Comparable = { readonly row: { readonly score: number; readonly tie: number }; readonly bytes: Buffer };

function compare(a: Comparable, b: Comparable): number {
  return a.row.score - b.row.score || a.row.tie - b.row.tie || Buffer.compare(a.bytes, b.bytes);
}

/** The UUID number `index`, scattered over the whole range, in canonical form. */
export function uuidOf(index: number): string {
  const hex = [1, 2, 3, 4]
    .map(salt => (Math.imul(index + 1, 0x9e3779b1 + salt * 0x2c1b3c6d) >>> 0).toString(16).padStart(8, "0"))
    .join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** A member of any kind: UUIDs mostly, near misses of UUIDs, plain names, and text at the edges of UTF-16 and UTF-8. */
export function anyMember(random: Random, kinds: number): string {
  const index = random.integer(kinds);
  const edges = ["\u{1F600}", "\uFF5E", "\uD7FF", "\uE000", "\u{10FFFF}", "\u007F", "é", "\0"];
  const variants = [
    uuidOf(index),
    uuidOf(index),
    uuidOf(index),
    uuidOf(index).toUpperCase(),
    `${uuidOf(index).slice(0, 35)}\u00B0`,
    `${uuidOf(index)}${random.pick(edges)}`,
    `user:${index}`,
    random.pick(edges) + random.pick(edges) + (index % 10),
  ];
  return random.pick(variants);
}
